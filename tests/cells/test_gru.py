"""The GRU against its equations in plain NumPy, in every convention."""

import numpy as np
import pytest

from numpy_attention.cells.gru import GRU
from numpy_attention.gradcheck import randomize

T, B, I, H = 5, 3, 2, 4

every_convention = pytest.mark.parametrize("reset, update", [
    (reset, update) for reset in ("after", "before") for update in ("old", "new")])


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def gates(cell, x, h):
    """Return r, z, n."""
    W_r, W_z, W_n = np.split(cell.W, 3, axis=1)
    U_r, U_z, U_n = np.split(cell.U, 3, axis=1)
    b_r, b_z, b_x = np.split(cell.b, 3)
    r = sigmoid(x @ W_r + h @ U_r + b_r)
    z = sigmoid(x @ W_z + h @ U_z + b_z)
    recurrent = r * (h @ U_n + cell.b_n) if cell.reset == "after" else (r * h) @ U_n
    return r, z, np.tanh(x @ W_n + b_x + recurrent)


@every_convention
def test_equations(rng, follows, reset, update):
    cell = GRU.create(rng, I, H, reset, update, dtype=np.float64)

    def step(x, h):
        _, z, n = gates(cell, x, h)
        return (1 - z) * n + z * h if update == "old" else z * n + (1 - z) * h

    follows(cell, step)


@every_convention
def test_steps_store_the_gates(rng, reset, update):
    cell = randomize(GRU.create(rng, I, H, reset, update, dtype=np.float64), rng)
    xs = rng.standard_normal((T, B, I))
    _, _, (_, steps) = cell.forward(xs)
    for t in range(T):
        wanted = np.concatenate(gates(cell, xs[t], steps.hs[t]), axis=1)
        np.testing.assert_allclose(steps.gates[t], wanted, atol=1e-14)


def test_update_new_is_update_old_with_z_negated(rng):
    """1 − σ(x) = σ(−x), so negating the weights of z turns one convention into the other."""
    old = randomize(GRU.create(rng, I, H, "after", "old", dtype=np.float64), rng)
    new = GRU(old.W.copy(), old.U.copy(), old.b.copy(), old.b_n.copy(), "after", "new")
    for array in (new.W, new.U, new.b):
        array[..., H:2 * H] *= -1
    xs = rng.standard_normal((T, B, I))
    np.testing.assert_allclose(new.forward(xs)[0], old.forward(xs)[0], atol=1e-14)


def test_invalid_convention_or_bias_raises(rng):
    cell = GRU.create(rng, I, H)
    with pytest.raises(ValueError, match="^reset = 'later'; expected one of 'before', 'after'$"):
        GRU(cell.W, cell.U, cell.b, cell.b_n, "later", "old")
    with pytest.raises(ValueError, match="^update = 'older'; expected one of 'old', 'new'$"):
        GRU(cell.W, cell.U, cell.b, cell.b_n, "after", "older")
    with pytest.raises(ValueError, match="needs the bias b_n; pass b_n"):
        GRU(cell.W, cell.U, cell.b, None, "after", "old")
    with pytest.raises(ValueError, match="has no bias b_n; omit b_n"):
        GRU(cell.W, cell.U, cell.b, cell.b_n, "before", "old")
