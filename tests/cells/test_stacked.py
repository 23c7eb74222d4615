"""Stacked: running it layer by layer or step by step gives the same results."""

import laws
import numpy as np
import pytest

from numpy_attention.cells.bidirectional import Bidirectional
from numpy_attention.cells.rnn import RNN
from numpy_attention.cells.stacked import Stacked
from numpy_attention.gradcheck import randomize
from numpy_attention.gradcheck.cases.case import ragged
from numpy_attention.layers.dropout import Dropout, position_ids
from numpy_attention.registry import CELLS, resolve
from numpy_attention.trees import leaves

T, B = 5, 3
SIZES = [2, 5, 4, 3]
MASK = ragged(T, [5, 2, 4])
ROW_IDS = position_ids(T, np.array([4, 0, 7]))

every_kind = pytest.mark.parametrize("kind", [resolve("cell", name, CELLS) for name in CELLS])


def stack_of(rng, kind, depth=3, rate=0.3):
    cells = [kind.create(rng, below, above, dtype=np.float64)
             for below, above in zip(SIZES[:depth], SIZES[1:])]
    return randomize(Stacked(cells, Dropout(rate)), rng)


def by_layers(stack, xs, seed, row_ids):
    ys, last, cache = stack.forward(xs, None, MASK, generator(seed), row_ids)
    dys, dlast = laws.upstream_of((ys, last))
    grads = stack.zeros_like()
    dxs, dfirst = stack.backward(dys, dlast, cache, grads)
    return {"ys": ys, "last": last, "dxs": dxs, "dfirst": dfirst, "grads": grads.vector}


def by_steps(stack, xs, seed, row_ids):
    steps = stack.begin(stack.project(xs), None, MASK, generator(seed), row_ids)
    for t in range(T):
        stack.step(t, steps)
    ys = steps.hs[1:]
    last = stack.state(steps, T)
    dys, dstate = laws.upstream_of((ys, last))
    grads = stack.zeros_like()
    dsteps = stack.begin_backward(steps)
    for t in reversed(range(T)):
        dstate = stack.step_backward(t, dys[t], dstate, steps, dsteps)
    da = stack.end_backward(steps, dsteps, grads)
    assert da is dsteps.a and da.shape == steps.a.shape == (T, B, stack.gates_size)
    dxs = stack.project_backward(da, xs, grads)
    return {"ys": ys, "last": last, "dxs": dxs, "dfirst": dstate, "grads": grads.vector}


def generator(seed):
    return None if seed is None else np.random.default_rng(seed)


@every_kind
@pytest.mark.parametrize("depth", [1, 2, 3])
@pytest.mark.parametrize("seed", [None, 5])
@pytest.mark.parametrize("row_ids", [None, ROW_IDS])
def test_step_by_step_equals_layer_by_layer(rng, kind, depth, seed, row_ids):
    stack = stack_of(rng, kind, depth)
    xs = rng.standard_normal((T, B, SIZES[0]))
    laws.assert_close(by_steps(stack, xs, seed, row_ids), by_layers(stack, xs, seed, row_ids),
                      1e-13)


def test_dropout_is_applied_only_between_layers(rng):
    stack = stack_of(rng, RNN)
    xs = rng.standard_normal((T, B, SIZES[0]))
    plain, dropped, other = (stack.begin(stack.project(xs), None, MASK, generator(seed))
                             for seed in (None, 5, 6))
    for steps in (plain, dropped, other):
        for t in range(T):
            stack.step(t, steps)
    assert (plain.layers[0].hs == dropped.layers[0].hs).all()
    assert (plain.belows[0] == plain.layers[0].hs[1:]).all() and plain.keys == [None, None]
    for below, steps in zip(dropped.belows, dropped.layers):
        kept = below != 0
        assert kept.any() and not kept.all()
        np.testing.assert_allclose(below[kept], steps.hs[1:][kept] / 0.7, rtol=1e-12)
    assert (dropped.hs != other.hs).any() and (dropped.hs[1:] != 0).all()


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_begin_draws_one_key_per_layer_after_the_first(rng, depth):
    stack = stack_of(rng, RNN, depth)
    xs = rng.standard_normal((T, B, SIZES[0]))
    stepwise, whole, keys_only = (np.random.default_rng(5) for _ in range(3))
    steps = stack.begin(stack.project(xs), None, MASK, stepwise)
    after_begin = stepwise.bit_generator.state
    for t in range(T):
        stack.step(t, steps)
    stack.forward(xs, None, MASK, whole)
    assert steps.keys == [stack.dropout.draw(keys_only) for _ in range(depth - 1)]
    for generator in (stepwise, whole, keys_only):
        assert generator.bit_generator.state == after_begin


def test_sizes_and_states_match_the_layers(rng):
    stack = stack_of(rng, resolve("cell", "lstm", CELLS))
    assert stack.hidden_size == SIZES[-1] and stack.gates_size == 4 * SIZES[1]
    zero = stack.zero_state(B)
    assert [part.shape for part in leaves(zero)] == [(B, H) for H in SIZES[1:] for _ in "hc"]
    steps = stack.begin(stack.project(rng.standard_normal((T, B, SIZES[0]))), zero)
    assert steps.hs.shape == (T + 1, B, stack.hidden_size) and not steps.hs[0].any()


def test_stack_of_bidirectional_layers(rng):
    layers = [Bidirectional(*(RNN.create(rng, inputs, 3, dtype=np.float64) for _ in range(2)))
              for inputs in (2, 6)]
    stack = Stacked(layers, Dropout())
    xs = rng.standard_normal((T, B, 2))
    ys, last, _ = stack.forward(xs, None, MASK)
    below, _, _ = layers[0].forward(xs, None, MASK)
    above, end, _ = layers[1].forward(below, None, MASK)
    assert (ys == above).all() and len(last) == 2 and (last[1][1] == end[1]).all()


def test_invalid_arguments(rng):
    stack = stack_of(rng, RNN)
    a = stack.project(rng.standard_normal((T, B, SIZES[0])))
    message = "state is a 1-tuple; expected a tuple of 3 states, one for each layer"
    with pytest.raises(ValueError, match=message):
        stack.begin(a, stack.zero_state(B)[:1])
    with pytest.raises(ValueError, match="mask"):
        stack.begin(a, None, MASK.T)
