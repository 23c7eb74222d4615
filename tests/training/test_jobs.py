"""Jobs of one rank, and what a rank that works for another does; on several: test_compare_ranks."""

import signal
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from types import SimpleNamespace

import pytest
from ranks_in_threads import together

from numpy_attention.training import jobs
from numpy_attention.training.interrupt import Stopped
from numpy_attention.training.jobs import Worker, handed_out
from numpy_attention.training.ranks import SINGLE_PROCESS


def test_one_rank_does_one_after_the_other():
    said = []
    assert handed_out(SINGLE_PROCESS, [3, 1, 2], lambda job: job * 2, lambda *done: said.append(done)) == [
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


class Executor(ThreadPoolExecutor):
    """In place of mpi4py's: its one thread is rank 1, which works while rank 0 asks."""

    over = None

    def shutdown(self, wait=True, cancel_futures=False):
        super().shutdown(wait, cancel_futures=cancel_futures)
        Executor.over.set()


@contextmanager
def working():
    yield
    assert Executor.over.wait(60)


def two_ranks(monkeypatch, work, places):
    """What two ranks give, and what rank 0 tells."""
    Executor.over = threading.Event()
    monkeypatch.setattr(jobs, "executor_of",
                        lambda ranks: Executor(1) if ranks.is_first else working())
    told = []

    def do(ranks):
        # rank 1 must be at its place before rank 0 asks it
        if ranks.is_first:
            while Worker.here is None:
                pass
        return handed_out(ranks, places, work, lambda *done: told.append(done))

    Worker.here = None
    return together(2, do), told


def test_several_ranks_give_what_one_would(monkeypatch):
    given, told = two_ranks(monkeypatch, lambda job: job * 2, "abc")
    assert given == [["aa", "bb", "cc"]] * 2
    assert sorted(told) == [(1, "a", "aa"), (2, "b", "bb"), (3, "c", "cc")]


def test_the_first_error_ends_all_and_nothing_more_begins(monkeypatch, capsys):
    done = []
    begun = threading.Event()

    def work(job):
        done.append(job)
        if job == "b":
            begun.set()
            raise KeyError(job)

    with pytest.raises(KeyError, match="b"):
        two_ranks(monkeypatch, work, "abcdef")
    assert done == ["a", "b"]


@pytest.mark.parametrize("running, told", [(2, "lost; 2 at work end first, no more begin\n"),
                                           (0, "")])
def test_what_other_ranks_are_at_ends_before_the_error(running, told, monkeypatch, capsys):
    asked = [Future() for _ in range(4)]
    asked[0].set_exception(ValueError("lost"))
    for future in asked[1:1 + running]:
        assert future.set_running_or_notify_cancel()
    shut = []
    waiting = iter(asked)
    executor = SimpleNamespace(submit=lambda do, place: next(waiting),
                               shutdown=lambda **how: shut.append(how))
    monkeypatch.setattr(jobs, "executor_of", lambda ranks: nullcontext(executor))
    with pytest.raises(ValueError, match="^lost$"):
        jobs.ask_for(None, "abcd", lambda *done: None)
    assert shut == [{"cancel_futures": True}] and capsys.readouterr().out == told


def test_one_of_several_numbers_of_ranks_is_one():
    given = together(1, lambda ranks: handed_out(ranks, [1, 2], lambda job: job + 1, None))
    assert given == [[2, 3]]


def test_a_worker_is_not_at_work_before_it_is_asked():
    worker = Worker(print)
    worker._ask(signal.SIGTERM, None)
    assert str(worker._error) == "interrupted"
