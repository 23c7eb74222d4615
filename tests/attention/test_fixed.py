"""The fixed vector: all weight on each sentence's last token."""

import numpy as np

from numpy_attention.attention.fixed import FixedVector


def test_the_last_token_and_nothing_else(rng):
    values = rng.standard_normal((4, 5, 2))
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [1, 0, 0, 1, 0]], bool)
    context, weights, _ = FixedVector().step(None, FixedVector().read(values, mask))
    assert weights.tolist() == [[0, 0, 0, 0, 1], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 0]]
    assert (context == [values[0, 4], values[1, 1], [0, 0], values[3, 3]]).all()
