"""The figures in results/ are of the recipes as they stand: names, figures, settings, sizes."""

from dataclasses import asdict, dataclass, replace
from pathlib import Path

import pytest

from numpy_attention.experiments.recipes import RECIPES, results
from numpy_attention.experiments.runs.translator import TranslatorTraining
from numpy_attention.training.settings import FLAG, option

ROOT = Path(__file__).parents[3]
LINES = results.read(ROOT / "results")
RECORDED = {}
for _line in LINES:
    RECORDED.setdefault(_line["recipe"], []).append(_line)


@pytest.mark.parametrize("name", RECORDED)
def test_each_run_recorded_the_figures_of_its_recipe(name):
    seeds = {line["seed"] for line in RECORDED[name]}
    for seed in seeds:
        figures = {(line["split"], line["metric"])
                   for line in RECORDED[name] if line["seed"] == seed}
        assert figures == set(RECIPES[name].metrics), f"seed {seed}"
    assert len({line["parameters"] for line in RECORDED[name]}) == 1


@pytest.mark.parametrize("name", RECORDED)
def test_a_recipe_has_the_settings_that_were_measured(name):
    assert {line["settings"] for line in RECORDED[name]} == {RECIPES[name].digest()}, (
        f"{name} has changed since its figures were recorded: measure again, or change it back")


def test_the_tables_of_the_readme_are_these_figures_beside_these_yardsticks():
    readme = (ROOT / "results" / "README.md").read_text(encoding="utf-8")
    assert results.put_tables(readme, results.tables(LINES, RECIPES)) == readme


@pytest.mark.parametrize("name", [
    "rnnsearch-bible", "reverse", "dates", "grammar-additive", "grammar-dot"])
def test_a_recipe_builds_the_model_that_was_measured(name):
    recipe = RECIPES[name]
    trained = recipe.create(recipe.load("train"))
    assert trained.model.size == RECORDED[name][0]["parameters"]


@dataclass
class Newer(TranslatorTraining):
    """A training with an option more."""

    strange: bool = option(False, FLAG, "whether it is strange")


def test_a_digest_tells_all_that_figures_depend_on():
    recipe = RECIPES["dates"]
    training = recipe.training
    changed = [
        replace(recipe, corpus=recipe.corpus | {"sure_months": True}),
        replace(recipe, model="encoder-decoder"),
        replace(recipe, settings=recipe.settings | {"hidden": 65}),
        replace(recipe, training=replace(training, clip=2.0)),
        replace(recipe, training=Newer(**asdict(training), strange=True)),
        replace(recipe, beam=4),
    ]
    digests = {one.digest() for one in [recipe, *changed]}
    assert len(digests) == 1 + len(changed) and {len(one) for one in digests} == {8}
    same = [
        replace(recipe, name="other", description="other", metrics=(), baselines={}),
        replace(recipe, settings=dict(reversed(recipe.settings.items()))),
        replace(recipe, training=Newer(**asdict(training))),
    ]
    assert {one.digest() for one in same} == {recipe.digest()}
