"""Combined score: a small network scores each past state, given the query."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.attention.history import HistoryAttention
from numpy_attention.initializers import check_initial, glorot
from numpy_attention.kernels import scores as kernels
from numpy_attention.module import Array
from numpy_attention.validation.arrays import as_rows, check_parameters, check_sizes


class Cache(NamedTuple):
    queries: Array              # (T, B, Q)
    keys: Array                 # (B, S, K)
    projected: Array            # (T, B, A)   W_q q_t
    projected_keys: Array       # (B, S, A)   W_s k_i


@dataclass(eq=False)
class Combined(HistoryAttention):
    """Combined score: a small network scores each past state, given the query.

        e_ti = v · tanh(W_s k_i + W_q q_t)

    Salton et al. 2017 call this score `combined`; it has no biases here. Daniluk et al. 2017 use it
    in equations 2 and 3 for keys Y and query h_t: M = tanh(W^Y Y + W^h h_t), α = softmax(wᵀ M).
    """

    W_s: Array  # (K, A)
    W_q: Array  # (Q, A)
    v: Array    # (A,)

    def __post_init__(self):
        check_parameters(self, W_s="KA", W_q="QA", v="A")

    @classmethod
    def create(cls, rng, query_size, key_size, size, init=glorot, dtype=np.float32):
        """Draw the weights. size: A, the hidden size. Raises ValueError if a size is below 1."""
        check_sizes(query_size=query_size, key_size=key_size, size=size)
        check_initial(rng, dtype, init)
        W_s = init(rng, (key_size, size), dtype)
        W_q = init(rng, (query_size, size), dtype)
        v = init(rng, (size, 1), dtype)[:, 0].copy()
        return cls(W_s, W_q, v)

    def score(self, queries, keys, visible):
        """Score visible pairs of queries (T, B, Q) and keys (B, S, K) → scores (T, B, S), cache."""
        projected = as_rows(queries) @ self.W_q
        projected = projected.reshape(queries.shape[:2] + self.v.shape)         # (T, B, A)
        projected_keys = as_rows(keys) @ self.W_s
        projected_keys = projected_keys.reshape(keys.shape[:2] + self.v.shape)  # (B, S, A)
        scores = np.empty(visible.shape, projected.dtype)                       # (T, B, S)
        one_row = np.empty_like(self.v)
        kernels.additive_scores(projected, projected_keys, self.v, visible, one_row, scores)
        return scores, Cache(queries, keys, projected, projected_keys)

    def score_backward(self, dscores, visible, cache, grads):
        queries, keys, projected, projected_keys = cache
        # e_ti = v · tanh(projected_keys_i + projected_t)
        dprojected = np.empty_like(projected)                                   # (T, B, A)
        dprojected_keys = np.zeros_like(projected_keys)                         # (B, S, A)
        kernels.additive_scores_backward(dscores, projected, projected_keys, self.v, visible,
                                         dprojected, dprojected_keys, grads.v)
        # projected_t = W_q q_t
        grads.W_q += as_rows(queries).T @ as_rows(dprojected)
        dqueries = (as_rows(dprojected) @ self.W_q.T).reshape(queries.shape)       # (T, B, Q)
        # projected_keys_i = W_s k_i
        grads.W_s += as_rows(keys).T @ as_rows(dprojected_keys)
        dkeys = (as_rows(dprojected_keys) @ self.W_s.T).reshape(keys.shape)        # (B, S, K)
        return dqueries, dkeys
