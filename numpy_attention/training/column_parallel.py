"""Column-parallel products: each process of a pool computes some columns of x W for all rows.

Usually each process computes some rows of the batch, so each reads the whole recurrent matrix U at
every time step. If U does not fit into a processor's own cache, reading it takes much of the time.
Here a process reads only its own columns of U, and multiplies the rows of all processes by them, as
in the column-parallel layers of Shoeybi et al. 2019 (Megatron-LM, section 3).
"""

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait

import numpy as np

from numpy_attention.data.batching.grouping import share_of
from numpy_attention.module import Array
from numpy_attention.products import WIDTH, Panels

SIZE = 1 << 22          # bytes of shared memory for the x of a product, and as many for its result
SPINS = 1000            # checks of the others, between two looks at the pipes
BARRIERS = 1 << 32      # exceeds the number of barriers in one task


class ProcessGroup:
    """`count` processes that compute products x W together, in memory that they share.

    Each process computes some columns of a product, as long as all processes ask for the same
    products in the same order. Otherwise each process computes the rest of a task alone. A task is,
    for example, the gradient of a batch. W must hold the same numbers in all processes.

    shared_zeros: like `np.zeros_like` for flat arrays, but in memory that forked processes share.
    pipes: pipes to other processes. A pipe is readable after its process finished a task or ended.

    Requires an x86 processor, on which other processes see writes to memory in program order.
    """

    def __init__(self, count: int, shared_zeros: Callable[[Array], Array],
                 pipes: list[Connection]) -> None:
        self.count = count
        self.rank = 0
        self.pipes = pipes
        self.number = 0         # of the current task, counted from 1
        self.barrier = 0        # number of the last barrier; it grows from task to task
        # numbers of each process: the last barrier that it has reached, and that after which it has
        # computed its columns; the last task in which it computes alone; hashes of what it wants to
        # compute after even and odd barriers, because it may be one barrier ahead of others
        self._reached, self._computed, self._alone, *self._hashes = (
            shared_zeros(np.empty(count, np.int64)).data for _ in range(5))
        self._x, self._y = (shared_zeros(np.empty(SIZE, np.uint8)) for _ in range(2))

    @contextmanager
    def task(self) -> Iterator[None]:
        """Context manager for a task. All processes must have ended the previous task."""
        self.number += 1
        self.barrier = self.number * BARRIERS
        self._owner = os.getpid(), threading.get_ident()
        try:
            yield
        finally:
            self.leave()

    def leave(self) -> None:
        """Compute alone until the next task. The other processes notice this and leave, too."""
        self._alone[self.rank] = self.number

    @property
    def is_alone(self) -> bool:
        """Whether `leave` was called in this task, or another process or thread began the task."""
        own = self._owner == (os.getpid(), threading.get_ident())
        return self._alone[self.rank] == self.number or not own

    def agrees(self, *key: object) -> bool:
        """Wait until all processes call this, or one leaves. Return whether all pass equal keys."""
        self.barrier += 1
        hashes = self._hashes[self.barrier % 2]
        hashes[self.rank] = hash(key)
        self._reached[self.rank] = self.barrier
        if not self._wait(self._reached):
            return False
        if len(set(hashes)) > 1:
            self.leave()
        return not self.is_alone

    def _wait(self, numbers: memoryview) -> bool:
        """Wait until min(numbers) ≥ barrier. Leave and return False if another process has left."""
        spins = 0
        while min(numbers) < self.barrier:
            spins += 1
            ended = max(self._alone) >= self.number or spins % SPINS == 0 and wait(self.pipes, 0)
            if ended and min(numbers) < self.barrier:       # it has not merely finished before us
                self.leave()
                return False
            if spins > SPINS:
                os.sched_yield()        # other programs need the processor
        return True

    def lay_out(self, W: Array, rows: int, most: int) -> "Panels | ColumnParallel":
        """Return W for products x @ W: as ColumnParallel if all processes agree, else as Panels.

        rows: the number of rows of x in each process. most: the argument `rows` of Panels.
        """
        can = most * max(W.shape) * 8 <= SIZE and W.shape[1] >= self.count * WIDTH
        if can and not self.is_alone and self.agrees(W.ctypes.data, W.strides, W.shape, rows):
            return ColumnParallel(W, most, self)
        return Panels(W, most)

    def product(self, x: Array, one: "ColumnParallel") -> Array | None:
        """Return x @ one, or None if this process must compute the product alone."""
        K, N = one.W.shape
        if x.shape[1:] != (K,):
            self.leave()        # the product alone raises the error
        if self.is_alone:
            return None
        rows = self.count * len(x)
        xs = self._x.view(x.dtype)[:rows * K].reshape(rows, K)      # of all processes
        ys = self._y.view(x.dtype)[:rows * N].reshape(rows, N)
        mine = slice(self.rank * len(x), (self.rank + 1) * len(x))
        xs[mine] = x
        if not self.agrees(one.number, len(x), x.itemsize):
            return None
        one.panels.multiply(xs, ys[:, one.columns])
        self._computed[self.rank] = self.barrier
        return ys[mine].copy() if self._wait(self._computed) else None


class ColumnParallel:
    """A matrix W for products x @ W that the processes of a group compute together.

    rows: the maximum number of rows of x, summed over all processes.
    """

    __array_ufunc__ = None      # so that x @ W calls __rmatmul__

    def __init__(self, W: Array, rows: int, group: ProcessGroup) -> None:
        self.W = W
        self.rows = rows
        self.group = group
        self.number = group.barrier     # the same in all processes, which have just agreed
        N = W.shape[1]
        panels = share_of(N // WIDTH, group.rank, group.count)
        is_last = group.rank == group.count - 1
        self.columns = slice(panels.start * WIDTH, N if is_last else panels.stop * WIDTH)
        self.panels = Panels(W[:, self.columns], rows)
        self._all: Panels | None = None

    def __rmatmul__(self, x: Array) -> Array:
        """Return the product x W, with or without the other processes."""
        try:
            y = self.group.product(x, self)
        except BaseException:
            self.group.leave()      # so that no process waits for this one
            raise
        if y is None:
            self._all = self._all or Panels(self.W, self.rows)
            y = x @ self._all
        return y
