"""Maxout: the larger of each pair (Goodfellow et al. 2013), Bahdanau's deep output."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.module import Module
from numpy_attention.validation.arrays import check_shape, check_mask, check_real


@dataclass(eq=False)
class Maxout(Module):
    """t_j = max(x_{2j}, x_{2j+1}).   x (…, 2l) → t (…, l); x is t~ in Bahdanau et al., A.2.2."""

    def forward(self, x):
        """→ t, and where the first of a pair was taken. ValueError: an odd number of columns."""
        check_real("x", x)
        if x.shape[-1] % 2:
            raise ValueError(f"maxout takes pairs, given {x.shape[-1]} columns: "
                             "expected an even number")
        first = x[..., ::2]                                                 # (…, l)
        second = x[..., 1::2]                                               # (…, l)
        return np.maximum(first, second), first >= second

    def backward(self, dt, cache, grads=None):
        """∂L/∂t (…, l) → dx (…, 2l)."""
        first_taken = cache                                                 # (…, l)
        check_mask(first_taken, (..., None), "(…, l)", "cache")
        check_shape("dt", dt, first_taken.shape, "(…, l)", "as `forward` gave t")
        check_real("dt", dt)
        dx = np.empty(dt.shape[:-1] + (2 * dt.shape[-1],), dt.dtype)        # (…, 2l)
        # t = max(first, second): all goes to the larger, to the first where they are equal
        dx[..., ::2] = dt * first_taken
        dx[..., 1::2] = dt * ~first_taken
        return dx
