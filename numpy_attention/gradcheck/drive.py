"""What gradient checks are given: an attention driven by its protocol, parameters at random."""

import numpy as np

from numpy_attention.validation.arguments import expect_generator, expect_kind, expect_number
from numpy_attention.gradcheck.faults import expect_attention
from numpy_attention.module import Module


def randomize(module, rng, scale=0.5):
    """Fill every parameter with N(0, scale²), biases too, so that no gradient is 0 by accident.

    → the module. TypeError: no Module, or no Generator.
    """
    expect_kind("module", module, Module, "a Module")
    expect_generator(rng)
    expect_number("scale", scale)
    for _, array in module.named_parameters():
        array[...] = scale * rng.standard_normal(array.shape)
    return module


def protocol(attention, mask):
    """(forward, backward) that drive an attention's read and steps, for gradcheck; mask (B, S).

    TypeError: what lacks a method of an attention's.
    """
    expect_attention(attention)

    def forward(queries, values):
        """queries (T, B, Q), values (B, S, D) → contexts (T, B, D), weights (T, B, S), cache."""
        memory = attention.read(values, mask)
        steps = [attention.step(query, memory, t) for t, query in enumerate(queries)]
        contexts, weights, caches = zip(*steps)
        return np.stack(contexts), np.stack(weights), (memory, caches, queries.shape)

    def backward(dcontexts, dweights, cache, grad):
        memory, caches, shape = cache
        dmemory = memory.gradient()
        dqueries = [attention.step_backward(dcontexts[t], dweights[t], caches[t], dmemory, grad)
                    for t in reversed(range(len(caches)))]
        dvalues = attention.read_backward(memory, dmemory, grad)
        if dqueries[0] is None:
            return np.zeros(shape, dcontexts.dtype), dvalues
        return np.stack(dqueries[::-1]), dvalues

    return forward, backward
