"""Properties of every cell in registry.CELLS. The equations have their own tests."""

import runpy
from dataclasses import dataclass
from functools import partial

import laws
import numpy as np
import pytest

from numpy_attention import registry
from numpy_attention.cells.cell import Cell
from numpy_attention.cells.gru import GRU
from numpy_attention.gradcheck import gradcheck, randomize
from numpy_attention.gradcheck.cases import cells as checks
from numpy_attention.gradcheck.cases.case import ragged
from numpy_attention.initializers import glorot, orthogonal
from numpy_attention.module import Array
from numpy_attention.trees import leaves, tree_map

T, B, I, H = 5, 3, 2, 4

KINDS = {name: registry.resolve("cell", name, registry.CELLS).create for name in registry.CELLS}
KINDS |= {f"gru {reset} {update}": partial(GRU.create, reset=reset, update=update)
          for reset in registry.RESETS for update in registry.UPDATES}
each = pytest.mark.parametrize("create", KINDS.values(), ids=KINDS)


def random_cell(rng, create):
    return randomize(create(rng, I, H, dtype=np.float64), rng)


@each
def test_sizes(rng, create):
    cell = create(rng, I, H)
    a = cell.project(np.ones((T, B, I), np.float32))
    assert cell.hidden_size == H and a.shape == (T, B, cell.gates_size)
    for zero in leaves(cell.zero_state(B)):
        assert zero.shape == (B, H) and not zero.any()


@each
def test_default_state_is_zero_and_default_mask_is_all_true(rng, create):
    cell = random_cell(rng, create)
    xs = rng.standard_normal((T, B, I))
    plain, _, _ = cell.forward(xs)
    full, _, _ = cell.forward(xs, cell.zero_state(B), np.ones((T, B), bool))
    assert (plain == full).all()


@each
def test_two_halves_equal_one_sequence(rng, create):
    cell = random_cell(rng, create)
    xs = rng.standard_normal((T, B, I))
    whole, last, _ = cell.forward(xs)
    first, between, _ = cell.forward(xs[:2])
    second, end, _ = cell.forward(xs[2:], between)
    np.testing.assert_allclose(np.concatenate([first, second]), whole, atol=1e-14)
    np.testing.assert_allclose(end, last, atol=1e-14)


@each
def test_stepwise_loop_equals_forward_and_backward(rng, create):
    cell = random_cell(rng, create)
    xs = rng.standard_normal((T, B, I))
    mask = ragged(T, [5, 2, 4])
    ys, last, cache = cell.forward(xs, None, mask)
    dys, dlast = laws.upstream_of((ys, last))
    grads = cell.zeros_like()
    dxs, dfirst = cell.backward(dys, dlast, cache, grads)

    steps = cell.begin(cell.project(xs), None, mask)
    for t in range(T):
        cell.step(t, steps)
    laws.assert_close([steps.hs[1:], cell.state(steps, T)], [ys, last], 0)
    found = cell.zeros_like()
    dsteps = cell.begin_backward(steps)
    dstate = dlast
    for t in reversed(range(T)):
        dstate = cell.step_backward(t, dys[t], dstate, steps, dsteps)
    da = cell.end_backward(steps, dsteps, found)
    assert (da == dsteps.a).all() and not da[~mask].any()
    stepwise = [cell.project_backward(da, xs, found), dstate, found.vector]
    laws.assert_close(stepwise, [dxs, dfirst, grads.vector], 0)


@each
def test_gradient_of_a_wrong_shape_raises_at_every_step(rng, create):
    """Kernels do not check bounds, and a decoder that calls step_backward may pass any array."""
    cell = random_cell(rng, create)
    steps = cell.begin(cell.project(rng.standard_normal((T, B, I))))
    for t in range(T):
        cell.step(t, steps)
    dsteps = cell.begin_backward(steps)
    for t in reversed(range(T)):
        for dy in (np.zeros((B, H - 1)), np.zeros((B - 1, H))):
            with pytest.raises(ValueError, match="has shape .* expected"):
                cell.step_backward(t, dy, cell.zero_state(B), steps, dsteps)
        cell.step_backward(t, np.zeros((B, H)), cell.zero_state(B), steps, dsteps)


@each
def test_pre_activations_of_padding_are_ignored(rng, create):
    """Masked rows keep the state and pass its gradient on, bit for bit, even if they hold NaN."""
    cell = random_cell(rng, create)
    mask = ragged(T, [5, 2, 4])
    a = rng.standard_normal((T, B, cell.gates_size))
    dys = rng.standard_normal((T, B, H))
    first = tree_map(lambda zero: rng.standard_normal(zero.shape), cell.zero_state(B))
    found = []
    for padding in (0.0, 3.0, 1e300, np.inf, np.nan):
        a[~mask] = padding
        steps = cell.begin(a.copy(), first, mask)
        for t in range(T):
            cell.step(t, steps)
        grads = cell.zeros_like()
        dsteps = cell.begin_backward(steps)
        dstate = laws.upstream_of(first)
        for t in reversed(range(T)):
            before = cell.step_backward(t, dys[t], dstate, steps, dsteps)
            dh, *others = leaves(dstate)
            for new, passed in zip(leaves(before), [dh + dys[t], *others]):
                assert (new[~mask[t]] == passed[~mask[t]]).all()
            dstate = before
        da = cell.end_backward(steps, dsteps, grads)
        found.append([steps.hs, cell.state(steps, T), da, dstate, grads.vector])
    for other in found:
        laws.assert_close(other, found[0], 0)


