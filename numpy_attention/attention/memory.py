"""What attention reads from, its gradient, and the sums over coordinates, positions and steps."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from numpy_attention.kernels import softmax as kernels
from numpy_attention.validation.messages import plural
from numpy_attention.module import Array
from numpy_attention.validation.arrays import (check_shape, check_dtype, check_ids, check_made, check_mask,
                                    check_real)


@dataclass
class Memory:
    """Values h_j with their keys, batch-major, and a mask that is True where there is a token."""

    values: Array       # (B, S, D)
    keys: Array | None  # (B, S, …), whatever the mechanism makes of them
    mask: Array         # (B, S)

    def __post_init__(self):
        check_shape("values", self.values, (None, None, None), "(B, S, D)", "memories are batch-major")
        check_real("values", self.values)
        check_mask(self.mask, self.values.shape[:2], "(B, S)")

    def gradient(self):
        """Where the steps of a backward pass leave ∂L/∂values, ∂L/∂keys, and what waits."""
        return zeros_like(self)

    def take(self, rows):
        """The memories of these rows of the batch, in this order: what beam search needs.

        TypeError, ValueError: rows that are no integers, or that the batch does not have.
        """
        check_ids("rows", rows, len(self.values))
        keys = None if self.keys is None else self.keys[rows]
        return Memory(self.values[rows], keys, self.mask[rows])


@dataclass
class MemoryGradient:
    """∂L/∂values, ∂L/∂keys, and factors that wait by name to be multiplied for all steps at once.

    Which of these it uses is a mechanism's own affair: what its `step_backward` leaves here its
    `read_backward` takes up. None of this package's adds to the array `values`.
    """

    values: Array       # (B, S, D)
    keys: Array | None  # (B, S, …)
    of: Array           # (B, S, D)         the memory's own values, by which it is known
    pending: dict = field(default_factory=dict)

    @cached_property
    def wrapped(self):
        """The gradient of the same memory for an attention inside of another one."""
        return zeros_like(self)

    def defer(self, name, *factors):
        """Let one step's factors, each (B, size), wait under a name; a step may use it twice.

        TypeError, ValueError: a factor that is no array of such a shape, or another number or size
        of them than what waits already.
        """
        pending = self.pending.get(name)
        sizes = [one.shape[-1] for one in pending[0]] if pending else [None] * len(factors)
        if len(factors) != len(sizes):
            raise ValueError(f"defer({name!r}, …) is given {plural(len(factors), 'factor')}, and "
                             f"{len(sizes)} of an earlier step wait: give as many in every step")
        for number, (factor, size) in enumerate(zip(factors, sizes), 1):
            check_shape(f"factor {number} of {name}", factor, (len(self.of), size), "(B, size)",
                   "defer takes the factors of one step, a row for each sentence, all of one size")
        self.pending.setdefault(name, []).append(factors)

    def stacked(self, name):
        """→ factors (N, B, size) that wait under the name, in the order of the backward pass.

        ValueError: none do.
        """
        if name not in self.pending:
            raise ValueError(f"nothing waits for {name} in this gradient: "
                             "call step_backward of the same attention first")
        return tuple(np.stack(arrays) for arrays in zip(*self.pending[name]))


def zeros_like(memory):
    """A gradient of 0 for a Memory, or for another gradient of it."""
    values = np.zeros(memory.values.shape, memory.values.dtype)
    keys = None if memory.keys is None else np.zeros(memory.keys.shape, memory.keys.dtype)
    of = memory.values if isinstance(memory, Memory) else memory.of
    return MemoryGradient(values, keys, of)


def check_memory(memory):
    """Refuse what is no Memory. TypeError."""
    if type(memory) is not Memory:                              # the common case is cheap
        check_made("memory", memory, Memory, "read")


def check_gradient(dmemory, memory):
    """Refuse what is not the gradient of this memory, whose sums would go astray.

    TypeError, ValueError.
    """
    check_memory(memory)
    if type(dmemory) is not MemoryGradient:                     # the common case is cheap
        check_made("dmemory", dmemory, MemoryGradient, "memory.gradient")
    if dmemory.of is not memory.values:
        raise ValueError("dmemory is the gradient of another memory: take gradient() of the one "
                         "that was asked")


def check_upstream(dcontext, dweights, memory, dmemory):
    """Refuse a ∂L/∂c that is not (B, D), and a ∂L/∂α that is neither (B, S) nor None.

    Compiled code would read past the end of one, NumPy stretch one row of the other to all. And
    refuse the gradient of another memory.
    """
    check_gradient(dmemory, memory)
    B, S, D = memory.values.shape
    check_shape("dcontext", dcontext, (B, D), "(B, D)", "as large as the context that `step` gave")
    check_dtype("dcontext", dcontext, memory.values, "the values")
    if dweights is not None:
        check_shape("dweights", dweights, (B, S), "(B, S)", "as large as the weights that `step` gave")
        check_dtype("dweights", dweights, memory.values, "the values")


def check_own(cache, kind, layer):
    """Refuse what is not the cache that this very layer gave. TypeError, ValueError.

    Mechanisms share a kind of cache, and what another's score keeps has other sizes, past whose end
    compiled code would read.
    """
    check_made("cache", cache, kind, "step")
    if cache.layer is not layer:
        raise ValueError(f"the cache is of another {type(cache.layer).__name__}: give "
                         f"{type(layer).__name__} what its own forward pass gave")


def dot_scores(query, memory):
    """q · h_j at the unmasked positions, else 0: a sum over coordinates.   query (B, D) → (B, S).

    The scores of dot attention; and with dc in place of q, the dα_j of every attention.
    """
    check_memory(memory)
    B, _, D = memory.values.shape
    check_shape("query", query, (B, D), "(B, D)", "as wide as the values, one row for each sentence")
    check_dtype("query", query, memory.values, "the values")
    scores = np.empty(memory.mask.shape, query.dtype)                       # (B, S)
    kernels.dot_scores(np.ascontiguousarray(query), memory.values, memory.mask, scores)
    return scores


def sum_of_values(weights, memory):
    """Σ_j w_j h_j, a sum over positions.   weights (B, S) → (B, D).

    The context, where w = α; and with w = de, ∂L/∂q of scores e_j = q · h_j.
    """
    check_memory(memory)
    check_shape("weights", weights, memory.mask.shape, "(B, S)", "one for each position of the memory")
    check_dtype("weights", weights, memory.values, "the values")
    total = np.empty((len(weights), memory.values.shape[2]), weights.dtype)  # (B, D)
    kernels.weighted_sum(weights, memory.values, total)
    return total


def sum_over_steps(factors, rows):
    """Σ_n f_nj x_n, one product a sentence.   factors (N, B, S), rows (N, B, D) → (B, S, D).

    ∂L/∂h_j, n over the steps: of contexts c_t = Σ_j α_tj h_j with f = α, x = dc; of scores e_tj =
    q_t · h_j with f = de, x = q. Where both wait under one name, n runs over both.
    """
    check_shape("factors", factors, (None, None, None), "(N, B, S)")
    check_shape("rows", rows, factors.shape[:2] + (None,), "(N, B, D)")
    check_real("factors", factors)
    check_dtype("rows", rows, factors, "the factors")
    return np.matmul(factors.transpose(1, 2, 0), rows.transpose(1, 0, 2))
