"""Dot-product attention: the query's own coordinates pick the position (Luong et al. 2015, section 3.1)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.attention.memory import Memory, attend, attend_backward, dot_scores, sum_of_values, sum_over_steps
from numpy_attention.module import Array, Module
from numpy_attention.shapes import expect, expect_dtype


class Cache(NamedTuple):
    memory: Memory
    query: Array        # (B, D)
    weights: Array      # (B, S)


@dataclass(eq=False)
class DotAttention(Module):
    """Dot-product attention (Luong et al. 2015, section 3.1); scaled: Vaswani et al. 2017, equation 1, with K = V.

        e_j = q · h_j,  or q · h_j / √D where scaled
        α   = softmax(e)        over the unmasked positions
        c   = Σ_j α_j h_j

    Shapes: query q (B, D), values h (B, S, D), mask (B, S) → context c (B, D), weights α (B, S). No parameters, so query
    and values must have one size and agree on what each coordinate means.
    """

    scaled: bool = False

    def read(self, values, mask):
        """values (B, S, D), mask (B, S) → Memory; the values are the keys."""
        return Memory(values, None, mask)

    def step(self, query, memory):
        """query (B, D) → context (B, D), weights (B, S), cache. ValueError, TypeError: not of the values' size or dtype."""
        B, _, D = memory.values.shape
        expect("query", query, (B, D), "(B, D)", "dot needs queries of the values' size; general has a matrix between")
        expect_dtype("query", query, memory.values)
        scores = dot_scores(self._scale(query), memory)
        context, weights = attend(scores, memory)
        return context, weights, Cache(memory, query, weights)

    def step_backward(self, dcontext, dweights, cache, dmemory, grad=None):
        """→ dquery (B, D); what flows into the values waits in dmemory."""
        memory, query, weights = cache
        dscores = attend_backward(dcontext, dweights, weights, memory)
        # e_j = scale q · h_j
        dmemory.push(weights, dcontext, dscores, self._scale(query))
        return self._scale(sum_of_values(dscores, memory))

    def read_backward(self, memory, dmemory, grad=None):
        """→ dvalues (B, S, D) = Σ_t α_t dc_t + Σ_t de_t q_t, two products a sentence."""
        weights, dcontexts, dscores, queries = dmemory.stacked()
        return sum_over_steps(weights, dcontexts) + sum_over_steps(dscores, queries)

    def _scale(self, query):
        return query / query.dtype.type(np.sqrt(query.shape[1])) if self.scaled else query
