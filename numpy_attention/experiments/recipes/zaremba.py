"""LSTM language models on the Penn Treebank, of the sizes in table 1 of Zaremba et al. 2014."""

from typing import Any

from numpy_attention.experiments.recipes.recipe import LanguageRecipe
from numpy_attention.experiments.runs.writer import LanguageModelTraining

PAPER = "Zaremba et al. 2014, table 1"
PRESS = "Press & Wolf 2017, table 3"
SMALL = dict(hidden=200, layers=2, init=0.1)
TIED = SMALL | {"tied": True}
MEDIUM = dict(hidden=650, layers=2, init=0.05, dropout=0.5)
TRAIN_SMALL = LanguageModelTraining(
    epochs=13, batch_size=20, steps=20, optimizer="sgd", learning_rate=1.0, schedule="decay",
    full_epochs=4, divisor=2.0, clip=5.0, keep="last")
TRAIN_MEDIUM = LanguageModelTraining(
    epochs=39, batch_size=20, steps=35, optimizer="sgd", learning_rate=1.0, schedule="decay",
    full_epochs=6, divisor=1.2, clip=5.0, keep="last")


def zaremba(
    name: str,
    what: str,
    settings: dict[str, Any],
    training: LanguageModelTraining,
    valid: float,
    test: float,
    source: str = PAPER,
) -> LanguageRecipe:
    return LanguageRecipe(
        name=f"zaremba-{name}",
        description=f"{what}, Penn Treebank",
        corpus={"name": "ptb"},
        model="language-model",
        settings=settings,
        training=training,
        baselines={
            ("valid", "perplexity"): (valid, source),
            ("test", "perplexity"): (test, source),
        })


RECIPES = (
    zaremba("small", "LSTM of 2 × 200 units as published", SMALL, TRAIN_SMALL, 120.7, 114.5),
    zaremba("small-tied", "the same with input and output embeddings tied", TIED, TRAIN_SMALL,
            117.5, 112.4, PRESS),
    zaremba("medium", "LSTM of 2 × 650 units, dropout 0.5, as published (hours)", MEDIUM,
            TRAIN_MEDIUM, 86.2, 82.7),
)
