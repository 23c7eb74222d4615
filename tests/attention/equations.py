"""Shared by the tests of scores: a reference implementation of attention with a given score."""

import numpy as np

B, S, T = 2, 6, 3
MASK = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]], bool)


def check_equations(attention, score, rng, Q, D):
    """Check that contexts and weights are those of score(q, h) → e, computed per sentence."""
    values = rng.standard_normal((B, S, D))
    memory = attention.read(values, MASK)
    for t, query in enumerate(rng.standard_normal((T, B, Q))):
        context, weights, _ = attention.step(query, memory, t)
        for b, n in enumerate(MASK.sum(1)):
            e = np.exp(score(query[b], values[b])[:n])
            wanted = np.append(e / e.sum(), np.zeros(S - n))
            np.testing.assert_allclose(weights[b], wanted, atol=1e-14)
            np.testing.assert_allclose(context[b], weights[b] @ values[b], atol=1e-14)
