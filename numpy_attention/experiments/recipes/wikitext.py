"""Short attention spans (Daniluk et al. 2017) in the paper's own regime, on WikiText-2.

What `daniluk.py` could not be, for there the words are few and the tables tied: here W* is a matrix
of its own and has all 33,280 words of the text, so that a second and a third role of the state cost
little of 7 million parameters: word vectors of 102 numbers with one role, 100 with two, 97 with
three. As in the paper: Adam at 0.001, batches of 64, norms clipped at 5, U(±0.1), forget bias 1, 20
steps at a time, which the memory does not leave. The state begins anew with every article. The
paper's text is another part of Wikipedia, and its models have 47 million parameters.

`wikitext-linear` and `-tanh` are controls: the layer that every attentive model has above the
state, and no past. So is `wikitext-lstm-order-1`: with seed 0 it has the initial values of
`wikitext-lstm` with seed 0, and reads the articles in the order of seed 1.
"""

from dataclasses import replace
from typing import Any

from numpy_attention.experiments.recipes.recipe import LanguageRecipe
from numpy_attention.experiments.runs.writer import LanguageModelTraining

# parameters; `within_budget` finds the sizes below, and a test holds them to it
BUDGET = 7_000_000
WINDOW = 5
SHARED: dict[str, Any] = dict(layers=1, tied=False, dropout=0.0, init=0.1, forget_bias=1.0)
TRAIN = LanguageModelTraining(
    epochs=3, batch_size=64, steps=20, state="article", optimizer="adam", learning_rate=1e-3,
    clip=5.0)


def wikitext(name: str, attention: str | None, hidden: int, embedding: int,
             **settings: Any) -> LanguageRecipe:
    """attention None: the LSTM alone."""
    what = "LSTM"
    if attention is not None:
        settings["attention"] = attention
        what = {
            "ngram": f"{settings.get('order')}-gram of an LSTM's states",
            "projection": f"LSTM and a {settings.get('activation')} layer",
        }.get(attention, f"LSTM with {attention}, window {settings.get('window')}")
    return LanguageRecipe(
        name=f"wikitext-{name}",
        description=f"{what}, 7 million parameters, untied, 3 epochs, WikiText-2",
        corpus={"name": "wikitext-2"},
        model="language-model" if attention is None else "attentive-language-model",
        settings=SHARED | dict(hidden=hidden, embedding=embedding) | settings,
        training=TRAIN)


def attentive(attention: str, hidden: int, embedding: int, window: int = WINDOW) -> LanguageRecipe:
    name = attention if window == WINDOW else f"{attention}-{window}"
    return wikitext(name, attention, hidden, embedding, window=window)


def layer(activation: str) -> LanguageRecipe:
    return wikitext(activation, "projection", 103, 103, activation=activation)


def ngram(order: int, hidden: int, embedding: int) -> LanguageRecipe:
    return wikitext(f"{order}gram", "ngram", hidden, embedding, order=order)


LSTM = wikitext("lstm", None, 103, 103)
RECIPES = (
    LSTM,
    replace(LSTM, name=f"{LSTM.name}-order-1",
            description=f"as {LSTM.name}, the articles in the order of its seed 1",
            training=replace(TRAIN, order_seed=1)),
    layer("linear"),
    layer("tanh"),
    attentive("attention", 102, 102),
    attentive("key-value", 200, 100),
    attentive("key-value-predict", 291, 97),
    ngram(2, 103, 103),
    ngram(3, 200, 100),
    ngram(4, 291, 97),
    ngram(5, 372, 93),
    *(attentive("key-value-predict", 291, 97, window) for window in (1, 15)),
    *(attentive("attention", 102, 102, window) for window in (1, 15)),
    *(attentive("key-value", 200, 100, window) for window in (1, 15)),
)
