"""Stepping through a reference implementation: steps, marks of changed values, input, numbers."""

import io
import sys

import numpy as np
import pytest
from small_lessons import HEAD, LINES, PLAIN, STEPS, USE, reference_for

from numpy_attention.course.trace import stepping
from numpy_attention.course.trace.recording import UNWRITTEN
from numpy_attention.course.trace.stepping import differs, go, numbers_of, texts_of


@pytest.fixture
def plain(tmp_path):
    return reference_for(tmp_path, HEAD, PLAIN, USE)


def heads(reference):
    return [text.splitlines()[0] for text in texts_of(reference)]


def rows(text):
    """Return {name: (mark, state)} for the arrays of a step; the last entry of a name counts."""
    lines = [line for line in text.splitlines()[1:] if line[:1] in "* " and line[1:2] == " "
             and line[2:3].strip()]
    return {line[2:].split(" (")[0]: (line[0], line.split("  ")[1]) for line in lines}


def test_step_is_one_pass_of_the_loop(plain):
    assert heads(plain) == [
        *(f"── Plain, forward: step {n} of 3, for x in xs ({n - 1}) ──" for n in (1, 2, 3)),
        *(f"── Plain, backward: step {n} of 3, for t in reversed(range(len(xs))) ({3 - n}) ──"
          for n in (1, 2, 3))]


def test_arrays_of_a_step_have_values_and_lines(plain):
    first, second = list(texts_of(plain))[:2]
    lines = PLAIN[:PLAIN.index("h = np.tanh")].count("\n") + HEAD.count("\n") + 1
    hs, _ = plain.forward[0].again()
    place = f"{lines}: h = np.tanh(x + self.w * h)\n      "
    assert f"* h (2,)  changed in 1 of 2   {place}[     0  {hs[0][1]:.4g}*]" in first
    assert f"* h (2,)  changed   {place}[{hs[1][0]:.4g} {hs[1][1]:.4g}]" in second
    assert rows(first) == {"xs": ("*", "new"), "h": ("*", "changed in 1 of 2"),
                           "x": ("*", "new")}
    assert rows(second) == {"x": ("*", "changed"), "h": ("*", "changed")}


def test_only_changed_values_are_marked(plain):
    backward = list(texts_of(plain))[3:]
    assert "dxs[t] (2,)  new" in backward[0] and "dxs[t] (2,)  changed" in backward[1]
    assert rows(backward[0])["dxs"] == ("*", "new")
    text = stepping.numbers_of(np.array([1.0, 2, 3]), np.array([False, True, False]))
    assert text == "[1  2* 3 ]"


def test_without_a_loop_a_step_is_a_line(tmp_path):
    found = reference_for(tmp_path, HEAD, LINES)
    start = (HEAD + LINES[:LINES.index("    e = X @ q")]).count("\n") + 1
    assert heads(found)[:2] == [
        f"── attend, forward: step {n} of 3, line {start + n - 1} ──" for n in (1, 2)]
    second = list(texts_of(found))[1]
    assert "softmax: a (3,)  new" in second and "alpha (3,)  new" in second
    assert "[0.4223 0.4223 0.1554]" in second


def test_calls_from_outside_are_steps(tmp_path):
    assert [head.partition(": ")[2] for head in heads(reference_for(tmp_path, HEAD, STEPS))] == [
        "step 1 of 3, call 1 of 3, Attention.read ──",
        "step 2 of 3, call 2 of 3, Attention.step ──",
        "step 3 of 3, call 3 of 3, Attention.step ──",
        "step 1 of 3, call 1 of 3, Attention.step_backward ──",
        "step 2 of 3, call 2 of 3, Attention.step_backward ──",
        "step 3 of 3, call 3 of 3, Attention.read_backward ──"]


# ---- input from the user ------------------------------------------------------------------------


def test_all_steps_are_printed_without_a_terminal(plain, capsys, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.StringIO("q\n"))
    go(plain)
    assert capsys.readouterr().out.count("── Plain") == 6
    go(plain, 2)
    assert capsys.readouterr().out.count("── Plain") == 2


@pytest.mark.parametrize("typed, count", [("", 1), ("\n", 2), ("\n\nq\n", 3), ("Quit\n", 1),
                                          ("\n" * 9, 6)])
def test_enter_continues_and_q_ends(typed, count, plain, capsys, monkeypatch):
    terminal = io.StringIO(typed)
    monkeypatch.setattr(terminal, "isatty", lambda: True, raising=False)
    monkeypatch.setattr(sys, "stdin", terminal)
    go(plain)
    out = capsys.readouterr().out
    assert out.count("── Plain") == count and "Enter: on, q: end" in out


# ---- numbers ------------------------------------------------------------------------------------


def test_differs():
    assert differs(np.array([1, np.nan, 2]), np.array([1, np.nan, 3])).tolist() == [0, 0, 1]
    assert differs(np.ones(2), None).all() and differs(np.ones(2), np.ones(3)).all()
    assert not differs(np.array([True]), np.array([True])).any()


def test_unwritten_values_are_printed_as_dots():
    array = np.empty(2)
    array.view(np.uint64)[:] = UNWRITTEN[8]
    array[0] = 0.5
    assert numbers_of(array, np.zeros(2, bool)) == "[0.5   ·]"


def test_large_arrays_are_abbreviated():
    text = numbers_of(np.arange(1000.0), np.zeros(1000, bool))
    assert "..." in text and len(text) < 100
    assert numbers_of(np.array([1, 2]), np.zeros(2, bool)) == "[1 2]"
    assert numbers_of(np.array(0.25), np.zeros((), bool)).strip() == "0.25"
