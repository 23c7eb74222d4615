"""Lesson 08: attention, one head and several compared with the library, with other numbers."""

import numpy as np
import pytest

from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.attention.scaled_dot import ScaledDotProductAttention
from numpy_attention.gradcheck import GradientError, randomize


@pytest.fixture
def rng():
    return np.random.default_rng(5)


def layer_of(rng, heads):
    """Return a MultiHeadAttention and its arrays."""
    layer = MultiHeadAttention.create(rng, 3, 5, 8, 4, heads=heads, dtype=np.float64)
    return layer, [array for _, array in randomize(layer, rng).named_parameters()]


def test_attention_matches_the_library(lesson, rng):
    q, k, v = (rng.standard_normal(shape) for shape in ((2, 3, 5, 4), (2, 3, 7, 4), (2, 3, 7, 6)))
    visible = np.ones((2, 3, 5, 7), bool)
    visible[0, 1, 2, 3:] = False
    Y, A, cache = lesson["attention"](q, k, v, visible)
    library = ScaledDotProductAttention()
    known_Y, known_A, known = library.forward(q, k, v, visible)
    np.testing.assert_allclose(Y, known_Y, atol=1e-12)
    np.testing.assert_allclose(A, known_A, atol=1e-12)
    ours = lesson["attention_backward"](Y, A**2, cache)
    for mine, theirs in zip(ours, library.backward(Y, A**2, known), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_bug_is_where_the_text_says(lesson):
    with pytest.raises(GradientError, match=r"wrong gradient for input\[0\], input\[1\]; right"):
        lesson["check"](lesson["undivided"])


@pytest.mark.parametrize("heads", [1, 2, 4])
def test_many_heads_match_the_library(lesson, rng, heads):
    layer, arrays = layer_of(rng, heads)
    X = rng.standard_normal((2, 3, 3))
    M = rng.standard_normal((2, 4, 5))
    visible = np.ones((2, 3, 4), bool)
    visible[0, 1, 2:] = False
    lesson["check_same"](lesson["PlainMultiHead"](*arrays, heads), layer, X, M, visible)
    other = lesson["PlainMultiHead"](*arrays, 8)
    with pytest.raises(AssertionError, match="result 0 differs"):
        lesson["check_same"](other, layer, X, M, visible)


def test_scrambled_layer_leaks(lesson):
    assert lesson["leak"](lesson["plain"]) == 0
    assert lesson["leak"](lesson["scrambled"]) > 0.1


def test_gradient_first_grows_then_vanishes(lesson):
    _, _, undivided = lesson["gradient_to_query"](16, False)
    E, _, divided = lesson["gradient_to_query"](16, True)
    assert E.var() == pytest.approx(1, abs=0.1)
    assert np.median(undivided) > 2 * np.median(divided)
    assert np.median(lesson["gradient_to_query"](1024, False)[2]) < 0.01
