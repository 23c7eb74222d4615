"""Two layers of Elman's network with dropout between them, and the mean of the states over time.

    h_t = tanh(x_t W + h_{t−1} U + b),   the next layer reads d ∘ h_t / (1 − rate),
    mean = Σ_t m_t h_t / Σ_t m_t
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.gradcheck.cases.case import ragged
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class Layer(Module):
    W: Array  # (I, H)
    U: Array  # (H, H)
    b: Array  # (H,)

    def forward(self, xs, h0, mask):
        """Return hs (T, B, H), cache.   xs (T, B, I), h0 (B, H), mask (T, B)."""
        a = xs @ self.W + self.b                                    # (T, B, H)
        hs = [h0]
        for t in range(len(xs)):
            new = np.tanh(a[t] + hs[t] @ self.U)
            hs.append(np.where(mask[t, :, None], new, hs[t]))
        return np.stack(hs[1:]), (xs, hs, mask)

    def backward(self, dhs, cache, grads):
        xs, hs, mask = cache
        da = np.zeros_like(dhs)                                     # (T, B, H)
        dh = np.zeros_like(hs[0])
        for t in range(len(xs) - 1, -1, -1):
            dh = dh + dhs[t]
            # h_t = tanh(a_t + h_{t−1} U), or h_{t−1}
            da[t] = mask[t, :, None] * dh * (1 - hs[t + 1]**2)
            grads.U += hs[t].T @ da[t]
            dh = np.where(mask[t, :, None], 0, dh)
            dh += da[t] @ self.U.T
        # a = x W + b, all steps at once
        grads.W += np.einsum("tbi,tbh->ih", xs, da)
        grads.b += da.sum(axis=(0, 1))
        dxs = da @ self.W.T
        return dxs, dh


@dataclass(eq=False)
class Reader(Module):
    layers: list
    gain: Array  # (1,)
    rate: float

    def forward(self, xs, first, mask, kept):
        """Return hs (T, B, K), mean (B, K), cache. xs (T, B, I), first: h0s, kept (T, B, H)."""
        caches = []
        hs = xs
        for n, layer in enumerate(self.layers):
            if n > 0:
                hs = kept * hs / (1 - self.rate)
            hs, cache = layer.forward(hs, first[n], mask)
            caches.append(cache)
        lengths = mask.sum(0)                                       # (B,)
        total = (mask[:, :, None] * hs).sum(0)                      # (B, K)
        mean = total / lengths[:, None]
        scaled = self.gain * mean
        return hs, scaled, (caches, mask, kept, lengths, mean)

    def backward(self, dhs, dscaled, cache, grads):
        caches, mask, kept, lengths, mean = cache
        # scaled = gain · mean
        grads.gain += (dscaled * mean).sum()
        dmean = dscaled * self.gain
        # mean = Σ_t m_t h_t / length
        dtotal = dmean / lengths[:, None]
        dhs = dhs + mask[:, :, None] * dtotal
        dfirst = []
        for n in reversed(range(len(self.layers))):
            dhs, dh0 = self.layers[n].backward(dhs, caches[n], grads.layers[n])
            dfirst.insert(0, dh0)
            if n > 0:
                dhs = kept * dhs / (1 - self.rate)
        return dhs, tuple(dfirst), None, None


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    T, B, I, H, K = 5, 3, 2, 4, 6
    shapes = ((I, H), (H, H), (H,)), ((H, K), (K, K), (K,))
    layers = [Layer(*map(np.empty, three)) for three in shapes]
    reader = randomize(Reader(layers, np.empty(1), 0.25), rng)
    first = rng.standard_normal((B, H)), rng.standard_normal((B, K))
    kept = rng.random((T, B, H)) > 0.25
    inputs = rng.standard_normal((T, B, I)), first, ragged(T, [5, 3, 4]), kept
    return reader, inputs, reader.forward, reader.backward
