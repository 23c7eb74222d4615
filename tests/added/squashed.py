"""A score that is not in the package, as a user would write it in a separate file."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.memory import dot_scores, sum_of_values
from numpy_attention.attention.softmax_attention import SoftmaxAttention
from numpy_attention.initializers import glorot
from numpy_attention.module import Array


@dataclass(eq=False)
class SquashedAttention(SoftmaxAttention):
    """e_j = tanh(q W_a) · h_j: general attention whose query stays in (−1, 1).

    Shapes: query q (B, Q), values h (B, S, D), mask (B, S) → context c (B, D), weights α (B, S).
    """

    W_a: Array  # (Q, D)

    @classmethod
    def create(cls, rng, query_size, value_size, init=glorot, dtype=np.float32):
        return cls(init(rng, (query_size, value_size), dtype))

    def score(self, query, memory):
        squashed = np.tanh(query @ self.W_a)                                    # (B, D)
        return dot_scores(squashed, memory), (query, squashed)

    def score_backward(self, dscores, cache, memory, dmemory, grads):
        query, squashed = cache
        # e_j = squashed · h_j
        dmemory.defer("values", dscores, squashed)
        dsquashed = sum_of_values(dscores, memory)                              # (B, D)
        # squashed = tanh(q W_a)
        da = dsquashed * (1 - squashed**2)                                      # (B, D)
        dmemory.defer("W_a", query, da)
        return da @ self.W_a.T
