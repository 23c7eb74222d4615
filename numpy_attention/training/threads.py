"""Thread pools for training, the number of available processors, and reuse of freed memory."""

import ctypes
import math
import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from pathlib import Path
from typing import Any, Callable

from threadpoolctl import threadpool_info, threadpool_limits

from numpy_attention.registry import MOST_THREADS
from numpy_attention.training.column_parallel import ProcessGroup
from numpy_attention.training.distributed.ranks import SINGLE_PROCESS, SingleProcess, host
from numpy_attention.validation.arrays import check_whole

# parameters of mallopt, as malloc.h numbers them
M_TRIM_THRESHOLD = -1
M_TOP_PAD = -2
M_MMAP_THRESHOLD = -3
M_ARENA_MAX = -8

# time and period: one file in version 2 of control groups, two files in version 1
QUOTA_FILES = ("cpu.max", "cpu.cfs_quota_us", "cpu.cfs_period_us")
# parameters × tokens of a step, below which several threads, or processes, gain little or lose
SMALL_STEP = 3e8
SMALL_STEP_OF_PROCESSES = 2e7
SWITCH = 1e-4       # seconds until a thread asks for the interpreter lock; Python's default is 5e-3


class Threads:
    """Context manager: a pool of threads, in which BLAS does not start threads of its own.

    ranks: the processes that share the work, with `count` threads each. The attribute `shares` is
    the number of threads of all ranks, and `first` is the index of this rank's first thread. Raises
    ValueError if count is not in 1 … MOST_THREADS, and MemoryError if a thread cannot be started.
    """

    group: ProcessGroup | None = None       # in a pool of processes

    def __init__(self, count: int, ranks: SingleProcess = SINGLE_PROCESS) -> None:
        check_whole("threads", count, 1, MOST_THREADS)
        self.count = count
        self.ranks = ranks
        self.shares = count * ranks.count
        self.first = count * ranks.rank

    def __enter__(self) -> "Threads":
        keep_freed_memory()
        self._limits = threadpool_limits(1, user_api="blas")
        self._pool = ThreadPoolExecutor(self.count)      # starts threads when they have work
        self._interval = sys.getswitchinterval()
        sys.setswitchinterval(min(SWITCH, self._interval))
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.shutdown()
        self._limits.restore_original_limits()
        sys.setswitchinterval(self._interval)

    def tell(self, *message: Any) -> None:
        """Do nothing. `Processes.tell` sends the message to the other processes."""

    def map(self, f: Callable[[int], Any], to_all: bool = True) -> list[Any]:
        """Call f(k) in each worker k; return the results in the order of k.

        to_all: if False, only the first of several Processes returns results; the others return [].
        """
        try:
            others = [self._pool.submit(copy_context().run, f, k) for k in range(1, self.count)]
        except RuntimeError:
            raise MemoryError(f"cannot start {self.count} threads") from None
        try:
            first = f(0)
        finally:
            # wait for all threads, so that none is running when an error of f(0) is raised
            for other in others:
                other.exception()
        return [first] + [other.result() for other in others]


