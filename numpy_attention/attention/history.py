"""Attention over the past: all steps of a sequence at once (Salton et al., Daniluk et al. 2017).

A translator's decoder computes one query after another. A language model has all its states before
the first query, because attention does not feed back into the recurrence. One product therefore
serves all steps, and a causal mask determines which positions each step may attend to.
"""

from typing import Any, NamedTuple

import numpy as np

from numpy_attention.attention.softmax import masked_softmax, masked_softmax_backward
from numpy_attention.module import Array, Module
from numpy_attention.validation.results import check_returned


def causal(mask, T, window=None):
    """Return the causal mask of the last T positions: mask (B, S) → visible (T, B, S).

    The queries are the last T of the S positions, with S ≥ T. visible is True at the unmasked
    positions before a query or, with a window, at those at most `window` steps before it. It is
    False at the query's own position, so the first query sees nothing if S = T.
    """
    S = mask.shape[1]
    distance = np.arange(S - T, S)[:, None] - np.arange(S)                      # (T, S)
    near = distance > 0                                                         # (T, S)
    if window is not None:
        near &= distance <= window
    return near[:, None] & mask


class Cache(NamedTuple):
    values: Array       # (B, S, D)
    visible: Array      # (T, B, S)
    weights: Array      # (T, B, S)
    scored: Any         # the cache of `score`


class HistoryAttention(Module):
    """Base class of attention over a language model's own past; subclasses define the score.

        e_ti = score(q_t, k_i)      the part that a subclass defines
        α_t  = softmax(e_t)         over the positions that step t may attend to
        r_t  = Σ_i α_ti v_i

    Shapes: queries (T, B, Q), keys (B, S, K), values (B, S, D), visible (T, B, S) → r (T, B, D),
    α (T, B, S). If nothing is visible, α = 0 and r = 0.

    A subclass defines create(rng, query_size, key_size, size, init, dtype), where `size` is the
    size of the score's hidden layer, and two methods:

        scores, cache   = score(queries, keys, visible)                     e (T, B, S)
        dqueries, dkeys = score_backward(dscores, visible, cache, grads)

    dqueries is None if the score does not use the queries.
    """

    def attention_weights(self, scores, visible):
        """Return the masked softmax of the scores. An ablation (`ablate`) replaces this method."""
        return masked_softmax(scores, visible)

    def forward(self, queries, keys, values, visible):
        """Attend in all steps at once → contexts r (T, B, D), weights α (T, B, S), cache."""
        scored = self.score(queries, keys, visible)
        check_returned(self.score, scored, "scores", visible.shape, "(T, B, S)", "cache")
        scores, scored = scored
        weights = self.attention_weights(scores, visible)                                # (T, B, S)
        # r_t = Σ_i α_ti v_i
        contexts = np.empty(queries.shape[:2] + values.shape[2:], scores.dtype)     # (T, B, D)
        np.matmul(weights.transpose(1, 0, 2), values, out=contexts.transpose(1, 0, 2))
        return contexts, weights, Cache(values, visible, weights, scored)

    def backward(self, dcontexts, dweights, cache, grads):
        """Return the gradients of the queries, the keys and the values.

        dcontexts (T, B, D), dweights (T, B, S) or None → dqueries (T, B, Q), dkeys (B, S, K),
        dvalues (B, S, D). dqueries is None if the score does not use the queries.
        """
        values, visible, weights, scored = cache
        # r_t = Σ_i α_ti v_i
        by_row = dcontexts.transpose(1, 0, 2)                                   # (B, T, D)
        dvalues = np.matmul(weights.transpose(1, 2, 0), by_row)                 # (B, S, D)
        dalpha = np.empty_like(weights)                                         # (T, B, S)
        np.matmul(by_row, values.transpose(0, 2, 1), out=dalpha.transpose(1, 0, 2))
        if dweights is not None:
            dalpha += dweights
        # α_t = softmax(e_t); at masked positions α is 0, and so is the gradient
        dscores = masked_softmax_backward(dalpha, weights)                      # (T, B, S)
        # e_ti = score(q_t, k_i)
        found = self.score_backward(dscores, visible, scored, grads)
        check_returned(self.score_backward, found, "dqueries", (*visible.shape[:2], None),
                       "(T, B, Q)", "dkeys", optional=True)
        dqueries, dkeys = found
        return dqueries, dkeys, dvalues
