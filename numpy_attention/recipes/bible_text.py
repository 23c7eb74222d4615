"""A second opinion on the seven language models at equal parameters: the World English Bible, which ships (`bible-en`)."""

from numpy_attention.recipes.daniluk import WINDOW
from numpy_attention.recipes.equal import equal

RECIPES = tuple(
    equal(f"bible-{name}", attention, hidden, embedding, corpus="bible-en", **settings)
    for name, attention, hidden, embedding, settings in (
        ("lstm", None, 146, 146, {}),
        ("single", "single", 142, 142, {}),
        ("combined", "combined", 141, 141, {}),
        ("attention", "attention", 141, 141, {"window": WINDOW}),
        ("key-value", "key-value", 250, 125, {"window": WINDOW}),
        ("key-value-predict", "key-value-predict", 327, 109, {"window": WINDOW}),
        ("4gram", "ngram", 330, 110, {"order": 4, "what": "4-gram of an LSTM's states, no attention"}),
    ))
