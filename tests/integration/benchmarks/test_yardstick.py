"""The yardstick at a tiny size: it learns, and it measures and searches as the package does."""

import json
from dataclasses import replace

import numpy as np
import pytest

from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.decoding.greedy import greedy
from numpy_attention.experiments.recipes import find_recipe
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.training.evaluation import evaluate

torch = pytest.importorskip(
    "torch", reason="PyTorch is not installed: pip install -e '.[parity]'")
import yardstick  # noqa: E402
from pytorch.torch_rnnsearch import copy_weights  # noqa: E402

RECIPE = find_recipe("rnnsearch-bible")
SETTINGS = RECIPE.settings | {"hidden": 8, "embedding": 6}


@pytest.fixture(autouse=True)
def one_thread():
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture
def translator():
    pairs = load_parallel("reverse", "train", count=40)
    return Translator.create(pairs, "rnnsearch", SETTINGS, replace(RECIPE.training, min_count=1))


def test_it_measures_and_searches_as_the_package_does(translator):
    pairs = load_parallel("reverse", "test", count=20)
    batches = translator.batches(pairs, batch_size=7)
    theirs = yardstick.Yardstick(translator, seed=0)
    ours = RNNSearch.create(
        np.random.default_rng(1), len(translator.source_vocabulary),
        len(translator.target_vocabulary), SETTINGS["embedding"], 8, alignment=8, maxout=4,
        readout="current", reset="after", update="old", init="modern")
    copy_weights(ours, theirs.model)
    assert theirs.perplexity(batches) == pytest.approx(evaluate(ours, batches).perplexity, 1e-4)
    words = theirs.translate(batches)
    for pair, found in zip(pairs, words):
        source = np.array(translator.source_vocabulary.encode(pair.source) + [2])[:, None]
        hypothesis, = greedy(ours, source, source != 0)
        expected = translator.target_vocabulary.decode(hypothesis.ids)
        assert len(expected) > 0 and found == expected


def test_an_epoch_learns(translator):
    batches = translator.batches(load_parallel("reverse", "train", count=40), batch_size=8)
    theirs = yardstick.Yardstick(translator, seed=0)
    before = theirs.perplexity(batches)
    for epoch in range(3):
        theirs.epoch(batches, np.random.default_rng(epoch))
    assert theirs.perplexity(batches) < before


def test_a_line_is_logged_after_every_epoch(monkeypatch, tmp_path, capsys):
    corpus = {"name": "reverse", "count": 30}
    training = replace(RECIPE.training, min_count=1)
    small = replace(RECIPE, corpus=corpus, settings=SETTINGS, training=training)
    monkeypatch.setattr(yardstick, "RECIPE", small)
    log = tmp_path / "log.jsonl"
    yardstick.main(["--epochs", "2", "--threads", "1", "--log", str(log)])
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    assert [line["epoch"] for line in lines] == [1, 2]
    assert lines[1]["minutes"] >= lines[0]["minutes"]
    assert capsys.readouterr().out.splitlines()[0].endswith(" parameters, 1 threads")
