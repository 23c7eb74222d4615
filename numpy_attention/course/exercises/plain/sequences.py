"""What goes along a sequence: its mask, its truncated gradient, and the layer above it."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.module import Array, Module


@dataclass(eq=False)
class MaskedRNN(Module):
    """h_t = tanh(x_t W + h_{t−1} U); where a sequence has ended, its state stays."""

    W: Array  # (I, H)
    U: Array  # (H, H)

    def forward(self, xs, h, mask):
        """xs (T, B, I), h_0 (B, H), mask (T, B) → all states (T, B, H), cache."""
        hs = [h]
        news = []
        for x, m in zip(xs, mask):
            new = np.tanh(x @ self.W + hs[-1] @ self.U)
            hs.append(np.where(m[:, None], new, hs[-1]))
            news.append(new)
        return np.stack(hs[1:]), (xs, hs, news, mask)

    def backward(self, dhs, cache, grads):
        """From ∂L/∂(all states) to ∂L/∂xs, ∂L/∂h_0, and None for the mask."""
        xs, hs, news, mask = cache
        dxs = np.zeros_like(xs)
        dh = np.zeros_like(hs[0])
        for t in reversed(range(len(xs))):
            dh = dh + dhs[t]
            m = mask[t][:, None]
            dnew = np.where(m, dh, 0)
            stays = np.where(m, 0, dh)              # past the end the old state went through
            da = dnew * (1 - news[t]**2)
            grads.W += xs[t].T @ da
            grads.U += hs[t].T @ da
            dxs[t] = da @ self.W.T
            dh = da @ self.U.T + stays
        return dxs, dh, None


def states(W, U, xs, h):
    """xs (T, B, I), h_0 (B, H) → the states h_0 … h_T (T + 1, B, H) of h_t = tanh(x_t W + h U)."""
    hs = [h]
    for x in xs:
        hs.append(np.tanh(x @ W + hs[-1] @ U))
    return np.stack(hs)


def truncated(W, U, xs, h, dhs, k):
    """∂L/∂h_t (T, B, H) from above, chunks of k steps → dW, dU.

    The state goes from chunk to chunk, the gradient does not.
    """
    hs = states(W, U, xs, h)
    dW = np.zeros_like(W)
    dU = np.zeros_like(U)
    for first in range(0, len(xs), k):
        dh = np.zeros_like(h)                       # nothing comes from the chunk behind
        last = min(first + k, len(xs))
        for t in reversed(range(first, last)):
            dh = dh + dhs[t]
            da = dh * (1 - hs[t + 1]**2)
            dW += xs[t].T @ da
            dU += hs[t].T @ da
            dh = da @ U.T
    return dW, dU


@dataclass(eq=False)
class DeepOutput(Module):
    """Bahdanau's deep output: t̃ = s U + y V + c C, the larger of each pair, scores t W."""

    U: Array  # (H, 2L)
    V: Array  # (E, 2L)
    C: Array  # (N, 2L)
    W: Array  # (L, K)

    def forward(self, s, y, c):
        """State s (B, H), word before y (B, E), context c (B, N) → scores (B, K), cache."""
        wide = s @ self.U + y @ self.V + c @ self.C             # (B, 2L), t̃
        pairs = wide.reshape(len(wide), -1, 2)                  # (B, L, 2)
        t = pairs.max(axis=2)                                   # (B, L)
        return t @ self.W, (s, y, c, pairs, t)

    def backward(self, dscores, cache, grads):
        """∂L/∂scores (B, K) → ∂L/∂s, ∂L/∂y, ∂L/∂c."""
        s, y, c, pairs, t = cache
        grads.W += t.T @ dscores
        dt = dscores @ self.W.T                                 # (B, L)
        largest = pairs == t[:, :, None]                        # (B, L, 2)
        dwide = (dt[:, :, None] * largest).reshape(len(t), -1)  # (B, 2L)
        grads.U += s.T @ dwide
        grads.V += y.T @ dwide
        grads.C += c.T @ dwide
        return dwide @ self.U.T, dwide @ self.V.T, dwide @ self.C.T
