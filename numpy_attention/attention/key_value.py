"""Key-value-predict attention of a language model: a state has one, two or three parts."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.attention import history
from numpy_attention.attention.history import HistoryAttention, causal
from numpy_attention.attention.readout import HistoryReadout, activate, activate_backward, last
from numpy_attention.initializers import check_initial, glorot
from numpy_attention.module import Array
from numpy_attention.registry import ACTIVATIONS, HISTORY_SCORES, build, resolve
from numpy_attention.validation.arguments import check_name
from numpy_attention.validation.arrays import as_rows, at_least, check_parameters, check_sizes

# states that a readout without a window remembers while a text is generated word by word
WITHOUT_WINDOW = 64


class Cache(NamedTuple):
    h: Array            # (T, B, H)
    r: Array            # (T, B, n)
    y: Array            # (T, B, O)
    attended: history.Cache


class RoleGradients(NamedTuple):
    """The terms of ∂L/∂h_t, one for each role in which the state h_t is used."""

    query: Array | None     # (T, B, n)   h_t as a query; None: the score ignores queries
    key: Array              # (T, B, n)   as a key of later steps
    value: Array            # (T, B, n)   as a value of later steps
    predict: Array          # (T, B, n)   in the prediction y_t


@dataclass(eq=False)
class KeyValueReadout(HistoryReadout):
    """Readout with attention over earlier states, in which parts of a state have separate roles.

        h   = [k; v; p]                     with parts=3
        h   = [k; v],  p = v                with parts=2
        h   = k = v = p                     with parts=1
        α_t = softmax(score(k_t, k_i))      over i < t or, with a window, t − window ≤ i < t
        r_t = Σ_i α_ti v_i
        y_t = tanh(W_x p_t + W_r r_t + b)            activation "linear": without tanh

    k is the key, v the value, and p the part for the prediction. In Daniluk et al. 2017, parts=1 is
    the attention model (equations 2 to 6), parts=2 the key-value model (7 to 9), and parts=3 the
    key-value-predict model (10 to 12); none of them has b. With parts=1, b and no window, this is
    the attentive model of Salton et al. 2017, whose score is "single" or "combined". Their
    W_c [h_t; c_t] is W_x h_t + W_r r_t here.

    A long text is processed in chunks, one per batch. Attention reads the states of the current
    chunk and up to `carried` states of earlier chunks, which are in the memory.
    """

    attention: HistoryAttention
    W_x: Array  # (n, O), n = H / parts, the size of k, v and p each
    W_r: Array  # (n, O)
    b: Array | None  # (O,)
    parts: int = 1
    window: int | None = None
    carried: int = 0
    activation: str = "tanh"

    def __post_init__(self):
        check_parameters(self, W_x="nO", W_r="nO", b="O")
        check_name("activation", self.activation, ACTIVATIONS)

    @classmethod
    def create(cls, rng, hidden, outputs, parts=1, score="combined", window=None, carried=0,
               bias=False, activation="tanh", init=glorot, dtype=np.float32):
        """Build a readout that maps states (T, B, hidden) to outputs (T, B, outputs).

        The class describes parts, window, carried and activation. score: a HistoryAttention class
        or a name in `registry.HISTORY_SCORES`. The hidden layer of the score has size hidden /
        parts. bias: whether to add b. Raises ValueError if parts does not divide hidden, if score
        or activation is unknown, or if a number is out of range.
        """
        check_sizes(hidden=hidden, outputs=outputs)
        at_least(1, window=window)
        check_sizes(0, carried=carried)
        check_initial(rng, dtype, init)
        if parts not in (1, 2, 3):
            raise ValueError(f"parts = {parts}; expected 1 (attention), 2 (key-value) or 3 "
                             "(key-value-predict)")
        if hidden % parts:
            raise ValueError(f"hidden = {hidden}; expected a multiple of parts ({parts})")
        n = hidden // parts
        attention = build(resolve("score", score, HISTORY_SCORES), rng, query_size=n, key_size=n,
                          size=n, init=init, dtype=dtype)
        W_x = init(rng, (n, outputs), dtype)
        W_r = init(rng, (n, outputs), dtype)
        b = np.zeros(outputs, dtype) if bias else None
        return cls(attention, W_x, W_r, b, parts, window, carried, activation)

    @property
    def hidden_size(self):
        """H, the size of a state."""
        return self.parts * len(self.W_x)

    @property
    def read_by(self):
        """A dict {role: index}, which gives the part of a state that has each role.

        Query and key share a part. With parts=3, k, v and p are different parts. With parts=2, p is
        the same part as v. With parts=1, the whole state has all roles.
        """
        return {"query": 0, "key": 0, "value": min(1, self.parts - 1), "predict": self.parts - 1}

    @property
    def output_size(self):
        """O, the size of y."""
        return self.W_x.shape[1]

    @property
    def reach(self):
        """The number of states to keep while a text is generated word by word."""
        return max(self.carried, self.window or WITHOUT_WINDOW)

    def forward(self, h, mask, memory=None, keep=None):
        """Map h (T, B, H), mask (T, B) → y (T, B, O), new memory, weights (T, B, M + T), cache.

        memory: M states of earlier chunks, as in `HistoryReadout`. keep: the number of states to
        keep in the new memory, by default `carried`.
        """
        states, known = self.remember(h, mask, memory)
        keys, values = self._part(states, "key"), self._part(states, "value")
        queries, p = self._part(h, "query"), self._part(h, "predict")
        visible = causal(known, len(h), self.window)                            # (T, B, M + T)
        # r_t = Σ_i α_ti v_i
        r, weights, attended = self.attention.forward(queries, keys, values, visible)
        # y_t = tanh(W_x p_t + W_r r_t + b)
        a = as_rows(p) @ self.W_x
        a += as_rows(r) @ self.W_r
        if self.b is not None:
            a += self.b
        y = activate(a, self.activation).reshape(h.shape[:2] + a.shape[1:])     # (T, B, O)
        memory = last(states, known, self.carried if keep is None else keep)
        return y, memory, weights, Cache(h, r, y, attended)

    def backward(self, dy, dweights, cache, grads):
        """Return the gradient of h, the sum of the terms for its roles.

        dy (T, B, O), dweights (T, B, M + T) or None → dh (T, B, H). No gradient reaches the memory.
        """
        terms = self.roles_backward(dy, dweights, cache, grads)
        # h = [k; v; p]: a state is read as key, as value, as query (its key) and in the prediction
        dh = np.zeros(cache.h.shape, cache.h.dtype)                             # (T, B, H)
        for role in ("key", "value", "query", "predict"):
            term = getattr(terms, role)
            if term is not None:
                part = self._part(dh, role)         # a view of dh
                part += term
        return dh

    def roles_backward(self, dy, dweights, cache, grads):
        """Return the RoleGradients of h.   dy (T, B, O), dweights (T, B, M + T) or None."""
        h, r, y, attended = cache
        T = len(h)
        p = self._part(h, "predict")
        # y_t = tanh(W_x p_t + W_r r_t + b)
        da = as_rows(activate_backward(dy, y, self.activation))
        if self.b is not None:
            grads.b += da.sum(0)
        grads.W_x += as_rows(p).T @ da
        grads.W_r += as_rows(r).T @ da
        dr = (da @ self.W_r.T).reshape(r.shape)                                 # (T, B, n)
        # r_t = Σ_i α_ti v_i
        dqueries, dkeys, dvalues = self.attention.backward(dr, dweights, attended, grads.attention)
        # p_t; of keys and values, the last T are states of this batch, and others are the memory
        dp = (da @ self.W_x.T).reshape(p.shape)                                 # (T, B, n)
        M = dkeys.shape[1] - T
        return RoleGradients(dqueries, dkeys[:, M:].transpose(1, 0, 2),
                             dvalues[:, M:].transpose(1, 0, 2), dp)

    def _part(self, h, role):
        """Return the part of the states that has this role, as a view.   h (…, H) → (…, n)."""
        n = len(self.W_x)
        start = n * self.read_by[role]
        return h[..., start:start + n]
