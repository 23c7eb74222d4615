"""Linear: an affine map of the last axis."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.initializers import expect_initial, glorot
from numpy_attention.module import Array, Module
from numpy_attention.validation.arrays import (expect, expect_dtype, expect_parameters, expect_sizes,
                                    expect_twin, flat)


@dataclass(eq=False)
class Linear(Module):
    """y = x W + b.   x (…, I) → y (…, O); b None leaves the bias out."""

    W: Array  # (I, O)
    b: Array | None  # (O,)

    def __post_init__(self):
        expect_parameters(self, W="IO", b="O")

    @classmethod
    def create(cls, rng, inputs, outputs, bias=True, init=glorot, dtype=np.float32):
        """b = 0. ValueError: sizes below 1."""
        expect_sizes(inputs=inputs, outputs=outputs)
        expect_initial(rng, dtype, init)
        W = init(rng, (inputs, outputs), dtype)
        b = np.zeros(outputs, dtype) if bias else None
        return cls(W, b)

    def forward(self, x):
        """→ y, and x as cache. ValueError, TypeError: x of another last axis or dtype."""
        expect("x", x, (..., len(self.W)), "(…, I)")
        expect_dtype("x", x, self.W)
        rows = flat(x) @ self.W                                             # (N, O)
        if self.b is not None:
            rows += self.b
        return rows.reshape(x.shape[:-1] + rows.shape[-1:]), x

    def backward(self, dy, cache, grad):
        """∂L/∂y (…, O) → dx (…, I)."""
        x = cache
        expect("cache", x, (..., len(self.W)), "(…, I)", "it is the x that `forward` was given")
        expect_dtype("cache", x, self.W)
        expect("dy", dy, x.shape[:-1] + (self.W.shape[1],), "(…, O)", "as `forward` gave y")
        expect_dtype("dy", dy, self.W)
        expect_twin(grad, self)
        drows = flat(dy)                                                    # (N, O)
        # y = … + b, the same b in every row
        if self.b is not None:
            grad.b += drows.sum(0)
        # y = x W
        grad.W += flat(x).T @ drows
        return (drows @ self.W.T).reshape(x.shape)
