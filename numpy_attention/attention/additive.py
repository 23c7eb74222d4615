"""Additive attention: a small feed-forward network scores each position (Bahdanau et al. 2015)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.softmax_attention import SoftmaxAttention
from numpy_attention.initializers import check_initial, glorot
from numpy_attention.kernels import scores as kernels
from numpy_attention.module import Array
from numpy_attention.products import few_rows
from numpy_attention.validation.arrays import as_rows, check_parameters, check_sizes


@dataclass(eq=False)
class AdditiveAttention(SoftmaxAttention):
    """Additive attention (Bahdanau et al. 2015, sections 3.1 and A.1.2).

        e_j = v_a · tanh(W_a q + U_a h_j)      score of position j
        α   = softmax(e)                       over the unmasked positions
        c   = Σ_j α_j h_j                      context

    Luong et al. 2015 call this score concat.

    Shapes: query q (B, Q), values h (B, S, D), mask (B, S) → context c (B, D), weights α (B, S).
    """

    W_a: Array  # (Q, A)
    U_a: Array  # (D, A)
    v_a: Array  # (A,)

    def __post_init__(self):
        check_parameters(self, W_a="QA", U_a="DA", v_a="A")

    @classmethod
    def create(cls, rng, query_size, value_size, size, init=glorot, init_v=None, dtype=np.float32):
        """Draw the weights. size: A, the hidden size. init_v: for v_a; by default, `init`.

        In the paper, v_a is initially 0. Raises ValueError if a size is below 1.
        """
        check_sizes(query_size=query_size, value_size=value_size, size=size)
        check_initial(rng, dtype, init, init_v or init)
        v_a = (init_v or init)(rng, (size, 1), dtype)[:, 0].copy()
        W_a = init(rng, (query_size, size), dtype)
        U_a = init(rng, (value_size, size), dtype)
        return cls(W_a, U_a, v_a)

    @property
    def value_size(self):
        return len(self.U_a)

    def read(self, values, mask):
        """Compute the keys k_j = U_a h_j in one product and return a Memory.

        values (B, S, D), mask (B, S). Raises ValueError if U_a does not have D rows, and TypeError
        if the values do not have the dtype of the weights.
        """
        memory = super().read(values, mask)
        keys = as_rows(values) @ self.U_a
        memory.keys = keys.reshape(values.shape[:2] + self.v_a.shape)           # (B, S, A)
        return memory

    def score(self, query, memory):
        """Compute e_j = v_a · tanh(W_a q + k_j).   query (B, Q) → scores (B, S), cache."""
        projected = query @ few_rows(self.W_a, len(query))                      # (B, A)
        scores = np.empty(memory.mask.shape, query.dtype)                       # (B, S)
        one_row = np.empty_like(self.v_a)
        kernels.additive_scores(projected[None], memory.keys, self.v_a, memory.mask[None], one_row,
                                scores[None])
        return scores, (query, projected)

    def score_backward(self, dscores, cache, memory, dmemory, grads):
        query, projected = cache
        # e_j = v_a · tanh(projected + k_j)
        dprojected = np.empty_like(projected)                                   # (B, A)
        kernels.additive_scores_backward(dscores[None], projected[None], memory.keys, self.v_a,
                                         memory.mask[None], dprojected[None], dmemory.keys,
                                         grads.v_a)
        # projected = W_a q
        dmemory.defer("W_a", query, dprojected)
        return dprojected @ few_rows(self.W_a.T, len(dprojected))

    def read_backward(self, memory, dmemory, grads):
        """Return dvalues (B, S, D); add the gradients of W_a and U_a to grads."""
        dvalues = super().read_backward(memory, dmemory, grads)
        # k_j = U_a h_j
        grads.U_a += as_rows(memory.values).T @ as_rows(dmemory.keys)
        dvalues += (as_rows(dmemory.keys) @ self.U_a.T).reshape(dvalues.shape)
        return dvalues
