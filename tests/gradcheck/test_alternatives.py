"""Edits that the search for mistakes proposes for a statement or expression, by kind."""

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path

import numpy as np
import pytest

import numpy_attention
from numpy_attention.gradcheck.edits.candidates import Written, fits, lies_over, part_of
from numpy_attention.gradcheck.edits.editing import Editing
from numpy_attention.gradcheck.edits.forward import EditingForward
from numpy_attention.gradcheck.edits.repairs import KINDS
from numpy_attention.gradcheck.edits.variants import written
from numpy_attention.gradcheck.locate.rewriting import Declined


def given(dys, dstate, other, out):
    return out


def plain(self, dys, dstate, x, z, mask, memory, step, steps, length, grads):
    dh = np.zeros_like(dstate)
    dz = dys * x * x
    dmemory = dys + memory
    dmemory = dmemory + dz
    dk, dv = given(dz, 0, x, dys)
    db, dc = dz, dmemory
    given(dz, dh, x, dys)
    for dy, one in zip(dys, steps):
        dh = given(dy, one, x, dz.copy())
        grads.W += dh * x
    dw = (dz * x) - np.where(mask, dz, 0)
    dw[mask] = 0
    dw[:, 0] += dz[:, -1]
    dz += (dw + dh)[:, None]
    dq = dz.mean(1)
    dp = np.hstack([dz, dw])
    dx = np.stack(dp)
    db = dys[::-1]
    dc = (dw + dh) * z
    dc = dh + dw * z
    dc = dw * z + dh
    da = step["c"] * mask[:, None]
    da, dx = (dz * x for dz in (dz, dw))
    np.add.at(grads.E, steps, dz * self.rate)
    given(dz, grads.W, x, dys)
    given(dz, grads.W_1, grads.b_1, self.W_2)
    given(dz, grads.left, self.right, dys)
    dw += dz
    dh += dys
    da, db = dz[:, :length], dz[:, length:]
    dz[1:steps + 1] = dys[:steps]
    dv = dys[:, 0]
    return dx, (dz, dh), db, (dq, dc, da, dv)


FULL = (2, 3)
NAMES = {name: {FULL} for name in ("dys", "dstate", "x", "dh", "dz", "dw", "memory", "dmemory",
                                   "dk", "self.W", "dx", "dc", "do")}
NAMES |= {"dv": {(2,)}, "z": {(3,)}, "self.U": {(4, 3)}, "self.V": {(3, 3)}}


def normalized(code):
    """Return code as this Python version prints it: parentheses of tuples differ."""
    return written(ast.parse(code))


@pytest.fixture(scope="module")
def proposed():
    edits = Editing(plain, NAMES, {"mask": {FULL}}, {"length"}, Written([plain], [given])).edits
    return {(edit.kind, edit.old, edit.new) for edit in edits}


