"""A language model's attention over its own past, with one vector in one, two or three roles."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.history import Combined, HistoryAttention, Single, causal
from numpy_attention.initializers import glorot
from numpy_attention.module import Array, Module
from numpy_attention.shapes import at_least, expect, expect_dtype, expect_mask, flat

SCORES = {"single": Single, "combined": Combined}
UNLIMITED = 64      # states that a memory without a window keeps while a text is written word by word


@dataclass(eq=False)
class KeyValueReader(Module):
    """What the state h_t and the states before it say of the next word.

        h = [k; v; p]                                 three roles; two: h = [k; v] and p = v; one: k = v = p = h
        r_t = Σ_i α_ti v_i,  α_t = softmax(score(k_i, k_t))   over the `window` positions before t (None: all)
        y_t = tanh(W_x p_t + W_r r_t + b)

    roles 1 is the attention model of Daniluk et al. 2017 (equations 2 to 6), 2 their key-value model (7 to 9), 3 their
    key-value-predict model (10 to 12), all without b. With b, no window, and either score, roles 1 is the attentive
    model of Salton et al. 2017: W_c [h_t; c_t] = W_x h_t + W_r c_t.

    The memory holds the states of this chunk of the text (one batch's steps) alone, or, with carried > 0, up to so many from
    the chunks before. The gradient never leaves the chunk.
    """

    attention: HistoryAttention
    W_x: Array  # (n, O), n = H / roles, the size of k, v and p each
    W_r: Array  # (n, O)
    b: Array | None  # (O,)
    roles: int = 1
    window: int | None = None
    carried: int = 0

    @classmethod
    def create(cls, rng, hidden, outputs, roles=1, score="combined", window=None, carried=0, bias=False, init=glorot,
               dtype=np.float32):
        """A reader of states (T, B, hidden) that gives (T, B, outputs); the score's own size is a role's.

        ValueError: hidden does not divide into roles, an unknown score, a window or memory that cannot be.
        """
        at_least(1, hidden=hidden, outputs=outputs, window=window)
        at_least(0, carried=carried)
        if roles not in (1, 2, 3) or hidden % roles:
            raise ValueError(f"{roles} roles in a state of {hidden} numbers: expected 1, 2 or 3 that divide it evenly")
        if score not in SCORES:
            raise ValueError(f"score {score!r}: expected one of {', '.join(SCORES)}")
        size = hidden // roles
        return cls(SCORES[score].create(rng, size, size, size, init, dtype), init(rng, (size, outputs), dtype),
                   init(rng, (size, outputs), dtype), np.zeros(outputs, dtype) if bias else None, roles, window, carried)

    @property
    def output_size(self):
        """O, the size of y."""
        return self.W_x.shape[1]

    def forward(self, h, mask, memory=None, keep=None):
        """h (T, B, H), mask (T, B), memory: (states (B, M, H), mask (B, M)) of before or None.

        → y (T, B, O), the memory after, weights α (T, B, M + T), cache; keep: the memory's size, `carried` by default.
        """
        expect("h", h, (None, None, self.roles * len(self.W_x)), "(T, B, H)", "sequences are time-major")
        expect_dtype("h", h, self.W_x)
        expect_mask(mask, h.shape[:2], "(T, B)")
        states, known = np.ascontiguousarray(h.transpose(1, 0, 2)), mask.T                  # (B, S, H), (B, S)
        if memory is not None:
            expect("memory", memory[0], (h.shape[1], None, h.shape[2]), "(B, M, H)", "carry the state of the same rows")
            states, known = (np.concatenate(parts, axis=1) for parts in zip(memory, (states, known)))
        k, v, _ = self._split(states)
        query, _, p = self._split(h)
        r, weights, attended = self.attention.forward(query, k, v, causal(known, len(h), self.window))
        y = flat(p) @ self.W_x
        y += flat(r) @ self.W_r
        if self.b is not None:
            y += self.b
        y = np.tanh(y, out=y).reshape(r.shape[:2] + y.shape[1:])
        keep = self.carried if keep is None else keep
        memory = (states[:, -keep:], known[:, -keep:]) if keep else None
        return y, memory, weights, (h, r, y, attended)

    def backward(self, dy, dweights, cache, grad):
        """From ∂L/∂y and ∂L/∂α (or None) → dh (T, B, H); what flows into carried states ends there."""
        h, r, y, attended = cache
        T, H = len(h), h.shape[2]
        # y_t = tanh(W_x p_t + W_r r_t + b)
        da = flat(dy * (1 - y * y))
        if self.b is not None:
            grad.b += da.sum(0)
        grad.W_x += flat(self._split(h)[2]).T @ da
        grad.W_r += flat(r).T @ da
        dr = (da @ self.W_r.T).reshape(r.shape)
        # r_t = Σ_i α_ti v_i
        dquery, dk, dv = self.attention.backward(dr, dweights, attended, grad.attention)
        # h = [k; v; p]: every role adds to its own part, as key, as value, as query and in the prediction
        dh = np.zeros(h.shape[:2] + (H,), h.dtype)
        key, value, predict = self._split(dh)
        key += dk[:, -T:].transpose(1, 0, 2)
        value += dv[:, -T:].transpose(1, 0, 2)
        if dquery is not None:
            key += dquery
        predict += (da @ self.W_x.T).reshape(predict.shape)
        return dh

    def _split(self, h):
        """Views k, v, p of states (…, H), n = H / roles.   One role: all h; two: k = h[:n], v = p = h[n:]; three: thirds."""
        n = len(self.W_x)
        return h[..., :n], h[..., (self.roles > 1) * n:][..., :n], h[..., (self.roles - 1) * n:]
