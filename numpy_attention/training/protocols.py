"""Methods that training calls on models, optimizers and schedules. No base class is needed.

`numpy_attention.data.protocols.Batches` describes the batches. `optimizers` describes the `slots`
and `update` of an optimizer. The vectors that are passed to `update` may be slices.
"""

from collections.abc import Callable
from typing import Any, Iterator, Mapping, Protocol

import numpy as np

from numpy_attention.module import Array

State = Any     # what a model carries from batch to batch: arrays (B, …), tuples of them, or None
Optimizer = Any
# schedule(step, epoch) → share of the learning rate; steps count from 1, epochs from 0
Schedule = Callable[[int, int], float]


class Model(Protocol):
    """A model whose loss is a sum over rows and steps, so losses of parts of a batch add up."""

    @property
    def size(self) -> int: ...

    @property
    def vector(self) -> Array: ...

    def named_parameters(self) -> Iterator[tuple[str, Array]]: ...

    def zeros_like(self, vector: Array | None = None) -> "Model": ...

    def move_to(self, vector: Array) -> None: ...

    def load(self, parameters: Mapping[str, Array]) -> None: ...

    def loss(self, batch: Any, state: State = None) -> tuple[float, State]:
        """Return the loss of a batch in nats, without dropout, and the state after the batch."""

    def losses(self, batch: Any, state: State = None) -> tuple[Array, State]:
        """Return the loss of each target (T, B), 0 at padding, and the state after the batch."""

    def loss_and_grad(self, batch: Any, state: State, scale: float, grads: Any,
                      rng: np.random.Generator | None = None) -> tuple[float, State]:
        """Return the same as `loss`, but with dropout if rng is given, and with label smoothing.

        Adds ∂(scale · loss)/∂parameters to `grads`.
        """
