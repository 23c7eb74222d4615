"""A GRU with column vectors and outer products, as in the paper, one sentence at a time.

    r = σ(W_r x + U_r h + b_r),  z = σ(W_z x + U_z h + b_z),  n = tanh(W_n x + U_n (r ∘ h) + b_n),
    h' = (1 − z) ∘ h + z ∘ n;  sentences have different lengths, the initial h is learned
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class Columns(Module):
    W_r: Array    # (H, I)
    W_z: Array    # (H, I)
    W_n: Array    # (H, I)
    U_r: Array    # (H, H)
    U_z: Array    # (H, H)
    U_n: Array    # (H, H)
    b_r: Array    # (H,)
    b_z: Array    # (H,)
    b_n: Array    # (H,)
    first: Array  # (H,)

    def forward(self, xs, lengths):
        """Return hs (B, T, H), 0 after the end, last (B, H), cache. xs (B, T, I), lengths (B,)."""
        B, T, _ = xs.shape
        hs = np.zeros((B, T, len(self.first)))
        last = np.zeros((B, len(self.first)))
        sentences = []
        for b in range(B):
            h = self.first.copy()
            steps = []
            for t in range(lengths[b]):
                x = xs[b, t]
                r = sigmoid(self.W_r @ x + self.U_r @ h + self.b_r)
                z = sigmoid(self.W_z @ x + self.U_z @ h + self.b_z)
                n = np.tanh(self.W_n @ x + self.U_n @ (r * h) + self.b_n)
                steps.append((x, h, r, z, n))
                h = (1 - z) * h + z * n
                hs[b, t] = h
            last[b] = h
            sentences.append(steps)
        return hs, last, (xs, sentences)

    def backward(self, dhs, dlast, cache, grads):
        xs, sentences = cache
        dxs = np.zeros_like(xs)
        for b, steps in enumerate(sentences):
            dh = dlast[b].copy()
            for t in range(len(steps) - 1, -1, -1):
                x, h, r, z, n = steps[t]
                dh += dhs[b, t]
                # h' = (1 − z) ∘ h + z ∘ n
                dz = dh * (n - h)
                dn = dh * z
                dh = dh * (1 - z)
                # n = tanh(W_n x + U_n (r ∘ h) + b_n)
                da_n = dn * (1 - n**2)
                grads.W_n += np.outer(da_n, x)
                grads.U_n += np.outer(da_n, r * h)
                grads.b_n += da_n
                drh = self.U_n.T @ da_n
                dr = drh * h
                dh += drh * r
                # z = σ(W_z x + U_z h + b_z)
                da_z = dz * z * (1 - z)
                grads.W_z += np.outer(da_z, x)
                grads.U_z += np.outer(da_z, h)
                grads.b_z += da_z
                dh += self.U_z.T @ da_z
                # r = σ(W_r x + U_r h + b_r)
                da_r = dr * r * (1 - r)
                grads.W_r += np.outer(da_r, x)
                grads.U_r += np.outer(da_r, h)
                grads.b_r += da_r
                dh += self.U_r.T @ da_r
                dxs[b, t] = self.W_r.T @ da_r + self.W_z.T @ da_z + self.W_n.T @ da_n
            grads.first += dh
        return dxs, None


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    B, T, I, H = 3, 5, 2, 4
    shapes = [(H, I)] * 3 + [(H, H)] * 3 + [(H,)] * 4
    gru = randomize(Columns(*map(np.empty, shapes)), rng)
    return gru, (rng.standard_normal((B, T, I)), np.array([5, 2, 4])), gru.forward, gru.backward
