"""Dot, general, location and multi-head attention: their equations taken literally, padding, and extremes."""

import laws
import numpy as np
import pytest

from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.attention.dot import DotAttention
from numpy_attention.attention.fixed import FixedVector
from numpy_attention.attention.general import GeneralAttention
from numpy_attention.attention.local import LocalMonotonic, LocalPredictive
from numpy_attention.attention.location import LocationAttention
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.attention.scaled_dot import ScaledDotProductAttention
from numpy_attention.gradcheck import protocol, randomize

D, B, S, T = 4, 2, 6, 3
MASK = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]], bool)
CREATE = {
    "dot": lambda rng: DotAttention(), "scaled": lambda rng: DotAttention(scaled=True),
    "general": lambda rng: GeneralAttention.create(rng, D, D, dtype=np.float64),
    "location": lambda rng: LocationAttention.create(rng, D, 500, dtype=np.float64),
    "multi-head": lambda rng: MultiHeadAttention.create(rng, D, D, heads=2, dtype=np.float64),
    "local-m": lambda rng: LocalMonotonic(DotAttention(), D=1),
    "local-p": lambda rng: LocalPredictive.create(rng, DotAttention(), D, D=600, dtype=np.float64),
    "additive": lambda rng: AdditiveAttention.create(rng, D, D, 5, dtype=np.float64),
    "fixed": lambda rng: FixedVector(),
}
SCORES = {
    "dot": lambda a, q, h: h @ q, "scaled": lambda a, q, h: h @ q / np.sqrt(D), "general": lambda a, q, h: h @ (a.W_a.T @ q),
    "location": lambda a, q, h: (q @ a.W_a)[:len(h)],
}


def created(rng, name):
    return randomize(CREATE[name](rng), rng)


@pytest.mark.parametrize("name", SCORES)
def test_by_the_equations(rng, name):
    attention, h = created(rng, name), rng.standard_normal((B, S, D))
    for query in rng.standard_normal((T, B, D)):
        context, weights, _ = attention.step(query, attention.read(h, MASK))
        for b, n in enumerate(MASK.sum(1)):
            e = np.exp(SCORES[name](attention, query[b], h[b])[:n])
            np.testing.assert_allclose(weights[b], np.append(e / e.sum(), np.zeros(S - n)), atol=1e-14)
            np.testing.assert_allclose(context[b], weights[b] @ h[b], atol=1e-14)


def test_heads_are_attentions_side_by_side(rng):
    a, h = created(rng, "multi-head"), rng.standard_normal((B, S, D))
    query = rng.standard_normal((B, D))
    context, weights, _ = a.step(query, a.read(h, MASK))
    parts, looked = [], []
    for head in (slice(0, 2), slice(2, 4)):
        q, k, v = query @ a.W_q[:, head] + a.b_q[head], h @ a.W_k[:, head], h @ a.W_v[:, head] + a.b_v[head]
        e = np.exp(np.einsum("bd,bsd->bs", q, k) / np.sqrt(2)) * MASK
        looked.append(e / e.sum(1, keepdims=True))
        parts.append(np.einsum("bs,bsd->bd", looked[-1], v))
    np.testing.assert_allclose(context, np.concatenate(parts, 1) @ a.W_o + a.b_o, atol=1e-13)
    np.testing.assert_allclose(weights, np.mean(looked, 0), atol=1e-14)


def test_queries_and_keys_may_be_transposed(rng):
    """Heads as a view (B, heads, T, d): the scores' memory is in another order, the weights must not be lost in a copy."""
    attention = ScaledDotProductAttention()
    q, k, v = (rng.standard_normal((B, S, 3, D)).transpose(0, 2, 1, 3) for _ in range(3))
    q, k = q.transpose(1, 0, 2, 3), k.transpose(1, 0, 2, 3)
    v, visible = v.transpose(1, 0, 2, 3), np.ones((S, S), bool)
    output, weights, cache = attention.forward(q, k, v, visible)
    assert not np.matmul(q, np.swapaxes(k, -1, -2)).flags.c_contiguous
    wanted, wanted_weights, wanted_cache = attention.forward(*map(np.ascontiguousarray, (q, k, v)), visible)
    np.testing.assert_allclose(weights, wanted_weights, atol=1e-14)
    np.testing.assert_allclose(output, wanted, atol=1e-14)
    for given, right in zip(attention.backward(wanted, wanted_weights, cache),
                            attention.backward(wanted, wanted_weights, wanted_cache)):
        np.testing.assert_allclose(given, right, atol=1e-13)


