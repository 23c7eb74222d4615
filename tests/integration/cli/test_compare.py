"""numpy-attention compare: one table, figures, and what cannot be compared."""

import re

import pytest
from cli_runs import told
from tiny_recipes import KNOWN, tiny

from numpy_attention.cli import compare as comparison
from numpy_attention.cli.main import main
from numpy_attention.data.pairs import Pair
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.training.lock import held


def names_in(folder):
    return {path.name for path in folder.iterdir()}


@pytest.fixture(autouse=True)
def recipes(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(comparison, "RECIPES", dict(KNOWN))


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


def test_several_seeds_are_one_row(tmp_path, capsys):
    words = "tiny-additive tiny-dot --seeds 0,2 --threads 1 --output figures"
    assert main(["compare", *words.split()]) == 0
    out = capsys.readouterr().out
    assert "2 epochs each, seeds 0, 2; measured" in out
    assert "mean ± standard deviation over seeds 0, 2; the pictures are of seed 0\nBLEU" in out
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


def test_the_pictures_are_of_the_first_seed(capsys, monkeypatch):
    seen = {}
    monkeypatch.setattr(comparison, "draw", lambda drawn, *_: seen.update(drawn))
    for seeds in ("2,0", "2"):
        assert main(["compare", "tiny-*", "--seeds", seeds, "--threads", "1"]) == 0
        seen[seeds] = seen.pop("tiny-dot")
    assert "seed" not in capsys.readouterr().out.rpartition("|\n")[2]
    assert seen["2,0"].words == seen["2"].words
    assert (seen["2,0"].weights == seen["2"].weights).all()


def test_what_one_seed_cannot_resume_is_said_before_any_is_trained(tmp_path, capsys):
    assert main("compare tiny-fixed tiny-dot --seed 1 --threads 1".split()) == 0
    error = told(capsys, *"compare tiny-fixed tiny-dot --seeds 0-1 --threads 2".split())
    assert "tiny-fixed-seed1 holds a run with other settings: threads 1 there, 2 now" in error
    assert not (tmp_path / "runs/tiny-fixed-seed0").exists()


def test_another_budget_has_folders_of_its_own(tmp_path, capsys):
    words = "tiny-dot other-budget --epochs 1 --seed 3 --threads 1"
    assert main(["compare", *words.split()]) == 0
    runs = {"tiny-dot-1e-seed3", "other-budget-1e-seed3", "compare"}
    assert names_in(tmp_path / "runs") == runs
    assert len(Translator.load("runs/other-budget-1e-seed3").history) == 1


def test_the_recipes_own_budget_given_again_is_no_other(tmp_path, capsys, monkeypatch):
    """And what cannot be resumed, or written, is said before anything is trained."""
    words = "tiny-dot tiny-fixed --epochs 2 --threads 1 --output figures"
    assert main(["compare", *words.split()]) == 0
    assert names_in(tmp_path / "runs") == {"tiny-dot-seed0", "tiny-fixed-seed0"}
    larger = tiny("tiny-fixed", "encoder-decoder", hidden=9, embedding=6)
    monkeypatch.setitem(comparison.RECIPES, "tiny-fixed", larger)
    words = ["compare", "tiny-additive", "tiny-fixed", "--threads", "1"]
    other = "tiny-fixed-seed0 holds a run with other settings: hidden 8 there, 9 now"
    assert other in told(capsys, *words)
    (tmp_path / "file").write_text("")
    words = "tiny-additive tiny-dot --threads 1 --output file"
    assert "file" in told(capsys, "compare", *words.split())
    assert not (tmp_path / "runs/tiny-additive-seed0").exists()


def test_a_folder_where_another_training_is_at_work_is_refused(tmp_path, capsys):
    """Before the first of them is trained."""
    with held(tmp_path / "runs/tiny-fixed-seed0/checkpoint.npz"):
        error = told(capsys, "compare", "tiny-additive", "tiny-fixed", "--threads", "1")
    assert "another training is at work on runs/tiny-fixed-seed0/checkpoint.npz" in error
    assert not (tmp_path / "runs/tiny-additive-seed0").exists()


@pytest.mark.parametrize("words, message", [
    ("tiny-dot", "tiny-dot alone: expected at least two"),
    ("tiny-dot tiny-dot", "tiny-dot alone"),
    ("tiny-dot none-*", "no recipe is named 'none-*'"),
    ("tiny-dot zaremba-small", "zaremba-small is a language model's recipe"),
    ("tiny-dot other-text", "tiny-dot and other-text learn from different texts"),
    ("tiny-dot other-budget",
     "tiny-dot trains for 2 epochs, other-budget for 3 epochs: give them one"),
    ("tiny-* --seed 0 --seeds 0-1", "--seed is given, but --seeds names them all: leave it out"),
    ("tiny-* --seeds 1-0", "argument --seeds: '1-0': expected seeds such as 0-2 or 0,3,5"),
    ("tiny-* --index 60", "--index 60: test has 60 pairs"),
])
def test_refused(words, message, capsys, tmp_path):
    assert message in told(capsys, "compare", *words.split())
    assert not list(tmp_path.iterdir())


def test_lengths_are_shared_out():
    pairs = [Pair(("a",) * n, ("b",) * 5) for n in (1, 1, 2, 3, 3, 4, 9, 9)]
    right = [["b"] * 5 for _ in pairs]
    wrong = right[:6] + [["c"] * 5] * 2
    found = comparison.by_length({"right": right, "wrong": wrong}, pairs, 3)
    assert sum(bucket.count for bucket in found["right"]) == 8
    assert found["right"][0].low == 1 and found["right"][-1].high == 10
    assert all(bucket.bleu == pytest.approx(100) for bucket in found["right"])
    assert found["wrong"][-1].bleu < 80


def test_a_corpus_without_links_has_no_pointing():
    line = {"parameters": 1234567, "minutes": 1.25, "perplexity": 3.0, "bleu": 20.0, "chrf": 30.0}
    last = comparison.table({"a": [line]}).split("\n")[-1]
    assert last.endswith("|   – |        – |") and "1,234,567" in last
