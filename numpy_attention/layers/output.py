"""The output layer: a softmax over the vocabulary with its cross-entropy, block by block of rows."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.initializers import normal
from numpy_attention.kernels.softmax import cross_entropy
from numpy_attention.layers.embedding import Embedding
from numpy_attention.module import Array, Module
from numpy_attention.shapes import at_least, expect, expect_dtype, expect_ids

BLOCK = 512     # rows at a time: logits of V = 10,000 in float32 are then 20 MB


@dataclass(eq=False)
class Output(Module):
    """p = softmax(E x + b), loss −log p[target].   x (N, size), targets (N,); E is an Embedding's table (V, size)."""

    words: Embedding
    b: Array  # (V,)

    @classmethod
    def create(cls, rng, size, vocabulary, init=normal(0.1), dtype=np.float32, words=None):
        """words: an Embedding of the model to tie to; its rows must have `size` entries. ValueError: sizes that do not fit."""
        at_least(1, size=size, vocabulary=vocabulary)
        words = words or Embedding.create(rng, vocabulary, size, init, dtype)
        expect("the tied table", words.E, (vocabulary, size), "(V, size)", "project to the embedding's size first")
        return cls(words, np.zeros(vocabulary, dtype))

    def logits(self, x):
        """E x + b, for decoding.   x (N, size) → (N, V)."""
        return x @ self.words.E.T + self.b

    def log_probabilities(self, x):
        """log softmax(E x + b).   x (N, size) → (N, V)."""
        logits = self.logits(x)
        logits -= logits.max(-1, keepdims=True)
        logits -= np.log(np.exp(logits).sum(-1, keepdims=True))
        return logits

    def loss(self, x, targets):
        """Σ −log p[target] over the rows, as a float."""
        return sum(losses.sum() for _, _, losses in self._blocks(x, targets, 1.0))

    def loss_and_grad(self, x, targets, scale, grad, smoothing=0.0):
        """The loss Σ −log p[target], and dx = ∂(scale · loss)/∂x, in one go.

        smoothing ε: Σ −(1 − ε) log p[target] − ε / V Σ_v log p[v] instead (Szegedy et al. 2016, section 7).

        The one layer that does not return a cache: a cache of all logits would be the largest array in the program, so
        each block of rows goes forward and backward before the next. Adds ∂(scale · loss)/∂E and /∂b to grad.
        """
        loss, dx = 0.0, np.empty_like(x)
        for rows, dlogits, losses in self._blocks(x, targets, scale, smoothing):
            loss += losses.sum()
            dx[rows] = dlogits @ self.words.E
            grad.words.E += dlogits.T @ x[rows]
            grad.b += dlogits.sum(0)
        return float(loss), dx

    def _blocks(self, x, targets, scale, smoothing=0.0):
        """Yield (rows, scale (p − (1 − ε) onehot(target) − ε / V), losses) for each block of rows."""
        expect("x", x, (None, self.words.E.shape[1]), "(N, size)")
        expect_dtype("x", x, self.b)
        expect("targets", targets, (len(x),), "(N,)")
        expect_ids("targets", targets, len(self.b))
        for start in range(0, len(x), BLOCK):
            rows = slice(start, start + BLOCK)
            logits = x[rows] @ self.words.E.T
            losses = np.empty(len(logits))
            if smoothing:                               # −log p[v] = −log p[target] + z_target − z_v, in the mean over v
                above = (logits + self.b)[np.arange(len(logits)), targets[rows]] - logits.mean(1) - self.b.mean()
            cross_entropy(logits, self.b, targets[rows], logits.dtype.type(scale), losses)
            if smoothing:
                losses += smoothing * above
                logits -= logits.dtype.type(scale * smoothing / len(self.b))
                logits[np.arange(len(logits)), targets[rows]] += logits.dtype.type(scale * smoothing)
            yield rows, logits, losses
