"""Jobs distributed over ranks: order, errors and signals. With mpirun: test_compare_ranks."""

import threading

import pytest
from ranks_in_threads import Comm, on_ranks

from numpy_attention.training.distributed import jobs
from numpy_attention.training.distributed.jobs import handed_out, serve
from numpy_attention.training.distributed.ranks import SINGLE_PROCESS, Ranks
from numpy_attention.training.interrupt import Stopped


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(jobs, "PAUSE", 0.001)


def test_one_rank_runs_jobs_in_order():
    for ranks in (lambda do: do(SINGLE_PROCESS), lambda do: on_ranks(1, do)[0]):
        calls = []
        found = ranks(lambda one: handed_out(one, [3, 1, 2], lambda job: job * 2, calls.append))
        assert found == [6, 2, 4] and calls == []


@pytest.mark.parametrize("count", [2, 3, 6])
def test_several_ranks_match_one(count):
    calls, workers = [], set()

    def work(job):
        workers.add(threading.get_ident())
        return 2 * job

    def do(ranks):
        if ranks.is_first:
            workers.add(-threading.get_ident())
        return handed_out(ranks, "abc", work, lambda *done: calls.append(done))

    assert on_ranks(count, do) == [["aa", "bb", "cc"]] * count
    assert [number for number, *_ in calls] == [1, 2, 3]
    assert sorted(done[1:] for done in calls) == [("a", "aa"), ("b", "bb"), ("c", "cc")]
    assert not {-worker for worker in workers} & workers            # rank 0 runs no jobs


def test_first_error_stops_all_ranks(capsys):
    done = []

    def work(job):
        done.append(job)
        if job == "b":
            raise KeyError(job)

    with pytest.raises(KeyError, match="b"):
        on_ranks(2, lambda ranks: handed_out(ranks, "abcdef", work, lambda *done: None))
    assert done == ["a", "b"] and capsys.readouterr().out == ""


def test_running_jobs_finish_before_the_error_is_raised(capsys):
    ended, failing = [], threading.Event()

    def work(job):
        if job == "a":
            failing.wait(10)
            raise ValueError("lost")
        failing.set()
        threading.Event().wait(0.1)
        ended.append(job)

    with pytest.raises(ValueError, match="^lost$"):
        on_ranks(3, lambda ranks: handed_out(ranks, "abcdef", work, lambda *done: None))
    assert ended == ["b"]
    assert capsys.readouterr().out == "lost; starting no more jobs, waiting for 1\n"


def test_error_on_rank_0_stops_all_ranks():
    def report(*done):
        raise Stopped("told", 15)

    with pytest.raises(Stopped, match="told"):
        on_ranks(3, lambda ranks: handed_out(ranks, "abcd", str.upper, report))


class Scripted(Comm):
    """A communicator with scripted messages; an exception in the script is raised while waiting."""

    def __init__(self, *script):
        super().__init__(1, [None, None], None)
        self.script = list(script)
        self.sent = []

    def iprobe(self):
        if isinstance(self.script[0], BaseException):
            raise self.script.pop(0)
        return True

    def recv(self):
        return self.script.pop(0)

    def send(self, value, rank):
        self.sent.append((value, rank))


def test_signal_between_jobs_ends_the_next():
    comm = Scripted(0, Stopped("interrupted", 15), 1, None)
    done = []
    serve(Ranks(comm, None), lambda place: done.append(place) or place + 5)
    (first, to), (second, _) = comm.sent
    assert first == (1, 0, 5, None) and to == 0 and done == [0]
    assert second[:3] == (1, 1, None) and isinstance(second[3], Stopped)
    assert second[3].number == 15


def test_signal_during_a_job_is_its_result():
    comm = Scripted(0, None)

    def work(place):
        raise KeyboardInterrupt

    serve(Ranks(comm, None), work)
    assert isinstance(comm.sent[0][0][3], KeyboardInterrupt)
