"""Gradients that are wrong because of the forward: the line and the kind of mistake."""

import exam
import numpy as np
import pytest
from planted import MISTAKES, failure

from numpy_attention.gradcheck import gradcheck
from numpy_attention.gradcheck.check import Check
from numpy_attention.gradcheck.edits.candidates import Written
from numpy_attention.gradcheck.edits.forward import EditingForward, ForwardRepairs, norm


def softmax(e):
    p = np.exp(e - e.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def backward(dc, cache, _):
    x, e, p = cache
    dp = dc[:, None] * x
    de = p * (dp - (p * dp).sum(1, keepdims=True))
    return 2 * e * de + p * dc[:, None]


def right(x):
    e = x
    p = softmax(e**2)
    return (p * x).sum(1), (x, e, p)


def wrong_axis(x):
    e = x
    q = np.exp(e**2)
    p = q / q.sum(0, keepdims=True)
    return (p * x).sum(1), (x, e, p)


def test_correct_forward_passes():
    x = np.random.default_rng(0).standard_normal((3, 4))
    gradcheck(None, x, rng=np.random.default_rng(1), forward=right, backward=backward)


@pytest.mark.parametrize("name, words", [
    ("dot: masked scores of 0", "the backward would be correct if this line were changed"),
    ("key_value: a step reads itself", "the check passes if this line is changed"),
    ("scaled_dot: queries masked for keys", "correct forward. The first NaN comes from "),
    ("scaled_dot: np.dot in three dimensions", "the wrong product: `np.dot("),
    ("scaled_dot: one key too many is visible", "np.tril(np.ones((T, T), bool), 1)"),
])
def test_line_of_the_forward_is_named(name, words):
    answer = exam.answer_of(failure(name))
    assert answer.line_of(MISTAKES[name]) == "right", answer.message
    assert words in answer.message


# ---- proposed edits -----------------------------------------------------------------------------


def proposed_for(function, names, masks):
    edits = EditingForward(function, names, masks, set(), Written([function])).edits
    return {(edit.kind, edit.old, edit.new) for edit in edits}


def plain(x, h, mask, out):
    e = x + h
    e[~mask] = -1e9
    seen = np.ones((3, 4), bool)
    p = np.where(mask, e, 0)
    h *= p
    y = np.tanh(p, out=out)
    steps = []
    steps.append(y)
    z = e[:, 0] * mask[:, 0]
    a = np.exp(e - e.max(1))
    return y.sum(1), dict(p=p, z=z, seen=seen, a=a)


NAMES = {name: {(3, 4)} for name in ("x", "h", "e", "p", "y")}


@pytest.fixture(scope="module")
def proposed():
    return proposed_for(plain, NAMES, {"mask": {(3, 4)}})


@pytest.mark.parametrize("edit", [
    ("mask forward", "x + h", "np.where(mask, x + h, -np.inf)"),
    ("mask forward", "x + h", "np.where(mask, x + h, h)"),
    ("mask forward", "x + h", "mask * (x + h)"),
    ("mask forward", "e[~mask] = -1000000000.0", "e[~mask] = -np.inf"),
    ("mask forward", "e[~mask] = -1000000000.0", "e[mask] = -1000000000.0"),
    ("mask forward", "np.where(mask, e, 0)", "np.where(mask, e, -np.inf)"),
    ("mask forward", "np.where(mask, e, 0)", "np.where(mask, e, h)"),
    ("mask forward", "np.where(mask, e, 0)", "np.where(~mask, e, 0)"),
    ("mask forward", "np.ones((3, 4), bool)", "np.tril(np.ones((3, 4), bool))"),
    ("mask forward", "mask[:, 0]", "mask[:, None]"),
    ("buffer", "h *= p", "h = h * p"),
    ("buffer", "np.tanh(p, out=out)", "np.tanh(p)"),
    ("sign", "x + h", "x - h"),
    ("axis", "y.sum(1)", "y.sum(0)"),
    ("cache", "p", "e"),
])
def test_proposed_edits(proposed, edit):
    assert edit in proposed


@pytest.mark.parametrize("edit", [
    ("extra term", "x + h", "x"),                   # a backward without h would pass
    ("factor", "e[:, 0] * mask[:, 0]", "e[:, 0]"),
    ("axis", "y.sum(1)", "y"),
    ("mask forward", "np.where(mask, e, 0)", "e"),
    ("mask forward", "np.where(mask, e, 0)", "np.where(mask, e, e)"),
    ("exchanged", "steps.append(y)", "steps.insert(0, y)"),
    ("mask forward", "-1000000000.0", "np.where(mask, -1000000000.0, -np.inf)"),
])
def test_edits_that_are_not_proposed(proposed, edit):
    assert edit not in proposed


def test_every_kind_of_edit_is_ranked(proposed):
    assert {kind for kind, _, _ in proposed} <= {*ForwardRepairs.kinds, "nudge"}


# ---- trying edits -------------------------------------------------------------------------------


def repairs_of(forward, laws=()):
    x = np.random.default_rng(0).standard_normal((3, 4))
    check = Check(None, [x], forward, backward, "softmax")
    check.draw(np.random.default_rng(1))
    return ForwardRepairs(check, [forward], laws)


def test_edit_that_agrees_with_the_backward():
    repairs = repairs_of(wrong_axis)
    good = [edit for edit in repairs.edits if edit.new == "q.sum(1, keepdims=True)"]
    assert repairs.tried(good[0]) == (True, True)
    assert repairs.tried(None) == (False, False)


def test_edit_must_satisfy_the_broken_laws():
    repairs = repairs_of(wrong_axis, [lambda check: ["broken"]])
    good = [edit for edit in repairs.edits if edit.new == "q.sum(1, keepdims=True)"]
    assert repairs.tried(good[0]) == (True, False)
    assert repairs.best(repairs.kinds) is good[0]
    assert repairs.best(repairs.kinds, keep_laws=True) is None


def test_budget_and_remembered_edits():
    repairs = repairs_of(wrong_axis)
    repairs.budget.left = 0
    assert repairs.best(repairs.kinds) is None
    repairs.budget.left = 1000
    found = repairs.best(repairs.kinds)
    left = repairs.budget.left
    assert found is not None and left < 1000
    repairs.budget.left = 0
    assert repairs.best(repairs.kinds) is found


def test_only_the_given_kinds_are_tried():
    repairs = repairs_of(wrong_axis)
    assert repairs.best(("shape",)) is None
    assert repairs.best(("axis",)).kind == "axis"


def test_edit_that_removes_the_gradient_is_rejected():
    """If the output is constant, a gradient of 0 is correct everywhere."""
    repairs = repairs_of(right)
    repairs.size *= 1000
    assert not repairs.tried(None)[0]
    repairs.size /= 1000
    assert repairs.tried(None) == (True, True)


def test_inputs_are_restored():
    repairs = repairs_of(wrong_axis)
    before = {name: array.copy() for name, array in repairs.variables.items()}
    for edit in repairs.edits:
        repairs.tried(edit)
    for name, array in before.items():
        np.testing.assert_array_equal(repairs.variables[name], array)


def test_directions_have_unit_norm():
    assert all(np.isclose(norm(one), 1) for one in repairs_of(right).directions)
