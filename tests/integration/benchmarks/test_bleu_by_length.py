"""benchmarks/bleu_by_length.py: the figure of what is recorded, and perplexity by place."""

from itertools import pairwise

import bleu_by_length
import numpy as np
import pytest
from bleu_by_length import (
    EDGES,
    RECIPES,
    PLACES,
    buckets_of,
    draw_rings,
    over_seeds,
    perplexity_by_place,
    recorded,
    told,
)

from numpy_attention import plotting
from numpy_attention.data.batching import PairBatches
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.experiments.recipes import results
from numpy_attention.experiments.recipes.measures import metric_of
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.metrics import LengthBucket
from numpy_attention.models.registry import build
from numpy_attention.training.evaluation import evaluate

SMALL = {"hidden": 24, "embedding": 16, "maxout": 8}
COUNTS = [698, 783, 124, 143, 115, 141, 84]     # sentences of the test text


def a_line(name, seed, metric, value, split="test"):
    return {"recipe": f"length-{name}", "settings": "0123abcd", "seed": seed, "metric": metric,
            "split": split, "value": value, "low": value - 2, "high": value + 3,
            "parameters": 3_100_000, "minutes": 15.0, "threads": 1}


def lines_of(name, seed, first):
    """A run with BLEU of `first`, and one more in each bucket after the first."""
    buckets = [a_line(name, seed, metric_of(*ends), first + n)
               for n, ends in enumerate(pairwise(EDGES))]
    return [a_line(name, seed, "perplexity", 9.0, "valid"), a_line(name, seed, "bleu", 27.5),
            *buckets]


@pytest.fixture
def root(monkeypatch, tmp_path):
    """Two seeds of Luong's model are recorded, one of the fixed vector's."""
    monkeypatch.setattr(bleu_by_length, "ROOT", tmp_path)
    for name, seed, first in (("general", 0, 26.0), ("general", 2, 30.0), ("fixed", 1, 20.0)):
        path = tmp_path / "results" / f"length-{name}.jsonl"
        results.append(path, lines_of(name, seed, first))
    return tmp_path


def test_what_is_recorded(root):
    systems = recorded(root / "results")
    assert {name: list(seeds) for name, seeds in systems.items()} == {
        "length-fixed": [1], "length-general": [0, 2]}
    lines = systems["length-general"][2]
    assert "perplexity" not in lines                # of the validation text
    assert buckets_of(lines, COUNTS) == [
        LengthBucket(*ends, count, 30.0 + n, 28.0 + n, 33.0 + n)
        for n, (ends, count) in enumerate(zip(pairwise(EDGES), COUNTS))]


def test_a_figure(root, monkeypatch, capsys):
    drawn = []
    monkeypatch.setattr(plotting, "save", lambda ax, path: drawn.append(ax) or path)
    bleu_by_length.main(["figure", str(root / "figure.png")])
    ax, = drawn
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "fixed, 3.1 M parameters", "general, 3.1 M parameters, 2 seeds"]
    assert len(ax.lines) == 2 + 2                   # rings of two seeds
    assert [line.get_ydata()[0] for line in ax.lines] == [20, 28, 26, 30]
    out = capsys.readouterr().out
    assert "length-general: 3,100,000 parameters, seeds 0, 2, BLEU of all 27.50, 27.50\n" in out
    for (low, high), count in zip(pairwise(EDGES), COUNTS):
        assert f"  {low:>2} to {high - 1:>2} words, {count:>4} sentences: " in out


def test_no_figure_of_nothing(monkeypatch, tmp_path):
    monkeypatch.setattr(bleu_by_length, "ROOT", tmp_path)
    with pytest.raises(SystemExit, match="no length-.*: record one with .* length-additive"):
        bleu_by_length.main(["figure", str(tmp_path / "figure.png")])


def test_perplexity_by_place(rng):
    lengths = rng.integers(41, 45, 6)
    sentences = [rng.integers(4, 40, n).tolist() for n in lengths]
    batches = PairBatches(sentences, sentences, batch_size=4)
    model = build("rnnsearch", np.random.default_rng(0), range(40), range(50), **SMALL)
    values = perplexity_by_place(model, batches)
    counts = len(lengths) * np.diff(PLACES, append=0)
    counts[-1] = (lengths + 1 - PLACES[-1]).sum()           # </s> too
    mean = (counts * np.log(values)).sum() / counts.sum()
    assert np.exp(mean) == pytest.approx(evaluate(model, batches).perplexity, 1e-5)


def test_positions(root, monkeypatch, capsys):
    pairs = load_parallel("reverse", "test", count=30)
    monkeypatch.setattr(type(RECIPES[0]), "load", lambda recipe, split: pairs)
    for seed in (10, 2):
        how = TranslatorTraining(epochs=1, batch_size=10, seed=seed)
        translator = Translator.create(pairs, "rnnsearch", SMALL, how)
        translator.fit(pairs, pairs, root / "runs" / f"length-additive-seed{seed}", 1)
    bleu_by_length.main(["positions"])
    places, *values = capsys.readouterr().out.splitlines()[-3:]
    assert places.startswith("target positions from 1, 6, 11")
    assert [line.split()[0] for line in values] == [
        "length-additive-seed2", "length-additive-seed10"]
    assert values[0].split()[-1] == "nan"                   # no sentence is so long


SEEDS = [[LengthBucket(1, 8, 30, 28.0, 25.0, 30.0)], [LengthBucket(1, 8, 30, 26.0, 24.0, 27.0)]]


def test_over_seeds():
    buckets = over_seeds(SEEDS)
    assert buckets == [LengthBucket(1, 8, 30, 27.0, 24.5, 28.5)]
    first, second = SEEDS
    assert told(buckets[0], [first[0], second[0]]) == (
        " 1 to  7 words,   30 sentences: 27.00 ± 1.41 [24.50, 28.50]")
    assert told(first[0], first) == " 1 to  7 words,   30 sentences: 28.00 [25.00, 30.00]"


def test_a_seed_is_a_ring_beside_the_mean():
    ax = plotting.bleu_by_length_plot({"one": SEEDS[0], "two": over_seeds(SEEDS)})
    draw_rings(ax, [SEEDS[:1], SEEDS])
    curve = ax.lines[1]
    assert len(ax.lines) == 4
    for ring, score in zip(ax.lines[2:], (28, 26)):
        assert list(ring.get_ydata()) == [score]
        assert list(ring.get_xdata()) == list(curve.get_xdata())
        assert ring.get_color() == curve.get_color() and ring.get_linestyle() == "None"
