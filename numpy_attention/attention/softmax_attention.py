"""A mechanism is its score: what dot, general, location and additive attention share."""

from typing import Any, NamedTuple

import numpy as np

from numpy_attention.attention.memory import (Memory, dot_scores, check_gradient, check_memory,
                                              check_own, check_upstream, sum_of_values,
                                              sum_over_steps)
from numpy_attention.attention.softmax import masked_softmax, masked_softmax_backward
from numpy_attention.validation.messages import plural, short_repr
from numpy_attention.module import Array, Module
from numpy_attention.validation.arrays import check_shape, check_dtype, check_twin, as_rows, type_name


class Cache(NamedTuple):
    memory: Memory
    weights: Array      # (B, S)
    scored: Any         # what `score` keeps
    layer: Module       # whose score it was


class SoftmaxAttention(Module):
    """Everything but the score.

        e_j = score(q, h_j)     is all that a mechanism says
        α   = softmax(e)        over the unmasked positions
        c   = Σ_j α_j h_j

    Shapes: query q (B, Q), values h (B, S, D), mask (B, S) → context c (B, D), weights α (B, S).
    A sentence with no unmasked position gets c = 0 and α = 0.

    A subclass has two methods, and extends `read` and `read_backward` where it projects keys:

        scores, cache = score(query, memory)                                    e (B, S)
        dquery        = score_backward(dscores, cache, memory, dmemory, grads)   (B, Q)

    What is a sum over the steps waits for `read_backward`, which takes it in one product:

        dmemory.defer("values", f, x)       ∂L/∂h_j += f_j x,   f (B, S), x (B, D)
        dmemory.defer("W_a", x, dy)         ∂L/∂W_a += xᵀ dy,   of y = x W_a, where W_a is a field
    """

    def sizes(self):
        """(Q, D), as the weights have them; None: any, or for `score` to check."""
        return None, None

    def read(self, values, mask):
        """values (B, S, D), mask (B, S) → Memory without keys.

        ValueError, TypeError: of another size or dtype.
        """
        _, D = self.sizes()
        check_shape("values", values, (None, None, D), "(B, S, D)", "memories are batch-major")
        for _, weights in self.named_parameters():
            check_dtype("values", values, weights)
        return Memory(values, None, mask)

    def attention_weights(self, scores, visible):
        """α = softmax(e) over what is visible; `analysis.ablation` puts other weights here."""
        return masked_softmax(scores, visible)

    def step(self, query, memory, t):
        """query (B, Q) → context (B, D), weights (B, S), cache.

        ValueError, TypeError: of another size or dtype.
        """
        check_memory(memory)
        Q, D = self.sizes()
        if D is not None:
            check_shape("memory.values", memory.values, memory.mask.shape + (D,), "(B, S, D)",
                   "give what `read` of this attention gave")
        check_shape("query", query, (len(memory.values), Q), "(B, Q)")
        check_dtype("query", query, memory.values)
        scores, scored = _pair(self, self.score(query, memory))
        check_shape("scores", scores, memory.mask.shape, "(B, S)", "one for each position of the memory")
        weights = self.attention_weights(scores, memory.mask)                               # (B, S)
        context = sum_of_values(weights, memory)                                # (B, D)
        return context, weights, Cache(memory, weights, scored, self)

    def step_backward(self, dcontext, dweights, cache, dmemory, grads):
        """dcontext (B, D), dweights (B, S) or None → dquery (B, Q).

        What the values get waits in dmemory; so may what the score's own arrays get. ValueError,
        TypeError: other shapes, another's cache, memory or twin.
        """
        check_own(cache, Cache, self)
        memory, weights, scored, _ = cache
        check_upstream(dcontext, dweights, memory, dmemory)
        check_twin(grads, self)
        # c = Σ_j α_j h_j
        dmemory.defer("values", weights, dcontext)
        dalpha = dot_scores(dcontext, memory)                                   # (B, S)
        if dweights is not None:
            dalpha += dweights
        # α = softmax(e)
        dscores = masked_softmax_backward(dalpha, weights)                      # (B, S)
        # e_j = score(q, h_j)
        return self.score_backward(dscores, scored, memory, dmemory, grads)

    def read_backward(self, memory, dmemory, grads):
        """→ dvalues (B, S, D); adds to grads what waits by the name of a field.

        ValueError, TypeError: the gradient of another memory, nothing that waits, another's twin,
        what waits by another name than a matrix's, is no pair, or has another shape.
        """
        check_gradient(dmemory, memory)
        check_twin(grads, self)
        for name in dmemory.pending:
            if name != "values":
                # y_t = x_t W; of location's W, the first S columns
                x, dy = _factors(dmemory, name)
                dW = _matrix(grads, name)[:, :dy.shape[-1]]
                product = as_rows(x).T @ as_rows(dy)
                check_shape("xᵀ dy", product, dW.shape, f"for {name}",
                       f"give defer({name!r}, x, dy) the factors of y = x {name}")
                dW += product
        return sum_over_steps(*dmemory.stacked("values"))


def _pair(attention, scored):
    """What a score gives. TypeError: it is no pair."""
    if type(scored) is not tuple or len(scored) != 2:
        raise TypeError(f"{type(attention).__name__}.score gives {type_name(scored)}, expected a "
                        "pair: the scores (B, S), and what score_backward reads")
    return scored


def _factors(dmemory, name):
    """The two arrays that wait by this name. ValueError: there are not two."""
    factors = dmemory.stacked(name)
    if len(factors) != 2:
        raise ValueError(f"by the name {short_repr(name)} {plural(len(factors), 'factor')} of a step "
                         f"wait, expected 2: give defer({name!r}, x, dy) the factors of "
                         f"y = x {name}")
    return factors


def _matrix(grads, name):
    """The matrix of this name in a twin. ValueError: there is none."""
    matrix = getattr(grads, name, None)
    if np.ndim(matrix) != 2:
        raise ValueError(f"something waits by the name {short_repr(name)}, and {type(grads).__name__} "
                         "has no matrix of this name: give defer the name of a field")
    return matrix
