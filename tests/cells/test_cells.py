"""Cells against their equations in plain NumPy, step by step. Gradients and laws: tests/test_checks.py."""

import laws
import numpy as np
import pytest

from numpy_attention.cells.bidirectional import Bidirectional
from numpy_attention.cells.gru import GRU
from numpy_attention.cells.lstm import LSTM
from numpy_attention.cells.rnn import RNN
from numpy_attention.checks.case import ragged
from numpy_attention.gradcheck import randomize

T, B, I, H = 5, 3, 2, 4


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def rnn_step(cell, x, state):
    h = np.tanh(x @ cell.W + state @ cell.U + cell.b)
    return h, h


def lstm_step(cell, x, state):
    h, c = state
    i, f, g, o = np.split(x @ cell.W + h @ cell.U + cell.b, 4, axis=1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return h, (h, c)


def gru_step(cell, x, h):
    W_r, W_z, W_n = np.split(cell.W, 3, axis=1)
    U_r, U_z, U_n = np.split(cell.U, 3, axis=1)
    b_r, b_z, b_x = np.split(cell.b, 3)
    r, z = sigmoid(x @ W_r + h @ U_r + b_r), sigmoid(x @ W_z + h @ U_z + b_z)
    n = np.tanh(x @ W_n + b_x + (r * (h @ U_n + cell.b_n) if cell.reset == "after" else (r * h) @ U_n))
    h = (1 - z) * n + z * h if cell.update == "old" else z * n + (1 - z) * h
    return h, h


CELLS = [(lambda rng: RNN.create(rng, I, H, dtype=np.float64), rnn_step),
         (lambda rng: LSTM.create(rng, I, H, dtype=np.float64), lstm_step)]
CELLS += [(lambda rng, r=r, u=u: GRU.create(rng, I, H, r, u, dtype=np.float64), gru_step)
          for r in ("after", "before") for u in ("old", "new")]
each = pytest.mark.parametrize("create, step", CELLS)


def states(rng, cell):
    zero = cell.zero_state(B)
    return tuple(rng.standard_normal(z.shape) for z in zero) if isinstance(zero, tuple) else rng.standard_normal((B, H))


def held(mask, new, old):
    if isinstance(new, tuple):
        return tuple(held(mask, n, o) for n, o in zip(new, old))
    return np.where(mask[:, None], new, old)


@each
def test_the_equations_with_masked_steps_that_keep_the_state(rng, create, step):
    cell, xs, mask = randomize(create(rng), rng), rng.standard_normal((T, B, I)), ragged(T, [5, 2, 4])
    state = first = states(rng, cell)
    ys, last, _ = cell.forward(xs, first, mask)
    for t in range(T):
        _, new = step(cell, xs[t], state)
        state = held(mask[t], new, state)
        np.testing.assert_allclose(ys[t], state[0] if isinstance(state, tuple) else state, atol=1e-13)
    np.testing.assert_allclose(last, state, atol=1e-13)


@each
def test_no_state_is_zero_and_no_mask_is_all_true(rng, create, step):
    cell, xs = randomize(create(rng), rng), rng.standard_normal((T, B, I))
    plain = cell.forward(xs)
    full = cell.forward(xs, cell.zero_state(B), np.ones((T, B), bool))
    assert (plain[0] == full[0]).all()


@each
def test_a_sequence_in_two_halves(rng, create, step):
    cell, xs = randomize(create(rng), rng), rng.standard_normal((T, B, I))
    whole, last, _ = cell.forward(xs)
    first, between, _ = cell.forward(xs[:2])
    second, end, _ = cell.forward(xs[2:], between)
    np.testing.assert_allclose(np.concatenate([first, second]), whole, atol=1e-14)
    np.testing.assert_allclose(end, last, atol=1e-14)


@each
@pytest.mark.parametrize("length", [1, 500])
def test_long_and_loud_sequences_in_float32_are_what_float64_gives(rng, create, step, length):
    cell, xs = create(rng), rng.standard_normal((length, B, I))
    xs[0], xs[-1] = 1e4, -1e4                                           # gates saturate; nothing overflows
    single = cell.astype(np.float32)
    results = []
    for model, x in ((cell, xs), (single, xs.astype(np.float32))):
        ys, last, cache = model.forward(x)
        grad = model.zeros_like()
        dys = np.ones_like(ys)
        results.append((ys, model.backward(dys, None, cache, grad)[0], grad.vector))
    assert all(array.dtype == np.float32 for array in results[1])
    laws.assert_close(results[1], results[0], 2e-4)


@each
def test_what_is_refused(rng, create, step):
    cell, xs = create(rng), rng.standard_normal((T, B, I))
    mask = np.ones((T, B), bool)
    for args, error, message in (((xs[:, :, :1],), ValueError, "time-major"), ((xs[0],), ValueError, r"\(T, B, I\)"),
                                 ((xs.astype(np.float32),), TypeError, "astype"),
                                 ((xs, None, mask.T), ValueError, "mask"), ((xs, None, mask * 1), TypeError, "boolean"),
                                 ((xs, cell.zero_state(B + 1)), ValueError, "state h")):
        with pytest.raises(error, match=message):
            cell.forward(*args)


def test_update_new_is_update_old_with_z_negated(rng):
    """1 − σ(x) = σ(−x): the two conventions are one another with z's weights negated."""
    old = randomize(GRU.create(rng, I, H, "after", "old", dtype=np.float64), rng)
    new = GRU(old.W.copy(), old.U.copy(), old.b.copy(), old.b_n.copy(), "after", "new")
    for array in (new.W, new.U, new.b):
        array[..., H:2 * H] *= -1
    xs = rng.standard_normal((T, B, I))
    np.testing.assert_allclose(new.forward(xs)[0], old.forward(xs)[0], atol=1e-14)


def test_gru_refuses_unknown_conventions_and_a_misplaced_bias(rng):
    cell = GRU.create(rng, I, H)
    with pytest.raises(ValueError, match="expected reset 'after' or 'before'"):
        GRU(cell.W, cell.U, cell.b, cell.b_n, "later", "old")
    with pytest.raises(ValueError, match="needs bias b_n"):
        GRU(cell.W, cell.U, cell.b, None, "after", "old")
    with pytest.raises(ValueError, match="has no bias b_n"):
        GRU(cell.W, cell.U, cell.b, cell.b_n, "before", "old")


def test_lstm_forgets_little_at_first(rng):
    b = LSTM.create(rng, I, H).b
    assert (b[H:2 * H] == 1).all() and b.sum() == H


def test_bidirectional_reads_each_sentence_from_its_own_end(rng):
    cells = GRU.create(rng, I, H, dtype=np.float64), RNN.create(rng, I, 3, dtype=np.float64)
    layer = randomize(Bidirectional(*cells), rng)
    xs, lengths = rng.standard_normal((T, B, I)), [5, 2, 4]
    ys, (last, first), _ = layer.forward(xs, None, ragged(T, lengths))
    assert layer.output_size == H + 3 and ys.shape == (T, B, H + 3)
    for b, n in enumerate(lengths):                                     # each sentence alone, without padding
        alone = xs[:n, b:b + 1]
        ahead, end, _ = layer.forward_cell.forward(alone)
        back, start, _ = layer.backward_cell.forward(alone[::-1])
        np.testing.assert_allclose(ys[:n, b:b + 1], np.concatenate([ahead, back[::-1]], 2), atol=1e-14)
        np.testing.assert_allclose(last[b], end[0], atol=1e-14)
        np.testing.assert_allclose(first[b], start[0], atol=1e-14)
