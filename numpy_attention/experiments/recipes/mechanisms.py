"""One budget, all mechanisms: translators of 3 million parameters, clauses of bible-en-es.

All but the fixed vector (one GRU from left to right) and the Transformer read the source with a
bidirectional GRU, and all but the Transformer write with a GRU. `fixed` and `additive` are
RNNsearch: the context enters the GRU, and a maxout layer reads out; the others are Luong's
decoder. Between rows of one decoder only the attention changes, or, where `-feeding` says so, the
wire back; and with it, at equal parameters, the size.
"""

from typing import Any

from numpy_attention.registry import SCORES
from numpy_attention.experiments.recipes.recipe import Recipe
from numpy_attention.experiments.recipes.rnnsearch_bible import RECIPE as FULL
from numpy_attention.experiments.runs.translator import TranslatorTraining

# parameters; `translator_within_budget` finds the sizes below, and a test holds them to it
BUDGET = 3_000_000
TRAIN = TranslatorTraining(
    epochs=6, batch_size=64, optimizer="adam", learning_rate=2e-3, schedule="linear", clip=1.0,
    min_count=3)
GRU = dict(dropout=0.2, readout="current", reset="after", update="old", init="modern")
# initial values as RNNsearch's: from the paper's U(−0.1, 0.1), for a thousand units, dot has
# perplexity 22.6 after an epoch, not 13.8
LUONG = dict(
    dropout=0.2, cell="gru", bidirectional=True, layers=1, input_feeding=False, init="modern")
SIZES = {"hidden": 120, "embedding": 120}


def of_budget(
    name: str, model: str, sizes: dict[str, int], what: str, settings: dict[str, Any],
    training: TranslatorTraining = TRAIN,
) -> Recipe:
    """A translator as all of these, but for what is said."""
    return Recipe(
        name=name,
        description=f"{what}, 3 million parameters, 6 epochs, clauses of bible-en-es",
        corpus=FULL.corpus,
        model=model,
        settings=sizes | settings,
        training=training,
        metrics=FULL.metrics)


def mechanism(
    name: str, model: str, sizes: dict[str, int], what: str, settings: dict[str, Any]
) -> Recipe:
    return of_budget(f"clauses-{name}", model, sizes, what, settings)


def rnnsearch(name: str, model: str, size: int, what: str) -> Recipe:
    return mechanism(name, model, {"hidden": size, "embedding": size}, what, GRU)


def luong(name: str, attention: str, what: str, **settings: Any) -> Recipe:
    return mechanism(name, "luong", SIZES, what, {"attention": attention} | LUONG | settings)


def with_own(attention: type) -> Recipe:
    """Luong's decoder with an attention of a reader's own: beside the others in `compare`."""
    return of_budget(f"own-{attention.__name__}", "luong", SIZES,
                     f"{attention.__name__} attention of your own",
                     {"attention": attention} | LUONG)


def transformer(name: str, size: int, what: str, **settings: Any) -> Recipe:
    return mechanism(name, "transformer", {"size": size}, what, settings)


NAMED = (
    rnnsearch("fixed", "encoder-decoder", 136, "one fixed vector"),
    rnnsearch("additive", "rnnsearch", 128, "additive attention, asked by s_{i−1}"),
    luong("dot", "dot", "dot attention, asked by h_t"),
    luong("general", "general", "general attention"),
    luong("concat", "concat", "concat: additive attention, asked by h_t"),
    luong("location", "location", "location attention", longest=13),
    luong("local-m", "general", "general attention, window local-m, width 2",
          window="local-m", width=2),
    luong("local-p", "general", "general attention, window local-p, width 2",
          window="local-p", width=2),
    luong("dot-feeding", "dot", "dot attention and input feeding", input_feeding=True),
    luong("general-feeding", "general", "general attention and input feeding", input_feeding=True),
    luong("scaled-dot", "scaled-dot", "scaled dot attention"),
    luong("multi-head", "multi-head", "multi-head attention, 4 heads", heads=4),
    transformer("transformer", 136, "Transformer, 2 layers, 4 heads",
                layers=2, heads=4, pre_norm=True, dropout=0.1, smoothing=0.1),
)
ATTENTIONS = {recipe.settings.get("attention") for recipe in NAMED}
# a score that is new in `names` takes part as it is
OTHERS = tuple(luong(name, name, f"{name} attention") for name in SCORES if name not in ATTENTIONS)

RECIPES = NAMED + OTHERS
