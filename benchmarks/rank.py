"""One rank of ranks.py, started by mpirun. Rank 0 answers commands with lines of JSON.

    python benchmarks/rank.py step MODEL THREADS ROWS
    python benchmarks/rank.py sums ROUNDS TABLES

step: runs a training step of ROWS rows for every command. It answers "ready" after three steps, in
which everything is compiled; "step" with the seconds of a step on the slowest rank; "parts" with
the seconds of the parts of a step on rank 0, and what was sent; "end" with a digest of the
parameters. Between commands the ranks sleep, so that other processes can be measured in turn.

sums: measures sums alone. It prints one line for each, with the seconds of every round on the
slowest rank, and null at the end. ping: a message of 8 bytes, one way (half of the round trip).
sum: `Ranks.add` of some bytes, and "plain", MPI's Allreduce of the same. table: `row_sums.add` of a
table in which some rows are touched, the same on every rank; "whole": the same table sent whole.
"""

import json
import sys
import time
from collections import Counter
from hashlib import sha256
from unittest.mock import patch

import numpy as np
from sides import MODELS, our_step, our_trainer
from worker import Clock, timed, warm

from numpy_attention.training import trainer as loop
from numpy_attention.training.distributed import row_sums
from numpy_attention.training.distributed.ranks import world

PAUSE = 0.01                    # seconds between two checks of a sleeping rank
PINGS = 1000
SIZES = (100_000, 1_000_000, 10_000_000, 100_000_000)       # bytes of a sum
TABLE = (100_000, 256)
SHARES = (0.01, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0)    # of the table's rows


def answer(ranks, what):
    if ranks.is_first:
        print(json.dumps(what), flush=True)


def order_of(ranks):
    """Return the next line of rank 0's input on every rank. Other ranks sleep until it comes."""
    line = sys.stdin.readline() if ranks.is_first else None
    if ranks.count > 1:
        arrived = ranks.comm.Ibarrier()
        while not arrived.Test():
            time.sleep(PAUSE)
    return ranks.broadcast(line).strip()


def barrier(ranks):
    """Wait for all ranks in a busy loop."""
    if ranks.count > 1:
        ranks.comm.Barrier()


def seconds_of(do, ranks):
    """Return the seconds of a call by all ranks, on the slowest rank."""
    barrier(ranks)
    start = time.perf_counter()
    do()
    return max(ranks.allgather(time.perf_counter() - start))


# ---- training steps ------------------------------------------------------------------------------


def parts_of(step, ranks):
    """Return {"parts": {part: seconds}, "bytes", "sums" and "agreements": counts} of rank 0.

    All ranks wait for each other before each sum and agreement. That time is the part "waiting".
    """
    clock = Clock()
    sent = Counter()
    allgather, add = ranks.allgather, ranks.add

    def counted(value):
        sent["agreements"] += 1
        return allgather(value)

    wait = clock.timed("waiting", barrier)
    agree = clock.timed("agreeing", counted)
    sum_rows = clock.timed("summing", row_sums.add)

    def agreed(value):
        wait(ranks)
        return agree(value)

    def added(vector):
        sent["bytes"] += vector.nbytes
        sent["sums"] += 1
        add(vector)

    def summed(*arguments):
        wait(ranks)
        with patch.object(ranks, "allgather", counted):         # for the numbers of the rows
            sum_rows(*arguments)

    barrier(ranks)
    with patch.multiple(ranks, allgather=agreed, add=added), \
            patch.object(row_sums, "add", summed), \
            patch.multiple(loop, shared=clock.timed("computing", loop.shared),
                           update=clock.timed("update", loop.update)):
        seconds, _ = timed(step)
    parts = clock.read()
    return {"parts": parts | {"rest": seconds - sum(parts.values())}, **sent}


def train(ranks, model, threads, rows):
    trainer, batch = our_trainer(MODELS[model] | {"batch": rows}, threads * ranks.count,
                                 lambda: None, ranks=ranks)
    step = our_step(trainer, batch)
    warm(step)
    answer(ranks, "ready")
    while (order := order_of(ranks)) != "end":
        answer(ranks, {"step": seconds_of, "parts": parts_of}[order](step, ranks))
    digests = set(ranks.allgather(sha256(trainer.model.vector).hexdigest()))
    assert len(digests) == 1, "the ranks have different parameters"
    answer(ranks, {"digest": digests.pop(), "parameters": trainer.model.size, "rows": batch.size})


# ---- sums alone ----------------------------------------------------------------------------------


class Table:
    """The gradient of a model that is a single table."""

    def __init__(self, rows, columns):
        self.vector = np.zeros(rows * columns, np.float32)
        self.rows = self.vector.reshape(rows, columns)

    def named_parameters(self):
        yield "E", self.rows

    def touch(self, share):
        """Set a share of the rows to 1 and the others to 0, the same rows on every rank."""
        self.vector[:] = 0
        chosen = np.random.default_rng(0).permutation(len(self.rows))
        self.rows[chosen[:round(share * len(self.rows))]] = 1


def ping(ranks):
    """Return half the seconds of each of PINGS round trips between ranks 0 and 1."""
    message = np.zeros(1)
    seconds = []
    for _ in range(PINGS):
        ranks.comm.Barrier()
        start = time.perf_counter()
        if ranks.rank == 0:
            ranks.comm.Send(message, 1)
            ranks.comm.Recv(message, 1)
        elif ranks.rank == 1:
            ranks.comm.Recv(message, 0)
            ranks.comm.Send(message, 0)
        seconds.append((time.perf_counter() - start) / 2)
    return seconds


def sum_vector(ranks, size, rounds):
    """Return the seconds of `add` and of Allreduce, in turn, without the first round."""
    vector = np.empty(size // 4, np.float32)
    total = np.empty_like(vector)
    ours, plain = [], []
    for _ in range(1 + rounds):
        vector[:] = 1
        plain.append(seconds_of(lambda: ranks.comm.Allreduce(vector, total), ranks))
        ours.append(seconds_of(lambda: ranks.add(vector), ranks))
    assert (vector == total).all()
    return ours[1:], plain[1:]


def sum_table(ranks, table, share, rounds):
    """Return the seconds for the touched rows only and for the whole table, like sum_vector."""
    seconds = {1.0: [], 0.0: []}
    for _ in range(1 + rounds):
        for most, times in seconds.items():
            table.touch(share)
            with patch.object(row_sums, "MOST", most):
                times.append(seconds_of(lambda: row_sums.add(ranks, table), ranks))
    return [times[1:] for times in seconds.values()]


def sums(ranks, rounds, with_tables):
    def report(kind, **figures):
        answer(ranks, {"kind": kind, "ranks": ranks.count} | figures)

    report("ping", seconds=ping(ranks))
    for size in SIZES:
        ours, plain = sum_vector(ranks, size, rounds)
        report("sum", bytes=size, seconds=ours, plain=plain)
    table = Table(*TABLE)
    for share in SHARES if with_tables else ():
        rows, whole = sum_table(ranks, table, share, rounds)
        report("table", share=share, seconds=rows, whole=whole)
    answer(ranks, None)


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "step":
        train(world(), words[0], int(words[1]), int(words[2]))
    else:
        sums(world(), *map(int, words))
