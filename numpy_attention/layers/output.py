"""The output layer: softmax over the vocabulary and cross-entropy, computed in blocks of rows."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.initializers import check_initial, normal
from numpy_attention.kernels.softmax import cross_entropy, log_softmax
from numpy_attention.layers.embedding import Embedding
from numpy_attention.module import Array, Module
from numpy_attention.products import few_rows, has_small_kernels
from numpy_attention.validation.arrays import check_shape, check_sizes, chunks

BLOCK = 512     # rows at a time: logits of V = 10,000 in float32 are then 20 MB
FEW = 32        # rows up to which E xᵀ is faster than x Eᵀ, unless panels can be used
WORDS = 2048    # words per block of ∂L/∂E, whose sum then stays in the cache


@dataclass(eq=False)
class Output(Module):
    """Softmax over the vocabulary with cross-entropy loss.   x (N, K), targets (N,).

        p    = softmax(E x + b)
        loss = −log p[target]

    E is the table (V, K) of an Embedding, which the model's input may share.
    """

    words: Embedding
    b: Array  # (V,)

    @classmethod
    def create(cls, rng, size, vocabulary, init=normal(0.1), dtype=np.float32, words=None):
        """Draw E unless it is shared; b = 0. size: K. vocabulary: V. words: an Embedding to share.

        Raises ValueError if a size is below 1, or if the shared table is not (vocabulary, size).
        """
        check_sizes(size=size, vocabulary=vocabulary)
        check_initial(rng, dtype, init)
        words = words or Embedding.create(rng, vocabulary, size, init, dtype)
        check_shape("the tied embedding", words.E, (vocabulary, size), "(V, K)",
                    "the input and output share it, so their sizes must agree")
        return cls(words, np.zeros(vocabulary, dtype))

    def logits(self, x):
        """Return E x + b, for decoding.   x (N, K) → (N, V)."""
        return self._scores(x) + self.b

    def log_probabilities(self, x):
        """Return log softmax(E x + b).   x (N, K) → (N, V)."""
        log_p = self._scores(x)                                             # (N, V)
        log_softmax(log_p, self.b, np.empty_like(self.b))
        return log_p

    def _scores(self, x):
        """Return E x for each row.   x (N, K) → (N, V)."""
        if len(x) <= FEW and not has_small_kernels():
            return np.ascontiguousarray((self.words.E @ x.T).T)
        return x @ few_rows(self.words.E.T, len(x))

    def losses(self, x, targets):
        """Return −log p[target] for each row, in float64.   x (N, K), targets (N,) → (N,)."""
        found = np.empty(len(x))                                            # (N,)
        for rows, _, losses in self._blocks(x, targets, 1.0):
            found[rows] = losses
        return found

    def loss(self, x, targets):
        """Return Σ −log p[target] over the rows, as a float.   x (N, K), targets (N,)."""
        return float(sum(losses.sum() for _, _, losses in self._blocks(x, targets, 1.0)))

    def loss_and_grad(self, x, targets, scale, grads, smoothing=0.0, each=None):
        """Return the loss and the gradient of x.   → Σ −log p[target], dx (N, K).

        dx = ∂(scale · loss)/∂x. Adds ∂(scale · loss)/∂E and ∂(scale · loss)/∂b to grads. each: an
        array (N,) into which the loss of each row is written, or None. smoothing: ε of label
        smoothing (Szegedy et al. 2016, section 7), which changes the loss to

            loss = Σ −(1 − ε) log p[target] − ε / V Σ_v log p[v]

        Output is the only layer that does not return a cache. A cache of all logits would be the
        largest array of the program, so each block of rows is run forward and then backward.
        """
        loss = 0.0
        dx = np.empty_like(x)                                               # (N, K)
        for rows, dlogits, losses in self._blocks(x, targets, scale, smoothing):
            loss += losses.sum()
            if each is not None:
                each[rows] = losses
            # logits = E x + b
            grads.b += dlogits.sum(0)
            for words in chunks(slice(0, len(self.b)), WORDS):
                grads.words.E[words] += dlogits[:, words].T @ x[rows]
            dx[rows] = dlogits @ self.words.E
        return float(loss), dx

    def _blocks(self, x, targets, scale, smoothing=0.0):
        """Yield (rows, dlogits, losses) for each block of rows. rows is a slice. ε is `smoothing`.

            dlogits = scale (p − (1 − ε) onehot(target) − ε / V)
        """
        for rows in chunks(slice(0, len(x)), BLOCK):
            logits = x[rows] @ self.words.E.T               # (rows, V), without b until the kernel
            losses = np.empty(len(logits))                  # (rows,)
            at_targets = np.arange(len(logits)), targets[rows]
            if smoothing:
                # mean_v (−log p[v]) = −log p[target] + z[target] − mean_v z[v],  z = logits + b
                above = (logits + self.b)[at_targets] - logits.mean(1) - self.b.mean()
            cross_entropy(logits, self.b, targets[rows], logits.dtype.type(scale), losses)
            dlogits = logits                                # the kernel has overwritten them
            if smoothing:
                losses += smoothing * above
                dlogits -= dlogits.dtype.type(scale * smoothing / len(self.b))
                dlogits[at_targets] += dlogits.dtype.type(scale * smoothing)
            yield rows, dlogits, losses
