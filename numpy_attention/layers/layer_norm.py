"""Layer normalisation (Ba, Kiros & Hinton 2016)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.module import Array, Module
from numpy_attention.shapes import at_least, expect, expect_dtype, flat


@dataclass(eq=False)
class LayerNorm(Module):
    """y = g ∘ x̂ + b,  x̂ = (x − μ) / √(σ² + ε),  μ and σ² over the last axis.   x (…, D) → y (…, D)."""

    g: Array  # (D,)
    b: Array  # (D,)
    epsilon: float = 1e-5

    @classmethod
    def create(cls, size, dtype=np.float32):
        """g = 1, b = 0. ValueError: a size below 1."""
        at_least(1, size=size)
        return cls(np.ones(size, dtype), np.zeros(size, dtype))

    def forward(self, x):
        """y, cache. ValueError, TypeError: x of another last axis or dtype."""
        expect("x", x, x.shape[:-1] + self.g.shape, "(…, D)")
        expect_dtype("x", x, self.g)
        centred = x - x.mean(-1, keepdims=True)
        scale = 1 / np.sqrt(np.square(centred).mean(-1, keepdims=True) + x.dtype.type(self.epsilon))
        normal = centred * scale
        return self.g * normal + self.b, (normal, scale)

    def backward(self, dy, cache, grad):
        """dx = (dx̂ − mean(dx̂) − x̂ mean(dx̂ ∘ x̂)) / √(σ² + ε),  dx̂ = g ∘ dy."""
        normal, scale = cache
        grad.g += flat(dy * normal).sum(0)
        grad.b += flat(dy).sum(0)
        dnormal = dy * self.g
        along = (dnormal * normal).mean(-1, keepdims=True)
        return scale * (dnormal - dnormal.mean(-1, keepdims=True) - normal * along)
