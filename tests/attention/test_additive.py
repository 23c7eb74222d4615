"""Additive attention: the plain form of its equations, padding, extremes. Gradients and laws: tests/test_checks.py."""

import laws
import numpy as np
import pytest

from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.checks import CASES
from numpy_attention.gradcheck import protocol, randomize

Q, D, A, B, S, T = 3, 4, 5, 2, 6, 3
MASK = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 0, 1, 0, 0]], bool)


class Plain:
    """The equations with whole arrays, every gradient taken at once, one target word at a time."""

    def __init__(self, attention):
        self.W_a, self.U_a, self.v_a = attention.W_a, attention.U_a, attention.v_a

    def forward(self, query, values, mask):
        hidden = np.tanh((query @ self.W_a)[:, None] + values @ self.U_a)              # (B, S, A)
        e = np.exp(hidden @ self.v_a) * mask
        weights = e / e.sum(1, keepdims=True)                                          # (B, S)
        return (weights[:, :, None] * values).sum(1), weights, hidden

    def backward(self, dcontext, dweights, query, values, weights, hidden):
        # c = Σ α_j h_j
        dweights = dweights + (values * dcontext[:, None]).sum(2)
        dvalues = weights[:, :, None] * dcontext[:, None]
        # α = softmax(e)
        de = weights * (dweights - (weights * dweights).sum(1, keepdims=True))
        # e_j = v_a · tanh(a_j)
        dv_a = (de[:, :, None] * hidden).sum((0, 1))
        da = de[:, :, None] * self.v_a * (1 - hidden**2)
        # a_j = W_a q + U_a h_j
        dW_a, dU_a = query.T @ da.sum(1), np.einsum("bsd,bsa->da", values, da)
        return da.sum(1) @ self.W_a.T, dvalues + da @ self.U_a.T, dW_a, dU_a, dv_a


def test_the_plain_form_gives_the_same(rng):
    attention = randomize(AdditiveAttention.create(rng, Q, D, A, dtype=np.float64), rng)
    queries, values = rng.standard_normal((T, B, Q)), rng.standard_normal((B, S, D))
    dcontexts, dweights = rng.standard_normal((T, B, D)), rng.standard_normal((T, B, S))
    forward, backward = protocol(attention, MASK)
    contexts, weights, cache = forward(queries, values)
    grad, plain = attention.zeros_like(), Plain(attention)
    dqueries, dvalues = backward(dcontexts, dweights, cache, grad)
    total = [0, 0, 0, 0]
    for t in range(T):
        context, plain_weights, hidden = plain.forward(queries[t], values, MASK)
        np.testing.assert_allclose(contexts[t], context, atol=1e-14)
        np.testing.assert_allclose(weights[t], plain_weights, atol=1e-14)
        dquery, *rest = plain.backward(dcontexts[t], dweights[t], queries[t], values, plain_weights, hidden)
        np.testing.assert_allclose(dqueries[t], dquery, atol=1e-13)
        total = [a + b for a, b in zip(total, rest)]
    for given, wanted in zip((dvalues, grad.W_a, grad.U_a, grad.v_a), total):
        np.testing.assert_allclose(given, wanted, atol=1e-13)


@pytest.mark.parametrize("name", ["AdditiveAttention", "FixedVector"])
def test_padding_changes_nothing(rng, name):
    case = CASES[name](rng, np.float64)
    queries, values = case.inputs
    mask, more = np.concatenate([MASK, np.ones((1, S), bool)]), 4

    def run(values, mask, dweights):
        forward, backward = protocol(case.target, mask)
        contexts, weights, cache = forward(queries, values)
        grad = case.target.zeros_like()
        dcontexts = laws.upstream_of(contexts)
        return [contexts, weights, *backward(dcontexts, dweights, cache, grad), grad.vector]

    dweights = rng.standard_normal((len(queries), 3, S))
    short = run(values, mask, dweights)
    garbage = 100 * rng.standard_normal((3, more, values.shape[2]))
    long = run(np.concatenate([values, garbage], 1), np.concatenate([mask, np.zeros((3, more), bool)], 1),
               np.concatenate([dweights, rng.standard_normal((len(queries), 3, more))], 2))
    assert not long[1][:, :, S:].any() and not long[3][:, S:].any()     # nothing goes to padding, nothing comes from it
    laws.padding_changes_nothing(short, long, lambda r: [r[0], r[1][:, :, :S], r[2], r[3][:, :S], r[4]])


