"""The passes over the flat vectors that the trainer makes: sums of twins, and the norm in float64."""

import math

import numpy as np

from numpy_attention.kernels.updates import gather, squared_norm


def test_the_norm_is_accumulated_in_float64():
    """Once a float32 sum has reached 2^24, adding 1 no longer changes it: half of this vector would be lost."""
    g = np.ones(2**25, np.float32)
    g[0] = 4096.0
    assert squared_norm(g) == 2**25 - 1 + 2**24
    assert math.isclose(squared_norm(np.full(1000, 1e-25, np.float32)), 1e-47, rel_tol=1e-6)     # not even a subnormal
    assert math.isclose(squared_norm(np.full(10, 1e25, np.float32)), 1e51, rel_tol=1e-6)         # no overflow either


def test_not_finite_shows():
    for bad in (np.nan, np.inf):
        assert not math.isfinite(squared_norm(np.array([1, bad, 2], np.float32)))


def test_twins_are_added_and_cleared(rng):
    total, other = rng.standard_normal(50), rng.standard_normal(50)
    expected = total + other
    gather(total, other)
    assert np.array_equal(total, expected) and not other.any()
