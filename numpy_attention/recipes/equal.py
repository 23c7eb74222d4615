"""One budget for language models: 2 million parameters, the same text and the same four epochs; and two controls."""

from numpy_attention.recipes.recipe import LanguageRecipe
from numpy_attention.runs.writer import WriterTraining

BUDGET = 2_000_000      # parameters; `within_budget` finds the sizes below, and a test holds them to it
SHARED = dict(layers=1, tied=True, dropout=0.3, init=0.1, forget_bias=1.0)
TRAIN = WriterTraining(epochs=4, batch_size=20, steps=35, optimizer="adam", learning_rate=2e-3, schedule="linear", clip=5.0,
                       frequencies=True)


def equal(name, attention, hidden, embedding, corpus="ptb", what=None, **settings):
    """The recipe of one model on PTB, or on `bible-en` as a second opinion; attention None: the LSTM alone. what: the model in
    words, where its attention's name does not tell."""
    settings = SHARED | dict(hidden=hidden, embedding=embedding) | settings
    what = what or ("LSTM" if attention is None else f"LSTM with {attention}{' attention' * (attention != 'attention')}")
    if attention is not None:
        settings["attention"] = attention
    if "window" in settings:
        what += f", window {settings['window']}"
    text = {"ptb": "Penn Treebank"}.get(corpus, corpus)
    return LanguageRecipe(name, f"{what}, 2 million parameters, 4 epochs, {text}", {"name": corpus},
                          "language-model" if attention is None else "attentive-language-model", settings, TRAIN)


RECIPES = (
    equal("equal-rnn", None, 191, 191, what="Elman's RNN", cell="rnn"),     # beside the LSTM: how far back a gradient reaches
    # tanh(h_t W) and no past at all: what of attention's gain is one more layer between state and softmax?
    equal("equal-readout", "ngram", 172, 172, what="LSTM with one tanh layer more and no past", order=2),
)
