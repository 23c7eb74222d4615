"""Linear against its formula, and what it refuses. Gradients and laws: tests/test_checks.py."""

import numpy as np
import pytest

from numpy_attention.layers.linear import Linear


def test_linear(rng):
    W = rng.standard_normal((4, 3))
    b = rng.standard_normal(3)
    x = rng.standard_normal((2, 5, 4))
    y, _ = Linear(W, b).forward(x)
    np.testing.assert_allclose(y, np.einsum("tbi,io->tbo", x, W) + b)
    np.testing.assert_allclose(Linear(W, None).forward(x)[0], y - b)
    message = r"x \(…, I\) has shape \(2, 5, 3\), expected \(2, 5, 4\)"
    with pytest.raises(ValueError, match=message):
        Linear(W, b).forward(x[..., :3])
