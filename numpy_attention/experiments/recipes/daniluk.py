"""Short attention spans (Daniluk et al. 2017): their four models and the LSTM at equal parameters.

On the Penn Treebank, for the paper's own corpus, of Wikipedia, was not obtained: on it attention
gained 3.2 of perplexity on the LSTM, key-value 7.0, key-value-predict 9.4. Neither those figures
nor their order can stand beside these. Ours train shorter and otherwise, `equal.py` says how, and
tied, with a small vocabulary, so that more roles leave far smaller word vectors; in the paper they
cost a few per cent. `wikitext.py` comes nearer to it.
"""

from numpy_attention.experiments.recipes.equal import equal

WINDOW = 5      # attention falls mainly on the five states before, the paper finds
FOURGRAM = "4-gram of an LSTM's states, no attention"

RECIPES = (
    equal("daniluk-lstm", None, 174, 174),
    equal("daniluk-attention", "attention", 165, 165, window=WINDOW),
    equal("daniluk-key-value", "key-value", 284, 142, window=WINDOW),
    equal("daniluk-key-value-predict", "key-value-predict", 363, 121, window=WINDOW),
    equal("daniluk-4gram", "ngram", 366, 122, what=FOURGRAM, order=4),
    equal("daniluk-key-value-predict-1", "key-value-predict", 363, 121, window=1),
    equal("daniluk-key-value-predict-10", "key-value-predict", 363, 121, window=10),
    equal("daniluk-key-value-predict-15", "key-value-predict", 363, 121, window=15),
)
