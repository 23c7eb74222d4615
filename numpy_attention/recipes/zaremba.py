"""LSTM language models on the Penn Treebank (Zaremba, Sutskever & Vinyals 2014), at the sizes of their table 1."""

from numpy_attention.recipes.recipe import LanguageRecipe
from numpy_attention.runs.writer import WriterTraining

PAPER = "Zaremba et al. 2014, table 1"
SMALL = dict(hidden=200, layers=2, init=0.1)
TRAIN_SMALL = WriterTraining(epochs=13, batch_size=20, steps=20, optimizer="sgd", learning_rate=1.0, schedule="decay",
                             full_epochs=4, divisor=2.0, clip=5.0, keep="last")
TRAIN_MEDIUM = WriterTraining(epochs=39, batch_size=20, steps=35, optimizer="sgd", learning_rate=1.0, schedule="decay",
                              full_epochs=6, divisor=1.2, clip=5.0, keep="last")


def _recipe(name, description, settings, training, valid, test, source=PAPER):
    return LanguageRecipe(name, f"{description}, Penn Treebank", {"name": "ptb"}, "language-model", settings, training,
                          yardsticks={("valid", "perplexity"): (valid, source), ("test", "perplexity"): (test, source)})


RECIPES = (
    _recipe("zaremba-small", "LSTM of 2 × 200 units as published", SMALL, TRAIN_SMALL, 120.7, 114.5),
    _recipe("zaremba-small-tied", "the same with input and output embeddings tied", SMALL | {"tied": True}, TRAIN_SMALL,
            117.5, 112.4, "Press & Wolf 2017, table 3"),
    _recipe("zaremba-medium", "LSTM of 2 × 650 units, dropout 0.5, as published (hours)",
            dict(hidden=650, layers=2, init=0.05, dropout=0.5), TRAIN_MEDIUM, 86.2, 82.7),
)
