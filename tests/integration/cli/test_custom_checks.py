"""gradcheck FILE.py:CLASS: a class by its kind, and code that does not come to an end."""

import sys
from types import SimpleNamespace

import pytest
from cli_runs import told
from custom_files import CELL, MINE, PAST, PRODUCT, changed, in_score, written

from numpy_attention.gradcheck.cases.custom import ONE_SIZE
from numpy_attention.cli import custom_checks
from numpy_attention.cli.main import main

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
    return custom_checks.child(str(name), seed, "600", str(tmp_path / "place"))


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
    assert here(written(tmp_path, text), tmp_path) == 40
    assert list(checked(capsys)) == found


@pytest.mark.parametrize("name", ["Square", "Sine", "Text", "Pairs", "case"])
def test_layers_models_and_cases(name, tmp_path, capsys):
    assert here(f"{written(tmp_path, LAYERS)}:{name}", tmp_path) == 40
    assert list(checked(capsys)) == [name]


def test_a_file_with_a_case_is_checked_by_it(tmp_path, capsys):
    text = LAYERS[:LAYERS.index("def case_of_a_number")]
    assert here(written(tmp_path, text), tmp_path) == 40
    assert list(checked(capsys)) == ["case"]


def test_the_seed_draws_the_numbers(tmp_path, capsys):
    path = written(tmp_path, PAST)
    errors = []
    for seed in "001":
        assert here(path, tmp_path, seed) == 40
        errors.append(checked(capsys)["Past"])
    assert errors[0] == errors[1] != errors[2]


@pytest.mark.parametrize("name, message", [
    ("Deep", "Deep asks for depth, which cannot be guessed: write case(rng), which gives (target,"),
    ("First", "First asks for depth, which cannot be guessed"),
    ("Two", "Two.forward takes y beside its input, which cannot be guessed: write case(rng)"),
    ("Odd", "Odd asks for colour, which cannot be guessed: write case(rng)"),
    ("case_of_a_number", "case_of_a_number gives int, expected (target, inputs, forward, "),
    ("case_of_arrays", "case_of_arrays gives tuple, expected (target, inputs, forward, backward)"),
    ("None", "mine.py has no 'None': it has Square, Sine"),
    ("glorot", "mine.py:glorot is not a class: expected one of Square, Sine"),
])
def test_what_cannot_be_guessed_is_told(name, message, tmp_path, capsys):
    assert here(f"{written(tmp_path, LAYERS)}:{name}", tmp_path) == 42
    error = capsys.readouterr().err
    assert error.startswith("numpy-attention: error: ") and message in error
    assert error.count("\n") == 1


@pytest.mark.parametrize("line, message", [
    ("raise SystemExit(0)", "line 22 of mine.py, in score: SystemExit: 0"),
    ("query = query * np.nan", "the outputs are not finite"),
])
def test_code_that_cannot_be_checked(line, message, tmp_path, capsys):
    assert here(written(tmp_path, in_score(line)), tmp_path) == 42
    out, error = capsys.readouterr()
    assert out == "" and error.count("\n") == 1 and message in error


@pytest.mark.parametrize("old, new, message", [
    ('later("W", query, dp)', 'later("W", dp, query)', "xᵀ dy for W has shape (9, 10), expected "
     "(10, 9): give later('W', x, dy) the factors of y = x W"),
    ('later("W", query, dp)', 'later("V", query, dp)', "something waits by the name 'V', and Mi"),
    ("return dp @", "dmemory.values = None; dmemory.pending = None\n        return dp @",
     "mine.py: AttributeError: 'NoneType' object has no attribute 'get'\n"),
])
def test_an_error_that_comes_later_than_its_line(old, new, message, tmp_path, capsys):
    text = changed(old, new)
    assert here(written(tmp_path, text, "mine.py"), tmp_path) == 42
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("returned, what", [
    ("dot_scores(p, memory)", "a ndarray"),
    ("dot_scores(p, memory), query, p", "a tuple"),
    ("[dot_scores(p, memory), (query, p)]", "a list"),
])
def test_a_score_that_gives_no_pair(returned, what, tmp_path, capsys):
    text = changed("return dot_scores(p, memory), (query, p)", f"return {returned}")
    assert here(written(tmp_path, text), tmp_path) == 42
    assert f"error: Mine.score gives {what}, expected a pair: " in capsys.readouterr().err