@pytest.mark.parametrize("kind, old, new", [
    # statements
    ("assigned", "dmemory = dmemory + dz", "dmemory += dz"),
    ("exchanged", "db, dc = (dz, dmemory)", "db, dc = (dmemory, dz)"),
    ("exchanged", "dk, dv = given(dz, 0, x, dys)", "dv, dk = given(dz, 0, x, dys)"),
    ("missing term", "given(dz, dh, x, dys)", "dx += given(dz, dh, x, dys)"),
    ("double", "grads.W += dh * x", "grads.W += dh * x"),
    ("axis", "dw[:, 0] += dz[:, -1]", "dw[:, -1] += dz[:, -1]"),
    ("axis", "dz += (dw + dh)[:, None]", "dz[:, 0] += dw + dh"),
    ("mask backward", "dw[mask] = 0", "dw[~mask] = 0"),
    ("exchanged", "dw += dz; dh += dys", "dw += dys; dh += dz"),
    ("exchanged", "da, db = (dz[:, :length], dz[:, length:])",
     "da, db = (dz[:, -length:], dz[:, :-length])"),
    ("missing term", "dz = dys * x * x", "dz = dys * x * x; dh += dz @ self.V.T"),
    ("missing term", "dz = dys * x * x", "dz = dys * x * x; dys += dz @ self.V.T"),
    ("axis", "dz[1:steps + 1] = dys[:steps]", "dz[:steps] = dys[:steps]"),
    ("axis", "dw[:, 0] += dz[:, -1]", "dw[:, 1] += dz[:, -1]"),
    # arguments
    ("output ignored", "np.zeros_like(dstate)", "dstate.copy()"),
    ("missing term", "np.zeros_like(dstate)", "dys.copy()"),
    ("missing term", "given(dz, 0, x, dys)", "given(dz, dh, x, dys)"),
    ("missing term", "given(dz, dh, x, dys)", "given(dz + dw, dh, x, dys)"),
    ("assigned", "dz.copy()", "dz"),
    ("exchanged", "given(dz, grads.W, x, dys)", "given(dz, grads.U, x, dys)"),
    ("exchanged", "given(dz, grads.W_1, grads.b_1, self.W_2)",
     "given(dz, grads.W_2, grads.b_2, self.W_2)"),
    ("exchanged", "given(dz, grads.left, self.right, dys)",
     "given(dz, grads.right, self.right, dys)"),
    ("sign", "np.add.at(grads.E, steps, dz * self.rate)",
     "np.add.at(grads.E, steps, -(dz * self.rate))"),
    ("mask backward", "np.add.at(grads.E, steps, dz * self.rate)",
     "np.add.at(grads.E, steps, mask * (dz * self.rate))"),
    ("factor", "self.rate", "1 - self.rate"),
    # order of steps and arguments
    ("wrong step", "zip(dys, steps)", "zip(dys[::-1], steps[::-1])"),
    ("wrong step", "zip(dys, steps)", "zip(dys[::-1], steps)"),
    ("wrong step", "np.stack(dp)", "np.stack(dp[::-1])"),
    ("wrong step", "dys[::-1]", "dys"),
    ("wrong step", "dys[:steps]", "dys[1:steps + 1]"),
    ("exchanged", "np.hstack([dz, dw])", "np.hstack([dw, dz])"),
    ("exchanged", "(dz, dh)", "(dh, dz)"),
    ("wrong variable", "(dz * x for dz in (dz, dw))", "(dh * x for dz in (dh, dw))"),
    # expressions
    ("wrong variable", "dys * x * x", "dys * memory * memory"),
    ("wrong variable", "x", "step['c']"),
    ("wrong variable", "x", "memory"),
    ("derivative", "x", "np.exp(x)"),
    ("jacobian", "dz.mean(1)", "(x * dz).sum(1)"),
    ("jacobian", "dz * x", "(dz * x).sum(1, keepdims=True)"),
    ("jacobian", "dz * x - np.where(mask, dz, 0)",
     "dz * x - np.where(mask, dz, 0) - (dz * x - np.where(mask, dz, 0)).mean(1, keepdims=True)"),
    ("axis", "dz[:, -1]", "dz.sum(1)"),
    ("factor", "dys * x * x", "dys * x * x * z"),
    ("factor", "dys * x * x", "dys * x * x / z"),
    ("factor", "dys * x * x", "dys * x * x * length"),
    ("factor", "dys * x * x", "dys * x * x / length"),
    ("wrong variable", "dys[:, 0]", "dv"),
    ("missing term", "dys * x * x", "dys * x * x + do @ self.V.T"),
    ("mask backward", "np.where(mask, dz, 0)", "np.where(~mask, dz, 0)"),
    ("mask backward", "step['c'] * mask[:, None]", "step['c'] * ~mask[:, None]"),
    ("double", "dh + dw * z", "dh"), ("double", "dw * z + dh", "dh"),
    ("extra term", "dh + dw * z", "dw * z"),
    ("extra term", "dys + memory", "dys"),
])
def test_proposed_edits(proposed, kind, old, new):
    assert (kind, normalized(old), normalized(new)) in proposed


