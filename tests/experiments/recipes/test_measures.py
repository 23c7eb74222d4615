"""Metrics that recipes record in addition to those of `Translator.measure`."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from numpy_attention import metrics
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.data.datasets.grammar import phenomena
from numpy_attention.experiments.recipes import RECIPES
from numpy_attention.experiments.recipes.measures import PHENOMENA, length_edges, metric_of, only
from numpy_attention.experiments.runs.translation import Translation
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.training.distributed.ranks import SINGLE_PROCESS

EDGES = [1, 8, 13, 19, 25, 31, 41, 52]
BY_LENGTH = [metric_of(*ends) for ends in pairwise(EDGES)]


def test_bucket_edges_are_those_of_the_metrics():
    names = [metric for _, metric in RECIPES["length-additive"].metrics]
    assert length_edges(names) == EDGES and names[-7:] == BY_LENGTH
    assert BY_LENGTH[0] == "bleu_of_1_to_7" and length_edges(["bleu", "perplexity"]) == []


@pytest.fixture(scope="module")
def pairs():
    """Return a few pairs of each length."""
    texts = load_parallel("bible-en-es", "test", part="both")
    return [pair for low, high in pairwise(EDGES)
            for pair in [one for one in texts if low <= len(one.source) < high][:6]]


@pytest.fixture
def trained(pairs, monkeypatch):
    """Omit a word in every other sentence, so that no BLEU is 0 or 100."""
    known = {pair.source: pair.target for pair in pairs}

    def translate(translator, sentences, beam, **how):
        assert how == {"threads": 1, "ranks": SINGLE_PROCESS}
        return [Translation(list(sentence), list(known[sentence][n % 2:]), -1.0, np.ones((1, 1)))
                for n, sentence in enumerate(sentences)]

    recipe = RECIPES["length-additive"]
    small = replace(recipe, settings=recipe.settings | dict(hidden=8, embedding=8, maxout=8),
                    training=replace(recipe.training, min_count=1))
    trained = small.create(pairs)
    trained.threads = 1
    monkeypatch.setattr(Translator, "translate", translate)
    return trained


def test_bleu_by_length_and_intervals(trained, pairs):
    wanted = {"bleu", "perplexity", *BY_LENGTH}
    found = RECIPES["length-additive"].measure(
        trained, pairs, wanted, rng=np.random.default_rng(3))
    assert wanted < found.keys()
    rng = np.random.default_rng(3)
    whole = trained.measure(pairs, 5, 1, rng=rng)
    assert whole.items() <= found.items()
    words = [one.target for one in trained.translate(
        [pair.source for pair in pairs], 5, threads=1, ranks=SINGLE_PROCESS)]
    buckets = metrics.bleu_by_length(words, [pair.target for pair in pairs],
                                     [len(pair.source) for pair in pairs], EDGES, rng=rng)
    for metric, bucket in zip(BY_LENGTH, buckets, strict=True):
        low, high = found[f"{metric}_low"], found[f"{metric}_high"]
        assert bucket.count == 6 and low < found[metric] < high
        assert (found[metric], low, high) == (bucket.bleu, bucket.bleu_low, bucket.bleu_high)
    without = RECIPES["length-additive"].measure(trained, pairs, wanted)
    assert not [name for name in without if name.endswith(("_low", "_high"))]


def test_nothing_is_translated_for_perplexity(trained, pairs, monkeypatch):
    monkeypatch.setattr(Translator, "translate", None)
    recipe = RECIPES["length-additive"]
    found = recipe.measure(trained, pairs, {"perplexity"})
    assert found.keys() == {"perplexity"} and 1 < found["perplexity"] < 10_000
    again = recipe.measure(trained, pairs, {"perplexity"}, rng=np.random.default_rng(0))
    assert again["perplexity"] == pytest.approx(found["perplexity"], rel=1e-6)
    assert again["perplexity_low"] < again["perplexity"] < again["perplexity_high"]


def test_pointing_by_phenomenon():
    recipe = RECIPES["grammar-dot"]
    recipe = replace(recipe, corpus=recipe.corpus | {"count": 150},
                     settings=recipe.settings | dict(hidden=8, embedding=8))
    pairs = recipe.load("test")
    trained = recipe.create(pairs)
    trained.threads = 1
    wanted = {metric for _, metric in recipe.metrics}
    found = recipe.measure(trained, pairs, wanted, rng=np.random.default_rng(0))
    assert wanted <= found.keys()
    weights = trained.attend(pairs)
    for name, metric in PHENOMENA.items():
        links = [(rows, i, j) for pair, rows in zip(pairs, weights)
                 for i, j in phenomena(pair)[name]]
        assert len(links) > 50
        right = np.mean([rows[j, :-1].argmax() == i for rows, i, j in links])
        assert found[metric] == pytest.approx(right)
        assert found[f"{metric}_low"] <= right <= found[f"{metric}_high"] <= 1
        for pair, kept in zip(pairs, only(pairs, name)):
            assert kept.source == pair.source
            assert kept.sure == set(phenomena(pair)[name]) <= pair.sure
