"""A GRU over a sequence (Cho et al. 2014): reset after the product, z weights the old state.

    r = σ(x W_r + h U_r),  z = σ(x W_z + h U_z),  n = tanh(x W_n + r ∘ (h U_n + b_n)),
    h' = (1 − z) ∘ n + z ∘ h,   but h' = h if the mask is False
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.gradcheck.cases.case import ragged
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class PlainGRU(Module):
    W: Array    # (I, 3H)
    U: Array    # (H, 3H)
    b: Array    # (3H,)
    b_n: Array  # (H,)

    def forward(self, xs, h0, mask):
        """Return hs (T, B, H), last (B, H), cache.   xs (T, B, I), h0 (B, H), mask (T, B)."""
        T, B, _ = xs.shape
        H = len(self.U)
        U_r, U_z, U_n = np.split(self.U, 3, axis=1)                 # (H, H)
        hs = np.empty((T + 1, B, H))
        rs = np.empty((T, B, H))
        zs = np.empty((T, B, H))
        ns = np.empty((T, B, H))
        ss = np.empty((T, B, H))
        hs[0] = h0
        for t in range(T):
            h = hs[t]
            a = xs[t] @ self.W + self.b                             # (B, 3H)
            r = sigmoid(a[:, :H] + h @ U_r)
            z = sigmoid(a[:, H:2 * H] + h @ U_z)
            s = h @ U_n + self.b_n
            n = np.tanh(a[:, 2 * H:] + r * s)
            new = (1 - z) * n + z * h
            hs[t + 1] = np.where(mask[t][:, None], new, h)
            rs[t], zs[t], ns[t], ss[t] = r, z, n, s
        return hs[1:].copy(), hs[T].copy(), (xs, hs, mask, rs, zs, ns, ss)

    def backward(self, dhs, dlast, cache, grads):
        xs, hs, mask, rs, zs, ns, ss = cache
        T, B, _ = xs.shape
        H = len(self.U)
        U_r, U_z, U_n = np.split(self.U, 3, axis=1)
        dxs = np.empty_like(xs)
        da = np.empty((B, 3 * H))
        dh_next = dlast.copy()
        for t in reversed(range(T)):
            h, r, z, n, s = hs[t], rs[t], zs[t], ns[t], ss[t]
            m = mask[t][:, None]
            dh = dhs[t] + dh_next
            # a masked step keeps its state
            dnew = np.where(m, dh, 0)
            dh_prev = np.where(m, 0, dh)
            # new = (1 − z) ∘ n + z ∘ h
            dz = dnew * (h - n)
            dn = dnew * (1 - z)
            dh_prev += dnew * z
            # n = tanh(a_n + r ∘ s)
            da_n = dn * (1 - n**2)
            dr = da_n * s
            ds = da_n * r
            # s = h U_n + b_n
            grads.U[:, 2 * H:] += h.T @ ds
            grads.b_n += ds.sum(0)
            dh_prev += ds @ U_n.T
            # r, z = σ(a + h U)
            da_r = dr * r * (1 - r)
            da_z = dz * z * (1 - z)
            grads.U[:, :H] += h.T @ da_r
            grads.U[:, H:2 * H] += h.T @ da_z
            dh_prev += da_r @ U_r.T
            dh_prev += da_z @ U_z.T
            # a = x W + b
            da[:, :H] = da_r
            da[:, H:2 * H] = da_z
            da[:, 2 * H:] = da_n
            grads.W += xs[t].T @ da
            grads.b += da.sum(0)
            dxs[t] = da @ self.W.T
            dh_next = dh_prev
        return dxs, dh_next, None


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    T, B, I, H = 4, 3, 2, 5
    shapes = (I, 3 * H), (H, 3 * H), (3 * H,), (H,)
    cell = randomize(PlainGRU(*map(np.empty, shapes)), rng)
    inputs = rng.standard_normal((T, B, I)), rng.standard_normal((B, H)), ragged(T, [4, 2, 3])
    return cell, inputs, cell.forward, cell.backward
