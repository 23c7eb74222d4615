"""Dot attention, unscaled and scaled: equations and argument errors."""

import equations
import numpy as np
import pytest

from numpy_attention.attention.dot import DotAttention, ScaledDotAttention

D = 4


def test_dot_equations(rng):
    equations.check_equations(DotAttention(), lambda q, h: h @ q, rng, D, D)


def test_scaled_dot_equations(rng):
    equations.check_equations(ScaledDotAttention(), lambda q, h: h @ q / np.sqrt(D), rng, D, D)


def test_scaled_dot_projects_queries_of_a_different_size(rng):
    Q = 3
    attention = ScaledDotAttention.create(rng, Q, D, dtype=np.float64)
    W_a = attention.W_a
    assert W_a.shape == (Q, D) and W_a.dtype == np.float64
    equations.check_equations(attention, lambda q, h: h @ (W_a.T @ q) / np.sqrt(D), rng, Q, D)
    given = ScaledDotAttention.create(rng, Q, D, init=lambda rng, shape, dtype: np.ones(shape))
    assert (given.W_a == 1).all()


def test_scaled_dot_has_no_weights_when_sizes_are_equal():
    rng = np.random.default_rng(0)
    assert ScaledDotAttention.create(rng, D, D).W_a is None
    assert rng.random() == np.random.default_rng(0).random()


def test_dot_raises_for_different_sizes():
    with pytest.raises(ValueError, match="query_size .3. must equal value_size .4. in dot"):
        DotAttention.create(None, 3, 4)
