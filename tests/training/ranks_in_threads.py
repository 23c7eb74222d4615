"""Ranks as threads of one process, with mpi4py's communicator interface, for quick tests.

tests/integration/cli/test_mpirun.py tests real ranks.
"""

import pickle
import queue
import threading

import numpy as np

from numpy_attention.training.distributed.ranks import Ranks

IN_PLACE = object()
PATIENCE = 60


class Comm:
    """The part of an mpi4py communicator that Ranks uses."""

    def __init__(self, rank, slots, barrier, mail=()):
        self.rank = rank
        self.slots = slots
        self.barrier = barrier
        self.mail = mail            # a queue for each rank

    def Get_rank(self):
        return self.rank

    def Get_size(self):
        return len(self.slots)

    def Dup(self):
        return self

    def allgather(self, value):
        self.slots[self.rank] = pickle.dumps(value)
        self.barrier.wait(PATIENCE)
        found = [pickle.loads(one) for one in self.slots]
        self.barrier.wait(PATIENCE)
        return found

    def send(self, value, rank):
        self.mail[rank].put(pickle.dumps(value))

    def iprobe(self):
        return not self.mail[self.rank].empty()

    def recv(self):
        return pickle.loads(self.mail[self.rank].get(timeout=PATIENCE))

    def bcast(self, value):
        return self.allgather(value)[0]

    def Alltoallv(self, send, receive):
        vector, (counts, starts) = send
        parts, (lengths, begins) = receive
        flat = parts.reshape(-1)
        mine = [vector[start:start + count] for count, start in zip(counts, starts)]
        for got, length, begin in zip(self.allgather(mine), lengths, begins):
            assert len(got[self.rank]) == length
            flat[begin:begin + length] = got[self.rank]

    def Allgatherv(self, send, receive):
        assert send is IN_PLACE
        vector, (counts, starts) = receive
        start = starts[self.rank]
        own = vector[start:start + counts[self.rank]]
        for got, count, start in zip(self.allgather(own), counts, starts):
            vector[start:start + count] = got


def on_ranks(count, do):
    """Return [do(Ranks) on each rank]; the first error is raised."""
    slots, barrier = [None] * count, threading.Barrier(count)
    mail = [queue.Queue() for _ in range(count)]
    given, errors = [None] * count, []

    def run(rank):
        try:
            given[rank] = do(Ranks(Comm(rank, slots, barrier, mail), IN_PLACE))
        except BaseException as error:
            errors.append(error)
            barrier.abort()

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    real = [error for error in errors if not isinstance(error, threading.BrokenBarrierError)]
    if real or errors:
        raise (real or errors)[0]
    return given


def same(given):
    """Assert that all ranks returned the same bits, and return them."""
    first, *others = given
    for other in others:
        if isinstance(first, np.ndarray):
            assert first.tobytes() == other.tobytes()
        else:
            assert first == other
    return first
