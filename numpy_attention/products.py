"""Matrix products with few rows at the speed of products with many rows.

For every product x W, OpenBLAS first copies W into the order in which its kernels read W. If x has
ten rows, as in a step of a recurrent network, this takes most of the time. If a product needs at
most SMALL multiplications, the AVX-512 kernels of OpenBLAS read W in place. `Panels` divides one
product into several such small products. It lays out blocks of W contiguously, once for many
products. Lesson 14 measures the difference.
"""

from contextlib import contextmanager, nullcontext
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path
from threading import Lock

import numpy as np
from threadpoolctl import threadpool_info

# kernels of OpenBLAS that multiply small matrices without a copy
KERNELS = {"SkylakeX", "Cooperlake", "SapphireRapids"}

SMALL = 10**6       # multiplications in the largest product for which OpenBLAS does not copy W
WIDTH = 64          # columns of a panel
ROWS = (16, 32, 64)     # each set of panels is for at most one of these numbers of rows
PAGE = 4096         # bytes; columns of W this far apart share few lines of the cache
LINE = 64           # bytes of a line of the cache, which is also as wide as a register
STEPS = 4           # fewest products for which copying W into panels pays off
LARGE = 1 << 19     # numbers in W from which on processes divide columns instead of rows

_laid_out = ContextVar("laid_out", default=None)
_division = ContextVar("division", default=(1, None))
_lock = Lock()


def numpy_blas():
    """Return the dicts with which threadpoolctl describes NumPy's BLAS.

    SciPy's BLAS, which numba may load, is left out.
    """
    known = [one for one in threadpool_info() if one["user_api"] == "blas"]
    return [one for one in known if not {"scipy", "scipy.libs"} & {*Path(one["filepath"]).parts}]


@lru_cache
def has_small_kernels():
    """Return whether the BLAS in use multiplies small matrices without a copy."""
    return any(library.get("architecture") in KERNELS for library in numpy_blas())


@contextmanager
def fixed_weights():
    """Context manager that caches the weight layouts computed by `few_rows`.

    Weights must not change inside the `with` block. Nested blocks share the cache, and so do
    threads that run in a copy of the block's context (`contextvars`).
    """
    token = _laid_out.set({} if _laid_out.get() is None else _laid_out.get())
    try:
        yield
    finally:
        _laid_out.reset(token)


@contextmanager
def divided_rows(shares, group=None):
    """Context manager in which `few_rows` lays out weights for one share of a batch.

    shares: the number of shares. group: the ProcessGroup in which each process computes one share,
    or None. Products do not depend on `group` if every W holds the same numbers in all processes.
    """
    token = _division.set((shares, group))
    try:
        with nullcontext() if group is None else group.task():
            yield
    finally:
        _division.reset(token)


def few_rows(W, rows, steps=1):
    """Return weights W (K, N), laid out for `steps` products x @ W with x (rows, K).

    The result multiplies like W. It is a Panels or ColumnParallel object if that is faster.
    Otherwise it is a contiguous array or, if `steps` is too small for a copy to pay off, W itself.
    A product with a view such as W.T takes up to twice as long as with a contiguous copy.
    """
    laid_out = _laid_out.get()
    copied = rows * W.size > SMALL and 1 < rows <= ROWS[-1]         # by OpenBLAS, at every product
    if not copied or (steps < STEPS and laid_out is None) or not has_small_kernels():
        if steps < STEPS:
            return W
        return aligned(W) if rows * W.size <= SMALL else np.ascontiguousarray(W)
    shares, group = _division.get()
    by_columns = W.size >= LARGE and rows * shares <= ROWS[-1]
    most = next(most for most in ROWS if (rows * shares if by_columns else rows) <= most)
    if laid_out is None:
        return Panels(W, most)
    key = W.__array_interface__["data"][0], W.shape, W.strides, most
    with _lock:
        if key not in laid_out:     # W is kept, so that no other array can take its address
            together = by_columns and group is not None
            laid_out[key] = group.lay_out(W, rows, most) if together else Panels(W, most), W
    return laid_out[key][0]


def aligned(array):
    """Return a contiguous copy of an array, at an address that is a multiple of LINE.

    At other addresses, each load of an AVX-512 register reads two lines of the cache.
    """
    spare = np.empty(array.size + LINE // array.itemsize, array.dtype)
    start = -spare.__array_interface__["data"][0] % LINE // array.itemsize
    copy = spare[start:start + array.size].reshape(array.shape)
    copy[...] = array
    return copy


class Panels:
    """A matrix W (K, N) as panels of WIDTH columns, for products x @ W if x (B, K) has few rows.

    x @ Panels(W, B) is x @ W up to rounding. If a product with a panel needs more
    than SMALL multiplications, the panel is split into blocks of rows, whose products are added.
    """

    __array_ufunc__ = None      # so that x @ panels calls __rmatmul__

    def __init__(self, W, rows):
        self.shape = K, N = W.shape
        parts = -(-rows * WIDTH * K // SMALL)
        inner = -(-K // parts)
        self.parts = [slice(start, start + inner) for start in range(0, K, inner)]
        self.whole = N - N % WIDTH
        if W.strides[1] % PAGE == 0:
            # with this stride, the copy below would evict its own cache lines: change it first
            spread = np.empty((N, K + 16), W.dtype)[:, :K].T
            spread[...] = W
            W = spread
        # N / WIDTH blocks (K, WIDTH), and the last WIDTH columns again if there is a remainder
        blocks = W[:, :self.whole].reshape(K, -1, WIDTH).transpose(1, 0, 2)
        self.blocks = [aligned(blocks[:, part]) for part in self.parts]
        last = W[:, -WIDTH:] if self.whole < N else W[:, :0]
        self.last = [aligned(last[part]) for part in self.parts]

    def __rmatmul__(self, x):
        """Return the product x W.   x (B, K) → (B, N)."""
        y = np.empty((len(x), self.shape[1]), x.dtype)
        self.multiply(x, y)
        return y

    def multiply(self, x, y):
        """Write the product x W to y.   x (B, K), y (B, N)."""
        panels = y[:, :self.whole].reshape(len(x), -1, WIDTH).transpose(1, 0, 2)     # a view
        for blocks, out in (self.blocks, panels), (self.last, y[:, -WIDTH:]):
            if blocks[0].size:
                np.matmul(x[:, self.parts[0]], blocks[0], out=out)
                for part, block in zip(self.parts[1:], blocks[1:]):
                    out += np.matmul(x[:, part], block)
