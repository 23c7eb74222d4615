"""The passes over flat vectors that the trainer makes: sums of gradients, the norm in float64."""

import math

import numpy as np

from numpy_attention.kernels.updates import BLOCK, gather, sgd, squared_norm


def test_the_norm_is_accumulated_in_float64():
    """Adding 1 to a float32 sum of 2^24 does not change it: half of this vector would be lost."""
    g = np.ones(2**25, np.float32)
    g[0] = 4096.0
    assert squared_norm(g) == 2**25 - 1 + 2**24
    tiny = np.full(1000, 1e-25, np.float32)                             # not even a subnormal
    assert math.isclose(squared_norm(tiny), 1e-47, rel_tol=1e-6)
    huge = np.full(10, 1e25, np.float32)                                # no overflow either
    assert math.isclose(squared_norm(huge), 1e51, rel_tol=1e-6)


def test_not_finite_shows():
    for bad in (np.nan, np.inf):
        assert not math.isfinite(squared_norm(np.array([1, bad, 2], np.float32)))


def test_gradients_are_added_and_cleared_whichever_of_their_numbers_are_0(rng):
    total, other, w = rng.standard_normal((3, 3 * BLOCK + 10))
    other[0] = 0
    other[BLOCK:-1] = 0
    expected = total + other, w - 0.5 * other
    sgd(w, other.copy(), 0.5)
    gather(total, other)
    assert np.array_equal(expected, (total, w)) and not other.any()
