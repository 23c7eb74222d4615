"""Checks of exercises: the stages, and the messages about incorrect files."""

import ast
import cProfile
import sys

import pytest

from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.checking import check
from numpy_attention.course.exercises.given import Given, is_doubted, with_given
from numpy_attention.course.exercises.notebook import format_verdict

LINEAR = EXERCISES["linear"]
BODY = LINEAR.source.body("Linear.backward")
BACK = "\n".join("        " + line if line else "" for line in BODY.splitlines())


def linear(body):
    """Return the exercise `linear` with this body in its backward."""
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return LINEAR.start.replace('        raise NotImplementedError("yours to write")', lines)


def forward(line):
    """Return the solution of `linear` with this last line in its forward."""
    return LINEAR.solution.replace("return x @ self.W + self.b, x", line)


@pytest.mark.parametrize("text, stage, expected", [
    ("", "runs", "the file is empty; restore it with `numpy-attention exercise reset linear`"),
    ("def (:\n", "runs", "line 1 is not valid Python"),
    ("x = 1\n", "runs", "Linear.backward is missing; define it under this name"),
    (LINEAR.start, "runs", "Linear.backward is not implemented yet"),
    (LINEAR.solution.replace("def backward", "def other"), "runs", "Linear.backward is missing"),
    ("import torch\n" + LINEAR.solution, "runs", "your code imports torch; use only NumPy in"),
    (LINEAR.solution + "\nraise ValueError('no')\n", "runs", "ValueError: no"),
    (LINEAR.solution + "\nimport nosuch\n", "runs", "line 33 of linear.py"),
    (linear("return dy @ self.W"), "runs", "  shapes: dy (5, 3), self.W (4, 3)"),
    (forward("return x.T @ self.W + self.b, x"), "runs",
     "  shapes: x (5, 4), self.W (4, 3), self.b (3,)"),
    (linear("x = cache\ngrads.W += x.T @ dy\ngrads.b += dy.sum(0)\nreturn self.W @ dy.T"), "shapes",
     "the gradient of x has shape (4, 5) or (I, B); expected (5, 4) or (B, I)"),
    (forward("return None"), "returns",
     "forward returns None (is a return missing?); expected 1 output and the cache"),
    (forward("return (x @ self.W).T, x"), "shapes",
     "output[0] has shape (3, 5); expected (5, 3)"),
    (forward("x += 1\n        return x @ self.W + self.b, x"), "protocol", "x was changed"),
    (forward("return x @ self.W, x"), "values", "output[0]: 15 of 15 wrong. Element"),
    (forward("return x @ self.W + np.nan, x"), "values",
     "output[0] is not finite: 15 of 15 elements are NaN or infinite"),
    (linear("x = cache\ngrads.W += x.T @ dy\ngrads.b += dy.sum(0)\n"
            "return (dy @ self.W.T).astype(int)"), "returns",
     "backward returns an array of int64 for x; expected float gradients for x. Return one"),
    (linear("x = cache\ngrads.W += x.T @ dy\nreturn dy @ self.W.T"), "gradients",
     "wrong gradient for b; right: W, x"),
    (linear("x = cache\ngrads.W[...] = x.T @ dy\ngrads.b += dy.sum(0)\nreturn dy @ self.W.T"),
     "laws", "a law that they cannot test is broken"),
])
def test_first_failing_stage_is_reported(text, stage, expected, verdict):
    found = verdict(LINEAR, text)
    assert found.stage == stage, found.message
    assert expected in found.message
    assert not found.passed


def test_passing_verdict_is_empty(verdict):
    found = verdict(LINEAR, LINEAR.solution)
    assert (found.passed, found.stage, found.message, found.mistakes) == (True, "", "", [])


def changed_solution(name, *changes):
    """Return the solution of an exercise with these changes."""
    text = EXERCISES[name].solution
    for right, wrong in changes:
        assert text.count(right) == 1
        text = text.replace(right, wrong)
    return text


@pytest.mark.parametrize("name, change, expected", [
    ("adam", ("epsilon), m, v", "epsilon), 3 * m, v"),
     ["m (output[1]): 4 of 4 wrong", "  every element is 3 times the right one",
      "  right: output[0], v (output[2])"]),
    ("dot", ("return M @ s, (s, M)", "e = M @ s\n    e[0] += 1\n    return e, (s, M)"),
     ["output[0]: 1 of 6 wrong. Element [0] of (6,)"]),
    ("scaled-dot", ("return A @ v, A,", "A[1, 2:] = 0\n    return A @ v, A,"),
     ["output[0]: 14 of 56 wrong, all in [1, 2], [1, 3]. Element",
      "attention was given and has changed; is that intended?"]),
])
def test_messages_about_values(name, change, expected, verdict):
    found = verdict(EXERCISES[name], changed_solution(name, change))
    assert found.stage == "values"
    for one in expected:
        assert one in found.message


