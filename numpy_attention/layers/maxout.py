"""Maxout: the larger of each pair (Goodfellow et al. 2013), Bahdanau's deep output."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.module import Module


@dataclass(eq=False)
class Maxout(Module):
    """t_j = max(t~_{2j}, t~_{2j+1}).   t~ (…, 2l) → t (…, l); Bahdanau et al. 2015, A.2.2."""

    def forward(self, x):
        """t~ (…, 2l) → t (…, l), and where the first of a pair was taken. ValueError: an odd number of columns."""
        if x.shape[-1] % 2:
            raise ValueError(f"maxout takes pairs, given {x.shape[-1]} columns: expected an even number")
        first, second = x[..., ::2], x[..., 1::2]
        return np.maximum(first, second), first >= second

    def backward(self, dy, cache, grad=None):
        """dt~ is dt where the larger of the pair stands (the first where they are equal), 0 beside it."""
        dx = np.empty(dy.shape[:-1] + (2 * dy.shape[-1],), dy.dtype)
        dx[..., ::2] = dy * cache
        dx[..., 1::2] = dy * ~cache
        return dx
