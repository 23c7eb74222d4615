"""Ctrl-C: the first is recorded, the second raises KeyboardInterrupt; handlers are restored."""

import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from numpy_attention.training.interrupt import SIGNALS, Interrupt, Stopped


@pytest.mark.parametrize("number", SIGNALS)
def test_first_signal_is_recorded_and_second_raises(number):
    before = signal.getsignal(number)
    with pytest.raises(Stopped) as stopped, Interrupt() as interrupt:
        assert not interrupt.asked
        signal.raise_signal(number)
        assert interrupt.asked == number
        signal.raise_signal(number)
    assert signal.getsignal(number) is before
    assert stopped.value.number == number and isinstance(stopped.value, KeyboardInterrupt)


def test_ignored_signals_stay_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with Interrupt() as interrupt:
            signal.raise_signal(signal.SIGHUP)
            assert not interrupt.asked
    finally:
        signal.signal(signal.SIGHUP, before)


def test_no_handlers_outside_the_main_thread():
    before = signal.getsignal(signal.SIGINT)

    def work():
        with Interrupt() as interrupt:
            return signal.getsignal(signal.SIGINT), interrupt.asked

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == (before, 0)
    assert signal.getsignal(signal.SIGINT) is before


def test_mpirun_warning_may_or_may_not_be_followed_by_a_signal(monkeypatch):
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    monkeypatch.setenv("OMPI_COMM_WORLD_RANK", "1")
    with Interrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGCONT)
        assert interrupt.warned and not interrupt.asked
        begin = time.monotonic()
        assert interrupt.awaited() == 0 and not interrupt.warned
        assert 0.5 <= time.monotonic() - begin < 0.95
        os.kill(os.getpid(), signal.SIGCONT)
        os.kill(os.getpid(), signal.SIGTERM)
        assert interrupt.awaited() == signal.SIGTERM
    monkeypatch.delenv("OMPI_COMM_WORLD_SIZE")
    with Interrupt() as interrupt:
        os.kill(os.getpid(), signal.SIGCONT)
        assert not interrupt.warned
