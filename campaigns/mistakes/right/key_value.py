"""Attention to past states with key, value and predict parts (Daniluk et al. 2017, section 2.3).

    h = [k; v; p],  M_ti = tanh(k_i W_Y + k_t W_h),  e_ti = M_ti · w,  α_t = softmax over i < t,
    r_t = Σ_i α_ti v_i,  y_t = tanh(r_t W_r + p_t W_x);  at the first step, r = 0
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class Reader(Module):
    W_Y: Array  # (n, A)
    W_h: Array  # (n, A)
    w: Array    # (A,)
    W_r: Array  # (n, K)
    W_x: Array  # (n, K)
    window: int

    def cut(self, h):
        """Return the key, value and predict parts as views of h."""
        n = len(self.W_Y)
        return h[..., :n], h[..., n:2 * n], h[..., 2 * n:]

    def forward(self, h):
        """Return y (T, B, K), weights (T, B, window), the newest last, cache.   h (T, B, 3n)."""
        T, B, _ = h.shape
        k, v, p = self.cut(h)                                       # (T, B, n)
        r = np.zeros(v.shape)                                       # (T, B, n)
        weights = np.zeros((T, B, self.window))
        cached = [None]
        for t in range(1, T):
            past = slice(max(0, t - self.window), t)
            own = k[t] @ self.W_h                                   # (B, A)
            M = np.tanh(k[past] @ self.W_Y + own)                   # (L, B, A)
            e = M @ self.w                                          # (L, B)
            alpha = np.exp(e - e.max(0))
            alpha /= alpha.sum(0)
            r[t] = (alpha[:, :, None] * v[past]).sum(0)
            weights[t, :, self.window - len(alpha):] = alpha.T
            cached.append((past, M, alpha))
        y = np.tanh(r @ self.W_r + p @ self.W_x)                    # (T, B, K)
        return y, weights, (h, r, y, cached)

    def backward(self, dy, dweights, cache, grads):
        h, r, y, cached = cache
        k, v, p = self.cut(h)
        dh = np.zeros_like(h)
        dk, dv, dp = self.cut(dh)                                   # views: += fills dh
        # y = tanh(r W_r + p W_x)
        da = dy * (1 - y**2)                                        # (T, B, K)
        grads.W_r += np.tensordot(r, da, ([0, 1], [0, 1]))
        grads.W_x += np.tensordot(p, da, ([0, 1], [0, 1]))
        dr = da @ self.W_r.T
        dp += da @ self.W_x.T
        for t in range(1, len(h)):
            past, M, alpha = cached[t]
            # r = Σ_i α_i v_i
            dalpha = (v[past] * dr[t]).sum(2)                       # (L, B)
            dalpha += dweights[t, :, self.window - len(alpha):].T
            dv[past] += alpha[:, :, None] * dr[t]
            # α = softmax(e)
            de = alpha * (dalpha - (alpha * dalpha).sum(0))
            # e = M w, M = tanh(z)
            grads.w += np.tensordot(de, M, 2)
            dM = de[:, :, None] * self.w
            dz = dM * (1 - M**2)                                    # (L, B, A)
            # z_i = k_i W_Y + k_t W_h
            grads.W_Y += np.tensordot(k[past], dz, ([0, 1], [0, 1]))
            dk[past] += dz @ self.W_Y.T
            down = dz.sum(0)                                        # (B, A)
            grads.W_h += k[t].T @ down
            dk[t] += down @ self.W_h.T
        return dh


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    T, B, n, A, K, window = 7, 2, 4, 6, 5, 3
    shapes = (n, A), (n, A), (A,), (n, K), (n, K)
    reader = randomize(Reader(*map(np.empty, shapes), window), rng)
    return reader, (rng.standard_normal((T, B, 3 * n)),), reader.forward, reader.backward
