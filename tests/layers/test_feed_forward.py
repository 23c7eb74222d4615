"""The feed-forward network, equation 2 of its paper. Gradients and laws: tests/test_checks.py."""

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.layers.feed_forward import FeedForward


def test_feed_forward(rng):
    layer = randomize(FeedForward.create(rng, 4, 7, dtype=np.float64), rng)
    x = rng.standard_normal((2, 5, 4))
    hidden = np.maximum(0, x @ layer.inner.W + layer.inner.b)
    assert (hidden == 0).any() and (hidden > 0).any()
    y, _ = layer.forward(x)
    np.testing.assert_allclose(y, hidden @ layer.outer.W + layer.outer.b)
