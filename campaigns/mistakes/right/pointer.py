"""A mixture of a softmax and copied words, with a sentinel (Merity et al. 2016, section 2).

    q = tanh(h W_q + b_q),  [a; g] = softmax([q · m_1, …, q · m_S, q · k]),  v = softmax(h W_v),
    p(w) = g v(w) + Σ_{s: id_s = w} a_s,  loss = the mean of −log p(target)
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class Pointer(Module):
    W_q: Array  # (H, D)
    b_q: Array  # (D,)
    k: Array    # (D,)      the sentinel
    W_v: Array  # (H, V)

    def forward(self, h, memory, ids, targets):
        """Return loss, g (N,), cache.   h (N, H), memory (N, S, D), ids (N, S), targets (N,)."""
        rows = np.arange(len(h))
        q = np.tanh(h @ self.W_q + self.b_q)                        # (N, D)
        e = np.einsum("nd,nsd->ns", q, memory)
        scores = np.concatenate((e, (q @ self.k)[:, None]), axis=1)  # (N, S + 1)
        weights = softmax(scores)
        a, g = weights[:, :-1], weights[:, -1]
        v = softmax(h @ self.W_v)                                   # (N, V)
        p = g[:, None] * v
        np.add.at(p, (rows[:, None], ids), a)
        loss = -np.log(p[rows, targets]).mean()
        return np.array(loss), g.copy(), (h, memory, ids, targets, q, weights, v, p)

    def backward(self, dloss, dg_out, cache, grads):
        h, memory, ids, targets, q, weights, v, p = cache
        N = len(h)
        rows = np.arange(N)
        # loss = −Σ log p(target) / N
        dp = np.zeros_like(p)
        dp[rows, targets] = -dloss / p[rows, targets] / N
        # p(w) = g v(w) + Σ a_s where id_s = w
        da = dp[rows[:, None], ids]                                 # (N, S)
        dg = (dp * v).sum(axis=1)                                   # (N,)
        dg += dg_out
        dv = dp * weights[:, -1:]                                   # (N, V)
        # v = softmax(h W_v)
        dlogits = softmax_backward(dv, v)
        grads.W_v += h.T @ dlogits
        dh = dlogits @ self.W_v.T
        # [a; g] = softmax(scores)
        dweights = np.concatenate((da, dg[:, None]), axis=1)
        dscores = softmax_backward(dweights, weights)
        de, dlast = dscores[:, :-1], dscores[:, -1]
        # scores = q · m_s, q · k
        dq = np.einsum("ns,nsd->nd", de, memory)
        dmemory = np.einsum("ns,nd->nsd", de, q)
        dq += np.outer(dlast, self.k)
        grads.k += q.T @ dlast
        # q = tanh(h W_q + b_q)
        du = dq * (1 - q**2)
        grads.W_q += h.T @ du
        grads.b_q += du.sum(axis=0)
        dh += du @ self.W_q.T
        return dh, dmemory, None, None


def softmax(scores):
    p = np.exp(scores - scores.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def softmax_backward(dp, p):
    return p * (dp - (p * dp).sum(axis=1, keepdims=True))


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    N, S, H, D, V = 6, 4, 3, 5, 7
    pointer = randomize(Pointer(*map(np.empty, ((H, D), (D,), (D,), (H, V)))), rng)
    ids = rng.integers(V, size=(N, S))
    ids[:, 2] = ids[:, 0]
    targets = np.concatenate((ids[:3, 0], rng.integers(V, size=3)))
    inputs = rng.standard_normal((N, H)), rng.standard_normal((N, S, D)), ids, targets
    return pointer, inputs, pointer.forward, pointer.backward
