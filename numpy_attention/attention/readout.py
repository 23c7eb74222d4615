"""Base class of the readouts of a language model's history, and helpers for their memory."""

import numpy as np

from numpy_attention.module import Module


class HistoryReadout(Module):
    """Base class of readouts, which map each state and its history to the output layer's input.

        y, memory, weights, cache = readout.forward(h, mask, memory, keep)
        dh                        = readout.backward(dy, dweights, cache, grads)

    Shapes: h (T, B, H), mask (T, B) → y (T, B, O), weights (T, B, M + T) or None. The memory is a
    pair (states (B, M, H), known (B, M)), or None. A long text is processed in chunks, one per
    batch. The memory holds the last M states of earlier chunks; `known` is False at padding.
    `forward` takes the memory before the chunk and returns the memory after the chunk, which has
    `keep` states, by default `carried`. No gradient reaches the memory.

    A subclass has four attributes. hidden_size: H. output_size: O. reach: the number of states to
    keep while a text is generated word by word. carried: the number of states to keep otherwise, or
    True for `reach` states and False for none.
    """

    def remember(self, h, mask, memory, size=None):
        """Append h to the states in memory → states (B, M + T, H), known (B, M + T).

        known is True where a state exists. h, mask, memory: as in `forward`. If memory is None and
        size is given, the result begins with `size` states of zeros, for which known is False.
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
    """Return tanh(a), computed in place, or `a` itself if activation is "linear"."""
    return np.tanh(a, out=a) if activation == "tanh" else a


def activate_backward(dy, y, activation):
    """Return ∂L/∂a from dy = ∂L/∂y, where y = activate(a, activation)."""
    return dy * (1 - y * y) if activation == "tanh" else dy


def last(states, known, keep):
    """Return the last `keep` states and their `known` as a memory, or None if keep is 0.

    states, known: from `remember`. If there are fewer than `keep` states, all are returned.
    """
    return (states[:, -keep:], known[:, -keep:]) if keep else None
