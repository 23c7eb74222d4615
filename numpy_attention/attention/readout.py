"""Base of the readouts of a language model's history: the states that they remember."""

import numpy as np

from numpy_attention.module import Module


class HistoryReadout(Module):
    """Base of the readouts, which map each state and its history to the output layer's input.

        y, memory, weights, cache = reader.forward(h, mask, memory, keep)
        dh                        = reader.backward(dy, dweights, cache, grads)

    Shapes: h (T, B, H), mask (T, B) → y (T, B, O), weights (T, B, M + T) or None. The memory,
    (states (B, M, H), known (B, M)) or None, holds the last states of the chunks of text before
    this one; the gradient never leaves the chunk. `forward` takes the memory before the chunk and
    gives the one after it.

    A subclass has hidden_size H, output_size O, `carried` (whether, or how many, states are carried
    by default) and `reach` (how many are needed to continue word by word).
    """

    def remember(self, h, mask, memory, size=None):
        """→ remembered and new states (B, M + T, H), and which of them exist (B, M + T).

        size: without a memory, the number of unknown states to start with.
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
    """y = tanh(a), in the memory of a, or "linear": y = a."""
    return np.tanh(a, out=a) if activation == "tanh" else a


def activate_backward(dy, y, activation):
    """∂L/∂y → ∂L/∂a."""
    return dy * (1 - y * y) if activation == "tanh" else dy


def last(states, known, keep):
    """The memory of the last `keep` of these states, or as many as there are; None for none."""
    return (states[:, -keep:], known[:, -keep:]) if keep else None
