"""Kernels over rows: the backward pass of table lookups, and dropout with a mask from row ids."""

import numpy as np

from numpy_attention.kernels.elementary import kernel
from numpy_attention.kernels.guard import guarded


@guarded(ids="N int < V", rows="N E", table="V E")
@kernel
def scatter_add(ids, rows, table):
    """Add rows_n to table[ids_n], in the order of n: the backward pass of y_n = table[ids_n].

    ids (N,), rows (N, E), table (V, E).
    """
    for n in range(ids.shape[0]):
        row = rows[n]
        out = table[ids[n]]
        for e in range(row.shape[0]):
            out[e] += row[e]


@guarded(x="N D", row_ids="N int", y="N D")
@kernel
def dropout(x, row_ids, key, threshold, scale, y):
    """Set y_nj = scale · x_nj where a hash of (key, row_ids_n, j) is at least threshold, else 0.

    x, y (N, D); row_ids (N,) integers. key and threshold are unsigned 32-bit integers; threshold is
    about rate · 2³². The hash is mix(mix(row_ids_n ⊕ key) ⊕ j), where `mix` is the finalizer of
    MurmurHash3 (Appleby 2011). For the backward pass, the same call with dy as x computes dx.
    """
    zero = x.dtype.type(0)
    for n in range(x.shape[0]):
        row = x[n]
        out = y[n]
        start = mix(np.uint32(np.uint32(row_ids[n]) ^ key))
        for j in range(row.shape[0]):
            h = mix(np.uint32(start ^ np.uint32(j)))
            out[j] = row[j] * scale if h >= threshold else zero


@kernel
def mix(h):
    """Hash a 32-bit integer, one to one. Changing one bit changes about half of the output bits."""
    h = np.uint32(h ^ np.uint32(h >> np.uint32(16)))
    # truncate a 64-bit product, because plain Python warns if a 32-bit product overflows
    h = np.uint32(np.uint64(h) * np.uint64(0x85EBCA6B) & np.uint64(0xFFFFFFFF))
    h = np.uint32(h ^ np.uint32(h >> np.uint32(13)))
    h = np.uint32(np.uint64(h) * np.uint64(0xC2B2AE35) & np.uint64(0xFFFFFFFF))
    return np.uint32(h ^ np.uint32(h >> np.uint32(16)))
