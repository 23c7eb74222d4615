"""What attention reads from, its gradient, and what most mechanisms share: dot scores, softmax and the sums of vectors."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from numpy_attention.kernels import softmax as kernels
from numpy_attention.module import Array
from numpy_attention.shapes import expect, expect_mask


@dataclass
class Memory:
    """Values h_j with their keys, batch-major, and a mask that is True where there is a token."""

    values: Array       # (B, S, D)
    keys: Array | None  # (B, S, A)
    mask: Array         # (B, S)

    def __post_init__(self):
        expect("values", self.values, (None, None, None), "(B, S, D)", "memories are batch-major")
        expect_mask(self.mask, self.values.shape[:2], "(B, S)")

    def gradient(self):
        """Where the steps of one backward pass leave ∂L/∂values, ∂L/∂keys, and what waits for one product."""
        return zeros_like(self)

    def take(self, rows):
        """The memories of these rows of the batch, in this order: what beam search needs."""
        return Memory(self.values[rows], None if self.keys is None else self.keys[rows], self.mask[rows])


@dataclass
class MemoryGradient:
    """∂L/∂values and ∂L/∂keys, and arrays that steps push, last step first, to be multiplied all at once.

    values and keys belong to the mechanism that reads them in its own `read_backward`: those of this package push what the
    values get, and leave `values` 0.
    """

    values: Array
    keys: Array | None
    pushed: list = field(default_factory=list)

    @cached_property
    def inner(self):
        """The gradient of the same memory for an attention inside of another one, which pushes arrays of its own."""
        return zeros_like(self)

    def push(self, *arrays):
        """Keep one step's arrays, each (B, …), for `read_backward`."""
        self.pushed.append(arrays)

    def stacked(self):
        """Each pushed array over all steps, (T, B, …); the order of the steps is the one of the backward pass."""
        return tuple(np.stack(arrays) for arrays in zip(*self.pushed))


def zeros_like(memory):
    """A gradient of 0 for a Memory, or for another gradient of it."""
    return MemoryGradient(np.zeros_like(memory.values), None if memory.keys is None else np.zeros_like(memory.keys))


def look(attention, query, memory, t):
    """attention.step(query, memory) for target word t, from 0; an attention that says `positional` gets t as well."""
    return attention.step(query, memory, *([t] if getattr(attention, "positional", False) else []))


def attend(scores, memory):
    """α = softmax(e) over the unmasked positions and c = Σ_j α_j h_j.   scores (B, S) → context (B, D), weights (B, S)."""
    expect("scores", scores, memory.mask.shape, "(B, S)", "one score for each position of the memory")
    weights = np.empty_like(scores)
    kernels.masked_softmax(scores, memory.mask, weights)
    return sum_of_values(weights, memory), weights


def attend_backward(dcontext, dweights, weights, memory):
    """dα_j = h_j · dc (+ dweights_j),  de_j = α_j (dα_j − Σ_k α_k dα_k).   → dscores de (B, S).

    What flows into the values, dh_j = α_j dc, is left to `sum_over_steps`, once for all steps.
    """
    expect_dcontext(dcontext, memory)
    total = dot_scores(dcontext, memory)
    if dweights is not None:
        total += dweights
    dscores = np.empty_like(weights)
    kernels.masked_softmax_backward(total, weights, dscores)
    return dscores


def expect_dcontext(dcontext, memory):
    """Refuse a ∂L/∂c that is not (B, D): compiled code would read past its end."""
    B, _, D = memory.values.shape
    expect("dcontext", dcontext, (B, D), "(B, D)", "as large as the context that `step` gave")


def dot_scores(query, memory):
    """q · h_j at the unmasked positions, else 0.   query (B, D) → (B, S).

    The scores of dot attention; and with dc in place of q, the dα_j of every attention.
    """
    scores = np.empty(memory.mask.shape, query.dtype)
    kernels.dot_scores(np.ascontiguousarray(query), memory.values, memory.mask, scores)
    return scores


def sum_of_values(weights, memory):
    """Σ_j w_j h_j, a sum over positions.   weights (B, S) → (B, D).

    The context, where w = α; and with w = de, ∂L/∂q of scores e_j = q · h_j.
    """
    total = np.empty((len(weights), memory.values.shape[2]), weights.dtype)
    kernels.weighted_sum(weights, memory.values, total)
    return total


def sum_over_steps(factors, rows):
    """Σ_t f_tj x_t, one product a sentence.   factors (T, B, S), rows (T, B, D) → (B, S, D).

    ∂L/∂h_j: of contexts c_t = Σ_j α_tj h_j with f = α, x = dc; of scores e_tj = q_t · h_j with f = de, x = q.
    """
    return np.matmul(factors.transpose(1, 2, 0), rows.transpose(1, 0, 2))
