"""General attention: a matrix between the query and the values (Luong et al. 2015, section 3.1)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.attention.memory import Memory, attend, attend_backward, dot_scores, sum_of_values, sum_over_steps
from numpy_attention.initializers import glorot
from numpy_attention.module import Array, Module
from numpy_attention.shapes import at_least, expect, expect_dtype, flat


class Cache(NamedTuple):
    memory: Memory
    query: Array        # (B, Q)
    projected: Array    # (B, D)   q W_a
    weights: Array      # (B, S)


@dataclass(eq=False)
class GeneralAttention(Module):
    """General attention (Luong et al. 2015, section 3.1).

        e_j = qᵀ W_a h_j
        α   = softmax(e)        over the unmasked positions
        c   = Σ_j α_j h_j

    Shapes: query q (B, Q), values h (B, S, D), mask (B, S) → context c (B, D), weights α (B, S). The query is projected, not
    the values: one product a step instead of one a position.
    """

    W_a: Array  # (Q, D)

    @classmethod
    def create(cls, rng, query_size, value_size, init=glorot, dtype=np.float32):
        """W_a alone. ValueError: sizes below 1."""
        at_least(1, query_size=query_size, value_size=value_size)
        return cls(init(rng, (query_size, value_size), dtype))

    def read(self, values, mask):
        """values (B, S, D), mask (B, S) → Memory without keys."""
        expect("values", values, (None, None, self.W_a.shape[1]), "(B, S, D)", "memories are batch-major")
        expect_dtype("values", values, self.W_a)
        return Memory(values, None, mask)

    def step(self, query, memory):
        """query (B, Q) → context (B, D), weights (B, S), cache."""
        expect("query", query, (len(memory.values), len(self.W_a)), "(B, Q)")
        expect_dtype("query", query, self.W_a)
        projected = query @ self.W_a
        context, weights = attend(dot_scores(projected, memory), memory)
        return context, weights, Cache(memory, query, projected, weights)

    def step_backward(self, dcontext, dweights, cache, dmemory, grad):
        """→ dquery (B, Q); W_a and the values wait in dmemory."""
        memory, query, projected, weights = cache
        dscores = attend_backward(dcontext, dweights, weights, memory)
        # e_j = (q W_a) · h_j
        dprojected = sum_of_values(dscores, memory)
        dmemory.push(weights, dcontext, dscores, projected, query, dprojected)
        return dprojected @ self.W_a.T

    def read_backward(self, memory, dmemory, grad):
        """→ dvalues (B, S, D); adds to grad.W_a."""
        weights, dcontexts, dscores, projected, queries, dprojected = dmemory.stacked()
        grad.W_a += flat(queries).T @ flat(dprojected)
        return sum_over_steps(weights, dcontexts) + sum_over_steps(dscores, projected)
