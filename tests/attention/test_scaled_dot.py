"""Scaled dot-product attention on arrays in any memory order."""

import numpy as np

from numpy_attention.attention.scaled_dot import ScaledDotProductAttention

B, S, D = 2, 6, 4


def test_queries_and_keys_may_be_transposed(rng):
    """Use heads-first views, whose scores are not C-contiguous."""
    attention = ScaledDotProductAttention()
    q, k, v = (rng.standard_normal((B, S, 3, D)).transpose(2, 0, 1, 3) for _ in range(3))
    visible = np.ones((S, S), bool)
    output, weights, cache = attention.forward(q, k, v, visible)
    assert not np.matmul(q, np.swapaxes(k, -1, -2)).flags.c_contiguous
    copies = map(np.ascontiguousarray, (q, k, v))
    wanted, wanted_weights, wanted_cache = attention.forward(*copies, visible)
    np.testing.assert_allclose(weights, wanted_weights, atol=1e-14)
    np.testing.assert_allclose(output, wanted, atol=1e-14)
    given = attention.backward(wanted, wanted_weights, cache)
    right = attention.backward(wanted, wanted_weights, wanted_cache)
    for one, other in zip(given, right):
        np.testing.assert_allclose(one, other, atol=1e-13)
