"""A small RNNsearch (Bahdanau et al. 2015): encoder, additive attention, GRU decoder, readout."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class Attention(Module):
    W_a: Array  # (H, A)
    U_a: Array  # (D, A)
    v_a: Array  # (A,)

    def attend(self, s, h, keys, mask):
        x = np.tanh(keys + (s @ self.W_a)[:, None, :])              # (B, S, A)
        e = np.where(mask, x.dot(self.v_a), -np.inf)                # (B, S)
        alpha = np.exp(e - e.max(1)[:, None])
        alpha = alpha / alpha.sum(1)[:, None]
        return np.matmul(alpha[:, None], h)[:, 0], (s, x, alpha)    # (B, D)

    def attend_backward(self, dc, h, cached, grads, dh, dkeys):
        s, x, alpha = cached
        dalpha = np.matmul(h, dc[:, :, None])[:, :, 0]
        dh += alpha[:, :, None] * dc[:, None, :]
        de = alpha * (dalpha - np.sum(alpha * dalpha, 1)[:, None])
        grads.v_a += np.einsum("bs,bsa->a", de, x)
        da = de[:, :, None] * self.v_a * (1 - x**2)                 # (B, S, A)
        dkeys += da
        dq = da.sum(axis=1)                                         # (B, A)
        grads.W_a += s.T @ dq
        return dq @ self.W_a.T


@dataclass(eq=False)
class GRUStep(Module):
    W: Array  # (I, 3H)
    U: Array  # (H, 2H)
    V: Array  # (H, H)

    def forward(self, x, s):
        a_r, a_z, a_n = np.split(x @ self.W, 3, axis=1)
        u_r, u_z = np.split(s @ self.U, 2, axis=1)
        r, z = 1 / (1 + np.exp(-a_r - u_r)), 1 / (1 + np.exp(-a_z - u_z))
        n = np.tanh(a_n + (r * s) @ self.V)
        return (1 - z) * s + z * n, (x, s, r, z, n)

    def backward(self, dnew, cache, grads):
        x, s, r, z, n = cache
        ds, dn, dz = dnew * (1 - z), dnew * z, dnew * (n - s)
        da_n = dn * (1 - n**2)
        grads.V += (r * s).T @ da_n
        drs = da_n @ self.V.T
        dr = drs * s
        ds += drs * r
        da_rz = np.concatenate([dr * r * (1 - r), dz * z * (1 - z)], axis=1)
        grads.U += s.T @ da_rz
        ds += da_rz @ self.U.T
        da = np.concatenate([da_rz, da_n], axis=1)                  # (B, 3H)
        grads.W += x.T @ da
        return da @ self.W.T, ds


@dataclass(eq=False)
class Translator(Module):
    W_s: Array  # (I, D)
    b_s: Array  # (D,)
    W_i: Array  # (D, H)
    attention: Attention
    cell: GRUStep
    W_o: Array  # (H, K)
    C_o: Array  # (D, K)

    def forward(self, xs, ys, mask):
        h = np.tanh(xs @ self.W_s + self.b_s)                       # (B, S, D)
        keys = h @ self.attention.U_a
        s = s_0 = np.tanh(h[:, 0] @ self.W_i)                       # (B, H)
        outputs, steps = [], []
        for y in ys:
            c, cached = self.attention.attend(s, h, keys, mask)
            s, stepped = self.cell.forward(np.concatenate([y, c], axis=1), s)
            outputs.append(s @ self.W_o + c @ self.C_o)
            steps.append((c, cached, s, stepped))
        return np.stack(outputs), (xs, h, s_0, steps)               # (T, B, K)

    def backward(self, doutputs, cache, grads):
        xs, h, s_0, steps = cache
        dh, dkeys, dys = np.zeros_like(h), np.zeros(h.shape[:2] + self.attention.v_a.shape), []
        ds = np.zeros_like(s_0)
        for do, (c, cached, s, stepped) in zip(doutputs[::-1], steps[::-1]):
            grads.W_o += s.T @ do
            grads.C_o += c.T @ do
            ds = ds + do @ self.W_o.T
            dx, ds = self.cell.backward(ds, stepped, grads.cell)
            dys.append(dx[:, :-h.shape[2]])
            dc = dx[:, -h.shape[2]:] + do @ self.C_o.T
            ds += self.attention.attend_backward(dc, h, cached, grads.attention, dh, dkeys)
        grads.attention.U_a += np.einsum("bsd,bsa->da", h, dkeys)
        dh += dkeys @ self.attention.U_a.T
        du = ds * (1 - s_0**2)
        grads.W_i += h[:, 0].T @ du
        dh[:, 0] += du @ self.W_i.T
        da = dh * (1 - h**2)
        grads.W_s += np.einsum("bsi,bsd->id", xs, da)
        grads.b_s += da.sum((0, 1))
        return da @ self.W_s.T, np.stack(dys[::-1]), None


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    T, B, S, I, D, A, E, H, K = 3, 2, 4, 8, 5, 6, 9, 7, 10
    attention = Attention(*map(np.empty, ((H, A), (D, A), (A,))))
    cell = GRUStep(*map(np.empty, ((E + D, 3 * H), (H, 2 * H), (H, H))))
    W_s, b_s, W_i, W_o, C_o = map(np.empty, ((I, D), (D,), (D, H), (H, K), (D, K)))
    model = randomize(Translator(W_s, b_s, W_i, attention, cell, W_o, C_o), rng)
    mask = np.arange(S) < np.array([[4], [2]])
    inputs = rng.standard_normal((B, S, I)), rng.standard_normal((T, B, E)), mask
    return model, inputs, model.forward, model.backward
