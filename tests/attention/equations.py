"""What the tests of scores share: the softmax of a score, position by position."""

import numpy as np

B, S, T = 2, 6, 3
MASK = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]], bool)


def follows(attention, score, rng, Q, D):
    """Contexts and weights are those of score(q, h) → e, asked of each sentence on its own."""
    values = rng.standard_normal((B, S, D))
    memory = attention.read(values, MASK)
    for t, query in enumerate(rng.standard_normal((T, B, Q))):
        context, weights, _ = attention.step(query, memory, t)
        for b, n in enumerate(MASK.sum(1)):
            e = np.exp(score(query[b], values[b])[:n])
            wanted = np.append(e / e.sum(), np.zeros(S - n))
            np.testing.assert_allclose(weights[b], wanted, atol=1e-14)
            np.testing.assert_allclose(context[b], weights[b] @ values[b], atol=1e-14)
