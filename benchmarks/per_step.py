"""A side of versus_pytorch.py: language models in plain NumPy, in their most direct form.

    step = per_step(size, threads, built)           as in sides.py

The time steps are computed one after another: the product of the word, the product of the state,
the gates, the output layer and its softmax. The backward pass goes through the same steps in
reverse, and each adds to the gradients of all weights. Nothing is moved out of the loop, fused or
compiled. The parameters are a dict {name in numpy_attention: array} with the initial values of our
own model. The text has no padding.
"""

import numpy as np
from sides import batch_of, our_model, part, rate_and_clip


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# ---- cells: x (B, I), state → state, cache; the backward pass adds to grads ----------------------


def lstm(cell, x, state):
    """An LSTM step. The state is (h, c)."""
    h_before, c_before = state
    a = x @ cell["W"] + h_before @ cell["U"] + cell["b"]                # (B, 4H)
    i, f, g, o = np.split(a, 4, axis=1)
    i = sigmoid(i)
    f = sigmoid(f)
    g = np.tanh(g)
    o = sigmoid(o)
    c = f * c_before + i * g
    h = o * np.tanh(c)
    return (h, c), (x, h_before, c_before, i, f, g, o, c)


def lstm_backward(cell, dstate, cache, grads):
    x, h_before, c_before, i, f, g, o, c = cache
    dh, dc = dstate
    # h = o tanh(c)
    do = dh * np.tanh(c)
    dc = dc + dh * o * (1 - np.tanh(c)**2)
    # c = f c_before + i g
    df = dc * c_before
    di = dc * g
    dg = dc * i
    dc_before = dc * f
    # i, f, o = σ(a), g = tanh(a)
    da = np.concatenate(
        [di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o)], axis=1)
    # a = x W + h_before U + b
    grads["W"] += x.T @ da
    grads["U"] += h_before.T @ da
    grads["b"] += da.sum(0)
    return da @ cell["W"].T, (da @ cell["U"].T, dc_before)


def gru(cell, x, state):
    """A GRU step. The state is (h,)."""
    h_before, = state
    a_r, a_z, a_n = np.split(x @ cell["W"] + cell["b"], 3, axis=1)      # (B, H) each
    u_r, u_z, u_n = np.split(h_before @ cell["U"], 3, axis=1)
    s = u_n + cell["b_n"]
    r = sigmoid(a_r + u_r)
    z = sigmoid(a_z + u_z)
    n = np.tanh(a_n + r * s)
    h = (1 - z) * n + z * h_before
    return (h,), (x, h_before, r, z, n, s)


def gru_backward(cell, dstate, cache, grads):
    x, h_before, r, z, n, s = cache
    dh, = dstate
    # h = (1 − z) n + z h_before
    dz = dh * (h_before - n)
    dn = dh * (1 - z)
    dh_before = dh * z
    # n = tanh(a_n + r s), s = u_n + b_n
    da_n = dn * (1 - n**2)
    dr = da_n * s
    ds = da_n * r
    # r, z = σ(a + u)
    da_r = dr * r * (1 - r)
    da_z = dz * z * (1 - z)
    da = np.concatenate([da_r, da_z, da_n], axis=1)
    du = np.concatenate([da_r, da_z, ds], axis=1)
    # a = x W + b, u = h_before U
    grads["W"] += x.T @ da
    grads["b"] += da.sum(0)
    grads["b_n"] += ds.sum(0)
    grads["U"] += h_before.T @ du
    return da @ cell["W"].T, (dh_before + du @ cell["U"].T,)


CELLS = {"lstm": (lstm, lstm_backward), "gru": (gru, gru_backward)}


def zero_states(size, dtype=np.float32):
    """Return a list with a state of zeros per layer."""
    parts = 2 if size["cell"] == "lstm" else 1
    zeros = np.zeros((size["batch"], size["hidden"]), dtype)
    return [(zeros,) * parts for _ in range(size["layers"])]


