"""Additive attention: reference implementation, extreme scores, missing positions, errors."""

import laws
import numpy as np
import pytest

from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.gradcheck import protocol, randomize

Q, D, A, B, S, T = 3, 4, 5, 2, 6, 3
MASK = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 0, 1, 0, 0]], bool)


def additive(rng):
    return randomize(AdditiveAttention.create(rng, Q, D, A, dtype=np.float64), rng)


class Reference:
    """Reference implementation with whole arrays, one target word at a time."""

    def __init__(self, attention):
        self.W_a = attention.W_a
        self.U_a = attention.U_a
        self.v_a = attention.v_a

    def forward(self, query, values, mask):
        hidden = np.tanh((query @ self.W_a)[:, None] + values @ self.U_a)       # (B, S, A)
        e = np.exp(hidden @ self.v_a) * mask                                    # (B, S)
        weights = e / e.sum(1, keepdims=True)                                   # (B, S)
        return (weights[:, :, None] * values).sum(1), weights, hidden

    def backward(self, dcontext, dweights, query, values, weights, hidden):
        # c = Σ α_j h_j
        dweights = dweights + (values * dcontext[:, None]).sum(2)               # (B, S)
        dvalues = weights[:, :, None] * dcontext[:, None]                       # (B, S, D)
        # α = softmax(e)
        de = weights * (dweights - (weights * dweights).sum(1, keepdims=True))  # (B, S)
        # e_j = v_a · tanh(a_j)
        dv_a = (de[:, :, None] * hidden).sum((0, 1))                            # (A,)
        da = de[:, :, None] * self.v_a * (1 - hidden**2)                        # (B, S, A)
        # a_j = W_a q + U_a h_j
        dW_a = query.T @ da.sum(1)                                              # (Q, A)
        dU_a = np.einsum("bsd,bsa->da", values, da)                             # (D, A)
        return da.sum(1) @ self.W_a.T, dvalues + da @ self.U_a.T, dW_a, dU_a, dv_a


def test_matches_reference_implementation(rng):
    attention = additive(rng)
    reference = Reference(attention)
    queries = rng.standard_normal((T, B, Q))
    values = rng.standard_normal((B, S, D))
    dcontexts = rng.standard_normal((T, B, D))
    dweights = rng.standard_normal((T, B, S))
    forward, backward = protocol(attention, MASK)
    contexts, weights, cache = forward(queries, values)
    grads = attention.zeros_like()
    dqueries, dvalues = backward(dcontexts, dweights, cache, grads)
    total = [0, 0, 0, 0]
    for t in range(T):
        context, reference_weights, hidden = reference.forward(queries[t], values, MASK)
        np.testing.assert_allclose(contexts[t], context, atol=1e-14)
        np.testing.assert_allclose(weights[t], reference_weights, atol=1e-14)
        dquery, *rest = reference.backward(dcontexts[t], dweights[t], queries[t], values,
                                           reference_weights, hidden)
        np.testing.assert_allclose(dqueries[t], dquery, atol=1e-13)
        total = [a + b for a, b in zip(total, rest)]
    for given, wanted in zip((dvalues, grads.W_a, grads.U_a, grads.v_a), total):
        np.testing.assert_allclose(given, wanted, atol=1e-13)


@pytest.mark.parametrize("positions", [1, 500])
def test_huge_scores_in_float32_agree_with_float64(rng, positions):
    attention = additive(rng)
    attention.v_a *= 1e4 / np.abs(attention.v_a).sum()                  # scores up to ±1e4
    queries = rng.standard_normal((T, B, Q))
    values = rng.standard_normal((B, positions, D))
    mask = np.ones((B, positions), bool)
    results = []
    for dtype in (np.float64, np.float32):
        model = attention.astype(dtype)
        forward, backward = protocol(model, mask)
        contexts, weights, cache = forward(queries.astype(dtype), values.astype(dtype))
        grads = model.zeros_like()
        back = backward(laws.upstream_of(contexts), laws.upstream_of(weights), cache, grads)
        results.append([contexts, weights, *back, grads.vector])
    assert np.abs(results[0][1].sum(2) - 1).max() < 1e-12
    laws.assert_close(results[1], results[0], 2e-2)             # scores of 1e4 are rounded to 1e-3


def test_fully_masked_input_gives_zero_output_and_gradient(rng):
    attention = additive(rng)
    forward, backward = protocol(attention, np.zeros((B, S), bool))
    queries = rng.standard_normal((T, B, Q))
    values = rng.standard_normal((B, S, D))
    contexts, weights, cache = forward(queries, values)
    grads = attention.zeros_like()
    gradients = backward(np.ones((T, B, D)), np.ones((T, B, S)), cache, grads)
    for array in (contexts, weights, grads.vector, *gradients):
        assert not array.any()


def test_nan_propagates(rng):
    attention = additive(rng)
    values = rng.standard_normal((B, S, D))
    values[0, 3, 1] = np.nan
    memory = attention.read(values, np.ones((B, S), bool))
    context, weights, _ = attention.step(rng.standard_normal((B, Q)), memory, 0)
    assert np.isnan(weights[0]).all()
    assert np.isnan(context[0]).any()
    assert np.isfinite(context[1]).all()


def test_take_selects_rows_of_the_memory(rng):
    attention = AdditiveAttention.create(rng, Q, D, A, dtype=np.float64)
    query = rng.standard_normal((B, Q))
    memory = attention.read(rng.standard_normal((B, S, D)), MASK)
    rows = np.array([1, 1, 0])
    context, weights, _ = attention.step(query[rows], memory.take(rows), 0)
    whole_context, whole_weights, _ = attention.step(query, memory, 0)
    np.testing.assert_allclose(context, whole_context[rows], atol=1e-14)
    np.testing.assert_allclose(weights, whole_weights[rows], atol=1e-14)


def test_invalid_arguments(rng):
    attention = AdditiveAttention.create(rng, Q, D, A)
    values = np.zeros((B, S, D), np.float32)
    for args, error, message in (((values[:, :, :2], MASK), ValueError, "Pass B sequences"),
                                 ((values, MASK.T), ValueError, "mask"),
                                 ((values, MASK * 1.0), TypeError, "boolean")):
        with pytest.raises(error, match=message):
            attention.read(*args)
