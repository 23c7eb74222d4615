"""Fixtures shared by the tests of cells."""

import numpy as np
import pytest

from numpy_attention.gradcheck import randomize
from numpy_attention.gradcheck.cases.case import ragged
from numpy_attention.trees import leaves, tree_map


@pytest.fixture
def follows(rng):
    """follows(cell, step): compare `forward` with step(x, state) → new state, step by step.

    The cell's parameters are random, and masked rows keep their state.
    """
    T, B = 5, 3

    def check(cell, step):
        randomize(cell, rng)
        xs = rng.standard_normal((T, B, len(cell.W)))
        mask = ragged(T, [5, 2, 4])
        state = first = tree_map(lambda zero: rng.standard_normal(zero.shape), cell.zero_state(B))
        ys, last, _ = cell.forward(xs, first, mask)
        for t in range(T):
            row = mask[t, :, None]
            state = tree_map(lambda new, old: np.where(row, new, old), step(xs[t], state), state)
            np.testing.assert_allclose(ys[t], leaves(state)[0], atol=1e-13)
        np.testing.assert_allclose(last, state, atol=1e-13)

    return check
