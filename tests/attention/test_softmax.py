"""Masked softmax of scores with any number of axes, in any memory order."""

import numpy as np

from numpy_attention.attention.softmax import masked_softmax, masked_softmax_backward


def reference(scores, visible):
    e = np.where(visible, np.exp(scores), 0)
    total = e.sum(-1, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


def test_three_axes_with_a_fully_masked_row(rng):
    scores = rng.standard_normal((3, 2, 5))
    visible = rng.random((3, 2, 5)) < 0.6
    visible[1, 0] = False
    weights = masked_softmax(scores, visible)
    np.testing.assert_allclose(weights, reference(scores, visible), atol=1e-15)
    assert not weights[1, 0].any()
    dweights = rng.standard_normal((3, 2, 5))
    dscores = masked_softmax_backward(dweights, weights)
    wanted = weights * (dweights - (weights * dweights).sum(-1, keepdims=True))
    np.testing.assert_allclose(dscores, wanted, atol=1e-15)


def test_transposed_scores(rng):
    scores = rng.standard_normal((2, 5, 3)).transpose(2, 0, 1)
    visible = (rng.random((2, 5, 3)) < 0.6).transpose(2, 0, 1)
    assert not scores.flags.c_contiguous
    weights = masked_softmax(scores, visible)
    np.testing.assert_allclose(weights, reference(scores, visible), atol=1e-15)
    dweights = rng.standard_normal((2, 5, 3)).transpose(2, 0, 1)
    np.testing.assert_allclose(masked_softmax_backward(dweights, weights),
                               masked_softmax_backward(dweights.copy(), weights), atol=1e-15)
