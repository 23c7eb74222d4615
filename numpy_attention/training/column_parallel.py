"""Column-parallel products: each process of a pool computes some columns of x W for all rows.

Usually each process computes some rows of the batch, so each reads the whole recurrent matrix U at
every time step. If U does not fit into a processor's own cache, reading it takes most of the time.
Here a process reads only its own columns of U, and multiplies the rows of all processes by them, as
in the column-parallel layers of Shoeybi et al. 2019 (Megatron-LM, section 3).
"""

import os
from collections.abc import Callable

import numpy as np

from numpy_attention.data.batching.grouping import share_of
from numpy_attention.module import Array
from numpy_attention.products import WIDTH, Panels

SIZE = 1 << 22          # bytes of shared memory for the x of a product, and as many for its result
SPINS = 1000            # checks of another process before this one lets other programs run
BARRIERS = 1 << 32      # exceeds the number of barriers in one task


class ProcessGroup:
    """`count` processes that compute products together, and the memory that they share for them.

    They work on one task after another, such as the gradient of a batch. In a task, all processes
    must compute the same products, with equal shapes and in the same order. If they do not, or if
    one of them ends, each computes the rest of its products alone, with bit-identical results.
    shared_zeros: like `np.zeros_like` for flat arrays, but in memory that forked processes share.

    Only the kernels for which `Panels` exist are used here. They run on x86 alone, where a process
    sees the writes of another in the order in which they were made.
    """

    def __init__(self, count: int, shared_zeros: Callable[[Array], Array]) -> None:
        self.count = count
        self.rank = 0
        self.is_broken: Callable[[], bool] = bool       # whether another process has ended
        self.task = 0           # number of the current task, counted from 1
        self.barrier = 0        # number of the last barrier; it grows from task to task
        numbers = [shared_zeros(np.empty(count, np.int64)).data for _ in range(5)]
        self._reached = numbers[0]      # the last barrier that each process has reached
        self._computed = numbers[1]     # the last barrier after which it has computed its columns
        self._left = numbers[2]         # the last task in which it computes alone
        # hashes of what it computes after even and odd barriers: it may be one barrier ahead
        self._keys = numbers[3:]
        self._x, self._y = (shared_zeros(np.empty(SIZE, np.uint8)) for _ in range(2))

    def begin(self) -> None:
        """Begin the next task. Every process must do so."""
        self.task += 1
        self.barrier = self.task * BARRIERS

    def leave(self) -> None:
        """Compute alone until the next task, so that no process waits for this one."""
        self._left[self.rank] = self.task

    @property
    def is_alone(self) -> bool:
        """Whether this process computes alone until the next task."""
        return self._left[self.rank] == self.task

    def agrees(self, *key: object) -> bool:
        """Wait for all processes at a barrier, and return whether all of them pass the same key."""
        self.barrier += 1
        keys = self._keys[self.barrier % 2]
        keys[self.rank] = hash(key)
        self._reached[self.rank] = self.barrier
        if self._wait(self._reached) and len(set(keys)) == 1:
            return True
        self.leave()
        return False

    def _wait(self, numbers: memoryview) -> bool:
        """Wait until the numbers of all processes are `barrier`; return False if one has left."""
        for k in range(self.count):
            spins = 0
            while numbers[k] < self.barrier:
                spins += 1
                gone = self._left[k] >= self.task or spins % SPINS == 0 and self.is_broken()
                if gone and numbers[k] < self.barrier:
                    return False
                if spins > SPINS:
                    os.sched_yield()
        return True

    def lay_out(self, W: Array, rows: int, most: int) -> "Panels | ColumnParallel":
        """Return W as ColumnParallel if all processes ask for it, and as Panels otherwise.

        rows: the number of rows of each process. most: the argument `rows` of Panels.
        """
        fits = self.count * rows * max(W.shape) * W.itemsize <= SIZE
        wide = W.shape[1] >= self.count * WIDTH
        if fits and wide and not self.is_alone:
            if self.agrees(W.ctypes.data, W.strides, W.shape, rows):
                return ColumnParallel(W, most, self)
        return Panels(W, most)

    def product(self, x: Array, divided: "ColumnParallel") -> Array | None:
        """Return x W of a divided W, or None if this process must compute it alone."""
        if self.is_alone:
            return None
        K, N = divided.W.shape
        rows = self.count * len(x)
        xs = self._x.view(x.dtype)[:rows * K].reshape(rows, K)      # of all processes
        ys = self._y.view(x.dtype)[:rows * N].reshape(rows, N)
        mine = share_of(rows, self.rank, self.count)
        xs[mine] = x
        if not self.agrees(divided.key, len(x)):
            return None
        divided.panels.multiply(xs, ys[:, divided.columns])
        self._computed[self.rank] = self.barrier
        if self._wait(self._computed):
            return ys[mine].copy()
        self.leave()
        return None


class ColumnParallel:
    """A matrix W for products x @ W that the processes of a group compute together.

    rows: the argument of Panels.
    """

    __array_ufunc__ = None      # so that x @ W calls __rmatmul__

    def __init__(self, W: Array, rows: int, group: ProcessGroup) -> None:
        self.W = W
        self.rows = rows
        self.group = group
        self.key = group.barrier        # the same in all processes, which have just agreed
        N = W.shape[1]
        panels = share_of(N // WIDTH, group.rank, group.count)
        is_last = group.rank == group.count - 1
        self.columns = slice(panels.start * WIDTH, N if is_last else panels.stop * WIDTH)
        self.panels = Panels(W[:, self.columns], rows)
        self._alone: Panels | None = None

    def __rmatmul__(self, x: Array) -> Array:
        """Return the product x W, with or without the other processes."""
        y = self.group.product(x, self)
        if y is None:
            self._alone = self._alone or Panels(self.W, self.rows)
            y = x @ self._alone
        return y
