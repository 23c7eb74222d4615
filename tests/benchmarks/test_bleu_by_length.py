"""benchmarks/bleu_by_length.py: models of one size, and perplexity by place."""

import bleu_by_length
import numpy as np
import pytest
from bleu_by_length import (
    PLACES, RNNSEARCH, SYSTEMS, draw_rings, folder_of, over_seeds, perplexity_by_place, settings_of,
    told)

from numpy_attention import plotting
from numpy_attention.data.batching import PairBatches
from numpy_attention.metrics import LengthBucket
from numpy_attention.models.registry import build
from numpy_attention.runs.translator import Translator, TranslatorTraining
from numpy_attention.training.evaluation import evaluate

WORDS = (40, 50)
SMALL = RNNSEARCH | {"hidden": 24, "embedding": 16, "maxout": 8}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name in ("rnnsearch", "encoder-decoder", "two-directions", "reversed"):
        system = SYSTEMS[name]
        sizes = {size: SMALL[size] for size in ("hidden", "embedding", "maxout")}
        changed = system.settings | sizes
        monkeypatch.setitem(SYSTEMS, name, system._replace(settings=changed))


def built(name, settings):
    source, target = map(range, WORDS)
    return build(name, np.random.default_rng(0), source, target, **settings)


@pytest.mark.parametrize("name, both", [
    ("encoder-decoder", {}), ("two-directions", {"bidirectional": True}), ("reversed", {})])
def test_a_fixed_vector_gets_the_nearest_size(name, both):
    wanted = built("rnnsearch", SMALL).size
    settings = settings_of(name, *WORDS)
    hidden = settings["hidden"]
    assert settings == SMALL | both | {"hidden": hidden}
    distances = [abs(built("encoder-decoder", settings | {"hidden": hidden + more}).size - wanted)
                 for more in (-2, 0, 2)]
    assert hidden % 2 == 0
    assert min(distances) == distances[1]


def test_what_a_system_learns_by_otherwise():
    assert {name: system.training for name, system in SYSTEMS.items() if system.training} == {
        "reversed": {"reverse_source": True}, "transformer": {"schedule": "linear"}}
    assert {name for name, system in SYSTEMS.items() if system.model != name} == {
        "two-directions", "reversed"}


@pytest.mark.parametrize("name", ["luong", "transformer"])
def test_others_get_the_largest_size_within_it(name):
    wanted = built("rnnsearch", SMALL).size
    settings = settings_of(name, *WORDS)
    changed = settings.keys() - SYSTEMS[name].settings.keys()
    assert changed == ({"size"} if name == "transformer" else {"hidden", "embedding"})
    larger = settings | {setting: settings[setting] + 8 for setting in changed}
    assert built(name, settings).size <= wanted < built(name, larger).size


def test_perplexity_by_place(rng):
    lengths = rng.integers(41, 45, 6)
    sentences = [rng.integers(4, 40, n).tolist() for n in lengths]
    batches = PairBatches(sentences, sentences, batch_size=4)
    model = built("rnnsearch", SMALL)
    values = perplexity_by_place(model, batches)
    counts = len(lengths) * np.diff(PLACES, append=0)
    counts[-1] = (lengths + 1 - PLACES[-1]).sum()           # </s> too
    mean = (counts * np.log(values)).sum() / counts.sum()
    assert np.exp(mean) == pytest.approx(evaluate(model, batches).perplexity, 1e-5)


