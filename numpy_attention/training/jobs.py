"""Jobs handed out to ranks: one rank does each, alone, and rank 0 waits for what comes of them.

The engine is mpi4py.futures.
"""

from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from types import FrameType
from typing import Any, ClassVar, TypeVar

from numpy_attention.training.interrupt import Interrupt, Stopped
from numpy_attention.training.ranks import SingleProcess, Ranks

Job = TypeVar("Job")
Made = TypeVar("Made")


def handed_out(ranks: SingleProcess, jobs: Sequence[Job], work: Callable[[Job], Made],
               tell: Callable[[int, Job, Made], None]) -> list[Made]:
    """What work(job) gives for each job, in their order, on every rank.

    Every rank calls this with the same jobs. One rank does one after the other. Of several, rank 0
    does none: it is sent what work gives, which had better be small, and calls
    tell(done, job, made) as each is done, so many in all. The first error ends all ranks, as soon
    as what is at work has ended.
    """
    if not isinstance(ranks, Ranks) or ranks.count == 1:
        return [work(job) for job in jobs]
    if not ranks.is_first:
        with Worker(lambda place: work(jobs[place])), executor_of(ranks):
            pass                                        # until rank 0 asks for no more
    return ranks.first(lambda: ask_for(ranks, jobs, tell))


def executor_of(ranks: Ranks) -> Any:
    """A context manager: within it rank 0 asks for work, and to enter it is to work for rank 0."""
    from mpi4py.futures import MPICommExecutor
    return MPICommExecutor(ranks.comm, root=0)


def ask_for(ranks: Ranks, jobs: Sequence[Job],
            tell: Callable[[int, Job, Any], None]) -> list[Any]:
    """What the other ranks' work gives for each job."""
    with executor_of(ranks) as executor:
        futures = {executor.submit(do, place): job for place, job in enumerate(jobs)}
        try:
            for done, future in enumerate(as_completed(futures), 1):
                tell(done, futures[future], future.result())
        except BaseException as error:
            others = sum(future.running() for future in futures)
            if others:
                print(f"{error}; {others} at work end first, no more begin", flush=True)
            raise
        finally:
            executor.shutdown(cancel_futures=True)
    return [future.result() for future in futures]


def do(place: int) -> Any:
    """The job at a place, done by this rank: what rank 0 asks for, which it must call by name."""
    assert Worker.here is not None
    return Worker.here.do(place)


class Worker(Interrupt):
    """This rank, while it does jobs for rank 0.

    After an error, every other job that comes ends with it as it begins: rank 0 may send one before
    it has heard. A signal is a Stopped within a job; between two, where it would leave rank 0
    waiting, it is kept for the next.
    """

    here: ClassVar["Worker | None"] = None

    def __init__(self, work: Callable[[int], Any]) -> None:
        super().__init__()
        self._work = work
        self._error: BaseException | None = None
        self._busy = False
        Worker.here = self

    def do(self, place: int) -> Any:
        self._busy = True
        try:
            if self._error is not None:
                raise self._error
            return self._work(place)
        except BaseException as error:
            self._error = error
            raise
        finally:
            self._busy = False

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self._error is None:
            self._error = Stopped("interrupted", number)
            if self._busy:
                raise self._error