@pytest.mark.parametrize("text, line", [
    (changed("query_size != key_size", "query_size < 1", PRODUCT), "e = np.matmul(queries."),
    (changed("p = query @ self.W\n", "p = query\n"), "return dot_scores(p, memory), (query, p)"),
])
def test_a_score_that_takes_one_size_without_a_word(text, line, tmp_path, capsys):
    assert here(written(tmp_path, text), tmp_path) == 41
    told = capsys.readouterr().out.splitlines()
    at = next(number for number, one in enumerate(told) if "forward stops in line" in one)
    assert told[at + 1].strip().startswith(line)
    assert told[at + 2] == f"  {ONE_SIZE}" and "let create raise a ValueError" in ONE_SIZE


@pytest.mark.parametrize("text", [
    in_score("raise KeyError('x')"), changed("queries @ self.W\n", "queries @ self.W.T\n", PAST),
    changed("by_row = dscores.", "by_row = cache.", PRODUCT),
])
def test_a_score_that_stops_otherwise(text, tmp_path, capsys):
    assert here(written(tmp_path, text), tmp_path) == 41
    out = capsys.readouterr().out
    assert "stops in line" in out and ONE_SIZE not in out


def test_a_factor_of_another_shape_is_told_with_its_line(tmp_path, capsys):
    text = changed("sum_of_values(dscores, memory)", "dscores @ memory.values")
    assert here(written(tmp_path, text), tmp_path) == 41
    out = capsys.readouterr().out
    assert "backward stops in line 29 of mine.py, Mine.score_backward, with ValueError: " in out
    assert "factor 2 of W (B, size) has shape (3, 3, 9), expected (3, any): later takes the" in out


@pytest.mark.parametrize("returned, message", [
    ("None", "dstate h (B, H) is None, expected a NumPy array"),
    ("dh[:2]", "dstate h (B, H) has shape (2, 5), expected (3, 5)"),
])
def test_a_cell_that_gives_no_state_s_gradient(returned, message, tmp_path, capsys):
    assert CELL.count("return dh + da_f @ U_f.T") == 1
    text = CELL.replace("return dh + da_f @ U_f.T", f"return {returned}")
    assert here(written(tmp_path, text), tmp_path) == 42
    out, error = capsys.readouterr()
    assert f"error: MinimalGatedUnit._step_backward's {message}" in error
    assert out == "" and error.count("\n") == 1


def test_a_create_that_forgets_its_dtype(tmp_path, capsys):
    path = written(tmp_path, changed("value_size), dtype)", "value_size), np.float32)"))
    assert here(path, tmp_path) == 42
    assert "Mine: W is float32, and float64 was asked for" in capsys.readouterr().err


def test_a_wrong_gradient_ends_it_with_the_first(tmp_path, capsys):
    path = written(tmp_path, changed("return dp @ self.W.T", "return 2 * dp @ self.W.T"))
    assert here(path, tmp_path) == 41
    out = capsys.readouterr().out
    assert out.count("FAILED") == 1 and "wrong gradient for input[0]" in out
    assert out.endswith("\n0 of 3 passed, 2 not checked\n")


# ---- in a process of its own ---------------------------------------------------------------------


def test_a_class_from_the_shell(tmp_path, capfd, monkeypatch):
    """In a folder where other files are called as Python's own."""
    monkeypatch.chdir(tmp_path)
    for name in ("random.py", "copy.py", "numpy.py"):
        written(tmp_path, "1 / 0", name)
    path = str(written(tmp_path, PAST))
    assert main(["gradcheck", f"{path}:Past"]) == 0
    assert capfd.readouterr().out.endswith("\n1 of 1 passed\n")


