"""Positional encoding: a small example, and a shift of positions is a rotation."""

import numpy as np
import pytest

from numpy_attention.layers.positional import positional_encoding


def test_values():
    table = positional_encoding(3, 4, np.float64)
    assert table[0].tolist() == [0, 1, 0, 1]
    np.testing.assert_allclose(table[2], [np.sin(2), np.cos(2), np.sin(0.02), np.cos(0.02)])
    assert positional_encoding(3, 4).dtype == np.float32
    with pytest.raises(ValueError, match=r"size \(5\) must be even"):
        positional_encoding(3, 5)


def test_shift_is_the_same_rotation_at_every_position():
    near = positional_encoding(20, 6, np.float64)
    far = positional_encoding(20, 6, np.float64, start=9)
    rotation = np.linalg.lstsq(near, far, rcond=None)[0]
    np.testing.assert_allclose(near @ rotation, far, atol=1e-12)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(6), atol=1e-11)
    np.testing.assert_array_equal(far[:4], positional_encoding(13, 6, np.float64)[9:])
