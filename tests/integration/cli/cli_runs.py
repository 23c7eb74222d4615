"""Tiny runs shared by the tests of the command line, and the check of an error message."""

import contextlib
import io

import numpy as np
import pytest

from numpy_attention.cli.main import main, parse

SMALL = ("--hidden 8 --embedding 6 --epochs 2 --batch-size 32 --learning-rate 0.01 "
         "--threads 1").split()
COPY = ["train", "--corpus", "copy", "--max-length", "4", "--pairs", "120", *SMALL]
LM = "--embedding 6 --batch-size 4 --epochs 2 --learning-rate 0.01 --threads 1 --text".split()
TRANSLATORS = {
    "copy": "",
    "luong": "--model luong",
}
LANGUAGE_MODELS = {
    "plain": "--steps 5",
    "single": "--steps 5 --attention single",
    "ngram": "--steps 5 --attention ngram",
    "attentive": "--steps 5 --attention key-value --window 3",
    "sentences": "--attention single --state sentence",
    "longer": "--steps 6",
    "letters": "--steps 5 --attention combined --characters",
}


def write_text(path, words, lines, length=5, end=" ."):
    """Write lines of random words."""
    rng = np.random.default_rng(1)
    path.write_text("".join(" ".join(words[k] for k in rng.integers(len(words), size=length))
                            + end + "\n" for _ in range(lines)))


def run_quietly(*words):
    """Run a command that must succeed, without its output."""
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        assert main([*map(str, words)]) == 0


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """A folder with a run of each of TRANSLATORS and LANGUAGE_MODELS; tests must not change it."""
    folder = tmp_path_factory.mktemp("runs")
    write_text(folder / "own.txt", ["red", "green", "blue", "it's"], 100)
    write_text(folder / "other.txt", ["up", "down", "in"], 100)
    for name, words in TRANSLATORS.items():
        run_quietly(*COPY, *words.split(), "--run", folder / name)
    for name, words in LANGUAGE_MODELS.items():
        run_quietly("train", "lm", *LM, folder / "own.txt", *words.split(), "--run", folder / name)
    run_quietly("train", "lm", *LM, folder / "other.txt", "--steps", "5", "--run", folder / "other")
    return folder


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A temporary current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def given(words):
    """Return the options of a command line."""
    return parse(words.split())[1]


def failure(capsys, *arguments):
    """Return the error in the last line of a command that must fail with exit status 2."""
    capsys.readouterr()
    assert main([*map(str, arguments)]) == 2
    error = capsys.readouterr().err
    assert error.endswith("\n")
    assert error.splitlines()[-1].startswith("numpy-attention: error: ")
    assert error.count("numpy-attention: error: ") == 1
    assert "Traceback" not in error
    return error
