"""Recipes of language models: run on a small text, and equal in size as they say."""

from dataclasses import replace

import numpy as np
import pytest

from numpy_attention.data import running_text
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.models.budget import within_budget
from numpy_attention.models.registry import build
from numpy_attention.experiments.recipes import (RECIPES, bible_text, daniluk, equal, layer_above, results,
                                     salton, wikitext)
from numpy_attention.experiments.recipes.recipe import LanguageRecipe, run
from numpy_attention.experiments.runs.writer import LanguageModelRun, LanguageModelTraining

TEXT = {split: running_text.Text([[["a", "b", "c"][i % 3:] + ["d"] * (i % 2) for i in range(n)]])
        for split, n in (("train", 60), ("valid", 12), ("test", 14))}
TINY = LanguageRecipe("tiny-text", "letters", {"name": "ptb"}, "attentive-language-model",
                      dict(attention="key-value", hidden=4, layers=1, window=2),
                      LanguageModelTraining(epochs=2, batch_size=4, steps=5, learning_rate=0.01))
EQUAL = [recipe for group in (salton, daniluk, equal, bible_text) for recipe in group.RECIPES
         if recipe.training == equal.TRAIN]
WORDS = {"ptb": 10_002, "bible-en": 12_354, "wikitext-2": 33_280}
BUDGETS = [(equal.BUDGET, recipe) for recipe in EQUAL] + [
    (wikitext.BUDGET, recipe) for recipe in wikitext.RECIPES]


def test_figures(monkeypatch, tmp_path):
    monkeypatch.setattr(running_text, "load", lambda name, split: TEXT[split])
    lines = run(TINY, 2, 1, tmp_path / "run", progress=False)
    figures = [(line["split"], line["metric"]) for line in lines]
    assert figures == [("valid", "perplexity"), ("test", "perplexity")]
    writer = LanguageModelRun.load(tmp_path / "run")
    for line in lines:
        assert results.check(line)["parameters"] == writer.model.size
        found = writer.measure(TEXT[line["split"]])
        assert line["value"] == pytest.approx(found["perplexity"], abs=1e-4)
    assert 1 < lines[0]["value"] < 8


def test_equal_recipes_are_the_largest_within_the_budget():
    assert len(EQUAL) == 21 and len({recipe.name for _, recipe in BUDGETS}) == 38
    for budget, recipe in BUDGETS:
        settings = {name: value for name, value in recipe.settings.items()
                    if name not in ("hidden", "embedding")}
        sizes, count = within_budget(budget, WORDS[recipe.corpus["name"]], **settings)
        assert sizes == {name: recipe.settings[name] for name in sizes}, recipe.name
        assert 0.985 * budget < count <= budget
        words = range(WORDS[recipe.corpus["name"]])
        assert build(recipe.model, np.random.default_rng(0), words, **recipe.settings).size == count


def test_the_layer_above_is_all_that_differs():
    tied = layer_above.RECIPES[:7]
    untied = layer_above.RECIPES[7:]
    reading = {"attention", "activation", "window"}
    for group, is_tied in ((tied, True), (untied, False)):
        for recipe in group:
            shared = {name: value for name, value in recipe.settings.items()
                      if name not in reading}
            assert shared == equal.SHARED | {"tied": is_tied, "hidden": 165, "embedding": 165}
            assert recipe.training == equal.TRAIN and recipe.corpus == {"name": "ptb"}
    assert [recipe.settings.keys() & reading for recipe in tied] == [
        recipe.settings.keys() & reading for recipe in untied]
    sizes = {recipe.name: build(recipe.model, np.random.default_rng(0), range(50),
                                **recipe.settings).size for recipe in tied}
    square = layer_above.SIZE**2
    assert sizes["layer-linear"] == sizes["layer-tanh"] == sizes["layer-lstm"] + square
    attentive = [size for name, size in sizes.items() if "attention" in name]
    # W_x and W_r above the state, and the score's W_s, W_q and v
    assert set(attentive) == {sizes["layer-lstm"] + 4 * square + layer_above.SIZE}


def test_daniluks_regime():
    """Section 4 of the paper; a third role costs 6 % of a word's vector, and not 30."""
    for recipe in wikitext.RECIPES:
        how = recipe.training
        assert recipe.corpus == {"name": "wikitext-2"} and not recipe.settings["tied"]
        assert (how.optimizer, how.learning_rate, how.schedule) == ("adam", 1e-3, "constant")
        assert (how.batch_size, how.steps, how.state, how.clip) == (64, 20, "article", 5.0)
        assert (recipe.settings["dropout"], recipe.settings["init"]) == (0, 0.1)
        assert how.min_count == 1 and how.max_vocabulary is None
    sizes = {recipe.name: recipe.settings["embedding"] for recipe in wikitext.RECIPES}
    assert sizes["wikitext-key-value-predict"] > 0.94 * sizes["wikitext-lstm"]
    windows = {recipe.name: recipe.settings.get("window") for recipe in wikitext.RECIPES}
    for reader in ("attention", "key-value", "key-value-predict"):
        found = [windows[f"wikitext-{reader}{end}"] for end in ("-1", "", "-15")]
        assert found == [1, 5, 15]
    controls = {recipe.settings["activation"]: recipe.settings["attention"]
                for recipe in wikitext.RECIPES if "activation" in recipe.settings}
    assert controls == {"linear": "projection", "tanh": "projection"}
    lstm, other_order = wikitext.RECIPES[:2]
    assert other_order.settings == lstm.settings
    assert other_order.training == replace(lstm.training, order_seed=1)


def test_sentence_by_sentence_the_layer_above_is_all_that_differs():
    recipes = [recipe for recipe in salton.RECIPES if recipe.name.startswith("sentences-")]
    reading = {"attention", "activation"}
    for recipe in recipes:
        assert recipe.training == salton.SMALL and recipe.training.cut == 35
        assert {name: value for name, value in recipe.settings.items() if name not in reading} == {
            "hidden": 200, "embedding": 200, "layers": 2, "tied": True, "dropout": 0.0,
            "init": 0.05, "forget_bias": 1.0}
        assert ("test", "perplexity_skip_first") in recipe.metrics
    assert [(recipe.name.partition("-")[2], recipe.settings.get("attention"),
             recipe.settings.get("activation", "tanh")) for recipe in recipes] == [
        ("lstm", None, "tanh"), ("linear", "projection", "linear"),
        ("no-context", "projection", "tanh"), ("single", "single", "tanh"),
        ("combined", "combined", "tanh")]


def test_words_of_bible_en():
    text = running_text.load("bible-en", "train")
    how = equal.TRAIN
    vocabulary = Vocabulary.build(text.sentences, how.max_vocabulary, how.min_count)
    assert len(vocabulary) == WORDS["bible-en"]


def test_figures_that_were_not_verified_say_so():
    for name in ("salton-single", "salton-combined"):
        assert all("not verified" in source for _, source in RECIPES[name].baselines.values())
