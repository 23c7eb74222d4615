"""Column-parallel products: bit-identical to those of threads, and no wait for lost processes."""

import os
import platform
import signal
import sys

import numpy as np
import pytest
from small import language_trainer, trainer, translator_model

from numpy_attention import products
from numpy_attention.products import Panels, divided_rows, few_rows, fixed_weights
from numpy_attention.training import processes
from numpy_attention.training.column_parallel import ColumnParallel, ProcessGroup
from numpy_attention.training.processes import Processes
from numpy_attention.training.threads import Threads

pytestmark = pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64",
                                reason="forks on Linux, and panels exist on x86")
# the library never divides columns with other kernels: they round differently for more rows
TOLERANCE = 0 if products.has_small_kernels() else 1e-5


@pytest.fixture(autouse=True)
def divide_small_products(monkeypatch):
    monkeypatch.setattr(products, "has_small_kernels", lambda: True)
    monkeypatch.setattr(products, "LARGE", 1)
    monkeypatch.setattr(products, "SMALL", 40_000)
    signal.alarm(60)            # ends the tests if a process waits forever
    yield
    signal.alarm(0)


def assert_same(found, expected):
    np.testing.assert_allclose(found, expected, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize("count, K, N", [(2, 128, 512), (2, 300, 130), (3, 64, 200)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_those_of_one_process(rng, count, K, N, dtype):
    W = rng.standard_normal((K, N)).astype(dtype)
    x = rng.standard_normal((12 * count, K)).astype(dtype)

    def work(k):
        with divided_rows(count, pool.group), fixed_weights():
            layout = few_rows(W, 12, 20)
            assert isinstance(layout, ColumnParallel)
            return [factor * x[12 * k:12 * (k + 1)] @ layout for factor in factors]

    factors = 2.0 ** np.arange(20, dtype=dtype)         # powers of 2 do not change the rounding
    with Processes(count) as pool:
        results = pool.map(work)
    for factor, *parts in zip(factors, *results):
        assert_same(np.concatenate(parts), factor * x @ Panels(W, 32 if count == 2 else 64))


def trained(make, monkeypatch, forks):
    """Return the parameters after an epoch, and for each product whether processes divided it."""
    divided = []
    product = ProcessGroup.product

    def noted(*given):
        y = product(*given)
        divided.append(y is not None)
        return y

    with monkeypatch.context() as patch:
        patch.setattr(processes, "can_fork", lambda ranks: forks)
        patch.setattr(ProcessGroup, "product", noted)
        one = make()
        one.fit(1)
    return one.model.vector.copy(), divided


def language_model():
    return language_trainer(hidden=128, threads=2)


def translator():
    return trainer(translator_model(hidden=128), threads=2)     # the shares differ in length


@pytest.mark.parametrize("make", [language_model, translator])
def test_training_is_that_of_threads(make, monkeypatch):
    expected, without = trained(make, monkeypatch, forks=False)
    found, divided = trained(make, monkeypatch, forks=True)
    assert not without and sum(divided) > 50
    assert_same(found, expected)


@pytest.mark.parametrize("transposed, extra", [
    (True, None),               # other weights at the same address
    (False, slice(1, None)),    # a product of fewer rows
    (False, slice(None)),       # one product more
])
def test_processes_that_differ_compute_alone(rng, transposed, extra):
    W = rng.standard_normal((128, 128))
    x = rng.standard_normal((12, 128))

    def work(W, *products_of):
        with divided_rows(2, pool.group), fixed_weights():
            layout = few_rows(W, 12, 20)
            for rows in (slice(None), *products_of, slice(None)):
                np.testing.assert_allclose(x[rows] @ layout, x[rows] @ W, 1e-9, 1e-9)
            return pool.group.is_alone

    other = [W.T] if transposed else [W, extra]
    with Processes(2) as pool:
        assert pool.map(lambda k: work(*other) if k else work(W))[1]
        # in the next task, products are divided again
        assert pool.map(lambda k: work(W)) == [False, False]


def killed():
    os.kill(os.getpid(), signal.SIGKILL)


def failing():
    raise IndexError("mine")


@pytest.mark.parametrize("before", [False, True], ids=["in a task", "before it"])
@pytest.mark.parametrize("end, error, count, victim", [
    (failing, IndexError, 2, 0),
    *((*end, *where) for end in ((killed, ChildProcessError), (failing, IndexError))
      for where in ((2, 1), (3, 1), (3, 2)))])
def test_a_process_that_ends_is_not_waited_for(rng, before, end, error, count, victim):
    W = rng.standard_normal((128, 512))

    def work(k):
        if before and k == victim:
            end()
        with divided_rows(count, pool.group), fixed_weights():
            layout = few_rows(W, 12, 20)
            if k == victim:
                end()
            for _ in range(3):
                np.ones((12, 128)) @ layout

    with pytest.raises(error):
        with Processes(count) as pool:
            pool.map(work)


def test_bad_x_raises_and_is_not_waited_for(rng):
    W = rng.standard_normal((128, 512))

    def work(k):
        with divided_rows(2, pool.group), fixed_weights():
            layout = few_rows(W, 12, 20)
            if k:
                with pytest.raises(ValueError, match="mismatch|core dimension"):
                    np.ones((12, 1)) @ layout
            return np.ones((12, 128)) @ layout

    with Processes(2) as pool:
        for y in pool.map(work):
            np.testing.assert_allclose(y, np.ones((12, 128)) @ W, 1e-9, 1e-9)


def test_pools_and_threads_in_a_task_compute_alone(rng):
    W = rng.standard_normal((128, 512))
    x = rng.standard_normal((2, 12, 128))

    def work(k):
        with divided_rows(2, pool.group), fixed_weights():
            layout = few_rows(W, 12, 20)
            with Threads(2) as inner:
                found = inner.map(lambda n: x[n] @ layout)
            with Processes(2) as inner:
                found += inner.map(lambda n: x[n] @ layout)
            return found

    with Processes(2) as pool:
        for found in pool.map(work):
            np.testing.assert_allclose(found, [*x @ W] * 2, 1e-9, 1e-9)
