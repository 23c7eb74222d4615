"""Gradient checks of notebook cells, whose source is only in linecache, under a made-up name."""

import linecache
import sys
from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from numpy_attention.gradcheck import GradientError, gradcheck
from numpy_attention.gradcheck.locate.rewriting import is_user_code
from numpy_attention.gradcheck.report.notebooks import file_label

RIGHT = '''from dataclasses import dataclass
import numpy as np
from numpy_attention.module import Array, Module

@dataclass(eq=False)
class Tanh(Module):
    w: Array

    def forward(self, x):
        a = x @ self.w
        y = np.tanh(a)
        return y, (x, y)

    def backward(self, dy, cache, grads):
        x, y = cache
        da = dy * (1 - y * y)
        grads.w += x.T @ da
        return da @ self.w.T
'''
WRONG = RIGHT.replace("1 - y * y", "1 - y")
STOPS = RIGHT.replace("x, y = cache", "x, y = cache[0]")
KERNEL = "/tmp/ipykernel_31/2958331.py"
SHELL = "<ipython-input-4-1c0ffee>"
STALE = "Tanh.backward differs from the source in its file; import it again"


@pytest.fixture
def run():
    """Run the text of a cell in a namespace under a file name, as a notebook does."""
    names = []

    def run_cell(space, text, name=KERNEL):
        names.append(name)
        lines(name, text)
        exec(compile(text, name, "exec"), space)
    yield run_cell
    for name in names:
        linecache.cache.pop(name, None)


def lines(name, text):
    linecache.cache[name] = len(text), None, text.splitlines(True), name


def notebook():
    return {"__name__": "__main__"}


def check(space):
    rng = np.random.default_rng(0)
    layer = space["Tanh"](rng.standard_normal((3, 4)))
    return gradcheck(layer, rng.standard_normal((5, 3)), rng=rng, forward=layer.forward,
                     backward=layer.backward)


def report(space):
    with pytest.raises(GradientError) as caught:
        check(space)
    return caught.value.report


# ---- findings in a cell --------------------------------------------------------------------------


@pytest.mark.parametrize("name, label", [(KERNEL, "a cell"), (SHELL, "cell In[4]")])
def test_line_of_a_cell_is_named(name, label, run):
    run(space := notebook(), WRONG, name)
    text = str(report(space)).splitlines()
    assert text[:4] == [
        "Tanh: wrong gradient for w, input[0]; no gradient is correct",
        f"first wrong: line 16 of {label}, Tanh.backward",
        "    da = dy * (1 - y)",
        "  da should be ∂L/∂(a) of line 10; its inputs are right"]


def test_correct_cell_passes(run):
    run(space := notebook(), RIGHT)
    assert list(check(space).errors) == ["w", "input[0]"]


def test_cell_that_raises(run):
    run(space := notebook(), STOPS)
    text = str(report(space))
    assert "raises ValueError at line 15 of a cell, Tanh.backward: " in text
    assert "x, y = cache[0]" in text


def test_statements_of_a_cell_are_compiled_separately(run):
    """np.tanh(a) compiles to other code if the import of np is in another compilation unit."""
    imports, _, of_class = WRONG.partition("\n@dataclass")
    run(space := notebook(), imports)
    run(space, "\n" * imports.count("\n") + "\n@dataclass" + of_class)
    lines(KERNEL, WRONG)
    found = report(space)
    assert found.declined == {} and found.findings[0].of.line == 10


@pytest.mark.parametrize("again", [KERNEL, KERNEL.replace("31.py", "77.py")])
def test_corrected_cell_is_checked_again(again, run):
    run(space := notebook(), WRONG)
    report(space)
    run(space, RIGHT, again)
    check(space)
    run(space, RIGHT.replace("x.T @ da", "2 * x.T @ da"), again)
    found = report(space)
    assert found.wrong == ["w"] and found.findings[0].place.line == 17


# ---- missing or outdated source ------------------------------------------------------------------


