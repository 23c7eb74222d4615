"""Shared by the tests of attention over a history: readouts and reference implementations."""

import laws
import numpy as np

from numpy_attention.attention.key_value import KeyValueReadout
from numpy_attention.attention.ngram import NGramReadout
from numpy_attention.gradcheck import randomize

T, B, K, H, A, D = 5, 3, 4, 6, 7, 9
MASK = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 0, 0], [1, 0, 0]], bool)      # (T, B), ragged
HISTORY_READOUTS = {
    "Salton, single": dict(score="single", bias=True),
    "Salton, combined": dict(bias=True),
    "Daniluk, one role": dict(),
    "two parts": dict(parts=2, window=2),
    "three parts": dict(parts=3),
    "memory": dict(parts=3, carried=4),
    "linear": dict(parts=2, activation="linear"),
    "memory and window": dict(parts=2, window=3, carried=3, bias=True),
}


def key_value(rng, name=None, **settings):
    """Return a KeyValueReadout: one of HISTORY_READOUTS, or one with these settings."""
    settings = HISTORY_READOUTS[name] if name else settings
    return randomize(KeyValueReadout.create(rng, H, K, dtype=np.float64, **settings), rng)


def ngram(rng, order=4, carried=False, **settings):
    return randomize(NGramReadout.create(rng, H, K, order, carried, dtype=np.float64, **settings),
                     rng)


def squash(readout):
    """Return the readout's activation function."""
    return {"tanh": np.tanh, "linear": np.asarray}[readout.activation]


def forward(readout, h):
    """Call forward without padding and without a memory."""
    return readout.forward(h, np.ones(h.shape[:2], bool))


def memory_of(rng, size):
    return rng.standard_normal((B, size, H)), rng.integers(0, 2, (B, size)).astype(bool)


# ---- reference implementations ------------------------------------------------------------------


def reference_softmax(scores, visible):
    e = np.where(visible, np.exp(scores), 0)
    total = e.sum(2, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


def reference_visible(known, steps, window):
    """Return visible[t, b, s], computed element by element."""
    first = known.shape[1] - steps

    def sees(t, b, s):
        distance = first + t - s
        return known[b, s] and distance > 0 and (window is None or distance <= window)
    B, S = known.shape
    return np.array([[[sees(t, b, s) for s in range(S)] for b in range(B)] for t in range(steps)])


def reference_scores(attention, queries, keys):
    """Return e (T, B, S) by broadcasting over (T, B, S, A)."""
    hidden = (keys @ attention.W_s)[None]
    if hasattr(attention, "W_q"):
        hidden = hidden + (queries @ attention.W_q)[:, :, None]
    shape = queries.shape[:2] + keys.shape[1:2]
    return np.broadcast_to(np.tanh(hidden) @ attention.v, shape)


def matches_reference(attention, window, rng):
    """Compare a score with the reference implementation; two positions precede the first step."""
    queries = rng.standard_normal((T, B, H))
    keys = rng.standard_normal((B, T + 2, K))
    values = rng.standard_normal((B, T + 2, D))
    _, before = memory_of(rng, 2)
    visible = reference_visible(np.concatenate([before, MASK.T], 1), T, window)
    r, weights, _ = attention.forward(queries, keys, values, visible)
    wanted = reference_softmax(reference_scores(attention, queries, keys), visible)
    np.testing.assert_allclose(weights, wanted, atol=1e-14)
    np.testing.assert_allclose(r, (wanted[..., None] * values).sum(2), atol=1e-14)


# ---- checks for every readout --------------------------------------------------------------------


def check_future_is_ignored(readout, rng):
    h = rng.standard_normal((T, B, H))
    y, _, weights, _ = forward(readout, h)
    for t in range(1, T):
        changed = h.copy()
        changed[t:] = 10 * rng.standard_normal((T - t, B, H))
        other, _, other_weights, cache = forward(readout, changed)
        np.testing.assert_allclose(other[:t], y[:t], rtol=1e-12)
        assert (np.abs(other[t] - y[t]).max(1) > 1e-6).all()
        if weights is not None:
            np.testing.assert_allclose(other_weights[:t], weights[:t], atol=1e-12)
        dy = np.concatenate([np.ones((t, B, K)), np.zeros((T - t, B, K))])
        assert not readout.backward(dy, None, cache, readout.zeros_like())[t:].any()


def check_chunks_with_memory(readout, cut, rng):
    """Return y and weights of the whole text, and memory, weights and y (no memory) of chunk 2."""
    mask = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 1, 0], [1, 1, 0]], bool)
    h = rng.standard_normal((len(mask), B, H))
    y, _, weights, _ = readout.forward(h, mask)
    first, memory, _, _ = readout.forward(h[:cut], mask[:cut])
    second, memory, part, _ = readout.forward(h[cut:], mask[cut:], memory)
    np.testing.assert_allclose(np.concatenate([first, second]), y, atol=1e-14)
    forgetful = readout.forward(h[cut:], mask[cut:])[0]
    return y, weights, memory, part, forgetful


def both_precisions(readout, h):
    """Return [y, dh, grads, and α if there is one] of a readout in float64 and in float32."""
    results = []
    for dtype in (np.float64, np.float32):
        one = readout.astype(dtype)
        y, _, weights, cache = forward(one, h.astype(dtype))
        grads = one.zeros_like()
        dy, dweights = laws.upstream_of((y, weights))
        dh = one.backward(dy, dweights, cache, grads)
        assert y.dtype == dh.dtype == dtype
        found = [y, dh, grads.vector]
        if weights is not None:
            assert weights.dtype == dtype
            found.append(weights)
        results.append(found)
    return results
