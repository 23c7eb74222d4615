"""Local attention: positions of local-m, equations of local-p, nested windows, errors."""

import numpy as np
import pytest

from numpy_attention.attention.dot import DotAttention
from numpy_attention.attention.general import GeneralAttention
from numpy_attention.attention.local import LocalMonotonic, LocalPredictive
from numpy_attention.attention.multi_head import MultiHeadAttention

# t = 0, 1, 3, 5, 9 in sentences of 6 and 4 positions
CENTRES = {
    False: [[0, 0], [1, 1], [3, 3], [5, 3], [5, 3]],
    True: [[4, 2], [3, 1], [1, 3], [5, 3], [5, 3]],             # </s> stays last
}
MASK = np.arange(6) < np.array([[6], [4]])


@pytest.mark.parametrize("backwards", CENTRES)
def test_local_m_moves_forward_or_backward(rng, backwards):
    attention = LocalMonotonic(DotAttention(), 1, backwards)
    memory = attention.read(rng.standard_normal((2, 6, 3)), MASK)
    query = rng.standard_normal((2, 3))
    for t, centres in zip((0, 1, 3, 5, 9), CENTRES[backwards]):
        _, weights, _ = attention.step(query, memory, t)
        near = (np.abs(np.arange(6) - np.array(centres)[:, None]) <= 1) & MASK
        assert ((weights > 0) == near).all()
        np.testing.assert_allclose(weights.sum(1), 1)


def test_local_p_equations(rng):
    inner = GeneralAttention.create(rng, 3, 4, dtype=np.float64)
    attention = LocalPredictive.create(rng, inner, 3, 5, width=2, dtype=np.float64)
    values = rng.standard_normal((2, 6, 4))
    query = rng.standard_normal((2, 3))
    context, weights, _ = attention.step(query, attention.read(values, MASK), 0)
    for b, S in enumerate((6, 4)):
        p = S / (1 + np.exp(-attention.v_p @ np.tanh(query[b] @ attention.W_p)))
        s = np.array([s for s in range(S) if abs(s - p) <= 2])
        e = np.exp(values[b, s] @ (query[b] @ inner.W_a))
        alpha = np.zeros(6)
        alpha[s] = e / e.sum() * np.exp(-(s - p) ** 2 / 2)                  # σ = width / 2 = 1
        np.testing.assert_allclose(weights[b], alpha, atol=1e-14)
        np.testing.assert_allclose(context[b], alpha @ values[b], atol=1e-14)


class RecordsStep(DotAttention):
    """Record the step number t of the last call."""

    def step(self, query, memory, t):
        self.last_t = t
        return super().step(query, memory, t)


def test_wrapped_attention_receives_the_step_number(rng):
    for window in (LocalMonotonic, LocalPredictive):
        inner = RecordsStep()
        sizes = {} if window is LocalMonotonic else {"query_size": 3, "dtype": np.float64}
        attention = window.create(rng, inner, **sizes)
        memory = attention.read(rng.standard_normal((2, 6, 3)), MASK)
        attention.step(rng.standard_normal((2, 3)), memory, 4)
        assert inner.last_t == 4


def test_nested_windows_intersect(rng):
    wide = LocalMonotonic(DotAttention(), 2)
    nested = LocalMonotonic(wide, 1)
    values = rng.standard_normal((2, 6, 3))
    query = rng.standard_normal((2, 3))
    narrow = LocalMonotonic(DotAttention(), 1)
    wanted = narrow.step(query, narrow.read(values, MASK), 3)[1]
    weights = nested.step(query, nested.read(values, MASK), 3)[1]
    np.testing.assert_allclose(weights, wanted, atol=1e-14)


def test_invalid_arguments(rng):
    for width in (0, -1, 1.5):
        message = f"width = {width}; expected an integer of at least 1"
        with pytest.raises(ValueError, match=message):
            LocalMonotonic(DotAttention(), width)
        with pytest.raises(ValueError, match=message):
            LocalPredictive.create(rng, DotAttention(), 3, width=width)
    with pytest.raises(ValueError, match="cannot wrap multi-head attention, .*; wrap an"):
        LocalPredictive.create(rng, MultiHeadAttention.create(rng, 4, 4), 4)
