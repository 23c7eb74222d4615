"""Location-based attention: its equation, unused columns, sentences that are too long."""

import equations
import numpy as np
import pytest

from numpy_attention.attention.location import LocationAttention
from numpy_attention.gradcheck import protocol, randomize

Q, D, LONGEST = 3, 4, 9


def test_equations(rng):
    attention = randomize(LocationAttention.create(rng, Q, LONGEST, dtype=np.float64), rng)
    equations.check_equations(attention, lambda q, h: (q @ attention.W_a)[:len(h)], rng, Q, D)


def test_columns_beyond_the_sentence_have_no_gradient(rng):
    attention = randomize(LocationAttention.create(rng, Q, LONGEST, dtype=np.float64), rng)
    forward, backward = protocol(attention, np.ones((2, 6), bool))
    queries = rng.standard_normal((3, 2, Q))
    values = rng.standard_normal((2, 6, D))
    contexts, weights, cache = forward(queries, values)
    grads = attention.zeros_like()
    backward(np.ones_like(contexts), rng.standard_normal(weights.shape), cache, grads)
    assert (np.abs(grads.W_a[:, :6]).max(0) > 0).all()
    assert not grads.W_a[:, 6:].any()


def test_sentence_longer_than_the_weights_raises(rng):
    attention = LocationAttention.create(rng, Q, LONGEST)
    fits = np.zeros((2, LONGEST, D), np.float32)
    assert attention.read(fits, np.ones((2, LONGEST), bool)).keys is None
    longer = np.zeros((2, LONGEST + 1, D), np.float32)
    with pytest.raises(ValueError, match="source has 10 positions .* weights for only 9; omit "):
        attention.read(longer, np.ones((2, LONGEST + 1), bool))
