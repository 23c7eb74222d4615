"""Smoke tests: every benchmark runs at a tiny size and prints its results."""

import json
from dataclasses import replace
from itertools import pairwise
from types import SimpleNamespace

import alignment
import bleu_by_length
import decoding
import flat_memory
import floor
import grammar_pointing
import growth
import history_figures
import machine
import numpy as np
import parts
import pytest
import ranks
import roles
import same_numbers
import sides
import start
import versus_pytorch
from worker import tiny

from numpy_attention import plotting
from numpy_attention.cli.main import main as command
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.experiments.recipes import results
from numpy_attention.experiments.recipes.measures import metric_of

WORDS = "the dog sees a cat . it the bird sings".split()


@pytest.fixture(autouse=True)
def free_kernels(monkeypatch):
    """Unset forced kernels, with which benchmarks record nothing."""
    for name in machine.FORCING:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def torch():
    """Import PyTorch, and restore its number of threads afterwards."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    threads = torch.get_num_threads()
    yield torch
    torch.set_num_threads(threads)


# ---- training steps -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", sides.MODELS)
def test_every_model_trains_in_both_libraries_and_has_a_floor(name, torch):
    size = tiny(sides.MODELS[name])
    for make in (sides.ours, sides.theirs):
        step = make(size, 1, lambda: None)
        losses = [step() for _ in range(4)]
        assert np.isfinite(losses).all() and losses[-1] < losses[0] + 0.5
    assert floor.floor(size, 1, lambda: None)() == 0.0


def test_floor_counts_the_multiplications_of_a_character_model():
    """T B words: input and state products for three gates, then 65 logits; forward and backward."""
    forward, weights = floor.products_of(sides.MODELS["e"], 1)
    count = sum(n * k * m for n, k, m in 2 * forward + weights)
    assert count == 3 * 50 * 32 * 128 * (3 * 128 + 3 * 128 + 65)


SLEEPS = """
import time
MODELS = {{"e": {{"seconds": {seconds}}}}}
def ours(size, threads, built):
    built()
    return lambda: time.sleep(size["seconds"]) or 1.0
