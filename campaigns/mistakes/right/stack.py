"""Two LSTM layers without peepholes, with one matrix per gate, and a readout.

    i, f, o = σ(x W_k + h U_k + b_k), g = tanh(…),  c' = f ∘ c + i ∘ g,  h' = o ∘ tanh(c'),
    the upper layer reads h' of the lower;  y_t = h'_t V + b_y
"""

from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class Layer(Module):
    W: Array  # (4, I, H)   of i, f, o, g
    U: Array  # (4, H, H)
    b: Array  # (4, H)

    def step(self, x, h, c):
        a = [x @ self.W[k] + h @ self.U[k] + self.b[k] for k in range(4)]
        i = sigmoid(a[0])
        f = sigmoid(a[1])
        o = sigmoid(a[2])
        g = np.tanh(a[3])
        c_new = f * c + i * g
        h_new = o * np.tanh(c_new)
        return h_new, c_new, (x, h, c, i, f, o, g, c_new)

    def step_backward(self, dh_new, dc_new, cache, grads):
        x, h, c, i, f, o, g, c_new = cache
        # h' = o ∘ tanh(c')
        tanh_c = np.tanh(c_new)
        do = dh_new * tanh_c
        dc = dc_new + dh_new * o * (1 - tanh_c**2)
        # c' = f ∘ c + i ∘ g
        di = dc * g
        df = dc * c
        dg = dc * i
        dc_before = dc * f
        # the gates
        da = [di * i * (1 - i), df * f * (1 - f), do * o * (1 - o), dg * (1 - g**2)]
        dx = np.zeros_like(x)
        dh_before = np.zeros_like(h)
        for k in range(4):
            grads.W[k] += x.T @ da[k]
            grads.U[k] += h.T @ da[k]
            grads.b[k] += da[k].sum(axis=0)
            dx += da[k] @ self.W[k].T
            dh_before += da[k] @ self.U[k].T
        return dx, dh_before, dc_before


@dataclass(eq=False)
class Stack(Module):
    layers: list
    V: Array    # (H, K)
    b_y: Array  # (K,)

    def forward(self, xs, h_0, c_0):
        """Return ys (T, B, K), last h, last c, cache.   xs (T, B, I), h_0, c_0 (layers, B, H)."""
        h, c = list(h_0), list(c_0)
        ys, cache = [], []
        for x in xs:
            steps = []
            for n, layer in enumerate(self.layers):
                h[n], c[n], step = layer.step(x, h[n], c[n])
                x = h[n]
                steps.append(step)
            ys.append(x @ self.V + self.b_y)
            cache.append((steps, x))
        return np.array(ys), np.array(h), np.array(c), cache

    def backward(self, dys, dh_last, dc_last, cache, grads):
        dh, dc = list(dh_last), list(dc_last)
        dxs = []
        for t in reversed(range(len(cache))):
            steps, top = cache[t]
            grads.V += top.T @ dys[t]
            grads.b_y += dys[t].sum(axis=0)
            dx = dys[t] @ self.V.T
            for n in reversed(range(len(self.layers))):
                dx, dh[n], dc[n] = self.layers[n].step_backward(
                    dh[n] + dx, dc[n], steps[n], grads.layers[n])
            dxs.append(dx)
        return np.array(dxs[::-1]), np.array(dh), np.array(dc)


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def case(rng):
    """Return (target, inputs, forward, backward) for gradcheck."""
    T, B, I, H, K = 5, 3, 2, 4, 6
    lower = Layer(np.empty((4, I, H)), np.empty((4, H, H)), np.empty((4, H)))
    upper = Layer(np.empty((4, H, H)), np.empty((4, H, H)), np.empty((4, H)))
    stack = randomize(Stack([lower, upper], np.empty((H, K)), np.empty(K)), rng)
    inputs = (rng.standard_normal((T, B, I)), *rng.standard_normal((2, 2, B, H)))
    return stack, inputs, stack.forward, stack.backward
