"""The memory that attention reads, its gradient, and the sums that most mechanisms compute."""

import sys
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from numpy_attention.kernels import softmax as kernels
from numpy_attention.module import Array
from numpy_attention.validation.arrays import check_mask, check_real, check_shape


@dataclass
class Memory:
    """The values h_j that attention averages, their keys, and a mask that is True at tokens.

    keys is None if the mechanism does not compute keys. Raises ValueError for a wrong shape, and
    TypeError unless values are float32 or float64 and the mask is boolean.
    """

    values: Array       # (B, S, D)
    keys: Array | None  # (B, S, …), as the mechanism computes them
    mask: Array         # (B, S)

    def __post_init__(self):
        check_shape("values", self.values, (None, None, None),
                    "(B, S, D)", "pass B sequences of S vectors")
        check_real("values", self.values)
        check_mask(self.mask, self.values.shape[:2], "(B, S)")

    def gradient(self):
        """Return a MemoryGradient of zeros for this memory, to which the backward pass adds."""
        return MemoryGradient(self)

    def take(self, rows):
        """Return a Memory of the rows with the given indices, in that order, for beam search."""
        keys = None if self.keys is None else self.keys[rows]
        return Memory(self.values[rows], keys, self.mask[rows])


@dataclass
class MemoryGradient:
    """The gradient of a Memory: ∂L/∂values, ∂L/∂keys, and the factors of deferred products.

    In each step, the `step_backward` of a mechanism adds to `values` and `keys`, or defers the
    factors of a product. `read_backward` then computes one product for all steps.
    """

    memory: "Memory | MemoryGradient"
    keys: Array | None = field(init=False)      # (B, S, …)     initially 0
    pending: dict = field(default_factory=dict)
    callers: dict = field(default_factory=dict)     # {name: code object and line of its first call}

    def __post_init__(self):
        keys = self.memory.keys
        self.keys = None if keys is None else np.zeros(keys.shape, keys.dtype)

    @cached_property
    def values(self):
        """∂L/∂values (B, S, D) without the deferred products; initially 0."""
        return np.zeros_like(self.memory.values)

    def total_values(self):
        """Return ∂L/∂values (B, S, D), including the deferred products, and reset `values` to 0."""
        if "values" not in self.pending:        # no step deferred anything
            return vars(self).pop("values", np.zeros_like(self.memory.values))
        total = sum_over_steps(*self.stacked("values"))
        if "values" in vars(self):              # nothing to add if it was never used
            total += self.values
            del self.values
        return total

    @cached_property
    def wrapped(self):
        """A separate MemoryGradient for the attention that local-p wraps, made on first access."""
        return MemoryGradient(self)

    def defer(self, name, *factors):
        """Store the factors of one product of a step, each (B, size), until `read_backward`.

        name: "values" or a matrix of the attention, such as "W_a", whose gradient is the sum of all
        products with this name. Raises TypeError if a factor is not an array, and ValueError if it
        is not (B, size), or if the sizes or the number of factors differ from earlier steps.
        """
        earlier = self.pending.get(name, [()])[0]
        if earlier and len(factors) != len(earlier):
            raise ValueError(f"defer({name!r}, …): the number of factors is {len(factors)}, but it "
                             f"was {len(earlier)} before; pass the same factors at every step")
        sizes = [factor.shape[1] for factor in earlier] or [None] * len(factors)
        for number, (factor, size) in enumerate(zip(factors, sizes), 1):
            check_shape(f"defer({name!r}, …): factor {number}", factor,
                        (len(self.values), size), "(B, size)",
                        "it needs a row for each sentence and the same size at every step")
        if name not in self.pending:
            self.callers[name] = (caller := sys._getframe(1)).f_code, caller.f_lineno
        self.pending.setdefault(name, []).append(factors)

    later = defer       # its name in version 1.0, which users' files may call

    def stacked(self, name):
        """Return the factors of the N products deferred under `name`, as arrays (N, B, size)."""
        return tuple(np.stack(arrays) for arrays in zip(*self.pending[name]))


def dot_scores(query, memory):
    """Return q · h_j at the unmasked positions, 0 elsewhere.   query (B, D) → (B, S).

    These are the scores of dot attention. If `query` is dc, the gradient of a context Σ_j α_j h_j,
    the result is dα, the gradient of the weights.
    """
    scores = np.empty(memory.mask.shape, query.dtype)                       # (B, S)
    kernels.dot_scores(np.ascontiguousarray(query), memory.values, memory.mask, scores)
    return scores


def sum_of_values(weights, memory):
    """Return Σ_j w_j h_j, a sum over positions.   weights (B, S) → (B, D).

    With w = α the sum is the context. With w = ∂L/∂e for scores e_j = q · h_j, it is ∂L/∂q.
    """
    total = np.empty((len(weights), memory.values.shape[2]), weights.dtype)  # (B, D)
    kernels.weighted_sum(weights, memory.values, total)
    return total


def sum_over_steps(factors, rows):
    """Return Σ_n f_nj x_n for each sentence.   factors f (N, B, S), rows x (N, B, D) → (B, S, D).

    If n is the step t, this is a gradient of the values. For contexts c_t = Σ_j α_tj h_j, f is α
    and x is dc. For scores e_tj = q_t · h_j, f is de and x is q. If both defer their factors under
    the same name, N is twice the number of steps, and the result is the sum of both gradients.
    """
    return np.matmul(factors.transpose(1, 2, 0), rows.transpose(1, 0, 2))
