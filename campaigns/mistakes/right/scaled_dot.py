"""Causal self-attention with a residual (Vaswani et al. 2017, section 3.2), all positions at once.

    Q, K, V = X W_q, X W_k, X W_v,  P = softmax(QKᵀ/√d) where key ≤ query,  Y = X + (P V) W_o
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class SelfAttention(Module):
    W_q: Array  # (M, N)
    W_k: Array  # (M, N)
    W_v: Array  # (M, D)
    W_o: Array  # (D, M)
    tau: Array  # (1,)      divides the scores, in addition to √d

    def forward(self, X, mask):
        """Return Y (B, T, M), weights (B, T, T), cache.   X (B, T, M), mask (B, T)."""
        N = self.W_q.shape[1]
        T = X.shape[1]
        Q = X @ self.W_q                                            # (B, T, N)
        K = X @ self.W_k                                            # (B, T, N)
        V = X @ self.W_v                                            # (B, T, D)
        G = Q @ K.transpose(0, 2, 1)                                # (B, T, T)
        E = G / np.sqrt(N) / self.tau
        visible = np.tril(np.ones((T, T), bool)) & mask[:, None, :]
        E = np.where(visible, E, -np.inf)
        P = np.exp(E - E.max(axis=2, keepdims=True))
        P /= P.sum(axis=2, keepdims=True)
        Z = P @ V                                                   # (B, T, D)
        Y = X + Z @ self.W_o
        return Y, P, (X, Q, K, V, G, P, Z)

    def backward(self, dY, dP, cache, grads):
        X, Q, K, V, G, P, Z = cache
        N = self.W_q.shape[1]
        # Y = X + Z W_o
        dX = dY.copy()
        dZ = dY @ self.W_o.T
        grads.W_o += weight_gradient(Z, dY)
        # Z = P V
        dP = dP + dZ @ V.transpose(0, 2, 1)
        dV = P.transpose(0, 2, 1) @ dZ
        # P = softmax(E)
        dE = P * (dP - np.sum(P * dP, axis=2, keepdims=True))
        # E = G / √N / tau
        dG = dE / np.sqrt(N) / self.tau
        grads.tau -= np.sum(dG * G) / self.tau
        # G = Q Kᵀ
        dQ = dG @ K
        dK = dG.transpose(0, 2, 1) @ Q
        # Q, K, V = X W_q, X W_k, X W_v
        grads.W_q += weight_gradient(X, dQ)
        grads.W_k += weight_gradient(X, dK)
        grads.W_v += weight_gradient(X, dV)
        dX += dQ @ self.W_q.T
        dX += dK @ self.W_k.T
        dX += dV @ self.W_v.T
        return dX, None


def weight_gradient(X, dY):
    """Return ∂L/∂W of Y = X W, a sum over batch and position."""
    flat_x = X.reshape(-1, X.shape[-1])
    flat_dy = dY.reshape(-1, dY.shape[-1])
    return flat_x.T @ flat_dy


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    B, T, M, N, D = 2, 5, 6, 3, 4
    shapes = (M, N), (M, N), (M, D), (D, M), (1,)
    attention = randomize(SelfAttention(*map(np.empty, shapes)), rng)
    attention.tau[:] = 0.8
    mask = np.array([[True] * T, [True] * 3 + [False] * 2])
    return attention, (rng.standard_normal((B, T, M)), mask), attention.forward, attention.backward
