"""One rank of ranks.py and two_hosts.py: a training step for every line that rank 0 reads.

    [mpirun -n RANKS …] python benchmarks/ranks_worker.py MODEL THREADS [--rows ROWS]

THREADS: of each rank. Rank 0 answers in lines of JSON: "ready" after three steps, in which all is
compiled; to "step" the seconds of a step, on the slowest rank; to "parts" where the seconds of a
step went on rank 0, and what was sent; to "end" a digest of the parameters, and all end. Between
two steps the ranks sleep, so that other processes can be measured in turn.
"""

import argparse
import json
import sys
import time
from collections import Counter
from contextlib import contextmanager
from hashlib import sha256
from unittest.mock import patch

from sides import MODELS, our_step, our_trainer
from worker import warm

from numpy_attention.training.distributed import row_sums
from numpy_attention.training import trainer as loop
from numpy_attention.training.distributed.ranks import world

PAUSE = 0.01            # seconds between two looks of a sleeping rank


class Clock:
    """Seconds by the part of a step that they went to; a part within a part is not in the outer."""

    def __init__(self):
        self.seconds = Counter()
        self.part = "rest"
        self._since = time.perf_counter()

    def turn(self, part):
        now = time.perf_counter()
        self.seconds[self.part] += now - self._since
        self.part, self._since = part, now

    @contextmanager
    def of(self, part):
        outer = self.part
        self.turn(part)
        yield
        self.turn(outer)

    def timed(self, part, function):
        def within(*arguments):
            with self.of(part):
                return function(*arguments)
        return within


def barrier(ranks):
    """Where all ranks wait for each other, busily."""
    if ranks.count > 1:
        ranks.comm.Barrier()


def order_of(ranks):
    """The next line that rank 0 reads, on every rank; until it comes the others sleep."""
    line = sys.stdin.readline() if ranks.is_first else None
    if ranks.count > 1:
        arrived = ranks.comm.Ibarrier()
        while not arrived.Test():
            time.sleep(PAUSE)
    return ranks.broadcast(line).strip()


def seconds_of(step, ranks):
    """Of a step, on the slowest rank."""
    barrier(ranks)
    start = time.perf_counter()
    step()
    return max(ranks.allgather(time.perf_counter() - start))


def parts_of(step, ranks):
    """{"parts": {part: seconds} on rank 0, "bytes" and "sums": what `add` got, "agreements"}.

    All ranks meet before each sum and agreement; the time until they do is part "waiting".
    """
    clock = Clock()
    sent = Counter()
    allgather, add, add_rows = ranks.allgather, ranks.add, row_sums.add

    def agreed(value):
        sent["agreements"] += 1
        if clock.part == "summing":                 # which rows it is about
            return allgather(value)
        clock.timed("waiting", barrier)(ranks)
        with clock.of("agreeing"):
            return allgather(value)

    def added(vector):
        sent["bytes"] += vector.nbytes
        sent["sums"] += 1
        add(vector)

    def summed(*arguments):
        clock.timed("waiting", barrier)(ranks)
        with clock.of("summing"):
            add_rows(*arguments)

    barrier(ranks)
    with patch.multiple(ranks, allgather=agreed, add=added), \
            patch.object(row_sums, "add", summed), \
            patch.multiple(loop, shared=clock.timed("computing", loop.shared),
                           update=clock.timed("update", loop.update)):
        clock.turn("rest")
        clock.seconds.clear()
        step()
        clock.turn("rest")
    return {"parts": clock.seconds, **sent}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("threads", type=int)
    parser.add_argument("--rows", type=int, help="of a batch, all ranks' together")
    options = parser.parse_args()
    ranks = world()
    size = MODELS[options.model]
    if options.rows:
        size = size | {"batch": options.rows}

    def answer(what):
        if ranks.is_first:
            print(json.dumps(what), flush=True)

    trainer, batch = our_trainer(size, options.threads * ranks.count, lambda: None, ranks=ranks)
    step = our_step(trainer, batch)
    warm(step)
    answer("ready")
    while (order := order_of(ranks)) != "end":
        answer({"step": seconds_of, "parts": parts_of}[order](step, ranks))
    digests = set(ranks.allgather(sha256(trainer.model.vector).hexdigest()))
    assert len(digests) == 1, "ranks have come to different parameters"
    answer({"digest": digests.pop(), "parameters": trainer.model.size, "rows": batch.size})


if __name__ == "__main__":
    main()