def test_all_that_is_known_of_a_class_from_the_shell(tmp_path, capfd):
    name = f"{written(tmp_path, changed('return dp @ self.W.T', 'return dp @ self.W.T * 2'))}:Mine"
    assert main(["gradcheck", name]) == 1
    short = capfd.readouterr().out.splitlines()
    assert main(["gradcheck", name, "--full"]) == 1
    full = capfd.readouterr().out.splitlines()
    assert full[:len(short) - 1] == short[:-1] and full[-1] == short[-1]
    assert "right with `dp @ self.W.T`" in full[len(short) - 1]
    assert "input[0], central differences:" in full and "input[0], backward:" in full


@pytest.mark.parametrize("text, where", [
    (in_score("while True: query = query + 0"), ", in line 22 of mine.py, in score"),
    (MINE + "while True: pass\n", f", in line {len(MINE.splitlines()) + 1} of mine.py"),
])
def test_an_endless_loop(text, where, tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    written(tmp_path, text)
    before = sorted(tmp_path.iterdir())
    assert told(capfd, "gradcheck", "mine.py:Mine", "--seconds", "2.5") == (
        f"numpy-attention: error: mine.py:Mine took longer than 2.5 seconds and was ended{where}; "
        "give more with --seconds, if it is no endless loop\n")
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("line, how", [
    ("import os; os._exit(0)", "exit status 0"),
    ("import os; os._exit(1)", "exit status 1"),
    ("import os; os.kill(os.getpid(), 9)", "signal 9"),
])
def test_code_that_ends_its_process(line, how, tmp_path, capfd):
    error = told(capfd, "gradcheck", str(written(tmp_path, line)))
    assert f"mine.py has ended its process, with {how}: nothing was checked\n" in error


def test_what_it_starts_is_ended_too(tmp_path):
    marker = tmp_path / "late"
    late = f"import time; time.sleep(1); open({str(marker)!r}, 'w')"
    command = [sys.executable, "-c", f"import subprocess, sys; print(subprocess.Popen("
               f"[sys.executable, '-c', {late!r}]).pid)"]
    assert custom_checks.ended(command, 60) == 0
    custom_checks.ended([sys.executable, "-c", "import time; time.sleep(1.5)"], 60)
    assert not marker.exists()


def test_one_that_does_not_end_is_ended():
    assert custom_checks.ended([sys.executable, "-c", "while True: pass"], 0.5) == -9


@pytest.mark.parametrize("names, message", [
    (["mine.py:A", "mine.py:B"], "mine.py:A mine.py:B: check code of your own by itself, one"),
    (["mine.py:A", "GRU"], "mine.py:A GRU: check code of your own by itself"),
    (["nowhere.py:A"], "nowhere.py does not exist; check the spelling"),
    (["GRU", "--seconds", "3"], "--seconds is given, but it is for a class of your own, FILE.py:"),
    (["mine.py", "--seconds", "0"], "'0': expected seconds from 0.1 to 86,400"),
    (["mine.py", "--seconds", "1e300"], "expected seconds from 0.1 to 86,400"),
])
def test_what_is_refused_before_a_process_starts(names, message, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(custom_checks, "ended", None)
    written(tmp_path)
    assert message in told(capsys, "gradcheck", *names)


def test_where_a_trace_was(tmp_path):
    trace = ('Timeout (0:00:01)!\nThread 0x1 (most recent call first):\n'
             '  File "/x/base.py", line 3 in step\n  File "/x/mine.py", line 7 in score\n'
             '  File "/x/mine.py", line 9 in <module>\n')
    assert custom_checks.where(trace, tmp_path / "mine.py") == ", in line 7 of mine.py, in score"
    assert custom_checks.where(trace, tmp_path / "other.py") == ""
    assert custom_checks.where("", SimpleNamespace(name="mine.py")) == ""


def test_a_reader_that_leaves(tmp_path, monkeypatch):
    def left(*_, **__):
        raise BrokenPipeError
    monkeypatch.setattr(custom_checks, "show_checks", left)
    assert custom_checks.ENDS[here(written(tmp_path), tmp_path)] == 141
