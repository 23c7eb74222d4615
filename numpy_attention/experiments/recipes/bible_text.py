"""A second opinion on the seven language models at equal parameters: the World English Bible."""

from numpy_attention.experiments.recipes.daniluk import FOURGRAM, WINDOW
from numpy_attention.experiments.recipes.equal import READOUT, equal

TEXT = "bible-en"       # it ships

RECIPES = (
    equal("bible-lstm", None, 146, 146, TEXT),
    equal("bible-single", "single", 142, 142, TEXT),
    equal("bible-combined", "combined", 141, 141, TEXT),
    equal("bible-attention", "attention", 141, 141, TEXT, window=WINDOW),
    equal("bible-key-value", "key-value", 250, 125, TEXT, window=WINDOW),
    equal("bible-key-value-predict", "key-value-predict", 327, 109, TEXT, window=WINDOW),
    equal("bible-readout", "ngram", 145, 145, TEXT, what=READOUT, order=2),
    equal("bible-4gram", "ngram", 330, 110, TEXT, what=FOURGRAM, order=4),
)
