"""Recipes of translators at equal parameters: as large as the budget allows, on the words that the corpus has."""

import numpy as np

from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.models.budget import translator_within_budget
from numpy_attention.models.registry import build
from numpy_attention.recipes.mechanisms import BUDGET, RECIPES, TRAIN

WORDS = 5_767, 8_497


def test_words_of_the_clauses():
    pairs = RECIPES[0].load("train")
    assert max(len(pair.source) for pair in pairs) + 1 == 13        # location's columns
    for side, count in zip(("source", "target"), WORDS):
        assert len(Vocabulary.build((getattr(pair, side) for pair in pairs), min_count=TRAIN.min_count)) == count


def test_sizes_are_the_largest_within_the_budget():
    assert len({recipe.name for recipe in RECIPES}) == 13 and all(recipe.training == TRAIN for recipe in RECIPES)
    for recipe in RECIPES:
        settings = {name: value for name, value in recipe.settings.items() if name not in ("hidden", "embedding", "size")}
        sizes, count = translator_within_budget(BUDGET, *WORDS, recipe.model, **settings)
        assert sizes == {name: recipe.settings[name] for name in sizes}, recipe.name
        assert 0.95 * BUDGET < count <= BUDGET
        assert build(recipe.model, np.random.default_rng(0), *map(range, WORDS), **recipe.settings).size == count
