"""A share of the batch is a share of the work: rows for each thread, and one gradient in the end.

The loss is a sum over rows, so its gradient is a sum of gradients: each thread adds those of its
rows to a twin of its own, and the twins are added up, each thread a slice of the flat vectors.
"""

import math
from typing import Callable, Mapping, Sequence

from numpy_attention.data.batching.grouping import share_of
from numpy_attention.data.protocols import Batch
from numpy_attention.kernels.updates import gather, squared_norm
from numpy_attention.module import Array
from numpy_attention.training.protocols import Model, Optimizer, State
from numpy_attention.training.threads import Threads
from numpy_attention.trees import join_rows, rows_of

Work = Callable[[int, Batch, State], tuple[float, State]]


def shared(pool: Threads, batch: Batch, state: State,
           work: Work) -> tuple[tuple[float, ...], State]:
    """Give each thread its rows of a batch: work(k, part, state) → (loss, state).

    → all losses, the joined state. A batch of fewer rows than threads leaves some without work.
    """
    n = min(pool.count, batch.size)

    def part(k: int) -> tuple[float, State] | None:
        if k >= n:
            return None
        return work(k, batch.share(k, n), rows_of(state, k, n))

    results = [result for result in pool.map(part) if result is not None]
    losses, states = zip(*results)
    return losses, join_rows(states)


def add_up(pool: Threads, twins: Sequence[Model]) -> float:
    """Add all twins into the first and leave 0 in the others; → the norm of the sum."""
    total = twins[0].vector

    def add(k: int) -> float:
        mine = share_of(len(total), k, pool.count)
        for twin in twins[1:]:
            gather(total[mine], twin.vector[mine])
        return squared_norm(total[mine])

    return math.sqrt(sum(pool.map(add)))


def update(pool: Threads, optimizer: Optimizer, weights: Array, gradient: Array,
           vectors: Mapping[str, Array], step: int, rate: float, factor: float) -> None:
    """The optimizer's update, a slice of the vectors in each thread; leaves 0 in the gradient."""
    def move(k: int) -> None:
        mine = share_of(len(weights), k, pool.count)
        own = {name: vector[mine] for name, vector in vectors.items()}
        optimizer.update(weights[mine], gradient[mine], own, step, rate, factor)

    pool.map(move)
