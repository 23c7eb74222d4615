"""Optimizers, which update the flat vector of parameters elementwise from its gradient.

    slots = optimizer.slots             names of the vectors that the optimizer needs
    optimizer.update(weights, gradient, vectors, step, rate, factor)

vectors is {slot: vector}; each vector is as long as the weights, and starts at 0. step counts from
1. rate is the number that the schedule returns. `update` multiplies the gradient by `factor`
(clipping), and at the end sets the gradient to 0. All vectors must have the same shape and dtype.
In the equations below, t is the step, η = learning_rate · rate is the step size, and g = factor ·
gradient.
"""

import math
import sys
from dataclasses import dataclass
from typing import Mapping

import numpy as np

from numpy_attention.kernels import updates as kernels
from numpy_attention.module import Array
from numpy_attention.validation.arguments import check_number

SMALLEST, BELOW_ONE, LARGEST = math.nextafter(0, 1), math.nextafter(1, 0), sys.float_info.max
Vectors = Mapping[str, Array]


def _positive(**settings: float) -> None:
    for name, value in settings.items():
        check_number(name, value, SMALLEST, LARGEST, expected="a positive number")


def _not_zero(number: type[np.floating], epsilon: float) -> np.floating:
    """Return epsilon as a number of this dtype. Raises ValueError if it is rounded to 0."""
    rounded = number(epsilon)
    if not rounded:
        raise ValueError(f"epsilon = {epsilon} rounds to 0 in {number.__name__}, so the update "
                         f"could divide by 0; use at least {np.finfo(number).tiny:.0e}")
    return rounded


def _share(**settings: float) -> None:
    for name, value in settings.items():
        check_number(name, value, 0, BELOW_ONE, expected="a number in [0, 1)")


@dataclass(frozen=True)
class SGD:
    """Gradient descent: w −= η g. With momentum μ: v = μ v + g, w −= η v."""

    learning_rate: float = 1.0
    momentum: float = 0.0

    def __post_init__(self) -> None:
        _positive(learning_rate=self.learning_rate)
        _share(momentum=self.momentum)

    @property
    def slots(self) -> tuple[str, ...]:
        return ("velocity",) if self.momentum else ()

    def update(self, weights: Array, gradient: Array, vectors: Vectors, step: int,
               rate: float = 1.0, factor: float = 1.0) -> None:
        number = weights.dtype.type
        if self.momentum:
            kernels.momentum(weights, gradient, vectors["velocity"],
                             number(self.learning_rate * rate), number(self.momentum),
                             number(factor))
        else:
            kernels.sgd(weights, gradient, number(self.learning_rate * rate * factor))


@dataclass(frozen=True)
class Adam:
    """Adam (Kingma & Ba 2015, algorithm 1), at step t ≥ 1.

        m = β₁ m + (1 − β₁) g
        v = β₂ v + (1 − β₂) g²
        w −= η · m / (1 − β₁ᵗ) / (√(v / (1 − β₂ᵗ)) + ε)
    """

    learning_rate: float = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        _positive(learning_rate=self.learning_rate, epsilon=self.epsilon)
        _share(beta1=self.beta1, beta2=self.beta2)

    @property
    def slots(self) -> tuple[str, ...]:
        return ("m", "v")

    def update(self, weights: Array, gradient: Array, vectors: Vectors, step: int,
               rate: float = 1.0, factor: float = 1.0) -> None:
        number = weights.dtype.type
        corrected_rate = self.learning_rate * rate / (1 - self.beta1**step)     # η / (1 − β₁ᵗ)
        root2 = np.sqrt(1 - self.beta2**step)                                   # √(1 − β₂ᵗ)
        kernels.adam(weights, gradient, vectors["m"], vectors["v"], number(corrected_rate),
                     number(self.beta1), number(self.beta2), number(root2),
                     _not_zero(number, self.epsilon), number(factor))


@dataclass(frozen=True)
class Adadelta:
    """Adadelta (Zeiler 2012), whose steps have the units of the parameters.

        s = ρ s + (1 − ρ) g²
        δ = g √(d + ε) / √(s + ε)
        d = ρ d + (1 − ρ) δ²
        w −= η δ

    s and d are averages of g² and δ². RNNsearch used ρ = 0.95, ε = 1e-6.
    """

    learning_rate: float = 1.0
    rho: float = 0.95
    epsilon: float = 1e-6

    def __post_init__(self) -> None:
        _positive(learning_rate=self.learning_rate, epsilon=self.epsilon)
        _share(rho=self.rho)

    @property
    def slots(self) -> tuple[str, ...]:
        return ("squares", "deltas")

    def update(self, weights: Array, gradient: Array, vectors: Vectors, step: int,
               rate: float = 1.0, factor: float = 1.0) -> None:
        number = weights.dtype.type
        kernels.adadelta(weights, gradient, vectors["squares"], vectors["deltas"],
                         number(self.learning_rate * rate), number(self.rho),
                         _not_zero(number, self.epsilon), number(factor))