@pytest.mark.parametrize("positions", [1, 500])
def test_huge_scores_in_float32_are_what_float64_gives(rng, positions):
    attention = randomize(AdditiveAttention.create(rng, Q, D, A, dtype=np.float64), rng)
    attention.v_a *= 1e4 / np.abs(attention.v_a).sum()                  # scores up to ±1e4
    queries, values = rng.standard_normal((T, B, Q)), rng.standard_normal((B, positions, D))
    mask, results = np.ones((B, positions), bool), []
    for dtype in (np.float64, np.float32):
        model = attention.astype(dtype)
        forward, backward = protocol(model, mask)
        contexts, weights, cache = forward(queries.astype(dtype), values.astype(dtype))
        grad = model.zeros_like()
        dqueries, dvalues = backward(laws.upstream_of(contexts), laws.upstream_of(weights), cache, grad)
        results.append([contexts, weights, dqueries, dvalues, grad.vector])
    assert np.abs(results[0][1].sum(2) - 1).max() < 1e-12
    laws.assert_close(results[1], results[0], 2e-2)                     # scores of 1e4 are rounded to 1e-3 themselves


def test_nothing_to_attend_to_gives_zero_and_no_gradient(rng):
    attention = randomize(AdditiveAttention.create(rng, Q, D, A, dtype=np.float64), rng)
    forward, backward = protocol(attention, np.zeros((B, S), bool))
    contexts, weights, cache = forward(rng.standard_normal((T, B, Q)), rng.standard_normal((B, S, D)))
    grad = attention.zeros_like()
    gradients = backward(np.ones((T, B, D)), np.ones((T, B, S)), cache, grad)
    for array in (contexts, weights, grad.vector, *gradients):
        assert not array.any()


def test_nan_is_not_hidden(rng):
    attention = randomize(AdditiveAttention.create(rng, Q, D, A, dtype=np.float64), rng)
    values = rng.standard_normal((B, S, D))
    values[0, 3, 1] = np.nan
    context, weights, _ = attention.step(rng.standard_normal((B, Q)), attention.read(values, np.ones((B, S), bool)))
    assert np.isnan(weights[0]).all() and np.isnan(context[0]).any() and np.isfinite(context[1]).all()


def test_memories_may_be_taken_by_row(rng):
    attention = AdditiveAttention.create(rng, Q, D, A, dtype=np.float64)
    query, memory = rng.standard_normal((B, Q)), attention.read(rng.standard_normal((B, S, D)), MASK)
    rows = np.array([1, 1, 0])
    context, weights, _ = attention.step(query[rows], memory.take(rows))
    whole_context, whole_weights, _ = attention.step(query, memory)
    np.testing.assert_allclose(context, whole_context[rows], atol=1e-14)
    np.testing.assert_allclose(weights, whole_weights[rows], atol=1e-14)


def test_what_is_refused(rng):
    attention, values = AdditiveAttention.create(rng, Q, D, A), np.zeros((B, S, D), np.float32)
    for args, error, message in (((values[:, :, :2], MASK), ValueError, "batch-major"),
                                 ((values, MASK.T), ValueError, "mask"),
                                 ((values, MASK * 1.0), TypeError, "boolean")):
        with pytest.raises(error, match=message):
            attention.read(*args)
    with pytest.raises(ValueError, match=r"query \(B, Q\) has shape \(2, 4\), expected \(2, 3\)"):
        attention.step(np.zeros((B, 4), np.float32), attention.read(values, MASK))
