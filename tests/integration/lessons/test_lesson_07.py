"""Lesson 07: its scores compared with the library, with other numbers."""

import numpy as np
import pytest

from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.attention.dot import DotAttention
from numpy_attention.attention.general import GeneralAttention
from numpy_attention.attention.location import LocationAttention
from numpy_attention.gradcheck import GradientError

SHAPES = {
    "dot": (DotAttention, []),
    "general": (GeneralAttention, [(4, 4)]),
    "concat": (AdditiveAttention, [(4, 2), (4, 2), (2,)]),
    "location": (LocationAttention, [(4, 9)]),
}


def random_arrays(*shapes):
    rng = np.random.default_rng(6)
    return [rng.standard_normal(shape) for shape in shapes]


@pytest.mark.parametrize("name", SHAPES)
def test_scores_match_the_library(lesson, name):
    kind, shapes = SHAPES[name]
    s, M, *weights = random_arrays((4,), (7, 4), *shapes)
    lesson["check_same"](kind(*weights), lesson[name], lesson[f"{name}_backward"], s, M, *weights)


def test_different_score_is_reported(lesson):
    s, M, W_a = random_arrays((4,), (7, 4), (4, 4))
    with pytest.raises(AssertionError, match="result 0 differs"):
        lesson["check_same"](GeneralAttention(W_a), lesson["general"],
                             lesson["general_backward"], s, M, W_a + 0.1)
    with pytest.raises(AssertionError, match="result 2 differs"):
        lesson["check_same"](GeneralAttention(W_a), lesson["general"],
                             lambda de, cache: (s, M, W_a), s, M, W_a)


def test_bug_is_where_the_text_says(lesson):
    s, M, *weights = random_arrays((4,), (7, 4), (4, 2), (4, 2), (2,))
    with pytest.raises(GradientError, match=r"wrong gradient for input\[0\], input\[2\]; right"):
        lesson["check"](lesson["concat"], lesson["suspect"], s, M, *weights)
