"""Lesson 07: its scores, windows and decoder compared with the library, with other numbers."""

import numpy as np
import pytest

from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.attention.dot import DotAttention
from numpy_attention.attention.general import GeneralAttention
from numpy_attention.attention.local import LocalMonotonic, LocalPredictive
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
        lesson["check"](lesson["concat"], lesson["averaged"], s, M, *weights)


@pytest.mark.parametrize("D", [1, 3])
def test_monotonic_window_matches_the_library(lesson, D):
    s, M = random_arrays((4,), (7, 4))
    library = LocalMonotonic(DotAttention(), width=D)
    memory = library.read(M[None], np.ones((1, 7), bool))
    for t in range(9):
        _, weights, _ = library.step(s[None], memory, t)
        np.testing.assert_allclose(lesson["local_m"](M @ s, t, D), weights[0], atol=1e-12)


def test_predicted_window_matches_the_library(lesson):
    s, M, W_p, v_p = random_arrays((4,), (7, 4), (4, 3), (3,))
    library = LocalPredictive(DotAttention(), W_p, v_p, width=2)
    compared = lesson["local_p"], lesson["local_p_backward"], s, M, W_p, v_p
    lesson["check_same_look"](library, *compared)
    with pytest.raises(AssertionError, match="result 0 differs"):
        lesson["check_same_look"](LocalPredictive(DotAttention(), W_p, v_p, width=3), *compared)


def test_decoder_matches_the_library(lesson):
    lesson["check_same_decoder"](lesson["PlainDecoder"], np.random.default_rng(7))
