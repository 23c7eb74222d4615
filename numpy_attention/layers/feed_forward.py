"""Feed-forward network of the Transformer: two layers at every position (Vaswani et al. 2017)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.initializers import glorot
from numpy_attention.layers.linear import Linear
from numpy_attention.module import Array, Module
from numpy_attention.validation.arrays import check_sizes


class Cache(NamedTuple):
    x: Array                # (…, D)
    hidden: Array           # (…, inner)


@dataclass(eq=False)
class FeedForward(Module):
    """Feed-forward network (Vaswani et al. 2017, section 3.3, equation 2).   x (…, D) → (…, D).

        FFN(x) = max(0, x W_1 + b_1) W_2 + b_2
    """

    inner: Linear           # W_1, b_1
    outer: Linear           # W_2, b_2

    @classmethod
    def create(cls, rng, size, inner, init=glorot, dtype=np.float32):
        """Draw the weights. Raises ValueError if a size is below 1.

        size: D, the size of the input and the output. inner: the hidden size.
        """
        check_sizes(size=size, inner=inner)
        return cls(Linear.create(rng, size, inner, init=init, dtype=dtype),
                   Linear.create(rng, inner, size, init=init, dtype=dtype))

    def forward(self, x):
        """Apply both layers: x (…, D) → y (…, D), cache."""
        hidden, x = self.inner.forward(x)                       # a Linear's cache is its input
        np.maximum(hidden, 0, out=hidden)
        y, hidden = self.outer.forward(hidden)
        return y, Cache(x, hidden)

    def backward(self, dy, cache, grads):
        """Backpropagate ∂L/∂y (…, D) → dx (…, D)."""
        x, hidden = cache
        # y = hidden W_2 + b_2
        dhidden = self.outer.backward(dy, hidden, grads.outer)
        # hidden = max(0, a): the gradient passes where a > 0
        dhidden *= hidden > 0
        # a = x W_1 + b_1
        return self.inner.backward(dhidden, x, grads.inner)
