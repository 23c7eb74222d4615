"""Recipes of BLEU by the source's length: models of one size, and what a run records."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from numpy_attention import metrics
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.models.budget import translator_within_budget
from numpy_attention.models.registry import build
from numpy_attention.experiments.recipes import find_recipe, recipe as recipes
from numpy_attention.experiments.recipes.by_length import BY_LENGTH, EDGES, RECIPES, TRAIN, metric_of
from numpy_attention.experiments.runs import confidence
from numpy_attention.experiments.runs.translation import Translation
from numpy_attention.experiments.runs.translator import Translator, vocabularies_of

WORDS = 6_438, 9_822
FIXED = ("length-fixed", "length-fixed-two-directions", "length-fixed-reversed")


def size(recipe, **changed):
    settings = recipe.settings | changed
    return build(recipe.model, np.random.default_rng(0), *map(range, WORDS), **settings).size


WANTED = size(find_recipe("length-additive"))


def test_words_of_clauses_and_verses():
    recipe = RECIPES[0]
    pairs = recipe.load("train")
    clauses, verses = (load_parallel("bible-en-es", "train", part=part)
                       for part in ("clauses", "verses"))
    assert pairs == clauses + verses
    assert tuple(map(len, vocabularies_of(pairs, recipe.training))) == WORDS
    lengths = [len(pair.source) for pair in pairs + recipe.load("test")]
    assert EDGES[0] <= min(lengths) and max(lengths) < EDGES[-1]


@pytest.mark.parametrize("name", FIXED)
def test_a_fixed_vector_has_the_size_nearest_to_attention(name):
    recipe = find_recipe(name)
    hidden = recipe.settings["hidden"]
    distances = {more: abs(size(recipe, hidden=hidden + more) - WANTED) for more in (-2, 0, 2)}
    assert min(distances, key=distances.get) == 0
    assert hidden % 2 == 0              # maxout takes two at a time, and so do two directions


@pytest.mark.parametrize("name", ["length-general", "length-transformer"])
def test_others_have_the_largest_size_within_it(name):
    recipe = find_recipe(name)
    settings = {name: value for name, value in recipe.settings.items()
                if name not in ("hidden", "embedding", "size")}
    sizes, count = translator_within_budget(WANTED, *WORDS, recipe.model, **settings)
    assert sizes == {name: recipe.settings[name] for name in sizes}
    assert count == size(recipe)


def test_what_a_system_has_otherwise_than_attention():
    attentive = RECIPES[0]
    for recipe in RECIPES:
        assert recipe.corpus == attentive.corpus and recipe.metrics == attentive.metrics
    assert {recipe.name: recipe.training for recipe in RECIPES if recipe.training != TRAIN} == {
        "length-fixed-reversed": replace(TRAIN, reverse_source=True),
        "length-transformer": replace(TRAIN, schedule="linear")}
    for name, otherwise in zip(FIXED, ({}, {"bidirectional": True}, {})):
        settings = find_recipe(name).settings
        assert settings == attentive.settings | otherwise | {"hidden": settings["hidden"]}


@pytest.fixture
def small(monkeypatch):
    """Of few sentences of each length, and hardly trained."""
    def load(recipe, split):
        texts = load_parallel("bible-en-es", "test", part="both")
        groups = [[pair for pair in texts if low <= len(pair.source) < high][:6]
                  for low, high in pairwise(EDGES)]
        return [pair for group in groups for pair in group]

    monkeypatch.setattr(recipes.Recipe, "load", load)
    return replace(
        RECIPES[0], settings=RECIPES[0].settings | {"hidden": 8, "embedding": 8, "maxout": 8},
        training=replace(TRAIN, epochs=1, min_count=1), beam=2)


def nearly_right(translator, sentences, beam, **how):
    """Translations that lack a word in every other sentence, so that no BLEU is 0 or 100."""
    known = {pair.source: pair.target for pair in load_parallel("bible-en-es", "test", part="both")}
    return [Translation(list(sentence), list(known[sentence][n % 2:]), -1.0, np.ones((1, 1)))
            for n, sentence in enumerate(sentences)]


def test_a_run_records_the_bleu_of_each_length(small, monkeypatch, tmp_path):
    monkeypatch.setattr(Translator, "translate", nearly_right)
    lines = recipes.run(small, 3, 1, tmp_path / "run", progress=False)
    assert {(line["split"], line["metric"]) for line in lines} == set(small.metrics)
    by_metric = {line["metric"]: line for line in lines if line["split"] == "test"}
    pairs = small.load("test")
    translator = Translator.load(tmp_path / "run")
    found = [one.target for one in translator.translate([pair.source for pair in pairs], beam=2)]
    rng = confidence.draws(3)
    whole = translator.measure(pairs, 2, 1, rng=rng)
    plain = metrics.bleu_by_length(found, [pair.target for pair in pairs],
                                   [len(pair.source) for pair in pairs], EDGES, rng=rng)
    for (_, metric), bucket in zip(BY_LENGTH, plain):
        line = by_metric[metric]
        assert metric == metric_of(bucket.low, bucket.high)
        assert bucket.count == 6 and line["low"] < line["value"] < line["high"]
        assert [line["value"], line["low"], line["high"]] == [
            round(one, 4) for one in (bucket.bleu, bucket.bleu_low, bucket.bleu_high)]
    for metric in ("perplexity", "bleu"):
        line = by_metric[metric]
        assert [line["value"], line["low"], line["high"]] == [
            round(whole[f"{metric}{end}"], 4) for end in ("", "_low", "_high")]


def test_both_translations_share_the_threads_of_the_run(small, tmp_path, monkeypatch):
    asked = []
    ranks = object()

    def translate(translator, sentences, beam, **how):
        asked.append((beam, how))
        return nearly_right(translator, sentences, beam)

    pairs = small.load("test")
    translator = small.create(pairs)
    translator.fit(pairs, pairs, tmp_path / "run", 1, progress=False)
    monkeypatch.setattr(Translator, "translate", translate)
    monkeypatch.setattr(Translator, "measure", lambda self, *how: asked.append(how[1:]) or {})
    small.measure(translator, pairs, {"bleu"}, ranks)
    (beam, how), (again, threads, found, measured_on, rng) = asked
    assert translator.threads == 1 and (beam, how) == (2, {"threads": 1, "ranks": ranks})
    assert (again, threads, measured_on, rng) == (2, 1, ranks, None) and len(found) == len(pairs)


def test_without_draws_there_are_no_intervals(small, tmp_path):
    pairs = small.load("test")
    translator = small.create(pairs)
    translator.fit(pairs, pairs, tmp_path / "run", 1, progress=False)
    known = small.measure(translator, pairs, {"bleu"})
    assert {metric for _, metric in BY_LENGTH} < known.keys()
    assert not [name for name in known if name.endswith(("_low", "_high"))]
    assert small.measure(translator, pairs, {"perplexity"}).keys() == {"perplexity"}
