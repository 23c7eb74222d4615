"""Where do three attentions look when word order differs? English to French by a small grammar, pointing by phenomenon."""

from dataclasses import dataclass, replace

from numpy_attention import metrics
from numpy_attention.data.grammar import phenomena
from numpy_attention.recipes.recipe import Recipe
from numpy_attention.runs.translator import TranslatorTraining

PHENOMENA = {"swapped adjective": "pointing_adjective", "negation": "pointing_negation"}


@dataclass(frozen=True)
class GrammarRecipe(Recipe):
    """Also measures pointing on adjectives and nouns that change places, and on "not" with "ne" and "pas"."""

    def measure(self, trained, data, wanted):
        found = super().measure(trained, data, wanted)
        weights = trained.attend(data)
        for name, metric in PHENOMENA.items():
            found[metric] = metrics.pointing_accuracy(weights, only(data, name))
        return found


def only(pairs, name):
    """The pairs with the sure links of one phenomenon alone."""
    return [replace(pair, sure=frozenset(phenomena(pair)[name])) for pair in pairs]


TRAIN = TranslatorTraining(epochs=12, batch_size=64, optimizer="adam", learning_rate=4e-3, schedule="linear", clip=1.0)
METRICS = tuple(("test", metric) for metric in ("exact", "pointing", "near", *PHENOMENA.values()))


def grammar(name, model, **settings):
    return GrammarRecipe(f"grammar-{name}", f"{name} attention, English to French, 20,000 sentences of a small grammar",
                         {"name": "grammar-en-fr"}, model, dict(hidden=96, embedding=64, dropout=0.1) | settings, TRAIN,
                         METRICS)


LUONG = dict(cell="gru", bidirectional=True, layers=1, input_feeding=True, init="modern")

RECIPES = (
    grammar("additive", "rnnsearch", readout="current", reset="after", update="old", init="modern"),
    grammar("dot", "luong", attention="dot", **LUONG),
    grammar("scaled-dot", "luong", attention="scaled-dot", **LUONG),
)
