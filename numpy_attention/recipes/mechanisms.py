"""One budget, thirteen mechanisms: translators of three million parameters on the clauses of bible-en-es.

All but the fixed vector (one GRU from left to right) and the Transformer read the source with a bidirectional GRU, and all but
the Transformer write with a GRU. `fixed` and `additive` are RNNsearch: the context enters the GRU, and a maxout layer reads
out; the others are Luong's decoder. Between rows of one decoder only the attention changes, or, where `-feeding` says so, the
wire back; and with it, at equal parameters, the size.
"""

from numpy_attention.recipes.recipe import Recipe
from numpy_attention.recipes.rnnsearch_bible import RECIPE as FULL
from numpy_attention.runs.translator import TranslatorTraining

BUDGET = 3_000_000      # parameters; `translator_within_budget` finds the sizes below, and a test holds them to it
TRAIN = TranslatorTraining(epochs=6, batch_size=64, optimizer="adam", learning_rate=2e-3, schedule="linear", clip=1.0,
                           min_count=3)
GRU = dict(dropout=0.2, readout="current", reset="after", update="old", init="modern")
# as RNNsearch begins; dot from the paper's U(−0.1, 0.1), for a thousand units, has perplexity 22.6 after an epoch, not 13.8
LUONG = dict(dropout=0.2, cell="gru", bidirectional=True, layers=1, input_feeding=False, init="modern")


def mechanism(name, model, size, what, **settings):
    sizes = {"size": size} if model == "transformer" else {"hidden": size, "embedding": size}
    return Recipe(f"clauses-{name}", f"{what}, 3 million parameters, 6 epochs, clauses of bible-en-es", FULL.corpus, model,
                  sizes | settings, TRAIN, FULL.metrics)


RECIPES = (
    mechanism("fixed", "encoder-decoder", 136, "one fixed vector", **GRU),
    mechanism("additive", "rnnsearch", 128, "additive attention, asked by s_{i−1}", **GRU),
    mechanism("dot", "luong", 120, "dot attention, asked by h_t", attention="dot", **LUONG),
    mechanism("general", "luong", 120, "general attention", attention="general", **LUONG),
    mechanism("concat", "luong", 120, "concat: additive attention, asked by h_t", attention="concat", **LUONG),
    mechanism("location", "luong", 120, "location attention", attention="location", longest=13, **LUONG),
    mechanism("local-m", "luong", 120, "general attention, window local-m, D = 2", attention="general", window="local-m", D=2,
              **LUONG),
    mechanism("local-p", "luong", 120, "general attention, window local-p, D = 2", attention="general", window="local-p", D=2,
              **LUONG),
    mechanism("dot-feeding", "luong", 120, "dot attention and input feeding", attention="dot",
              **LUONG | {"input_feeding": True}),
    mechanism("general-feeding", "luong", 120, "general attention and input feeding", attention="general",
              **LUONG | {"input_feeding": True}),
    mechanism("scaled-dot", "luong", 120, "scaled dot attention", attention="scaled-dot", **LUONG),
    mechanism("multi-head", "luong", 120, "multi-head attention, 4 heads", attention="multi-head", heads=4, **LUONG),
    mechanism("transformer", "transformer", 136, "Transformer, 2 layers, 4 heads", layers=2, heads=4, pre_norm=True,
              dropout=0.1, smoothing=0.1),
)
