"""The command line: help of every command (cli_options.py, cli_writing.py), what is refused and how (commands_shared.py),
gradient checks, corpora."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from cli_runs import told
from numpy_attention.cli import catalogue
from numpy_attention.cli import main as cli
from numpy_attention.cli import translators as commands
from numpy_attention.cli.main import main
from numpy_attention.data import corpus, downloads
from numpy_attention.data.running_text import STATES
from numpy_attention.gradcheck import GradientError, Report
from numpy_attention.models.attentive_language_model import ATTENTION
from numpy_attention.models.language_model import CELLS
from numpy_attention.models.registry import TRANSLATORS
from numpy_attention.runs.trained import OPTIMIZERS, SCHEDULES

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Runs and results land in a folder of the test's own."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", [*cli.COMMANDS, "corpora list", "corpora show", "corpora fetch"])
def test_help_shows_an_example(command, capsys):
    with pytest.raises(SystemExit) as end:
        main([*command.split(), "--help"])
    text = " ".join(capsys.readouterr().out.split())
    assert end.value.code == 0 and f"example: numpy-attention {command}" in text
    assert "None" not in text and "SUPPRESS" not in text


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_examples_parse(command):
    arguments = cli.COMMANDS[command][2].replace('"in the beginning"', "beginning").split()[1:]
    assert cli.parse(arguments).command == command


def test_every_command_is_done():
    assert cli.COMMANDS.keys() == commands.COMMANDS.keys()


def test_choices_are_the_librarys():
    commands = cli.parser()._subparsers._group_actions[0].choices
    translator, lm = ({action.dest: action.choices for action in commands[name]._actions} for name in ("train", "train lm"))
    assert set(translator["model"]) == set(TRANSLATORS)
    for choices in (translator, lm):
        assert set(choices["optimizer"]) == set(OPTIMIZERS) and set(choices["schedule"]) == set(SCHEDULES)
    assert set(lm["attention"]) == {"none", *ATTENTION} and set(lm["cell"]) == set(CELLS)
    assert set(lm["state"]) == set(STATES)


def test_a_translator_is_what_train_trains():
    words = ["--corpus", "copy", "--epochs", "3"]
    assert cli.parse(["train", *words]) == cli.parse(["train", "translator", *words])
    assert cli.parse(["train", "lm", *words]).command == "train lm"


def test_module_runs_and_help_waits_for_nothing_heavy():
    code = ("import sys, runpy\nsys.argv = ['numpy-attention', '--help']\ntry:\n    "
            "runpy.run_module('numpy_attention', run_name='__main__')\nfinally:\n    "
            "assert not {'numba', 'numpy', 'matplotlib'} & sys.modules.keys()")
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
                          capture_output=True, text=True)
    assert done.returncode == 0 and "reproduce" in done.stdout, done.stderr


@pytest.mark.parametrize("arguments, message", [
    ("", "COMMAND"), ("trian", "trian"),
    ("train", "--corpus NAME"), ("train transformer", "expected `train lm`"), ("train --source a.txt", "--target FILE"),
    ("train --corpus nix", "'nix' is unknown"), ("train --corpus ptb", "is text, not parallel"),
    ("train --corpus bible-en-es --part psalms", "psalms"), ("train --corpus copy --part verses", "verses"),
    ("train --corpus copy --source a --target b", "choose one"),
    ("train --corpus copy --lowercase", "prepared already"),
    ("train --text novel.txt", "unrecognized arguments: --text novel.txt; see numpy-attention train --help, or for a language "
                               "model numpy-attention train lm --help"),
    ("train --attention combined", "numpy-attention train lm --help"),
    ("train lm --beam 3", "see numpy-attention train lm --help"),
    ("train --corpus bible-en", "it is for numpy-attention train lm"), ("train copy", "as in train --corpus NAME"),
    ("translate RUN a --hidden 3", "unrecognized arguments: --hidden 3; see numpy-attention translate --help"),
    ("train --source a --target b", "does not exist"), ("train --source a --target b --part x", "--part"),
    ("train --corpus dates --max-length 4", "max_length"),
    ("train --corpus copy --epochs 0", "at least 1"), ("train --corpus copy --epochs two", "'two'"),
    ("train --corpus copy --dropout 1.5", "below 1"), ("train --corpus copy --dropout nan", "below 1"),
    ("train --corpus copy --minutes 0", "positive"), ("train --corpus copy --minutes inf", "positive"),
    ("train --corpus copy --clip -1", "inf to clip nothing"), ("train --corpus copy --clip nan", "positive"),
    ("train --corpus copy --learning-rate 0", "positive"), ("train --corpus copy --hidden 1", "at least 2"),
    ("train --corpus copy --batch-size 0", "at least 1"), ("train --corpus copy --seed -1", "at least 0"),
    ("train --corpus copy --divisor 3", "belongs to --schedule decay"), ("train --corpus copy --schedule decay --divisor 0.5",
                                                                         "at least 1"),
    ("train --corpus copy --threads 0", "at least 1"), ("train --corpus copy --model transformed", "transformed"),
    ("train --corpus copy --pairs 50 --min-count 99999", "leaves no token"),
    ("translate nowhere hello", "no checkpoint at nowhere"), ("translate nowhere hello --beam 0", "at least 1"),
    ("translate nowhere hello --length-penalty -1", "at least 0"),
    ("evaluate nowhere", "no checkpoint"), ("evaluate nowhere --split dev", "dev"),
    ("heatmap nowhere --output a.png", "no checkpoint"), ("heatmap nowhere", "--output"),
    ("gradcheck Transformatron", "no gradient check is named Transformatron"),
    ("corpora", "ACTION"), ("corpora show nix", "unknown"), ("corpora fetch nix", "unknown"),
    ("reproduce", "no recipe is named"), ("reproduce nix", "unknown recipe 'nix'"),
])
def test_refused(arguments, message, capsys, elsewhere):
    assert message in told(capsys, *arguments.split())
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize("error, code, line", [
    (KeyboardInterrupt(), 130, "numpy-attention: interrupted\n"),
    (KeyboardInterrupt("stopped, saved to x"), 130, "numpy-attention: stopped, saved to x\n"),
    (MemoryError("9 TiB"), 2, "numpy-attention: error: not enough memory (9 TiB): choose smaller sizes, or a smaller "
                              "--batch-size\n"),
    (FileNotFoundError("no x:\nlook"), 2, "numpy-attention: error: no x: look\n"),
    (ConnectionError("down"), 2, "numpy-attention: error: down\n"),
    (TypeError(), 2, "numpy-attention: error: TypeError\n"),
])
def test_errors_become_one_line(error, code, line, capsys, monkeypatch):
    def fails(options):
        raise error
    monkeypatch.setitem(commands.COMMANDS, "evaluate", fails)
    assert main(["evaluate", "run"]) == code
    assert capsys.readouterr().err == line


def test_an_error_of_ours_keeps_its_traceback(monkeypatch):
    monkeypatch.setitem(commands.COMMANDS, "evaluate", lambda options: {}["missing"])
    with pytest.raises(KeyError):
        main(["evaluate", "run"])


def test_gradcheck_passes(capsys):
    assert main(["gradcheck", "Linear", "maxout"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[1:-1]] == ["Linear", "Maxout"]          # not "Linear without bias"
    assert float(lines[1].split()[2]) < 1e-6 and lines[-1] == "2 of 2 passed"


def test_gradcheck_fails(capsys, monkeypatch):
    def wrong(rng):
        raise GradientError("wrong gradient for W at (0, 1)")
    good = Report("good", {"W": 2e-9, "b": 3e-8})
    monkeypatch.setattr(catalogue, "CHECKS", {"good": lambda rng: good, "bad": wrong})
    assert main(["gradcheck"]) == 1
    out = capsys.readouterr().out
    assert "3.0e-08  b" in out and "FAILED" in out
    assert "wrong gradient for W at (0, 1)" in out and "1 of 2 passed" in out


def test_gradcheck_draws_from_the_seed(monkeypatch):
    drawn = []

    def draws(rng):
        drawn.append(rng.random())
        return Report("one", {"W": 0.0})
    monkeypatch.setattr(catalogue, "CHECKS", {"one": draws})
    assert main(["gradcheck", "--seed", "5"]) == 0
    assert drawn == [np.random.default_rng(5).random()]


def test_corpora_list(capsys):
    assert main(["corpora", "list"]) == 0
    assert {"bible-en-es", "copy", "ptb"} <= {line.split()[0] for line in capsys.readouterr().out.splitlines()}


def test_corpora_show_pairs_with_links(capsys, monkeypatch):
    monkeypatch.setattr(corpus, "GENERATED_SIZES", {"train": 12, "valid": 3, "test": 3})
    assert main(["corpora", "show", "grammar-en-fr"]) == 0
    out = capsys.readouterr().out
    assert "train: 12 pairs" in out and "tired–fatigués" in out


def test_corpora_show_text(capsys):
    assert main(["corpora", "show", "bible-en"]) == 0
    assert "tokens" in (out := capsys.readouterr().out) and "lines" in out


def test_corpora_show_downloads_nothing(capsys, monkeypatch, elsewhere):
    monkeypatch.setenv(downloads.ENVIRONMENT, str(elsewhere))
    assert main(["corpora", "show", "ptb"]) == 0
    assert "not here yet: numpy-attention corpora fetch ptb" in capsys.readouterr().out


def test_corpora_fetch(capsys, monkeypatch, elsewhere):
    assert main(["corpora", "fetch", "copy"]) == 0
    assert "nothing to fetch" in capsys.readouterr().out
    monkeypatch.setenv(downloads.ENVIRONMENT, str(elsewhere))
    assert "ptb.train.txt is missing" in told(capsys, "corpora", "fetch", "ptb")
