"""Linear: an affine map of the last axis."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.initializers import glorot
from numpy_attention.module import Array, Module
from numpy_attention.shapes import at_least, expect, expect_dtype, flat


@dataclass(eq=False)
class Linear(Module):
    """y = x W + b.   x (…, I) → y (…, O); b None leaves the bias out."""

    W: Array  # (I, O)
    b: Array | None  # (O,)

    @classmethod
    def create(cls, rng, inputs, outputs, bias=True, init=glorot, dtype=np.float32):
        """b = 0. ValueError: sizes below 1."""
        at_least(1, inputs=inputs, outputs=outputs)
        W = init(rng, (inputs, outputs), dtype)
        b = np.zeros(outputs, dtype) if bias else None
        return cls(W, b)

    def forward(self, x):
        """→ y, and x as cache. ValueError, TypeError: x of another last axis or dtype."""
        expect("x", x, x.shape[:-1] + (len(self.W),), "(…, I)")
        expect_dtype("x", x, self.W)
        rows = flat(x) @ self.W                                             # (N, O)
        if self.b is not None:
            rows += self.b
        return rows.reshape(x.shape[:-1] + rows.shape[-1:]), x

    def backward(self, dy, cache, grad):
        """∂L/∂y (…, O) → dx (…, I)."""
        x = cache
        expect("dy", dy, x.shape[:-1] + (self.W.shape[1],), "(…, O)", "as `forward` gave y")
        drows = flat(dy)                                                    # (N, O)
        # y = … + b, the same b in every row
        if self.b is not None:
            grad.b += drows.sum(0)
        # y = x W
        grad.W += flat(x).T @ drows
        return (drows @ self.W.T).reshape(x.shape)