def test_training_figure_and_positions(monkeypatch, tmp_path, capsys):
    corpus = bleu_by_length.load_parallel
    monkeypatch.setattr(bleu_by_length, "RUNS", tmp_path)
    monkeypatch.setattr(bleu_by_length, "corpus", lambda split: corpus("reverse", split, count=30))
    monkeypatch.setattr(bleu_by_length, "HOW", TranslatorTraining(epochs=1, batch_size=10))
    bleu_by_length.main(["train", "rnnsearch", "--threads", "1"])
    bleu_by_length.main(["train", "rnnsearch", "--threads", "1", "--seed", "3"])
    bleu_by_length.main(["train", "reversed", "--threads", "1"])
    assert {path.name for path in tmp_path.iterdir()} == {
        "length-rnnsearch-seed0", "length-rnnsearch-seed3", "length-reversed-seed0"}
    reverse = Translator.load(tmp_path / "length-reversed-seed0")
    assert reverse.name == "encoder-decoder" and reverse.training.reverse_source
    assert Translator.load(tmp_path / "length-rnnsearch-seed3").training.seed == 3
    picture = tmp_path / "figure.png"
    drawn = []
    monkeypatch.setattr(plotting, "save", lambda ax, path: drawn.append(ax) or path)
    bleu_by_length.main(["figure", str(picture), "--beam", "1"])
    names = [text.get_text().split(",") for text in drawn[0].get_legend().get_texts()]
    assert [(name[0], name[2:]) for name in names] == [
        ("rnnsearch", [" 2 seeds"]), ("reversed", [])]
    assert len(drawn[0].lines) == 2 + 2                     # rings of two seeds
    bleu_by_length.main(["positions"])
    out = capsys.readouterr().out
    assert out.startswith("rnnsearch: ")
    assert ", 30 pairs\n" in out
    assert "rnnsearch, seed 3: " in out and "beam 1, BLEU of all" in out
    places, *values = out.splitlines()[-4:]
    assert places.startswith("target positions from 1, 6, 11")
    assert [line.split()[:3] for line in values] == [
        ["rnnsearch", "seed", "0"], ["rnnsearch", "seed", "3"], ["reversed", "seed", "0"]]
    assert values[0].split()[-1] == "nan"                   # no sentence is so long


def test_a_run_of_before_there_were_seeds_is_that_of_seed_0(monkeypatch, tmp_path):
    monkeypatch.setattr(bleu_by_length, "RUNS", tmp_path)
    assert folder_of("luong", 0) == tmp_path / "length-luong-seed0"
    for name in ("length-luong", "length-luong-seed2", "length-luong-seed10", "length-reversed"):
        (tmp_path / name).mkdir()
    assert folder_of("luong", 0) == tmp_path / "length-luong"
    assert folder_of("luong", 2) == tmp_path / "length-luong-seed2"
    monkeypatch.setattr(Translator, "load", lambda folder: folder.name)
    assert list(bleu_by_length.trained()) == [
        ("reversed", {0: "length-reversed"}),
        ("luong", {0: "length-luong", 2: "length-luong-seed2", 10: "length-luong-seed10"})]


SEEDS = [
    [LengthBucket(1, 8, 30, 28.0, 25.0, 30.0), LengthBucket(8, 13, 0, None)],
    [LengthBucket(1, 8, 30, 26.0, 24.0, 27.0), LengthBucket(8, 13, 0, None)],
]


def test_over_seeds():
    buckets = over_seeds(SEEDS)
    assert buckets == [LengthBucket(1, 8, 30, 27.0, 24.5, 28.5), LengthBucket(8, 13, 0, None)]
    lines = [told(bucket, seeds) for bucket, *seeds in zip(buckets, *SEEDS)]
    assert lines == [" 1 to  7 words,   30 sentences: 27.00 ± 1.41 [24.50, 28.50]",
                     " 8 to 12 words,    0 sentences:"]
    assert told(SEEDS[0][0], SEEDS[0][:1]) == (
        " 1 to  7 words,   30 sentences: 28.00 [25.00, 30.00]")


def test_a_seed_is_a_ring_beside_the_mean():
    ax = plotting.bleu_by_length_plot({"one": SEEDS[0], "two": over_seeds(SEEDS)})
    draw_rings(ax, [SEEDS[:1], SEEDS])
    curve = ax.lines[1]
    assert len(ax.lines) == 4
    for ring, score in zip(ax.lines[2:], (28, 26)):
        assert ring.get_ydata()[0] == score and np.isnan(ring.get_ydata()[1])
        assert list(ring.get_xdata()) == list(curve.get_xdata())
        assert ring.get_color() == curve.get_color() and ring.get_linestyle() == "None"
