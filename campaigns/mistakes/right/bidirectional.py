"""A bidirectional LSTM over padded sentences and the first state of a decoder (Luong et al. 2015).

    i, f, o = σ(x W + h U + b), g = tanh(…),  c' = f ∘ c + i ∘ g,  h' = o ∘ tanh(c'),
    after a sentence's end both stay;  H_s = [h→_s; h←_s],  s_0 = tanh([h→_S; h←_1] W_0 + b_0)
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.gradcheck.cases.case import ragged
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class Direction(Module):
    W: Array      # (I, 4H)
    U: Array      # (H, 4H)
    b: Array      # (4H,)
    first: Array  # (H,)      the learned initial state

    def forward(self, xs, mask):
        S, B, _ = xs.shape
        H = len(self.U)
        hs, cs = np.zeros((S + 1, B, H)), np.zeros((S + 1, B, H))
        gates = np.empty((S, B, 4 * H))
        hs[0] = self.first
        for s in range(S):
            m = mask[s, :, None]
            a = xs[s] @ self.W + hs[s] @ self.U + self.b
            gates[s, :, :3 * H] = 1 / (1 + np.exp(-a[:, :3 * H]))   # i, f, o
            gates[s, :, 3 * H:] = np.tanh(a[:, 3 * H:])             # g
            i, f, o, g = np.split(gates[s], 4, axis=1)
            c = f * cs[s] + i * g
            cs[s + 1] = m * c + ~m * cs[s]
            hs[s + 1] = m * o * np.tanh(c) + ~m * hs[s]
        return hs[1:], (xs, mask, hs, cs, gates)

    def backward(self, dhs, cache, grads):
        xs, mask, hs, cs, gates = cache
        dxs = np.zeros_like(xs)
        dh, dc = np.zeros_like(hs[0]), np.zeros_like(cs[0])
        for s in reversed(range(len(xs))):
            i, f, o, g = np.split(gates[s], 4, axis=1)
            m = mask[s, :, None]
            dh = dh + dhs[s]
            # a step that is padding keeps the state
            dh_step, dh_stay = dh * m, dh * ~m
            dc_step, dc_stay = dc * m, dc * ~m
            # h' = o ∘ tanh(c')
            tanh_c = np.tanh(cs[s + 1])
            do = dh_step * tanh_c
            dc_step = dc_step + dh_step * o * (1 - tanh_c**2)
            # c' = f ∘ c + i ∘ g
            df, di, dg = dc_step * cs[s], dc_step * g, dc_step * i
            dc = dc_step * f + dc_stay
            # a = x W + h U + b
            da = np.concatenate((di * i * (1 - i), df * f * (1 - f), do * o * (1 - o),
                                 dg * (1 - g**2)), axis=1)          # (B, 4H)
            grads.W += xs[s].T @ da
            grads.U += hs[s].T @ da
            grads.b += da.sum(0)
            dxs[s] = da @ self.W.T
            dh = da @ self.U.T + dh_stay
        grads.first += dh.sum(0)
        return dxs


@dataclass(eq=False)
class Encoder(Module):
    right: Direction
    left: Direction
    W_0: Array  # (2H, K)
    b_0: Array  # (K,)

    def forward(self, xs, mask):
        """Return H (S, B, 2H), s_0 (B, K), cache.   xs (S, B, I), mask (S, B)."""
        rightward, cache_right = self.right.forward(xs, mask)
        leftward, cache_left = self.left.forward(xs[::-1], mask[::-1])
        leftward = leftward[::-1]
        ends = np.concatenate((rightward[-1], leftward[0]), axis=1)
        s_0 = np.tanh(ends @ self.W_0 + self.b_0)
        both = np.concatenate((rightward, leftward), axis=2)
        return both, s_0, (ends, s_0.copy(), cache_right, cache_left)

    def backward(self, dboth, ds_0, cache, grads):
        ends, s_0, cache_right, cache_left = cache
        da = ds_0 * (1 - s_0**2)
        grads.W_0 += ends.T @ da
        grads.b_0 += da.sum(0)
        dright, dleft = (half.copy() for half in np.split(dboth, 2, axis=2))
        dends = np.split(da @ self.W_0.T, 2, axis=1)
        dright[-1] += dends[0]
        dleft[0] += dends[1]
        dxs = self.right.backward(dright, cache_right, grads.right)
        dxs += self.left.backward(dleft[::-1], cache_left, grads.left)[::-1]
        return dxs, None


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    S, B, I, H, K = 5, 3, 2, 4, 6
    shapes = (I, 4 * H), (H, 4 * H), (4 * H,), (H,)
    right, left = (Direction(*map(np.empty, shapes)) for _ in range(2))
    encoder = randomize(Encoder(right, left, np.empty((2 * H, K)), np.empty(K)), rng)
    return (encoder, (rng.standard_normal((S, B, I)), ragged(S, [5, 3, 4])), encoder.forward,
            encoder.backward)
