"""Stages of a check: what is told of files that are not what they should be."""

import pytest

from numpy_attention.exercises.catalogue import EXERCISES
from numpy_attention.exercises.checking import check

LINEAR = EXERCISES["linear"]
BODY = LINEAR.source.body("Linear.backward")
BACK = "\n".join("        " + line if line else "" for line in BODY.splitlines())


def linear(body):
    """The exercise `linear` with another body of its backward."""
    lines = "\n".join(f"        {line}" for line in body.splitlines())
    return LINEAR.start.replace('        raise NotImplementedError("yours to write")', lines)


def verdict(text, folder, exercise=LINEAR):
    path = folder / "linear.py"
    path.write_text(text, encoding="utf-8")
    return check(exercise, path)


@pytest.mark.parametrize("text, stage, said", [
    ("", "runs", "the file is empty: numpy-attention exercise reset linear"),
    ("def (:\n", "runs", "line 1 is no Python"),
    ("x = 1\n", "runs", "Linear.backward is gone: it must keep its name"),
    (LINEAR.start, "runs", "Linear.backward is not written yet"),
    (LINEAR.solution.replace("def backward", "def back_ward"), "runs", "Linear.backward is gone"),
    ("import torch\n" + LINEAR.solution, "runs", "it imports torch: an exercise is written in"),
    (LINEAR.solution + "\nraise ValueError('no')\n", "runs", "stops with ValueError: no"),
    (linear("return 1 / 0"), "runs", "line 28 of linear.py, Linear.backward"),
    (LINEAR.solution.replace("return x @ self.W + self.b, x", "return None"), "returns",
     "forward gives nothing (None): has it a return?: expected 1 output and the cache"),
    (LINEAR.solution.replace("return x @ self.W + self.b, x", "return 'y', x"), "returns",
     "output[0] is 'y', of type str"),
    (LINEAR.solution.replace("return x @ self.W + self.b, x", "return (x @ self.W).T, x"),
     "shapes", "output[0] has shape (3, 5): expected (5, 3)"),
    (LINEAR.solution.replace("return x @ self.W + self.b, x", "x += 1\n        return x @ self.W "
                             "+ self.b, x"), "protocol", "x was changed"),
    (LINEAR.solution.replace("return x @ self.W + self.b, x", "return x @ self.W, x"), "values",
     "output[0]: 15 of 15 wrong; element"),
    (LINEAR.solution.replace("return x @ self.W + self.b, x", "return x @ self.W + np.nan, x"),
     "values", "output[0] is not finite: 15 of 15 elements are NaN or infinite"),
    (linear("x = cache\ngrad.W += x.T @ dy\ngrad.b += dy.sum(0)"), "returns", "nothing"),
    (linear("x = cache\ngrad.W += x.T @ dy\nreturn dy @ self.W.T"), "gradients",
     "wrong gradient for b; right: W, x"),
    (linear("x = cache\ngrad.W[...] = x.T @ dy\ngrad.b += dy.sum(0)\nreturn dy @ self.W.T"),
     "laws", "what they cannot see is broken"),
])
def test_the_first_stage_that_fails_is_told(text, stage, said, tmp_path):
    found = verdict(text, tmp_path)
    assert found.stage == stage, found.message
    assert said in found.message
    assert not found.passed


def test_a_pass_says_nothing(tmp_path):
    found = verdict(LINEAR.solution, tmp_path)
    assert (found.passed, found.stage, found.message, found.mistakes) == (True, "", "", [])


def test_what_is_not_known_is_not_guessed(tmp_path):
    text = LINEAR.solution.replace("grad.b += dy.sum(axis=0)",
                                   "grad.b += 0.7 * dy.sum(axis=0) + 0.1")
    found = verdict(text, tmp_path)
    assert found.stage == "gradients"
    assert found.mistakes == []


@pytest.mark.parametrize("body", [
    "return np.zeros_like(cache)",
    "return None",
    "pass",
    "return cache",
    "return dy",
    "grad.W += 0\nreturn np.zeros_like(cache)",
])
def test_half_done_files_do_not_pass(body, tmp_path):
    assert not verdict(linear(body), tmp_path).passed


def test_another_style_passes(tmp_path):
    found = verdict(linear("grad.W += np.einsum('bi,bo->io', cache, dy)\n"
                           "grad.b += np.einsum('bo->o', dy)\n"
                           "return np.einsum('bo,io->bi', dy, self.W)"), tmp_path)
    assert found.passed, found.message


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="does not exist"):
        check(LINEAR, tmp_path / "none.py")
