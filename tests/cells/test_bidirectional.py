"""Bidirectional: one cell reads each sentence forward, the other reads it in reverse."""

import numpy as np

from numpy_attention.cells.bidirectional import Bidirectional
from numpy_attention.cells.gru import GRU
from numpy_attention.cells.rnn import RNN
from numpy_attention.gradcheck import randomize
from numpy_attention.gradcheck.cases.case import ragged

T, B, I, H = 5, 3, 2, 4
LENGTHS = [5, 2, 4]


def bidirectional(rng):
    ahead = GRU.create(rng, I, H, dtype=np.float64)
    back = RNN.create(rng, I, 3, dtype=np.float64)
    return randomize(Bidirectional(ahead, back), rng)


def test_each_sentence_is_read_in_both_directions(rng):
    layer = bidirectional(rng)
    xs = rng.standard_normal((T, B, I))
    ys, (last, first), _ = layer.forward(xs, None, ragged(T, LENGTHS))
    assert layer.output_size == H + 3 and ys.shape == (T, B, H + 3)
    for b, n in enumerate(LENGTHS):
        sentence = xs[:n, b:b + 1]
        ahead, end, _ = layer.forward_cell.forward(sentence)
        back, start, _ = layer.backward_cell.forward(sentence[::-1])
        wanted = np.concatenate([ahead, back[::-1]], 2)
        np.testing.assert_allclose(ys[:n, b:b + 1], wanted, atol=1e-14)
        np.testing.assert_allclose(last[b], end[0], atol=1e-14)
        np.testing.assert_allclose(first[b], start[0], atol=1e-14)


def test_missing_gradient_of_the_last_state_means_zero(rng):
    layer = bidirectional(rng)
    xs = rng.standard_normal((T, B, I))
    ys, last, cache = layer.forward(xs, None, ragged(T, LENGTHS))
    zeros = tuple(np.zeros_like(state) for state in last)
    dys = rng.standard_normal(ys.shape)
    found = []
    for dstate in (None, (None, zeros[1]), (zeros[0], None), zeros):
        grads = layer.zeros_like()
        dxs, dfirst = layer.backward(dys, dstate, cache, grads)
        found.append([dxs, *dfirst, grads.vector])
    assert all(array.any() for array in found[0])
    for other in found[1:]:
        assert all((one == two).all() for one, two in zip(found[0], other))
    silent = [layer.backward(dy, last, cache, layer.zeros_like())[0] for dy in (None, 0 * dys)]
    assert silent[0].any() and (silent[0] == silent[1]).all()
