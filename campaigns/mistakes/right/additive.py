"""Additive attention (Bahdanau et al. 2015, A.1.2) on the protocol of the package, all at once.

    a_j = W_aᵀ q + U_aᵀ h_j + b_a,  x_j = tanh(a_j),  e_j = v_a · x_j,  α = softmax(e),
    c   = Σ_j α_j h_j
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.memory import Memory
from numpy_attention.gradcheck import protocol, randomize
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class PlainAttention(Module):
    W_a: Array  # (Q, A)
    U_a: Array  # (D, A)
    b_a: Array  # (A,)
    v_a: Array  # (A,)

    def read(self, values, mask):
        keys = values @ self.U_a                                    # (B, S, A)
        return Memory(values, keys, mask)

    def step(self, query, memory, t):
        projected = query @ self.W_a + self.b_a                     # (B, A)
        a = projected[:, None] + memory.keys                        # (B, S, A)
        x = np.tanh(a)                                              # (B, S, A)
        e = x @ self.v_a                                            # (B, S)
        alpha = masked_softmax(e, memory.mask)                      # (B, S)
        context = (alpha[:, :, None] * memory.values).sum(1)        # (B, D)
        return context, alpha, (memory, query, x, alpha)

    def step_backward(self, dcontext, dweights, cache, dmemory, grads):
        memory, query, x, alpha = cache
        # context = Σ_j α_j h_j
        dalpha = dweights + (memory.values * dcontext[:, None]).sum(2)
        dmemory.values += alpha[:, :, None] * dcontext[:, None]
        # α = softmax(e)
        de = softmax_backward(dalpha, alpha)
        # e = x v_a
        grads.v_a += (de[:, :, None] * x).sum((0, 1))
        dx = de[:, :, None] * self.v_a
        # x = tanh(a)
        da = dx * (1 - x**2)
        # a = projected + keys
        dmemory.keys += da
        dprojected = da.sum(1)
        # projected = query W_a + b_a
        grads.W_a += query.T @ dprojected
        grads.b_a += dprojected.sum(0)
        dquery = dprojected @ self.W_a.T
        return dquery

    def read_backward(self, memory, dmemory, grads):
        # keys = values U_a
        grads.U_a += np.tensordot(memory.values, dmemory.keys, ((0, 1), (0, 1)))
        dvalues = dmemory.keys @ self.U_a.T
        dvalues += dmemory.values
        return dvalues


def masked_softmax(e, mask):
    e = np.where(mask, e, -np.inf)
    p = np.exp(e - e.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def softmax_backward(dalpha, alpha):
    mean = (alpha * dalpha).sum(axis=1, keepdims=True)
    return alpha * (dalpha - mean)


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    T, B, S, Q, D, A = 6, 2, 5, 3, 4, 7
    shapes = (Q, A), (D, A), (A,), (A,)
    attention = randomize(PlainAttention(*map(np.empty, shapes)), rng)
    mask = np.array([[True] * S, [True] * 3 + [False] * 2])
    inputs = rng.standard_normal((T, B, Q)), rng.standard_normal((B, S, D))
    return attention, inputs, *protocol(attention, mask)
