"""Prepare gradient checks: random parameters, and the two passes of an attention."""

import numpy as np

from numpy_attention.gradcheck.faults import check_attention
from numpy_attention.module import Module
from numpy_attention.validation.arguments import check_generator, check_kind, check_number
from numpy_attention.validation.results import check_memory, check_returned


def randomize(module, rng, scale=0.5):
    """Draw every parameter, including biases, from N(0, scale²), and return the module.

    Zeros could hide a mistake, because a gradient that is multiplied by 0 is 0. Raises TypeError if
    `module` is not a Module or rng is not a Generator. Raises ValueError if scale is not a number.
    """
    check_kind("module", module, Module, "a Module")
    check_generator(rng)
    check_number("scale", scale)
    for _, array in module.named_parameters():
        array[...] = scale * rng.standard_normal(array.shape)
    return module


def check_sequence(forward, found, xs):
    """Raise TypeError or ValueError unless `found`, from forward(xs), is (ys, state, cache)."""
    check_returned(forward, found, "ys", (*xs.shape[:2], None), "(T, B, H)", "state", "cache")


def protocol(attention, mask):
    """Return two functions (forward, backward) that call the methods of an attention.

    mask (B, S) is True at the positions that the attention may use. forward calls `read`, then
    `step` for each query. backward calls `step_backward` in reverse order, then `read_backward`.
    The argument dweights of backward may be None if the loss depends only on the contexts. Raises
    TypeError if the attention lacks a method.
    """
    check_attention(attention)

    def forward(queries, values):
        """Attend with one query after another.

        queries (T, B, Q), values (B, S, D) → contexts (T, B, D), weights (T, B, S), cache.
        """
        memory = attention.read(values, mask)
        check_memory(attention.read, memory)
        steps = []
        for t, query in enumerate(queries):
            steps.append(attention.step(query, memory, t))
            check_returned(attention.step, steps[-1], "context", (len(query), None), "(B, D)",
                           "weights", "cache")
        contexts, weights, caches = zip(*steps)
        return np.stack(contexts), np.stack(weights), (memory, caches, queries.shape)

    def backward(dcontexts, dweights, cache, grads):
        memory, caches, shape = cache
        dmemory = memory.gradient()
        dweights = [None] * len(caches) if dweights is None else dweights
        dqueries = []
        for t in reversed(range(len(caches))):
            dqueries.append(attention.step_backward(dcontexts[t], dweights[t], caches[t], dmemory,
                                                    grads))
            check_returned(attention.step_backward, dqueries[-1], "dquery", (shape[1], None),
                           "(B, Q)", optional=True)
        dvalues = attention.read_backward(memory, dmemory, grads)
        check_returned(attention.read_backward, dvalues, "dvalues", memory.values.shape,
                       "(B, S, D)")
        if dqueries[0] is None:
            return np.zeros(shape, dcontexts.dtype), dvalues
        return np.stack(dqueries[::-1]), dvalues

    return forward, backward
