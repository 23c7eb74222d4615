"""No attention: the whole sentence in one vector, seen through the same protocol."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.attention.memory import Memory, weighted_sum_values
from numpy_attention.module import Array, Module


class Cache(NamedTuple):
    weights: Array      # (B, S)


@dataclass(eq=False)
class FixedVector(Module):
    """c_i = h_S, the last annotation, for every target word (RNNenc: Cho et al. 2014; the baseline of
    Bahdanau et al. 2015, section 4.2).

    The weights are 1 at each sentence's last token and 0 elsewhere, so that the baseline can be plotted beside
    mechanisms that choose.  Shapes: values h (B, S, D), mask (B, S) → context (B, D), weights (B, S).
    """

    def read(self, values, mask):
        """values (B, S, D), mask (B, S) → Memory without keys."""
        return Memory(values, None, mask)

    def step(self, query, memory):
        """→ context (B, D), weights (B, S), cache; the query is not looked at."""
        B, S = memory.mask.shape
        rows, last = np.arange(B), S - 1 - memory.mask[:, ::-1].argmax(1)
        weights = np.zeros((B, S), memory.values.dtype)
        weights[rows, last] = memory.mask[rows, last]
        context = memory.values[rows, last] * weights[rows, last, None]
        return context, weights, Cache(weights)

    def step_backward(self, dcontext, dweights, cache, dmemory, grad=None):
        """→ None: the weights depend on the mask alone, so the query has no gradient."""
        dmemory.push(cache.weights, dcontext)

    def read_backward(self, memory, dmemory, grad=None):
        """→ dvalues (B, S, D): everything flows into the last annotation."""
        return weighted_sum_values(*dmemory.stacked())
