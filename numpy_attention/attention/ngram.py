"""The N-gram RNN: the last N − 1 states speak for themselves, without attention (Daniluk et al. 2017, section 2.4)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.initializers import glorot
from numpy_attention.module import Array, Module
from numpy_attention.shapes import at_least, expect, expect_dtype, expect_mask, flat


@dataclass(eq=False)
class NGramReader(Module):
    """y_t = tanh(W^N [h^1_t; h^2_{t−1}; …; h^{N−1}_{t−N+2}]),  h = [h^1; …; h^{N−1}]   (equation 13).

    Part i of a state is written for the step i − 1 places later. Parts of states before the chunk of text are 0, or
    with carried=True come from the chunk before; the gradient never leaves the chunk.
    """

    W: Array  # (H, O), the rows in the order of the parts
    order: int = 4
    carried: bool = False

    @classmethod
    def create(cls, rng, hidden, outputs, order=4, carried=False, init=glorot, dtype=np.float32):
        """ValueError: an order below 2, or a state that does not divide into order − 1 parts."""
        at_least(2, order=order)
        at_least(1, hidden=hidden, outputs=outputs)
        if hidden % (order - 1):
            raise ValueError(f"a {order}-gram of states of {hidden} numbers: expected a hidden size that divides into "
                             "order − 1 parts")
        return cls(init(rng, (hidden, outputs), dtype), order, carried)

    @property
    def output_size(self):
        """O, the size of y."""
        return self.W.shape[1]

    def forward(self, h, mask, memory=None, keep=None):
        """h (T, B, H), mask (T, B), memory: (states (B, N − 2, H), mask) of before or None.

        → y (T, B, O), the memory after, None (there are no weights), cache; keep: give the memory after even where it is not
        carried, as writing word by word needs.
        """
        expect("h", h, (None, None, len(self.W)), "(T, B, H)", "sequences are time-major")
        expect_dtype("h", h, self.W)
        expect_mask(mask, h.shape[:2], "(T, B)")
        reach = self.order - 2
        if memory is None:
            memory = np.zeros((h.shape[1], reach, h.shape[2]), h.dtype), np.zeros((h.shape[1], reach), bool)
        expect("memory", memory[0], (h.shape[1], reach, h.shape[2]), "(B, N − 2, H)", "carry the state of the same rows")
        expect_dtype("memory", memory[0], h)
        states = np.concatenate([memory[0].transpose(1, 0, 2), h])                  # (N − 2 + T, B, H)
        known = np.concatenate([memory[1].T, mask])
        parts = self._gather(np.where(known[..., None], states, 0), len(h))
        y = np.tanh(flat(parts) @ self.W).reshape(h.shape[:2] + self.W.shape[1:])
        memory = (states[len(h):].transpose(1, 0, 2), known[len(h):].T) if self.carried or keep else None
        return y, memory, None, (parts, y, mask)

    def backward(self, dy, dweights, cache, grad):
        """→ dh (T, B, H)."""
        parts, y, mask = cache
        # y_t = tanh(W^N parts_t)
        da = flat(dy * (1 - y * y))
        grad.W += flat(parts).T @ da
        dparts = (da @ self.W.T).reshape(parts.shape)
        # part i of h_t was read at step t + i − 1
        dh, n = np.zeros_like(parts), parts.shape[2] // (self.order - 1)
        for i in range(self.order - 1):
            part = slice(i * n, (i + 1) * n)
            dh[:max(len(dh) - i, 0), :, part] = dparts[i:, :, part]
        return np.where(mask[..., None], dh, 0)

    def _gather(self, states, T):
        """[h^1_t; h^2_{t−1}; …] of the last T steps (T, B, H)."""
        parts, n = np.empty((T,) + states.shape[1:], states.dtype), states.shape[2] // (self.order - 1)
        for i in range(self.order - 1):
            part = slice(i * n, (i + 1) * n)
            start = len(states) - T - i
            parts[..., part] = states[start:start + T, :, part]
        return parts
