"""Base class of the readouts of a language model's history, and helpers for their memory."""

import numpy as np

from numpy_attention.module import Module


class HistoryReadout(Module):
    """Base class of readouts, which map each state and its history to the output layer's input.

        y, memory, weights, cache = reader.forward(h, mask, memory, keep)
        dh                        = reader.backward(dy, dweights, cache, grads)

    Shapes: h (T, B, H), mask (T, B) → y (T, B, O), weights (T, B, M + T) or None. The memory is a
    pair (states (B, M, H), known (B, M)), or None. It holds the last states of earlier chunks of
    the text; a chunk is the steps of one batch. The gradient stays within a chunk. `forward` takes
    the memory before the chunk and returns the memory after the chunk.

    A subclass has four attributes: hidden_size H, output_size O, `carried` (whether, or how many,
    states are carried by default) and `reach` (the number of states needed to continue word by
    word).
    """

    def remember(self, h, mask, memory, size=None):
        """Join remembered and new states → states (B, M + T, H), known (B, M + T).

        known is True where a state exists. size: the number of unknown states to start with if
        there is no memory.
        """
        states = np.ascontiguousarray(h.transpose(1, 0, 2))
        known = mask.T
        B, _, H = states.shape
        if memory is None and size:
            memory = np.zeros((B, size, H), h.dtype), np.zeros((B, size), bool)
        if memory is not None:
            before, known_before = memory
            states = np.concatenate([before, states], axis=1)
            known = np.concatenate([known_before, known], axis=1)
        return states, known


def activate(a, activation):
    """Return tanh(a), computed in place, or a itself if activation is "linear"."""
    return np.tanh(a, out=a) if activation == "tanh" else a


def activate_backward(dy, y, activation):
    """Return ∂L/∂a from dy = ∂L/∂y, where y is the output of `activate`."""
    return dy * (1 - y * y) if activation == "tanh" else dy


def last(states, known, keep):
    """Return (last `keep` states, last `keep` of known) as a memory, or None if keep is 0.

    states, known: from `remember`. If there are fewer than `keep` states, the memory has them all.
    """
    return (states[:, -keep:], known[:, -keep:]) if keep else None
