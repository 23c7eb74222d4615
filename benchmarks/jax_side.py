"""A side of versus_pytorch.py in JAX: language models and RNNsearch through jit and lax.scan.

    step = jax_step(size, threads, built)           as in sides.py

The parameters are a dict {name in numpy_attention: array} with the initial values of our own model,
so gradients have our names and losses agree with ours. The code follows good JAX practice: the
products of all time steps are computed before a scan, and one compiled function performs the whole
step and updates its arguments in place. The shapes of a compiled function are fixed, so padded
words are masked, not removed.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from sides import arrays_of, batch_of, is_text, our_model, part, rate_and_clip

# ---- cells: a_t (B, G) = x_t W + b, before the state's part ------------------------------------


def lstm(cell, state, a):
    """Return the state (h_t, c_t), and h_t."""
    h, c = state
    i, f, g, o = jnp.split(a + h @ cell["U"], 4, axis=1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def gru(cell, h, a):
    """GRU with reset="after", update="old". Return the state h_t, and h_t."""
    a_r, a_z, a_n = jnp.split(a, 3, axis=1)
    u_r, u_z, u_n = jnp.split(h @ cell["U"], 3, axis=1)
    r = jax.nn.sigmoid(a_r + u_r)
    z = jax.nn.sigmoid(a_z + u_z)
    n = jnp.tanh(a_n + r * (u_n + cell["b_n"]))
    h = (1 - z) * n + z * h
    return h, h


# ---- models: loss(parameters, state, *ids) → Σ −log p, the state after the batch ---------------


def loss_of(size):
    """Return the loss function of a size of sides.py, and its initial state."""
    if not is_text(size):
        return rnnsearch, None
    zeros = jnp.zeros((size["batch"], size["hidden"]))
    state = (zeros, zeros) if size["cell"] == "lstm" else zeros
    cell = {"lstm": lstm, "gru": gru}[size["cell"]]

    def loss(p, states, inputs, targets):
        return language_model(cell, p, states, inputs, targets)
    return loss, [state] * size["layers"]


def language_model(step, p, states, inputs, targets):
    """Return the loss and the new states. inputs, targets (T, B); states: one per layer."""
    x = p["embedding.E"][inputs]                                        # (T, B, E)
    after = []
    for layer, state in enumerate(states):
        cell = part(p, f"cells.cells.{layer}")
        a = x @ cell["W"] + cell["b"]                                   # (T, B, G)
        state, x = lax.scan(lambda state, a_t: step(cell, state, a_t), state, a)
        after.append(state)
    return cross_entropy(p, x, targets), after


def rnnsearch(p, state, source, target_in, target_out):
    """RNNsearch with readout="current". source (S, B), target_in and target_out (T, B)."""
    mask = source != 0                                                  # (S, B)
    x = p["source_embedding.E"][source]
    forward, _ = read(part(p, "encoder.forward_cell"), x, mask)
    backward, first = read(part(p, "encoder.backward_cell"), x, mask, reverse=True)
    h = jnp.concatenate([forward, backward], 2).swapaxes(0, 1)          # (B, S, 2H)
    keys = h @ p["attention.U_a"]                                       # (B, S, A)
    s_0 = jnp.tanh(first @ p["W_s"] + p["b_s"])
    y = p["target_embedding.E"][target_in]                              # (T, B, E)
    decoder = part(p, "decoder")

    def word(s, a):
        e = jnp.tanh((s @ p["attention.W_a"])[:, None] + keys) @ p["attention.v_a"]
        alpha = jax.nn.softmax(jnp.where(mask.T, e, -jnp.inf), 1)       # (B, S)
        c = jnp.einsum("bs,bsd->bd", alpha, h)
        s, _ = gru(decoder, s, a + c @ p["C"])
        return s, (s, c)

    _, (s, c) = lax.scan(word, s_0, y @ decoder["W"] + decoder["b"])
    deep = part(p, "deep_output")
    t = s @ deep["U_o"] + y @ deep["V_o"] + c @ deep["C_o"] + deep["b"]
    t = t.reshape(*t.shape[:-1], -1, 2).max(-1)                         # (T, B, l)
    return cross_entropy(p, t, target_out), None


def read(cell, x, mask, reverse=False):
    """Run a GRU over sentences of different lengths. Return h (S, B, H) and the last state."""
    def one(h, inputs):
        a, real = inputs
        new, _ = gru(cell, h, a)
        h = jnp.where(real[:, None], new, h)
        return h, h

    zeros = jnp.zeros((x.shape[1], len(cell["U"])))
    last, h = lax.scan(one, zeros, (x @ cell["W"] + cell["b"], mask), reverse=reverse)
    return h, last


def cross_entropy(p, x, targets):
    """Return Σ −log p over targets that are not padding.   x (T, B, K), targets (T, B)."""
    logits = x @ p["output.words.E"].T + p["output.b"]
    log_p = jax.nn.log_softmax(logits)
    chosen = jnp.take_along_axis(log_p, targets[..., None], 2)[..., 0]
    return -jnp.where(targets != 0, chosen, 0).sum()


# ---- a training step ---------------------------------------------------------------------------


def sgd(w, g, slots, rate, t):
    return w - rate * g, slots


def adam(w, g, slots, rate, t):
    m, v = slots
    m = 0.9 * m + 0.1 * g
    v = 0.999 * v + 0.001 * g**2
    w = w - rate * (m / (1 - 0.9**t)) / (jnp.sqrt(v / (1 - 0.999**t)) + 1e-8)
    return w, (m, v)


OPTIMIZERS = {"sgd": (sgd, 0), "adam": (adam, 2)}       # and its number of slots


def jax_step(size, threads, built):
    """Return a training step. The environment sets the number of threads (turns.py)."""
    rng = np.random.default_rng(0)
    batch = batch_of(size, rng)
    p = {name: jnp.array(array) for name, array in our_model(size, rng).named_parameters()}
    ids = [jnp.array(array, jnp.int32) for array in arrays_of(size, batch)]
    name, rate, clip = rate_and_clip(size)
    optimizer, count = OPTIMIZERS[name]
    slots = {name: tuple(jnp.zeros_like(w) for _ in range(count)) for name, w in p.items()}
    loss_and_state, state = loss_of(size)
    gradient = jax.value_and_grad(loss_and_state, has_aux=True)

    def train(p, slots, state, t, *ids):
        (loss, state), g = gradient(p, state, *ids)
        norm = jnp.sqrt(sum(jnp.vdot(one, one) for one in g.values())) / batch.size
        factor = jnp.minimum(1.0, clip / norm) / batch.size
        updated = {name: optimizer(w, factor * g[name], slots[name], rate, t)
                   for name, w in p.items()}
        p, slots = ({name: pair[k] for name, pair in updated.items()} for k in (0, 1))
        return p, slots, state, loss

    train = jax.jit(train, donate_argnums=(0, 1))
    t = 0
    built()

    def step():
        nonlocal p, slots, state, t
        t += 1
        p, slots, state, loss = jax.block_until_ready(train(p, slots, state, t, *ids))
        return float(loss) / batch.tokens
    return step
