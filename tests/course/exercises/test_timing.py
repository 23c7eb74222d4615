"""Limits on processor time: an endless loop is ended, and handlers are restored."""

import signal

import pytest

from numpy_attention.course.exercises.timing import at_most


def test_endless_loop_ends():
    with pytest.raises(TimeoutError, match="it takes longer than 0.05 seconds"):
        with at_most(0.05):
            while True:
                pass


def test_handlers_are_restored():
    before = signal.getsignal(signal.SIGVTALRM)
    with at_most(5):
        assert signal.getsignal(signal.SIGVTALRM) is not before
    assert signal.getsignal(signal.SIGVTALRM) is before
    assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0
