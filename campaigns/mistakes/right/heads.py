"""Multi-head attention with einsum, a residual connection and layer norm (Vaswani et al. 2017).

    Q_n, K_n, V_n = X W_q^n, M W_k^n, M W_v^n + b_v^n,  P_n = softmax(Q_n K_nᵀ / √d),
    R = X + Σ_n P_n V_n W_o^n,  Y = γ ∘ (R − mean) / σ + β
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class Heads(Module):
    W_q: Array    # (n, I, d)
    W_k: Array    # (n, C, d)
    W_v: Array    # (n, C, d)
    b_v: Array    # (n, d)
    W_o: Array    # (n, d, I)
    gamma: Array  # (I,)
    beta: Array   # (I,)

    def forward(self, X, M, mask):
        """Return Y (B, T, I), P (B, n, T, S), cache.   X (B, T, I), M (B, S, C), mask (B, S)."""
        Q = np.einsum("bti,nid->bntd", X, self.W_q)
        K = np.einsum("bsc,ncd->bnsd", M, self.W_k)
        V = np.einsum("bsc,ncd->bnsd", M, self.W_v) + self.b_v[:, None]
        E = np.einsum("bntd,bnsd->bnts", Q, K) / np.sqrt(Q.shape[3])
        E = np.where(mask[:, None, None, :], E, -np.inf)
        P = np.exp(E - E.max(axis=3, keepdims=True))
        P = P / P.sum(axis=3, keepdims=True)
        Z = np.einsum("bnts,bnsd->bntd", P, V)
        R = X + np.einsum("bntd,ndi->bti", Z, self.W_o)
        mean = R.mean(axis=2, keepdims=True)
        sigma = np.sqrt(((R - mean)**2).mean(axis=2, keepdims=True) + 1e-3)
        N = (R - mean) / sigma
        Y = self.gamma * N + self.beta
        return Y, P, (X, M, Q, K, V, P.copy(), Z, N, sigma)

    def backward(self, dY, dP, cache, grads):
        X, M, Q, K, V, P, Z, N, sigma = cache
        I, d = dY.shape[2], Q.shape[3]
        # Y = γ ∘ N + β
        grads.gamma += np.einsum("bti,bti->i", dY, N)
        grads.beta += np.einsum("bti->i", dY)
        dN = dY * self.gamma
        # N = (R − mean) / σ
        dR = dN - dN.sum(axis=2, keepdims=True) / I
        dR -= N * (dN * N).sum(axis=2, keepdims=True) / I
        dR /= sigma
        # R = X + Σ_n Z_n W_o^n
        dX = dR.copy()
        grads.W_o += np.einsum("bntd,bti->ndi", Z, dR)
        dZ = np.einsum("bti,ndi->bntd", dR, self.W_o)
        # Z = P V
        dP = dP + np.einsum("bntd,bnsd->bnts", dZ, V)
        dV = np.einsum("bnts,bntd->bnsd", P, dZ)
        # P = softmax(E)
        dE = P * (dP - np.einsum("bnts,bnts->bnt", P, dP)[..., None])
        # E = Q Kᵀ / √d
        dE = dE / np.sqrt(d)
        dQ = np.einsum("bnts,bnsd->bntd", dE, K)
        dK = np.einsum("bnts,bntd->bnsd", dE, Q)
        # Q, K, V
        grads.W_q += np.einsum("bti,bntd->nid", X, dQ)
        grads.W_k += np.einsum("bsc,bnsd->ncd", M, dK)
        grads.W_v += np.einsum("bsc,bnsd->ncd", M, dV)
        grads.b_v += np.einsum("bnsd->nd", dV)
        dX += np.einsum("bntd,nid->bti", dQ, self.W_q)
        dM = np.einsum("bnsd,ncd->bsc", dK, self.W_k)
        dM += np.einsum("bnsd,ncd->bsc", dV, self.W_v)
        return dX, dM, None


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    B, T, S, I, C, n, d = 2, 4, 5, 6, 7, 3, 8
    shapes = (n, I, d), (n, C, d), (n, C, d), (n, d), (n, d, I), (I,), (I,)
    heads = randomize(Heads(*map(np.empty, shapes)), rng)
    mask = np.array([[True] * S, [True] * 2 + [False] * 3])
    inputs = rng.standard_normal((B, T, I)), rng.standard_normal((B, S, C)), mask
    return heads, inputs, heads.forward, heads.backward
