"""numpy-attention gradcheck and corpora (reproduce: test_reproduce.py)."""

import numpy as np
import pytest
from cli_runs import failure

from numpy_attention.cli import gradcheck
from numpy_attention.cli.main import main
from numpy_attention.data.datasets import corpus, downloads
from numpy_attention.experiments import reports
from numpy_attention.gradcheck import GradientError, Report

# ---- gradcheck ----------------------------------------------------------------------------------


def test_gradcheck_passes(capsys):
    assert main(["gradcheck", "Linear", "maxout"]) == 0
    lines = capsys.readouterr().out.splitlines()
    # not "Linear without bias"
    assert [line.split()[0] for line in lines[1:-1]] == ["Linear", "Maxout"]
    assert float(lines[1].split()[2]) < 1e-6
    assert lines[-1] == "2 of 2 passed"


def test_gradcheck_fails(capsys, monkeypatch):
    def wrong(rng):
        raise GradientError("wrong gradient for W at (0, 1)")

    good = Report("good", {"W": 2e-9, "b": 3e-8})
    monkeypatch.setattr(gradcheck, "CHECKS", {"good": lambda rng: good, "bad": wrong})
    assert main(["gradcheck"]) == 1
    out = capsys.readouterr().out
    assert "3.0e-08  b" in out and "FAILED" in out
    assert "wrong gradient for W at (0, 1)" in out
    assert "1 of 2 passed" in out


def test_gradcheck_full_prints_all_elements(capsys, monkeypatch):
    def wrong(rng):
        report = Report("bad")
        report.add("W", np.array([1.25, 2.0]), np.array([1.25, 4.5]))
        raise GradientError(report)

    def incomparable(rng):
        raise GradientError("one gradient for two inputs")

    monkeypatch.setattr(gradcheck, "CHECKS", {"bad": wrong, "odd": incomparable})
    elements = "W, backward:\n[1.25 2.  ]\nW, central differences:\n[1.25 4.5 ]\n"
    assert main(["gradcheck"]) == 1
    out = capsys.readouterr().out
    assert "bad: wrong gradient for W\n" in out and elements not in out
    assert main(["gradcheck", "--full"]) == 1
    out = capsys.readouterr().out
    assert "bad: wrong gradient for W\n" in out and elements in out
    assert "\n\none gradient for two inputs\n" in out


@pytest.mark.parametrize("parts, names", [
    (["a"], ["a"]), (["A"], ["a", "ab"]), (["ab", "a"], ["a", "ab"]), ([""], ["a", "ab", "c"]),
])
def test_checks_are_selected_by_parts_of_their_names(parts, names, monkeypatch):
    monkeypatch.setattr(gradcheck, "CHECKS", dict.fromkeys(["a", "ab", "c"]))
    assert gradcheck.checks_named(parts) == names


# ---- corpora ------------------------------------------------------------------------------------


def test_corpora_list(capsys):
    assert main(["corpora", "list"]) == 0
    names = {line.split()[0] for line in capsys.readouterr().out.splitlines()}
    assert {"bible-en-es", "copy", "ptb"} <= names


def test_corpora_show_pairs_with_links(capsys, monkeypatch):
    monkeypatch.setattr(corpus, "GENERATED_SIZES", {"train": 12, "valid": 3, "test": 3})
    assert main(["corpora", "show", "grammar-en-fr"]) == 0
    out = capsys.readouterr().out
    assert "train: 12 pairs" in out and "for example (test):" in out
    assert "tired–fatigués" in out


def test_corpora_show_text(capsys):
    assert main(["corpora", "show", "bible-en"]) == 0
    out = capsys.readouterr().out
    assert "tokens" in out and "lines" in out


def test_corpora_show_characters(monkeypatch):
    monkeypatch.setattr(reports.corpora, "load_text", lambda name, split: f"{split}\n\nline\n")
    assert list(reports.lines_of_corpus(reports.corpora.find_corpus("bible-en"))) == [
        "train: 12 characters", "valid: 12 characters", "test: 11 characters",
        "for example (test):", "  test", "  line"]


def test_corpora_show_downloads_nothing(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv(downloads.ENVIRONMENT, str(tmp_path))
    assert main(["corpora", "show", "ptb"]) == 0
    assert "not downloaded yet: numpy-attention corpora fetch ptb" in capsys.readouterr().out


def test_corpora_fetch(capsys, monkeypatch, tmp_path):
    assert main(["corpora", "fetch", "copy"]) == 0
    assert "nothing to fetch" in capsys.readouterr().out
    monkeypatch.setenv(downloads.ENVIRONMENT, str(tmp_path))
    assert "ptb.train.txt is missing" in failure(capsys, "corpora", "fetch", "ptb")
