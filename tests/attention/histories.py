"""What the tests of attention over a history share: the equations with whole arrays, readers."""

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
    "two roles": dict(roles=2, window=2),
    "three roles": dict(roles=3),
    "memory": dict(roles=3, carried=4),
    "linear": dict(roles=2, activation="linear"),
    "memory and window": dict(roles=2, window=3, carried=3, bias=True),
}


def key_value(rng, name=None, **settings):
    """A KeyValueReadout of one of HISTORY_READOUTS, or with settings."""
    settings = HISTORY_READOUTS[name] if name else settings
    return randomize(KeyValueReadout.create(rng, H, K, dtype=np.float64, **settings), rng)


def ngram(rng, order=4, carried=False, **settings):
    return randomize(NGramReadout.create(rng, H, K, order, carried, dtype=np.float64, **settings),
                     rng)


def squash(reader):
    """What the reader makes of its sum."""
    return {"tanh": np.tanh, "linear": np.asarray}[reader.activation]


def forward(reader, h):
    """Without padding and memory."""
    return reader.forward(h, np.ones(h.shape[:2], bool))


def memory_of(rng, size):
    return rng.standard_normal((B, size, H)), rng.integers(0, 2, (B, size)).astype(bool)


# ---- the equations with whole arrays -------------------------------------------------------------


def plain_softmax(scores, visible):
    e = np.where(visible, np.exp(scores), 0)
    total = e.sum(2, keepdims=True)
    return np.divide(e, total, out=np.zeros_like(e), where=total > 0)


def plain_visible(known, steps, window):
    """visible[t, b, s], asked of every position on its own."""
    first = known.shape[1] - steps

    def sees(t, b, s):
        distance = first + t - s
        return known[b, s] and distance > 0 and (window is None or distance <= window)
    B, S = known.shape
    return np.array([[[sees(t, b, s) for s in range(S)] for b in range(B)] for t in range(steps)])


def plain_scores(attention, queries, keys):
    """e (T, B, S) by broadcasting over (T, B, S, A)."""
    hidden = (keys @ attention.W_s)[None]
    if hasattr(attention, "W_q"):
        hidden = hidden + (queries @ attention.W_q)[:, :, None]
    shape = queries.shape[:2] + keys.shape[1:2]
    return np.broadcast_to(np.tanh(hidden) @ attention.v, shape)


def follows_the_plain_form(attention, window, rng):
    """A score over its own history, two positions before the first step."""
    queries = rng.standard_normal((T, B, H))
    keys = rng.standard_normal((B, T + 2, K))
    values = rng.standard_normal((B, T + 2, D))
    _, before = memory_of(rng, 2)
    visible = plain_visible(np.concatenate([before, MASK.T], 1), T, window)
    r, weights, _ = attention.forward(queries, keys, values, visible)
    wanted = plain_softmax(plain_scores(attention, queries, keys), visible)
    np.testing.assert_allclose(weights, wanted, atol=1e-14)
    np.testing.assert_allclose(r, (wanted[..., None] * values).sum(2), atol=1e-14)


# ---- what every reader keeps ---------------------------------------------------------------------


def future_never_matters(reader, rng):
    h = rng.standard_normal((T, B, H))
    y, _, weights, _ = forward(reader, h)
    for t in range(1, T):
        changed = h.copy()
        changed[t:] = 10 * rng.standard_normal((T - t, B, H))
        other, _, other_weights, cache = forward(reader, changed)
        np.testing.assert_allclose(other[:t], y[:t], rtol=1e-12)
        assert (np.abs(other[t] - y[t]).max(1) > 1e-6).all()
        if weights is not None:
            np.testing.assert_allclose(other_weights[:t], weights[:t], atol=1e-12)
        dy = np.concatenate([np.ones((t, B, K)), np.zeros((T - t, B, K))])
        assert not reader.backward(dy, None, cache, reader.zeros_like())[t:].any()


def chunks_with_memory_are_one_long_text(reader, cut, rng):
    """→ y and weights of the whole; of the second chunk memory, weights, and y without memory."""
    mask = np.array([[1, 1, 1], [1, 1, 1], [1, 1, 1], [1, 1, 0], [1, 1, 0], [1, 1, 0]], bool)
    h = rng.standard_normal((len(mask), B, H))
    y, _, weights, _ = reader.forward(h, mask)
    first, memory, _, _ = reader.forward(h[:cut], mask[:cut])
    second, memory, part, _ = reader.forward(h[cut:], mask[cut:], memory)
    np.testing.assert_allclose(np.concatenate([first, second]), y, atol=1e-14)
    forgetful = reader.forward(h[cut:], mask[cut:])[0]
    return y, weights, memory, part, forgetful


def both_precisions(reader, h):
    """[y, dh, grads, and α if there is one] of a reader in float64 and in float32."""
    results = []
    for dtype in (np.float64, np.float32):
        one = reader.astype(dtype)
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
