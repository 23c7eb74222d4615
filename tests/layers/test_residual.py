"""Residual connections against their equations, post-norm and pre-norm.

Gradients and laws: tests/test_checks.py.
"""

import numpy as np
import pytest

from numpy_attention.gradcheck import randomize
from numpy_attention.layers.dropout import Dropout, position_ids
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.residual import Residual

D = 5
RATE = 0.4
both = pytest.mark.parametrize("pre_norm", [False, True])


def residual(rng, pre_norm):
    return randomize(Residual(LayerNorm.create(D, np.float64), Dropout(RATE), pre_norm), rng)


def normed(layer, x):
    centred = x - x.mean(-1, keepdims=True)
    return layer.norm.g * centred / np.sqrt(x.var(-1, keepdims=True) + 1e-5) + layer.norm.b


@both
def test_equations(rng, pre_norm):
    layer = residual(rng, pre_norm)
    x = rng.standard_normal((3, 4, D))
    f = np.tanh
    inside, _ = layer.pre(x)
    y, _ = layer.post(x, f(inside))
    wanted = x + f(normed(layer, x)) if pre_norm else normed(layer, x + f(x))
    np.testing.assert_allclose(y, wanted, atol=1e-12)


@both
def test_dropout_is_applied_to_f_only(rng, pre_norm):
    layer = residual(rng, pre_norm)
    x = rng.standard_normal((50, 40, D))
    fx = rng.standard_normal((50, 40, D))
    row_ids = position_ids(50, 7 + np.arange(40))
    y, _ = layer.post(x, fx, np.random.default_rng(1), row_ids)
    # the same mask, drawn directly
    dropped, _ = Dropout(RATE).forward(fx, np.random.default_rng(1), row_ids)
    assert (dropped == 0).mean() == pytest.approx(RATE, abs=0.03)
    wanted = x + dropped if pre_norm else normed(layer, x + dropped)
    np.testing.assert_allclose(y, wanted, atol=1e-12)


@both
def test_backward_masks_only_the_gradient_of_f(rng, pre_norm):
    layer = residual(rng, pre_norm)
    x, fx, dy = rng.standard_normal((3, 50, 40, D))
    _, cache = layer.post(x, fx, np.random.default_rng(1))
    dx, dfx = layer.post_backward(dy, cache, layer.zeros_like())
    ones, _ = Dropout(RATE).forward(np.ones_like(x), np.random.default_rng(1))
    assert (dx != 0).all()
    np.testing.assert_allclose(dfx, dx * ones, atol=1e-12)
    if pre_norm:
        np.testing.assert_array_equal(dx, dy)
