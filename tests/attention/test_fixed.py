"""FixedVector: all weight is on the last token of each sentence."""

import numpy as np

from numpy_attention.attention.fixed import FixedVector


def test_only_the_last_token_is_attended_to(rng):
    values = rng.standard_normal((4, 5, 2))
    mask = np.array([[1, 1, 1, 1, 1], [1, 1, 0, 0, 0], [0, 0, 0, 0, 0], [1, 0, 0, 1, 0]], bool)
    last = [[0, 0, 0, 0, 1], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 0]]
    attention = FixedVector()
    memory = attention.read(values, mask)
    for t in range(3):
        context, weights, _ = attention.step(None, memory, t)
        assert weights.tolist() == last
        assert (context == [values[0, 4], values[1, 1], [0, 0], values[3, 3]]).all()


def test_query_has_no_gradient(rng):
    attention = FixedVector()
    memory = attention.read(rng.standard_normal((1, 3, 2)), np.ones((1, 3), bool))
    _, _, cache = attention.step(None, memory, 0)
    dmemory = memory.gradient()
    assert attention.step_backward(np.ones((1, 2)), None, cache, dmemory, None) is None
    assert attention.read_backward(memory, dmemory, None).tolist() == [[[0, 0], [0, 0], [1, 1]]]
