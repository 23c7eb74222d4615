"""SoftmaxAttention: deferred weight gradients, and errors for invalid results of a subclass."""

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from numpy_attention.attention.softmax_attention import SoftmaxAttention
from numpy_attention.gradcheck import gradcheck, protocol, randomize
from numpy_attention.module import Array
from numpy_attention.validation.results import check_returned

Q, D, B, S, T = 3, 4, 2, 6, 5
MASK = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 0, 1, 0, 0]], bool)


@dataclass(eq=False)
class LinearScore(SoftmaxAttention):
    """e = q U + 2 q W. Two fields are deferred: U with fewer columns, W twice a step."""

    U: Array  # (Q, 8)
    W: Array  # (Q, S)

    def score(self, query, memory):
        columns = memory.mask.shape[1]
        return query @ self.U[:, :columns] + 2 * (query @ self.W), query

    def score_backward(self, dscores, query, memory, dmemory, grads):
        columns = dscores.shape[1]
        dmemory.defer("U", query, dscores)
        for _ in range(2):
            dmemory.defer("W", query, dscores)
        return dscores @ self.U[:, :columns].T + 2 * (dscores @ self.W.T)


def linear_score(rng):
    return randomize(LinearScore(np.zeros((Q, 8)), np.zeros((Q, S))), rng)


def test_deferred_products_are_added_to_their_field(rng):
    attention = linear_score(rng)
    forward, backward = protocol(attention, MASK)
    queries = rng.standard_normal((T, B, Q))
    values = rng.standard_normal((B, S, D))
    report = gradcheck(attention, queries, values, rng=rng, forward=forward, backward=backward)
    assert list(report.errors) == ["U", "W", "input[0]", "input[1]"]


def test_gradients_of_two_backward_passes_add_up(rng):
    attention = linear_score(rng)
    forward, backward = protocol(attention, MASK)
    queries = rng.standard_normal((T, B, Q))
    values = rng.standard_normal((B, S, D))
    contexts, weights, cache = forward(queries, values)
    grads = attention.zeros_like()
    backward(np.ones_like(contexts), weights, cache, grads)
    once = grads.vector.copy()
    backward(np.ones_like(contexts), weights, cache, grads)
    np.testing.assert_allclose(grads.vector, 2 * once, atol=1e-14)


def test_deferred_product_of_a_wrong_shape_raises(rng):
    attention = linear_score(rng)
    memory = attention.read(np.zeros((B, S, D)), MASK)
    dmemory = memory.gradient()
    dmemory.defer("W", np.ones((B, S)), np.ones((B, Q)))
    message = r"xᵀ dy has shape \(6, 3\); expected \(3, 6\), the shape of W"
    with pytest.raises(ValueError, match=message):
        attention.read_backward(memory, dmemory, attention.zeros_like())


@dataclass(eq=False)
class Wide(SoftmaxAttention):
    """A score with a position too many."""

    def score(self, query, memory):
        return np.zeros((len(query), memory.mask.shape[1] + 1)), None


def test_scores_of_a_wrong_shape_raise():
    attention = Wide()
    memory = attention.read(np.zeros((B, S, D)), MASK)
    with pytest.raises(ValueError, match=r"scores \(B, S\) has shape .* expected"):
        attention.step(np.zeros((B, Q)), memory, 0)


def test_query_gradient_may_be_none_but_not_forgotten():
    class Forgets(LinearScore):
        def score_backward(self, dscores, query, memory, dmemory, grads):
            dscores @ self.W.T

    class Keeps(LinearScore):
        def score_backward(self, dscores, query, memory, dmemory, grads):
            dquery = dscores @ self.W.T  # noqa: F841

    class Ends(LinearScore):
        def score_backward(self, dscores, query, memory, dmemory, grads):
            dmemory.defer("W", query, dscores)

    class Returns(LinearScore):
        def score_backward(self, dscores, query, memory, dmemory, grads):
            return None

    for kind in (Forgets, Keeps, Ends, Returns):
        attention = kind(np.zeros((Q, 8)), np.zeros((Q, S)))
        memory = attention.read(np.zeros((B, S, D)), MASK)
        _, _, cache = attention.step(np.zeros((B, Q)), memory, 0)
        given = np.ones((B, D)), None, cache, memory.gradient(), attention.zeros_like()
        if kind in (Ends, Returns):
            assert attention.step_backward(*given) is None
            continue
        with pytest.raises(TypeError, match="returns None; .* `return dquery` \\(or `return No"):
            attention.step_backward(*given)


def test_invalid_result_of_a_builtin_raises():
    for method, name in ((np.add, "add"), (partial(max, 3), "scores")):
        with pytest.raises(TypeError, match=rf"^{name}\(\) returns a float; expected"):
            check_returned(method, 3.0, "scores", (B, S), "(B, S)", "cache")


def test_values_dtype_must_match_the_weights(rng):
    attention = linear_score(rng)
    with pytest.raises(TypeError, match="values is float32, but the weights are float64"):
        attention.read(np.zeros((B, S, D), np.float32), MASK)
