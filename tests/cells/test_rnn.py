"""The Elman network against its equation in plain NumPy."""

import numpy as np

from numpy_attention.cells.rnn import RNN


def test_equation(rng, follows):
    cell = RNN.create(rng, 2, 4, dtype=np.float64)

    def step(x, h):
        return np.tanh(x @ cell.W + h @ cell.U + cell.b)

    follows(cell, step)


def test_recurrent_weights_start_orthogonal(rng):
    U = RNN.create(rng, 2, 4, dtype=np.float64).U
    np.testing.assert_allclose(U @ U.T, np.eye(4), atol=1e-14)
