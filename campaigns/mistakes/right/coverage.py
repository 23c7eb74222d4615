"""Additive attention with coverage (See et al. 2017, sections 2.1 and 2.3).

    a_tj = h_j W_h + s_t W_s + g_tj w_g + b,  e_tj = v · tanh(a_tj),  α_t = softmax(e_t),
    c_t  = Σ_j α_tj h_j,  g_{t+1} = g_t + α_t from g_0 = 0,  penalty_t = Σ_j min(α_tj, g_tj)
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class Coverage(Module):
    W_h: Array  # (D, A)
    W_s: Array  # (H, A)
    w_g: Array  # (A,)
    b: Array    # (A,)
    v: Array    # (A,)

    def forward(self, states, memory, mask):
        """Return contexts (T, B, D), α (T, B, S), penalties (T, B), cache.

        states (T, B, H), memory (B, S, D), mask (B, S)
        """
        keys = memory @ self.W_h + self.b                           # (B, S, A)
        g = np.zeros(mask.shape)                                    # (B, S)
        contexts, weights, penalties, steps = [], [], [], []
        for s in states:
            x, alpha = self.attend(s, keys, g, mask)
            contexts.append(np.einsum("bs,bsd->bd", alpha, memory))
            weights.append(alpha)
            penalties.append(np.minimum(alpha, g).sum(1))
            steps.append((x, alpha, g))
            g = g + alpha
        cache = states, memory, steps
        return np.stack(contexts), np.stack(weights), np.stack(penalties), cache

    def attend(self, s, keys, g, mask):
        q = s @ self.W_s                                            # (B, A)
        a = keys + q[:, None] + g[:, :, None] * self.w_g            # (B, S, A)
        x = np.tanh(a)
        e = np.where(mask, x @ self.v, -np.inf)                     # (B, S)
        p = np.exp(e - e.max(1, keepdims=True))
        return x, p / p.sum(1, keepdims=True)

    def backward(self, dcontexts, dweights, dpenalties, cache, grads):
        states, memory, steps = cache
        dstates = np.zeros_like(states)
        dmemory = np.zeros_like(memory)
        dkeys = np.zeros_like(steps[0][0])                          # (B, S, A)
        dg = np.zeros(memory.shape[:2])                             # (B, S), of the step behind
        for t in range(len(states) - 1, -1, -1):
            x, alpha, g = steps[t]
            # g_{t+1} = g + α
            dalpha = dweights[t] + dg
            # penalty = Σ_j min(α_j, g_j)
            dleast = np.repeat(dpenalties[t][:, None], alpha.shape[1], axis=1)
            dalpha += np.where(alpha < g, dleast, 0)
            dg += np.where(alpha < g, 0, dleast)
            # c = Σ_j α_j h_j
            dalpha += np.einsum("bd,bsd->bs", dcontexts[t], memory)
            dmemory += alpha[:, :, None] * dcontexts[t][:, None]
            # α = softmax(e)
            de = alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))
            # e = v · x, x = tanh(a)
            grads.v += np.einsum("bs,bsa->a", de, x)
            da = de[:, :, None] * self.v * (1 - x**2)               # (B, S, A)
            # a = keys + s W_s + g w_g
            dkeys += da
            grads.w_g += np.einsum("bsa,bs->a", da, g)
            dg += da @ self.w_g
            dq = da.sum(1)                                          # (B, A)
            grads.W_s += states[t].T @ dq
            dstates[t] = dq @ self.W_s.T
        # keys = memory W_h + b
        grads.W_h += np.tensordot(memory, dkeys, ([0, 1], [0, 1]))
        grads.b += dkeys.sum((0, 1))
        dmemory += dkeys @ self.W_h.T
        return dstates, dmemory, None


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    T, B, S, H, D, A = 4, 2, 5, 3, 6, 7
    shapes = (D, A), (H, A), (A,), (A,), (A,)
    attention = randomize(Coverage(*map(np.empty, shapes)), rng)
    mask = np.array([[True] * S, [True] * 3 + [False] * 2])
    inputs = rng.standard_normal((T, B, H)), rng.standard_normal((B, S, D)), mask
    return attention, inputs, attention.forward, attention.backward
