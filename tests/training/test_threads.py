"""Threads: results in order, errors passed on, BLAS held at one thread inside."""

import threading

import pytest
from threadpoolctl import threadpool_info

from numpy_attention.training import threads
from numpy_attention.training.threads import Threads, available, keep_freed_memory


def blas_threads():
    return [library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"]


@pytest.mark.parametrize("count", [1, 2, 3])
def test_map_keeps_the_order_and_uses_as_many_threads(count):
    barrier = threading.Barrier(count)

    def work(k):
        barrier.wait(10)                # passes only if all run at once
        return k, threading.get_ident()
    with Threads(count) as pool:
        results = pool.map(work)
    assert [k for k, _ in results] == list(range(count)) and len({name for _, name in results}) == count


@pytest.mark.parametrize("bad", [0, 1])
def test_errors_come_through(bad):
    def work(k):
        if k == bad:
            raise RuntimeError(f"thread {k}")
    with Threads(2) as pool, pytest.raises(RuntimeError, match=f"thread {bad}"):
        pool.map(work)


def test_blas_is_held_at_one_thread_and_released():
    before = blas_threads()
    with Threads(2):
        assert set(blas_threads()) == {1}
    assert blas_threads() == before


def test_count_and_machine():
    assert available() >= 1
    keep_freed_memory()                 # never fails, whatever the C library
    with pytest.raises(ValueError, match="threads = 0"):
        Threads(0)


@pytest.mark.parametrize("largest", [1 << 30, 32 << 20])
def test_arrays_stay_on_the_heap_as_far_as_the_c_library_allows(largest, monkeypatch):
    kept = {}

    class Library:
        def mallopt(parameter, value):
            if parameter == threads.M_MMAP_THRESHOLD and value > largest:
                return 0
            kept[parameter] = value
            return 1
    monkeypatch.setattr(threads.sys, "platform", "linux")
    monkeypatch.setattr(threads.ctypes, "CDLL", lambda name: Library)
    keep_freed_memory()
    assert kept[threads.M_MMAP_THRESHOLD] == largest and kept[threads.M_TRIM_THRESHOLD] == 2**31 - 1
    order = list(kept)                      # a trim threshold alone would leave the other as small as it is
    assert order.index(threads.M_MMAP_THRESHOLD) < order.index(threads.M_TRIM_THRESHOLD)
