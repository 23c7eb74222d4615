"""Attention over a sequence's own past, for all its steps at once (Salton et al. 2017; Daniluk et al. 2017).

The decoder of a translator asks one question after another; a language model has all its states when the questions
begin, because attention does not feed back into the recurrence. So the steps share every product, and a causal mask
says what each may see.
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.initializers import glorot
from numpy_attention.kernels import scores as score_kernels
from numpy_attention.kernels import softmax as kernels
from numpy_attention.module import Array, Module
from numpy_attention.shapes import at_least, expect, expect_dtype, flat


def causal(mask, T, window=None):
    """What each of the last T positions may look at: the unmasked ones before it, at most `window` of them.

    mask (B, S), S ≥ T → (T, B, S). The position itself is excluded, so the first of all sees nothing. ValueError: a
    window below 1, or fewer than T positions.
    """
    S = mask.shape[1]
    if T > S or (window is not None and window < 1):
        raise ValueError(f"T = {T} steps over S = {S} positions with window = {window}: expected T ≤ S and a window of at "
                         "least 1, or None for no limit")
    distance = np.arange(S - T, S)[:, None] - np.arange(S)                  # (T, S)
    near = distance > 0 if window is None else (distance > 0) & (distance <= window)
    return near[:, None] & mask


class HistoryAttention(Module):
    """α_t = softmax(e_t) over what step t may see, r_t = Σ_i α_ti v_i; subclasses give the score e_ti.

    Shapes: queries (T, B, Q), keys (B, S, K), values (B, S, V), visible (T, B, S) → r (T, B, V), α (T, B, S).
    A step that sees nothing gets α = 0 and r = 0.

    A subclass has score(queries, keys, visible) → scores (T, B, S), cache, and score_backward(dscores, visible, cache,
    grad) → dqueries (None where the score does not look at it), dkeys.
    """

    def forward(self, queries, keys, values, visible):
        """→ r (T, B, V), weights α (T, B, S), cache."""
        expect("keys", keys, values.shape[:2] + (None,), "(B, S, K)", "memories are batch-major")
        expect("visible", visible, queries.shape[:2] + (keys.shape[1],), "(T, B, S)")
        scores, cache = self.score(queries, keys, visible)
        expect("scores", scores, visible.shape, "(T, B, S)")
        weights = np.empty_like(scores, order="C")          # scores may be a transposed product: flat would copy weights
        kernels.masked_softmax(flat(scores), flat(visible), flat(weights))
        contexts = np.empty(queries.shape[:2] + values.shape[2:], scores.dtype)
        np.matmul(weights.transpose(1, 0, 2), values, out=contexts.transpose(1, 0, 2))
        return contexts, weights, (values, visible, weights, cache)

    def backward(self, dcontexts, dweights, cache, grad):
        """From ∂L/∂r and ∂L/∂α (or None) → dqueries (or None), dkeys (B, S, K), dvalues (B, S, V)."""
        values, visible, weights, cache = cache
        # r_t = Σ_i α_ti v_i
        by_row = dcontexts.transpose(1, 0, 2)                                           # (B, T, V)
        dvalues = np.matmul(weights.transpose(1, 2, 0), by_row)
        total = np.empty_like(weights)
        np.matmul(by_row, values.transpose(0, 2, 1), out=total.transpose(1, 0, 2))
        if dweights is not None:
            total += dweights
        # α_t = softmax(e_t); where a step may not look α is 0, and so is the gradient
        dscores = np.empty_like(weights)
        kernels.masked_softmax_backward(flat(total), flat(weights), flat(dscores))
        dqueries, dkeys = self.score_backward(dscores, visible, cache, grad)
        return dqueries, dkeys, dvalues


@dataclass(eq=False)
class Combined(HistoryAttention):
    """e_ti = v · tanh(W_s k_i + W_q q_t): the score `combined` of Salton et al. 2017, without biases.

    Daniluk et al. 2017, equations 2 and 3, have it too: M = tanh(W^Y Y + W^h h_t), α = softmax(wᵀ M).
    """

    W_s: Array  # (K, A)
    W_q: Array  # (Q, A)
    v: Array    # (A,)

    @classmethod
    def create(cls, rng, query_size, key_size, size, init=glorot, dtype=np.float32):
        """size: A. ValueError: sizes below 1."""
        at_least(1, query_size=query_size, key_size=key_size, size=size)
        return cls(init(rng, (key_size, size), dtype), init(rng, (query_size, size), dtype),
                   init(rng, (size, 1), dtype)[:, 0].copy())

    def score(self, queries, keys, visible):
        expect("queries", queries, (None, None, len(self.W_q)), "(T, B, Q)")
        expect_dtype("queries", queries, self.W_q)
        expect_dtype("keys", keys, self.W_s)
        projected = (flat(queries) @ self.W_q).reshape(queries.shape[:2] + self.v.shape)
        projected_keys = (flat(keys) @ self.W_s).reshape(keys.shape[:2] + self.v.shape)
        scores = np.empty(visible.shape, projected.dtype)
        score_kernels.additive_scores(projected, projected_keys, self.v, visible, np.empty_like(self.v), scores)
        return scores, (queries, keys, projected, projected_keys)

    def score_backward(self, dscores, visible, cache, grad):
        queries, keys, projected, projected_keys = cache
        # e_ti = v · tanh(k'_i + q'_t)
        dprojected, dprojected_keys = np.empty_like(projected), np.zeros_like(projected_keys)
        score_kernels.additive_scores_backward(dscores, projected, projected_keys, self.v, visible, dprojected,
                                               dprojected_keys, grad.v)
        # k'_i = W_s k_i,  q'_t = W_q q_t
        grad.W_s += flat(keys).T @ flat(dprojected_keys)
        grad.W_q += flat(queries).T @ flat(dprojected)
        return ((flat(dprojected) @ self.W_q.T).reshape(queries.shape),
                (flat(dprojected_keys) @ self.W_s.T).reshape(keys.shape))


@dataclass(eq=False)
class Single(HistoryAttention):
    """e_i = v · tanh(W_s k_i): the score `single` of Salton et al. 2017, the same whoever asks; no biases."""

    W_s: Array  # (K, A)
    v: Array    # (A,)

    @classmethod
    def create(cls, rng, query_size, key_size, size, init=glorot, dtype=np.float32):
        """query_size is not used: the score does not look at the query. ValueError: sizes below 1."""
        at_least(1, key_size=key_size, size=size)
        return cls(init(rng, (key_size, size), dtype), init(rng, (size, 1), dtype)[:, 0].copy())

    def score(self, queries, keys, visible):
        expect_dtype("keys", keys, self.W_s)
        hidden = np.tanh(flat(keys) @ self.W_s)                                         # (B S, A)
        scores = np.empty(visible.shape, hidden.dtype)
        scores[:] = (hidden @ self.v).reshape(visible.shape[1:])
        return scores, (keys, hidden)

    def score_backward(self, dscores, visible, cache, grad):
        keys, hidden = cache
        # e_ti = e_i, whoever asks
        dscore = dscores.sum(0).ravel()                                                 # (B S,)
        # e_i = v · tanh(W_s k_i)
        grad.v += dscore @ hidden
        dhidden = dscore[:, None] * self.v * (1 - hidden**2)
        grad.W_s += flat(keys).T @ dhidden
        return None, (dhidden @ self.W_s.T).reshape(keys.shape)
