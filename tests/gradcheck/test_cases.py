"""Gradient checks and laws for every layer, cell, attention and model of the package."""

import laws
import numpy as np
import pytest

from numpy_attention.gradcheck import TOLERANCE, GradientError
from numpy_attention.gradcheck.cases import CASES, CHECKS

each = pytest.mark.parametrize("name", CASES)


@each
def test_gradients(name):
    report = CHECKS[name](np.random.default_rng(0))
    assert report.title == name and 0 <= report.worst < TOLERANCE
    case = CASES[name](np.random.default_rng(0), np.float64)
    # no parameter is left out
    assert {n for n, _ in case.target.named_parameters()} <= report.errors.keys()


@each
def test_backward_twice_doubles(name):
    laws.backward_twice_doubles(CASES[name](np.random.default_rng(1), np.float64))


@each
def test_arguments_unchanged(name):
    laws.arguments_unchanged(CASES[name](np.random.default_rng(2), np.float64))


@each
def test_float32_agrees(name):
    laws.float32_agrees(CASES[name])


@each
def test_no_gradient_is_zero_everywhere(name):
    """Every parameter and input has a nonzero gradient: zeros would prove nothing."""
    case = CASES[name](np.random.default_rng(0), np.float64)
    *_, grads, dinputs = laws.run(case)
    for part, array in list(grads.named_parameters()) + list(laws.leaves(dinputs, "input")):
        # forward ends before the output layer
        unused = part.startswith("output.") and not name.endswith("loss")
        assert array.size == 0 or array.any() or unused, part


def test_the_laws_can_fail(rng):
    case = CASES["Linear"](rng, np.float64)
    correct = case.backward

    def overwrites_dy(dy, cache, grads):
        dx = correct(dy, cache, grads)
        dy *= 2
        return dx

    def forgets_to_add(dy, cache, grads):
        dx = correct(dy, cache, grads)
        grads.b[:] = dy.sum((0, 1))
        return dx

    case.backward = overwrites_dy
    with pytest.raises(AssertionError, match="backward changed upstream"):
        laws.arguments_unchanged(case)
    case.backward = forgets_to_add
    with pytest.raises(AssertionError, match="grads"):
        laws.backward_twice_doubles(case)
    case.backward = lambda dy, cache, grads: (correct(dy, cache, grads), dy)
    with pytest.raises(AssertionError, match="view of upstream"):
        laws.arguments_unchanged(case)


def test_planted_bug_fails_its_check(rng, monkeypatch):
    from numpy_attention.cells.gru import GRU
    end = GRU.end_backward

    def forgets_the_last_step(self, steps, dsteps, grads):
        dsteps.u[-1] = 0
        return end(self, steps, dsteps, grads)

    monkeypatch.setattr(GRU, "end_backward", forgets_the_last_step)
    with pytest.raises(GradientError, match="wrong gradient for U"):
        CHECKS["GRU after old"](rng)
