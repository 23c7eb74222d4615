"""Is it the attention, or the layer above the state? One size, everything else alike.

Every attentive language model has one layer more than the LSTM: y = tanh(W_x h + W_r r), where the
LSTM predicts from h itself. `layer-*` have states and word vectors of 165 numbers, whatever they
cost, and differ in that layer alone: none, linear, tanh, and both with attention over five states
or over all of a chunk. Training and text are those of `equal.py`. `-untied` read and predict with
tables of their own.
"""

from typing import Any

from numpy_attention.experiments.recipes.equal import SHARED, TRAIN
from numpy_attention.experiments.recipes.recipe import LanguageRecipe

SIZE = 165      # that of `daniluk-attention`


def layer(name: str, what: str, tied: bool, **reading: Any) -> LanguageRecipe:
    """reading: the settings of the layer above the state; none: there is no such layer."""
    model = "attentive-language-model" if reading else "language-model"
    tables = "tied" if tied else "untied"
    return LanguageRecipe(
        name=f"layer-{name}" if tied else f"layer-{name}-untied",
        description=f"{what}, {tables}, states of {SIZE}, 4 epochs, Penn Treebank",
        corpus={"name": "ptb"},
        model=model,
        settings=SHARED | dict(tied=tied, hidden=SIZE, embedding=SIZE) | reading,
        training=TRAIN)


def layers(tied: bool) -> tuple[LanguageRecipe, ...]:
    linear = dict(activation="linear")
    five = dict(attention="attention", window=5)
    whole = dict(attention="attention")
    above = dict(attention="projection")
    return (
        layer("lstm", "LSTM", tied),
        layer("linear", "LSTM and a linear layer", tied, **above, **linear),
        layer("tanh", "LSTM and a tanh layer", tied, **above),
        layer("attention-linear", "attention over 5 states, no tanh", tied, **five, **linear),
        layer("attention-tanh", "attention over 5 states", tied, **five),
        layer("attention-all-linear", "attention over all of a chunk, no tanh", tied, **whole,
              **linear),
        layer("attention-all-tanh", "attention over all of a chunk", tied, **whole),
    )


RECIPES = (*layers(tied=True), *layers(tied=False))
