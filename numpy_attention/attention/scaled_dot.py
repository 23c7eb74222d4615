"""Scaled dot-product attention over queries, keys and values (Vaswani et al. 2017)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.attention.softmax import masked_softmax, masked_softmax_backward
from numpy_attention.module import Array, Module
from numpy_attention.validation.arrays import check_shape, check_dtype, check_made, check_mask, check_real


class Cache(NamedTuple):
    q: Array            # (B, …, T, d_k)
    k: Array            # (B, …, S, d_k)
    v: Array            # (B, …, S, d_v)
    weights: Array      # (B, …, T, S)


@dataclass(eq=False)
class ScaledDotProductAttention(Module):
    """Attention(Q, K, V) = softmax(Q Kᵀ / √d_k) V for all queries at once (equation 1).

    If the components of q and k are independent with mean 0 and variance 1, q · k has variance d_k:
    without the division the softmax saturates as d_k grows, and its gradient vanishes (footnote 4);
    scaled=False leaves it out, to see that.

    Shapes: q (B, …, T, d_k), k (B, …, S, d_k), v (B, …, S, d_v), visible boolean, what broadcasts
    to (B, …, T, S) → output (B, …, T, d_v), weights (B, …, T, S). There are no parameters. A query
    that sees nothing gets weights and output 0. ValueError: shapes that do not fit; TypeError: a
    mask that is not boolean, keys or values of another dtype than the queries.
    """

    scaled: bool = True

    def attention_weights(self, scores, visible):
        """α = softmax(e) over what is visible; `analysis.ablation` puts other weights here."""
        return masked_softmax(scores, visible)

    def forward(self, q, k, v, visible):
        """→ output (B, …, T, d_v), weights (B, …, T, S), cache."""
        _check_queries_keys_values(q, k, v)
        shape = q.shape[:-1] + k.shape[-2:-1]
        _check_visible(visible, shape)
        # e = Q Kᵀ / √d_k
        scores = np.matmul(q, np.swapaxes(k, -1, -2))                           # (B, …, T, S)
        if self.scaled:
            scores *= scores.dtype.type(1 / np.sqrt(q.shape[-1]))
        visible = np.ascontiguousarray(np.broadcast_to(visible, shape))
        weights = self.attention_weights(scores, visible)                             # (B, …, T, S)
        return np.matmul(weights, v), weights, Cache(q, k, v, weights)

    def backward(self, doutput, dweights, cache, grads=None):
        """doutput (B, …, T, d_v) → dq, dk, dv.

        dweights: None, or what broadcasts to (B, …, T, S).
        """
        check_made("cache", cache, Cache, "forward")
        q, k, v, weights = cache
        check_shape("doutput", doutput, weights.shape[:-1] + v.shape[-1:], "(B, …, T, d_v)",
               "as `forward` gave the output")
        check_dtype("doutput", doutput, q, "the queries")
        if dweights is not None:
            _check_stretched("dweights", dweights, weights.shape)
            check_dtype("dweights", dweights, q, "the queries")
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


def _check_queries_keys_values(q, k, v):
    for name, x in (("q", q), ("k", k), ("v", v)):
        check_shape(name, x, (..., None, None), "(B, …, T, d)")
        check_real(name, x)
    if q.shape[-1] != k.shape[-1] or k.shape[:-1] != v.shape[:-1] or q.shape[:-2] != k.shape[:-2]:
        raise ValueError(f"queries {q.shape}, keys {k.shape} and values {v.shape} do not fit: "
                         "expected (B, …, T, d_k), (B, …, S, d_k) and (B, …, S, d_v)")
    for name, x in (("k", k), ("v", v)):
        if x.dtype != q.dtype:
            raise TypeError(f"{name} is {x.dtype}, the queries are {q.dtype}: "
                            "convert one with astype")


def _check_visible(visible, shape):
    check_mask(visible, (...,), "(B, …, T, S)")
    _check_stretched("mask", visible, shape)


def _check_stretched(name, array, shape):
    """Refuse what does not broadcast to the shape: an axis must be as long as the shape's, or 1."""
    check_shape(name, array, (...,), "(B, …, T, S)")
    given = array.shape
    last = shape[max(len(shape) - len(given), 0):]
    fitting = tuple(1 if length == 1 else wanted for length, wanted in zip(given, last))
    check_shape(name, array, fitting, "(B, …, T, S)", "it must broadcast to the weights")
