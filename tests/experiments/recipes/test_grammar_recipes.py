"""The grammar's recipes: pointing on one phenomenon alone is counted by hand."""

from dataclasses import replace

import numpy as np
import pytest

from numpy_attention.data.datasets.grammar import phenomena
from numpy_attention.experiments.recipes.grammar import PHENOMENA, RECIPES, only

SMALL = dict(hidden=8, embedding=8)


@pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)
def test_pointing_by_phenomenon(recipe):
    recipe = replace(
        recipe, corpus=recipe.corpus | {"count": 150}, settings=recipe.settings | SMALL,
        training=replace(recipe.training, epochs=1))
    trained = recipe.create(recipe.load("train"))
    trained.fit(recipe.load("train"), recipe.load("valid"), threads=1, progress=False)
    pairs = recipe.load("test")
    found = recipe.measure(trained, pairs, {metric for _, metric in recipe.metrics})
    assert {metric for _, metric in recipe.metrics} <= found.keys()
    weights = trained.attend(pairs)
    for name, metric in (("swapped adjective", "pointing_adjective"),
                         ("negation", "pointing_negation")):
        links = [(rows, i, j)
                 for pair, rows in zip(pairs, weights)
                 for i, j in phenomena(pair)[name]]
        assert len(links) > 50
        right = np.mean([rows[j, :-1].argmax() == i for rows, i, j in links])
        assert found[metric] == pytest.approx(right)
    rng = np.random.default_rng(0)
    metrics = {metric for _, metric in recipe.metrics}
    more = recipe.measure(trained, pairs, metrics, rng=rng)
    for metric in PHENOMENA.values():
        low, high = (more[f"{metric}_{end}"] for end in ("low", "high"))
        assert low <= more[metric] == found[metric] <= high <= 1


def test_only_keeps_the_links_of_one_phenomenon():
    pairs = RECIPES[0].load("test")[:200]
    for name in PHENOMENA:
        for pair, kept in zip(pairs, only(pairs, name)):
            assert kept.source == pair.source
            assert kept.sure == set(phenomena(pair)[name]) <= pair.sure
