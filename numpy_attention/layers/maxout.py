"""Maxout: the larger of each pair (Goodfellow et al. 2013), as in Bahdanau's deep output."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.module import Module


@dataclass(eq=False)
class Maxout(Module):
    """t_j = max(x_{2j}, x_{2j+1}).   x (…, 2l) → t (…, l); x is t~ in Bahdanau et al., A.2.2."""

    def forward(self, x):
        """Return t, and where the first of a pair was taken. Raises ValueError for an odd width."""
        pairs = x.reshape(x.shape[:-1] + (x.shape[-1] // 2, 2))             # (…, l, 2)
        first = pairs[..., 0]                                               # (…, l)
        second = pairs[..., 1]                                              # (…, l)
        return np.maximum(first, second), first >= second

    def backward(self, dt, cache, grads=None):
        """Propagate ∂L/∂t (…, l) → dx (…, 2l)."""
        first_taken = cache                                                 # (…, l)
        dx = np.empty(dt.shape[:-1] + (2 * dt.shape[-1],), dt.dtype)        # (…, 2l)
        # t = max(first, second): all goes to the larger, to the first where they are equal
        dx[..., ::2] = dt * first_taken
        dx[..., 1::2] = dt * ~first_taken
        return dx
