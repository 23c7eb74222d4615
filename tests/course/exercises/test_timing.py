"""A limit of processor time: a loop without an end is ended, what is quick is not."""

import signal

import pytest

from numpy_attention.course.exercises.timing import at_most


def test_an_endless_loop_ends():
    with pytest.raises(TimeoutError, match="it takes longer than 0.05 seconds"):
        with at_most(0.05):
            while True:
                pass


def test_what_was_set_before_is_set_again():
    before = signal.getsignal(signal.SIGVTALRM)
    with at_most(5):
        assert signal.getsignal(signal.SIGVTALRM) is not before
    assert signal.getsignal(signal.SIGVTALRM) is before
    assert signal.getitimer(signal.ITIMER_VIRTUAL)[0] == 0
