"""Dropout with a mask that depends only on the seed, the call and the ids of the rows."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.kernels import rows as kernels
from numpy_attention.module import Array, Module
from numpy_attention.validation.arguments import check_number
from numpy_attention.validation.arrays import as_rows


class Mask(NamedTuple):
    """The inputs that determine a dropout mask. The backward pass computes the mask again."""

    row_ids: Array            # (N,)   of the rows
    key: np.uint32


@dataclass(eq=False)
class Dropout(Module):
    """Inverted dropout (Srivastava et al. 2014).   x (…, D) → y (…, D).

        y = m ∘ x / (1 − rate)          each m_nj is 0 with probability `rate`, otherwise 1

    Each call draws one 32-bit key from the generator. m_nj is determined by a hash of the key, the
    id of row n, and j. Splitting a batch or changing its padding therefore does not change the mask
    of a row. The backward pass applies the same mask and scale to dy.
    """

    rate: float = 0.0

    def __post_init__(self):
        check_number("dropout rate", self.rate, 0, np.nextafter(1, 0),
                     expected="a number in [0, 1), the fraction of values set to 0")

    def draw(self, rng):
        """Draw the key of a mask from rng; return None if rng is None or the rate is 0.

        Calls to `apply` with the same key and row_ids use the same mask.
        """
        if rng is None or self.rate == 0:
            return None
        return rng.integers(2**32, dtype=np.uint32)

    def forward(self, x, rng, row_ids=None):
        """Return y and a cache. If rng is None or the rate is 0, y is x.

        row_ids: integers of shape x.shape[:-1], by default 0, 1, 2, … In one call, rows with the
        same id have the same mask.
        """
        return self.apply(x, self.draw(rng), row_ids)

    def apply(self, x, key, row_ids=None):
        """Return y and a cache as `forward` does, with a key from `draw` instead of rng."""
        if key is None:
            return x, None
        if row_ids is None:
            row_ids = np.arange(x[..., 0].size)
        mask = Mask(np.ravel(row_ids), key)
        return self._masked(x, mask), mask

    def backward(self, dy, cache, grads=None):
        """Backpropagate ∂L/∂y (…, D) → dx (…, D)."""
        if cache is None:
            return dy.copy()
        # y = m ∘ x / (1 − rate)
        return self._masked(dy, cache)

    def _masked(self, x, mask):
        """Return m ∘ x / (1 − rate) with the m that `mask` determines."""
        x = np.ascontiguousarray(x)
        y = np.empty_like(x)
        threshold = np.uint32(float(self.rate) * 2**32)
        scale = x.dtype.type(1 / (1 - self.rate))
        kernels.dropout(as_rows(x), mask.row_ids, mask.key, threshold, scale, as_rows(y))
        return y


def position_ids(T, rows):
    """Return row ids for Dropout, one for each of T positions of a sentence.   rows (B,) → (T, B).

    rows: the ids of the sentences. The ids of a sentence do not depend on how a batch is split.
    """
    return rows.astype(np.int64)[None] * 65536 + np.arange(T)[:, None]           # (T, B)
