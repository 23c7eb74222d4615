"""Threads: result order, errors, BLAS limited to one thread, and freed memory that is kept."""

import math
import os
import sys
import threading
import time

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from numpy_attention.training import threads
from numpy_attention.training.distributed.ranks import SingleProcess
from numpy_attention.training.threads import Threads, available, keep_freed_memory, threads_that_pay


def library_threads(kind):
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == kind}


def blas_threads():
    return library_threads("blas")


# ---- map -----------------------------------------------------------------------------------------

def test_one_thread_runs_in_the_calling_thread():
    with Threads(1) as pool:
        assert pool.map(lambda k: (k, threading.get_ident())) == [(0, threading.get_ident())]


@pytest.mark.parametrize("count", [2, 3])
def test_map_runs_concurrently_in_separate_threads(count):
    barrier = threading.Barrier(count)

    def work(k):
        barrier.wait(10)                        # passes only if all run concurrently
        return threading.get_ident()

    with Threads(count) as pool:
        names = pool.map(work)
    assert len(set(names)) == count and names[0] == threading.get_ident()


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_error_is_raised_after_all_threads_finish(bad):
    at_work = {0, 1, 2}

    def work(k):
        try:
            if k == bad:
                raise RuntimeError(f"thread {k}")
            time.sleep(0.05)
        finally:
            at_work.remove(k)

    with Threads(3) as pool:
        with pytest.raises(RuntimeError, match=f"thread {bad}"):
            pool.map(work)
        assert not at_work
        assert pool.map(lambda k: k) == [0, 1, 2]               # the pool is still usable


def test_threads_end_with_the_pool():
    before = threading.enumerate()
    with Threads(3) as pool:
        pool.map(lambda k: k)
        assert len(threading.enumerate()) > len(before)
    assert threading.enumerate() == before


def test_pool_without_threads_raises():
    with pytest.raises(ValueError, match="threads = 1025; expected .* from 1 to 1,024"):
        Threads(1025)
    with pytest.raises(ValueError, match="threads = 0; expected an integer from 1 to 1,024"):
        Threads(0)


# ---- the machine ---------------------------------------------------------------------------------

@pytest.mark.parametrize("count", [1, 2])
def test_blas_limit_is_released_even_after_an_error(count):
    with threadpool_limits(2, user_api="blas"):
        assert blas_threads() == {2}
        with pytest.raises(RuntimeError), Threads(count):
            assert blas_threads() == {1}
            raise RuntimeError
        assert blas_threads() == {2}


def test_switch_interval_is_shortened():
    sys.setswitchinterval(0.005)
    with Threads(2):
        assert sys.getswitchinterval() == pytest.approx(threads.SWITCH, rel=0.1)
    assert sys.getswitchinterval() == pytest.approx(0.005)


def test_freed_memory_is_kept_from_the_first_step(monkeypatch):
    asked = []
    monkeypatch.setattr(threads, "keep_freed_memory", lambda: asked.append("kept"))
    with Threads(1):
        assert asked == ["kept"]


