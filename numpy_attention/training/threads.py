"""A share of the batch is a share of the work: threads that each run the whole step on their rows."""

import ctypes
import ctypes.util
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from threadpoolctl import threadpool_limits

M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, M_ARENA_MAX = -1, -2, -3, -8


class Threads:
    """A pool of threads with BLAS held at one thread inside; a context manager.

    `map(f)` calls f(0) … f(count − 1), one in each thread, and returns their results in order; with one thread it is
    an ordinary call. NumPy's products and the kernels release the interpreter lock. ValueError: count below 1.
    """

    def __init__(self, count):
        if count < 1:
            raise ValueError(f"threads = {count}: expected at least 1")
        self.count = count

    def __enter__(self):
        keep_freed_memory()
        self._limits = threadpool_limits(1, user_api="blas")
        self._pool = ThreadPoolExecutor(self.count - 1) if self.count > 1 else None
        return self

    def __exit__(self, *error):
        if self._pool is not None:
            self._pool.shutdown()
        self._limits.restore_original_limits()

    def map(self, f):
        others = [self._pool.submit(f, k) for k in range(1, self.count)]
        try:
            first = f(0)
        finally:
            results = [other.exception() or other.result() for other in others]
        for result in results:
            if isinstance(result, BaseException):
                raise result
        return [first] + results


def available():
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def keep_freed_memory():
    """Ask the C library to keep freed arrays for the next step instead of handing them back to the system.

    A training step frees and allocates the same arrays again and again, and each fresh page costs a fault. Does nothing
    where the C library has no mallopt (macOS, Windows, musl).
    """
    if not sys.platform.startswith("linux"):
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError):
        return
    mallopt(M_ARENA_MAX, 1)
    if not mallopt(M_MMAP_THRESHOLD, 1 << 30):
        mallopt(M_MMAP_THRESHOLD, 32 << 20)             # the largest that its manual allows, which older ones insist on
    mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    mallopt(M_TOP_PAD, 1 << 26)
