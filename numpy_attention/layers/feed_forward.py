"""The Transformer's feed-forward network: the same two layers at every position (Vaswani et al. 2017, section 3.3)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.initializers import glorot
from numpy_attention.layers.linear import Linear
from numpy_attention.module import Module
from numpy_attention.shapes import at_least


@dataclass(eq=False)
class FeedForward(Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2   (equation 2).   x (…, D) → (…, D)."""

    inner: Linear
    outer: Linear

    @classmethod
    def create(cls, rng, size, inner, init=glorot, dtype=np.float32):
        """size: D, inner: of the layer between. ValueError: sizes below 1."""
        at_least(1, size=size, inner=inner)
        return cls(Linear.create(rng, size, inner, init=init, dtype=dtype),
                   Linear.create(rng, inner, size, init=init, dtype=dtype))

    def forward(self, x):
        """x (…, D) → y (…, D), cache."""
        hidden, cache = self.inner.forward(x)
        np.maximum(hidden, 0, out=hidden)
        y, hidden = self.outer.forward(hidden)              # a Linear's cache is its input
        return y, (cache, hidden)

    def backward(self, dy, cache, grad):
        """∂L/∂y (…, D) → dx (…, D): what flows into max(0, a) goes on where a > 0."""
        cache, hidden = cache
        dhidden = self.outer.backward(dy, hidden, grad.outer)
        dhidden *= hidden > 0
        return self.inner.backward(dhidden, cache, grad.inner)
