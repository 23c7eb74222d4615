"""The first signal stops a command cleanly; later ones are ignored."""

import os
import signal
import sys
import threading
import time

import pytest

from numpy_attention.training.interrupt import Stopped
from numpy_attention.training.signals import Signals


@pytest.fixture(autouse=True)
def handlers():
    """Set the default SIGINT and SIGTERM handlers, and restore the previous ones after the test."""
    before = {number: signal.signal(number, default) for number, default in (
        (signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL))}
    hook = sys.unraisablehook
    yield before
    for number, handler in before.items():
        signal.signal(number, handler)
    sys.unraisablehook = hook


def send(number):
    os.kill(os.getpid(), number)
    time.sleep(0.01)


@pytest.mark.parametrize("number, message", [
    (signal.SIGINT, "interrupted"), (signal.SIGTERM, "ended by SIGTERM")])
def test_first_signal_stops_and_second_is_ignored(number, message):
    hook = sys.unraisablehook
    with Signals():
        with pytest.raises(Stopped, match=message):
            send(number)
        send(number)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    assert sys.unraisablehook is hook


def test_signals_after_the_end_are_ignored():
    with Signals() as signals:
        signals.over()
        send(signal.SIGTERM)


def test_ignored_signal_stays_ignored():
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    with Signals():
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_IGN
        send(signal.SIGTERM)


def test_stop_raised_in_a_finalizer_is_raised_again():
    class Finalized:
        def __del__(self):
            send(signal.SIGTERM)

    with pytest.raises(Stopped, match="ended by SIGTERM"), Signals():
        Finalized()
        time.sleep(5)


def test_no_signal_is_raised_again_after_the_end():
    class Finalized:
        def __del__(self):
            send(signal.SIGINT)

    with Signals():
        Finalized()
    time.sleep(0.1)         # a KeyboardInterrupt would end the test


def test_other_errors_in_a_finalizer_are_reported_by_python():
    reported = []
    sys.unraisablehook = reported.append

    class Finalized:
        def __del__(self):
            raise ValueError("of a finalizer")

    with Signals():
        Finalized()
    assert [str(one.exc_value) for one in reported] == ["of a finalizer"]


def test_no_handlers_outside_the_main_thread():
    def work():
        with Signals():
            seen.append(signal.getsignal(signal.SIGTERM))

    seen = []
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.SIG_DFL]