def test_available_counts_usable_cores(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", {0: {3, 5, 7}}.get, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    assert available() == 3
    monkeypatch.delattr(os, "sched_getaffinity")                # as on macOS
    assert available() == 64
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    assert available() == 1


@pytest.mark.parametrize("groups, files, quota", [
    ("0::/", {"cpu.max": "max 100000"}, math.inf),
    ("0::/", {"cpu.max": "100000 100000"}, 1),
    ("0::/a/b", {"a/cpu.max": "150000 100000", "a/b/cpu.max": "max 100000"}, 1.5),
    ("2:memory:/x\n1:cpu,cpuacct:/x", {"cpu/cpu.cfs_quota_us": "50000",
                                       "cpu/cpu.cfs_period_us": "100000"}, 0.5),
    ("1:cpu:/x", {"cpu/x/cpu.cfs_quota_us": "-1", "cpu/x/cpu.cfs_period_us": "100000"}, math.inf),
    ("1:memory:/x", {"cpu/x/cpu.cfs_quota_us": "1", "cpu/x/cpu.cfs_period_us": "2"}, math.inf),
])
def test_container_quota_limits_available_cores(groups, files, quota, tmp_path,
                                                           monkeypatch):
    (tmp_path / "groups").write_text(f"{groups}\n")
    for name, text in files.items():
        (tmp_path / "fs" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "fs" / name).write_text(f"{text}\n")
    assert threads.cpu_quota(tmp_path / "fs", tmp_path / "groups") == quota
    monkeypatch.setattr(os, "sched_getaffinity", {0: set(range(64))}.get, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(threads, "cpu_quota", lambda: quota)
    assert available() == {0.5: 1, 1: 1, 1.5: 2, math.inf: 64}[quota]


@pytest.mark.parametrize("quota, held", [(1, 1), (3, 2), (math.inf, 2)])
def test_blas_threads_are_limited_by_the_quota_but_never_raised(quota, held, monkeypatch):
    monkeypatch.setattr(threads, "cpu_quota", lambda: quota)
    monkeypatch.setattr(os, "sched_getaffinity", {0: set(range(8))}.get, raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    with threadpool_limits(2, user_api="blas"):
        threads.hold_blas()
        assert blas_threads() == {held}


# ---- memory --------------------------------------------------------------------------------------


class Library:
    """A C library whose mallopt accepts thresholds up to `largest`, and records them."""

    def __init__(self, largest):
        self.largest = largest
        self.taken = []

    def mallopt(self, parameter, value):
        if parameter == threads.M_MMAP_THRESHOLD and value > self.largest:
            return 0
        self.taken.append((parameter, value))
        return 1


@pytest.mark.parametrize("largest", [1 << 30, 32 << 20])
def test_largest_accepted_mmap_threshold_is_set(largest, monkeypatch):
    library = Library(largest)
    monkeypatch.setattr(threads.sys, "platform", "linux")
    monkeypatch.setattr(threads.ctypes, "CDLL", lambda name: library)
    keep_freed_memory()
    # the trim threshold comes last, because setting the mmap threshold changes it
    assert library.taken == [(-8, 1), (-3, largest), (-1, 2**31 - 1), (-2, 1 << 26)]


def test_systems_without_mallopt(monkeypatch):
    asked = []

    def missing(name):
        asked.append(name)
        raise OSError("no such library")

    monkeypatch.setattr(threads.ctypes, "CDLL", missing)
    monkeypatch.setattr(threads.sys, "platform", "darwin")
    keep_freed_memory()
    assert not asked
    monkeypatch.setattr(threads.sys, "platform", "linux")
    keep_freed_memory()
    assert asked == [None]
    monkeypatch.setattr(threads.ctypes, "CDLL", lambda name: object())          # as in musl
    keep_freed_memory()


def test_threads_that_pay(monkeypatch):
    class Two(SingleProcess):
        count = 2

        def allgather(self, value):
            return [value, value + 1]

    monkeypatch.setattr(threads, "available", lambda ranks: 3)
    assert threads_that_pay(20_000_000) == 1 and threads_that_pay(20_000_001) == 3
    with monkeypatch.context() as mac:
        mac.setattr(sys, "platform", "darwin")
        assert threads_that_pay(300_000_000) == 1 and threads_that_pay(300_000_001) == 3
    assert threads_that_pay(10**12, Two()) == 6 and threads_that_pay(1, Two()) == 2


def test_only_blas_is_held_at_one_thread(monkeypatch):
    """Other libraries in the process keep their threads."""
    limits = []

    def recorded(*arguments, **named):
        limits.append((arguments, named))
        return threadpool_limits(*arguments, **named)
    monkeypatch.setattr(threads, "threadpool_limits", recorded)
    with Threads(1):
        pass
    assert limits == [((1,), {"user_api": "blas"})]
