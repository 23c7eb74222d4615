"""Luong's general attention with input feeding (2015, sections 3.1 and 3.3), batch first.

    x_t = [y_t; h̃_{t−1}],  h_t = tanh(x_t W + h_{t−1} U + b),  α_t = softmax(h_t W_a · m_s),
    c_t = Σ_s α_ts m_s,  h̃_t = tanh([c_t; h_t] W_c);  before the first step h̃ = 0
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class Feeding(Module):
    W: Array    # (E + K, H)
    U: Array    # (H, H)
    b: Array    # (H,)
    W_a: Array  # (H, D)
    W_c: Array  # (D + H, K)

    def forward(self, ys, h_0, memory, mask):
        """Return h̃ (B, T, K), α (B, T, S), the last h (B, H), cache.

        ys (B, T, E), h_0 (B, H), memory (B, S, D), mask (B, S)
        """
        B, T, _ = ys.shape
        keys = memory @ self.W_a.T                                  # (B, S, H)
        outputs = np.zeros((B, T, self.W_c.shape[1]))
        weights = np.zeros((B, T, memory.shape[1]))
        h = h_0
        fed = np.zeros((B, self.W_c.shape[1]))                      # (B, K)
        tape = []
        for t in range(T):
            x = np.concatenate([ys[:, t], fed], axis=1)             # (B, E + K)
            h_new = np.tanh(x @ self.W + h @ self.U + self.b)       # (B, H)
            e = (keys @ h_new[:, :, None])[:, :, 0]                 # (B, S)
            e = np.where(mask, e, -1e30)
            alpha = np.exp(e - e.max(1, keepdims=True))
            alpha = alpha / alpha.sum(1, keepdims=True)
            c = (alpha[:, None, :] @ memory)[:, 0]                  # (B, D)
            joined = np.concatenate([c, h_new], axis=1)             # (B, D + H)
            out = np.tanh(joined @ self.W_c)                        # (B, K)
            outputs[:, t] = out
            weights[:, t] = alpha
            tape.append({"x": x, "h": h, "h_new": h_new, "alpha": alpha, "joined": joined,
                         "out": out})
            h = h_new
            fed = out
        return outputs, weights, h.copy(), (memory, keys, tape)

    def backward(self, doutputs, dweights, dlast, cache, grads):
        memory, keys, tape = cache
        B, T, K = doutputs.shape
        D, E = memory.shape[2], len(self.W) - K
        dys = np.zeros((B, T, E))
        dmemory = np.zeros_like(memory)
        dkeys = np.zeros_like(keys)
        dh = dlast.copy()
        dfed = np.zeros((B, K))
        for t in reversed(range(T)):
            s = tape[t]
            # h̃ = tanh([c; h] W_c)
            dout = doutputs[:, t] + dfed
            du = dout * (1 - s["out"]**2)
            grads.W_c += s["joined"].T @ du
            djoined = du @ self.W_c.T
            dc = djoined[:, :D]
            dh += djoined[:, D:]
            # c = Σ_s α_s m_s
            dalpha = (memory @ dc[:, :, None])[:, :, 0]
            dalpha += dweights[:, t]
            dmemory += s["alpha"][:, :, None] * dc[:, None, :]
            # α = softmax(e)
            inner = (s["alpha"] * dalpha).sum(1, keepdims=True)
            de = s["alpha"] * (dalpha - inner)
            # e_s = h · keys_s
            dkeys += de[:, :, None] * s["h_new"][:, None, :]
            dh += (de[:, None, :] @ keys)[:, 0]
            # h = tanh([y; h̃] W + h U + b)
            da = dh * (1 - s["h_new"]**2)
            grads.W += s["x"].T @ da
            grads.U += s["h"].T @ da
            grads.b += da.sum(0)
            dx = da @ self.W.T
            dys[:, t] = dx[:, :E]
            dfed = dx[:, E:]
            dh = da @ self.U.T
        # keys_s = W_a m_s
        grads.W_a += np.einsum("bsh,bsd->hd", dkeys, memory)
        dmemory += dkeys @ self.W_a
        return dys, dh, dmemory, None


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    B, T, S, E, H, D, K = 2, 4, 5, 3, 6, 8, 7
    shapes = (E + K, H), (H, H), (H,), (H, D), (D + H, K)
    model = randomize(Feeding(*map(np.empty, shapes)), rng)
    mask = np.array([[True] * 3 + [False] * 2, [True] * S])
    inputs = (rng.standard_normal((B, T, E)), rng.standard_normal((B, H)),
              rng.standard_normal((B, S, D)), mask)
    return model, inputs, model.forward, model.backward
