"""Jobs of one rank, and what a rank that works for another does; on several: test_compare_ranks."""

import signal

import pytest

from numpy_attention.training import jobs
from numpy_attention.training.interrupt import Stopped
from numpy_attention.training.jobs import Worker, handed_out
from numpy_attention.training.ranks import ALONE


def test_one_rank_does_one_after_the_other():
    said = []
    assert handed_out(ALONE, [3, 1, 2], lambda job: job * 2, lambda *done: said.append(done)) == [
        6, 2, 4]
    assert said == []


def test_a_worker_does_what_is_asked_for_by_place():
    with Worker("abc".index):
        assert jobs.do("c") == 2


def test_after_an_error_nothing_more_is_done():
    done = []

    def work(place):
        done.append(place)
        if place == 1:
            raise KeyError("one")

    with Worker(work):
        jobs.do(0)
        for place in (1, 2):
            with pytest.raises(KeyError, match="one"):
                jobs.do(place)
    assert done == [0, 1]


def test_a_signal_within_a_job_stops_it():
    with Worker(signal.raise_signal), pytest.raises(Stopped) as stopped:
        jobs.do(signal.SIGUSR1)
    assert stopped.value.number == signal.SIGUSR1


def test_a_signal_between_two_jobs_is_kept_for_the_next():
    done = []
    with Worker(done.append):
        jobs.do(0)
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
        with pytest.raises(Stopped) as stopped:
            jobs.do(1)
    assert stopped.value.number == signal.SIGTERM and done == [0]
