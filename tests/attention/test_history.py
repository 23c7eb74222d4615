"""Attention over history: the plain forms of its equations, what a step may see, memory, one word at a time, extremes.

Gradients and laws: tests/test_checks.py; PyTorch: tests/parity/test_torch_language_models.py.
"""

import laws
import numpy as np
import pytest

from numpy_attention.attention.history import Combined, Single, causal
from numpy_attention.attention.key_value import KeyValueReader
from numpy_attention.attention.ngram import NGramReader
from numpy_attention.data.batching import TextBatch
from numpy_attention.gradcheck import randomize
from numpy_attention.models.attentive_language_model import ATTENTION, AttentiveLanguageModel

T, B, K, P, A, V = 5, 3, 4, 6, 7, 9
MASK = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 0, 0]], bool)        # (T, B), ragged
READERS = {
    "Salton, single": dict(score="single", bias=True),
    "Salton, combined": dict(bias=True),
    "Daniluk, one role": dict(),
    "two roles": dict(roles=2, window=2),
    "three roles": dict(roles=3),
    "memory": dict(roles=3, carried=4),
    "memory and window": dict(roles=2, window=3, carried=3, bias=True),
}


def reader_of(rng, hidden=P, outputs=K, dtype=np.float64, **settings):
    return randomize(KeyValueReader.create(rng, hidden, outputs, dtype=dtype, **settings), rng)


# ---- the equations with whole arrays ------------------------------------------------------------------------------------

def plain_scores(attention, queries, keys):
    """e (T, B, S) by broadcasting over (T, B, S, A)."""
    hidden = (keys @ attention.W_s)[None]
    if isinstance(attention, Combined):
        hidden = hidden + (queries @ attention.W_q)[:, :, None]
    return np.broadcast_to(np.tanh(hidden) @ attention.v, queries.shape[:2] + keys.shape[1:2])


