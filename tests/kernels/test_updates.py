"""Operations on flat vectors in training: sums of gradients, the norm in float64."""

import math

import numpy as np

from numpy_attention.kernels.updates import BLOCK, gather, sgd, squared_norm


def test_norm_is_accumulated_in_float64():
    """In float32, adding 1 to 2^24 has no effect: half of this vector would be lost."""
    g = np.ones(2**25, np.float32)
    g[0] = 4096.0
    assert squared_norm(g) == 2**25 - 1 + 2**24
    tiny = np.full(1000, 1e-25, np.float32)                             # its square underflows
    assert math.isclose(squared_norm(tiny), 1e-47, rel_tol=1e-6)
    huge = np.full(10, 1e25, np.float32)                                # its square overflows
    assert math.isclose(squared_norm(huge), 1e51, rel_tol=1e-6)


def test_norm_of_nonfinite_values_is_nonfinite():
    for bad in (np.nan, np.inf):
        assert not math.isfinite(squared_norm(np.array([1, bad, 2], np.float32)))


def test_gradients_are_added_and_cleared_where_some_are_zero(rng):
    total, other, w = rng.standard_normal((3, 3 * BLOCK + 10))
    other[0] = 0
    other[BLOCK:-1] = 0
    expected = total + other, w - 0.5 * other
    sgd(w, other.copy(), 0.5)
    gather(total, other)
    assert np.array_equal(expected, (total, w)) and not other.any()
