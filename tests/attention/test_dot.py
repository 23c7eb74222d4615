"""Dot attention, plain and scaled: its equations taken literally, and what it refuses."""

import equations
import numpy as np
import pytest

from numpy_attention.attention.dot import DotAttention, ScaledDotAttention

D = 4


def test_dot_by_the_equations(rng):
    equations.follows(DotAttention(), lambda q, h: h @ q, rng, D, D)


def test_scaled_dot_by_the_equations(rng):
    equations.follows(ScaledDotAttention(), lambda q, h: h @ q / np.sqrt(D), rng, D, D)


@pytest.mark.parametrize("kind", [DotAttention, ScaledDotAttention])
def test_queries_of_another_size_than_the_values_are_refused(kind):
    with pytest.raises(ValueError, match="query_size = 3, value_size = 4: dot needs queries of"):
        kind.create(None, 3, 4)
    attention = kind.create(None, 4, 4)
    memory = attention.read(np.zeros((2, 5, 4)), np.ones((2, 5), bool))
    with pytest.raises(ValueError, match=r"shape \(2, 3\), expected \(2, 4\): dot needs queries"):
        attention.step(np.zeros((2, 3)), memory, 0)
