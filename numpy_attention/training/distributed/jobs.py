"""Jobs distributed over ranks. Each job runs on one rank, and rank 0 collects the results."""

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from numpy_attention.training.distributed.ranks import Ranks, SingleProcess

Job = TypeVar("Job")
Made = TypeVar("Made")

PAUSE = 0.02        # seconds between two checks for a message: MPI itself would busy-wait


def handed_out(ranks: SingleProcess, jobs: Sequence[Job], work: Callable[[Job], Made],
               report: Callable[[int, Job, Made], None]) -> list[Made]:
    """Return work(job) for each job, in the order of the jobs, on every rank.

    Every rank must call this function with the same jobs. With several ranks, rank 0 runs no job;
    it calls report(number done, job, result) after each result. After the first error, no job is
    started. Once the running jobs end, all ranks raise the error.
    """
    if not isinstance(ranks, Ranks) or ranks.count == 1:
        return [work(job) for job in jobs]
    if not ranks.is_first:
        serve(ranks, lambda place: work(jobs[place]))
    return ranks.first(lambda: collect(ranks, jobs, report))


def serve(ranks: Ranks, do: Callable[[int], Any]) -> None:
    """Call do(index) for each job index that rank 0 sends. Send the result or the error back."""
    stopped: BaseException | None = None
    while True:
        try:
            place = receive(ranks)
        except KeyboardInterrupt as error:
            # sent with the next job; if this rank ended, rank 0 would wait forever
            stopped = error
            continue
        if place is None:
            return
        made = failed = None
        try:
            if stopped is not None:
                raise stopped
            made = do(place)
        except (Exception, KeyboardInterrupt) as error:
            failed = error
        ranks.comm.send((ranks.rank, place, made, failed), 0)


def collect(ranks: Ranks, jobs: Sequence[Job],
            report: Callable[[int, Job, Any], None]) -> list[Any]:
    """Send the index of each job to a free rank; return the results in the order of the jobs."""
    others = range(1, ranks.count)
    free = list(others)
    places = list(range(len(jobs)))
    results: dict[int, Any] = {}
    failed: BaseException | None = None
    while (places and failed is None) or len(free) < len(others):
        if places and free and failed is None:
            ranks.comm.send(places.pop(0), free.pop(0))
            continue
        try:
            rank, place, made, error = receive(ranks)
            free.append(rank)
            if error is not None:
                raise error
            results[place] = made
            report(len(results), jobs[place], made)
        except (Exception, KeyboardInterrupt) as error:
            at_work = len(others) - len(free)
            if failed is None and at_work:
                print(f"{error}; starting no more jobs, waiting for {at_work}", flush=True)
            failed = failed or error
    for rank in others:
        ranks.comm.send(None, rank)
    if failed is not None:
        raise failed
    return [results[place] for place in range(len(jobs))]


def receive(ranks: Ranks) -> Any:
    while not ranks.comm.iprobe():
        time.sleep(PAUSE)
    return ranks.comm.recv()