def available(ranks: SingleProcess = SINGLE_PROCESS) -> int:
    """Return how many processors this process may use. Ranks on one host divide its processors."""
    mine = processors()
    ours = [cores for where, cores in ranks.allgather((host(), mine)) if where == host()]
    return max(1, min(len(mine), len(set().union(*ours)) // len(ours)))


def threads_that_pay(work: int, ranks: SingleProcess = SINGLE_PROCESS) -> int:
    """Return how many threads all ranks together should use: one per rank if steps are small.

    work: the number of parameters times the number of tokens of a step.
    """
    small = SMALL_STEP_OF_PROCESSES if can_fork(ranks) else SMALL_STEP
    mine = available(ranks) if work > small else 1
    return ranks.count * min(ranks.allgather(mine))


def can_fork(ranks: SingleProcess = SINGLE_PROCESS) -> bool:
    """Return whether a pool may fork this process: on Linux, in the main thread, with one rank."""
    main = threading.current_thread() is threading.main_thread()
    return sys.platform == "linux" and main and ranks.count == 1


def crowded(ranks: SingleProcess, threads: int) -> str:
    """Return a warning if a host has too few processors for `threads` threads per rank, else ""."""
    known = ranks.allgather((host(), processors()))
    for place in dict.fromkeys(place for place, _ in known):
        here = [cores for where, cores in known if where == place]
        cores = len(set().union(*here))
        if threads * len(here) > cores:
            return (f"on host {place}, {len(here)} ranks × {threads} threads share {cores} "
                    "processors, and wait for each other")
        if threads > min(map(len, here)):
            return (f"on host {place}, each rank is bound to {min(map(len, here))} of {cores} "
                    f"processors but runs {threads} threads; start with mpirun "
                    "--bind-to none")
    return ""


def processors(quota: float | None = None) -> set[int]:
    """Return the ids of processors that this process may use, at most as many as the quota allows.

    quota: the quota of the container, in processors, or None for the result of `cpu_quota`.
    """
    every = range(os.cpu_count() or 1)
    mine = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(every)
    # fewer with python -X cpu_count, from 3.13 on
    most = getattr(os, "process_cpu_count", os.cpu_count)() or 1
    quota = cpu_quota() if quota is None else quota
    return set(sorted(mine)[:max(1, min(most, math.ceil(min(quota, most))))])


def cpu_quota(root: str | Path = "/sys/fs/cgroup",
              groups: str | Path = "/proc/self/cgroup") -> float:
    """Return how many processors the container of this process may use, or inf without a limit."""
    quota = math.inf
    for line in (_content(groups) or "0::/").splitlines():
        controllers, _, group = line.partition(":")[2].partition(":")
        if controllers and "cpu" not in controllers.split(","):
            continue
        names = [name for name in group.split("/") if name not in ("", "..")]
        # version 2 is at the root or in unified, version 1 in a folder of the controller
        for base in (("", "unified") if not controllers else ("cpu", controllers)):
            for k in range(len(names) + 1):         # a group has no more than those above it
                folder = Path(root, base, *names[:k])
                words = " ".join(_content(folder / file) for file in QUOTA_FILES).split()
                if len(words) == 2 and words[0].isdigit():      # neither max nor -1
                    quota = min(quota, int(words[0]) / int(words[1]))
    return quota


def _content(path: str | Path) -> str:
    """Return the stripped content of a system file, or "" if it cannot be read."""
    try:
        return Path(path).read_text("utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""


def hold_blas() -> None:
    """Limit BLAS to the processors that the quota allows, because BLAS itself ignores quotas."""
    most = len(processors())
    blas = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
    if cpu_quota() < math.inf and max(blas, default=0) > most:
        threadpool_limits(most, user_api="blas")


def keep_freed_memory() -> None:
    """Ask the C library to keep freed arrays for the next step, which avoids page faults.

    The call has no effect if the C library has no mallopt (macOS, Windows, musl).
    """
    mallopt = _of_the_c_library("mallopt")
    if mallopt is None:
        return
    mallopt(M_ARENA_MAX, 1)
    if not mallopt(M_MMAP_THRESHOLD, 1 << 30):
        # the largest that the manual allows; older versions reject more
        mallopt(M_MMAP_THRESHOLD, 32 << 20)
    mallopt(M_TRIM_THRESHOLD, 2**31 - 1)
    mallopt(M_TOP_PAD, 1 << 26)


def release_freed_memory() -> None:
    """Ask the C library to return the memory of freed arrays to the system, if possible."""
    trim = _of_the_c_library("malloc_trim")
    if trim is not None:
        trim(0)


def _of_the_c_library(name: str) -> Callable[..., int] | None:
    """Return the C library's function `name`, or None if it is missing or this is not Linux."""
    if not sys.platform.startswith("linux"):
        return None
    try:
        return getattr(ctypes.CDLL(None), name)
    except (OSError, AttributeError):
        return None
