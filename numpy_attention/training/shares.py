"""Data parallelism: each thread computes some rows of the batch, and gradients are summed.

The rows of one thread are its share of the batch. The loss is a sum over rows, so the gradients of
all shares add up to the gradient of the batch. Ranks, which are processes with their own threads,
divide the rows and add up gradients in the same way.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numpy_attention.data.batching.grouping import share_of
from numpy_attention.data.protocols import Batch
from numpy_attention.kernels.updates import gather, squared_norm
from numpy_attention.module import Array
from numpy_attention.products import divided_rows
from numpy_attention.training.distributed import row_sums
from numpy_attention.training.distributed.ranks import SingleProcess, tree
from numpy_attention.training.processes import Processes
from numpy_attention.training.protocols import Model, Optimizer, State
from numpy_attention.training.threads import Threads
from numpy_attention.trees import join_rows, leaves, rows_of
from numpy_attention.validation.arrays import chunks

Work = Callable[[int, Batch, State], tuple[Any, State]]
States = list[State] | None     # of the shares in this process; None: nothing is carried yet

BLOCK = 1 << 18     # numbers of a flat vector that are added and squared at a time
SMALL = 1 << 18     # numbers that one thread adds or moves before another one wakes up


def shared(pool: Threads, batch: Batch, states: States, work: Work) -> tuple[list[Any], States]:
    """Divide a batch among the threads, and call work(k, part, state) in each thread k.

    Return two lists: the losses of all ranks' threads, and the new states of this rank's threads.
    work: a function that returns (loss, new state). states: this rank's states before, or None.
    """
    mine = shares_here(pool.ranks, pool.count, batch.size)
    n = min(pool.shares, batch.size)
    group = None if batch.size % pool.count else pool.group     # which needs equal shares

    def part(k: int) -> tuple[Any, State] | None:
        if k >= len(mine):
            return None
        with divided_rows(n, group):
            return work(k, batch.share(mine[k], n), states[k] if states else None)

    results = [result for result in pool.map(part) if result is not None]
    losses = pool.ranks.allgather([loss for loss, _ in results])
    return sum(losses, []), [state for _, state in results]


def shares_here(ranks: SingleProcess, threads: int, rows: int) -> range:
    """Return the indices of the batch parts that this rank computes, at most one per thread."""
    end = min(threads * (ranks.rank + 1), rows)
    return range(min(threads * ranks.rank, end), end)


def join_states(ranks: SingleProcess, states: States) -> State:
    """Join the states of all threads on all ranks; return the state of the whole batch."""
    known = sum(ranks.allgather(states or []), [])
    return join_rows(known) if known else None


def split_state(ranks: SingleProcess, threads: int, state: State) -> States:
    """Split a batch's state into parts for the threads of this rank; None if it is empty."""
    arrays = leaves(state)
    if not arrays:
        return None
    rows = len(arrays[0])
    n = min(threads * ranks.count, rows)
    return [rows_of(state, k, n) for k in shares_here(ranks, threads, rows)]


def add_up(pool: Threads, grads: Sequence[Model]) -> float:
    """Add up the gradients of all threads and ranks; return the norm of the sum.

    grads: the gradients of this rank's threads. The first becomes the sum; the others become 0.
    """
    vectors = [one.vector for one in grads]
    total = vectors[0]

    def add(k: int) -> float:
        """Sum slice k of the gradients of this rank's threads; return its squared norm."""
        found = 0.0
        for block in chunks(share_of(len(total), k, pool.count), BLOCK):
            tree(lambda to, one: gather(vectors[to][block], vectors[one][block]), pool.count)
            found = squared_norm(total[block], found)
        return found

    # slices of all ranks, so that 2 × 2 and 1 × 4 threads give the same bits
    def square(k: int) -> float:
        return squared_norm(total[share_of(len(total), pool.first + k, pool.shares)], 0.0)

    squares = each(pool, add, len(total))
    if pool.ranks.count > 1:                    # the sum of squares is that of all ranks' gradients
        row_sums.add(pool.ranks, grads[0])
        squares = sum(pool.ranks.allgather(each(pool, square, len(total))), [])
    return math.sqrt(sum(squares))


def update(pool: Threads, optimizer: Optimizer, weights: Array, gradient: Array,
           vectors: Mapping[str, Array], step: int, rate: float, factor: float) -> None:
    """Apply the optimizer's update, one slice in each thread, and set the gradient to 0."""
    def move(k: int) -> None:
        mine = share_of(len(weights), k, pool.count)
        slices = {name: vector[mine] for name, vector in vectors.items()}
        optimizer.update(weights[mine], gradient[mine], slices, step, rate, factor)

    each(pool, move, len(weights))


def each(pool: Threads, f: Callable[[int], Any], size: int) -> list[Any]:
    """Call f(k) for each thread k, in that thread if there is enough work. Return the results.

    size: the number of elements that all calls of f process together.
    """
    if size < SMALL and not isinstance(pool, Processes):
        return [f(k) for k in range(pool.count)]
    return pool.map(f)
