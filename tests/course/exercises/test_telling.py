"""Exercises in a notebook, or a script: functions in place of a file."""

import linecache
from pathlib import Path

import numpy as np
import pytest

from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.telling import check


def softmax_backward(dalpha, cache, grads):
    return cache * (dalpha - np.einsum("bs,bs->b", cache, dalpha)[:, None])


def test_a_function_is_checked(capsys):
    assert check("softmax", softmax_backward).passed
    assert capsys.readouterr().out == "softmax: passed\n"


def test_a_wrong_one_is_named(capsys):
    def softmax_backward(dalpha, cache, grads):
        return cache * dalpha
    found = check("softmax", softmax_backward)
    assert found.stage == "gradients"
    assert "the softmax's Jacobian is not diagonal" in capsys.readouterr().out


@pytest.mark.parametrize("mine, error, said", [
    ((), ValueError, "softmax is checked with softmax_backward: given nothing"),
    ((test_a_function_is_checked,), ValueError, "given test_a_function_is_checked"),
])
def test_what_is_refused(mine, error, said):
    with pytest.raises(error, match=said):
        check("softmax", *mine)


def test_the_example_of_the_documentation_does_what_it_says(tmp_path, monkeypatch, capsys):
    text = (Path(__file__).parents[2] / "docs" / "exercises.md").read_text(encoding="utf-8")
    example = text.partition("```python\n")[2].partition("```")[0]
    cell = tmp_path / "cell.py"
    cell.write_text(example)
    names = {}
    exec(compile(example, str(cell), "exec"), names)
    out = capsys.readouterr().out
    assert "softmax: ✓ runs ✓ returns ✓ shapes ✓ protocol ✓ values ✗ gradients" in out
    assert "the softmax's Jacobian is not diagonal" in out


@pytest.mark.parametrize("change, said", [
    (("", ""), "linear: passed\n"),
    (("dy @ self.W.T", "2 * dy @ self.W.T"), "  a factor"),
])
def test_a_class_of_a_cell_is_checked(change, said, capsys):
    """It stands in no file; so does all that is defined in a notebook."""
    text = EXERCISES["linear"].solution.replace(*change)
    names = {"__name__": "__main__"}
    linecache.cache["<cell>"] = len(text), None, text.splitlines(keepends=True), "<cell>"
    exec(compile(text, "<cell>", "exec"), names)
    check("linear", names["Linear"])
    assert said in capsys.readouterr().out


def test_a_class_without_a_source():
    with pytest.raises(TypeError, match="has no source that could be read"):
        check("linear", type("Linear", (), {}))


def test_an_unknown_exercise():
    with pytest.raises(ValueError, match="did you mean softmax"):
        check("sofmax", softmax_backward)


def test_a_function_without_a_source():
    names = {}
    exec("def softmax_backward(dalpha, cache, grads): return dalpha", names)
    with pytest.raises(TypeError, match="has no source that could be read"):
        check("softmax", names["softmax_backward"])