def test_code_without_source_still_reports_gradients():
    exec(WRONG, space := notebook())
    found = report(space)
    assert found.wrong == ["w", "input[0]"] and not found.findings
    assert found.declined == {f"Tanh.{name}": f"Tanh.{name} has no readable source"
                              for name in ("forward", "backward")}
    assert str(found).splitlines()[1:] == [
        "  w: 12 of 12 elements are wrong; element [0, 1] of (3, 4): found -2.8595924, right "
        "-0.75393286",
        "  no kind of mistake is recognized: go through the lines of forward in reverse, and "
        "derive one dX for every X",
        "  not traced: Tanh.forward has no readable source"]


def test_skipped_functions_are_only_in_the_full_report(run):
    exec("def doubled(x):\n    return 2 * x", space := notebook())
    run(space, WRONG.replace("da = dy", "da = 2 * dy").replace("x @ self.w", "doubled(x @ self.w)"))
    found = report(space)
    assert found.findings[0].place.line == 16 and "not traced" not in str(found)
    assert "\nnot traced: doubled has no readable source\n" in found.full


def test_generated_dataclass_methods_are_ignored(run):
    kept = "\n@dataclass\nclass Kept:\n    x: Array\n    y: Array\n"
    run(space := notebook(), WRONG.replace("return y, (x, y)", "return y, Kept(x, y)").replace(
        "x, y = cache", "x, y = cache.x, cache.y") + kept)
    found = report(space)
    assert found.findings[0].place.line == 16 and found.declined == {}


def test_frozen_modules_are_not_user_code():
    assert not is_user_code(Sequence.__contains__.__code__)
    assert is_user_code(test_frozen_modules_are_not_user_code.__code__)


@pytest.mark.parametrize("now", [
    RIGHT,
    WRONG.replace("1 - y", "2 - y"),
    WRONG.replace("1 - y", "1 - x"),
    WRONG.replace("da = dy", "de = dy"),
    WRONG.replace("    x, y = cache", "    x, b = cache; y = b"),
    WRONG.replace("def backward(self, dy", "def back(self, dy"),
    "\n" + WRONG,
])
def test_changed_source_is_detected(now, run):
    run(space := notebook(), WRONG)
    lines(KERNEL, now)
    found = report(space)
    assert found.declined["Tanh.backward"] in (STALE, "Tanh.backward is not defined with def",
                                               "Tanh.backward has no readable source")
    assert not any(one.place.function == "Tanh.backward" for one in found.findings)


def test_invalid_source_is_detected(run):
    run(space := notebook(), WRONG)
    lines(KERNEL, WRONG + "\n)")
    assert report(space).declined["Tanh.backward"] == STALE


def test_changed_assertions_are_tolerated(run):
    asserts = WRONG.replace("x, y = cache", "x, y = cache; assert len(x)")
    run(space := notebook(), asserts)
    lines(KERNEL, asserts.replace("len(x)", "len(x) > 0"))
    assert report(space).findings[0].place.line == 16


# ---- labels of files -----------------------------------------------------------------------------


@pytest.mark.parametrize("file, label", [
    ("/home/me/mine.py", "mine.py"),
    ("/home/ipykernel/mine.py", "mine.py"),
    ("/tmp/ipykernel_31/2958331.py", "a cell"),
    ("<ipython-input-12-1c0ffee>", "cell In[12]"),
    ("/tmp/ipython-input-7-1c0ffee.py", "cell In[7]"),
    ("/tmp/ipython-input-2958331.py", "a cell"),
    ("<stdin>", "<stdin>"),
])
def test_file_label(file, label):
    assert file_label(file) == label


def test_cell_number_from_ipython(monkeypatch):
    cells = {KERNEL: ("Cell", "In[7]")}
    shell = SimpleNamespace(compile=SimpleNamespace(format_code_name=cells.get))
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    assert file_label(KERNEL) == "cell In[7]"
    assert file_label(SHELL) == "cell In[4]" and file_label("mine.py") == "mine.py"


def test_imported_but_inactive_ipython(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: None))
    assert file_label(KERNEL) == "a cell"
