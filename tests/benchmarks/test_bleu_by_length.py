"""benchmarks/bleu_by_length.py: models of one size, and perplexity by place."""

import bleu_by_length
import numpy as np
import pytest
from bleu_by_length import PLACES, RNNSEARCH, SYSTEMS, perplexity_by_place, settings_of

from numpy_attention.data.batching import PairBatches
from numpy_attention.models.registry import build
from numpy_attention.runs.translator import TranslatorTraining
from numpy_attention.training.evaluation import evaluate

WORDS = (40, 50)
SMALL = RNNSEARCH | {"hidden": 24, "embedding": 16, "maxout": 8}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    for name in ("rnnsearch", "encoder-decoder"):
        monkeypatch.setitem(SYSTEMS, name, SMALL)


def built(name, settings):
    source, target = map(range, WORDS)
    return build(name, np.random.default_rng(0), source, target, **settings)


def test_a_fixed_vector_gets_the_nearest_size():
    wanted = built("rnnsearch", SMALL).size
    settings = settings_of("encoder-decoder", *WORDS)
    hidden = settings["hidden"]
    assert settings == SMALL | {"hidden": hidden}
    distances = [abs(built("encoder-decoder", SMALL | {"hidden": hidden + more}).size - wanted)
                 for more in (-2, 0, 2)]
    assert hidden % 2 == 0
    assert min(distances) == distances[1]


@pytest.mark.parametrize("name", ["luong", "transformer"])
def test_others_get_the_largest_size_within_it(name):
    wanted = built("rnnsearch", SMALL).size
    settings = settings_of(name, *WORDS)
    changed = settings.keys() - SYSTEMS[name].keys()
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
    assert (tmp_path / "length-rnnsearch").is_dir()
    picture = tmp_path / "figure.png"
    bleu_by_length.main(["figure", str(picture), "--beam", "1"])
    assert picture.is_file()
    bleu_by_length.main(["positions"])
    out = capsys.readouterr().out
    assert out.startswith("rnnsearch: ")
    assert ", 30 pairs\n" in out
    assert "beam 1, BLEU of all" in out
    places, values = out.splitlines()[-2:]
    assert places.startswith("target positions from 1, 6, 11")
    assert values.startswith("rnnsearch ")
    assert values.split()[-1] == "nan"                      # no sentence is so long
