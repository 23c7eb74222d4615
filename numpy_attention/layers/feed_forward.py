"""The Transformer's feed-forward network: two layers at every position (Vaswani et al. 2017)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.initializers import expect_initial, glorot
from numpy_attention.layers.linear import Linear
from numpy_attention.module import Array, Module
from numpy_attention.validation.arrays import expect_made, expect_sizes, expect_twin


class Cache(NamedTuple):
    x: Array                # (…, D)
    hidden: Array           # (…, inner)


@dataclass(eq=False)
class FeedForward(Module):
    """FFN(x) = max(0, x W_1 + b_1) W_2 + b_2   (section 3.3, equation 2).   x (…, D) → (…, D)."""

    inner: Linear           # W_1, b_1
    outer: Linear           # W_2, b_2

    @classmethod
    def create(cls, rng, size, inner, init=glorot, dtype=np.float32):
        """size: D, inner: of the layer between. ValueError: sizes below 1."""
        expect_sizes(size=size, inner=inner)
        expect_initial(rng, dtype, init)
        return cls(Linear.create(rng, size, inner, init=init, dtype=dtype),
                   Linear.create(rng, inner, size, init=init, dtype=dtype))

    def forward(self, x):
        """x (…, D) → y (…, D), cache."""
        hidden, x = self.inner.forward(x)                       # a Linear's cache is its input
        np.maximum(hidden, 0, out=hidden)
        y, hidden = self.outer.forward(hidden)
        return y, Cache(x, hidden)

    def backward(self, dy, cache, grad):
        """∂L/∂y (…, D) → dx (…, D)."""
        expect_made("cache", cache, Cache, "forward")
        expect_twin(grad, self)
        x, hidden = cache
        # y = hidden W_2 + b_2
        dhidden = self.outer.backward(dy, hidden, grad.outer)
        # hidden = max(0, a): what flows in goes on where a > 0
        dhidden *= hidden > 0
        # a = x W_1 + b_1
        return self.inner.backward(dhidden, x, grad.inner)
