"""Location-based attention: the weights depend only on the query (Luong et al. 2015)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.softmax_attention import SoftmaxAttention
from numpy_attention.initializers import check_initial, glorot
from numpy_attention.module import Array
from numpy_attention.validation.arrays import check_parameters, check_sizes


@dataclass(eq=False)
class LocationAttention(SoftmaxAttention):
    """Location-based attention (Luong et al. 2015, equation 8).

        e = q W_a               W_a has S_max columns, of which the first S are used
        α = softmax(e)          over the unmasked positions
        c = Σ_j α_j h_j

    Shapes: query q (B, Q), values h (B, S, D), mask (B, S) → context c (B, D), weights α (B, S).
    """

    W_a: Array  # (Q, S_max)

    def __post_init__(self):
        check_parameters(self, W_a="QS")

    @classmethod
    def create(cls, rng, query_size, longest, init=glorot, dtype=np.float32):
        """Draw W_a. longest: S_max, the largest S. Raises ValueError if a size is below 1."""
        check_sizes(query_size=query_size, longest=longest)
        check_initial(rng, dtype, init)
        return cls(init(rng, (query_size, longest), dtype))

    def read(self, values, mask):
        """Store the values and the mask in a Memory without keys.   values (B, S, D), mask (B, S).

        Raises ValueError if S exceeds S_max, the number of columns of W_a.
        """
        memory = super().read(values, mask)
        S = values.shape[1]
        longest = self.W_a.shape[1]
        if S > longest:
            raise ValueError(f"the source has {S} positions including </s>, but location "
                             f"attention has weights for only {longest}; omit longer sentences, "
                             f"or build a model with longest={S}")
        return memory

    def score(self, query, memory):
        """Compute e = q W_a.   query (B, Q) → scores (B, S), and the query as the cache."""
        S = memory.mask.shape[1]
        return query @ self.W_a[:, :S], query

    def score_backward(self, dscores, query, memory, dmemory, grads):
        # e = q W_a
        dmemory.defer("W_a", query, dscores)
        S = dscores.shape[1]
        return dscores @ self.W_a[:, :S].T