def result(attention, queries, values, mask, dweights):
    forward, backward = protocol(attention, mask)
    contexts, weights, cache = forward(queries, values)
    grad = attention.zeros_like()
    back = backward(laws.upstream_of(contexts), dweights.astype(values.dtype), cache, grad)
    return [contexts, weights, *back, grad.vector if grad.size else np.zeros(1)]


@pytest.mark.parametrize("name", CREATE)
def test_padding_changes_nothing(rng, name):
    attention, more = created(rng, name), 4
    queries, values = rng.standard_normal((T, B, D)), rng.standard_normal((B, S, D))
    dweights = rng.standard_normal((T, B, S))
    short = result(attention, queries, values, MASK, dweights)
    long = result(attention, queries, np.concatenate([values, 100 * rng.standard_normal((B, more, D))], 1),
                  np.concatenate([MASK, np.zeros((B, more), bool)], 1),
                  np.concatenate([dweights, rng.standard_normal((T, B, more))], 2))
    assert not long[1][:, :, S:].any() and not long[3][:, S:].any()
    laws.padding_changes_nothing(short, long, lambda r: [r[0], r[1][:, :, :S], r[2], r[3][:, :S], r[4]])


@pytest.mark.parametrize("sentences, positions", [(B, 0), (0, S), (0, 0)])
@pytest.mark.parametrize("name", CREATE)
def test_nothing_to_read_and_nobody_to_ask(rng, name, sentences, positions):
    """An empty memory gives weights (B, 0), and gradients of its own shape; so does an empty batch."""
    attention = created(rng, name)
    queries, values = rng.standard_normal((T, sentences, D)), np.zeros((sentences, positions, D))
    contexts, weights, dqueries, dvalues, grad = result(attention, queries, values, np.ones((sentences, positions), bool),
                                                        np.zeros((T, sentences, positions)))
    assert contexts.shape == (T, sentences, D) and weights.shape == (T, sentences, positions)
    assert dqueries.shape == queries.shape[:2] + (0 if name == "fixed" else D,) and dvalues.shape == values.shape
    assert not dqueries.any()
    if name == "multi-head":                                # b_v and the output's bias stand behind the empty sum
        np.testing.assert_allclose(contexts, np.broadcast_to(attention.b_o, contexts.shape), atol=1e-14)
    else:
        assert not contexts.any() and not grad.any()


@pytest.mark.parametrize("positions", [1, 500])
@pytest.mark.parametrize("name", CREATE)
def test_huge_scores_in_float32_are_what_float64_gives(rng, name, positions):
    attention = created(rng, name)
    values = rng.standard_normal((B, positions, D))
    queries = rng.standard_normal((T, B, D))
    if name not in ("location", "multi-head", "local-p"):
        queries *= 1e4 / np.abs(queries).sum(2).max() / np.abs(values).max()                   # scores up to ±1e4
    elif name == "location":
        attention.W_a *= 1e4 / np.abs(queries @ attention.W_a).max()
    elif name == "multi-head":
        attention.W_q *= 1e3
    mask, found = np.ones((B, positions), bool), []
    dweights = rng.standard_normal((T, B, positions))
    for dtype in (np.float64, np.float32):
        one = attention.astype(dtype)
        found.append(result(one, queries.astype(dtype), values.astype(dtype), mask, dweights))
        assert all(array.dtype == dtype for array in found[-1][:4])
    laws.assert_close(found[1], found[0], 2e-2)                     # 1e4 itself is rounded to 1e-3
