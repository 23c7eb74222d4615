"""Lesson 15: its window and decoder compared with the library, with other numbers."""

import numpy as np
import pytest

from numpy_attention.attention.dot import DotAttention
from numpy_attention.attention.local import LocalPredictive

SHAPES = (4,), (7, 4), (4, 3), (3,)
s, M, W_p, v_p = map(np.random.default_rng(6).standard_normal, SHAPES)


def test_predicted_window_matches_the_library(lesson):
    compared = lesson["local_p"], lesson["local_p_backward"], s, M, W_p, v_p
    lesson["check_same_look"](LocalPredictive(DotAttention(), W_p, v_p, width=2), *compared)
    with pytest.raises(AssertionError, match="result 0 differs"):
        lesson["check_same_look"](LocalPredictive(DotAttention(), W_p, v_p, width=3), *compared)


def test_decoder_matches_the_library(lesson):
    lesson["check_same_decoder"](lesson["PlainDecoder"], np.random.default_rng(7))
