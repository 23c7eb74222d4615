"""Perplexity of an evaluation: what it is, and what it refuses."""

import math

import pytest

from numpy_attention.training.evaluation import Evaluation


def test_perplexity_is_exp_of_the_mean_loss():
    assert Evaluation(10 * math.log(7), 10).perplexity == pytest.approx(7)
    assert Evaluation(0.0, 3).perplexity == 1
    assert Evaluation(1e6, 1).perplexity == math.inf


@pytest.mark.parametrize("loss, tokens, message", [
    (1.0, 0, "positive number"), (1.0, -2, "positive number"), (1.0, math.nan, "positive number"),
    (math.nan, 3, "finite loss"), (math.inf, 3, "finite loss"),
])
def test_perplexity_refuses(loss, tokens, message):
    with pytest.raises(ValueError if message == "positive number" else ArithmeticError, match=message):
        Evaluation(loss, tokens).perplexity