def plain_softmax(scores, visible):
    e = np.where(visible, np.exp(scores), 0)
    total = e.sum(2, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


def plain_visible(known, steps, window):
    """visible[t, b, s], asked of every position on its own."""
    first = known.shape[1] - steps
    return np.array([[[known[b, s] and s < first + t and (window is None or first + t - s <= window)
                       for s in range(known.shape[1])] for b in range(len(known))] for t in range(steps)])


def plain_reader(reader, h, mask, memory=None):
    """y (T, B, K) and α (T, B, M + T) of a KeyValueReader."""
    states, known = h.swapaxes(0, 1), mask.T
    if memory is not None:
        states, known = np.concatenate([memory[0], states], 1), np.concatenate([memory[1], known], 1)
    query, predict = (np.split(h, reader.roles, 2)[part] for part in (0, -1))
    key, value = (np.split(states, reader.roles, 2)[part] for part in (0, min(1, reader.roles - 1)))
    weights = plain_softmax(plain_scores(reader.attention, query, key), plain_visible(known, len(h), reader.window))
    r = (weights[..., None] * value).sum(2)
    return np.tanh(predict @ reader.W_x + r @ reader.W_r + (0 if reader.b is None else reader.b)), weights


def memory_of(rng, size, hidden=P):
    known = rng.integers(0, 2, (B, size)).astype(bool)
    return rng.standard_normal((B, size, hidden)), known


@pytest.mark.parametrize("window", [None, 1, 3])
@pytest.mark.parametrize("score", [Single, Combined])
def test_the_plain_form_of_the_scores_gives_the_same(rng, score, window):
    attention = randomize(score.create(rng, P, K, A, dtype=np.float64), rng)
    queries, keys, values = (rng.standard_normal(shape) for shape in ((T, B, P), (B, T + 2, K), (B, T + 2, V)))
    known = np.concatenate([rng.integers(0, 2, (B, 2)).astype(bool), MASK.T], 1)
    visible = causal(known, T, window)
    np.testing.assert_array_equal(visible, plain_visible(known, T, window))
    r, weights, _ = attention.forward(queries, keys, values, visible)
    wanted = plain_softmax(plain_scores(attention, queries, keys), visible)
    np.testing.assert_allclose(weights, wanted, atol=1e-14)
    np.testing.assert_allclose(r, (wanted[..., None] * values).sum(2), atol=1e-14)


@pytest.mark.parametrize("remembered", [0, 2])
@pytest.mark.parametrize("name", READERS)
def test_the_plain_form_of_the_reader_gives_the_same(rng, name, remembered):
    reader, h = reader_of(rng, **READERS[name]), rng.standard_normal((T, B, P))
    memory = memory_of(rng, remembered) if remembered else None
    y, _, weights, _ = reader.forward(h, MASK, memory)
    wanted_y, wanted_weights = plain_reader(reader, h, MASK, memory)
    np.testing.assert_allclose(weights, wanted_weights, atol=1e-14)
    np.testing.assert_allclose(y, wanted_y, atol=1e-14)


@pytest.mark.parametrize("remembered", [False, True])
@pytest.mark.parametrize("order", [2, 3, 4])
def test_the_plain_form_of_the_ngram_gives_the_same(rng, order, remembered):
    reader, h = randomize(NGramReader.create(rng, P, K, order, dtype=np.float64), rng), rng.standard_normal((T, B, P))
    memory = memory_of(rng, order - 2) if remembered else None
    wanted, n = np.zeros((T, B, K)), P // (order - 1)
    for t in range(T):
        for b in range(B):
            for i in range(order - 1):          # part i + 1 of the state i places before
                part, s = slice(i * n, (i + 1) * n), t - i
                if s >= 0:
                    state, known = h[s, b], MASK[s, b]
                else:
                    state, known = (memory[0][b, s], memory[1][b, s]) if remembered else (h[0, b], False)
                wanted[t, b] += known * state[part] @ reader.W[part]
    y, _, weights, _ = reader.forward(h, MASK, memory)
    assert weights is None
    np.testing.assert_allclose(y, np.tanh(wanted), atol=1e-14)


# ---- what a step may see ------------------------------------------------------------------------------------------------

def seen(mask, steps, window=None):
    return causal(np.array(mask, bool), steps, window).astype(int).transpose(1, 0, 2).tolist()


def test_causal_by_hand():
    assert seen([[1, 1, 1]], 3) == [[[0, 0, 0], [1, 0, 0], [1, 1, 0]]]
    assert seen([[1, 1, 1, 1]], 4, window=2) == [[[0, 0, 0, 0], [1, 0, 0, 0], [1, 1, 0, 0], [0, 1, 1, 0]]]
    assert seen([[1, 1, 0]], 3, window=1) == [[[0, 0, 0], [1, 0, 0], [0, 1, 0]]]
    # two positions of memory, one of them unknown, before two steps; the second row has nothing but its own first step
    assert seen([[0, 1, 1, 1], [0, 0, 1, 1]], 2) == [[[0, 1, 0, 0], [0, 1, 1, 0]], [[0, 0, 0, 0], [0, 0, 1, 0]]]
    assert seen([[1, 1, 1, 1]], 2, window=1) == [[[0, 1, 0, 0], [0, 0, 1, 0]]]
    assert seen([[1]], 1) == [[[0]]]
    assert causal(np.ones((2, 4), bool), 3).dtype == bool


@pytest.mark.parametrize("steps, window", [(4, None), (3, 0), (2, -1)])
def test_causal_refuses(steps, window):
    with pytest.raises(ValueError, match=rf"T = {steps} steps over S = 3 positions with window = {window}: expected"):
        causal(np.ones((2, 3), bool), steps, window)


def forward_of(reader, h, mask=None, memory=None):
    return reader.forward(h, np.ones(h.shape[:2], bool) if mask is None else mask, memory)


def any_reader(rng, name):
    return (randomize(NGramReader.create(rng, P, K, 4, dtype=np.float64), rng) if name == "ngram"
            else reader_of(rng, **READERS[name]))


@pytest.mark.parametrize("name", [*READERS, "ngram"])
def test_the_future_never_matters(rng, name):
    reader, h = any_reader(rng, name), rng.standard_normal((T, B, P))
    y, _, weights, _ = forward_of(reader, h)
    for t in range(1, T):
        changed = h.copy()
        changed[t:] = 10 * rng.standard_normal((T - t, B, P))
        other, _, other_weights, cache = forward_of(reader, changed)
        np.testing.assert_allclose(other[:t], y[:t], rtol=1e-12)
        assert (np.abs(other[t] - y[t]).max(1) > 1e-6).all()
        if weights is not None:
            np.testing.assert_allclose(other_weights[:t], weights[:t], atol=1e-12)
        dy = np.concatenate([np.ones((t, B, K)), np.zeros((T - t, B, K))])
        assert not reader.backward(dy, None, cache, reader.zeros_like())[t:].any()


@pytest.mark.parametrize("name", READERS)
def test_a_step_that_sees_nothing_gets_zero_and_no_gradient(rng, name):
    reader, h = reader_of(rng, **READERS[name]), rng.standard_normal((1, B, P))
    memory = rng.standard_normal((B, 3, P)), np.zeros((B, 3), bool)
    for before in (None, memory):
        y, _, weights, cache = forward_of(reader, h, memory=before)
        assert not weights.any()
        predict = np.split(h, reader.roles, 2)[-1]
        np.testing.assert_allclose(y, np.tanh(predict @ reader.W_x + (0 if reader.b is None else reader.b)), atol=1e-14)
        grad = reader.zeros_like()
        dh = reader.backward(np.ones_like(y), np.ones_like(weights), cache, grad)
        assert not any(array.any() for _, array in grad.attention.named_parameters()) and not grad.W_r.any()
        np.testing.assert_allclose(np.split(dh, reader.roles, 2)[-1], (1 - y * y) @ reader.W_x.T, atol=1e-14)


# ---- memory, and one word at a time ---------------------------------------------------------------------------------------

@pytest.mark.parametrize("settings", [dict(carried=9), dict(roles=3, carried=9), dict(window=3, carried=3, roles=2),
                                      dict(score="single", window=2, carried=5), dict(order=4), dict(order=2)])
@pytest.mark.parametrize("cut", [1, 2, 4])
def test_windows_with_memory_are_one_long_window(rng, settings, cut):
    mask = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 1, 0], [1, 1, 0]], bool)
    if "order" in settings:
        reader = randomize(NGramReader.create(rng, P, K, carried=True, dtype=np.float64, **settings), rng)
    else:
        reader = reader_of(rng, **settings)
    h, memory, ys = rng.standard_normal((len(mask), B, P)), None, []
    y, _, weights, _ = reader.forward(h, mask)
    for window in (slice(0, cut), slice(cut, None)):
        part, memory, part_weights, _ = reader.forward(h[window], mask[window], memory)
        ys.append(part)
    np.testing.assert_allclose(np.concatenate(ys), y, atol=1e-14)
    if weights is not None:
        S = part_weights.shape[2]
        np.testing.assert_allclose(part_weights, weights[cut:, :, -S:], atol=1e-14)
        assert not weights[cut:, :, :-S].any()                # what is no longer remembered was out of reach
        assert memory[0].shape == (B, min(reader.carried, len(mask)), P)
    forgetful = reader.forward(h[cut:], mask[cut:])[0]
    assert (np.abs(forgetful - y[cut:]).max() > 1e-3) == (settings.get("order") != 2)        # a bigram has no past