@each
@pytest.mark.parametrize("length", [1, 500])
def test_long_and_large_inputs_in_float32_agree_with_float64(rng, create, length):
    cell = create(rng, I, H, dtype=np.float64)
    xs = rng.standard_normal((length, B, I))
    xs[0] = 1e4                                                         # gates saturate
    xs[-1] = -1e4                                                       # nothing overflows
    single = cell.astype(np.float32)
    results = []
    for model, x in ((cell, xs), (single, xs.astype(np.float32))):
        ys, last, cache = model.forward(x)
        grads = model.zeros_like()
        dys = np.ones_like(ys)
        results.append((ys, model.backward(dys, None, cache, grads)[0], grads.vector))
    assert all(array.dtype == np.float32 for array in results[1])
    laws.assert_close(results[1], results[0], 2e-4)


@each
def test_invalid_arguments(rng, create):
    cell = create(rng, I, H, dtype=np.float64)
    xs = rng.standard_normal((T, B, I))
    mask = np.ones((T, B), bool)
    for args, error, message in (
            ((xs, None, mask.T), ValueError, "mask"),
            ((xs, None, mask * 1), TypeError, "boolean"),
            ((xs, cell.zero_state(B + 1)), ValueError, "state h")):
        with pytest.raises(error, match=message):
            cell.forward(*args)


# ---- a user-defined cell ----------------------------------------------------------------------


@dataclass(eq=False)
class Leaky(Cell):
    """h_t = (h_{t−1} + n) / 2 with n = tanh(a_t + h_{t−1} U), in plain NumPy, ignoring masks."""

    W: Array  # (I, H)
    U: Array  # (H, H)
    b: Array  # (H,)

    @classmethod
    def create(cls, rng, inputs, hidden, init=glorot, recurrent=orthogonal, dtype=np.float32):
        return cls(init(rng, (inputs, hidden), dtype), recurrent(rng, (hidden, hidden), dtype),
                   np.zeros(hidden, dtype))

    def _step(self, t, steps):
        h = steps.hs[t]
        steps.hs[t + 1] = (h + np.tanh(steps.a[t] + h @ self.U)) / 2

    def _step_backward(self, t, dy, dstate, steps, dsteps):
        dnext = dy + dstate
        n = 2 * steps.hs[t + 1] - steps.hs[t]
        dsteps.a[t] = dnext / 2 * (1 - n**2)
        return dnext / 2 + dsteps.a[t] @ self.U.T


@pytest.mark.parametrize("method, returns, message", [
    ("_step", lambda _: np.zeros((B, H)), r"returns a float64 array .*; expected None. Write"),
    ("_step_backward", lambda dh: (dh, dh), r"returns a tuple of length 2; expected the array"),
    ("_step_backward", lambda dh: None, r"returns None; .*\. End it with `return dh`$"),
    ("end_backward", lambda da: None, r"returns None; expected the array da \(T, B, G\)"),
    ("end_backward", lambda da: da[1:], r"^da \(T, B, G\) has shape"),
])
def test_invalid_result_of_a_cell_raises(rng, method, returns, message):
    def changed(self, *given):
        return returns(getattr(Leaky, method)(self, *given))

    cell = type("Wrong", (Leaky,), {method: changed})(*(
        np.ones(shape) for shape in ((I, H), (H, H), (H,))))
    with pytest.raises((TypeError, ValueError), match=message) as error:
        ys, _, cache = cell.forward(np.ones((T, B, I)))
        cell.backward(ys, None, cache, cell.zeros_like())
    assert error.value.place == (changed.__code__, changed.__code__.co_firstlineno + 1)


def test_state_may_be_returned_and_written(rng):
    class Returning(Leaky):
        def _step(self, t, steps):
            super()._step(t, steps)
            return steps.hs[t + 1], steps.a[t]

    cell = random_cell(rng, Returning.create)
    xs = rng.standard_normal((T, B, I))
    assert (cell.forward(xs)[0] == Leaky.forward(cell, xs)[0]).all()


def test_registered_cell_gets_gradient_checks(monkeypatch):
    monkeypatch.setitem(registry.CELLS, "leaky", Leaky)
    cases = runpy.run_path(checks.__file__)["CASES"]
    new = sorted(cases.keys() - checks.CASES.keys())
    assert new == ["Leaky", "Leaky decoder", "Leaky last state", "Leaky outputs"]
    for name in new:
        case = cases[name](np.random.default_rng(0), np.float64)
        report = gradcheck(case.target, *case.inputs, rng=np.random.default_rng(1),
                           forward=case.forward, backward=case.backward)
        assert {n for n, _ in case.target.named_parameters()} <= report.errors.keys()
        laws.backward_twice_doubles(case)
        laws.arguments_unchanged(case)
        laws.float32_agrees(cases[name])
