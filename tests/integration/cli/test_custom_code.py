"""User-defined mechanisms on the command line: trained, used, compared, and errors."""

import shlex

import matplotlib.image
import pytest
from cli_runs import COPY, failure
from custom_files import (
    CELL,
    MINE,
    PAST,
    READ,
    READ_BACKWARD,
    SHORT_STEP,
    changed,
    in_score,
    written,
)

from numpy_attention.cli import compare
from numpy_attention.cli.main import main, parse
from numpy_attention.experiments.compare import run_name
from numpy_attention.experiments.recipes import RECIPES

LM = ("train lm --text own.txt --epochs 1 --batch-size 4 --steps 5 --threads 1 "
      "--parameters 2000").split()


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with user-defined files and runs trained with them."""
    folder = tmp_path_factory.mktemp("own")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, text in (("mine.py", MINE), ("past.py", PAST), ("cell.py", CELL)):
            written(folder, text, name)
        (folder / "own.txt").write_text("a rose is a rose .\n" * 60)
        assert main([*COPY, "--attention", "mine.py:Mine", "--run", "search"]) == 0
        assert main([*COPY, "--model", "luong", "--attention", "mine.py", "--cell", "cell.py",
                     "--window", "local-p", "--run", "luong"]) == 0
        assert main([*LM, "--attention", "past.py", "--activation", "linear", "--window", "3",
                     "--run", "attentive"]) == 0
        assert main([*LM, "--cell", "cell.py", "--run", "plain"]) == 0
    return folder


@pytest.fixture(autouse=True)
def here(place, monkeypatch):
    monkeypatch.chdir(place)


@pytest.mark.parametrize("command", [
    "translate search '1 2' --ensemble search --heatmap search.png", "evaluate luong --pairs 20",
    "ablate search --pairs 20", "heatmap attentive --index 1 --output past.png",
    "generate plain --length 3", "distances attentive plain",
    "recover plain plain2 --number 2 --next 2 --words 1 --past 3",
])
def test_run_requires_its_code(command, place, capsys):
    words = shlex.split(command)
    files = {"search": "mine.py", "luong": "mine.py,cell.py", "plain": "cell.py"}
    code = "past.py,cell.py" if words[0] == "distances" else files.get(words[1], "past.py")
    if "plain2" in words:
        (place / "plain2").mkdir(exist_ok=True)
        (place / "plain2" / "checkpoint.npz").write_bytes(
            (place / "plain" / "checkpoint.npz").read_bytes())
    error = failure(capsys, *words)
    expected = "past.py" if words[0] == "distances" else code
    assert "which is not run without your consent; inspect it, then pass --code " in error
    assert set(error.rpartition(" ")[2].strip("'\n").split(",")) == set(expected.split(","))
    assert main([*words, "--code", code]) == 0
    picture = [word for word in words if word.endswith(".png")]
    assert all(matplotlib.image.imread(one).std() > 0.01 for one in picture)


def test_suggested_next_command(place, capsys):
    assert main([*COPY, "--attention", "mine.py:Mine", "--run", "search"]) == 0
    out = capsys.readouterr().out
    assert "resumes the run in search" in out
    last = out.splitlines()[-1]
    assert last.startswith("next: numpy-attention translate search ")
    assert last.endswith(" --code mine.py")
    assert main(shlex.split(last)[2:]) == 0


def test_default_names_of_runs(place, capsys):
    assert main([*COPY, "--model", "luong", "--attention", "mine.py:Mine"]) == 0
    assert "luong-Mine, " in capsys.readouterr().out
    assert (place / "runs" / "copy-luong-Mine" / "mine.py").read_text(encoding="utf-8") == MINE
    assert main([*LM, "--cell", "cell.py"]) == 0
    assert (place / "runs" / "own-MinimalGatedUnit").is_dir()


@pytest.mark.parametrize("run, text", [("search", MINE + "# more\n"), ("search", "1 / 0")])
def test_changed_file(run, text, place, capsys):
    (place / "other").mkdir(exist_ok=True)
    path = written(place / "other", text)
    error = failure(capsys, "translate", run, "1 2", "--code", str(path))
    assert f"mine.py has changed since {run} was trained: its SHA-256 began " in error
    assert f"pass --code '{run}/mine.py'\n" in error
    assert main(["translate", run, "1 2", "--code", f"{run}/mine.py"]) == 0
    if text != "1 / 0":
        error = failure(capsys, *COPY, "--attention", str(path), "--run", run)
        assert "holds a run with different settings: SHA-256 of mine.py:Mine" in error


@pytest.mark.parametrize("words, message", [
    ([*COPY, "--attention", "past.py"], "past.py has no suitable class; derive one from "
     "SoftmaxAttention"),
    ([*COPY, "--attention", "past.py:Past"], "past.py:Past is a score class for language "
     "models, not an attention mechanism for translators; derive Past from SoftmaxAttention"),
    ([*COPY, "--model", "luong", "--cell", "mine.py:Mine"], "translators, not a cell; derive "),
    ([*LM, "--attention", "mine.py:Mine"], "translators, not a score class for language mod"),
    ([*COPY, "--attention", "nowhere.py:Mine"], "nowhere.py does not exist"),
    ([*COPY, "--attention", "mine.py:Yours"], "mine.py does not define 'Yours': it defines Mine"),
    ([*LM, "--cell", "cell.py", "--forget-bias", "1"], "--forget-bias has no effect with --cell"),
    (["translate", "search", "1", "--code", "nowhere.py"], "nowhere.py does not exist"),
    (["translate", "search", "1", "--code", "mine.py,"], "expected files such as mine.py,other.py"),
    (["translate", "search", "1", "--code", "own.txt"], "its name must end with .py"),
])
def test_invalid_commands(words, message, place, capsys):
    before = sorted(place.rglob("*"))
    assert message in failure(capsys, *words)
    assert sorted(place.rglob("*")) == before


@pytest.mark.parametrize("text, message", [
    (in_score("{}['a']"), "error: line 22 of broken.py, in Mine.score: KeyError: 'a'\n"),
    (in_score("undefined"), "line 22 of broken.py, in Mine.score: NameError: name 'undefined' is "),
    (changed("        return cls(", "        return cls.x("), "line 19 of broken.py, in "
     "Mine.create: AttributeError: "),
    (changed("memory), (query, p)", "memory)"), "line 23 of broken.py, in Mine.score: score() "
     "returns a float32 array of shape (24, 5); expected the tuple (scores, cache)"),
    (changed("return dp @", "dp @"), "line 30 of broken.py, in Mine.score_backward: "
     "score_backward() returns None; expected the array dquery (B, Q)"),
    (MINE + READ, "line 33 of broken.py, in Mine.read: read() returns None; expected a Memory"),
    (MINE + READ_BACKWARD, "line 33 of broken.py, in Mine.read_backward: dvalues (B, S, D) has "),
    (MINE + SHORT_STEP, "line 33 of broken.py, in Mine.step: not enough values to unpack "),
    (MINE + "1 / 0\n", "broken.py cannot be run: line 31 of broken.py: ZeroDivision"),
    (MINE + "(\n", "broken.py cannot be run: line 31 is not Python"),
])
def test_error_in_custom_code_is_reported_with_its_line(text, message, place, capsys):
    written(place, text, "broken.py")
    error = failure(capsys, *COPY, "--model", "luong", "--attention", "broken.py:Mine", "--run",
                 "broken")
    assert message in error
    assert not (place / "broken" / "checkpoint.npz").exists()


@pytest.mark.parametrize("old, new, message", [
    ("steps.hs[t + 1] =", "return", "line 57 of broken.py, in MinimalGatedUnit._step: _step() "),
    ("da_f @ U_f.T", "ds, ds", "line 78 of broken.py, in MinimalGatedUnit._step_backward: "),
    ("        return dsteps.a\n", "", "line 84 of broken.py, in MinimalGatedUnit.end_backward: "),
])
def test_error_in_a_cell_names_its_line(old, new, message, place, capsys):
    written(place, changed(old, new, CELL), "broken.py")
    assert message in failure(capsys, *LM, "--cell", "broken.py", "--run", "broken")


def test_compare_accepts_an_attention_next_to_recipes(place):
    _, options = parse(["compare", "clauses-dot", "mine.py:Mine", "--epochs", "1"])
    dot, mine = compare.chosen(options)
    assert (dot.name, mine.name) == ("clauses-dot", "own-Mine")
    assert mine.settings.pop("attention").__name__ == "Mine"
    assert mine.settings == {name: value for name, value in RECIPES["clauses-dot"].settings.items()
                             if name != "attention"}
    assert (mine.corpus, mine.training) == (dot.corpus, dot.training)
    assert run_name(mine, 3) == "own-Mine-1e-seed3"
    assert "own-Mine" not in RECIPES
