"""Single score: a small network scores each past state, and the query has no effect."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.history import HistoryAttention
from numpy_attention.initializers import check_initial, glorot
from numpy_attention.module import Array
from numpy_attention.validation.arrays import as_rows, check_parameters, check_sizes


@dataclass(eq=False)
class Single(HistoryAttention):
    """Single score: a small network scores each past state, independently of the query.

        e_ti = e_i = v · tanh(W_s k_i)

    Salton et al. 2017 call this score `single`. It has no biases here.
    """

    W_s: Array  # (K, A)
    v: Array    # (A,)

    def __post_init__(self):
        check_parameters(self, W_s="KA", v="A")

    @classmethod
    def create(cls, rng, query_size, key_size, size, init=glorot, dtype=np.float32):
        """Draw the weights. size: A, the hidden size. query_size has no effect.

        Raises ValueError if a size is below 1.
        """
        check_sizes(key_size=key_size, size=size)
        check_initial(rng, dtype, init)
        W_s = init(rng, (key_size, size), dtype)
        v = init(rng, (size, 1), dtype)[:, 0].copy()
        return cls(W_s, v)

    def score(self, queries, keys, visible):
        """Compute e_ti = e_i.   keys (B, S, K) → scores (T, B, S), cache."""
        hidden = np.tanh(as_rows(keys) @ self.W_s)                              # (N, A)   N = B · S
        scores = np.empty(visible.shape, hidden.dtype)                          # (T, B, S)
        scores[:] = (hidden @ self.v).reshape(visible.shape[1:])
        return scores, (keys, hidden)

    def score_backward(self, dscores, visible, cache, grads):
        keys, hidden = cache
        # e_ti = e_i
        dscore = dscores.sum(0).ravel()                                         # (N,)
        # e_i = v · hidden_i
        grads.v += dscore @ hidden
        # hidden_i = tanh(W_s k_i)
        dhidden = dscore[:, None] * self.v * (1 - hidden**2)                    # (N, A)
        grads.W_s += as_rows(keys).T @ dhidden
        return None, (dhidden @ self.W_s.T).reshape(keys.shape)
