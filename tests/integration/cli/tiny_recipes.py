"""Recipes that train in a second, for `compare`.

    mpirun -n 3 python tiny_recipes.py compare 'tiny-*'         the command line with only these
"""

import sys
from dataclasses import replace

from numpy_attention.cli import compare
from numpy_attention.cli.main import main
from numpy_attention.experiments import compare as comparison
from numpy_attention.experiments.recipes import RECIPES
from numpy_attention.experiments.recipes.recipe import Recipe
from numpy_attention.experiments.runs.translator import TranslatorTraining

HOW = TranslatorTraining(epochs=2, batch_size=16, learning_rate=0.01)
COPY = {"name": "copy", "count": 60, "max_length": 5, "min_length": 2}
SMALL = dict(hidden=8, embedding=6)


def tiny(name, model="rnnsearch", training=HOW, corpus=COPY, **settings):
    return Recipe(name, name, corpus, model, settings or SMALL, training, (("test", "bleu"),))


KNOWN = {one.name: one for one in [
    tiny("tiny-additive"),
    tiny("tiny-fixed", "encoder-decoder"),
    tiny("tiny-dot", "luong", layers=1, **SMALL),
    tiny("other-text", corpus=COPY | {"count": 50}),
    replace(tiny("other-budget", training=replace(HOW, epochs=3)), description="tiny, 3 epochs"),
    tiny("diverging", training=replace(HOW, learning_rate=1e30)),
    tiny("endless", training=replace(HOW, epochs=10**6)),
    tiny("endless-too", training=replace(HOW, epochs=10**6)),
    RECIPES["zaremba-small"],
]}

if __name__ == "__main__":
    compare.RECIPES = comparison.RECIPES = KNOWN
    sys.exit(main())
