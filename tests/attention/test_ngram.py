"""NGramReadout: reference implementation, memory, short and long texts."""

import histories
import laws
import numpy as np
import pytest
from histories import MASK, B, H, K, T

from numpy_attention.registry import ACTIVATIONS


@pytest.mark.parametrize("activation", ACTIVATIONS)
@pytest.mark.parametrize("with_memory", [False, True])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_matches_reference_implementation(rng, order, with_memory, activation):
    readout = histories.ngram(rng, order, activation=activation)
    h = rng.standard_normal((T, B, H))
    memory = histories.memory_of(rng, order - 2) if with_memory else None
    n = H // (order - 1)
    wanted = np.zeros((T, B, K))
    for t in range(T):
        for b in range(B):
            for i in range(order - 1):          # part i + 1 of the state i steps back
                part = slice(i * n, (i + 1) * n)
                s = t - i
                if s >= 0:
                    wanted[t, b] += MASK[s, b] * h[s, b, part] @ readout.W[part]
                elif with_memory:
                    wanted[t, b] += memory[1][b, s] * memory[0][b, s, part] @ readout.W[part]
    y, _, weights, _ = readout.forward(h, MASK, memory)
    assert weights is None
    np.testing.assert_allclose(y, histories.squash(readout)(wanted), atol=1e-14)


def test_future_is_ignored(rng):
    histories.check_future_is_ignored(histories.ngram(rng), rng)


@pytest.mark.parametrize("order", [2, 4])
@pytest.mark.parametrize("cut", [1, 2, 4])
def test_chunks_with_memory_equal_one_long_text(rng, order, cut):
    readout = histories.ngram(rng, order, carried=True)
    y, _, memory, _, memoryless = histories.check_chunks_with_memory(readout, cut, rng)
    if order == 2:                                                  # a bigram model has no history
        assert memory is None
        np.testing.assert_allclose(memoryless, y[cut:], atol=1e-14)
    else:
        assert memory[0].shape == (B, order - 2, H)
        assert np.abs(memoryless - y[cut:]).max() > 1e-3


def test_keep_returns_the_memory(rng):
    readout = histories.ngram(rng)
    h = rng.standard_normal((T, B, H))
    assert readout.forward(h, MASK)[1] is None
    states, known = readout.forward(h, MASK, keep=1)[1]
    assert (states == h[-2:].transpose(1, 0, 2)).all()
    assert (known == MASK[-2:].T).all()


@pytest.mark.parametrize("steps", [1, 2, 500])
def test_short_and_long_texts_in_float32_agree_with_float64(rng, steps):
    h = rng.standard_normal((steps, B, H))
    double, single = histories.both_precisions(histories.ngram(rng), h)
    laws.assert_close(single, double, 2e-5)
