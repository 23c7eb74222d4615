"""Dropout: one mask for forward and backward, independent of batch, shares and padding."""

import numpy as np
import pytest

from numpy_attention.layers.dropout import Dropout, position_ids


def test_identity_without_a_generator_or_at_rate_zero(rng):
    x = rng.standard_normal((3, 4))
    before = rng.bit_generator.state
    for layer, generator in ((Dropout(0.5), None), (Dropout(0.0), rng)):
        y, cache = layer.forward(x, generator)
        back = layer.backward(x, cache)
        assert y is x and cache is None and back is not x and np.array_equal(back, x)
    assert rng.bit_generator.state == before


def test_scaling_and_backward_mask(rng):
    x = np.ones((40, 30), np.float32)
    y, cache = Dropout(0.25).forward(x, rng)
    assert y.dtype == np.float32 and set(np.unique(y)) == {np.float32(0), np.float32(1 / 0.75)}
    assert abs(y.mean() - 1) < 0.1
    assert (Dropout(0.25).backward(3 * x, cache) == 3 * y).all()
    assert (Dropout(0.25).forward(x, rng)[0] != y).any()        # a second call draws a new mask


def test_mask_depends_on_the_row_id(rng):
    x = np.ones((5, 3, 8))                                              # (T, B, D)
    rows = np.array([4, 9, 2])                                          # of a larger batch

    def apply(x, rows):
        row_ids = position_ids(len(x), rows)
        return Dropout(0.5).forward(x, np.random.default_rng(1), row_ids)[0]

    whole = apply(x, rows)
    assert (apply(x[:, 1:], rows[1:]) == whole[:, 1:]).all()            # a share
    assert (apply(x[:3], rows) == whole[:3]).all()                      # without padding
    assert (apply(x, rows[::-1]) == whole[:, ::-1]).all()               # another order
    assert (whole[:, 0] != whole[:, 1]).any() and (whole[0] != whole[1]).any()


def test_invalid_rates_raise():
    for rate in (-0.1, 1.0, 1.5, float("nan")):
        with pytest.raises(ValueError, match="fraction of values set to 0"):
            Dropout(rate)


def test_position_ids_of_small_integer_types():
    row_ids = position_ids(3, np.arange(2, dtype=np.uint8))
    assert row_ids.tolist() == [[0, 65536], [1, 65537], [2, 65538]]
