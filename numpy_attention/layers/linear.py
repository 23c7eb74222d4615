"""Linear layer: an affine function of the last axis."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.initializers import check_initial, glorot
from numpy_attention.module import Array, Module
from numpy_attention.validation.arrays import as_rows, check_parameters, check_sizes


@dataclass(eq=False)
class Linear(Module):
    """Linear layer.   x (…, I) → y (…, O).

        y = x W + b             or y = x W if b is None
    """

    W: Array  # (I, O)
    b: Array | None  # (O,)

    def __post_init__(self):
        check_parameters(self, W="IO", b="O")

    @classmethod
    def create(cls, rng, inputs, outputs, bias=True, init=glorot, dtype=np.float32):
        """Draw W. b is zeros, or None without `bias`. Raises ValueError if a size is below 1."""
        check_sizes(inputs=inputs, outputs=outputs)
        check_initial(rng, dtype, init)
        W = init(rng, (inputs, outputs), dtype)
        b = np.zeros(outputs, dtype) if bias else None
        return cls(W, b)

    def forward(self, x):
        """Return y = x W + b, and x as the cache."""
        rows = as_rows(x) @ self.W                                             # (N, O)
        if self.b is not None:
            rows += self.b
        return rows.reshape(x.shape[:-1] + rows.shape[-1:]), x

    def backward(self, dy, cache, grads):
        """Backpropagate ∂L/∂y (…, O) → dx (…, I)."""
        x = cache
        drows = as_rows(dy)                                                    # (N, O)
        # y = … + b, the same b in every row
        if self.b is not None:
            grads.b += drows.sum(0)
        # y = x W
        grads.W += as_rows(x).T @ drows
        return (drows @ self.W.T).reshape(x.shape)
