"""What training asks of a model, of an optimizer and of a schedule.

Whatever has these methods can be trained and evaluated; nothing here needs to be inherited. What it
asks of batches is `numpy_attention.data.protocols.Batches`.
"""

from typing import Any, Iterator, Mapping, Protocol

import numpy as np

from numpy_attention.module import Array

State = Any     # what a model carries from batch to batch: arrays (B, …), tuples of them, or None


class Model(Protocol):
    """A Module that knows its loss, summed over rows and steps, so that shares add up."""

    @property
    def size(self) -> int:
        """Number of parameters."""

    @property
    def vector(self) -> Array:
        """All parameters as one flat vector."""

    def named_parameters(self) -> Iterator[tuple[str, Array]]:
        """(dotted name, array) of every parameter, in the vector's order."""

    def zeros_like(self) -> "Model":
        """The gradient twin."""

    def load(self, parameters: Mapping[str, Array]) -> None:
        """Copy values in from {dotted name: array}."""

    def loss(self, batch: Any, state: State = None) -> tuple[float, State]:
        """→ loss of a batch in nats, the state after it; without dropout."""

    def losses(self, batch: Any, state: State = None) -> tuple[Array, State]:
        """→ the same of each target (T, B), 0 at padding; asked of it where rows are told apart."""

    def loss_and_grad(self, batch: Any, state: State, scale: float, grads: Any,
                      rng: np.random.Generator | None = None) -> tuple[float, State]:
        """The same with dropout; ∂(scale · loss) is added to the twin `grads`."""


class Optimizer(Protocol):
    """How a gradient moves the parameters, elementwise: every vector may be a slice of itself."""

    @property
    def slots(self) -> tuple[str, ...]:
        """Names of the vectors that it keeps, each like the weights, and 0 in the beginning."""

    def update(self, weights: Array, gradient: Array, vectors: Mapping[str, Array], step: int,
               rate: float = 1.0, factor: float = 1.0) -> None:
        """Move the weights; the gradient is read times `factor`, and left at 0; steps from 1."""


class Schedule(Protocol):
    """How the learning rate changes."""

    def __call__(self, step: int, epoch: int) -> float:
        """The share of the learning rate at this step; steps count from 1, epochs from 0."""
