"""Ctrl-C: noted first, an ordinary KeyboardInterrupt the second time, and then as it was before."""

import signal
import threading

import pytest

from numpy_attention.training.interrupt import Interrupt


def test_the_first_is_a_wish_the_second_stops():
    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt), Interrupt() as interrupt:
        assert not interrupt.asked
        signal.raise_signal(signal.SIGINT)
        assert interrupt.asked
        signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_outside_of_the_main_thread_nothing_is_changed():
    before = signal.getsignal(signal.SIGINT)
    seen = []

    def work():
        with Interrupt() as interrupt:
            seen.extend([signal.getsignal(signal.SIGINT), interrupt.asked])

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before, False] and signal.getsignal(signal.SIGINT) is before
