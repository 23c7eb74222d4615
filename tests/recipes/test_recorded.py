"""The figures in results/ are those of the recipes as they stand: names, figures, models' sizes."""

from pathlib import Path

import pytest

from numpy_attention.recipes import RECIPES, results

RECORDED = {}
for _line in results.read(Path(__file__).parents[2] / "results"):
    RECORDED.setdefault(_line["recipe"], []).append(_line)


@pytest.mark.parametrize("name", RECORDED)
def test_each_run_recorded_the_figures_of_its_recipe(name):
    seeds = {line["seed"] for line in RECORDED[name]}
    for seed in seeds:
        figures = {(line["split"], line["metric"])
                   for line in RECORDED[name] if line["seed"] == seed}
        assert figures == set(RECIPES[name].metrics), f"seed {seed}"
    assert len({line["parameters"] for line in RECORDED[name]}) == 1


@pytest.mark.parametrize("name", [
    "rnnsearch-bible", "reverse", "dates", "grammar-additive", "grammar-dot"])
def test_a_recipe_builds_the_model_that_was_measured(name):
    recipe = RECIPES[name]
    trained = recipe.create(recipe.load("train"))
    assert trained.model.size == RECORDED[name][0]["parameters"]
