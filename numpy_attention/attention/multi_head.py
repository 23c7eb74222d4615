"""Multi-head attention: several small attentions side by side (Vaswani et al. 2017, section 3.2.2)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.memory import Memory
from numpy_attention.attention.scaled_dot import ScaledDotProductAttention
from numpy_attention.initializers import glorot
from numpy_attention.module import Array, Module
from numpy_attention.shapes import at_least, expect, expect_dtype, flat


@dataclass(eq=False)
class MultiHeadAttention(Module):
    """MultiHead(Q, K, V) = [head_1; …; head_h] W_o + b_o,  head_i = Attention(Q W_q^i, K W_k^i, V W_v^i)   (3.2.2)

    with K = V, the memory. The heads' matrices stand side by side in W_q, W_k and W_v. Queries, values and output have
    biases; a bias of the keys would add the same number to all scores of a query, which the softmax takes out again. The
    weights returned are the mean over the heads.

    Shapes: queries (B, T, Q), memory (B, S, D), visible (B, T, S) → (B, T, O), weights (B, T, S). On the read/step
    protocol of a decoder: query (B, Q) → context (B, O), weights (B, S).
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

    @classmethod
    def create(cls, rng, query_size, memory_size, size=None, outputs=None, heads=4, scaled=True, init=glorot,
               dtype=np.float32):
        """size: A, of all heads together, and outputs: O; both the query's unless given. A decoder that expects contexts of
        the annotations' size, such as RNNSearch, needs outputs = memory_size. ValueError: A does not divide, or a size
        below 1.
        """
        at_least(1, query_size=query_size, memory_size=memory_size, size=size, outputs=outputs, heads=heads)
        size, outputs = size or query_size, outputs or query_size
        if size % heads:
            raise ValueError(f"{heads} heads of {size} numbers in all: expected a number of heads that divides them")
        zero = lambda n: np.zeros(n, dtype)
        return cls(init(rng, (query_size, size), dtype), zero(size), init(rng, (memory_size, size), dtype),
                   init(rng, (memory_size, size), dtype), zero(size), init(rng, (size, outputs), dtype), zero(outputs),
                   ScaledDotProductAttention(scaled), heads)

    # ---- all queries at once --------------------------------------------------------------------------------------

    def forward(self, queries, memory, visible):
        """→ (B, T, O), weights (B, T, S), cache."""
        expect("visible", visible, (len(queries), queries.shape[1], memory.shape[1]), "(B, T, S)")
        keys = self.keys(memory)
        y, weights, cache = self.look(queries, keys, visible)
        return y, weights, (memory, keys, cache)

    def backward(self, dy, dweights, cache, grad):
        """→ dqueries (B, T, Q), dmemory (B, S, D)."""
        memory, keys, cache = cache
        dqueries, dkeys = self.look_backward(dy, dweights, cache, grad)
        return dqueries, self.keys_backward(dkeys, memory, grad)

    def keys(self, memory):
        """What is computed once for all queries: keys and values of all heads, [K; V] side by side (B, S, 2A)."""
        expect("memory", memory, (None, None, len(self.W_k)), "(B, S, D)", "memories are batch-major")
        expect_dtype("memory", memory, self.W_k)
        rows = flat(memory)
        both = np.concatenate([rows @ self.W_k, rows @ self.W_v + self.b_v], 1)
        return both.reshape(memory.shape[:2] + both.shape[1:])

    def keys_backward(self, dkeys, memory, grad):
        """k = x W_k, v = x W_v + b_v, back: → dx = dk W_kᵀ + dv W_vᵀ, of the memory x (B, S, D)."""
        dk, dv = np.split(flat(dkeys), 2, axis=1)
        rows = flat(memory)
        grad.W_k += rows.T @ dk
        grad.W_v += rows.T @ dv
        grad.b_v += dv.sum(0)
        return (dk @ self.W_k.T + dv @ self.W_v.T).reshape(memory.shape)

    def look(self, queries, keys, visible):
        """queries (B, T, Q), keys as `keys` gives them → (B, T, O), weights (B, T, S), cache."""
        expect("queries", queries, (len(keys), None, len(self.W_q)), "(B, T, Q)")
        expect_dtype("queries", queries, self.W_q)
        q = (flat(queries) @ self.W_q + self.b_q).reshape(queries.shape[:2] + self.b_q.shape)
        k, v = np.split(keys, 2, axis=2)
        parts, weights, attended = self.attention.forward(*map(self._heads, (q, k, v)), visible[:, None])
        joined = parts.transpose(0, 2, 1, 3).reshape(q.shape)                          # (B, T, A)
        y = (flat(joined) @ self.W_o + self.b_o).reshape(q.shape[:2] + self.b_o.shape)
        return y, weights.mean(1), (queries, joined, attended)

    def look_backward(self, dy, dweights, cache, grad):
        """→ dqueries (B, T, Q), dkeys (B, S, 2A)."""
        queries, joined, attended = cache
        rows = flat(dy)
        # y = joined W_o + b_o
        grad.W_o += flat(joined).T @ rows
        grad.b_o += rows.sum(0)
        djoined = self._heads((rows @ self.W_o.T).reshape(joined.shape))
        # the weights that `look` gives are the mean over the heads
        shared = None if dweights is None else dweights[:, None] / dweights.dtype.type(self.heads)
        dq, dk, dv = self.attention.backward(djoined, shared, attended)
        dq, dk, dv = (part.transpose(0, 2, 1, 3).reshape(len(part), part.shape[2], len(self.b_q)) for part in (dq, dk, dv))
        # q = queries W_q + b_q
        grad.W_q += flat(queries).T @ flat(dq)
        grad.b_q += flat(dq).sum(0)
        return (flat(dq) @ self.W_q.T).reshape(queries.shape), np.concatenate([dk, dv], 2)

    def _heads(self, x):
        """(B, T, A) → (B, heads, T, A / heads)."""
        return np.ascontiguousarray(x.reshape(*x.shape[:2], self.heads, x.shape[2] // self.heads).transpose(0, 2, 1, 3))

    # ---- one query after another, as a decoder asks -----------------------------------------------------------------

    def read(self, values, mask):
        """values (B, S, D), mask (B, S) → Memory."""
        return Memory(values, self.keys(values), mask)

    def step(self, query, memory):
        """query (B, Q) → context (B, O), weights (B, S), cache."""
        y, weights, cache = self.look(query[:, None], memory.keys, memory.mask[:, None])
        return y[:, 0], weights[:, 0], cache

    def step_backward(self, dcontext, dweights, cache, dmemory, grad):
        """→ dquery (B, Q); adds to dmemory.keys."""
        dqueries, dkeys = self.look_backward(dcontext[:, None], None if dweights is None else dweights[:, None], cache, grad)
        dmemory.keys += dkeys
        return dqueries[:, 0]

    def read_backward(self, memory, dmemory, grad):
        """→ dvalues (B, S, D)."""
        return self.keys_backward(dmemory.keys, memory.values, grad)
