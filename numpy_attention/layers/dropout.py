"""Dropout whose mask depends on the seed, the call and the row's name, and on nothing else."""

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.validation.arguments import expect_generator, expect_number
from numpy_attention.kernels import rows as kernels
from numpy_attention.module import Array, Module
from numpy_attention.validation.arrays import (expect, expect_integers, expect_made, expect_real, expect_sizes,
                                    flat)

BELOW_ONE = math.nextafter(1, 0)


class Mask(NamedTuple):
    """What a mask is computed from, forward and backward alike."""

    names: Array            # (N,)   of the rows
    key: np.uint32
    D: int                  # of a row


@dataclass(eq=False)
class Dropout(Module):
    """y = m ∘ x / (1 − rate), each m_nj 0 with probability `rate`, else 1.   x (…, D) → y (…, D).

    Inverted dropout (Srivastava et al. 2014). A call draws one 32-bit key from the generator; m_nj
    is a hash of the key, the name of row n and j. So a part of a batch gets the same mask as in the
    whole, whatever the padding, and the backward pass is the forward pass on dy.
    """

    rate: float = 0.0

    def __post_init__(self):
        expect_number("dropout rate", self.rate, 0, BELOW_ONE,
                      expected="a number in [0, 1), the share of values set to 0")

    def draw(self, rng):
        """A key, for masks that several calls share; None in evaluation (rng None)."""
        if rng is None:
            return None
        expect_generator(rng)
        if self.rate == 0:
            return None
        return rng.integers(2**32, dtype=np.uint32)

    def forward(self, x, rng, names=None):
        """→ y, cache; rng None: y = x. names: integers of shape x.shape[:-1], else 0, 1, 2, …"""
        return self.apply(x, self.draw(rng), names)

    def apply(self, x, key, names=None):
        """The same with a key that `draw` gave. ValueError, TypeError: other x or names."""
        expect_real("x", x)
        if names is not None:
            expect_integers("names", names, x.shape[:-1], "x.shape[:-1]")
        if key is None:
            return x, None
        if names is None:
            names = np.arange(x[..., 0].size)
        mask = Mask(np.ravel(names), key, x.shape[-1])
        return self._masked(x, mask), mask

    def backward(self, dy, cache, grad=None):
        """∂L/∂y (…, D) → dx (…, D). ValueError: not of as many rows and columns as x has."""
        expect_real("dy", dy)
        if cache is None:
            return dy.copy()
        expect_made("cache", cache, Mask, "forward")
        expect("dy", flat(dy), (len(cache.names), cache.D), "(rows, D)", "as many rows as x has")
        # y = m ∘ x / (1 − rate)
        return self._masked(dy, cache)

    def _masked(self, x, mask):
        """m ∘ x / (1 − rate)."""
        x = np.ascontiguousarray(x)
        y = np.empty_like(x)
        threshold = np.uint32(self.rate * 2**32)
        scale = x.dtype.type(1 / (1 - self.rate))
        kernels.dropout(flat(x), mask.names, mask.key, threshold, scale, flat(y))
        return y


def position_names(T, rows):
    """rows (B,) of the sentences → names (T, B) of their positions, which dropout hashes.

    They are the same however a batch is split.
    """
    expect_sizes(0, T=T)
    expect_integers("rows", rows, (None,), "(B,)")
    return rows.astype(np.int64)[None] * 65536 + np.arange(T)[:, None]           # (T, B)
