"""Baseline without attention: the context of every step is the last annotation of the source."""

from dataclasses import dataclass

from numpy_attention.attention.memory import Memory, sum_of_values
from numpy_attention.module import Module


@dataclass(eq=False)
class FixedVector(Module):
    """Baseline without attention: every context is h_S, the last annotation (Cho et al. 2014).

        α_j = 1             at the last token of the sentence, 0 elsewhere
        c   = Σ_j α_j h_j

    This is RNNenc of Bahdanau et al. 2015, section 4.2. Its weights can be plotted like any others.

    Shapes: values h (B, S, D), mask (B, S) → context (B, D), weights (B, S).
    """

    def read(self, values, mask):
        """Store values and mask in a Memory without keys.   values (B, S, D), mask (B, S)."""
        return Memory(values, None, mask)

    def step(self, query, memory, t):
        """Return h_S as the context of any query.   → context (B, D), weights (B, S), cache."""
        ahead = memory.mask[:, ::-1].cumsum(1)[:, ::-1]     # (B, S)   tokens from here to the end
        last = memory.mask & (ahead == 1)                   # (B, S)
        weights = last.astype(memory.values.dtype)
        return sum_of_values(weights, memory), weights, weights

    def step_backward(self, dcontext, dweights, cache, dmemory, grads):
        """Defer the gradient of the values; return None, because the query has no gradient."""
        weights = cache
        # c = Σ_j α_j h_j
        dmemory.defer("values", weights, dcontext)

    def read_backward(self, memory, dmemory, grads):
        """Return dvalues (B, S, D), which is 0 except at the last token of each sentence."""
        return dmemory.total_values()
