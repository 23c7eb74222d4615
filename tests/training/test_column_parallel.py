"""Column-parallel products: bit-identical to those of threads, and no wait for lost processes."""

import os
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

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="forks on Linux only")
# other kernels round differently for other numbers of rows, and are never used here
TOLERANCE = 0 if products.has_small_kernels() else 1e-5


@pytest.fixture(autouse=True)
def divide_small_products(monkeypatch):
    monkeypatch.setattr(products, "has_small_kernels", lambda: True)
    monkeypatch.setattr(products, "LARGE", 1)
    monkeypatch.setattr(products, "SMALL", 40_000)


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


def same(x, layout):
    """Compute nothing else."""


@pytest.mark.parametrize("turned, differ", [
    (True, same),                                   # other weights at the same address
    (False, lambda x, layout: x[1:] @ layout),      # fewer rows
    (False, lambda x, layout: x @ layout),          # more products
])
def test_processes_that_differ_compute_alone(rng, turned, differ):
    W = rng.standard_normal((128, 128))
    x = rng.standard_normal((12, 128))

    def work(W, differ):
        with divided_rows(2, pool.group), fixed_weights():
            layout = few_rows(W, 12, 20)
            before = x @ layout
            differ(x, layout)
            np.testing.assert_allclose([before, x @ layout], [x @ W] * 2, 1e-9, 1e-9)
            return pool.group.is_alone

    with Processes(2) as pool:
        assert pool.map(lambda k: work(W.T if turned and k else W, differ if k else same))[1]
        # in the next task, products are divided again
        assert pool.map(lambda k: work(W, same)) == [False, False]


@pytest.mark.parametrize("end, error", [
    (lambda: os.kill(os.getpid(), signal.SIGKILL), ChildProcessError),
    (lambda: np.zeros(2)[3], IndexError),
])
@pytest.mark.parametrize("count", [2, 3])
def test_a_process_that_ends_is_not_waited_for(rng, end, error, count):
    W = rng.standard_normal((128, 512))

    def work(k):
        with divided_rows(count, pool.group), fixed_weights():
            layout = few_rows(W, 12, 20)
            if k == 1:
                end()
            for _ in range(3):
                np.ones((12, 128)) @ layout

    with pytest.raises(error):
        with Processes(count) as pool:
            pool.map(work)
