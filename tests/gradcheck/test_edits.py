"""Edits of a backward pass: which are proposed, what they change, and the one that repairs it."""

import numpy as np
import pytest

from numpy_attention.gradcheck.edits.alternatives import NUDGE
from numpy_attention.gradcheck.edits.candidates import Written
from numpy_attention.gradcheck.edits.editing import Editing
from numpy_attention.gradcheck.edits.repairs import Copying, Repairs, editable


def plain(dy, x, W):
    dx = dy @ W
    dW = dy.T @ x
    return dx, dW


def edits_of(function, names=None, masks=None):
    return Editing(function, names or {}, masks or {}, set(), Written([function])).edits


def replacements(edits, kind):
    return [edit.new for edit in edits if edit.kind == kind]


def test_every_line_has_edits():
    first = plain.__code__.co_firstlineno
    edits = edits_of(plain)
    assert {edit.place.line for edit in edits} == {first + 1, first + 2, first + 3}
    assert {edit.place.function for edit in edits} == {"plain"}


@pytest.mark.parametrize("kind, new", [
    ("transpose", "dy @ W.T"), ("transpose", "dy.T @ W"), ("transpose", "W @ dy"),
    ("transpose", "dy"), ("sign", "-(dy @ W)"), ("batch sum", "(dy @ W).sum(0)"),
    ("factor", "2 * (dy @ W)"), ("assigned", "dx += dy @ W"), ("exchanged", "(dW, dx)"),
])
def test_proposed_edits(kind, new):
    assert new in replacements(edits_of(plain), kind)


def test_names_of_the_same_shape_are_exchanged():
    names = {"dy": {(2, 3)}, "x": {(2, 3)}, "W": {(3, 3)}}
    proposed = [(edit.old, edit.new) for edit in edits_of(plain, names)
                if edit.kind == "wrong variable"]
    assert ("x", "dy") in proposed and ("x", "W") not in proposed


def test_masks_are_proposed_if_there_is_one():
    edits = edits_of(plain, {"dx": {(2, 3)}}, {"keep": {(2,)}})
    assert "keep[:, None] * (dy @ W)" in replacements(edits, "mask backward")
    assert "~keep[:, None] * (dy @ W)" in replacements(edits, "mask backward")
    assert not replacements(edits_of(plain), "mask backward")


def test_masks_are_proposed_only_where_they_fit():
    proposed = replacements(edits_of(plain, {"dx": {(4, 3)}, "dW": {(9, 9)}}, {"keep": {(4, 3)}}),
                            "mask backward")
    assert "keep * (dy @ W)" in proposed and "keep[:, None] * (dy @ W)" not in proposed
    assert "keep * (dy.T @ x)" not in proposed


def numbers(a, b):
    c = a - b
    c += a.sum(0)
    d = np.where(c > 0, a, 0)
    e = np.einsum("ij,ij->i", c, d)
    dz = np.empty(3)
    for t in range(1, 3):
        dz[t] = e[t - 1]
    return (1 - c) ** 2, dz


@pytest.mark.parametrize("kind, old, new", [
    ("sign", "a - b", "b - a"), ("axis", "a.sum(0)", "a.sum(1)"),
    ("factor", "a.sum(0)", "a.mean(0)"),
    ("double", "c += a.sum(0)", ""), ("mask backward", "np.where(c > 0, a, 0)",
                                      "np.where(c > 0, 0, a)"),
    ("axis", "np.einsum('ij,ij->i', c, d)", "np.einsum('ij,ii->i', c, d)"),
    ("unwritten", "np.empty(3)", "np.zeros(3)"), ("wrong step", "range(1, 3)", "range(0, 3)"),
    ("wrong step", "e[t - 1]", "e[t]"), ("derivative", "(1 - c) ** 2", "1 - c ** 2"),
    ("assigned", "dz[t] = e[t - 1]", "dz[t] += e[t - 1]"),
])
def test_edits_describe_their_change(kind, old, new):
    assert (kind, old, new) in [(edit.kind, edit.old, edit.new) for edit in edits_of(numbers)]


def without_return(dy, x):
    dx = dy * x
    dx *= 2


def test_missing_return_is_proposed():
    assert replacements(edits_of(without_return), "no return") == ["return dx"]


# ---- trying edits -------------------------------------------------------------------------------


def backward(dy, x):
    return dy - 2 * x


def compiled(x):
    return x


compiled.py_func = compiled


def calls_compiled(dy, x):
    return compiled(dy)


def repairs_of(function=backward):
    x = np.array([1.0, 3.0])
    return Repairs([function], [], lambda: {"x": function(np.ones(2), x)},
                   lambda found: [] if np.allclose(found.get("x", 0), 1 + 2 * x) else ["x"],
                   {"x": x})


def test_correct_edit_is_found():
    repairs = repairs_of()
    chosen = repairs.elsewhere(set(), ["x"], repairs.reach())
    edit = repairs.first(chosen, ["x"])
    assert (edit.kind, edit.old, edit.new) == ("sign", "dy - 2 * x", "dy + 2 * x")
    assert edit.place.line == backward.__code__.co_firstlineno + 1
    assert all(one.kind != NUDGE for one in chosen)


@pytest.mark.parametrize("spent", [{"left": 0}, {"until": -np.inf}])
def test_no_edit_is_tried_without_budget_or_time(spent):
    repairs = repairs_of()
    vars(repairs.budget).update(spent)
    assert repairs.first(repairs.elsewhere(set(), ["x"], {}), ["x"]) is None


def test_budget_counts_edits_and_skips_known_failures():
    repairs = repairs_of()
    chosen = repairs.elsewhere(set(), ["x"], repairs.reach())
    before = repairs.budget.left
    repairs.first(chosen, ["x"])
    needed = before - repairs.budget.left
    assert 0 < needed <= len(chosen)
    short = repairs_of()
    short.budget.left = needed - 1
    assert short.first(chosen, ["x"]) is None and short.budget.left == 0
    assert short.first(chosen[:needed - 1], ["x"]) is None      # failed edits are remembered
    short.budget.left = 1
    assert short.first(chosen, ["x"]) is not None


def test_correct_and_unrelated_lines_are_skipped():
    repairs = repairs_of()
    line = backward.__code__.co_filename, backward.__code__.co_firstlineno + 1
    assert repairs.reach() == {line: {"x"}}
    assert repairs.elsewhere({line}, ["x"], {}) == []
    assert repairs.elsewhere(set(), ["x", "y"], {line: {"x"}}) == []
    assert repairs.elsewhere(set(), ["x"], {line: {"x", "y"}}) != []


def test_functions_and_inputs_are_restored():
    repairs = repairs_of()
    code = backward.__code__
    for one in repairs.edits:
        repairs.gradients_with(one)
        np.testing.assert_array_equal(repairs.variables["x"], [1.0, 3.0])
    assert backward.__code__ is code


def test_package_code_and_callers_of_compiled_code_are_not_edited():
    from numpy_attention.layers.linear import Linear
    assert editable([backward]) == [backward]
    assert editable([backward, calls_compiled]) == []
    assert editable([Linear.backward, backward]) == [backward]


def test_copying_listener():
    x = np.ones(2)
    assert Copying(3).moved(x, 2) is x and Copying(3).used(7, 3) == 7
    copy = Copying(3).moved(x, 3)
    assert copy is not x and (copy == x).all()
