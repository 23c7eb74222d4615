"""Properties of every attention mechanism: padding, empty inputs, huge scores.

Gradients and laws: tests/test_checks.py. Scores added to `registry.SCORES` are included.
"""

import laws
import numpy as np
import pytest

from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.attention.dot import DotAttention, ScaledDotAttention
from numpy_attention.attention.fixed import FixedVector
from numpy_attention.attention.general import GeneralAttention
from numpy_attention.attention.local import LocalMonotonic, LocalPredictive
from numpy_attention.attention.location import LocationAttention
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.gradcheck import protocol, randomize
from numpy_attention.gradcheck.cases import CASES
from numpy_attention.gradcheck.cases.attention import score_cases

B, S, T = 3, 6, 3
MASK = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 0, 1, 0, 0], [1, 1, 1, 1, 0, 0]], bool)
each = pytest.mark.parametrize("name", [*score_cases(), "LocalMonotonic backwards", "FixedVector"])


def case_of(name, rng):
    """Return the attention of a gradient check, Q and D."""
    case = CASES[name](rng, np.float64)
    *queries, values = case.inputs
    return case.target, queries[0].shape[2] if queries else 0, values.shape[2]


def result(attention, queries, values, mask, dweights):
    """Return [contexts, weights, dqueries, dvalues, grads.vector]."""
    forward, backward = protocol(attention, mask)
    contexts, weights, cache = forward(queries, values)
    grads = attention.zeros_like()
    dcontexts = laws.upstream_of(contexts)
    dqueries, dvalues = backward(dcontexts, dweights.astype(values.dtype), cache, grads)
    return [contexts, weights, dqueries, dvalues, grads.vector if grads.size else np.zeros(1)]


@each
def test_padding_changes_nothing(rng, name):
    attention, Q, D = case_of(name, rng)
    more = 2                                                    # longest of location is 8
    queries = rng.standard_normal((T, B, Q))
    values = rng.standard_normal((B, S, D))
    dweights = rng.standard_normal((T, B, S))
    short = result(attention, queries, values, MASK, dweights)
    garbage = 100 * rng.standard_normal((B, more, D))
    values = np.concatenate([values, garbage], 1)
    mask = np.concatenate([MASK, np.zeros((B, more), bool)], 1)
    dweights = np.concatenate([dweights, rng.standard_normal((T, B, more))], 2)
    long = result(attention, queries, values, mask, dweights)
    # padding gets no weight and no gradient
    assert not long[1][:, :, S:].any()
    assert not long[3][:, S:].any()
    laws.padding_changes_nothing(short, long,
                                 lambda r: [r[0], r[1][:, :, :S], r[2], r[3][:, :S], r[4]])


@pytest.mark.parametrize("sentences, positions", [(B, 0), (0, S), (0, 0)])
@each
def test_empty_memory_and_empty_batch(rng, name, sentences, positions):
    """An empty memory or batch gives empty weights and gradients of the right shapes."""
    attention, Q, D = case_of(name, rng)
    queries = rng.standard_normal((T, sentences, Q))
    values = np.zeros((sentences, positions, D))
    mask = np.ones((sentences, positions), bool)
    dweights = np.zeros((T, sentences, positions))
    contexts, weights, dqueries, dvalues, grads = result(attention, queries, values, mask, dweights)
    assert contexts.shape == (T, sentences, D)
    assert weights.shape == (T, sentences, positions)
    assert dqueries.shape == queries.shape
    assert dvalues.shape == values.shape
    assert not dqueries.any()
    inner = getattr(attention, "attention", attention)
    if isinstance(attention, MultiHeadAttention) or isinstance(inner, MultiHeadAttention):
        # only the output bias is left when the sum is empty
        b_o = attention.b_o if isinstance(attention, MultiHeadAttention) else inner.b_o
        np.testing.assert_allclose(contexts, np.broadcast_to(b_o, contexts.shape), atol=1e-14)
    else:
        assert not contexts.any()
        assert not grads.any()


D = 4
ATTENTIONS = {
    "dot": lambda rng: DotAttention(),
    "scaled-dot": lambda rng: ScaledDotAttention(),
    "general": lambda rng: GeneralAttention.create(rng, D, D, dtype=np.float64),
    "concat": lambda rng: AdditiveAttention.create(rng, D, D, 5, dtype=np.float64),
    "location": lambda rng: LocationAttention.create(rng, D, 500, dtype=np.float64),
    "multi-head": lambda rng: MultiHeadAttention.create(rng, D, D, heads=2, dtype=np.float64),
    "local-m": lambda rng: LocalMonotonic(DotAttention(), width=1),
    "local-p": lambda rng: LocalPredictive.create(rng, DotAttention(), D, width=600,
                                                  dtype=np.float64),
    "fixed": lambda rng: FixedVector(),
}


@pytest.mark.parametrize("positions", [1, 500])
@pytest.mark.parametrize("name", ATTENTIONS)
def test_huge_scores_in_float32_agree_with_float64(rng, name, positions):
    attention = ATTENTIONS[name](rng)
    randomize(attention, rng)
    values = rng.standard_normal((B, positions, D))
    queries = rng.standard_normal((T, B, D))
    if name == "location":
        attention.W_a *= 1e4 / np.abs(queries @ attention.W_a).max()            # scores up to ±1e4
    elif name == "concat":
        attention.v_a *= 1e4 / np.abs(attention.v_a).sum()
    elif name == "multi-head":
        attention.W_q *= 1e3
    elif name != "local-p":
        queries *= 1e4 / np.abs(queries).sum(2).max() / np.abs(values).max()
    mask = np.ones((B, positions), bool)
    dweights = rng.standard_normal((T, B, positions))
    found = []
    for dtype in (np.float64, np.float32):
        one = attention.astype(dtype)
        found.append(result(one, queries.astype(dtype), values.astype(dtype), mask, dweights))
        assert all(array.dtype == dtype for array in found[-1][:4])
    laws.assert_close(found[1], found[0], 2e-2)                 # 1e4 itself is rounded to 1e-3
