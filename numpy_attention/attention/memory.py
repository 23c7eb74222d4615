"""What attention reads from, its gradient, and the two halves that most mechanisms share: softmax and weighted sum."""

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
        return MemoryGradient(np.zeros_like(self.values), None if self.keys is None else np.zeros_like(self.keys))

    def take(self, rows):
        """The memories of these rows of the batch, in this order: what beam search needs."""
        return Memory(self.values[rows], None if self.keys is None else self.keys[rows], self.mask[rows])


@dataclass
class MemoryGradient:
    """∂L/∂values and ∂L/∂keys, and arrays that steps push, last step first, to be multiplied all at once."""

    values: Array
    keys: Array | None
    pushed: list = field(default_factory=list)

    @cached_property
    def inner(self):
        """The gradient of the same memory for an attention inside of another one, which pushes arrays of its own."""
        return MemoryGradient(np.zeros_like(self.values), None if self.keys is None else np.zeros_like(self.keys))

    def push(self, *arrays):
        """Keep one step's arrays, each (B, …), for `read_backward`."""
        self.pushed.append(arrays)

    def stacked(self):
        """Each pushed array over all steps, (T, B, …); the order of the steps is the one of the backward pass."""
        return tuple(np.stack(arrays) for arrays in zip(*self.pushed))


def attend(scores, memory):
    """α = softmax(e) over the unmasked positions and c = Σ_j α_j h_j.   scores (B, S) → context (B, D), weights (B, S)."""
    weights = np.empty_like(scores)
    kernels.masked_softmax(scores, memory.mask, weights)
    context = np.empty((len(scores), memory.values.shape[2]), scores.dtype)
    kernels.weighted_sum(weights, memory.values, context)
    return context, weights


def attend_backward(dcontext, dweights, weights, memory):
    """→ dscores (B, S). What flows into the values is left to `weighted_sum_values`, once for all steps."""
    expect_dcontext(dcontext, memory)
    total = np.empty_like(weights)
    kernels.weighted_sum_backward(np.ascontiguousarray(dcontext), memory.values, memory.mask, total)
    if dweights is not None:
        total += dweights
    dscores = np.empty_like(weights)
    kernels.masked_softmax_backward(total, weights, dscores)
    return dscores


def expect_dcontext(dcontext, memory):
    """Refuse a ∂L/∂c that is not (B, D): compiled code would read past its end."""
    B, _, D = memory.values.shape
    expect("dcontext", dcontext, (B, D), "(B, D)", "as large as the context that `step` gave")


def weighted_sum_values(weights, dcontexts):
    """∂L/∂h_j = Σ_t α_tj dc_t, one product a sentence.   weights (T, B, S), dcontexts (T, B, D) → (B, S, D)."""
    return np.matmul(weights.transpose(1, 2, 0), dcontexts.transpose(1, 0, 2))