def test_without_carried_there_is_no_memory(rng):
    for reader in (reader_of(rng), randomize(NGramReader.create(rng, P, K, dtype=np.float64), rng)):
        assert forward_of(reader, rng.standard_normal((T, B, P)))[1] is None


@pytest.mark.parametrize("window", [None, 2])
@pytest.mark.parametrize("attention", ATTENTION)
def test_word_by_word_is_the_whole_text(rng, attention, window):
    settings = {} if attention == "ngram" else {"window": window}
    model = AttentiveLanguageModel.create(rng, V, attention, hidden=6, dtype=np.float64, init=0.7, **settings)
    inputs, targets = rng.integers(4, V, (2, 7, B))
    text, state, total = TextBatch(inputs, targets, np.arange(B)), None, 0.0
    weights, _ = model.weights(text)
    for t in range(len(inputs)):
        log_probs, looked, state = model.next(inputs[t], state)
        total -= log_probs[np.arange(B), targets[t]].sum()
        np.testing.assert_allclose(np.exp(log_probs).sum(1), 1, rtol=1e-12)
        if attention == "ngram":
            assert looked is None and weights is None
        else:
            size = min(t, window or t)
            assert looked.shape == (B, size)
            np.testing.assert_allclose(looked, weights[t, :, t - size:t], atol=1e-13)
    assert total == pytest.approx(model.loss(text)[0], rel=1e-12)


# ---- extremes ---------------------------------------------------------------------------------------------------------------

def both_precisions(reader, h):
    """[y, α, dh, twin] of a reader in float64 and in float32."""
    results = []
    for dtype in (np.float64, np.float32):
        one = reader.astype(dtype)
        y, _, weights, cache = forward_of(one, h.astype(dtype))
        grad = one.zeros_like()
        upstream = [laws.upstream_of(array) if array is not None else None for array in (y, weights)]
        dh = one.backward(*upstream, cache, grad)
        assert y.dtype == dh.dtype == dtype and (weights is None or weights.dtype == dtype)
        results.append([y, dh, grad.vector] + ([] if weights is None else [weights]))
    return results


@pytest.mark.parametrize("steps", [1, 2, 500])
@pytest.mark.parametrize("name", [*READERS, "ngram"])
def test_short_and_long_texts_in_float32_are_what_float64_gives(rng, name, steps):
    double, single = both_precisions(any_reader(rng, name), rng.standard_normal((steps, B, P)))
    laws.assert_close(single, double, 2e-5)


@pytest.mark.parametrize("steps", [2, 500])
@pytest.mark.parametrize("name", READERS)
def test_huge_scores_in_float32_are_what_float64_gives(rng, name, steps):
    reader = reader_of(rng, **READERS[name])
    reader.attention.v *= 1e4 / np.abs(reader.attention.v).sum()                    # scores up to ±1e4
    double, single = both_precisions(reader, rng.standard_normal((steps, B, P)))
    assert np.abs(double[3][1:].sum(2) - 1).max() < 1e-12 and not double[3][0].any()
    laws.assert_close(single, double, 2e-2)                                         # 1e4 itself is rounded to 1e-3
