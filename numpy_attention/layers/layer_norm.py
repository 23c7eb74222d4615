"""Layer normalization (Ba, Kiros & Hinton 2016)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.module import Array, Module
from numpy_attention.validation.arrays import as_rows, check_floating, check_parameters, check_sizes


class Cache(NamedTuple):
    normal: Array           # (…, D)  x̂
    scale: Array            # (…, 1)  1 / √(σ² + ε)


@dataclass(eq=False)
class LayerNorm(Module):
    """Layer normalization.   x (…, D) → y (…, D).

        x̂ = (x − μ) / √(σ² + ε)        μ and σ² over the last axis
        y = g ∘ x̂ + b
    """

    g: Array  # (D,)
    b: Array  # (D,)
    epsilon: float = 1e-5

    def __post_init__(self):
        check_parameters(self, g="D", b="D")

    @classmethod
    def create(cls, size, dtype=np.float32):
        """Build a layer with g = 1 and b = 0. size: D. Raises ValueError if size is below 1."""
        check_sizes(size=size)
        check_floating(dtype)
        return cls(np.ones(size, dtype), np.zeros(size, dtype))

    def forward(self, x):
        """Normalize the last axis: x (…, D) → y (…, D), cache."""
        centred = x - x.mean(-1, keepdims=True)                             # (…, D)
        variance = np.square(centred).mean(-1, keepdims=True)               # (…, 1)
        scale = 1 / np.sqrt(variance + x.dtype.type(self.epsilon))          # (…, 1)
        normal = centred * scale                                            # (…, D)
        return self.g * normal + self.b, Cache(normal, scale)

    def backward(self, dy, cache, grads):
        """Return dx = (dx̂ − mean(dx̂) − x̂ mean(dx̂ ∘ x̂)) / √(σ² + ε) with dx̂ = g ∘ dy.

        dy (…, D) → dx (…, D).
        """
        normal, scale = cache
        # y = g ∘ x̂ + b
        grads.b += as_rows(dy).sum(0)
        grads.g += as_rows(dy * normal).sum(0)
        dnormal = dy * self.g                                               # (…, D)
        # x̂ = (x − μ) / √(σ² + ε), where μ moves with all of x, and σ with x along x̂
        alike = dnormal.mean(-1, keepdims=True)                             # (…, 1)
        along = (dnormal * normal).mean(-1, keepdims=True)                  # (…, 1)
        return scale * (dnormal - alike - normal * along)
