"""Sums over the ranks of an mpirun, alone: by size, beside Allreduce, and of a table's rows.

    mpirun -n RANKS … python benchmarks/ranks_sums.py [--rounds 7] [--tables]

Rank 0 prints JSON lines, each with the seconds of every round, on the slowest rank:

    ping        a message of 8 bytes, one way (half of there and back)
    sum         `Ranks.add` of so many bytes, and "plain", MPI's Allreduce of the same
    table       with --tables: `row_sums.add` of a table of 100,000 × 256, of whose rows a share is
                touched, the same on every rank; "whole": the same table sent whole
"""

import argparse
import json
import time
from unittest.mock import patch

import numpy as np

from numpy_attention.training.distributed import row_sums
from numpy_attention.training.distributed.ranks import world

SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000)       # bytes
TABLE = (100_000, 256)
SHARES = (0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)
PINGS = 1000


class Table:
    """A gradient twin that is one table."""

    def __init__(self, rows, columns):
        self.vector = np.zeros(rows * columns, np.float32)
        self.rows = self.vector.reshape(rows, columns)

    def named_parameters(self):
        yield "E", self.rows

    def touch(self, share):
        """Leave something in a share of the rows, drawn alike on every rank, and 0 elsewhere."""
        self.vector[:] = 0
        chosen = np.random.default_rng(0).permutation(len(self.rows))
        self.rows[chosen[:round(share * len(self.rows))]] = 1


def seconds_of(ranks, do):
    """Of what all ranks do together, on the slowest."""
    ranks.comm.Barrier()
    start = time.perf_counter()
    do()
    return max(ranks.allgather(time.perf_counter() - start))


def ping(ranks):
    """Seconds of PINGS messages from rank 0 to rank 1, and of the answers."""
    comm, message = ranks.comm, np.zeros(1)
    seconds = []
    for _ in range(PINGS):
        comm.Barrier()
        start = time.perf_counter()
        if ranks.rank == 0:
            comm.Send(message, 1)
            comm.Recv(message, 1)
        elif ranks.rank == 1:
            comm.Recv(message, 0)
            comm.Send(message, 0)
        seconds.append((time.perf_counter() - start) / 2)
    return seconds


def sums(ranks, size, rounds):
    """(seconds of `add`, seconds of Allreduce), in turn; the first round of each is left out."""
    vector = np.empty(size // 4, np.float32)
    total = np.empty_like(vector)
    ours, plain = [], []
    for _ in range(1 + rounds):
        vector[:] = 1
        plain.append(seconds_of(ranks, lambda: ranks.comm.Allreduce(vector, total)))
        ours.append(seconds_of(ranks, lambda: ranks.add(vector)))
    assert (vector == total).all()
    return ours[1:], plain[1:]


def tables(ranks, rounds):
    """{share of touched rows: (seconds of those rows alone, seconds of the table whole)}."""
    table = Table(*TABLE)
    seconds = {share: ([], []) for share in SHARES}
    for _ in range(1 + rounds):
        for share, both in seconds.items():
            for most, times in zip((1.0, 0.0), both):
                table.touch(share)
                with patch.object(row_sums, "MOST", most):
                    times.append(seconds_of(ranks, lambda: row_sums.add(ranks, table)))
    return {share: (rows[1:], whole[1:]) for share, (rows, whole) in seconds.items()}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tables", action="store_true")
    options = parser.parse_args()
    ranks = world()

    def tell(kind, **figures):
        if ranks.is_first:
            print(json.dumps({"kind": kind, "ranks": ranks.count} | figures), flush=True)

    tell("ping", seconds=ping(ranks))
    for size in SIZES:
        ours, plain = sums(ranks, size, options.rounds)
        tell("sum", bytes=size, seconds=ours, plain=plain)
    if options.tables:
        for share, (rows, whole) in tables(ranks, options.rounds).items():
            tell("table", share=share, seconds=rows, whole=whole)


if __name__ == "__main__":
    main()