@pytest.mark.parametrize("line, change, note", [
    ("    dE = A * (dA", ("", ""),
     "  this line was given and is correct: its inputs are wrong, or its result is misused"),
    ("        grads.b_o += dy", ("dy.sum((0, 1))", "dy.mean((0, 1))"), None),
    ("        grads.b_o += dy", ("", ""), ", or before it"),     # the solution's own line
    ("    dE = A * (dA", ("dq = dE @ k * scale", "dq = dE @ k"),
     "attention_backward was given and has changed; is that intended?"),
])
def test_given_lines_are_marked(line, change, note):
    one = EXERCISES["multi-head"]
    text = one.solution.replace(*change)
    number = next(n for n, each in enumerate(text.splitlines(), 1) if each.startswith(line))
    message = f"first wrong: line {number} of mine.py, f\n{line}\n  a factor: `x`"
    lines = message.splitlines()
    if note and note.startswith(" "):
        lines.insert(2, note)
        lines[0] = lines[0].replace("first wrong:", "wrong values appear at")
    elif note and note.startswith(","):
        lines[0] = lines[0].replace("first wrong:", "first seen to be wrong in") + note
    elif note:
        lines.append(note)
    assert with_given(message, Given(one, ast.parse(text))).splitlines() == lines


OF_STEP = (
    '"""x (B, I), the previous h, c (B, H) → the new h and c, what the backward pass needs."""')


@pytest.mark.parametrize("note, doubted", [
    ("da should be ∂L/∂(a) of line 10", True),
    ("da should be ∂L/∂(a) of line 10; its inputs are right", False),
    ("W: 3 of 9 elements are wrong", True),
    ("the wrong sign: `h - n`", False),
    ("a term that is missing: `dx + dm`", False),
    ("a term that is missing: `self.norm.backward(dr, cache)`", True),  # the term may be inside dr
])
def test_is_doubted(note, doubted):
    assert is_doubted([f"  {note}"]) == doubted


@pytest.mark.parametrize("right, wrong, note", [
    (f"        {OF_STEP}\n", "", False),
    ("    return 1 / (1", '    """σ"""\n    return 1 / (1', False),
    ("    return 1 / (1", "    return 2 / (1", True),
])
def test_docstrings_of_given_code_may_change(right, wrong, note):
    exercise = EXERCISES["lstm"]
    assert exercise.start.count(right) == 1
    text = exercise.start.replace(right, wrong)
    expected = with_given("it is wrong", Given(exercise, ast.parse(text)))
    assert ("has changed" in expected) is note


@pytest.mark.parametrize("change, expected", [
    (("found[:width - len(ended)]", "found[:width]"),
     "width 2, longest 5, end 3: hypothesis [2] is (2, 1, 0, 1, 1), log p -3.987, right none"),
    (("    return ended", "    return ended[1:]"),
     "width 1, longest 4, end 3: hypothesis [0] is none, right (3), log p -0.0161"),
    (("    return ended", "    return None"),
     "beam returns None; expected a list of (words, log p)"),
])
def test_messages_about_hypotheses(change, expected, verdict):
    found = verdict(EXERCISES["beam"], changed_solution("beam", change))
    assert expected in found.message


@pytest.mark.parametrize("name, change, stage, expected", [
    ("beam", ("    return ended", "    return [(list(words), total) for words, total in ended]"),
     "runs", "words is a tuple of numbers"),
    ("reorder-states", ("return totals, ids,", "return totals, 1.0 * ids,"), "returns",
     "output[1] has dtype float64; expected integers"),
    ("reorder-states", ("B, k, V = log_p.shape", "B, k, V = log_p.shape\n    ids *= 2"),
     "protocol", "ids was changed"),
    ("kv-cache", ("keys, values\n", "keys, 2 * values\n"), "values", "values (output[2]): "),
    ("positional-encoding", ("angle = k", "angle = abs(k)"), "values",
     "turn(-2, 8): 8 of 64 wrong"),
    ("sampling-cut", ("np.argsort(-p)[:top_k]",
                      "np.argsort(-p)[:(p >= np.sort(p)[-min(top_k, len(p))]).sum()]"), "values",
     "three words have the second largest p: 4 words are kept, right 2"),
    ("sampling-cut", ("reached, top_p)", "reached, top_p, 'right')"), "values",
     "top_k 5, top_p 0.75: you kept 3 of 5 words, right 2; q["),
    ("scaled-dot", ("dA = dY @ v.swapaxes(-1, -2)", "dA = np.einsum('btv,bsv->bts', dY, v)"),
     "runs", "operand has more dimensions than subscripts"),
])
def test_cases_of_value_exercises(name, change, stage, expected, verdict):
    found = verdict(EXERCISES[name], changed_solution(name, change))
    assert found.stage == stage
    assert expected in found.message


