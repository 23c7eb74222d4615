"""Gradient checks of the cells."""

from functools import partial

import numpy as np

from numpy_attention.cells.bidirectional import Bidirectional
from numpy_attention.cells.gru import GRU
from numpy_attention.cells.lstm import LSTM
from numpy_attention.cells.rnn import RNN
from numpy_attention.cells.stacked import Stacked
from numpy_attention.checks.case import B, D, H, I, SEED, T, Case, array, ragged
from numpy_attention.gradcheck import randomize
from numpy_attention.layers.dropout import Dropout


def cell(rng, dtype, create, mask=ragged(T, [4, 2, 1]), uses="both"):
    """uses: what the loss reads, "both", "outputs" alone (from the zero state) or the last "state" alone."""
    layer = randomize(create(rng, dtype), rng)
    xs, zero = array(rng, dtype, T, B, I), create_state(layer)
    state = tuple(array(rng, dtype, *z.shape) for z in zero) if isinstance(zero, tuple) else array(rng, dtype, B, H)
    if uses == "both":
        return Case(layer, (xs, state), lambda xs, state: layer.forward(xs, state, mask), layer.backward)
    if uses == "outputs":
        def forward(xs):
            ys, _, cache = layer.forward(xs, None, mask)
            return ys, cache
        return Case(layer, (xs,), forward, lambda dys, cache, grad: layer.backward(dys, None, cache, grad)[0])

    def forward(xs, state):
        _, last, cache = layer.forward(xs, state, mask)
        return last, cache
    return Case(layer, (xs, state), forward, lambda dlast, cache, grad: layer.backward(None, dlast, cache, grad))


def create_state(layer):
    if isinstance(layer, Bidirectional):
        return layer.forward_cell.zero_state(B), layer.backward_cell.zero_state(B)
    return layer.zero_state(B)


def rnn(rng, dtype):
    return RNN.create(rng, I, H, dtype=dtype)


def lstm(rng, dtype):
    return LSTM.create(rng, I, H, dtype=dtype)


def gru(reset, update):
    return lambda rng, dtype: GRU.create(rng, I, H, reset, update, dtype=dtype)


def bidirectional(rng, dtype):
    return Bidirectional(RNN.create(rng, I, H, dtype=dtype), GRU.create(rng, I, D, dtype=dtype))


def stacked(rng, dtype, mask=ragged(T, [4, 2, 1])):
    layer = Stacked([LSTM.create(rng, I, H, dtype=dtype), LSTM.create(rng, H, D, dtype=dtype),
                     LSTM.create(rng, D, I, dtype=dtype)], Dropout(0.3))
    state = tuple((array(rng, dtype, B, size), array(rng, dtype, B, size)) for size in (H, D, I))
    return Case(randomize(layer, rng), (array(rng, dtype, T, B, I), state),
                lambda xs, state: layer.forward(xs, state, mask, np.random.default_rng(SEED)), layer.backward)


def stacked_outputs(rng, dtype):
    layer = randomize(Stacked([RNN.create(rng, I, H, dtype=dtype), RNN.create(rng, H, D, dtype=dtype)], Dropout()), rng)

    def forward(xs):
        ys, _, cache = layer.forward(xs)
        return ys, cache
    return Case(layer, (array(rng, dtype, T, B, I),), forward,
                lambda dys, cache, grad: layer.backward(dys, None, cache, grad)[0])


CASES = {
    "RNN": partial(cell, create=rnn),
    "RNN outputs": partial(cell, create=rnn, mask=None, uses="outputs"),
    "RNN last state": partial(cell, create=rnn, uses="state"),
    "LSTM": partial(cell, create=lstm),
    "LSTM outputs": partial(cell, create=lstm, mask=None, uses="outputs"),
    **{f"GRU {reset} {update}": partial(cell, create=gru(reset, update))
       for reset in ("after", "before") for update in ("old", "new")},
    "Bidirectional": partial(cell, create=bidirectional),
    "Bidirectional outputs": partial(cell, create=bidirectional, uses="outputs"),
    "Stacked": stacked,
    "Stacked outputs": stacked_outputs,
}
