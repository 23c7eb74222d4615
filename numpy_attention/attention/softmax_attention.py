"""Softmax attention: base class of dot, scaled dot, general, location and additive attention."""

from typing import Any, NamedTuple

from numpy_attention.attention.memory import Memory, dot_scores, sum_of_values
from numpy_attention.attention.softmax import masked_softmax, masked_softmax_backward
from numpy_attention.module import Array, Module
from numpy_attention.validation.arrays import as_rows, check_dtype, check_shape
from numpy_attention.validation.results import check_deferred, check_returned


class Cache(NamedTuple):
    memory: Memory
    weights: Array      # (B, S)
    scored: Any         # the cache of `score`


class SoftmaxAttention(Module):
    """Base class of attention with a softmax over scores; subclasses define the score.

        e_j = score(q, h_j)     the part that a subclass defines
        α   = softmax(e)        over the unmasked positions
        c   = Σ_j α_j h_j

    Shapes: query q (B, Q), values h (B, S, D), mask (B, S) → context c (B, D), weights α (B, S). A
    sentence with no unmasked position has c = 0 and α = 0.

    A subclass defines the two methods below, and extends `read` and `read_backward` if it has keys.

        scores, cache = score(query, memory)                                    e (B, S)
        dquery        = score_backward(dscores, cache, memory, dmemory, grads)   (B, Q) or None

    Gradients of values and matrices are sums over the steps. With `defer`, `score_backward` only
    stores the factors of its step, and `read_backward` computes the sum in one product:

        dmemory.defer("values", f, x)       ∂L/∂h_j += f_j x,   f (B, S), x (B, D)
        dmemory.defer("W_a", x, dy)         ∂L/∂W_a += xᵀ dy,   for y = x W_a with a field W_a
    """

    value_size = None   # D, if the weights determine it; None: any

    def read(self, values, mask):
        """Store the values and the mask in a Memory without keys.   values (B, S, D), mask (B, S).

        Raises ValueError if D is not `value_size`, TypeError if values and weights differ in dtype.
        """
        check_shape("values", values, (None, None, self.value_size), "(B, S, D)",
                    "pass B sequences of S vectors")
        for _, weights in self.named_parameters():
            check_dtype("values", values, weights)
        return Memory(values, None, mask)

    def attention_weights(self, scores, visible):
        """Return the masked softmax of the scores. An ablation (`ablate`) replaces this method."""
        return masked_softmax(scores, visible)

    def step(self, query, memory, t):
        """Attend to memory: query (B, Q) → context (B, D), weights (B, S), cache. t is unused."""
        scored = self.score(query, memory)
        check_returned(self.score, scored, "scores", memory.mask.shape, "(B, S)", "cache")
        scores, scored = scored
        weights = self.attention_weights(scores, memory.mask)                               # (B, S)
        context = sum_of_values(weights, memory)                                # (B, D)
        return context, weights, Cache(memory, weights, scored)

    def step_backward(self, dcontext, dweights, cache, dmemory, grads):
        """Backpropagate dcontext (B, D), dweights (B, S) or None → dquery (B, Q).

        Defers the gradient of the values in dmemory. `score_backward` may also defer gradients of
        matrices. Returns None if `score_backward` returns None.
        """
        memory, weights, scored = cache
        # c = Σ_j α_j h_j
        dmemory.defer("values", weights, dcontext)
        dalpha = dot_scores(dcontext, memory)                                   # (B, S)
        if dweights is not None:
            dalpha += dweights
        # α = softmax(e)
        dscores = masked_softmax_backward(dalpha, weights)                      # (B, S)
        # e_j = score(q, h_j)
        dquery = self.score_backward(dscores, scored, memory, dmemory, grads)
        check_returned(self.score_backward, dquery, "dquery", (len(dscores), None), "(B, Q)",
                       optional=True)
        return dquery

    def read_backward(self, memory, dmemory, grads):
        """Return dvalues (B, S, D); add the deferred gradients of matrices to grads.

        Raises ValueError if grads has no matrix with the name under which a product was deferred,
        or if the shape of the product does not fit this matrix.
        """
        for name in dmemory.pending:
            if name != "values":
                check_deferred(dmemory, name, grads)
                # y_t = x_t W; location uses only the first S columns of W
                x, dy = dmemory.stacked(name)
                dW = getattr(grads, name)[:, :dy.shape[-1]]
                dW += as_rows(x).T @ as_rows(dy)
        return dmemory.total_values()
