"""Luong's general attention (2015, section 3.1) and his attentional vector, target word by word.

    q_t = h_t W_a,  e_tj = q_t · m_j,  α_t = softmax(e_t),  c_t = Σ_j α_tj m_j,
    h̃_t = tanh(c_t C + h_t W + b)
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class GeneralAttention(Module):
    W_a: Array  # (H, D)
    C: Array    # (D, K)
    W: Array    # (H, K)
    b: Array    # (K,)

    def forward(self, hs, memory, mask):
        """Return h̃ (T, B, K), α (T, B, S), cache. hs (T, B, H), memory (B, S, D), mask (B, S)."""
        outputs, weights, cache = [], [], []
        for h in hs:
            context, alpha, cached = self.attend(h, memory, mask)
            y = np.tanh(context @ self.C + h @ self.W + self.b)     # (B, K)
            outputs.append(y)
            weights.append(alpha)
            cache.append((context, y, cached))
        return np.array(outputs), np.array(weights), (hs, memory, cache)

    def attend(self, h, memory, mask):
        q = h @ self.W_a                                            # (B, D)
        e = np.einsum("bd,bsd->bs", q, memory)
        e[~mask] = -1e9
        alpha = softmax(e)                                          # (B, S)
        context = np.einsum("bs,bsd->bd", alpha, memory)
        return context, alpha, (q, alpha)

    def backward(self, dys, dweights, cache, grads):
        hs, memory, steps = cache
        dhs = np.zeros_like(hs)
        dmemory = np.zeros_like(memory)
        for t, (context, y, cached) in enumerate(steps):
            h = hs[t]
            # y = tanh(context C + h W + b)
            du = dys[t] * (1 - y * y)                               # (B, K)
            grads.C += context.T @ du
            grads.W += h.T @ du
            grads.b += du.sum(0)
            dcontext = du @ self.C.T
            dhs[t] += du @ self.W.T
            dhs[t] += self.attend_backward(dcontext, dweights[t], h, memory, cached, dmemory, grads)
        return dhs, dmemory, None

    def attend_backward(self, dcontext, dalpha, h, memory, cached, dmemory, grads):
        q, alpha = cached
        # context = Σ_j α_j m_j
        dalpha = dalpha + np.einsum("bd,bsd->bs", dcontext, memory)
        dmemory += np.einsum("bs,bd->bsd", alpha, dcontext)
        # α = softmax(e)
        de = alpha * dalpha
        de -= alpha * de.sum(-1, keepdims=True)
        # e_j = q · m_j
        dq = np.einsum("bs,bsd->bd", de, memory)
        dmemory += np.einsum("bs,bd->bsd", de, q)
        # q = h W_a
        grads.W_a += h.T @ dq
        return dq @ self.W_a.T


def softmax(e):
    p = np.exp(e - e.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return p


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    T, B, S, H, D, K = 3, 2, 6, 4, 5, 7
    shapes = (H, D), (D, K), (H, K), (K,)
    attention = randomize(GeneralAttention(*map(np.empty, shapes)), rng)
    mask = np.array([[True] * 4 + [False] * 2, [True] * S])
    inputs = rng.standard_normal((T, B, H)), rng.standard_normal((B, S, D)), mask
    return attention, inputs, attention.forward, attention.backward
