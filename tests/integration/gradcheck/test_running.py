"""Gradient checks of user-defined code: a class of each kind, and what cannot be checked."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from custom_files import (
    CELL,
    FORWARD,
    MINE,
    PAST,
    PRODUCT,
    READ,
    READ_BACKWARD,
    SHORT_STEP,
    changed,
    in_score,
    scaled,
    written,
)

from numpy_attention.custom import processes
from numpy_attention.custom.code import read
from numpy_attention.gradcheck import GradientError, gradcheck, running
from numpy_attention.gradcheck.cases.custom import ONE_SIZE
from numpy_attention.gradcheck.running import FAILED, LEFT, PASSED, STOPPED

LAYERS = '''
from dataclasses import dataclass

import numpy as np

from numpy_attention.gradcheck import protocol
from numpy_attention.initializers import glorot
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class Square(Module):
    w: Array  # (I, O)

    @classmethod
    def create(cls, rng, inputs, outputs, init=glorot, dtype=np.float32):
        return cls(init(rng, (inputs, outputs), dtype))

    def forward(self, x):
        return (x @ self.w)**2, x

    def backward(self, dy, x, grads):
        da = 2 * dy * (x @ self.w)
        grads.w += np.tensordot(x, da, ((0, 1), (0, 1)))
        return da @ self.w.T


@dataclass(eq=False)
class Sine(Module):
    def forward(self, x):
        return np.sin(x), x

    def backward(self, dy, x, grads):
        return dy * np.cos(x)


class Deep(Square):
    @classmethod
    def create(cls, rng, inputs, depth):
        pass


class First(Square):
    @classmethod
    def create(cls, rng, depth, outputs):
        pass


class Two(Sine):
    def forward(self, x, y):
        return x * y, (x, y)


class Text(LanguageModel):
    pass


class Pairs(LuongTranslator):
    pass


class Odd(LanguageModel):
    @classmethod
    def create(cls, rng, vocabulary, colour):
        pass


def case(rng):
    layer = Sine()
    return layer, (rng.standard_normal((3, 4)),), layer.forward, layer.backward


def case_of_a_number(rng):
    return 3


def case_of_arrays(rng):
    layer = Sine()
    return layer, rng.standard_normal((3, 4)), layer.forward, layer.backward
'''


def here(name, tmp_path, seed="0"):
    """The status of a check, made in this process."""
    return running.child(str(name), seed, "600", str(tmp_path / "place"))


def error_of(name, tmp_path):
    """The error of a check that cannot be made, in one line."""
    assert here(name, tmp_path) == STOPPED
    return (tmp_path / "place").read_text()


def checked(capsys):
    """{what was checked: the words of its line}."""
    lines = capsys.readouterr().out.splitlines()[1:]
    return {line[:line.index("  ")]: line.split() for line in lines if "e-" in line}


@pytest.mark.parametrize("text, found", [
    (MINE, ["Mine", "Mine local-m", "Mine local-p"]),
    (PAST, ["Past"]),
    (PRODUCT, ["Product"]),
    (CELL, [f"MinimalGatedUnit{what}" for what in ("", " outputs", " last state", " decoder")]),
])
def test_a_class_of_each_kind(text, found, tmp_path, capsys):
    assert here(written(tmp_path, text), tmp_path) == PASSED
    assert list(checked(capsys)) == found


@pytest.mark.parametrize("name", ["Square", "Sine", "Text", "Pairs", "case"])
def test_layers_models_and_cases(name, tmp_path, capsys):
    assert here(f"{written(tmp_path, LAYERS)}:{name}", tmp_path) == PASSED
    assert list(checked(capsys)) == [name]


def test_a_file_with_a_case_is_checked_by_it(tmp_path, capsys):
    text = LAYERS[:LAYERS.index("def case_of_a_number")]
    assert here(written(tmp_path, text), tmp_path) == PASSED
    assert list(checked(capsys)) == ["case"]


def test_the_seed_draws_the_numbers(tmp_path, capsys):
    path = written(tmp_path, PAST)
    errors = []
    for seed in "001":
        assert here(path, tmp_path, seed) == PASSED
        errors.append(checked(capsys)["Past"])
    assert errors[0] == errors[1] != errors[2]


@pytest.mark.parametrize("name, message", [
    ("Deep", "Deep requires depth, whose value cannot be guessed; write a function case(rng)"),
    ("Two", "Two.forward requires y in addition to its input, and the value cannot be guessed"),
    ("Odd", "Odd requires colour, whose value cannot be guessed; write a function case(rng)"),
    ("case_of_a_number", "case_of_a_number returns values of type int; expected (target, "),
    ("None", "mine.py does not define 'None': it defines Square"),
])
def test_what_cannot_be_guessed(name, message, tmp_path):
    assert message in error_of(f"{written(tmp_path, LAYERS)}:{name}", tmp_path)


@pytest.mark.parametrize("text, message", [
    (in_score("raise SystemExit(0)"), "line 22 of mine.py, in Mine.score: SystemExit: 0"),
    (in_score("query = query * np.nan"),
     "or correct forward. The first NaN comes from line 22 of mine.py, Mine.score"),
    (changed("query @ self.W\n", "query @ self.W * np.inf\n"),
     "The first inf comes from line 22 of mine.py, Mine.score"),
    (changed("return dot_scores(p, memory)", "return np.nan * dot_scores(p, memory)"),
     "The first NaN comes after line 23 of mine.py, Mine.score"),
    (changed("(1 - f) * h + f * n\n", "(1 - f) * h + np.nan\n", CELL),
     "The first NaN comes from line 57 of mine.py, MinimalGatedUnit._step"),
    (changed("value_size), dtype)", "value_size), np.float32)"),
     "line 19 of mine.py, in Mine.create: W is float32; expected float64. `create` must"),
    (changed("value_size), dtype)", "value_size), dtype) / np.sqrt(3)"),
     "line 19 of mine.py, in Mine.create: W is float64; expected float32. `create` must"),
])
def test_code_that_cannot_be_checked(text, message, tmp_path, capsys):
    assert message in error_of(written(tmp_path, text, "mine.py"), tmp_path)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("text, line", [
    (changed("query_size != key_size", "query_size < 1", PRODUCT), "e = np.matmul(queries."),
    (changed("p = query @ self.W\n", "p = query\n"), "return dot_scores(p, memory), (query, p)"),
])
def test_a_score_that_only_works_with_one_size(text, line, tmp_path, capsys):
    assert here(written(tmp_path, text), tmp_path) == FAILED
    lines = capsys.readouterr().out.splitlines()
    at = next(number for number, one in enumerate(lines) if "forward raises " in one)
    assert lines[at + 1].strip().startswith(line)
    assert lines[at + 2] == f"  {ONE_SIZE}"


def test_a_score_that_stops_otherwise(tmp_path, capsys):
    assert here(written(tmp_path, in_score("raise KeyError('x')")), tmp_path) == FAILED
    out = capsys.readouterr().out
    assert " raises " in out and ONE_SIZE not in out


@pytest.mark.parametrize("old, new, where, message", [
    ("query, dp)", "dp, query)", "29 of mine.py, Mine.score_backward", "defer('W', x, dy)"),
    ('"W", query', '"V", query', "29 of mine.py, Mine.score_backward", "defer: 'V' is not a matr"),
    ("memory), (query, p)", "memory)", "23 of mine.py, Mine.score", "score() returns a float64 "),
    ("memory), (query, p)", "memory)[0], p", "23 of mine.py, Mine.score",
     "scores (B, S) has shape (6,); expected (3, 6)"),
    ("dot_scores(p, memory),", "list(p),", "23 of mine.py, Mine.score", "scores is a list"),
    ("self, query, memory", "self, query", "21 of mine.py, Mine.score",
     "Mine.score() takes 2 positional arguments but 3 were given"),
    ("return dp @", "dp @", "30 of mine.py, Mine.score_backward",
     "score_backward() returns None; expected the array dquery (B, Q). End it with `return dqu"),
    ("dp @ self.W.T\n", "dp @ self.W.T\n" + SHORT_STEP, "33 of mine.py, Mine.step",
     "step() returns a tuple of length 2; expected the tuple (context, weights, cache)"),
    ("dp @ self.W.T\n", "dp @ self.W.T\n" + READ, "33 of mine.py, Mine.read",
     "read() returns None; expected a Memory. End it with `return memory`"),
    ("dp @ self.W.T\n", "dp @ self.W.T\n" + READ_BACKWARD, "33 of mine.py, Mine.read_backward",
     "dvalues (B, S, D) has shape (6, 9); expected (3, 6, 9)"),
    ("self.W.T", "self.W.T, None", "30 of mine.py, Mine.score_backward",
     "score_backward() returns a tuple of length 2; expected the array dquery (B, Q)"),
    ("query, p = cache", "query, p = cache\n        if query.any(): return query[0]",
     "25 of mine.py, Mine.score_backward", "dquery (B, Q) has shape (10,); expected (3, Q)"),
])
def test_a_mistake_that_surfaces_in_the_package(old, new, where, message, tmp_path, capsys):
    path = written(tmp_path, changed(old, new))
    assert here(path, tmp_path) == FAILED
    assert f" at line {where}: {message}" in capsys.readouterr().out
    rng = np.random.default_rng(0)
    layer = read(path).found("Mine").create(rng, 10, 9, dtype=float)
    with pytest.raises(GradientError, match=where):
        gradcheck(layer, np.ones((4, 3, 10)), rng.standard_normal((3, 6, 9)), rng=rng)


@pytest.mark.parametrize("text, line, message", [
    (changed("return dh + da_f @", "dh + da_f @", CELL), "dh + da_f @ U_f.T",
     "_step_backward() returns None; expected the array dh (B, H). End it with `return dh`"),
    (changed("da_f @ U_f.T", "ds, ds", CELL), "return dh + ds, ds",
     "_step_backward() returns a tuple of length 2; expected the array dh (B, H)"),
    (changed("steps.hs[t + 1] =", "return", CELL), "return (1 - f) * h + f * n",
     "_step() returns a float64 array of shape (3, 5); expected None. Write the state to steps"),
    (changed("        return dsteps.a\n", "", CELL), "dU_n += as_rows(steps.s).T @ da_n",
     "end_backward() returns None; expected the array da (T, B, G)"),
    (CELL + FORWARD, "return (ys, ys), state, cache", "ys is a tuple; expected a NumPy"),
    (changed("return dp @ self.W.T, ", "return dp; dp, ", PAST), "return dp; dp, np.matmul("
     "by_row.transpose(0, 2, 1), p.transpose(1, 0, 2))",
     "score_backward() returns a float64 array of shape (4, 3, 9); expected the tuple (dque"),
    (PAST.replace("e, (queries, keys, p)", "e", 1), "return e", "score() returns a float64 "),
])
def test_other_kinds_of_classes(text, line, message, tmp_path, capsys):
    assert here(written(tmp_path, text), tmp_path) == FAILED
    assert message in (out := capsys.readouterr().out) and f"    {line}\n" in out


def test_a_wrong_gradient_ends_it_with_the_first(tmp_path, capsys):
    path = written(tmp_path, changed("return dp @ self.W.T", "return 2 * dp @ self.W.T"))
    assert here(path, tmp_path) == FAILED
    out = capsys.readouterr().out
    assert out.count("FAILED") == 1 and "wrong gradient for input[0]" in out
    assert out.endswith("\n0 of 3 passed, 2 not checked\n")


def test_a_float_field_that_forward_uses_is_reported_once(tmp_path, capfd):
    assert running.check_in_process(str(written(tmp_path, scaled(1.5))), 0, 600) == 0
    err = capfd.readouterr().err
    assert err.startswith("numpy-attention: beta (line 16) is a float that forward computes with. ")
    assert len(err.splitlines()) == 1


# ---- processes ----------------------------------------------------------------------------------


def test_what_it_starts_is_ended_too(tmp_path):
    marker = tmp_path / "late"
    late = f"import time; time.sleep(1); open({str(marker)!r}, 'w')"
    command = [sys.executable, "-c", f"import subprocess, sys; print(subprocess.Popen("
               f"[sys.executable, '-c', {late!r}]).pid)"]
    assert processes.ended(command, 60) == 0
    processes.ended([sys.executable, "-c", "import time; time.sleep(1.5)"], 60)
    assert not marker.exists()


def test_one_that_does_not_end_is_ended():
    assert processes.ended([sys.executable, "-c", "while True: pass"], 0.5) == -9


def test_where_a_trace_was(tmp_path):
    trace = ('Timeout (0:00:01)!\nThread 0x1 (most recent call first):\n'
             '  File "/x/base.py", line 3 in step\n  File "/x/mine.py", line 7 in score\n'
             '  File "/x/mine.py", line 9 in <module>\n')
    assert processes.where(trace, tmp_path / "mine.py") == ", in line 7 of mine.py, in score"
    assert processes.where(trace, tmp_path / "other.py") == ""
    assert processes.where("", SimpleNamespace(name="mine.py")) == ""


def test_a_reader_that_leaves(tmp_path, monkeypatch):
    def left(*_, **__):
        raise BrokenPipeError
    monkeypatch.setattr(running, "show_checks", left)
    assert here(written(tmp_path), tmp_path) == LEFT
