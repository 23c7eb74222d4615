"""One budget for language models: 2 million parameters, the same text and epochs; the controls."""

from typing import Any

from numpy_attention.experiments.recipes.recipe import LanguageRecipe
from numpy_attention.experiments.runs.writer import LanguageModelTraining

# parameters; `within_budget` finds the sizes of the recipes, and a test holds them to it
BUDGET = 2_000_000
SHARED = dict(layers=1, tied=True, dropout=0.3, init=0.1, forget_bias=1.0)
TRAIN = LanguageModelTraining(
    epochs=4, batch_size=20, steps=35, optimizer="adam", learning_rate=2e-3, schedule="linear",
    clip=5.0, frequencies=True)
READOUT = "LSTM with one tanh layer more and no past"
LINEAR = "LSTM with one linear layer more and no past"
TEXTS = {"ptb": "Penn Treebank"}


def equal(
    name: str,
    attention: str | None,
    hidden: int,
    embedding: int,
    corpus: str = "ptb",
    what: str | None = None,
    **settings: Any,
) -> LanguageRecipe:
    """The recipe of one model on PTB, or on `bible-en` as a second opinion.

    attention None: the LSTM alone. what: the model in words, where its attention's name is not
    enough.
    """
    settings = SHARED | dict(hidden=hidden, embedding=embedding) | settings
    model = "language-model"
    if attention is not None:
        model = "attentive-language-model"
        settings["attention"] = attention
    what = what or in_words(attention)
    if "window" in settings:
        what += f", window {settings['window']}"
    text = TEXTS.get(corpus, corpus)
    return LanguageRecipe(
        name=name,
        description=f"{what}, 2 million parameters, 4 epochs, {text}",
        corpus={"name": corpus},
        model=model,
        settings=settings,
        training=TRAIN)


def in_words(attention: str | None) -> str:
    if attention is None:
        return "LSTM"
    if attention == "attention":
        return "LSTM with attention"
    return f"LSTM with {attention} attention"


RECIPES = (
    # beside the LSTM: how far back a gradient reaches
    equal("equal-rnn", None, 191, 191, what="Elman's RNN", cell="rnn"),
    # tanh(h_t W) and no past at all: is attention's gain one more layer between state and softmax?
    equal("equal-readout", "ngram", 172, 172, order=2, what=READOUT),
    # and W h_t, as large as attention without tanh (`layer-attention-linear`)
    equal("equal-linear", "projection", 172, 172, activation="linear", what=LINEAR),
)
