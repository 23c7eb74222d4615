"""Lesson 15: its windows and decoder compared with the library, with other numbers."""

import numpy as np
import pytest

from numpy_attention.attention.dot import DotAttention
from numpy_attention.attention.local import LocalMonotonic, LocalPredictive

SHAPES = (4,), (7, 4), (4, 3), (3,)
s, M, W_p, v_p = map(np.random.default_rng(6).standard_normal, SHAPES)


@pytest.mark.parametrize("D", [1, 3])
def test_monotonic_window_matches_the_library(lesson, D):
    library = LocalMonotonic(DotAttention(), width=D)
    memory = library.read(M[None], np.ones((1, 7), bool))
    for t in range(9):
        _, weights, _ = library.step(s[None], memory, t)
        np.testing.assert_allclose(lesson["local_m"](M @ s, t, D), weights[0], atol=1e-12)


def test_predicted_window_matches_the_library(lesson):
    compared = lesson["local_p"], lesson["local_p_backward"], s, M, W_p, v_p
    lesson["check_same_look"](LocalPredictive(DotAttention(), W_p, v_p, width=2), *compared)
    with pytest.raises(AssertionError, match="result 0 differs"):
        lesson["check_same_look"](LocalPredictive(DotAttention(), W_p, v_p, width=3), *compared)


def test_decoder_matches_the_library(lesson):
    lesson["check_same_decoder"](lesson["PlainDecoder"], np.random.default_rng(7))
