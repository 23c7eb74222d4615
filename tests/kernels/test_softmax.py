"""Softmax kernels against their formulas in NumPy, with extreme values and NaN."""

import numpy as np
import pytest

from numpy_attention.kernels import softmax as kernels

both = pytest.mark.parametrize("dtype", [np.float32, np.float64])


def tolerance(dtype):
    return dict(rtol=2e-6, atol=1e-6) if dtype == np.float32 else dict(rtol=1e-13, atol=1e-15)


def softmax(scores, mask):
    """Return the reference result in float64."""
    scores = np.where(mask, scores.astype(np.float64), -np.inf)
    top = scores.max(-1, keepdims=True)
    e = np.exp(scores - np.where(np.isfinite(top), top, 0))
    total = e.sum(-1, keepdims=True)
    return e / np.where(total, total, 1)


def masked_softmax(scores, mask):
    weights = np.full_like(scores, np.nan)
    kernels.masked_softmax(scores, mask, weights)
    return weights


@both
@pytest.mark.parametrize("size", [1, 7, 500])
@pytest.mark.parametrize("scale", [1, 1e4])
def test_masked_softmax(rng, dtype, size, scale):
    scores = (scale * rng.standard_normal((5, size))).astype(dtype)
    mask = rng.random((5, size)) < 0.7
    mask[0] = False
    mask[1] = True
    mask[2, 0] = True
    weights = masked_softmax(scores, mask)
    np.testing.assert_allclose(weights, softmax(scores, mask), **tolerance(dtype))
    assert (weights[~mask] == 0).all()
    assert not weights[0].any()
    np.testing.assert_allclose(weights.sum(1)[mask.any(1)], 1, rtol=1e-5)


@both
def test_masked_softmax_propagates_nan_and_ignores_masked_values(dtype):
    scores = np.array([[0, np.nan, 1], [np.nan, 0, 1], [0, 1, np.inf]], dtype)
    mask = np.array([[True, True, True], [False, True, True], [True, True, False]])
    weights = masked_softmax(scores, mask)
    assert np.isnan(weights[0]).all()
    wanted = softmax(np.array([[5, 0, 1], [0, 1, 5]], dtype), mask[1:])
    np.testing.assert_allclose(weights[1:], wanted, rtol=1e-6)


@both
def test_softmax_backward(rng, dtype):
    weights = softmax(rng.standard_normal((3, 6)), np.ones((3, 6), bool)).astype(dtype)
    dweights = rng.standard_normal((3, 6)).astype(dtype)
    dscores = np.empty((3, 6), dtype)
    kernels.masked_softmax_backward(dweights, weights, dscores)
    jacobian = [np.diag(w) - np.outer(w, w) for w in weights.astype(np.float64)]
    wanted = [j @ d for j, d in zip(jacobian, dweights)]
    np.testing.assert_allclose(dscores, wanted, **tolerance(dtype))


@both
def test_weighted_sum_and_dot_scores(rng, dtype):
    weights = rng.random((3, 6)).astype(dtype)
    values = rng.standard_normal((3, 6, 4)).astype(dtype)
    weights[1, 2:] = 0
    context = np.empty((3, 4), dtype)
    kernels.weighted_sum(weights, values, context)
    wanted = np.einsum("bs,bsd->bd", weights, values)
    np.testing.assert_allclose(context, wanted, **tolerance(dtype))
    dweights = np.empty((3, 6), dtype)
    kernels.dot_scores(context, values, weights > 0, dweights)
    wanted = np.where(weights > 0, np.einsum("bd,bsd->bs", context, values), 0)
    np.testing.assert_allclose(dweights, wanted, **tolerance(dtype))


def cross_entropy(logits, b, targets, scale):
    z = logits.copy()
    losses = np.empty(len(logits))
    kernels.cross_entropy(z, b, targets, logits.dtype.type(scale), losses)
    return z, losses


@both
@pytest.mark.parametrize("size", [1, 2, 9, 5000])
@pytest.mark.parametrize("scale", [1, 1e4])
def test_cross_entropy(rng, dtype, size, scale):
    logits = (scale * rng.standard_normal((4, size))).astype(dtype)
    b = rng.standard_normal(size).astype(dtype)
    targets = rng.integers(0, size, 4)
    dlogits, losses = cross_entropy(logits, b, targets, 0.3)
    z = (logits + b).astype(np.float64)                 # the kernel's sum is rounded to the dtype
    top = z.max(1)
    log_p = z - (top + np.log(np.exp(z - top[:, None]).sum(1)))[:, None]
    absolute = 2e-5 if dtype == np.float32 else 1e-9
    np.testing.assert_allclose(losses, -log_p[range(4), targets], rtol=1e-5, atol=absolute)
    wanted = 0.3 * (np.exp(log_p) - np.eye(size)[targets])
    relative = 1e-5 if dtype == np.float32 else 1e-11
    np.testing.assert_allclose(dlogits, wanted, rtol=relative, atol=1e-6)


def log_softmax(logits, b):
    log_p = logits.copy()
    kernels.log_softmax(log_p, b, np.empty_like(b))
    return log_p


@both
@pytest.mark.parametrize("size", [1, 2, 9, 5000])
@pytest.mark.parametrize("scale", [1, 1e4])
def test_log_softmax(rng, dtype, size, scale):
    logits = (scale * rng.standard_normal((4, size))).astype(dtype)
    b = rng.standard_normal(size).astype(dtype)
    z = (logits + b).astype(np.float64)                 # the kernel's sum is rounded to the dtype
    z -= z.max(1, keepdims=True)
    wanted = z - np.log(np.exp(z).sum(1, keepdims=True))
    absolute = 2e-6 if dtype == np.float32 else 1e-12
    np.testing.assert_allclose(log_softmax(logits, b), wanted, rtol=1e-6, atol=absolute)


@both
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_log_softmax_propagates_nonfinite_values(dtype, bad):
    logits = np.zeros((2, 41), dtype)
    logits[0, 7] = bad
    log_p = log_softmax(logits, np.zeros(41, dtype))
    assert np.isnan(log_p[0, 7]) and not np.isfinite(log_p[0]).any()
    np.testing.assert_allclose(log_p[1], -np.log(41), rtol=1e-6)


@both
@pytest.mark.parametrize("place", [0, 3, 40])
def test_cross_entropy_propagates_nan(dtype, place):
    logits = np.zeros((2, 41), dtype)
    logits[0, place] = np.nan
    dlogits, losses = cross_entropy(logits, np.zeros(41, dtype), np.array([5, 5]), 1)
    assert np.isnan(losses[0])
    assert np.isnan(dlogits[0]).all()
    assert losses[1] == pytest.approx(np.log(41), rel=1e-6)
    assert np.isfinite(dlogits[1]).all()
