"""A block of a Transformer decoder (Vaswani et al. 2017) in plain functions, pre-norm.

    X₁ = X + Heads(LN(X)) W_o,  Y = X₁ + GELU(LN(X₁) W_1) W_2,  GELU(u) = u σ(1.702 u)
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class Block(Module):
    gamma_1: Array  # (M,)
    beta_1: Array   # (M,)
    W_qkv: Array    # (M, 3M)
    W_o: Array      # (M, M)
    gamma_2: Array  # (M,)
    beta_2: Array   # (M,)
    W_1: Array      # (M, F)
    W_2: Array      # (F, M)
    heads: int


def forward(p, X, mask):
    """Return Y (B, T, M), mean weights of heads (B, T, T), cache. X (B, T, M), mask (B, T)."""
    normed, cache_1 = layer_norm(X, p.gamma_1, p.beta_1)
    mixed, P, cache_a = attention(p, normed, mask)
    X_1 = X + mixed
    inner, cache_2 = layer_norm(X_1, p.gamma_2, p.beta_2)
    f, slope = gelu(inner @ p.W_1)                                # (B, T, F)
    Y = X_1 + f @ p.W_2
    return Y, P.mean(1), (cache_1, cache_a, cache_2, inner, f, slope)


def backward(p, dY, dmean, cache, grads):
    cache_1, cache_a, cache_2, inner, f, slope = cache
    grads.W_2 += np.einsum("btf,btm->fm", f, dY)
    du = dY @ p.W_2.T * slope                                       # (B, T, F)
    grads.W_1 += np.einsum("btm,btf->mf", inner, du)
    dX_1 = layer_norm_backward(du @ p.W_1.T, p.gamma_2, cache_2, grads.gamma_2, grads.beta_2)
    dX_1 += dY
    dP = dmean[:, None] / p.heads                                   # (B, 1, T, T)
    dnormed = attention_backward(p, dX_1, dP, cache_a, grads)
    dX = layer_norm_backward(dnormed, p.gamma_1, cache_1, grads.gamma_1, grads.beta_1)
    return dX + dX_1, None


def attention(p, X, mask):
    Q, K, V = (split_heads(part, p.heads) for part in np.split(X @ p.W_qkv, 3, axis=-1))
    E = Q @ K.swapaxes(2, 3) / np.sqrt(Q.shape[-1])                 # (B, heads, T, T)
    E[:, :, ~np.tri(X.shape[1], dtype=bool)] = -np.inf
    E = np.where(mask[:, None, None, :], E, -np.inf)
    P = np.exp(E - E.max(-1, keepdims=True))
    P /= P.sum(-1, keepdims=True)
    Z = merge_heads(P @ V)                                          # (B, T, M)
    return Z @ p.W_o, P, (X, Q, K, V, P, Z)


def attention_backward(p, dout, dP, cache, grads):
    X, Q, K, V, P, Z = cache
    grads.W_o += np.einsum("bti,btj->ij", Z, dout)
    dZ = split_heads(dout @ p.W_o.T, p.heads)                       # (B, heads, T, d)
    dP = dP + dZ @ V.swapaxes(2, 3)
    dV = P.swapaxes(2, 3) @ dZ
    dE = P * (dP - (P * dP).sum(-1, keepdims=True))
    dE /= np.sqrt(Q.shape[-1])
    dQ, dK = dE @ K, dE.swapaxes(2, 3) @ Q
    dqkv = np.concatenate([merge_heads(d) for d in (dQ, dK, dV)], axis=-1)
    grads.W_qkv += np.einsum("bti,btj->ij", X, dqkv)
    return dqkv @ p.W_qkv.T


def split_heads(X, n):
    return X.reshape(*X.shape[:2], n, -1).transpose(0, 2, 1, 3)     # (B, n, T, d)


def merge_heads(X):
    return X.transpose(0, 2, 1, 3).reshape(len(X), X.shape[2], -1)  # (B, T, n d)


def layer_norm(x, gamma, beta, epsilon=1e-2):
    sigma = np.sqrt(x.var(-1, keepdims=True) + epsilon)
    n = (x - x.mean(-1, keepdims=True)) / sigma
    return gamma * n + beta, (n, sigma)


def layer_norm_backward(dy, gamma, cache, dgamma, dbeta):
    n, sigma = cache
    dgamma += (dy * n).sum((0, 1))
    dbeta += dy.sum((0, 1))
    dn = dy * gamma
    return (dn - dn.mean(-1, keepdims=True) - n * (dn * n).mean(-1, keepdims=True)) / sigma


def gelu(u):
    s = 1 / (1 + np.exp(-1.702 * u))
    return u * s, s + 1.702 * u * s * (1 - s)                       # value, derivative


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    B, T, heads, M, F = 2, 5, 3, 12, 7
    shapes = (M,), (M,), (M, 3 * M), (M, M), (M,), (M,), (M, F), (F, M)
    block = randomize(Block(*map(np.empty, shapes), heads), rng)
    inputs = rng.standard_normal((B, T, M)), np.arange(T) < np.array([[5], [3]])
    return (block, inputs, lambda X, mask: forward(block, X, mask),
            lambda *arguments: backward(block, *arguments))