# ---- the model -----------------------------------------------------------------------------------


def loss_and_grad(p, size, inputs, targets, states):
    """Return Σ −log p, {name: gradient}, and the new states.

    inputs, targets (T, B); states: one per layer
    """
    forward, backward = CELLS[size["cell"]]
    names = [f"cells.cells.{layer}" for layer in range(size["layers"])]
    cells = [part(p, name) for name in names]
    E = p["output.words.E"]
    T, B = inputs.shape
    rows = np.arange(B)
    states = list(states)
    loss = 0.0
    caches = []
    for t in range(T):
        x = p["embedding.E"][inputs[t]]                                 # (B, E)
        layer_caches = []
        for layer, cell in enumerate(cells):
            states[layer], cache = forward(cell, x, states[layer])
            layer_caches.append(cache)
            x = states[layer][0]                                        # (B, H)
        logits = x @ E.T + p["output.b"]                                # (B, V)
        exps = np.exp(logits - logits.max(1, keepdims=True))
        probabilities = exps / exps.sum(1, keepdims=True)
        loss -= np.log(probabilities[rows, targets[t]]).sum()
        caches.append((layer_caches, x, probabilities))

    grads = {name: np.zeros_like(array) for name, array in p.items()}
    dcells = [part(grads, name) for name in names]
    dstates = [tuple(map(np.zeros_like, state)) for state in states]
    for t in reversed(range(T)):
        layer_caches, h, probabilities = caches[t]
        # −log p of the target, p = softmax(logits)
        dlogits = probabilities.copy()
        dlogits[rows, targets[t]] -= 1
        # logits = h Eᵀ + b
        grads["output.words.E"] += dlogits.T @ h
        grads["output.b"] += dlogits.sum(0)
        dx = dlogits @ E
        for layer in reversed(range(len(cells))):
            dh, *rest = dstates[layer]
            dx, dstates[layer] = backward(
                cells[layer], (dh + dx, *rest), layer_caches[layer], dcells[layer])
        # x = E[ids]; a word may occur more than once in a batch
        np.add.at(grads["embedding.E"], inputs[t], dx)
    return loss, grads, states


# ---- a training step -----------------------------------------------------------------------------


def clipped(grads, scale, clip):
    """Return scale · gradient, clipped to this norm."""
    norm = scale * np.sqrt(sum((one**2).sum() for one in grads.values()))
    factor = scale * min(1.0, clip / norm)
    return {name: factor * one for name, one in grads.items()}


class SGD:
    def __init__(self, rate):
        self.rate = rate

    def update(self, p, grads):
        for name, g in grads.items():
            p[name] -= self.rate * g


class Adam:
    def __init__(self, rate):
        self.rate = rate
        self.t = 0
        self.m = {}
        self.v = {}

    def update(self, p, grads):
        self.t += 1
        for name, g in grads.items():
            self.m[name] = 0.9 * self.m.get(name, 0) + 0.1 * g
            self.v[name] = 0.999 * self.v.get(name, 0) + 0.001 * g**2
            m = self.m[name] / (1 - 0.9**self.t)
            v = self.v[name] / (1 - 0.999**self.t)
            p[name] -= self.rate * m / (np.sqrt(v) + 1e-8)


def per_step(size, threads, built):
    """Return a training step. It uses the threads of BLAS, set by the environment."""
    rng = np.random.default_rng(0)
    batch = batch_of(size, rng)
    p = {name: array.copy() for name, array in our_model(size, rng).named_parameters()}
    name, rate, clip = rate_and_clip(size)
    optimizer = {"sgd": SGD, "adam": Adam}[name](rate)
    states = zero_states(size)
    built()

    def step():
        nonlocal states
        loss, grads, states = loss_and_grad(p, size, batch.inputs, batch.targets, states)
        optimizer.update(p, clipped(grads, 1 / batch.size, clip))
        return loss / batch.tokens
    return step
