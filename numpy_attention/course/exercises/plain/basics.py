"""What every model is made of: softmax, cross-entropy, a table, a layer, and their gradients."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.module import Array, Module


def softmax(e):
    """Scores e (B, S) → weights (B, S) that are positive and add up to 1 in each row, cache."""
    powers = np.exp(e - e.max(axis=1, keepdims=True))       # the largest is e⁰ = 1
    alpha = powers / powers.sum(axis=1, keepdims=True)
    return alpha, alpha


def softmax_backward(dalpha, cache, grads):
    """∂L/∂α (B, S) → ∂L/∂e (B, S)."""
    alpha = cache
    mean = (alpha * dalpha).sum(axis=1, keepdims=True)      # what an average look does
    return alpha * (dalpha - mean)


def cross_entropy(z, y):
    """Scores z (N, V), right classes y (N,) → the mean of −log p_y, cache."""
    shifted = z - z.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(shifted).sum(axis=1))           # (N,)
    rows = np.arange(len(y))
    loss = (log_sum - shifted[rows, y]).mean()
    return loss, (shifted, log_sum, y)


def cross_entropy_backward(dloss, cache, grads):
    """∂(what comes after)/∂L → ∂/∂z (N, V), and None for the classes."""
    shifted, log_sum, y = cache
    dz = np.exp(shifted - log_sum[:, None])                 # p
    rows = np.arange(len(y))
    dz[rows, y] -= 1
    return dz * dloss / len(y), None


@dataclass(eq=False)
class Embedding(Module):
    """A table with a row for each word."""

    E: Array  # (V, D)

    def forward(self, ids):
        """ids (N,) → their rows (N, D), cache."""
        return self.E[ids], ids

    def backward(self, drows, cache, grads):
        """∂L/∂rows (N, D): adds to grads.E (V, D); ids have no gradient."""
        ids = cache
        np.add.at(grads.E, ids, drows)


@dataclass(eq=False)
class Linear(Module):
    """y = x W + b."""

    W: Array  # (I, O)
    b: Array  # (O,)

    def forward(self, x):
        """x (B, I) → y (B, O), cache."""
        return x @ self.W + self.b, x

    def backward(self, dy, cache, grads):
        """∂L/∂y (B, O) → ∂L/∂x (B, I); adds to grads.W and grads.b."""
        x = cache
        grads.W += x.T @ dy
        grads.b += dy.sum(axis=0)
        return dy @ self.W.T


def squash(a, b):
    """a, b (B, H) → tanh(a), σ(b), cache: the outputs alone."""
    x = np.tanh(a)
    s = 1 / (1 + np.exp(-b))
    return x, s, (x, s)


def squash_backward(dx, ds, cache, grads):
    """∂L/∂x, ∂L/∂s → ∂L/∂a, ∂L/∂b, from the outputs alone."""
    x, s = cache
    return dx * (1 - x**2), ds * s * (1 - s)


def dropout(x, keep, p):
    """x (B, H), keep (B, H) bool, the share p that is left out → what is left, cache.

    What is left is made larger, so that its expectation is x.
    """
    scale = keep / (1 - p)
    return x * scale, scale


def dropout_backward(dy, cache, grads):
    """∂L/∂y (B, H) → ∂L/∂x, and None for keep and p."""
    scale = cache
    return dy * scale, None, None


def clip(gradients, most):
    """Arrays, and the largest norm that they may have together → (arrays, their norm before).

    All are multiplied with one factor, or none is.
    """
    norm = np.sqrt(sum((one**2).sum() for one in gradients))
    factor = min(1.0, most / norm) if norm > 0 else 1.0
    return [one * factor for one in gradients], norm


def adam(x, g, m, v, step, rate, beta1, beta2, epsilon):
    """One step of Adam (Kingma & Ba 2015, algorithm 1) → new x, m, v. step counts from 1."""
    m = beta1 * m + (1 - beta1) * g
    v = beta2 * v + (1 - beta2) * g**2
    m_hat = m / (1 - beta1**step)
    v_hat = v / (1 - beta2**step)
    return x - rate * m_hat / (np.sqrt(v_hat) + epsilon), m, v


def perplexity(losses, mask):
    """−log p of each word (T, B), mask (T, B): False where there is none → exp of the mean."""
    return np.exp(losses[mask].sum() / mask.sum())


def pointing(weights, links):
    """Weights (T, S), links: the set of (t, s) that are sure → the share of linked target words
    whose largest weight stands on one of their links.
    """
    linked = sorted({t for t, _ in links})
    right = [(t, int(weights[t].argmax())) in links for t in linked]
    return sum(right) / len(linked)
