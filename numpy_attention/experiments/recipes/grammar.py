"""Where do three attentions look when word order differs? Pointing by phenomenon."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from numpy_attention import metrics
from numpy_attention.data.datasets.grammar import phenomena
from numpy_attention.data.pairs import Pair
from numpy_attention.experiments.recipes.recipe import Recipe
from numpy_attention.experiments.runs import confidence
from numpy_attention.experiments.runs.translator import TranslatorTraining
from numpy_attention.training.distributed.ranks import SINGLE_PROCESS, SingleProcess

PHENOMENA = {"swapped adjective": "pointing_adjective", "negation": "pointing_negation"}


@dataclass(frozen=True)
class GrammarRecipe(Recipe):
    """Measures pointing by phenomenon too: of adjectives that change places, of "ne" and "pas"."""

    def measure(self, trained: Any, data: Any, wanted: set[str], ranks: SingleProcess = SINGLE_PROCESS,
                rng: np.random.Generator | None = None) -> dict[str, float]:
        found = super().measure(trained, data, wanted, ranks, rng)
        weights = trained.attend(data)
        for name, metric in PHENOMENA.items():
            pairs = only(data, name)
            found[metric] = metrics.pointing_accuracy(weights, pairs)
            if rng is not None:
                known = confidence.of_pointing(weights, pairs, rng)["pointing"]
                found |= confidence.named({metric: known})
        return found


def only(pairs: Sequence[Pair], name: str) -> list[Pair]:
    """The pairs with the sure links of one phenomenon alone."""
    return [replace(pair, sure=frozenset(phenomena(pair)[name])) for pair in pairs]


TRAIN = TranslatorTraining(
    epochs=12, batch_size=64, optimizer="adam", learning_rate=4e-3, schedule="linear", clip=1.0)
METRICS = tuple(("test", metric) for metric in ("exact", "pointing", "near", *PHENOMENA.values()))
SIZES = dict(hidden=96, embedding=64, dropout=0.1)
RNNSEARCH = dict(readout="current", reset="after", update="old", init="modern")
LUONG = dict(cell="gru", bidirectional=True, layers=1, input_feeding=True, init="modern")


def grammar(name: str, model: str, settings: dict[str, Any]) -> GrammarRecipe:
    return GrammarRecipe(
        name=f"grammar-{name}",
        description=f"{name} attention, English to French, 20,000 sentences of a small grammar",
        corpus={"name": "grammar-en-fr"},
        model=model,
        settings=SIZES | settings,
        training=TRAIN,
        metrics=METRICS)


RECIPES = (
    grammar("additive", "rnnsearch", RNNSEARCH),
    grammar("dot", "luong", {"attention": "dot"} | LUONG),
    grammar("scaled-dot", "luong", {"attention": "scaled-dot"} | LUONG),
)
