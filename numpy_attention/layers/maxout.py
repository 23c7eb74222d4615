"""Maxout: the larger element of each pair (Goodfellow et al. 2013), for Bahdanau's deep output."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.module import Module


@dataclass(eq=False)
class Maxout(Module):
    """Maxout over pairs of elements.   x (…, 2l) → t (…, l).

        t_j = max(x_{2j}, x_{2j+1})         x is t~ in Bahdanau et al. 2015, A.2.2
    """

    def forward(self, x):
        """Return t, and as the cache a boolean array that is True where t_j is x_{2j}.

        Raises ValueError if the last axis of x has odd length.
        """
        if x.shape[-1] % 2:
            raise ValueError(f"the last axis of x has length {x.shape[-1]}; expected an even "
                             "length, because maxout takes the larger element of each pair")
        pairs = x.reshape(x.shape[:-1] + (x.shape[-1] // 2, 2))             # (…, l, 2)
        first = pairs[..., 0]                                               # (…, l)
        second = pairs[..., 1]                                              # (…, l)
        return np.maximum(first, second), first >= second

    def backward(self, dt, cache, grads=None):
        """Backpropagate ∂L/∂t (…, l) → dx (…, 2l)."""
        first_taken = cache                                                 # (…, l)
        dx = np.empty(dt.shape[:-1] + (2 * dt.shape[-1],), dt.dtype)        # (…, 2l)
        # t = max(first, second): the gradient goes to the larger, or to the first in a tie
        dx[..., ::2] = dt * first_taken
        dx[..., 1::2] = dt * ~first_taken
        return dx
