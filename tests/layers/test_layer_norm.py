"""LayerNorm: mean, deviation, gain and bias. Gradients and laws: tests/test_checks.py."""

import numpy as np

from numpy_attention.layers.layer_norm import LayerNorm


def test_rows_are_normalized_then_scaled_and_shifted(rng):
    x = 3 * rng.standard_normal((4, 5, 64)) + 7
    layer = LayerNorm.create(64, np.float64)
    normal, _ = layer.forward(x)
    np.testing.assert_allclose(normal.mean(-1), 0, atol=1e-12)
    np.testing.assert_allclose(normal.std(-1), 1, atol=1e-5)        # slightly less, since ε = 1e-5
    layer.g[:] = rng.standard_normal(64)
    layer.b[:] = rng.standard_normal(64)
    np.testing.assert_allclose(layer.forward(x)[0], layer.g * normal + layer.b)


def test_constant_row_becomes_the_bias():
    layer = LayerNorm.create(3, np.float64)
    layer.b[:] = 5, 6, 7
    assert layer.forward(np.full((2, 3), 4.0))[0].tolist() == [[5, 6, 7]] * 2
