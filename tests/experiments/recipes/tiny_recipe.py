"""A recipe that trains in a second."""

from numpy_attention.experiments.recipes.recipe import Recipe
from numpy_attention.experiments.runs.translator import TranslatorTraining

TINY = Recipe(
    name="tiny",
    description="copies three symbols",
    corpus={"name": "copy", "count": 60, "max_length": 3},
    model="rnnsearch",
    settings={"hidden": 8, "embedding": 4, "init": "modern"},
    training=TranslatorTraining(epochs=1, batch_size=16, learning_rate=0.01),
    metrics=(
        ("valid", "perplexity"),
        ("test", "perplexity"),
        ("test", "bleu"),
        ("test", "pointing"),
    ),
    baselines={("valid", "perplexity"): (2.5, "a textbook")},
    beam=2)
