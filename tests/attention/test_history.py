"""The causal mask of attention over a history. The scores have their own test files."""

import histories
import numpy as np
import pytest

from numpy_attention.attention.combined import Combined
from numpy_attention.attention.history import causal


def visible(mask, steps, window=None):
    return causal(np.array(mask, bool), steps, window).astype(int).transpose(1, 0, 2).tolist()


def test_causal_examples():
    assert visible([[1, 1, 1]], 3) == [[[0, 0, 0], [1, 0, 0], [1, 1, 0]]]
    assert visible([[1, 1, 1, 1]], 4, window=2) == [
        [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0]]]
    assert visible([[1, 1, 0]], 3, window=1) == [[[0, 0, 0], [1, 0, 0], [0, 1, 0]]]
    # two positions of memory before two steps; in the first row one is unknown, in the second both
    # are, so that only its first step is visible
    assert visible([[0, 1, 1, 1], [0, 0, 1, 1]], 2) == [
        [[0, 1, 0, 0], [0, 1, 1, 0]], [[0, 0, 0, 0], [0, 0, 1, 0]]]
    assert visible([[1, 1, 1, 1]], 2, window=1) == [[[0, 1, 0, 0], [0, 0, 1, 0]]]
    assert visible([[1]], 1) == [[[0]]]
    assert causal(np.ones((2, 4), bool), 3).dtype == bool


@pytest.mark.parametrize("window", [None, 1, 3])
def test_causal_against_reference(rng, window):
    known = rng.integers(0, 2, (3, 7)).astype(bool)
    wanted = histories.reference_visible(known, 5, window)
    np.testing.assert_array_equal(causal(known, 5, window), wanted)


@pytest.mark.parametrize("returns, message", [
    (lambda both: None, r"^score_backward\(\) returns None; expected the tuple \(dqueries, "),
    (lambda both: both[0], r"^score_backward\(\) returns a float64 array .*; expected the tup"),
    (lambda both: (both[0][1:], both[1]), r"^dqueries \(T, B, Q\) has shape \(4, 3, 2\)"),
])
def test_gradients_of_a_score_that_are_not_what_they_should_be(rng, returns, message):
    class Wrong(Combined):
        def score_backward(self, *given):
            return returns(super().score_backward(*given))

    score = Wrong.create(rng, 2, 4, 3, dtype=np.float64)
    queries, keys = rng.standard_normal((5, 3, 2)), rng.standard_normal((3, 5, 4))
    contexts, _, cache = score.forward(queries, keys, keys, causal(np.ones((3, 5), bool), 5))
    with pytest.raises((TypeError, ValueError), match=message):
        score.backward(contexts, None, cache, score.zeros_like())
