"""Dropout whose mask depends on the seed, the call and the row's name, and on nothing else."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.kernels import rows as kernels
from numpy_attention.module import Module
from numpy_attention.shapes import expect, flat


@dataclass(eq=False)
class Dropout(Module):
    """y = m ∘ x / (1 − rate), each m_nj 0 with probability `rate`, else 1 (Srivastava et al. 2014, inverted).

    A call draws one 32-bit key from the generator; m_nj is a hash of the key, the name of row n and j. So a part of a
    batch gets the same mask as in the whole, whatever the padding, and the backward pass is the forward pass on dy.
    """

    rate: float = 0.0

    def __post_init__(self):
        if not 0 <= self.rate < 1:
            raise ValueError(f"dropout rate {self.rate} is not in [0, 1): it is the share of values set to 0")

    def draw(self, rng):
        """A key, for masks that several calls share; None in evaluation (rng None)."""
        return None if rng is None or self.rate == 0 else rng.integers(2**32, dtype=np.uint32)

    def forward(self, x, rng, names=None):
        """x (…, D) → y (…, D), cache; rng None: y = x; names: integers of shape x.shape[:-1], by default 0, 1, 2, …"""
        return self.apply(x, self.draw(rng), names)

    def apply(self, x, key, names=None):
        """The same with a key that `draw` gave. ValueError: names of another shape."""
        if key is None:
            return x, None
        if names is None:
            names = np.arange(x[..., 0].size)
        else:
            expect("names", names, x.shape[:-1], "x.shape[:-1]", "one name for each row of x")
        cache = np.ravel(names), key
        return self._apply(x, cache), cache

    def backward(self, dy, cache, grad=None):
        """dx = m ∘ dy / (1 − rate). ValueError: another number of rows than x has."""
        if cache is None:
            return dy.copy()
        expect("dy", flat(dy), (len(cache[0]), None), "(rows, D)", "as many rows as x has")
        return self._apply(dy, cache)

    def _apply(self, x, cache):
        names, key = cache
        x = np.ascontiguousarray(x)
        y = np.empty_like(x)
        kernels.dropout(flat(x), names, key, np.uint32(self.rate * 2**32), x.dtype.type(1 / (1 - self.rate)), flat(y))
        return y


def position_names(T, rows):
    """Names (T, B) of the positions of sentences `rows` (B,): what dropout hashes, the same in every split of a batch."""
    return np.asarray(rows)[None] * 65536 + np.arange(T)[:, None]
