"""Multi-head attention: heads are independent, and single steps equal one batched call."""

import numpy as np
import pytest

from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.gradcheck import randomize

Q, D, A, B, S, T = 3, 5, 4, 2, 6, 7
MASK = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]], bool)


def multi_head(rng):
    return randomize(MultiHeadAttention.create(rng, Q, D, A, D, heads=2, dtype=np.float64), rng)


def test_heads_are_independent_attentions(rng):
    a = multi_head(rng)
    values = rng.standard_normal((B, S, D))
    query = rng.standard_normal((B, Q))
    context, weights, _ = a.step(query, a.read(values, MASK), 0)
    parts = []
    alphas = []
    for head in (slice(0, 2), slice(2, 4)):
        q = query @ a.W_q[:, head] + a.b_q[head]
        k = values @ a.W_k[:, head]
        v = values @ a.W_v[:, head] + a.b_v[head]
        e = np.exp(np.einsum("bd,bsd->bs", q, k) / np.sqrt(2)) * MASK
        alphas.append(e / e.sum(1, keepdims=True))
        parts.append(np.einsum("bs,bsd->bd", alphas[-1], v))
    np.testing.assert_allclose(context, np.concatenate(parts, 1) @ a.W_o + a.b_o, atol=1e-13)
    np.testing.assert_allclose(weights, np.mean(alphas, 0), atol=1e-14)


def test_steps_equal_one_batched_call(rng):
    a = multi_head(rng)
    values = rng.standard_normal((B, S, D))
    queries = rng.standard_normal((B, T, Q))
    visible = np.broadcast_to(MASK[:, None], (B, T, S))
    y, weights, cache = a.forward(queries, values, visible)
    memory = a.read(values, MASK)
    assert (memory.keys == a.keys_and_values(values)).all()
    steps = [a.step(queries[:, t], memory, t) for t in range(T)]
    for t, (context, attended, _) in enumerate(steps):
        np.testing.assert_allclose(context, y[:, t], atol=1e-14)
        np.testing.assert_allclose(attended, weights[:, t], atol=1e-14)

    dy = rng.standard_normal(y.shape)
    dweights = rng.standard_normal(weights.shape)
    grads = a.zeros_like()
    stepwise = a.zeros_like()
    dqueries, dvalues = a.backward(dy, dweights, cache, grads)
    dmemory = memory.gradient()
    for t in reversed(range(T)):
        dquery = a.step_backward(dy[:, t], dweights[:, t], steps[t][2], dmemory, stepwise)
        np.testing.assert_allclose(dquery, dqueries[:, t], atol=1e-13)
    np.testing.assert_allclose(a.read_backward(memory, dmemory, stepwise), dvalues, atol=1e-13)
    np.testing.assert_allclose(stepwise.vector, grads.vector, atol=1e-13)


def test_size_not_divisible_by_heads_raises(rng):
    with pytest.raises(ValueError, match="size .4. must be divisible by heads .3."):
        MultiHeadAttention.create(rng, Q, D, 4, heads=3)
