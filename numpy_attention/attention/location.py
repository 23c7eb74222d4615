"""Location-based attention: where to look, without looking at what stands there (Luong et al. 2015, section 3.1)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.attention.memory import Memory, attend, attend_backward, sum_over_steps
from numpy_attention.initializers import glorot
from numpy_attention.module import Array, Module
from numpy_attention.shapes import at_least, expect, expect_dtype, flat


class Cache(NamedTuple):
    memory: Memory
    query: Array        # (B, Q)
    weights: Array      # (B, S)


@dataclass(eq=False)
class LocationAttention(Module):
    """Location-based attention (Luong et al. 2015, equation 8).

        α = softmax(q W_a)      a column for each position; the first S of them, over the unmasked positions
        c = Σ_j α_j h_j

    Shapes: query q (B, Q), values h (B, S, D), S ≤ S_max, mask (B, S) → context c (B, D), weights α (B, S).
    """

    W_a: Array  # (Q, S_max)

    @classmethod
    def create(cls, rng, query_size, longest, init=glorot, dtype=np.float32):
        """longest: S_max, the longest source with its </s>. ValueError: sizes below 1."""
        at_least(1, query_size=query_size, longest=longest)
        return cls(init(rng, (query_size, longest), dtype))

    def read(self, values, mask):
        """values (B, S, D), mask (B, S) → Memory without keys. ValueError: a source longer than S_max."""
        memory = Memory(values, None, mask)
        expect_dtype("values", values, self.W_a)
        if values.shape[1] > self.W_a.shape[1]:
            raise ValueError(f"a source of {values.shape[1]} positions (</s> included), but location attention has columns "
                             f"for {self.W_a.shape[1]}: leave out longer sentences, or build the model for longer ones")
        return memory

    def step(self, query, memory):
        """query (B, Q) → context (B, D), weights (B, S), cache."""
        expect("query", query, (len(memory.values), len(self.W_a)), "(B, Q)")
        expect_dtype("query", query, self.W_a)
        context, weights = attend(query @ self.W_a[:, :memory.values.shape[1]], memory)
        return context, weights, Cache(memory, query, weights)

    def step_backward(self, dcontext, dweights, cache, dmemory, grad):
        """→ dquery (B, Q); W_a and the values wait in dmemory."""
        memory, query, weights = cache
        dscores = attend_backward(dcontext, dweights, weights, memory)
        # e = q W_a
        dmemory.push(weights, dcontext, dscores, query)
        return dscores @ self.W_a[:, :dscores.shape[1]].T

    def read_backward(self, memory, dmemory, grad):
        """→ dvalues (B, S, D); adds to grad.W_a."""
        weights, dcontexts, dscores, queries = dmemory.stacked()
        grad.W_a[:, :dscores.shape[2]] += flat(queries).T @ flat(dscores)
        return sum_over_steps(weights, dcontexts)
