"""RNNsearch learns to read backwards: the smallest task whose gold alignment is known."""

from numpy_attention.experiments.recipes.recipe import Recipe
from numpy_attention.experiments.runs.translator import TranslatorTraining

RECIPE = Recipe(
    name="reverse",
    description="RNNsearch on sequences of 3 to 12 symbols and their reversals",
    corpus={"name": "reverse"},
    model="rnnsearch",
    settings={
        "hidden": 64, "embedding": 64,
        "readout": "current", "reset": "after", "update": "old", "init": "modern",
    },
    training=TranslatorTraining(
        epochs=12, batch_size=64, optimizer="adam", learning_rate=3e-3, clip=1.0),
    metrics=(("test", "exact"), ("test", "near"), ("test", "pointing")),
    baselines={
        ("test", "exact"): (0.99, "expected"),
        ("test", "near"): (0.99, "expected"),
    },
)
