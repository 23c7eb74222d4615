"""Ranks: the processes, on one host or many, that share a training among them, by MPI.

`mpirun -n 4 …` starts four, numbered from 0. Each takes its rows of every batch; here stands how
they come to the same sums, bit for bit, and to the same decisions.

    ranks = world()                 of this job; SINGLE_PROCESS where no mpirun has started it

The engine is Open MPI by mpi4py, extra `cluster`; it is loaded by `world` alone.
"""

import os
import socket
import time
from functools import lru_cache
from typing import Any, Callable, TypeVar

import numpy as np

from numpy_attention.data.batching.grouping import share_of
from numpy_attention.module import Array
from numpy_attention.registry import STARTERS

Value = TypeVar("Value")
ENDED = 3.0         # seconds in which ranks that fail alike all have failed


class SingleProcess:
    """One process, which has nobody to agree with."""

    rank = 0
    count = 1

    @property
    def is_first(self) -> bool:
        """Whether this is rank 0, which alone reads and writes the run's folder, and speaks."""
        return self.rank == 0

    def allgather(self, value: Value) -> list[Value]:
        """What each rank has given, in their order."""
        return [value]

    def broadcast(self, value: Value) -> Value:
        """What rank 0 has given."""
        return value

    def first(self, do: Callable[[], Value]) -> Value:
        """What rank 0's call gives, or raises, for every rank; the others do not call."""
        return do()

    def add(self, vector: Array) -> None:
        """Put into a flat vector the sum of all ranks' vectors, each rank the same bits.

        Halves are added as `tree` has it, so that 2 · 2 shares add up as 1 · 4 do.
        """

    def ended_alike(self) -> bool:
        """Whether all ranks come here: all have failed, for the same reason."""
        return True


class Ranks(SingleProcess):
    """This process among those of an MPI communicator."""

    def __init__(self, comm: Any, in_place: Any) -> None:
        """comm: of mpi4py; in_place: its MPI.IN_PLACE."""
        self._in_place = in_place
        self.comm = comm
        self.rank = comm.Get_rank()
        self.count = comm.Get_size()
        self._last = comm.Dup()         # for `ended_alike`: what fails has left its messages behind

    def allgather(self, value: Value) -> list[Value]:
        return self.comm.allgather(value)

    def broadcast(self, value: Value) -> Value:
        return self.comm.bcast(value)

    def first(self, do: Callable[[], Value]) -> Value:
        value, failed = self.comm.bcast(outcome_of(do) if self.is_first else None)
        if failed is not None:
            raise failed
        return value

    def add(self, vector: Array) -> None:
        if self.count == 1:
            return
        slices = [share_of(len(vector), rank, self.count) for rank in range(self.count)]
        counts = [mine.stop - mine.start for mine in slices]
        starts = [mine.start for mine in slices]
        mine = slices[self.rank]
        # everyone's numbers of my slice; the sum of my slice to everyone
        parts = np.empty((self.count, counts[self.rank]), vector.dtype)
        own = counts[self.rank]
        begins = [own * rank for rank in range(self.count)]
        self.comm.Alltoallv([vector, (counts, starts)], [parts, ([own] * self.count, begins)])
        tree(lambda to, one: np.add(parts[to], parts[one], out=parts[to]), self.count)
        vector[mine] = parts[0]
        self.comm.Allgatherv(self._in_place, [vector, (counts, starts)])

    def ended_alike(self) -> bool:
        arrived = self._last.Ibarrier()
        end = time.monotonic() + ENDED
        while not arrived.Test():
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def abort(self, code: int) -> None:
        """End all ranks, at once."""
        self.comm.Abort(code)


SINGLE_PROCESS = SingleProcess()


def tree(add: Callable[[int, int], Any], count: int) -> None:
    """Add up `count` things in pairs, and pairs of pairs: add(to, one) adds one to another.

    All is in number 0 in the end. Powers of two add up alike however they are shared out: the sum
    of four is (0 + 1) + (2 + 3), in one process or in two.
    """
    distance = 1
    while distance < count:
        for to in range(0, count - distance, 2 * distance):
            add(to, to + distance)
        distance *= 2


def outcome_of(do: Callable[[], Value]) -> tuple[Value | None, BaseException | None]:
    """What a call gives, or what it raises; a Stopped too, so that all ranks hear of it."""
    try:
        return do(), None
    except (Exception, KeyboardInterrupt) as error:
        return None, error


def adds_as_one(ranks: int, threads: int) -> bool:
    """Whether so many ranks of so many threads add up to the bits that one rank's threads would."""
    return ranks == 1 or threads & (threads - 1) == 0


@lru_cache(maxsize=None)
def world() -> SingleProcess:
    """All ranks of the mpirun that has started this process; SINGLE_PROCESS where none has.

    ImportError: mpirun has, and mpi4py is missing.
    """
    if not any(count in os.environ for count, _ in STARTERS):
        return SINGLE_PROCESS
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError("ranks are started, and the engine that joins them is missing "
                          f'({error}): pip install -e ".[cluster]"') from None
    return Ranks(MPI.COMM_WORLD, MPI.IN_PLACE)


def host() -> str:
    return socket.gethostname()
