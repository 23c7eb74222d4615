"""Ctrl-C: noted first, an ordinary KeyboardInterrupt the second time, and then as it was before."""

import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from numpy_attention.training.interrupt import Interrupt


def test_the_first_is_a_wish_the_second_stops():
    before = signal.getsignal(signal.SIGINT)
    with Interrupt() as interrupt:
        assert not interrupt.asked
        signal.raise_signal(signal.SIGINT)
        assert interrupt.asked
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) is before


def test_outside_of_the_main_thread_nothing_is_changed():
    before = signal.getsignal(signal.SIGINT)

    def work():
        with Interrupt() as interrupt:
            return signal.getsignal(signal.SIGINT), interrupt.asked

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(work).result() == (before, False)
    assert signal.getsignal(signal.SIGINT) is before
