"""The four methods that make a class an attention for a decoder."""

from typing import Any, Protocol

from numpy_attention.attention.memory import Memory, MemoryGradient
from numpy_attention.module import Array


class Attention(Protocol):
    """The methods of an attention that a decoder calls: read once, step once per target word.

        memory = attention.read(values, mask)
        for t = 0 … T − 1:
            context, weights, cache = attention.step(query, memory, t)
        dmemory = memory.gradient()
        for t = T − 1 … 0:
            dquery = attention.step_backward(dcontext, dweights, cache, dmemory, grads)
        dvalues = attention.read_backward(memory, dmemory, grads)

    A mechanism is a Module, and `grads` the gradient model to which ∂L/∂(its weights) is added.
    """

    def read(self, values: Array, mask: Array) -> Memory:
        """values (B, S, D), mask (B, S) → the memory of all steps; keys are projected here."""

    def step(self, query: Array, memory: Memory, t: int) -> tuple[Array, Array, Any]:
        """One target word t, from 0: query (B, Q) → context (B, D), weights (B, S), cache."""

    def step_backward(self, dcontext: Array, dweights: Array | None, cache: Any,
                      dmemory: MemoryGradient, grads: Any) -> Array | None:
        """From ∂L/∂context (B, D) and ∂L/∂weights (B, S), None where the loss does not read them.

        → ∂L/∂query (B, Q), None where the weights do not depend on it. What flows into the memory
        is added to dmemory, or waits there for one product over all steps.
        """

    def read_backward(self, memory: Memory, dmemory: MemoryGradient, grads: Any) -> Array:
        """After all steps: → ∂L/∂values (B, S, D)."""
