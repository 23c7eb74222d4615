"""The figures in results/ match the current recipes: names, metrics, settings and sizes."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from numpy_attention.experiments.recipes import RECIPES, results
from numpy_attention.models.budget import translator_within_budget, within_budget
from numpy_attention.models.registry import build
from numpy_attention.training.settings import FLAG, TranslatorTraining, option

ROOT = Path(__file__).parents[3]
LINES = results.read(ROOT / "results")
RECORDED = {}
for _line in LINES:
    RECORDED.setdefault(_line["recipe"], []).append(_line)


@pytest.mark.parametrize("name", RECORDED)
def test_each_run_has_all_figures_of_its_recipe(name):
    seeds = {line["seed"] for line in RECORDED[name]}
    for seed in seeds:
        figures = {(line["split"], line["metric"])
                   for line in RECORDED[name] if line["seed"] == seed}
        assert figures == set(RECIPES[name].metrics), f"seed {seed}"
    assert len({line["parameters"] for line in RECORDED[name]}) == 1


@pytest.mark.parametrize("name", RECORDED)
def test_recorded_digests_match_the_recipes(name):
    assert {line["settings"] for line in RECORDED[name]} == {RECIPES[name].digest()}, (
        f"{name} has changed since its figures were recorded: measure again, or change it back")


# ---- sizes ---------------------------------------------------------------------------------------

# vocabulary sizes as recipes count them: tests/integration/experiments checks these numbers
CLAUSES = 5_767, 8_497
VERSES = 6_438, 9_822
WORDS = {"ptb": 10_002, "bible-en": 12_354, "wikitext-2": 33_280}
SIZES = "hidden", "embedding", "size"


def size(recipe, words, **changed):
    settings = recipe.settings | changed
    return build(recipe.model, np.random.default_rng(0), *map(range, words), **settings).size


def without_sizes(recipe):
    return {name: value for name, value in recipe.settings.items() if name not in SIZES}


def parameters(name):
    """Return the parameter counts of the recorded models; {} for a recipe that was not run."""
    return {line["parameters"] for line in RECORDED.get(name, [])}


def test_translators_have_the_largest_sizes_within_their_budget():
    recipes = [recipe for recipe in RECIPES.values() if "3 million parameters, 6 epochs"
               in recipe.description]
    assert len(recipes) == 27
    for recipe in recipes:
        sizes, count = translator_within_budget(
            3_000_000, *CLAUSES, recipe.model, **without_sizes(recipe))
        assert sizes == {name: recipe.settings[name] for name in sizes}, recipe.name
        assert 2_850_000 < count <= 3_000_000 and count == size(recipe, CLAUSES)
        assert parameters(recipe.name) <= {count}


def test_language_models_have_the_largest_sizes_within_their_budget():
    for budget, label, number in ((2_000_000, "2 million", 21), (7_000_000, "7 million", 16)):
        recipes = [recipe for recipe in RECIPES.values() if recipe.is_language_model
                   and f"{label} parameters" in recipe.description]
        assert len(recipes) == number
        for recipe in recipes:
            words = WORDS[recipe.corpus["name"]]
            sizes, count = within_budget(budget, words, **without_sizes(recipe))
            assert sizes == {name: recipe.settings[name] for name in sizes}, recipe.name
            assert 0.985 * budget < count <= budget and count == size(recipe, [words])
            assert parameters(recipe.name) <= {count}


def test_translators_compared_by_length_have_similar_sizes():
    wanted = size(RECIPES["length-additive"], VERSES)
    for name in ("length-fixed", "length-fixed-two-directions", "length-fixed-reversed"):
        hidden = RECIPES[name].settings["hidden"]
        distances = [abs(size(RECIPES[name], VERSES, hidden=hidden + more) - wanted)
                     for more in (-2, 0, 2)]
        assert min(distances) == distances[1], name
    for name in ("length-general", "length-transformer"):
        recipe = RECIPES[name]
        sizes, count = translator_within_budget(
            wanted, *VERSES, recipe.model, **without_sizes(recipe))
        assert sizes == {name: recipe.settings[name] for name in sizes}
        assert count == size(recipe, VERSES)
        assert parameters(name) <= {count}


# ---- digests -------------------------------------------------------------------------------------

@dataclass
class ExtendedTraining(TranslatorTraining):
    """A training with one more option."""

    strange: bool = option(False, FLAG, "whether it is strange")


def test_digest_depends_on_every_setting():
    recipe = RECIPES["dates"]
    training = recipe.training
    changed = [
        replace(recipe, corpus=recipe.corpus | {"sure_months": True}),
        replace(recipe, model="encoder-decoder"),
        replace(recipe, settings=recipe.settings | {"hidden": 65}),
        replace(recipe, training=replace(training, clip=2.0)),
        replace(recipe, training=ExtendedTraining(**asdict(training), strange=True)),
        replace(recipe, beam=4),
        replace(recipe, train_max_length=9),
    ]
    digests = {one.digest() for one in [recipe, *changed]}
    assert len(digests) == 1 + len(changed) and {len(one) for one in digests} == {8}
    same = [
        replace(recipe, name="other", description="other", metrics=(), baselines={}),
        replace(recipe, settings=dict(reversed(recipe.settings.items()))),
        replace(recipe, training=ExtendedTraining(**asdict(training))),
    ]
    assert {one.digest() for one in same} == {recipe.digest()}