def test_messages_about_a_planted_mistake(verdict):
    one = EXERCISES["find-in-masks"]
    found = verdict(one, one.start)
    assert "h: 10 of 15 elements, all in [1], [2];" in found.message
    for right, wrong, expected in (("hs[t].T", "hs[t + 1].T", "44: it was correct"),
                                   ("t - 1", "t - 2", "39: it was the wrong one, and is still")):
        found = verdict(one, one.start.replace(right, wrong))
        assert f"you changed line {expected}" in found.message


def test_changed_argument_breaks_the_protocol(verdict):
    text = changed_solution("bptt", ("dh = dh + dys[t]", "dh += dys[t]"))
    assert verdict(EXERCISES["bptt"], text).stage == "protocol"


def test_check_keeps_an_active_profiler(verdict):
    """The check itself traces calls, which would conflict with the profiler."""
    with cProfile.Profile() as profiler:
        found = verdict(LINEAR, LINEAR.solution.replace("dy @ self.W.T", "dy @ self.W.T * 2"))
        active = sys.getprofile()
    assert active is profiler
    assert found.stage == "gradients"
    assert "a factor" in found.message


def test_check_keeps_an_active_tracer(verdict):
    def tracer(frame, event, _):
        return tracer

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        found = verdict(LINEAR, LINEAR.solution.replace("dy @ self.W.T", "dy @ self.W.T * 2"))
        active = sys.gettrace()
    finally:
        sys.settrace(before)
    assert active is tracer
    assert found.stage == "gradients"


@pytest.mark.parametrize("name, changes, found, never", [
    ("encoder-layer", [("dy = dsum + self", "dr = self"),
                       ("backward(dy, normed_1", "backward(dr, normed_1")],
     "residual connection past the feed-forward", "first"),
    ("fixed-vector", [("        da_0 = ds * (1 - states[0]**2)\n", ""), ("c.T @ da_0", "c.T @ ds"),
                      ("da_0 @ self", "ds @ self")], "something is missing in line 60", "probably"),
    ("multi-head", [("        shares = dweights[:, None] / self.heads\n", ""),
                    ("(dparts, shares", "(dparts, dweights[:, None]")],
     "you left out 1/h", "first"),
    ("kv-cache", [("k = x @ W_k", "kept = x @ W_q"), ("[keys, k[", "[keys, kept[")],
     "kept the query as a key", "keys = np"),
    ("causal-mask", [("visible = seen & real[:, None]", "mask = real[:, None]"),
                     ("np.where(visible", "np.where(mask")],
     "you left out the triangle", "np.where"),
    ("sampling-cut", [("    q /= q.sum()\n", "")], "something is missing in cut", "line 2"),
    ("dropout", [("return x * scale, scale",
                  "y = np.where(keep, x / (1 - p), 0)\n    return y, (y, p)"),
                 ("scale = cache", "y, p = cache"),
                 ("dy * scale", "np.where(y != 0, dy / (1 - p), 0)")],
     "mask back from y", "size 1"),
])
def test_correct_lines_are_not_blamed(name, changes, found, never, verdict):
    one = EXERCISES[name]
    failed = verdict(one, changed_solution(name, *changes))
    for why in (False, True):
        report = "\n".join(format_verdict(one, failed, why))
        assert found in report
        assert never not in report and "block" not in report


def test_missing_gradient_is_reported(verdict):
    found = verdict(LINEAR, linear("x = cache\ngrads.W += x.T @ dy\nreturn 1.7 * dy @ self.W.T"))
    assert found.mistakes == ["grads.b stays 0: you did not add its gradient"]


def test_unknown_mistake_is_not_guessed(verdict):
    text = LINEAR.solution.replace("grads.b += dy.sum(axis=0)",
                                   "grads.b += 0.7 * dy.sum(axis=0) + 0.1")
    found = verdict(LINEAR, text)
    assert found.stage == "gradients"
    assert found.mistakes == []


def test_missing_file_raises(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        check(LINEAR, tmp_path / "none.py")


def test_verdict_records_whether_the_line_is_proven(verdict):
    for body, proven in (("x = cache\ngrads.W += 2 * x.T @ dy\ngrads.b += dy.sum(0)\n"
                          "return dy @ self.W.T", True),
                         ("x = cache\ngrads.W += x.T @ dy\ngrads.b[:] = dy.sum(0)\n"
                          "return dy @ self.W.T", True),
                         ("x = cache\ngrads.W += np.cos(x.T @ dy)\ngrads.b += np.cos(dy.sum(0))\n"
                          "return np.cos(dy @ self.W.T)", False)):
        assert verdict(LINEAR, linear(body)).proven is proven
