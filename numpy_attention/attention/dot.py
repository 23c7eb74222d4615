"""Dot-product attention: the score is the dot product of query and value (Luong et al. 2015)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.memory import dot_scores, sum_of_values
from numpy_attention.attention.softmax_attention import SoftmaxAttention
from numpy_attention.initializers import check_initial, glorot
from numpy_attention.module import Array
from numpy_attention.products import few_rows
from numpy_attention.validation.arrays import check_parameters, check_sizes


@dataclass(eq=False)
class DotAttention(SoftmaxAttention):
    """Dot-product attention (Luong et al. 2015, section 3.1).

        e_j = q · h_j
        α   = softmax(e)        over the unmasked positions
        c   = Σ_j α_j h_j

    Shapes: query q (B, D), values h (B, S, D), mask (B, S) → context c (B, D), weights α (B, S).
    There are no parameters, so a query and a value must have the same size, and each coordinate
    must mean the same in both.
    """

    @classmethod
    def create(cls, rng, query_size, value_size):
        """Build the attention, which has no parameters. Raises ValueError if the sizes differ."""
        check_sizes(query_size=query_size, value_size=value_size)
        if query_size != value_size:
            raise ValueError(f"query_size ({query_size}) must equal value_size ({value_size}) in "
                             "dot attention, which has no weight matrix; choose attention = "
                             "'general' or 'scaled-dot'")
        return cls()

    def score(self, query, memory):
        """Compute e_j = q · h_j.   query (B, D) → scores (B, S), and the query as the cache."""
        return dot_scores(query, memory), query

    def score_backward(self, dscores, query, memory, dmemory, grads):
        # e_j = q · h_j
        dmemory.defer("values", dscores, query)
        return sum_of_values(dscores, memory)


@dataclass(eq=False)
class ScaledDotAttention(SoftmaxAttention):
    """Scaled dot-product attention (Vaswani et al. 2017, equation 1), with the values as keys.

        e_j = q · h_j / √D              if queries and values have the same size
        e_j = (q W_a) · h_j / √D        if not, as in RNNsearch with annotations [→h_j; ←h_j]

    Shapes: query q (B, Q), values h (B, S, D), mask (B, S) → context c (B, D), weights α (B, S).

    Vaswani et al. first project queries and keys to q W_q and h_j W_k. The dot product of these two
    is (q W_a) · h_j with W_a = W_q W_kᵀ. `GeneralAttention` has the same score without 1/√D.
    Multi-head attention with one head keeps W_q and W_k, projects the values too, and scales by
    1/√d_k, where d_k is the number of columns of W_q.
    """

    W_a: Array | None = None  # (Q, D)

    def __post_init__(self):
        check_parameters(self, W_a="QD")

    @classmethod
    def create(cls, rng, query_size, value_size, init=glorot, dtype=np.float32):
        """Build the attention; W_a is None for equal sizes. Raises ValueError for sizes below 1."""
        check_sizes(query_size=query_size, value_size=value_size)
        if query_size == value_size:
            return cls()
        check_initial(rng, dtype, init)
        return cls(init(rng, (query_size, value_size), dtype))

    @property
    def value_size(self):
        return None if self.W_a is None else self.W_a.shape[1]

    def score(self, query, memory):
        """Compute e_j = (q W_a / √D) · h_j.   query (B, Q) → scores (B, S), cache."""
        projected = query if self.W_a is None else query @ few_rows(self.W_a, len(query))
        scaled = _scaled(projected)                                             # (B, D)
        return dot_scores(scaled, memory), (query, scaled)

    def score_backward(self, dscores, cache, memory, dmemory, grads):
        query, scaled = cache
        # e_j = scaled · h_j
        dmemory.defer("values", dscores, scaled)
        # scaled = projected / √D
        dprojected = _scaled(sum_of_values(dscores, memory))                    # (B, D)
        if self.W_a is None:
            return dprojected
        # projected = q W_a
        dmemory.defer("W_a", query, dprojected)
        return dprojected @ few_rows(self.W_a.T, len(dprojected))


def _scaled(x):
    """Return x (B, D) / √D."""
    return x / x.dtype.type(np.sqrt(x.shape[1]))
