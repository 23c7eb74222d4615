"""Ranks: the processes that share a training run and agree on its sums and decisions.

`mpirun -n 4 …` starts four ranks, numbered from 0. Each computes some rows of every batch. Ranks
communicate by means of mpi4py (extra `cluster`) and Open MPI. Only `world` imports mpi4py.
"""

import os
import socket
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np

from numpy_attention.data.batching.grouping import share_of
from numpy_attention.module import Array
from numpy_attention.registry import STARTERS

Value = TypeVar("Value")
ENDED = 3.0         # seconds within which all ranks fail if they fail for the same reason


class SingleProcess:
    """A single process, with the methods of Ranks."""

    rank = 0
    count = 1

    @property
    def is_first(self) -> bool:
        """Whether this is rank 0. Only rank 0 prints and uses the files of the run."""
        return self.rank == 0

    def allgather(self, value: Value) -> list[Value]:
        """Return the values of all ranks, in the order of the ranks."""
        return [value]

    def broadcast(self, value: Value) -> Value:
        """Return the value of rank 0."""
        return value

    def first(self, do: Callable[[], Value]) -> Value:
        """Call do() on rank 0. Every rank returns the result of this call, or raises its error."""
        return do()

    def add(self, vector: Array) -> None:
        """Replace a flat vector with its sum over all ranks, bit-identical on each rank."""

    def ended_alike(self) -> bool:
        """Return whether all ranks call this within ENDED seconds. A rank that fails calls it."""
        return True


class Ranks(SingleProcess):
    """This process as one rank of the MPI communicator `comm`. in_place: mpi4py's MPI.IN_PLACE."""

    def __init__(self, comm: Any, in_place: Any) -> None:
        self._in_place = in_place
        self.comm = comm
        self.rank = comm.Get_rank()
        self.count = comm.Get_size()
        self._last = comm.Dup()     # for `ended_alike`: a failed call leaves messages behind

    def allgather(self, value: Value) -> list[Value]:
        return self.comm.allgather(value)

    def broadcast(self, value: Value) -> Value:
        return self.comm.bcast(value)

    def first(self, do: Callable[[], Value]) -> Value:
        value, failed = None, None
        try:
            value = do() if self.is_first else None
        except (Exception, KeyboardInterrupt) as error:     # including Stopped, which all ranks get
            failed = error
        value, failed = self.comm.bcast((value, failed))
        if failed is not None:
            raise failed
        return value  # type: ignore[return-value]

    def add(self, vector: Array) -> None:
        if self.count == 1:
            return
        slices = [share_of(len(vector), rank, self.count) for rank in range(self.count)]
        starts = [part.start for part in slices]
        counts = [part.stop - part.start for part in slices]
        mine = counts[self.rank]
        # gather the numbers of my slice from all ranks, and send their sum to all ranks
        parts = np.empty((self.count, mine), vector.dtype)
        begins = [mine * rank for rank in range(self.count)]
        self.comm.Alltoallv([vector, (counts, starts)], [parts, ([mine] * self.count, begins)])
        tree(lambda to, one: np.add(parts[to], parts[one], out=parts[to]), self.count)
        vector[slices[self.rank]] = parts[0]
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
        """End all ranks at once."""
        self.comm.Abort(code)


SINGLE_PROCESS = SingleProcess()


def tree(add: Callable[[int, int], Any], count: int) -> None:
    """Add up `count` terms in pairs, such as (0 + 1) + (2 + 3), so that term 0 becomes the sum.

    add(i, j) must add term j to term i.
    """
    distance = 1
    while distance < count:
        for to in range(0, count - distance, 2 * distance):
            add(to, to + distance)
        distance *= 2


def adds_as_one(ranks: int, threads: int) -> bool:
    """Return whether sums over ranks have the same bits as if all threads were on one rank."""
    return ranks == 1 or threads & (threads - 1) == 0


@lru_cache(maxsize=None)
def world() -> SingleProcess:
    """Return the Ranks of the mpirun that started this process, or SINGLE_PROCESS without mpirun.

    Raises ImportError if the process was started by mpirun and mpi4py is missing.
    """
    if not any(count in os.environ for count, _ in STARTERS):
        return SINGLE_PROCESS
    try:
        from mpi4py import MPI
    except ImportError as error:
        raise ImportError("training on several ranks requires mpi4py, which cannot be imported "
                          f'({error}); run pip install "numpy_attention[cluster]"') from None
    return Ranks(MPI.COMM_WORLD, MPI.IN_PLACE)


def host() -> str:
    return socket.gethostname()
