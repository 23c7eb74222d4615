"""exp, tanh and σ: accuracy, NaN and overflow; sums of a row; warnings about the cache."""

import numpy as np
import pytest

from numpy_attention.kernels import elementary
from numpy_attention.kernels.elementary import kernel, row_dot, row_max, row_sum

exp_ = elementary.exp
tanh_ = elementary.tanh
sigmoid_ = elementary.sigmoid


def test_unwritable_cache_warns_and_compiles_without_it(monkeypatch):
    njit = elementary.njit

    def njit_without_cache(cache=False, **options):
        def decorate(function):
            if cache:
                raise RuntimeError("cannot cache function 'double': no locator available")
            return njit(**options)(function)
        return decorate

    def double(x):
        return 2 * x

    monkeypatch.setattr(elementary, "njit", njit_without_cache)
    with pytest.warns(RuntimeWarning, match="set NUMBA_CACHE_DIR to a folder that you can write"):
        assert elementary.kernel(double)(4.5) == 9.0


def test_full_disk_warns_and_the_kernel_runs(monkeypatch):
    @kernel
    def triple(x):
        return 3 * x

    def full(*compiled):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(type(triple._cache), "_save_overload", full)
    with pytest.warns(RuntimeWarning, match="set NUMBA_CACHE_DIR"):
        assert triple(1.5) == 4.5


@kernel
def all_exp(x, y):
    for i in range(x.shape[0]):
        y[i] = exp_(x[i])


@kernel
def all_tanh(x, y):
    for i in range(x.shape[0]):
        y[i] = tanh_(x[i])


@kernel
def all_sigmoid(x, y):
    for i in range(x.shape[0]):
        y[i] = sigmoid_(x[i])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


FUNCTIONS = [(all_exp, np.exp, 87), (all_tanh, np.tanh, 30), (all_sigmoid, sigmoid, 80)]


def apply(loop, x):
    y = np.empty_like(x)
    loop(x, y)
    return y


@pytest.mark.parametrize("loop, reference, bound", FUNCTIONS)
def test_float32_accuracy(loop, reference, bound):
    everywhere = np.linspace(-bound, bound, 20001)
    near_zero = np.linspace(-1, 1, 2001)
    x = np.concatenate([everywhere, near_zero, [0.0, 1e-8, -1e-20]]).astype(np.float32)
    wanted = reference(x.astype(np.float64))
    given = apply(loop, x)
    assert given.dtype == np.float32
    assert np.abs(given - wanted).max() <= 3e-7 * max(1, np.abs(wanted).max())
    large = np.abs(wanted) > 1e-30
    error = np.abs(given - wanted)[large] / np.abs(wanted)[large]
    assert error.max() < 6e-7


@pytest.mark.parametrize("loop, reference, bound", FUNCTIONS)
def test_float64_matches_numpy(loop, reference, bound):
    x = np.linspace(-bound, bound, 301)
    np.testing.assert_allclose(apply(loop, x), reference(x), rtol=1e-14, atol=1e-16)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("loop", [all_exp, all_tanh, all_sigmoid])
def test_nan_stays_in_its_element(loop, dtype):
    x = np.zeros(37, dtype)
    x[[0, 17, 36]] = np.nan
    assert np.flatnonzero(np.isnan(apply(loop, x))).tolist() == [0, 17, 36]


def test_saturation():
    x = np.array([-np.inf, -1e30, -1e4, 1e4, 1e30, np.inf], np.float32)
    assert (apply(all_tanh, x) == [-1, -1, -1, 1, 1, 1]).all()
    np.testing.assert_allclose(apply(all_sigmoid, x), [0, 0, 0, 1, 1, 1], atol=1e-37)
    low, high = np.split(apply(all_exp, x), 2)
    assert (low < 1e-37).all() and np.isfinite(high).all() and (high > 1e38).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [1, 3, 8, 257])
def test_row_reductions(rng, dtype, size):
    a, b = rng.standard_normal((2, size)).astype(dtype)
    assert {row_max(np.roll(a - 9, n)) for n in range(size)} == {(a - 9).max()}
    tolerance = 1e-5 if dtype == np.float32 else 1e-13
    assert row_sum(a) == pytest.approx(a.astype(np.float64).sum(), abs=tolerance * size)
    assert row_dot(a, b) == pytest.approx(a.astype(np.float64) @ b, abs=tolerance * size)
    nans = np.full(size, np.nan, dtype)
    assert np.isnan(row_sum(nans)) and np.isnan(row_dot(nans, b))