"""


def test_comparing_two_checkouts(tmp_path, monkeypatch, capsys):
    for name, seconds in (("now", 0.05), ("then", 0.1)):
        (tmp_path / name / "benchmarks").mkdir(parents=True)
        (tmp_path / name / "benchmarks" / "sides.py").write_text(SLEEPS.format(seconds=seconds))
    monkeypatch.setattr(versus_pytorch, "ROOT", tmp_path / "now")
    words = ["--models", "e", "--rounds", "3", "--against", str(tmp_path / "then")]
    versus_pytorch.main(words)
    line = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert 0.4 < line["ratio_low"] <= line["ratio"] <= line["ratio_high"] < 0.9


def test_parts_add_up_to_the_whole(monkeypatch, capsys):
    monkeypatch.setattr(parts, "MODELS", {"e": tiny(sides.MODELS["e"])})
    parts.main(["--models", "e", "--rounds", "1"])
    printed = capsys.readouterr().out
    assert "matrix products" in printed and "cross_entropy" in printed and "100.0%" in printed


def test_growth_is_measured_and_plotted(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(growth, "measure", lambda sides, size, rounds, threads: (
        {}, {side.name: np.full(rounds, 0.01) for side in sides}))
    picture = tmp_path / "growth.png"
    growth.main(["--curves", "hidden", "--quick", "--output", str(picture)])
    assert capsys.readouterr().out.count("ours / theirs 1.000") == 4 and picture.is_file()


def test_cold_and_warm_start(capsys):
    start.main(["--model", "e", "--quick", "--threads", "1"])
    *_, first, _, cold, warm = capsys.readouterr().out.splitlines()
    assert first == "model e, 1 threads, median (range) of 1 starts each"
    assert cold.startswith("cold ") and warm.startswith("warm ")


def test_growing_memory_is_reported(capsys):
    held = []
    watch = flat_memory.Watch("lists", 40)
    for time in range(1, 41):
        held.append([[time] for _ in range(10)])        # 11 lists per step
        watch.look(time)
    assert watch.grown()["objects"] == pytest.approx(11_000, rel=0.01)


def test_ranks_without_mpi(capsys):
    two = ranks.SINGLE_PROCESS._replace(name="1 × 2", threads=2)
    lines = ranks.measure("e", [ranks.SINGLE_PROCESS, two], 2)
    for line in lines:
        assert line["rows"] == 32 and len(line["seconds"]) == 2
        assert line["parts"]["computing"] > 0 and line["bytes"] == 0
    ranks.steps_tables(lines)
    assert "| e | 1 × 2 |" in capsys.readouterr().out


def test_repeated_training_is_bit_identical(monkeypatch):
    monkeypatch.setattr(same_numbers, "EPOCH", 3)
    (one, losses, _), (same, again, _), (_, other, _) = (
        same_numbers.trained(3, threads) for threads in (1, 1, 2))
    assert losses == again and np.array_equal(one.model.vector, same.model.vector)
    np.testing.assert_allclose(other, losses, rtol=1e-6)


# ---- decoding -----------------------------------------------------------------------------------


def test_decoding_matches_pytorch(torch, monkeypatch, capsys):
    monkeypatch.setattr(decoding, "CORPUS", {"name": "reverse", "count": 700})
    monkeypatch.setitem(decoding.SETTINGS, "rnnsearch", decoding.SETTINGS["rnnsearch"] | {
        "embedding": 6, "hidden": 8})
    decoding.main(["--models", "rnnsearch", "--sentences", "30", "--steps", "10", "--rounds", "2",
                   "--threads", "1", "--beams", "1,2"])
    *_, greedy, beam = capsys.readouterr().out.splitlines()
    assert greedy.startswith("rnnsearch, greedy: ours ") and " words: 30 equal" in greedy
    assert beam.startswith("rnnsearch, beam 2: ours ")


def test_baseline_logs_every_epoch(torch, monkeypatch, tmp_path):
    import rnnsearch_baseline
    small = replace(rnnsearch_baseline.RECIPE, corpus={"name": "reverse", "count": 30},
                    settings=rnnsearch_baseline.RECIPE.settings | {"hidden": 8, "embedding": 6},
                    training=replace(rnnsearch_baseline.RECIPE.training, min_count=1))
    monkeypatch.setattr(rnnsearch_baseline, "RECIPE", small)
    log = tmp_path / "log.jsonl"
    rnnsearch_baseline.main(["--epochs", "2", "--threads", "1", "--log", str(log)])
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2]


# ---- figures of trained runs --------------------------------------------------------------------


class PointsAtLinks:
    """A run whose target words attend to their gold source words."""

    name, model = "luong", SimpleNamespace(query="current")

    def attend(self, pairs):
        weights = []
        for pair in pairs:
            rows = np.zeros((len(pair.target) + 1, len(pair.source) + 1))
            for i, j in pair.sure:
                rows[j, i] = 1
            weights.append(rows)
        return weights


def test_alignment_compared_with_ibm_model_1(monkeypatch, capsys):
    sources = [np.random.default_rng(n).permutation(list("abcdef"))[:3].tolist()
               for n in range(40)]
    links = frozenset((i, i) for i in range(3))
    pairs = [Pair(source, [word.upper() for word in source], sure=links, possible=links)
             for source in sources]
    monkeypatch.setattr(alignment, "load_parallel", lambda name, split: pairs)
    monkeypatch.setattr(alignment.Translator, "load", lambda folder: PointsAtLinks())
    alignment.main(["runs/exact", "--iterations", "20"])
    _, diagonal, model1, exact = capsys.readouterr().out.splitlines()
    assert diagonal.split()[2:] == ["1.000", "1.000", "0.000"]
    assert model1.startswith("IBM Model 1, 20 iterations") and " 1.000 " in model1
    assert exact.split()[:4] == ["exact", "1.000", "1.000", "0.000"]


def test_grammar_pointing_of_a_perfect_run(monkeypatch, tmp_path, capsys):
    pairs = load_parallel("grammar-en-fr", "test")[:100]
    monkeypatch.setattr(grammar_pointing.Translator, "load", lambda folder: PointsAtLinks())
    monkeypatch.setattr(grammar_pointing, "load_parallel", lambda name, split: pairs)
    grammar_pointing.main(["a-seed0", "--output", str(tmp_path)])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "a-seed0" and all(" 1.000 of " in line for line in lines[1:7])
    assert (tmp_path / "grammar_attention.png").is_file()


def test_bleu_by_length_of_recorded_results(monkeypatch, tmp_path, capsys):
    def line(metric, value):
        return {"recipe": "length-general", "settings": "0123abcd", "seed": 0, "metric": metric,
                "split": "test", "value": value, "low": value - 2, "high": value + 3,
                "parameters": 3_100_000, "minutes": 15.0, "threads": 1}

    buckets = enumerate(pairwise(bleu_by_length.EDGES))
    lines = [line(metric_of(*ends), 20.0 + n) for n, ends in buckets]
    results.append(tmp_path / "results" / "length-general.jsonl", [line("bleu", 27.5), *lines])
    monkeypatch.setattr(bleu_by_length, "ROOT", tmp_path)
    bleu_by_length.main(["figure", str(tmp_path / "figure.png")])
    assert "3,100,000 parameters, seeds 0, BLEU of all 27.50\n" in capsys.readouterr().out
    assert (tmp_path / "figure.png").is_file()


def test_figures_of_language_models(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.txt").write_text("the dog sees the cat .\na cat sees it .\n" * 200)
    words = "train lm --text own.txt --epochs 1 --embedding 8 --steps 12 --layers 1 --attention"
    for attention, run in (("none", "plain"), ("combined", "attentive")):
        assert command([*words.split(), attention, "--run", run]) == 0
    monkeypatch.setattr(history_figures, "STREAMS", 2)
    history_figures.main(["plain", "attentive", "--output", "figures"])
    assert "mean weight on the previous positions" in capsys.readouterr().out
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {
        "attention_span.png", "gradient_flow.png"}


def test_roles_over_a_training(tmp_path, monkeypatch, capsys):
    text = Text([[[WORDS[k] for k in np.random.default_rng(n).integers(9, size=8)]
                  for n in range(300)]])
    monkeypatch.setattr(roles, "selected", lambda *_: SimpleNamespace(
        load=lambda *splits: (text, text)))
    monkeypatch.setattr(roles, "STREAMS", 3)
    saved = []
    monkeypatch.setattr(plotting, "save", lambda figure, path: saved.append(path) or path)
    roles.main([str(tmp_path / "roles.png"), *"--size 6 --steps 7 --every 3".split()])
    out = capsys.readouterr().out
    assert saved and "\nkey-value: cosine of value · predict after 6 steps " in out
