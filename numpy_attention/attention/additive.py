"""Additive attention: a small feed-forward network scores each position (Bahdanau et al. 2015)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.attention.memory import Memory, attend, attend_backward, sum_over_steps
from numpy_attention.initializers import glorot
from numpy_attention.kernels import scores as kernels
from numpy_attention.module import Array, Module
from numpy_attention.shapes import at_least, expect, expect_dtype, flat


class Cache(NamedTuple):
    memory: Memory
    query: Array        # (B, Q)
    projected: Array    # (B, A)   W_a q
    weights: Array      # (B, S)


@dataclass(eq=False)
class AdditiveAttention(Module):
    """Additive attention (Bahdanau et al. 2015, sections 3.1 and A.1.2; Luong et al. 2015 call it concat).

        e_j = v_a · tanh(W_a q + U_a h_j)      score of position j
        α   = softmax(e)                       over the unmasked positions
        c   = Σ_j α_j h_j                      context

    Shapes: query q (B, Q), values h (B, S, D), mask (B, S) → context c (B, D), weights α (B, S).
    A sentence with no unmasked position gets c = 0 and α = 0.
    """

    W_a: Array  # (Q, A)
    U_a: Array  # (D, A)
    v_a: Array  # (A,)

    @classmethod
    def create(cls, rng, query_size, value_size, size, init=glorot, init_v=None, dtype=np.float32):
        """init_v: the initial v_a, by default one column of `init`; the paper starts from 0. ValueError: sizes below 1."""
        at_least(1, query_size=query_size, value_size=value_size, size=size)
        v_a = (init_v or init)(rng, (size, 1), dtype)[:, 0]
        return cls(init(rng, (query_size, size), dtype), init(rng, (value_size, size), dtype), v_a.copy())

    def read(self, values, mask):
        """Project the keys U_a h_j of all positions in one product.   values (B, S, D), mask (B, S) → Memory."""
        expect("values", values, (None, None, len(self.U_a)), "(B, S, D)", "memories are batch-major")
        expect_dtype("values", values, self.U_a)
        keys = (flat(values) @ self.U_a).reshape(values.shape[:2] + self.v_a.shape)
        return Memory(values, keys, mask)

    def step(self, query, memory):
        """One target word.   query (B, Q) → context (B, D), weights (B, S), cache."""
        expect("query", query, (len(memory.values), len(self.W_a)), "(B, Q)")
        expect_dtype("query", query, self.W_a)
        projected = query @ self.W_a
        scores = np.empty(memory.mask.shape, query.dtype)
        kernels.additive_scores(projected[None], memory.keys, self.v_a, memory.mask[None], np.empty_like(self.v_a),
                                scores[None])
        context, weights = attend(scores, memory)
        return context, weights, Cache(memory, query, projected, weights)

    def step_backward(self, dcontext, dweights, cache, dmemory, grad):
        """→ dquery (B, Q); adds to dmemory.keys and to grad.v_a, pushes what W_a and the values wait for."""
        memory, query, projected, weights = cache
        # c = Σ α_j h_j,  α = softmax(e)
        dscores = attend_backward(dcontext, dweights, weights, memory)
        # e_j = v_a · tanh(W_a q + k_j)
        dprojected = np.empty_like(projected)
        kernels.additive_scores_backward(dscores[None], projected[None], memory.keys, self.v_a, memory.mask[None],
                                         dprojected[None], dmemory.keys, grad.v_a)
        dmemory.push(query, dprojected, weights, dcontext)
        return dprojected @ self.W_a.T

    def read_backward(self, memory, dmemory, grad):
        """→ dvalues (B, S, D); adds to grad.W_a and grad.U_a."""
        queries, dprojected, weights, dcontexts = dmemory.stacked()
        grad.W_a += flat(queries).T @ flat(dprojected)
        grad.U_a += flat(memory.values).T @ flat(dmemory.keys)
        dvalues = sum_over_steps(weights, dcontexts)
        dvalues += (flat(dmemory.keys) @ self.U_a.T).reshape(dvalues.shape)
        return dvalues
