"""What a step may see of its history; the scores have test files of their own."""

import histories
import numpy as np
import pytest

from numpy_attention.attention.history import causal


def seen(mask, steps, window=None):
    return causal(np.array(mask, bool), steps, window).astype(int).transpose(1, 0, 2).tolist()


def test_causal_by_hand():
    assert seen([[1, 1, 1]], 3) == [[[0, 0, 0], [1, 0, 0], [1, 1, 0]]]
    assert seen([[1, 1, 1, 1]], 4, window=2) == [
        [[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0]]]
    assert seen([[1, 1, 0]], 3, window=1) == [[[0, 0, 0], [1, 0, 0], [0, 1, 0]]]
    # two positions of memory, one of them unknown, before two steps; the second row has nothing but
    # its own first step
    assert seen([[0, 1, 1, 1], [0, 0, 1, 1]], 2) == [
        [[0, 1, 0, 0], [0, 1, 1, 0]], [[0, 0, 0, 0], [0, 0, 1, 0]]]
    assert seen([[1, 1, 1, 1]], 2, window=1) == [[[0, 1, 0, 0], [0, 0, 1, 0]]]
    assert seen([[1]], 1) == [[[0]]]
    assert causal(np.ones((2, 4), bool), 3).dtype == bool


@pytest.mark.parametrize("window", [None, 1, 3])
def test_causal_asked_of_every_position(rng, window):
    known = rng.integers(0, 2, (3, 7)).astype(bool)
    wanted = histories.plain_visible(known, 5, window)
    np.testing.assert_array_equal(causal(known, 5, window), wanted)
