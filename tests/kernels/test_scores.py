"""Additive score kernels against their formulas in NumPy."""

import numpy as np
import pytest

from numpy_attention.kernels.scores import additive_scores, additive_scores_backward

T, B, S, A = 2, 3, 6, 5
VISIBLE = np.array([[[1] * 6, [1, 1, 0, 0, 0, 0], [0] * 6],
                    [[0, 1] * 3, [0] * 6, [1] * 6]], bool)                      # (T, B, S)


@pytest.mark.parametrize("dtype, tolerance", [(np.float32, dict(rtol=2e-6, atol=1e-6)),
                                              (np.float64, dict(rtol=1e-13, atol=1e-15))])
def test_additive_scores_forward_and_backward(rng, dtype, tolerance):
    q = rng.standard_normal((T, B, A)).astype(dtype)
    keys = rng.standard_normal((B, S, A)).astype(dtype)
    v = rng.standard_normal(A).astype(dtype)
    scores = np.empty((T, B, S), dtype)
    additive_scores(q, keys, v, VISIBLE, np.empty(A, dtype), scores)
    x = np.tanh(q[:, :, None].astype(np.float64) + keys)                        # (T, B, S, A)
    np.testing.assert_allclose(scores, np.where(VISIBLE, x @ v, 0), **tolerance)

    de = rng.standard_normal((T, B, S)).astype(dtype)
    dq = np.full_like(q, np.nan)
    dkeys = np.ones_like(keys)                                          # results are added to it
    dv = np.ones_like(v)                                                        # likewise
    additive_scores_backward(de, q, keys, v, VISIBLE, dq, dkeys, dv)
    de = np.where(VISIBLE, de, 0)
    da = de[..., None] * v * (1 - x**2)                                         # (T, B, S, A)
    np.testing.assert_allclose(dq, da.sum(2), **tolerance)
    np.testing.assert_allclose(dkeys, 1 + da.sum(0), **tolerance)
    np.testing.assert_allclose(dv, 1 + np.tensordot(de, x, 3), **tolerance)
