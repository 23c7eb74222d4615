"""An LSTM with a peephole at the output gate, whose state is a pair.

    i, f, g = σ, σ, tanh of x W + h U + b,   c' = f ∘ c + i ∘ g,
    o = σ(x W_o + h U_o + b_o + p ∘ c'),     h' = o ∘ tanh(c')
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class PlainLSTM(Module):
    W: Array  # (I, 4H)
    U: Array  # (H, 4H)
    b: Array  # (4H,)
    p: Array  # (H,)

    def forward(self, xs, state):
        """Return hs (T, B, H), the last state, cache.   xs (T, B, I), state (h, c), each (B, H)."""
        h, c = state
        hs, cache = [], []
        for x in xs:
            step = self.step(x, h, c)
            cache.append(step)
            h, c = step["h_new"], step["c_new"]
            hs.append(h)
        return np.stack(hs), (h, c), cache

    def step(self, x, h, c):
        a = x @ self.W + h @ self.U + self.b                        # (B, 4H)
        a_i, a_f, a_g, a_o = np.split(a, 4, axis=1)                 # (B, H)
        i = sigmoid(a_i)
        f = sigmoid(a_f)
        g = np.tanh(a_g)
        c_new = f * c + i * g
        o = sigmoid(a_o + self.p * c_new)
        m = np.tanh(c_new)
        h_new = o * m
        return dict(x=x, h=h, c=c, i=i, f=f, g=g, o=o, m=m, c_new=c_new, h_new=h_new)

    def backward(self, dhs, dstate, cache, grads):
        """Return ∂L/∂xs and ∂L/∂(first state) from ∂L/∂hs and ∂L/∂(last state)."""
        dh, dc = dstate
        dxs = []
        for dy, step in zip(dhs[::-1], cache[::-1]):
            dx, dh, dc = self.step_backward(dy + dh, dc, step, grads)
            dxs.append(dx)
        return np.stack(dxs[::-1]), (dh, dc)

    def step_backward(self, dh_new, dc_new, step, grads):
        x, h, c = step["x"], step["h"], step["c"]
        i, f, g, o, m = step["i"], step["f"], step["g"], step["o"], step["m"]
        # h' = o ∘ m, m = tanh(c')
        do = dh_new * m
        dm = dh_new * o
        dc_new = dc_new + dm * (1 - m**2)
        # o = σ(a_o + p ∘ c')
        da_o = do * o * (1 - o)
        grads.p += (da_o * step["c_new"]).sum(0)
        dc_new += da_o * self.p
        # c' = f ∘ c + i ∘ g
        df = dc_new * c
        dc = dc_new * f
        di = dc_new * g
        dg = dc_new * i
        # the gates
        da_i = di * i * (1 - i)
        da_f = df * f * (1 - f)
        da_g = dg * (1 - g**2)
        da = np.hstack([da_i, da_f, da_g, da_o])                    # (B, 4H)
        # a = x W + h U + b
        grads.W += x.T @ da
        grads.U += h.T @ da
        grads.b += da.sum(axis=0)
        dx = da @ self.W.T
        dh = da @ self.U.T
        return dx, dh, dc


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    T, B, I, H = 5, 2, 3, 4
    shapes = (I, 4 * H), (H, 4 * H), (4 * H,), (H,)
    cell = randomize(PlainLSTM(*map(np.empty, shapes)), rng)
    state = rng.standard_normal((B, H)), rng.standard_normal((B, H))
    return cell, (rng.standard_normal((T, B, I)), state), cell.forward, cell.backward
