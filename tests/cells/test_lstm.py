"""The LSTM against its equations in plain NumPy."""

import numpy as np

from numpy_attention.cells.lstm import LSTM
from numpy_attention.gradcheck import randomize

I, H = 2, 4


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gates(cell, x, h):
    """Return i, f, g, o."""
    i, f, g, o = np.split(x @ cell.W + h @ cell.U + cell.b, 4, axis=1)
    return sigmoid(i), sigmoid(f), np.tanh(g), sigmoid(o)


def test_equations(rng, follows):
    cell = LSTM.create(rng, I, H, dtype=np.float64)

    def step(x, state):
        h, c = state
        i, f, g, o = gates(cell, x, h)
        c = f * c + i * g
        return o * np.tanh(c), c

    follows(cell, step)


def test_steps_store_gates_and_cell_states(rng):
    cell = randomize(LSTM.create(rng, I, H, dtype=np.float64), rng)
    xs = rng.standard_normal((3, 2, I))
    _, (_, c), (_, steps) = cell.forward(xs)
    wanted = np.concatenate(gates(cell, xs[1], steps.hs[1]), axis=1)
    np.testing.assert_allclose(steps.gates[1], wanted, atol=1e-14)
    assert (steps.cs[3] == c).all() and not steps.cs[0].any()


def test_forget_bias_starts_at_1(rng):
    b = LSTM.create(rng, I, H).b
    assert (b[H:2 * H] == 1).all() and b.sum() == H
