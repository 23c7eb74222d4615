"""Recipes of translators at equal parameters: as large as the budget allows, one for each score."""

import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest

from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.models.budget import translator_within_budget
from numpy_attention.models.registry import build
from numpy_attention.registry import OPTIMIZERS, SCORES, resolve
from numpy_attention.experiments.recipes import appendix, asks_previous, directions, find_recipe
from numpy_attention.experiments.recipes.mechanisms import BUDGET, RECIPES, TRAIN

WORDS = 5_767, 8_497
DEPARTURES = directions.RECIPES + asks_previous.RECIPES + appendix.RECIPES


def test_words_of_the_clauses():
    pairs = RECIPES[0].load("train")
    assert max(len(pair.source) for pair in pairs) + 1 == 13        # location's columns
    for side, count in zip(("source", "target"), WORDS):
        sentences = (getattr(pair, side) for pair in pairs)
        assert len(Vocabulary.build(sentences, min_count=TRAIN.min_count)) == count


def test_sizes_are_the_largest_within_the_budget():
    assert len({recipe.name for recipe in RECIPES}) == 13
    assert all(recipe.training == TRAIN for recipe in RECIPES)
    for recipe in RECIPES + DEPARTURES:
        settings = {name: value for name, value in recipe.settings.items()
                    if name not in ("hidden", "embedding", "size")}
        sizes, count = translator_within_budget(BUDGET, *WORDS, recipe.model, **settings)
        assert sizes == {name: recipe.settings[name] for name in sizes}, recipe.name
        assert 0.95 * BUDGET < count <= BUDGET
        rng = np.random.default_rng(0)
        model = build(recipe.model, rng, *map(range, WORDS), **recipe.settings)
        assert model.size == count


def differences(recipe, beside):
    """What a recipe does otherwise than another: {setting: its value}; sizes apart."""
    assert (recipe.model, recipe.corpus, recipe.metrics, recipe.beam) == (
        beside.model, beside.corpus, beside.metrics, beside.beam)
    found = {}
    for one, other in ((recipe.settings, beside.settings),
                       (asdict(recipe.training), asdict(beside.training))):
        assert other.keys() <= one.keys()
        found |= {name: value for name, value in one.items()
                  if name not in ("hidden", "embedding") and other.get(name) != value}
    return found


@pytest.mark.parametrize("name, beside, otherwise", [
    ("fixed-two-directions", "clauses-fixed", {"bidirectional": True}),
    ("fixed-reversed", "clauses-fixed", {"reverse_source": True}),
    ("additive-one-direction", "clauses-additive", {"bidirectional": False}),
    ("asks-previous-additive", "clauses-concat", {"query": "previous"}),
    ("asks-previous-scaled-dot", "clauses-scaled-dot", {"query": "previous"}),
    ("appendix", "clauses-additive", {
        "readout": "previous", "reset": "before", "update": "new", "init": "paper", "dropout": 0.0,
        "optimizer": "adadelta", "learning_rate": 1.0, "schedule": "constant", "batch_size": 80}),
    ("appendix-readout-current", "appendix", {"readout": "current"}),
    ("appendix-reset-after", "appendix", {"reset": "after"}),
    ("appendix-update-old", "appendix", {"update": "old"}),
    ("appendix-init-modern", "appendix", {"init": "modern"}),
    ("appendix-dropout", "appendix", {"dropout": 0.2}),
    ("appendix-adam", "appendix", {"optimizer": "adam", "learning_rate": 2e-3,
                                   "schedule": "linear"}),
])
def test_what_a_recipe_does_otherwise(name, beside, otherwise):
    assert differences(find_recipe(name), find_recipe(beside)) == otherwise
    said = find_recipe(name).description
    assert said.endswith(", 3 million parameters, 6 epochs, clauses of bible-en-es")


def test_every_departure_is_named_above():
    table, = test_what_a_recipe_does_otherwise.pytestmark
    assert {row[0] for row in table.args[1]} == {recipe.name for recipe in DEPARTURES}


def test_the_appendix_trains_as_the_paper_says():
    """Bahdanau et al. 2015, appendix B; of Zeiler's optimizer ε and ρ as there."""
    recipe = find_recipe("appendix")
    optimizer = resolve("optimizer", recipe.training.optimizer, OPTIMIZERS)()
    assert (optimizer.learning_rate, optimizer.rho, optimizer.epsilon) == (1.0, 0.95, 1e-6)
    assert (recipe.training.batch_size, recipe.training.clip) == (80, 1.0)
    model = build(recipe.model, np.random.default_rng(0), range(9), range(9), **recipe.settings)
    assert model.attention.W_a.shape[1] == 128 and model.output.words.E.shape == (9, 64)


def test_every_score_takes_part():
    assert {f"clauses-{name}" for name in SCORES} < {recipe.name for recipe in RECIPES}


def test_a_score_that_is_new_in_names_takes_part_with_no_line_here():
    code = """
from numpy_attention import registry
registry.SCORES["cosine"] = "attention.cosine:CosineAttention"
from numpy_attention.experiments.recipes import find_recipe
new, dot = find_recipe("clauses-cosine"), find_recipe("clauses-dot")
assert new.settings == dot.settings | {"attention": "cosine"}, new.settings
assert (new.corpus, new.training, new.metrics) == (dot.corpus, dot.training, dot.metrics)
assert new.description.startswith("cosine attention, 3 million parameters")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
