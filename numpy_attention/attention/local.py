"""Local attention: a window of 2D + 1 source positions, at a place that runs along or is predicted (Luong et al. 2015,
section 3.2). Both wrap another attention of the read/step protocol, which then sees the window alone."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.memory import Memory, dot_scores, expect_dcontext, sum_of_values, sum_over_steps
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.initializers import glorot
from numpy_attention.module import Array, Module
from numpy_attention.shapes import at_least, flat


def narrowed(memory, centre, D):
    """The memory with its mask cut to the positions s with |s − centre| ≤ D.   centre (B,)."""
    near = np.abs(np.arange(memory.mask.shape[1]) - centre[:, None]) <= D
    return Memory(memory.values, memory.keys, memory.mask & near)


@dataclass(eq=False)
class LocalMonotonic(Module):
    """local-m: p_t = t, and attention within [p_t − D, p_t + D] (Luong et al. 2015, section 3.2).

    Past the end of the source p_t stays at its last position, S − 1, where </s> stands; S is each sentence's own length.
    backwards: the source was reversed but for its </s>, so the centre runs from its last word to its first.
    `step` takes the number t of the target word, from 0.
    """

    attention: Module
    D: int = 10
    backwards: bool = False
    positional = True

    def __post_init__(self):
        at_least(1, D=self.D)

    def read(self, values, mask):
        """values (B, S, V), mask (B, S) → Memory, the inner attention's."""
        return self.attention.read(values, mask)

    def step(self, query, memory, t):
        """query (B, Q), t → context (B, V), V the values' size, weights (B, S), cache."""
        last = memory.mask.sum(1) - 1
        centre = np.minimum(t, last)
        if self.backwards:
            centre = np.where(centre < last, last - 1 - centre, last)
        return self.attention.step(query, narrowed(memory, centre, self.D))

    def step_backward(self, dcontext, dweights, cache, dmemory, grad):
        """→ dquery (B, Q), or None from an attention whose query has no gradient."""
        return self.attention.step_backward(dcontext, dweights, cache, dmemory, grad.attention)

    def read_backward(self, memory, dmemory, grad):
        """→ dvalues (B, S, V)."""
        return self.attention.read_backward(memory, dmemory, grad.attention)


@dataclass(eq=False)
class LocalPredictive(Module):
    """local-p: the model predicts where to look (Luong et al. 2015, equations 9 and 10).

        p  = S σ(v_p · tanh(W_p q))                         a place in the sentence; S its own length
        a  = the attention's weights over [p − D, p + D]
        α_s = a_s exp(−(s − p)² / 2σ²),  σ = D / 2          not normalised again
        c  = Σ_s α_s h_s

    The inner attention gives its weights alone, so its context must be their sum of the values: multi-head attention,
    which mixes several, is refused. The gradient reaches p through the Gaussian. Where p crosses a position's distance D the
    window jumps, which no gradient sees.
    """

    attention: Module
    W_p: Array  # (Q, P)
    v_p: Array  # (P,)
    D: int = 10

    def __post_init__(self):
        at_least(1, D=self.D)
        if isinstance(self.attention, MultiHeadAttention):
            raise ValueError("multi-head with local-p: the Gaussian multiplies the weights of one sum, and multi-head "
                             "attention mixes several: choose window 'global' or 'local-m', or another score")

    @classmethod
    def create(cls, rng, attention, query_size, size=None, D=10, init=glorot, dtype=np.float32):
        """size: P, the query's own unless given. ValueError: sizes below 1."""
        at_least(1, query_size=query_size, size=size)
        size = size or query_size
        return cls(attention, init(rng, (query_size, size), dtype), init(rng, (size, 1), dtype)[:, 0].copy(), D)

    def read(self, values, mask):
        """values (B, S, V), mask (B, S) → Memory, the inner attention's."""
        return self.attention.read(values, mask)

    def step(self, query, memory):
        """query (B, Q) → context (B, V), V the values' size, weights (B, S), cache."""
        lengths = memory.mask.sum(1).astype(query.dtype)
        hidden = np.tanh(query @ self.W_p)
        share = 0.5 + 0.5 * np.tanh(0.5 * (hidden @ self.v_p))                                  # σ(v_p · hidden)
        p = lengths * share
        distance = np.arange(memory.mask.shape[1], dtype=query.dtype) - p[:, None]              # s − p
        gauss = np.exp(-2 * (distance / self.D) ** 2)                                           # σ = D / 2
        _, inner, looked = self.attention.step(query, narrowed(memory, p, self.D))
        weights = inner * gauss
        cache = memory, query, hidden, lengths, share, distance, gauss, inner, weights, looked
        return sum_of_values(weights, memory), weights, cache

    def step_backward(self, dcontext, dweights, cache, dmemory, grad):
        """→ dquery (B, Q); adds to grad.W_p and grad.v_p, the values wait in dmemory."""
        memory, query, hidden, lengths, share, distance, gauss, inner, weights, looked = cache
        expect_dcontext(dcontext, memory)
        # c = Σ α_s h_s
        dalpha = dot_scores(dcontext, memory)
        if dweights is not None:
            dalpha += dweights
        # α_s = a_s g_s,  g_s = exp(−2 (s − p)² / D²); the inner attention's own context is not used, so its gradient is 0
        dquery = self.attention.step_backward(np.zeros_like(dcontext), dalpha * gauss, looked, dmemory.inner,
                                              grad.attention)
        # ∂α_s/∂p = α_s 4 (s − p) / D²
        dp = (dalpha * weights * distance).sum(1) * query.dtype.type(4 / self.D**2)
        # p = S σ(v_p · tanh(W_p q))
        dshare = dp * lengths * share * (1 - share)
        grad.v_p += dshare @ hidden
        dhidden = dshare[:, None] * self.v_p * (1 - hidden**2)
        dmemory.push(weights, dcontext, query, dhidden)
        return dhidden @ self.W_p.T + (0 if dquery is None else dquery)

    def read_backward(self, memory, dmemory, grad):
        """→ dvalues (B, S, V); adds to grad.W_p."""
        weights, dcontexts, queries, dhidden = dmemory.stacked()
        grad.W_p += flat(queries).T @ flat(dhidden)
        return sum_over_steps(weights, dcontexts) + self.attention.read_backward(memory, dmemory.inner, grad.attention)
