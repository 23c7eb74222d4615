"""Multi-head attention: several small attentions in parallel (Vaswani et al. 2017)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.attention import scaled_dot
from numpy_attention.attention.memory import Memory
from numpy_attention.attention.scaled_dot import ScaledDotProductAttention
from numpy_attention.initializers import check_initial, glorot
from numpy_attention.module import Array, Module
from numpy_attention.validation.arrays import (
    as_rows,
    at_least,
    check_dtype,
    check_parameters,
    check_shape,
    check_sizes,
)


class AttendCache(NamedTuple):
    queries: Array      # (B, T, Q)
    joined: Array       # (B, T, A)   the concatenated outputs of the heads
    attended: scaled_dot.Cache


class Cache(NamedTuple):
    values: Array       # (B, S, D)
    attend_cache: AttendCache


@dataclass(eq=False)
class MultiHeadAttention(Module):
    """Multi-head attention (Vaswani et al. 2017, section 3.2.2), where K and V are both the values.

        head_i             = Attention(Q W_q^i, K W_k^i, V W_v^i)
        MultiHead(Q, K, V) = [head_1; …; head_h] W_o + b_o

    The matrices of the heads are side by side in W_q, W_k and W_v. Queries, values and output have
    biases. Keys have none: a bias would add the same number to all scores of a query, which does
    not change the softmax. The weights returned are the mean over the heads.

    Shapes: queries (B, T, Q), values h (B, S, D), visible (B, T, S) → (B, T, O), weights (B, T, S).
    In a decoder, with `read` and `step`: query (B, Q) → context (B, O), weights (B, S).
    """

    W_q: Array  # (Q, A)
    b_q: Array  # (A,)
    W_k: Array  # (D, A)
    W_v: Array  # (D, A)
    b_v: Array  # (A,)
    W_o: Array  # (A, O)
    b_o: Array  # (O,)
    attention: ScaledDotProductAttention
    heads: int = 4

    def __post_init__(self):
        check_parameters(self, W_q="QA", b_q="A", W_k="DA", W_v="DA", b_v="A", W_o="AO", b_o="O")

    @classmethod
    def create(cls, rng, query_size, value_size, size=None, outputs=None, heads=4, scaled=True,
               init=glorot, dtype=np.float32):
        """Draw the weights. size: A, the total size of all heads. outputs: O.

        By default, A and O are query_size. A decoder that expects contexts of the same size as the
        annotations, such as RNNSearch, needs outputs = value_size. scaled: whether scores are
        divided by √(A / heads). Raises ValueError if heads does not divide A, or a size is below 1.
        """
        check_sizes(query_size=query_size, value_size=value_size, heads=heads)
        at_least(1, size=size, outputs=outputs)
        check_initial(rng, dtype, init)
        size = size or query_size
        outputs = outputs or query_size
        if size % heads:
            raise ValueError(f"size ({size}) must be divisible by heads ({heads})")
        zero = lambda n: np.zeros(n, dtype)
        return cls(W_q=init(rng, (query_size, size), dtype), b_q=zero(size),
                   W_k=init(rng, (value_size, size), dtype),
                   W_v=init(rng, (value_size, size), dtype), b_v=zero(size),
                   W_o=init(rng, (size, outputs), dtype), b_o=zero(outputs),
                   attention=ScaledDotProductAttention(scaled), heads=heads)

    # ---- all queries at once ---------------------------------------------------------------------

    def forward(self, queries, values, visible):
        """Attend with all queries → y (B, T, O), weights (B, T, S), cache."""
        y, weights, attend_cache = self.attend(queries, self.keys_and_values(values), visible)
        return y, weights, Cache(values, attend_cache)

    def backward(self, dy, dweights, cache, grads):
        """Return the gradients of the queries and the values.

        dy (B, T, O), dweights (B, T, S) or None → dqueries (B, T, Q), dvalues (B, S, D).
        """
        values, attend_cache = cache
        dqueries, dkeys_and_values = self.attend_backward(dy, dweights, attend_cache, grads)
        return dqueries, self.keys_and_values_backward(dkeys_and_values, values, grads)

    def keys_and_values(self, values):
        """Compute the keys and values [k; v] of all heads: values h (B, S, D) → (B, S, 2A)."""
        rows = as_rows(values)
        k = rows @ self.W_k
        v = rows @ self.W_v + self.b_v
        both = np.concatenate([k, v], axis=1)
        return both.reshape(values.shape[:2] + both.shape[1:])

    def keys_and_values_backward(self, dkeys_and_values, values, grads):
        """Backpropagate dkeys_and_values (B, S, 2A) → dvalues (B, S, D).

        values (B, S, D): the argument of `keys_and_values`. Adds the gradients of W_k, W_v and b_v.
        """
        dk, dv = np.split(as_rows(dkeys_and_values), 2, axis=1)
        rows = as_rows(values)
        # k = h W_k
        grads.W_k += rows.T @ dk
        # v = h W_v + b_v
        grads.W_v += rows.T @ dv
        grads.b_v += dv.sum(0)
        return (dk @ self.W_k.T + dv @ self.W_v.T).reshape(values.shape)

    def attend(self, queries, keys_and_values, visible):
        """Attend with all queries, given the projected keys and values.

        queries (B, T, Q), keys_and_values (B, S, 2A), visible (B, T, S) → y (B, T, O),
        weights (B, T, S), cache.
        """
        q = as_rows(queries) @ self.W_q + self.b_q
        q = q.reshape(queries.shape[:2] + self.b_q.shape)                       # (B, T, A)
        k, v = np.split(keys_and_values, 2, axis=2)
        parts, weights, attended = self.attention.forward(
            self.split_heads(q), self.split_heads(k), self.split_heads(v), visible[:, None])
        joined = self.merge_heads(parts)                                          # (B, T, A)
        y = as_rows(joined) @ self.W_o + self.b_o
        y = y.reshape(queries.shape[:2] + self.b_o.shape)                       # (B, T, O)
        return y, weights.mean(1), AttendCache(queries, joined, attended)

    def attend_backward(self, dy, dweights, cache, grads):
        """Return the gradients of the queries and of keys_and_values.

        dy (B, T, O), dweights (B, T, S) or None → dqueries (B, T, Q), dkeys_and_values (B, S, 2A).
        """
        queries, joined, attended = cache
        rows = as_rows(dy)
        # y = joined W_o + b_o
        grads.W_o += as_rows(joined).T @ rows
        grads.b_o += rows.sum(0)
        dparts = self.split_heads((rows @ self.W_o.T).reshape(joined.shape))
        # the weights are the mean over the heads
        shared = None if dweights is None else dweights[:, None] / dweights.dtype.type(self.heads)
        # parts = Attention(q, k, v) of each head
        dq, dk, dv = self.attention.backward(dparts, shared, attended)
        # q = queries W_q + b_q
        dq = as_rows(self.merge_heads(dq))
        grads.W_q += as_rows(queries).T @ dq
        grads.b_q += dq.sum(0)
        # [k; v]
        both = [self.merge_heads(dk), self.merge_heads(dv)]
        dkeys_and_values = np.concatenate(both, axis=2)                         # (B, S, 2A)
        return (dq @ self.W_q.T).reshape(queries.shape), dkeys_and_values

    def split_heads(self, x):
        """Split the last axis by head: x (B, T, A) → (B, heads, T, A / heads)."""
        B, T, A = x.shape
        parts = x.reshape(B, T, self.heads, A // self.heads)
        return np.ascontiguousarray(parts.transpose(0, 2, 1, 3))

    def merge_heads(self, parts):
        """Concatenate the heads: parts (B, heads, T, A / heads) → (B, T, A)."""
        B, _, T, _ = parts.shape
        return parts.transpose(0, 2, 1, 3).reshape(B, T, len(self.b_q))

    # ---- one query after another, as in a decoder -----------------------------------------------

    def read(self, values, mask):
        """Return a Memory with [k; v] of all heads as keys.   values (B, S, D), mask (B, S)."""
        check_shape("values", values, (None, None, len(self.W_k)), "(B, S, D)",
                    "pass B sequences of S vectors")
        check_dtype("values", values, self.W_k)
        return Memory(values, self.keys_and_values(values), mask)

    def step(self, query, memory, t):
        """Attend to memory: query (B, Q) → context (B, O), weights (B, S), cache. t is unused."""
        y, weights, attend_cache = self.attend(query[:, None], memory.keys, memory.mask[:, None])
        return y[:, 0], weights[:, 0], attend_cache

    def step_backward(self, dcontext, dweights, cache, dmemory, grads):
        """Backpropagate dcontext (B, O), dweights (B, S) or None → dquery (B, Q).

        The gradient of the projected keys and values is added to dmemory.keys.
        """
        if dweights is not None:
            dweights = dweights[:, None]
        dqueries, dkeys_and_values = self.attend_backward(dcontext[:, None], dweights, cache, grads)
        dmemory.keys += dkeys_and_values
        return dqueries[:, 0]

    def read_backward(self, memory, dmemory, grads):
        """Return dvalues (B, S, D); add the gradients of W_k, W_v and b_v to grads."""
        return self.keys_and_values_backward(dmemory.keys, memory.values, grads)
