"""Exercises in a notebook or a script: functions instead of a file."""

import linecache
from pathlib import Path

import numpy as np
import pytest

from numpy_attention.course.exercises import notebook
from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.checking import check as checked
from numpy_attention.course.exercises.notebook import check

DOCS = Path(__file__).parents[3] / "docs"


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    """Avoid a separate process, which takes a second per check; tests/integration starts some."""
    monkeypatch.setattr(notebook, "checked",
                        lambda exercise, path, seconds: (checked(exercise, path), ""))


def softmax_backward(dalpha, cache, grads):
    return cache * (dalpha - np.einsum("bs,bs->b", cache, dalpha)[:, None])


def test_correct_function_passes(capsys):
    assert check("softmax", softmax_backward).passed
    assert capsys.readouterr().out == "softmax: passed\n"


def test_known_mistake_is_reported(capsys):
    def softmax_backward(dalpha, cache, grads):
        return cache * dalpha
    found = check("softmax", softmax_backward)
    assert found.stage == "gradients"
    assert "only the first term of the Jacobian diag(α) − α αᵀ" in capsys.readouterr().out


@pytest.mark.parametrize("wrong, named", [("cache * dalpha", True),
                                          ("cache * dalpha - 0.3 * cache**2", False)])
def test_report_has_at_most_six_lines(capsys, tmp_path, wrong, named):
    file = tmp_path / "mine.py"
    file.write_text(f"def softmax_backward(dalpha, cache, grads):\n    return {wrong}\n")
    names = {}
    exec(compile(file.read_text(), str(file), "exec"), names)
    check("softmax", names["softmax_backward"])
    brief = capsys.readouterr().out.splitlines()
    assert len(brief) <= 6
    where = "it is probably in line" if named else "first seen to be wrong in line"
    assert any(line.startswith(where) for line in brief)
    assert ("your numbers match a known mistake:" in brief) == named
    assert "; --why prints the evidence" in brief[-1]
    check("softmax", names["softmax_backward"], why=True)
    whole = capsys.readouterr().out.splitlines()
    assert len(whole) > len(brief) and any("found" in line for line in whole)


def test_broken_law_is_reported_first(capsys):
    def softmax_backward(dalpha, cache, grads):
        dalpha -= (cache * dalpha).sum(axis=1, keepdims=True)
        return cache * dalpha
    check("softmax", softmax_backward)
    assert "changes dalpha in place" in capsys.readouterr().out.splitlines()[1]


def test_example_in_the_documentation(tmp_path, capsys):
    text = (DOCS / "exercises.md").read_text(encoding="utf-8")
    example = text.partition("```python\n")[2].partition("```")[0]
    cell = tmp_path / "cell.py"
    cell.write_text(example)
    exec(compile(example, str(cell), "exec"), {})
    out = capsys.readouterr().out
    assert "softmax: ✓ runs ✓ returns ✓ shapes ✓ protocol ✓ values ✗ gradients" in out
    assert "only the first term of the Jacobian diag(α) − α αᵀ" in out


def test_class_defined_in_a_cell(capsys):
    """The class is not in a file, like everything defined in a notebook."""
    text = EXERCISES["linear"].solution
    names = {"__name__": "__main__"}
    linecache.cache["<cell>"] = len(text), None, text.splitlines(keepends=True), "<cell>"
    exec(compile(text, "<cell>", "exec"), names)
    check("linear", names["Linear"])
    assert capsys.readouterr().out == "linear: passed\n"


def test_invalid_arguments():
    names = {}
    exec("def softmax_backward(dalpha, cache, grads): return dalpha", names)
    for given, error, message in (
            (("softmax",), ValueError, "softmax: got no function; expected softmax_backward"),
            (("softmax", checked), ValueError, "got check"),
            (("softmax", names["softmax_backward"]), TypeError, "has no readable source"),
            (("linear", type("Linear", (), {})), TypeError, "has no readable source"),
            (("sofmax", softmax_backward), ValueError, "did you mean softmax")):
        with pytest.raises(error, match=message):
            check(*given)
