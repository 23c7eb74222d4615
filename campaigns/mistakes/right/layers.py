"""Layers as pairs of plain functions, and a small tagger that calls them one after another."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.module import Array, Module


def embedding_backward(dx, ids, E):
    dE = np.zeros_like(E)
    np.add.at(dE, ids, dx)
    return dE


def linear(x, W, b):
    return x @ W + b, (x, W)


def linear_backward(dy, cache):
    x, W = cache
    dW = x.T @ dy
    db = dy.sum(0)
    return dy @ W.T, dW, db


def layer_norm(x, gamma, beta, epsilon=1e-2):
    centred = x - x.mean(1, keepdims=True)                          # (N, H)
    variance = (centred**2).mean(1, keepdims=True)                  # (N, 1)
    sigma = np.sqrt(variance + epsilon)
    normed = centred / sigma
    return gamma * normed + beta, (normed, sigma, gamma)


def layer_norm_backward(dy, cache):
    normed, sigma, gamma = cache
    dgamma = (dy * normed).sum(0)
    dbeta = dy.sum(0)
    dnormed = dy * gamma
    along = (dnormed * normed).mean(1, keepdims=True)
    dcentred = (dnormed - normed * along) / sigma
    return dcentred - dcentred.mean(1, keepdims=True), dgamma, dbeta


def maxout(x):
    pairs = x.reshape(len(x), -1, 2)                                # (N, K, 2)
    return pairs.max(axis=2), pairs[:, :, 0] >= pairs[:, :, 1]


def maxout_backward(dy, first):
    dpairs = np.empty(dy.shape + (2,))
    dpairs[:, :, 0] = dy * first
    dpairs[:, :, 1] = dy * ~first
    return dpairs.reshape(len(dy), -1)


def cross_entropy(logits, targets, known):
    shifted = logits - logits.max(1, keepdims=True)
    log_z = np.log(np.exp(shifted).sum(1, keepdims=True))
    log_p = shifted - log_z                                         # (N, V)
    picked = log_p[np.arange(len(targets)), targets]
    loss = -(picked * known).sum() / known.sum()
    return np.array(loss), (log_p, targets, known)


def cross_entropy_backward(dloss, cache):
    log_p, targets, known = cache
    dlogits = np.exp(log_p)
    dlogits[np.arange(len(targets)), targets] -= 1
    dlogits *= known[:, None]
    return dloss * dlogits / known.sum()


@dataclass(eq=False)
class Tagger(Module):
    E: Array      # (V, I)
    W: Array      # (I, 2K)
    b: Array      # (2K,)
    gamma: Array  # (2K,)
    beta: Array   # (2K,)
    W_o: Array    # (K, O)
    b_o: Array    # (O,)

    def forward(self, ids, noise, targets, known):
        a, cache_a = linear(self.E[ids], self.W, self.b)            # (N, 2K)
        u, cache_u = layer_norm(a + noise, self.gamma, self.beta)
        h = np.tanh(u)
        m, cache_m = maxout(h)                                      # (N, K)
        logits, cache_o = linear(m, self.W_o, self.b_o)
        loss, cache_l = cross_entropy(logits, targets, known)
        return loss, (ids, cache_a, cache_u, h, cache_m, cache_o, cache_l)

    def backward(self, dloss, cache, grads):
        ids, cache_a, cache_u, h, cache_m, cache_o, cache_l = cache
        dlogits = cross_entropy_backward(dloss, cache_l)
        dm, dW_o, db_o = linear_backward(dlogits, cache_o)
        dh = maxout_backward(dm, cache_m)
        du = dh * (1 - h**2)
        da, dgamma, dbeta = layer_norm_backward(du, cache_u)
        dx, dW, db = linear_backward(da, cache_a)
        grads.E += embedding_backward(dx, ids, self.E)
        grads.W += dW
        grads.b += db
        grads.gamma += dgamma
        grads.beta += dbeta
        grads.W_o += dW_o
        grads.b_o += db_o
        return None, da, None, None


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    V, I, K, classes = 6, 3, 4, 5
    shapes = (V, I), (I, 2 * K), (2 * K,), (2 * K,), (2 * K,), (K, classes), (classes,)
    tagger = randomize(Tagger(*map(np.empty, shapes)), rng)
    ids = np.array([4, 1, 4, 0, 3, 1, 4])
    known = np.array([True] * 5 + [False, True])
    inputs = ids, rng.standard_normal((7, 2 * K)), rng.integers(classes, size=7), known
    return tagger, inputs, tagger.forward, tagger.backward
