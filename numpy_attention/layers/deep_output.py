"""The deep output of a translator: state, previous word and context meet in one maxout layer (Pascanu et al. 2014)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.initializers import glorot
from numpy_attention.layers.maxout import Maxout
from numpy_attention.module import Array, Module
from numpy_attention.shapes import at_least, expect, expect_dtype


@dataclass(eq=False)
class DeepOutput(Module):
    """t~ = U_o s + V_o E y + C_o c + b,  t = maxout(t~)   (Bahdanau et al. 2015, A.2.2; the bias is this project's).

    Shapes: s (N, H), Ey (N, E), c (N, D) → t (N, l).
    """

    U_o: Array  # (H, 2l)
    V_o: Array  # (E, 2l)
    C_o: Array  # (D, 2l)
    b: Array    # (2l,)
    maxout: Maxout

    @classmethod
    def create(cls, rng, hidden, embedding, context, size, init=glorot, dtype=np.float32):
        """size: l; b = 0. ValueError: sizes below 1."""
        at_least(1, hidden=hidden, embedding=embedding, context=context, size=size)
        return cls(*(init(rng, (rows, 2 * size), dtype) for rows in (hidden, embedding, context)),
                   np.zeros(2 * size, dtype), Maxout())

    def forward(self, s, y, c):
        """→ t (N, l), cache. ValueError, TypeError: a part of another size, number or dtype."""
        for name, x, W in (("s", s, self.U_o), ("Ey", y, self.V_o), ("c", c, self.C_o)):
            expect(name, x, (len(s), len(W)), "(N, size)")
            expect_dtype(name, x, W)
        a = s @ self.U_o
        a += y @ self.V_o
        a += c @ self.C_o
        a += self.b
        t, chosen = self.maxout.forward(a)
        return t, (s, y, c, chosen)

    def backward(self, dt, cache, grad):
        """With da = ∂L/∂t~: ∂L/∂U_o += sᵀ da, V_o and C_o likewise, ∂L/∂b += Σ da.

        → ds = da U_oᵀ (N, H), dEy = da V_oᵀ (N, E), dc = da C_oᵀ (N, D).
        """
        s, y, c, chosen = cache
        da = self.maxout.backward(dt, chosen)
        grad.U_o += s.T @ da
        grad.V_o += y.T @ da
        grad.C_o += c.T @ da
        grad.b += da.sum(0)
        return da @ self.U_o.T, da @ self.V_o.T, da @ self.C_o.T
