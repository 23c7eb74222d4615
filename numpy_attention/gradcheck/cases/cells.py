"""Gradient checks of the cells in registry.CELLS, and of bidirectional and stacked layers."""

from functools import partial
from typing import Callable

import numpy as np

from numpy_attention.cells.bidirectional import Bidirectional
from numpy_attention.cells.gru import GRU
from numpy_attention.cells.lstm import LSTM
from numpy_attention.cells.rnn import RNN
from numpy_attention.cells.stacked import Stacked
from numpy_attention.gradcheck import randomize
from numpy_attention.gradcheck.cases.case import SEED, B, Case, H, I, T, array, ragged
from numpy_attention.gradcheck.harness import check_sequence
from numpy_attention.registry import CELLS, RESETS, UPDATES, resolve
from numpy_attention.trees import tree_map

MASK = ragged(T, [4, 2, 1])
SIZES = (I, H, 7, 6)      # the input size of a stack, and the state size of each of its layers


# ---- a layer that reads a whole sequence ------------------------------------------------------


def whole(rng, dtype, create, mask=MASK, uses="both"):
    """Return the Case of a layer that reads a whole sequence.

    uses: whether the loss depends on the "outputs", on the last "state", or on "both".
    """
    layer = randomize(create(rng, dtype), rng)
    xs = array(rng, dtype, T, B, I)
    state = random_state(rng, dtype, layer)

    def both(xs, state):
        return call(layer, xs, state, mask)

    def outputs(xs):
        ys, _, cache = call(layer, xs, None, mask)
        return ys, cache

    def outputs_backward(dys, cache, grads):
        dxs, _ = layer.backward(dys, None, cache, grads)
        return dxs

    def last_state(xs, state):
        _, last, cache = call(layer, xs, state, mask)
        return last, cache

    def last_state_backward(dlast, cache, grads):
        return layer.backward(None, dlast, cache, grads)

    time = None if isinstance(layer, Bidirectional) else 0
    return {"both": Case(layer, (xs, state), both, layer.backward, time),
            "outputs": Case(layer, (xs,), outputs, outputs_backward, time),
            "state": Case(layer, (xs, state), last_state, last_state_backward)}[uses]


def call(layer, xs, state, mask):
    """Return layer.forward(xs, state, mask), with dropout if the layer is a stack."""
    dropout = [np.random.default_rng(SEED)] if isinstance(layer, Stacked) else []
    found = layer.forward(xs, state, mask, *dropout)
    check_sequence(layer.forward, found, xs)
    return found


def random_state(rng, dtype, layer):
    if isinstance(layer, Bidirectional):
        zero = layer.forward_cell.zero_state(B), layer.backward_cell.zero_state(B)
    else:
        zero = layer.zero_state(B)
    return tree_map(lambda part: array(rng, dtype, *part.shape), zero)


# ---- a stack within a decoder -----------------------------------------------------------------


def decoder(rng, dtype, kind):
    """Return the Case of a stack of three layers that is called step by step.

        a_t = x_t W + b + h_{t−1} F

    a_t: the first layer's projected input. h_t: the top layer's state. Step 0 lacks the F term.
    """
    stack = randomize(stacked(rng, dtype, kind), rng)
    xs = array(rng, dtype, T, B, I)
    state = random_state(rng, dtype, stack)
    F = array(rng, dtype, stack.hidden_size, stack.gates_size)

    def forward(xs, state, F):
        steps = stack.begin(stack.project(xs), state, MASK, np.random.default_rng(SEED))
        for t in range(T):
            if t:
                steps.a[t] += steps.hs[t] @ F
            stack.step(t, steps)
        return steps.hs[1:], stack.state(steps, T), (xs, F, steps)

    def backward(dys, dstate, cache, grads):
        xs, F, steps = cache
        dys = dys.copy()
        dF = np.zeros_like(F)
        dsteps = stack.begin_backward(steps)
        for t in reversed(range(T)):
            dstate = stack.step_backward(t, dys[t], dstate, steps, dsteps)
            if t:
                dF += steps.hs[t].T @ dsteps.a[t]
                dys[t - 1] += dsteps.a[t] @ F.T
        da = stack.end_backward(steps, dsteps, grads)
        return stack.project_backward(da, xs, grads), dstate, dF

    return Case(stack, (xs, state, F), forward, backward, causal=0)


# ---- the cases --------------------------------------------------------------------------------


def gru(reset, update):
    return lambda rng, dtype: GRU.create(rng, I, H, reset, update, dtype=dtype)


def bidirectional(rng, dtype):
    return Bidirectional(RNN.create(rng, I, H, dtype=dtype), GRU.create(rng, I, 6, dtype=dtype))


def stacked(rng, dtype, kind=LSTM, sizes=SIZES, dropout=0.3):
    return Stacked.create(partial(kind.create, rng, dtype=dtype), sizes, dropout)


def undropped(rng, dtype):
    return stacked(rng, dtype, RNN, SIZES[:3], 0.0)


def cases_of(kind):
    """Return {title: build} for a class of cells, such as GRU. build(rng, dtype) returns a Case."""
    def one(rng, dtype):
        return kind.create(rng, I, H, dtype=dtype)
    return {
        kind.__name__: partial(whole, create=one),
        f"{kind.__name__} outputs": partial(whole, create=one, mask=None, uses="outputs"),
        f"{kind.__name__} last state": partial(whole, create=one, uses="state"),
        f"{kind.__name__} decoder": partial(decoder, kind=kind),
    }


CASES: dict[str, Callable] = {}
for name in CELLS:
    CASES |= cases_of(resolve("cell", name, CELLS))
CASES |= {
    **{f"GRU {reset} {update}": partial(whole, create=gru(reset, update))
       for reset in RESETS for update in UPDATES},
    "Bidirectional": partial(whole, create=bidirectional),
    "Bidirectional outputs": partial(whole, create=bidirectional, uses="outputs"),
    "Stacked": partial(whole, create=stacked),
    "Stacked outputs": partial(whole, create=undropped, mask=None, uses="outputs"),
}
