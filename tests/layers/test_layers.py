"""Layers against their formulas, and what they refuse. Gradients and laws: tests/test_checks.py."""

import numpy as np
import pytest

from numpy_attention.layers.deep_output import DeepOutput
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.linear import Linear
from numpy_attention.layers.maxout import Maxout


def test_linear(rng):
    W, b, x = rng.standard_normal((4, 3)), rng.standard_normal(3), rng.standard_normal((2, 5, 4))
    y, _ = Linear(W, b).forward(x)
    np.testing.assert_allclose(y, np.einsum("tbi,io->tbo", x, W) + b)
    np.testing.assert_allclose(Linear(W, None).forward(x)[0], y - b)
    with pytest.raises(ValueError, match=r"x \(…, I\) has shape \(2, 5, 3\), expected \(2, 5, 4\)"):
        Linear(W, b).forward(x[..., :3])


def test_embedding(rng):
    layer = Embedding.create(rng, 6, 3, dtype=np.float64)
    ids = np.array([[5, 0], [0, 2]])
    y, cache = layer.forward(ids)
    assert y.shape == (2, 2, 3) and (y[0, 1] == layer.E[0]).all() and (y[1, 1] == layer.E[2]).all()
    grad = layer.zeros_like()
    assert layer.backward(np.ones_like(y), cache, grad) is None
    assert grad.E[:, 0].tolist() == [2, 0, 1, 0, 0, 1]                  # every occurrence counts
    for bad, error in ((np.array([6]), ValueError), (np.array([-1]), ValueError), (np.array([0.5]), TypeError)):
        with pytest.raises(error):
            layer.forward(bad)


def test_maxout():
    x = np.array([[1.0, 3.0, -2.0, -5.0, 4.0, 4.0]])
    t, chosen = Maxout().forward(x)
    assert t.tolist() == [[3, -2, 4]]
    assert Maxout().backward(np.array([[10.0, 20.0, 30.0]]), chosen).tolist() == [[0, 10, 20, 0, 30, 0]]
    with pytest.raises(ValueError, match="maxout takes pairs, given 5 columns"):
        Maxout().forward(x[:, :5])


def test_deep_output(rng):
    layer = DeepOutput.create(rng, 5, 2, 4, 3, dtype=np.float64)
    layer.b[:] = rng.standard_normal(6)
    s, y, c = (rng.standard_normal((7, size)) for size in (5, 2, 4))
    t, _ = layer.forward(s, y, c)
    before = s @ layer.U_o + y @ layer.V_o + c @ layer.C_o + layer.b
    np.testing.assert_allclose(t, before.reshape(7, 3, 2).max(2))
    with pytest.raises(ValueError, match=r"Ey \(N, size\) has shape \(7, 4\), expected \(7, 2\)"):
        layer.forward(s, c, y)
