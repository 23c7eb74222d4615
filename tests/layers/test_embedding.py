"""Embedding: rows by id; repeated ids add up. Gradients and laws: tests/test_checks.py."""

import numpy as np
import pytest

from numpy_attention.layers.embedding import Embedding


def test_lookup_and_gradient(rng):
    layer = Embedding.create(rng, 6, 3, dtype=np.float64)
    ids = np.array([[5, 0], [0, 2]])
    y, cache = layer.forward(ids)
    assert y.shape == (2, 2, 3)
    assert (y[0, 1] == layer.E[0]).all() and (y[1, 1] == layer.E[2]).all()
    grads = layer.zeros_like()
    assert layer.backward(np.ones_like(y), cache, grads) is None
    assert grads.E[:, 0].tolist() == [2, 0, 1, 0, 0, 1]


@pytest.mark.parametrize("ids, error", [
    (np.array([6]), ValueError),
    (np.array([-1]), ValueError),
    (np.array([0.5]), TypeError),
])
def test_invalid_ids_raise(rng, ids, error):
    with pytest.raises(error):
        Embedding.create(rng, 6, 3).forward(ids)
