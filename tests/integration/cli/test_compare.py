"""numpy-attention compare: the table, figures, and errors."""

import re

import pytest
from cli_runs import failure
from tiny_recipes import KNOWN, tiny

from numpy_attention.cli import compare
from numpy_attention.cli.main import main
from numpy_attention.experiments import compare as comparison
from numpy_attention.experiments.runs.translator import Translator


def names_in(folder):
    return {path.name for path in folder.iterdir()}


@pytest.fixture(autouse=True)
def recipes(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    known = dict(KNOWN)
    for module in (compare, comparison):
        monkeypatch.setattr(module, "RECIPES", known)


def test_table_and_figures(tmp_path, capsys):
    words = "--threads 1 --index 2 --output figures/copy"
    assert main(["compare", "tiny-*", *words.split()]) == 0
    out = capsys.readouterr().out
    number = r" +([\d.]+) \|"
    rows = re.findall(rf"^\| (tiny-\S+) +\| +([\d,]+) \|{6 * number}$", out, re.M)
    assert [row[0] for row in rows] == ["tiny-additive", "tiny-fixed", "tiny-dot"]
    pairs = comparison.RECIPES["tiny-dot"].load("test")
    for name, parameters, _, perplexity, bleu, chrf, aer, pointing in rows:
        run = Translator.load(f"runs/{name}-seed0")
        figures = run.measure(pairs, 5, 1)
        assert parameters == f"{run.model.size:,}" and len(run.history) == 2
        assert perplexity == f"{figures['perplexity']:.2f}"
        assert [bleu, chrf] == [f"{figures[key]:.2f}" for key in ("bleu", "chrf")]
        assert [aer, pointing] == [f"{figures[key]:.3f}" for key in ("aer", "pointing")]
    assert names_in(tmp_path / "figures/copy") == {"heatmaps.png", "bleu_by_length.png"}
    assert re.search(r"^BLEU: .*tok:none.*\nchrF: .*\nbeam 5;", out, re.M)


def test_several_seeds_share_a_row(tmp_path, capsys):
    words = "tiny-additive tiny-dot --seeds 0,2 --threads 1 --output figures"
    assert main(["compare", *words.split()]) == 0
    out = capsys.readouterr().out
    assert "2 epochs each, seeds 0, 2; measured" in out
    assert "mean ± standard deviation over seeds 0, 2; the figures show seed 0\nBLEU" in out
    for name in ("tiny-additive", "tiny-dot"):
        assert f"\n{name}, seed 2: {name}\n" in out
        runs = [Translator.load(f"runs/{name}-seed{seed}") for seed in (0, 2)]
        pairs = KNOWN[name].load("test")
        one, other = (run.measure(pairs, 5, 1)["perplexity"] for run in runs)
        figure = f"{(one + other) / 2:.2f} ± {abs(one - other) / 2**0.5:.2f}"
        parameters = f"{runs[0].model.size:,}"
        assert re.search(rf"^\| {name} +\| +{parameters} \| +[\d.]+ \| +{figure} \|", out, re.M)
    assert names_in(tmp_path / "runs") == {
        f"{name}-seed{seed}" for name in ("tiny-additive", "tiny-dot") for seed in (0, 2)}


def test_other_budgets_use_separate_folders(tmp_path, capsys):
    words = "tiny-dot other-budget --epochs 1 --seed 3 --threads 1"
    assert main(["compare", *words.split()]) == 0
    assert "\nother-budget: tiny\n" in capsys.readouterr().out
    runs = {"tiny-dot-1e-seed3", "other-budget-1e-seed3", "compare"}
    assert names_in(tmp_path / "runs") == runs
    assert len(Translator.load("runs/other-budget-1e-seed3").history) == 1


def test_budget_equal_to_the_recipe_uses_the_same_folder(tmp_path, capsys, monkeypatch):
    """Runs that cannot be resumed or written are reported before any training."""
    words = "tiny-dot tiny-fixed --epochs 2 --threads 1 --output figures"
    assert main(["compare", *words.split()]) == 0
    assert names_in(tmp_path / "runs") == {"tiny-dot-seed0", "tiny-fixed-seed0"}
    larger = tiny("tiny-fixed", "encoder-decoder", hidden=9, embedding=6)
    monkeypatch.setitem(comparison.RECIPES, "tiny-fixed", larger)
    words = ["compare", "tiny-additive", "tiny-fixed", "--threads", "1"]
    other = "tiny-fixed-seed0 holds a run with different settings: hidden was 8 and is now 9"
    assert other in failure(capsys, *words)
    (tmp_path / "file").write_text("")
    words = "tiny-additive tiny-dot --threads 1 --output file"
    assert "file" in failure(capsys, "compare", *words.split())
    assert not (tmp_path / "runs/tiny-additive-seed0").exists()


@pytest.mark.parametrize("words, message", [
    ("tiny-dot", "got only recipe tiny-dot; expected at least two"),
    ("tiny-dot tiny-dot", "got only recipe tiny-dot"),
    ("tiny-dot none-*", "no recipe is named 'none-*'"),
    ("tiny-dot zaremba-small", "recipe zaremba-small trains a language model"),
    ("tiny-dot other-text", "recipes tiny-dot and other-text are trained on different texts"),
    ("tiny-dot other-budget",
     "tiny-dot trains for 2 epochs, but other-budget for 3 epochs; use --epochs "
     "and --minutes to give all recipes the same budget"),
    ("tiny-* --index 60", "--index 60 is out of range; the test split has 60 pairs"),
])
def test_errors(words, message, capsys, tmp_path):
    assert message in failure(capsys, "compare", *words.split())
    assert not list(tmp_path.iterdir())
