"""Local attention: a window of source positions (Luong et al. 2015, section 3.2).

The window moves along the source (local-m), or the model predicts its position (local-p). Both
classes wrap another attention, which sees only the positions in the window.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.attention.memory import Memory, dot_scores, sum_of_values
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.initializers import check_initial, glorot
from numpy_attention.module import Array, Module
from numpy_attention.validation.arguments import check_methods
from numpy_attention.validation.arrays import as_rows, at_least, check_parameters, check_sizes


@dataclass(eq=False)
class Window(Module):
    """Base class of local attention, which restricts another attention to a window.

    Subclasses have a field `width`. A window has 2 · width + 1 positions.
    """

    attention: Module

    def __post_init__(self):
        check_methods("attention", self.attention, "an attention", "read", "step")
        check_sizes(width=self.width)

    def read(self, values, mask):
        """Return the Memory of the wrapped attention.   values (B, S, D), mask (B, S)."""
        return self.attention.read(values, mask)

    def around(self, centre, memory):
        """Return `memory` with positions s masked if |s − centre| > width.   centre (B,)."""
        S = memory.mask.shape[1]
        near = np.abs(np.arange(S) - centre[:, None]) <= self.width             # (B, S)
        return Memory(memory.values, memory.keys, memory.mask & near)


@dataclass(eq=False)
class LocalMonotonic(Window):
    """Local attention whose window moves with t (local-m, Luong et al. 2015, section 3.2).

        p_t = min(t, S − 1)     the window is [p_t − width, p_t + width]

    S is the length of a sentence with </s>. After the end of the source, p_t stays at S − 1, the
    position of </s>. backwards: whether the source is reversed except for </s>. If so, p_t starts
    at S − 2, just before </s>, moves down to 0, then jumps to S − 1 and stays there.
    """

    width: int = 10
    backwards: bool = False

    @classmethod
    def create(cls, rng, attention, width=10, backwards=False):
        """Restrict `attention` to the window; ignore rng. Raises ValueError if width is below 1."""
        return cls(attention, width, backwards)

    def step(self, query, memory, t):
        """Attend to the window of step t: query (B, Q) → context (B, D), weights (B, S), cache."""
        last = memory.mask.sum(1) - 1                                           # (B,)
        centre = np.minimum(t, last)                                            # (B,)
        if self.backwards:
            centre = np.where(centre < last, last - 1 - centre, last)
        return self.attention.step(query, self.around(centre, memory), t)

    def step_backward(self, dcontext, dweights, cache, dmemory, grads):
        """Return dquery of the wrapped attention.   dcontext (B, D), dweights (B, S) or None."""
        return self.attention.step_backward(dcontext, dweights, cache, dmemory, grads.attention)

    def read_backward(self, memory, dmemory, grads):
        """Return dvalues (B, S, D); add the gradients of the wrapped attention to grads."""
        return self.attention.read_backward(memory, dmemory, grads.attention)


class PredictiveCache(NamedTuple):
    memory: Memory
    query: Array        # (B, Q)
    hidden: Array       # (B, P)   tanh(W_p q)
    lengths: Array      # (B,)     S of each sentence
    share: Array        # (B,)     p / S
    distance: Array     # (B, S)   s − p
    gauss: Array        # (B, S)
    weights: Array      # (B, S)
    attend_cache: tuple  # of the wrapped attention


@dataclass(eq=False)
class LocalPredictive(Window):
    """Local attention with a predicted window (local-p, Luong et al. 2015, equations 9 and 10).

        p   = S sigmoid(v_p · tanh(W_p q))              below S, the length; may pass S − 1
        a   = the wrapped attention's weights over [p − width, p + width]
        g_s = exp(−(s − p)² / 2σ²),  σ = width / 2
        α_s = a_s g_s                                   not normalized again
        c   = Σ_s α_s h_s

    Only the weights of the wrapped attention are used, so its context must be Σ_s a_s h_s.
    Multi-head attention mixes several such sums, so wrapping it raises ValueError. The gradient
    reaches p only through g_s. When p is exactly `width` away from a position, the set of
    positions in the window changes abruptly, and the derivative does not exist.
    """

    W_p: Array  # (Q, P)
    v_p: Array  # (P,)
    width: int = 10

    def __post_init__(self):
        super().__post_init__()
        check_parameters(self, W_p="QP", v_p="P")
        if isinstance(self.attention, MultiHeadAttention):
            raise ValueError("LocalPredictive cannot wrap multi-head attention, which has one set "
                             "of weights per head; wrap an attention with one set of weights")

    @classmethod
    def create(cls, rng, attention, query_size, size=None, width=10, init=glorot, dtype=np.float32):
        """Draw W_p and v_p. size: P, by default query_size. Raises ValueError for sizes below 1."""
        check_sizes(query_size=query_size)
        at_least(1, size=size)
        check_initial(rng, dtype, init)
        size = size or query_size
        W_p = init(rng, (query_size, size), dtype)
        v_p = init(rng, (size, 1), dtype)[:, 0].copy()
        return cls(attention, W_p, v_p, width)

    def step(self, query, memory, t):
        """Attend to the predicted window: query (B, Q) → context (B, D), weights (B, S), cache."""
        # p = S σ(v_p · tanh(W_p q)),  σ as a tanh that cannot overflow
        lengths = memory.mask.sum(1).astype(query.dtype)                        # (B,)
        hidden = np.tanh(query @ self.W_p)                                      # (B, P)
        share = 0.5 + 0.5 * np.tanh(0.5 * (hidden @ self.v_p))                  # (B,)
        p = lengths * share                                                     # (B,)
        # α_s = a_s g_s
        _, inner, attend_cache = self.attention.step(query, self.around(p, memory), t)
        positions = np.arange(memory.mask.shape[1], dtype=query.dtype)          # (S,)
        distance = positions - p[:, None]                                       # (B, S)
        gauss = np.exp(-2 * (distance / self.width) ** 2)                       # (B, S)
        weights = inner * gauss                                                 # (B, S)
        cache = PredictiveCache(memory, query, hidden, lengths, share, distance, gauss, weights,
                                attend_cache)
        return sum_of_values(weights, memory), weights, cache

    def step_backward(self, dcontext, dweights, cache, dmemory, grads):
        """Backpropagate dcontext (B, D), dweights (B, S) or None → dquery (B, Q).

        Adds the gradient of v_p to grads. Defers the gradients of the values and W_p in dmemory.
        """
        memory, query, hidden, lengths, share, distance, gauss, weights, attend_cache = cache
        # c = Σ_s α_s h_s
        dmemory.defer("values", weights, dcontext)
        dalpha = dot_scores(dcontext, memory)                                   # (B, S)
        if dweights is not None:
            dalpha += dweights
        # α_s = a_s g_s
        dinner = dalpha * gauss                                                 # (B, S)
        # the context of the wrapped attention is not used
        nothing = np.zeros_like(dcontext)                                       # (B, D)
        dquery = self.attention.step_backward(nothing, dinner, attend_cache, dmemory.wrapped,
                                              grads.attention)
        # g_s = exp(−2 (s − p)² / width²), so that ∂α_s/∂p = α_s 4 (s − p) / width²
        steepness = query.dtype.type(4 / self.width**2)
        dp = (dalpha * weights * distance).sum(1) * steepness                   # (B,)
        # p = S σ(v_p · hidden)
        dinside = dp * lengths * share * (1 - share)                            # (B,)
        grads.v_p += dinside @ hidden
        # hidden = tanh(W_p q)
        dhidden = dinside[:, None] * self.v_p * (1 - hidden**2)                 # (B, P)
        dmemory.defer("W_p", query, dhidden)
        dpredicted = dhidden @ self.W_p.T                                       # (B, Q)
        return dpredicted if dquery is None else dpredicted + dquery

    def read_backward(self, memory, dmemory, grads):
        """Return dvalues (B, S, D); add the gradients of W_p and the wrapped attention to grads."""
        queries, dhidden = dmemory.stacked("W_p")
        grads.W_p += as_rows(queries).T @ as_rows(dhidden)
        dvalues = dmemory.total_values()                    # (B, S, D)
        dvalues += self.attention.read_backward(memory, dmemory.wrapped, grads.attention)
        return dvalues
