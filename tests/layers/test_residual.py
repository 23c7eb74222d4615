"""A residual connection, by its equations, before and after the norm. Gradients and laws: tests/test_checks.py."""

import numpy as np
import pytest

from numpy_attention.gradcheck import randomize
from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.residual import Residual

D = 5


def normed(layer, x):
    return layer.norm.g * (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5) + layer.norm.b


@pytest.mark.parametrize("first", [False, True])
def test_by_the_equations(rng, first):
    layer, x = randomize(Residual(LayerNorm.create(D, np.float64), Dropout(0.4), first), rng), rng.standard_normal((3, 4, D))
    f = np.tanh
    inside, _ = layer.enter(x)
    y, _ = layer.leave(x, f(inside))
    wanted = x + f(normed(layer, x)) if first else normed(layer, x + f(x))
    np.testing.assert_allclose(y, wanted, atol=1e-12)


@pytest.mark.parametrize("first", [False, True])
def test_dropout_takes_from_the_part_alone(rng, first):
    """What passes by is never dropped: with f = 0 dropout changes nothing, with f = 1 about its share of all values."""
    layer, x = Residual(LayerNorm.create(D, np.float64), Dropout(0.4), first), rng.standard_normal((50, 40, D))
    nothing, _ = layer.leave(x, np.zeros_like(x), np.random.default_rng(1))
    np.testing.assert_allclose(nothing, layer.leave(x, np.zeros_like(x))[0])
    if first:
        y, _ = layer.leave(x, np.ones_like(x), np.random.default_rng(1))
        assert set(np.round(y - x, 9).ravel()) == {0.0, round(1 / 0.6, 9)}
        assert np.isclose(y - x, 0).mean() == pytest.approx(0.4, abs=0.03)
