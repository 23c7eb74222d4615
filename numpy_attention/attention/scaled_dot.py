"""Scaled dot-product attention: queries, keys and values (Vaswani et al. 2017)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.attention.softmax import masked_softmax, masked_softmax_backward
from numpy_attention.module import Array, Module


class Cache(NamedTuple):
    q: Array            # (B, …, T, d_k)
    k: Array            # (B, …, S, d_k)
    v: Array            # (B, …, S, d_v)
    weights: Array      # (B, …, T, S)


@dataclass(eq=False)
class ScaledDotProductAttention(Module):
    """Scaled dot-product attention for all queries at once (Vaswani et al. 2017, equation 1).

        Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V

    If the components of q and k are independent with mean 0 and variance 1, q · k has variance d_k.
    Without the division by √d_k the softmax saturates as d_k grows, and its gradient vanishes
    (footnote 4). scaled=False omits the division.

    Shapes: q (B, …, T, d_k), k (B, …, S, d_k), v (B, …, S, d_v), visible boolean, broadcastable
    to (B, …, T, S) → output (B, …, T, d_v), weights (B, …, T, S). There are no parameters. If no
    position is visible to a query, its weights and output are 0.
    """

    scaled: bool = True

    def attention_weights(self, scores, visible):
        """Return the masked softmax of the scores. An ablation (`ablate`) replaces this method."""
        return masked_softmax(scores, visible)

    def forward(self, q, k, v, visible):
        """Attend with all queries → output (B, …, T, d_v), weights (B, …, T, S), cache."""
        # e = Q Kᵀ / √d_k
        scores = np.matmul(q, np.swapaxes(k, -1, -2))                           # (B, …, T, S)
        if self.scaled:
            scores *= scores.dtype.type(1 / np.sqrt(q.shape[-1]))
        visible = np.ascontiguousarray(np.broadcast_to(visible, scores.shape))
        weights = self.attention_weights(scores, visible)                             # (B, …, T, S)
        return np.matmul(weights, v), weights, Cache(q, k, v, weights)

    def backward(self, doutput, dweights, cache, grads=None):
        """Return the gradients of q, k and v.   doutput (B, …, T, d_v) → dq, dk, dv.

        dweights: the gradient of the weights, which must broadcast to (B, …, T, S), or None for 0.
        """
        q, k, v, weights = cache
        # output = α V
        dv = np.matmul(np.swapaxes(weights, -1, -2), doutput)                   # (B, …, S, d_v)
        dalpha = np.matmul(doutput, np.swapaxes(v, -1, -2))                     # (B, …, T, S)
        if dweights is not None:
            dalpha += dweights
        # α = softmax(e)
        dscores = masked_softmax_backward(dalpha, weights)                      # (B, …, T, S)
        # e = Q Kᵀ / √d_k
        if self.scaled:
            dscores *= dscores.dtype.type(1 / np.sqrt(q.shape[-1]))
        dq = np.matmul(dscores, k)                                              # (B, …, T, d_k)
        dk = np.matmul(np.swapaxes(dscores, -1, -2), q)                         # (B, …, S, d_k)
        return dq, dk, dv
