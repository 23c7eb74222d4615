"""Products of few rows at the speed of products of many.

OpenBLAS copies a matrix W into the order in which it will read it, at every product x W. A product
of a thousand rows hides that copy. One of ten rows, as in a step of a recurrent network, spends
most of its time on it. Small products are exempt: up to SMALL multiplications OpenBLAS reads W
where it is. `Panels` cuts W into blocks that make the product a batch of small ones, and lays each
block out contiguously, once for all steps.
"""

import numpy as np

SMALL = 10**6       # multiplications of a product that OpenBLAS makes without a copy of W
WIDTH = 64          # columns of a panel
ROWS = 64           # most rows for which panels are quicker
STEPS = 4           # fewest products that are worth the copy of W into panels
SIZE = 2**17        # entries of W; a smaller one stays in the processor's cache either way


def few_rows(W, rows, steps):
    """Return W (K, N), laid out for `steps` products x @ W with x (rows, K).

    The result is W itself where a copy does not pay, Panels where those are quicker, and otherwise
    a contiguous array: a product with the view W.T takes up to twice as long.
    """
    if steps < STEPS:
        return W
    if 1 < rows <= ROWS and W.size >= SIZE:
        return Panels(W, rows)
    return np.ascontiguousarray(W)


class Panels:
    """A matrix W (K, N) as blocks of WIDTH columns, for products x @ W with few rows x (B, K).

    Up to rounding x @ Panels(W, B) is x @ W. Where B · K · WIDTH multiplications are too many for
    a small product, the rows of W are cut too, and the products of the parts are added.
    """

    __array_ufunc__ = None      # x @ panels asks __rmatmul__

    def __init__(self, W, rows):
        K, N = W.shape
        self.shape = W.shape
        inner = max(1, SMALL // (rows * WIDTH))
        self.cuts = range(0, K, inner)
        self.inner = inner
        self.whole = N - N % WIDTH
        # (K, N) → N / WIDTH blocks (K, WIDTH); and the columns that are left over
        blocks = W[:, :self.whole].reshape(K, -1, WIDTH).transpose(1, 0, 2)
        self.blocks = [np.ascontiguousarray(blocks[:, cut:cut + inner]) for cut in self.cuts]
        self.rest = np.ascontiguousarray(W[:, self.whole:])

    def __rmatmul__(self, x):
        """x (B, K) → x W (B, N)."""
        y = np.empty((len(x), self.shape[1]), x.dtype)
        panels = y[:, :self.whole].reshape(len(x), -1, WIDTH).transpose(1, 0, 2)     # a view
        for cut, blocks in zip(self.cuts, self.blocks):
            part = x[:, cut:cut + self.inner]                                   # (B, inner)
            if cut == 0:
                np.matmul(part, blocks, out=panels)
            else:
                panels += np.matmul(part, blocks)
        if self.rest.size:
            np.matmul(x, self.rest, out=y[:, self.whole:])
        return y
