"""Recipes of translators at equal parameters: as large as the budget allows, one for each score."""

import subprocess
import sys

import numpy as np

from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.models.budget import translator_within_budget
from numpy_attention.models.registry import build
from numpy_attention.names import SCORES
from numpy_attention.recipes.mechanisms import BUDGET, RECIPES, TRAIN

WORDS = 5_767, 8_497


def test_words_of_the_clauses():
    pairs = RECIPES[0].load("train")
    assert max(len(pair.source) for pair in pairs) + 1 == 13        # location's columns
    for side, count in zip(("source", "target"), WORDS):
        sentences = (getattr(pair, side) for pair in pairs)
        assert len(Vocabulary.build(sentences, min_count=TRAIN.min_count)) == count


def test_sizes_are_the_largest_within_the_budget():
    assert len({recipe.name for recipe in RECIPES}) == 13
    assert all(recipe.training == TRAIN for recipe in RECIPES)
    for recipe in RECIPES:
        settings = {name: value for name, value in recipe.settings.items()
                    if name not in ("hidden", "embedding", "size")}
        sizes, count = translator_within_budget(BUDGET, *WORDS, recipe.model, **settings)
        assert sizes == {name: recipe.settings[name] for name in sizes}, recipe.name
        assert 0.95 * BUDGET < count <= BUDGET
        rng = np.random.default_rng(0)
        model = build(recipe.model, rng, *map(range, WORDS), **recipe.settings)
        assert model.size == count


def test_every_score_takes_part():
    assert {f"clauses-{name}" for name in SCORES} < {recipe.name for recipe in RECIPES}


def test_a_score_that_is_new_in_names_takes_part_with_no_line_here():
    code = """
from numpy_attention import names
names.SCORES["cosine"] = "attention.cosine:CosineAttention"
from numpy_attention.recipes import find_recipe
new, dot = find_recipe("clauses-cosine"), find_recipe("clauses-dot")
assert new.settings == dot.settings | {"attention": "cosine"}, new.settings
assert (new.corpus, new.training, new.metrics) == (dot.corpus, dot.training, dot.metrics)
assert new.description.startswith("cosine attention, 3 million parameters")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
