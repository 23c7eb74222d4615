"""Protocol of attention mechanisms: the four methods that a decoder calls."""

from typing import Any, Protocol

from numpy_attention.attention.memory import Memory, MemoryGradient
from numpy_attention.module import Array


class Attention(Protocol):
    """Attention mechanism of a decoder: one `read` per batch, then one `step` per target word.

        memory = attention.read(values, mask)
        for t = 0 … T − 1:
            context, weights, cache = attention.step(query, memory, t)
        dmemory = memory.gradient()
        for t = T − 1 … 0:
            dquery = attention.step_backward(dcontext, dweights, cache, dmemory, grads)
        dvalues = attention.read_backward(memory, dmemory, grads)

    A mechanism is a Module. `grads`, a Module of the same class, collects the weight gradients.
    """

    def read(self, values: Array, mask: Array) -> Memory:
        """Project the keys; return the memory for all steps.   values (B, S, D), mask (B, S)."""

    def step(self, query: Array, memory: Memory, t: int) -> tuple[Array, Array, Any]:
        """Attend to memory in step t ≥ 0: query (B, Q) → context (B, D), weights (B, S), cache."""

    def step_backward(self, dcontext: Array, dweights: Array | None, cache: Any,
                      dmemory: MemoryGradient, grads: Any) -> Array | None:
        """Return ∂L/∂query (B, Q), or None if the weights do not depend on the query.

        dcontext (B, D) is the gradient of the context. dweights (B, S) is the gradient of the
        weights, or None for 0. Adds the gradient of the memory to dmemory, or only stores its
        factors there, with `defer`. `read_backward` then computes one product for all steps.
        """

    def read_backward(self, memory: Memory, dmemory: MemoryGradient, grads: Any) -> Array:
        """Return ∂L/∂values (B, S, D); add the remaining weight gradients to grads."""
