"""RNNsearch learns to write any date as YYYY-MM-DD, letter by letter, and points at digits."""

from numpy_attention.experiments.recipes.recipe import Recipe
from numpy_attention.experiments.runs.translator import TranslatorTraining

RECIPE = Recipe(
    name="dates",
    description="RNNsearch from human spellings of dates to ISO 8601, character by character",
    # a month's digits are linked to no character in particular
    corpus={"name": "dates", "sure_months": False},
    model="rnnsearch",
    settings={
        "hidden": 64, "embedding": 64,
        "readout": "current", "reset": "after", "update": "old", "init": "modern",
    },
    training=TranslatorTraining(
        epochs=4, batch_size=64, optimizer="adam", learning_rate=2e-3, clip=1.0),
    metrics=(("test", "exact"), ("test", "near"), ("test", "pointing")),
    baselines={
        ("test", "exact"): (0.99, "expected"),
        ("test", "near"): (0.99, "expected"),
    },
)
