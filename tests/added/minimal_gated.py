"""A cell that is not in the package, as a user would write it in a separate file."""

from dataclasses import dataclass, field

import numpy as np

from numpy_attention.cells.cell import Cell, Steps
from numpy_attention.initializers import glorot, orthogonal
from numpy_attention.module import Array
from numpy_attention.validation.arrays import as_rows


@dataclass
class MinimalSteps(Steps):
    f: Array = field(init=False)        # (T, B, H)
    s: Array = field(init=False)        # (T, B, H)    f ∘ h
    n: Array = field(init=False)        # (T, B, H)

    def __post_init__(self):
        super().__post_init__()
        self.f = np.empty_like(self.hs[1:])
        self.s = np.empty_like(self.f)
        self.n = np.empty_like(self.f)


@dataclass(eq=False)
class MinimalGatedUnit(Cell):
    """The minimal gated unit (Zhou et al. 2016): one gate for a GRU's two; f and n side by side.

        f   = σ(x W_f + h U_f + b_f)
        n   = tanh(x W_n + (f ∘ h) U_n + b_n)
        h_t = (1 − f) ∘ h + f ∘ n
    """

    W: Array  # (I, 2H)
    U: Array  # (H, 2H)
    b: Array  # (2H,)

    steps_type = MinimalSteps

    @classmethod
    def create(cls, rng, inputs, hidden, init=glorot, recurrent=orthogonal, dtype=np.float32):
        W = init(rng, (inputs, 2 * hidden), dtype)
        U = recurrent(rng, (hidden, 2 * hidden), dtype)
        return cls(W, U, np.zeros(2 * hidden, dtype))

    def _step(self, t, steps):
        U_f, U_n = np.split(self.U, 2, axis=1)
        a_f, a_n = np.split(steps.a[t], 2, axis=1)
        h = steps.hs[t]
        f = 0.5 + 0.5 * np.tanh(0.5 * (a_f + h @ U_f))                          # σ
        s = f * h                                                               # (B, H)
        n = np.tanh(a_n + s @ U_n)                                              # (B, H)
        steps.f[t] = f
        steps.s[t] = s
        steps.n[t] = n
        steps.hs[t + 1] = (1 - f) * h + f * n

    def _step_backward(self, t, dy, dstate, steps, dsteps):
        U_f, U_n = np.split(self.U, 2, axis=1)
        da_f, da_n = np.split(dsteps.a[t], 2, axis=1)                           # views
        h = steps.hs[t]
        f = steps.f[t]
        n = steps.n[t]
        dnext = dy + dstate                                                     # (B, H)
        # h' = (1 − f) ∘ h + f ∘ n
        df = dnext * (n - h)
        dn = dnext * f
        dh = dnext * (1 - f)
        # n = tanh(a_n + s U_n)
        da_n[...] = dn * (1 - n**2)
        ds = da_n @ U_n.T
        # s = f ∘ h
        df += ds * h
        dh += ds * f
        # f = σ(a_f + h U_f)
        da_f[...] = df * f * (1 - f)
        return dh + da_f @ U_f.T

    def end_backward(self, steps, dsteps, grads):
        da_f, da_n = np.split(as_rows(dsteps.a), 2, axis=1)
        dU_f, dU_n = np.split(grads.U, 2, axis=1)                                # views
        dU_f += as_rows(steps.hs[:-1]).T @ da_f
        dU_n += as_rows(steps.s).T @ da_n
        return dsteps.a
