"""General attention: a matrix between the query and the values (Luong et al. 2015, section 3.1)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.memory import dot_scores, sum_of_values
from numpy_attention.attention.softmax_attention import SoftmaxAttention
from numpy_attention.initializers import check_initial, glorot
from numpy_attention.module import Array
from numpy_attention.products import few_rows
from numpy_attention.validation.arrays import check_parameters, check_sizes


@dataclass(eq=False)
class GeneralAttention(SoftmaxAttention):
    """General attention (Luong et al. 2015, section 3.1).

        e_j = qᵀ W_a h_j
        α   = softmax(e)        over the unmasked positions
        c   = Σ_j α_j h_j

    Shapes: query q (B, Q), values h (B, S, D), mask (B, S) → context c (B, D), weights α (B, S).
    The code computes (q W_a) · h_j, so W_a multiplies one query per step instead of S values.
    """

    W_a: Array  # (Q, D)

    def __post_init__(self):
        check_parameters(self, W_a="QD")

    @classmethod
    def create(cls, rng, query_size, value_size, init=glorot, dtype=np.float32):
        """Draw W_a. Raises ValueError if a size is below 1."""
        check_sizes(query_size=query_size, value_size=value_size)
        check_initial(rng, dtype, init)
        return cls(init(rng, (query_size, value_size), dtype))

    @property
    def value_size(self):
        return self.W_a.shape[1]

    def score(self, query, memory):
        """Compute e_j = (q W_a) · h_j.   query (B, Q) → scores (B, S), cache."""
        projected = query @ few_rows(self.W_a, len(query))                      # (B, D)
        return dot_scores(projected, memory), (query, projected)

    def score_backward(self, dscores, cache, memory, dmemory, grads):
        query, projected = cache
        # e_j = (q W_a) · h_j
        dmemory.defer("values", dscores, projected)
        dprojected = sum_of_values(dscores, memory)                             # (B, D)
        # projected = q W_a
        dmemory.defer("W_a", query, dprojected)
        return dprojected @ few_rows(self.W_a.T, len(dprojected))
