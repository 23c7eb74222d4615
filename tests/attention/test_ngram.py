"""The N-gram reader: the plain form of its equation, memory, extremes."""

import histories
import laws
import numpy as np
import pytest
from histories import MASK, B, H, K, T

from numpy_attention.registry import ACTIVATIONS


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("remembered", [False, True])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_the_plain_form_gives_the_same(rng, order, remembered, activation):
    reader = histories.ngram(rng, order, activation=activation)
    h = rng.standard_normal((T, B, H))
    memory = histories.memory_of(rng, order - 2) if remembered else None
    n = H // (order - 1)
    wanted = np.zeros((T, B, K))
    for t in range(T):
        for b in range(B):
            for i in range(order - 1):          # part i + 1 of the state i places before
                part = slice(i * n, (i + 1) * n)
                s = t - i
                if s >= 0:
                    wanted[t, b] += MASK[s, b] * h[s, b, part] @ reader.W[part]
                elif remembered:
                    wanted[t, b] += memory[1][b, s] * memory[0][b, s, part] @ reader.W[part]
    y, _, weights, _ = reader.forward(h, MASK, memory)
    assert weights is None
    np.testing.assert_allclose(y, histories.squash(reader)(wanted), atol=1e-14)


def test_the_future_never_matters(rng):
    histories.future_never_matters(histories.ngram(rng), rng)


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("cut", [1, 2, 4])
def test_chunks_with_memory_are_one_long_text(rng, order, cut):
    reader = histories.ngram(rng, order, carried=True)
    y, _, memory, _, forgetful = histories.chunks_with_memory_are_one_long_text(reader, cut, rng)
    if order == 2:                                                  # a bigram has no past
        assert memory is None
        np.testing.assert_allclose(forgetful, y[cut:], atol=1e-14)
    else:
        assert memory[0].shape == (B, order - 2, H)
        assert np.abs(forgetful - y[cut:]).max() > 1e-3


def test_the_memory_is_given_where_it_is_asked_for(rng):
    reader = histories.ngram(rng)
    h = rng.standard_normal((T, B, H))
    assert reader.forward(h, MASK)[1] is None
    states, known = reader.forward(h, MASK, keep=1)[1]
    assert (states == h[-2:].transpose(1, 0, 2)).all()
    assert (known == MASK[-2:].T).all()


@pytest.mark.parametrize("steps", [1, 2, 500])
def test_short_and_long_texts_in_float32_are_what_float64_gives(rng, steps):
    h = rng.standard_normal((steps, B, H))
    double, single = histories.both_precisions(histories.ngram(rng), h)
    laws.assert_close(single, double, 2e-5)
