"""Dot-product attention: the query's own coordinates pick the position (Luong et al. 2015)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.memory import dot_scores, sum_of_values
from numpy_attention.attention.softmax_attention import SoftmaxAttention
from numpy_attention.shapes import expect, expect_sizes

ADVICE = "dot needs queries of the values' size; general has a matrix between"


@dataclass(eq=False)
class DotAttention(SoftmaxAttention):
    """Dot-product attention (Luong et al. 2015, section 3.1).

        e_j = q · h_j
        α   = softmax(e)        over the unmasked positions
        c   = Σ_j α_j h_j

    Shapes: query q (B, D), values h (B, S, D), mask (B, S) → context c (B, D), weights α (B, S).
    No parameters, so query and values must have one size and agree on what each coordinate means.
    """

    @classmethod
    def create(cls, rng, query_size, value_size):
        """There is nothing to draw. ValueError: sizes that differ."""
        expect_sizes(query_size=query_size, value_size=value_size)
        if query_size != value_size:
            raise ValueError(f"query_size = {query_size}, value_size = {value_size}: {ADVICE}")
        return cls()

    def score(self, query, memory):
        """e_j = q · h_j. ValueError: a query of another size than the values."""
        B, _, D = memory.values.shape
        expect("query", query, (B, D), "(B, D)", ADVICE)
        return dot_scores(query, memory), query

    def score_backward(self, dscores, query, memory, dmemory, grad):
        # e_j = q · h_j
        dmemory.later("values", dscores, query)
        return sum_of_values(dscores, memory)


@dataclass(eq=False)
class ScaledDotAttention(DotAttention):
    """e_j = q · h_j / √D: dot attention as Vaswani et al. 2017 scale it, equation 1 with K = V."""

    def score(self, query, memory):
        """e_j = (q / √D) · h_j. ValueError: a query of another size than the values."""
        return super().score(_scaled(query), memory)

    def score_backward(self, dscores, scaled, memory, dmemory, grad):
        # e_j = (q / √D) · h_j
        return _scaled(super().score_backward(dscores, scaled, memory, dmemory, grad))


def _scaled(x):
    return x / x.dtype.type(np.sqrt(x.shape[1]))
