"""Is it attention, or the second direction? Beside `clauses-fixed` and `clauses-additive`.

Those two differ in both. Here the fixed vector is given what else RNNsearch has, or what Sutskever
et al. 2014 gave it, and attention is left with one direction:

    fixed-two-directions        c_i = h_S = [→h_S; ←h_S],  s_0 = tanh(W_s ←h_1 + b_s)
    fixed-reversed              as clauses-fixed, the source read from its end
    additive-one-direction      as clauses-additive, h_j = →h_j

With two directions ←h_1, which has read all, begins the decoder's states; c_i has →h_S.
"""

from dataclasses import replace

from numpy_attention.experiments.recipes.mechanisms import GRU, TRAIN, of_budget

RECIPES = (
    of_budget("fixed-two-directions", "encoder-decoder", {"hidden": 128, "embedding": 128},
              "one fixed vector, source read both ways", GRU | {"bidirectional": True}),
    of_budget("fixed-reversed", "encoder-decoder", {"hidden": 136, "embedding": 136},
              "one fixed vector, source read from its end", GRU,
              replace(TRAIN, reverse_source=True)),
    of_budget("additive-one-direction", "rnnsearch", {"hidden": 136, "embedding": 136},
              "additive attention, source read one way", GRU | {"bidirectional": False}),
)
