"""KeyValueReadout: reference implementation, memory, extreme scores, gradients of the roles.

Gradients and laws: tests/test_checks.py; PyTorch: tests/parity/test_torch_language_models.py.
"""

import histories
import laws
import numpy as np
import pytest
from histories import HISTORY_READOUTS, MASK, B, H, T

from numpy_attention.attention.key_value import KeyValueReadout

each = pytest.mark.parametrize("name", HISTORY_READOUTS)


def reference_readout(readout, h, mask, memory=None):
    """Return y (T, B, K) and α (T, B, M + T) of a KeyValueReadout."""
    states = h.swapaxes(0, 1)
    known = mask.T
    if memory is not None:
        states = np.concatenate([memory[0], states], 1)
        known = np.concatenate([memory[1], known], 1)
    parts = np.split(states, readout.parts, 2)
    value = parts[min(1, readout.parts - 1)]
    steps = np.split(h, readout.parts, 2)
    scores = histories.reference_scores(readout.attention, steps[0], parts[0])
    visible = histories.reference_visible(known, len(h), readout.window)
    weights = histories.reference_softmax(scores, visible)
    r = (weights[..., None] * value).sum(2)
    b = 0 if readout.b is None else readout.b
    return histories.squash(readout)(steps[-1] @ readout.W_x + r @ readout.W_r + b), weights


@pytest.mark.parametrize("memory_size", [0, 2])
@each
def test_matches_reference_implementation(rng, name, memory_size):
    readout = histories.key_value(rng, name)
    h = rng.standard_normal((T, B, H))
    memory = histories.memory_of(rng, memory_size) if memory_size else None
    y, _, weights, _ = readout.forward(h, MASK, memory)
    wanted_y, wanted_weights = reference_readout(readout, h, MASK, memory)
    np.testing.assert_allclose(weights, wanted_weights, atol=1e-14)
    np.testing.assert_allclose(y, wanted_y, atol=1e-14)


@each
def test_future_is_ignored(rng, name):
    histories.check_future_is_ignored(histories.key_value(rng, name), rng)


@each
def test_step_without_visible_positions_gives_zero_weights_and_gradient(rng, name):
    readout = histories.key_value(rng, name)
    h = rng.standard_normal((1, B, H))
    unknown = rng.standard_normal((B, 3, H)), np.zeros((B, 3), bool)
    predict = np.split(h, readout.parts, 2)[-1]
    b = 0 if readout.b is None else readout.b
    for memory in (None, unknown):
        y, _, weights, cache = readout.forward(h, np.ones((1, B), bool), memory)
        assert not weights.any()
        np.testing.assert_allclose(y, histories.squash(readout)(predict @ readout.W_x + b),
                                   atol=1e-14)
        grads = readout.zeros_like()
        dh = readout.backward(np.ones_like(y), np.ones_like(weights), cache, grads)
        assert not any(array.any() for _, array in grads.attention.named_parameters())
        assert not grads.W_r.any()
        dpredict = np.split(dh, readout.parts, 2)[-1]
        slope = 1 - y * y if readout.activation == "tanh" else np.ones_like(y)
        np.testing.assert_allclose(dpredict, slope @ readout.W_x.T, atol=1e-14)


@pytest.mark.parametrize("settings", [
    dict(carried=9), dict(parts=3, carried=9), dict(window=3, carried=3, parts=2),
    dict(score="single", window=2, carried=5)])
@pytest.mark.parametrize("cut", [1, 2, 4])
def test_chunks_with_memory_equal_one_long_text(rng, settings, cut):
    readout = histories.key_value(rng, **settings)
    y, weights, memory, part, memoryless = histories.check_chunks_with_memory(
        readout, cut, rng)
    S = part.shape[2]
    np.testing.assert_allclose(part, weights[cut:, :, -S:], atol=1e-14)
    assert not weights[cut:, :, :-S].any(), "forgotten states were out of reach anyway"
    assert memory[0].shape == (B, min(readout.carried, len(y)), H)
    assert np.abs(memoryless - y[cut:]).max() > 1e-3


@pytest.mark.parametrize("steps", [1, 2, 500])
@each
def test_short_and_long_texts_in_float32_agree_with_float64(rng, name, steps):
    h = rng.standard_normal((steps, B, H))
    double, single = histories.both_precisions(histories.key_value(rng, name), h)
    laws.assert_close(single, double, 2e-5)


@pytest.mark.parametrize("steps", [2, 500])
@each
def test_huge_scores_in_float32_agree_with_float64(rng, name, steps):
    readout = histories.key_value(rng, name)
    readout.attention.v *= 1e4 / np.abs(readout.attention.v).sum()              # scores up to ±1e4
    double, single = histories.both_precisions(readout, rng.standard_normal((steps, B, H)))
    weights = double[3]
    assert np.abs(weights[1:].sum(2) - 1).max() < 1e-12
    assert not weights[0].any()
    laws.assert_close(single, double, 2e-2)                         # 1e4 itself is rounded to 1e-3


@each
def test_role_terms_add_up_to_the_gradient(rng, name):
    """Compare bit for bit: `backward` adds the terms in this order."""
    readout = histories.key_value(rng, name)
    h = rng.standard_normal((T, B, H))
    y, _, weights, cache = readout.forward(h, MASK, histories.memory_of(rng, 2))
    dy, dweights = rng.standard_normal(y.shape), rng.standard_normal(weights.shape)
    grads = readout.zeros_like(), readout.zeros_like()
    dh = readout.backward(dy, dweights, cache, grads[0])
    terms = readout.roles_backward(dy, dweights, cache, grads[1])
    assert (grads[0].vector == grads[1].vector).all()
    n = H // readout.parts
    summed = np.zeros_like(h)
    for role in ("key", "value", "query", "predict"):
        term = getattr(terms, role)
        if term is None:
            assert role == "query" and not hasattr(readout.attention, "W_q")
            continue
        assert term.shape == (T, B, n)
        start = n * readout.read_by[role]
        summed[..., start:start + n] += term
    assert (summed == dh).all()


@pytest.mark.parametrize("parts, read", [(1, [0, 0, 0, 0]), (2, [0, 0, 1, 1]), (3, [0, 0, 1, 2])])
def test_part_of_the_state_each_role_reads(rng, parts, read):
    read_by = histories.key_value(rng, parts=parts).read_by
    assert list(read_by) == ["query", "key", "value", "predict"]
    assert list(read_by.values()) == read


def test_invalid_arguments(rng):
    for settings, message in (
            (dict(hidden=5, parts=2), "hidden = 5; expected a multiple of parts .2."),
            (dict(hidden=8, parts=4), r"parts = 4; expected 1 \(attention\), .* or 3 "),
            (dict(hidden=6, score="cosine"), "score 'cosine'; expected one of single, combined")):
        with pytest.raises(ValueError, match=message):
            KeyValueReadout.create(rng, outputs=3, **settings)
