"""A language model with attention to its past (Salton et al. 2017, section 3), up to the mean loss.

    z, n = σ, tanh of x W + h U + b,  h_t = h + z ∘ (n − h),  x dropped out
    α_t = softmax of h_t A · h_i over i < t,  r_t = Σ_i α_ti h_i, r_1 = 0
    o_t = tanh([h_t; r_t] W_o),  logits = o Eᵀ + b_v,  the mean of −log p over the known targets
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.gradcheck.cases.case import ragged
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class LanguageModel(Module):
    E: Array    # (V, I)    also the output layer
    W: Array    # (I, 2H)
    U: Array    # (H, 2H)
    b: Array    # (2H,)
    A: Array    # (H, H)
    W_o: Array  # (2H, I)
    b_v: Array  # (V,)
    rate: float

    def forward(self, ids, kept, h0, targets, known):
        """Return loss, last state, cache. ids, targets, known (T, B), kept (T, B, I), h0 (B, H)."""
        T, B = ids.shape
        H = len(self.U)
        x = self.E[ids] * kept / (1 - self.rate)                    # (T, B, I)
        h = np.zeros((T + 1, B, H))
        z, n = np.zeros((T, B, H)), np.zeros((T, B, H))
        r = np.zeros((T, B, H))
        alphas = []
        h[0] = h0
        for t in range(T):
            a = x[t] @ self.W + h[t] @ self.U + self.b
            z[t] = 1 / (1 + np.exp(-a[:, :H]))
            n[t] = np.tanh(a[:, H:])
            h[t + 1] = h[t] + z[t] * (n[t] - h[t])
            alpha = None
            if t > 0:
                e = np.einsum("bh,ibh->ib", h[t + 1] @ self.A, h[1:t + 1])
                alpha = np.exp(e - e.max(0))
                alpha /= alpha.sum(0)                               # (t, B)
                r[t] = np.einsum("ib,ibh->bh", alpha, h[1:t + 1])
            alphas.append(alpha)
        joined = np.concatenate([h[1:], r], axis=2)                 # (T, B, 2H)
        o = np.tanh(joined @ self.W_o)                              # (T, B, I)
        logits = o @ self.E.T + self.b_v                            # (T, B, V)
        p = np.exp(logits - logits.max(2, keepdims=True))
        p /= p.sum(2, keepdims=True)
        right = np.take_along_axis(p, targets[:, :, None], 2)[:, :, 0]
        loss = -np.sum(np.log(right) * known) / known.sum()
        cache = ids, kept, targets, known, x, h, z, n, alphas, joined, o, p
        return np.array(loss), h[T].copy(), cache

    def backward(self, dloss, dlast, cache, grads):
        ids, kept, targets, known, x, h, z, n, alphas, joined, o, p = cache
        T, B, H = z.shape
        dlogits = p - np.eye(len(self.E))[targets]
        dlogits *= dloss * known[:, :, None] / known.sum()
        grads.E += np.einsum("tbv,tbi->vi", dlogits, o)
        grads.b_v += dlogits.sum((0, 1))
        do = dlogits @ self.E
        du = do * (1 - o**2)
        grads.W_o += np.tensordot(joined, du, ([0, 1], [0, 1]))
        dh, dr = np.split(du @ self.W_o.T, 2, axis=2)               # (T, B, H)
        dh = dh.copy()                                              # of h_1 … h_T
        dh[-1] += dlast
        dx = np.zeros_like(x)
        for t in range(T - 1, -1, -1):
            if t > 0:
                self.attend_backward(t, h, alphas[t], dr[t], dh, grads)
            # h_t = h + z ∘ (n − h)
            dz = dh[t] * (n[t] - h[t])
            da = np.hstack([dz * z[t] * (1 - z[t]), dh[t] * z[t] * (1 - n[t]**2)])
            grads.W += x[t].T @ da
            grads.U += h[t].T @ da
            grads.b += da.sum(0)
            dx[t] = da @ self.W.T
            dbefore = dh[t] * (1 - z[t]) + da @ self.U.T
            if t > 0:
                dh[t - 1] += dbefore
        np.add.at(grads.E, ids, dx * kept / (1 - self.rate))
        return None, None, dbefore, None, None

    def attend_backward(self, t, h, alpha, dr, dh, grads):
        """Add the gradients of step t to those of the earlier states that it attends to, dh."""
        past, q = h[1:t + 1], h[t + 1] @ self.A
        dalpha = np.einsum("bh,ibh->ib", dr, past)
        de = alpha * (dalpha - (alpha * dalpha).sum(0))
        dq = np.einsum("ib,ibh->bh", de, past)
        grads.A += h[t + 1].T @ dq
        dh[t] += dq @ self.A.T
        dh[:t] += alpha[:, :, None] * dr + de[:, :, None] * q


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    T, B, V, I, H = 4, 2, 6, 3, 5
    shapes = (V, I), (I, 2 * H), (H, 2 * H), (2 * H,), (H, H), (2 * H, I), (V,)
    model = randomize(LanguageModel(*map(np.empty, shapes), 0.25), rng)
    ids = np.array([[3, 1], [0, 3], [3, 4], [1, 1]])
    kept = rng.random((T, B, I)) > 0.25
    targets = np.array([[0, 3], [3, 4], [1, 0], [5, 0]])
    inputs = ids, kept, rng.standard_normal((B, H)), targets, ragged(T, [4, 2])
    return model, inputs, model.forward, model.backward
