"""Linear against its formula. Gradients and laws: tests/test_checks.py."""

import numpy as np

from numpy_attention.layers.linear import Linear


def test_linear(rng):
    W = rng.standard_normal((4, 3))
    b = rng.standard_normal(3)
    x = rng.standard_normal((2, 5, 4))
    y, _ = Linear(W, b).forward(x)
    np.testing.assert_allclose(y, np.einsum("tbi,io->tbo", x, W) + b)
    np.testing.assert_allclose(Linear(W, None).forward(x)[0], y - b)