@pytest.mark.parametrize("kind, old, new", [
    ("missing term", "given(dz, 0, x, dys)", "given(dz, 0, x + dw, dys)"),  # x is not a gradient
    ("missing term", "dys * x * x", "dys * x * x + do @ self.U.T"),             # wrong shape
    ("factor", "dys * x * x", "dys * x * x * memory"),                      # same number of axes
    ("jacobian", "dz.mean(1)", "(z * dz).sum(1)"),                              # wrong shape
    ("derivative", "dz", "np.exp(dz)"),
    ("factor", "self.W", "1 - self.W"),
    ("factor", "dys * x * x", "dys * x * x * mask"),
    ("missing term", "dz = dys * x * x", "dz = dys * x * x; dx += dz @ self.V.T"),  # undefined
    ("wrong step", "given(dz, dh, x, dys)", "given(dz[::-1], dh, x, dys)"),     # unknown name
    ("exchanged", "given(dz, grads.W, x, dys)", "given(dz, grads.W, x, dys)"),
])
def test_edits_that_are_not_proposed(proposed, kind, old, new):
    assert (kind, normalized(old), normalized(new)) not in proposed


def test_every_kind_of_edit_is_ranked(proposed):
    assert {kind for kind, _, _ in proposed} <= {*KINDS, "nudge"}


def test_returned_values_are_exchanged_only_in_the_function_itself():
    edits = Editing(plain, NAMES, {}, set(), Written([plain, given])).edits
    assert not any(edit.new.startswith("dv, dk") for edit in edits)
    assert any(edit.new == "given(dz[::-1], dh, x, dys)" for edit in edits)


def test_entries_of_dicts():
    """Include the keys of the dict that has the key being read, and of no other dict."""
    def forward(x, y):
        return [dict(c=x, q=y), {"c": x, "r": y}, dict(other=x)]

    def backward(one, more):
        return one["c"], more["s"]

    written = Written([backward], [forward])
    assert set(written.entries) == {"one['c']", "one['q']", "one['r']", "more['s']"}


@pytest.mark.parametrize("index, part", [
    ("t", (3, 4)), ("0", (3, 4)), (":, 0", (2, 4)), (":, :, 1", (2, 3)), ("1:", None),
    ("0, 1, 2, 3", None),
])
def test_shape_of_a_part(index, part):
    assert part_of((2, 3, 4), ast.parse(f"x[{index}]", mode="eval").body.slice) == part


def test_broadcasting_rules():
    assert lies_over((3,), (2, 3)) and not lies_over((2,), (2, 3))
    assert not lies_over((2, 3), (2, 3)) and not lies_over((), (2, 3))
    assert not lies_over((4, 3), (1, 2, 3))
    assert fits((2,), "[:, None]", (2, 3)) and not fits((2,), "", (2, 3))
    assert not fits((2,), "[:, :, None]", (2, 3)) and not fits((3, 2), "[t]", (1,))


# ---- edits of any code ---------------------------------------------------------------------------


def functions_of(module):
    parts = [module, *(one for one in vars(module).values() if inspect.isclass(one))]
    return [one for part in parts for one in vars(part).values()
            if inspect.isfunction(one) and one.__module__ == module.__name__]


@pytest.mark.parametrize("part, kind", [("layers", Editing), ("cells", EditingForward),
                                        ("models", Editing)])
def test_every_function_of_the_package_can_be_edited(part, kind):
    """Every edit has a place, and the edited function compiles."""
    edited = []
    for info in pkgutil.iter_modules([str(Path(numpy_attention.__file__).parent / part)]):
        module = importlib.import_module(f"numpy_attention.{part}.{info.name}")
        for function in functions_of(module)[:6]:
            names = {name: {FULL} for name in function.__code__.co_varnames}
            try:
                edits = kind(function, names, {"mask": {(2,)}}, set(), Written([function])).edits
            except Declined:
                continue
            for edit in edits[::20]:
                assert edit.place.line and edit.code() != function.__code__
            edited.append(function)
    assert len(edited) > 5
