"""Deep output: a maxout layer over a translator's state, previous word and context."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.initializers import check_initial, glorot
from numpy_attention.layers.maxout import Maxout
from numpy_attention.module import Array, Module
from numpy_attention.validation.arrays import check_parameters, check_sizes


class Cache(NamedTuple):
    s: Array                # (N, H)
    Ey: Array               # (N, E)
    c: Array                # (N, D)
    chosen: Array           # (N, l)  of maxout


@dataclass(eq=False)
class DeepOutput(Module):
    """A deep output (Pascanu et al. 2014) as in Bahdanau et al. 2015, A.2.2.

        t~ = U_o s + V_o E y + C_o c + b        the paper omits b
        t  = maxout(t~)

    Shapes: state s (N, H), embedding of the previous word Ey (N, E), context c (N, D) → t (N, l).
    """

    U_o: Array  # (H, 2l)
    V_o: Array  # (E, 2l)
    C_o: Array  # (D, 2l)
    b: Array    # (2l,)
    maxout: Maxout

    def __post_init__(self):
        check_parameters(self, b="G", U_o="HG", V_o="EG", C_o="DG")

    @classmethod
    def create(cls, rng, hidden, embedding, context, size, init=glorot, dtype=np.float32):
        """Draw the weights; b = 0. hidden: H. embedding: E. context: D. size: l.

        Raises ValueError if a size is below 1.
        """
        check_sizes(hidden=hidden, embedding=embedding, context=context, size=size)
        check_initial(rng, dtype, init)
        U_o = init(rng, (hidden, 2 * size), dtype)
        V_o = init(rng, (embedding, 2 * size), dtype)
        C_o = init(rng, (context, 2 * size), dtype)
        return cls(U_o, V_o, C_o, np.zeros(2 * size, dtype), Maxout())

    def forward(self, s, Ey, c):
        """Compute t~ and its maxout → t (N, l), cache."""
        a = s @ self.U_o                                                    # (N, 2l)  t~
        a += Ey @ self.V_o
        a += c @ self.C_o
        a += self.b
        t, chosen = self.maxout.forward(a)                                  # (N, l)
        return t, Cache(s, Ey, c, chosen)

    def backward(self, dt, cache, grads):
        """Backpropagate ∂L/∂t (N, l) → ds (N, H), dEy (N, E), dc (N, D)."""
        s, Ey, c, chosen = cache
        # t = maxout(t~)
        da = self.maxout.backward(dt, chosen)                               # (N, 2l)
        # t~ = U_o s + V_o E y + C_o c + b
        grads.b += da.sum(0)
        grads.C_o += c.T @ da
        grads.V_o += Ey.T @ da
        grads.U_o += s.T @ da
        return da @ self.U_o.T, da @ self.V_o.T, da @ self.C_o.T
