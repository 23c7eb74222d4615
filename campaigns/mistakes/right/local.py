"""Luong's local attention with a predicted position (2015, section 3.2), sentence by sentence.

    p_t = S σ(v_p · tanh(h_t W_p)),  α_t = softmax(h_t W_a · m_s),  σ_w = window / 2,
    w_ts = α_ts exp(−(s − p_t)² / 2σ_w²),  c_t = Σ_s w_ts m_s,  h̃_t = tanh([c_t; h_t] W_c)
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class Local(Module):
    W_p: Array  # (H, A)
    v_p: Array  # (A,)
    W_a: Array  # (H, D)
    W_c: Array  # (D + H, K)
    window: int

    def forward(self, hs, memory, lengths):
        """Return h̃ (B, T, K), weights (B, T, S), 0 after the end, positions (B, T), cache.

        hs (B, T, H), memory (B, S, D), lengths (B,)
        """
        B, T, _ = hs.shape
        outputs = np.zeros((B, T, self.W_c.shape[1]))
        weights = np.zeros((B, T, memory.shape[1]))
        places = np.zeros((B, T))
        cache = {"hs": hs, "memory": memory, "lengths": lengths, "sentences": []}
        for b in range(B):
            h, m = hs[b], memory[b, :lengths[b]]                    # (T, H), (S, D)
            p, predicted = self.predict(h, len(m))
            w, alpha, gauss, q = self.attention_weights(h, m, p)
            joined = np.hstack([w @ m, h])                          # (T, D + H)
            outputs[b] = np.tanh(joined @ self.W_c)
            weights[b, :, :lengths[b]] = w
            places[b] = p
            cache["sentences"].append(dict(w=w, alpha=alpha, gauss=gauss, q=q, p=p, joined=joined,
                                           predicted=predicted, y=outputs[b].copy()))
        return outputs, weights, places, cache

    def predict(self, h, length):
        x = np.tanh(h @ self.W_p)                                   # (T, A)
        share = 1 / (1 + np.exp(-x @ self.v_p))                     # (T,)
        return length * share, (x, share)

    def attention_weights(self, h, m, p):
        q = h @ self.W_a                                            # (T, D)
        e = q @ m.T                                                 # (T, S)
        alpha = np.exp(e - e.max(1, keepdims=True))
        alpha /= alpha.sum(1, keepdims=True)
        away = np.arange(len(m)) - p[:, None]
        gauss = np.exp(-2 * away**2 / self.window**2)               # (T, S)
        return alpha * gauss, alpha, gauss, q

    def backward(self, doutputs, dweights, dplaces, cache, grads):
        dhs = np.zeros_like(cache["hs"])
        dmemory = np.zeros_like(cache["memory"])
        for b, one in enumerate(cache["sentences"]):
            length = cache["lengths"][b]
            h, m = cache["hs"][b], cache["memory"][b, :length]
            dm = dmemory[b, :length]
            # y = tanh([w m; h] W_c)
            da = doutputs[b] * (1 - one["y"]**2)
            grads.W_c += one["joined"].T @ da
            djoined = da @ self.W_c.T
            dc, dh = djoined[:, :m.shape[1]], djoined[:, m.shape[1]:]
            dm += one["w"].T @ dc
            dw = dc @ m.T + dweights[b, :, :length]                 # (T, S)
            # the two factors of w
            dp = self.weigh_backward(dw, h, m, one, dh, dm, grads) + dplaces[b]
            self.predict_backward(dp, h, length, one["predicted"], dh, grads)
            dhs[b] = dh
        return dhs, dmemory, None

    def weigh_backward(self, dw, h, m, one, dh, dm, grads):
        alpha, gauss = one["alpha"], one["gauss"]
        dalpha = dw * gauss
        dgauss = dw * alpha
        # gauss = exp(−2 (s − p)² / window²)
        away = np.arange(len(m)) - one["p"][:, None]
        dp = (dgauss * gauss * 4 * away / self.window**2).sum(1)    # (T,)
        # α = softmax(q mᵀ)
        de = alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))
        dm += de.T @ one["q"]
        dq = de @ m
        # q = h W_a
        grads.W_a += h.T @ dq
        dh += dq @ self.W_a.T
        return dp

    def predict_backward(self, dp, h, length, predicted, dh, grads):
        x, share = predicted
        du = dp * length * share * (1 - share)                      # (T,)
        grads.v_p += x.T @ du
        dx = du[:, None] * self.v_p * (1 - x**2)
        grads.W_p += h.T @ dx
        dh += dx @ self.W_p.T


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    B, T, S, H, D, A, K = 3, 4, 7, 5, 2, 6, 8
    shapes = (H, A), (A,), (H, D), (D + H, K)
    local = randomize(Local(*map(np.empty, shapes), window=3), rng)
    inputs = rng.standard_normal((B, T, H)), rng.standard_normal((B, S, D)), np.array([7, 4, 6])
    return local, inputs, local.forward, local.backward
