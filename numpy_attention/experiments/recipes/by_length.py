"""Does the fixed vector fail with length, and attention not? (Bahdanau et al. 2015, figure 2)

Translators learn from clauses and whole verses of bible-en-es of up to 50 tokens, three epochs, and
BLEU is recorded for the sentences of each length, too. RNNsearch gives the number of parameters;
the others have the size nearest to it, or, of Luong's and the Transformer, the largest within it.

The learning rate falls for the Transformer alone, for each learns at the rate from which it learns
more in three epochs; validation perplexity at a constant and at a falling one, one seed: additive
8.27 and 8.73, fixed 14.02 and 15.70, general 8.93 and 11.57, transformer 8.37 and 7.77.
"""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from numpy_attention import metrics
from numpy_attention.experiments.recipes.mechanisms import GRU
from numpy_attention.experiments.recipes.recipe import Figure, Recipe
from numpy_attention.experiments.runs.translator import TranslatorTraining
from numpy_attention.training.distributed.ranks import SINGLE_PROCESS, SingleProcess

EDGES = (1, 8, 13, 19, 25, 31, 41, 52)      # of the buckets, as `metrics.bleu_by_length` has them
TRAIN = TranslatorTraining(
    epochs=3, batch_size=64, optimizer="adam", learning_rate=2e-3, clip=1.0, min_count=5)
SIZES = {"hidden": 128, "embedding": 128, "maxout": 64}


def metric_of(low: float, high: float) -> str:
    """The metric of the sentences with low ≤ source tokens < high."""
    return f"bleu_of_{low:g}_to_{high - 1:g}"


BY_LENGTH: tuple[Figure, ...] = tuple(("test", metric_of(*ends)) for ends in pairwise(EDGES))


class ByLength(Recipe):
    """A translation measured by length, too."""

    def measure(self, trained: Any, data: Any, wanted: set[str], ranks: SingleProcess = SINGLE_PROCESS,
                rng: np.random.Generator | None = None) -> dict[str, float]:
        if wanted == {"perplexity"}:
            return super().measure(trained, data, wanted, ranks, rng)
        sources = [pair.source for pair in data]
        found = trained.translate(sources, self.beam, threads=trained.threads, ranks=ranks)
        known = trained.measure(data, self.beam, trained.threads, found, ranks, rng)
        for bucket in metrics.bleu_by_length(
                [one.target for one in found], [pair.target for pair in data],
                list(map(len, sources)), EDGES, rng=rng):
            name = metric_of(bucket.low, bucket.high)
            known |= {name: bucket.bleu}
            if rng is not None:
                known |= {f"{name}_low": bucket.bleu_low, f"{name}_high": bucket.bleu_high}
        return known


def by_length(name: str, model: str, what: str, settings: dict[str, Any],
              training: TranslatorTraining = TRAIN) -> Recipe:
    return ByLength(
        name=f"length-{name}",
        description=f"{what}, 3 million parameters, 3 epochs, clauses and verses of bible-en-es",
        corpus={"name": "bible-en-es", "part": "both"},
        model=model,
        settings=settings,
        training=training,
        metrics=(("valid", "perplexity"), ("test", "perplexity"), ("test", "bleu"), *BY_LENGTH))


RECIPES = (
    by_length("additive", "rnnsearch", "additive attention", GRU | SIZES),
    by_length("fixed", "encoder-decoder", "one fixed vector", GRU | SIZES | {"hidden": 180}),
    by_length("fixed-two-directions", "encoder-decoder", "one fixed vector, source read both ways",
              GRU | SIZES | {"hidden": 136, "bidirectional": True}),
    by_length("fixed-reversed", "encoder-decoder", "one fixed vector, source read from its end",
              GRU | SIZES | {"hidden": 180}, replace(TRAIN, reverse_source=True)),
    by_length("general", "luong", "general attention and input feeding",
              {"hidden": 112, "embedding": 112, "attention": "general", "cell": "gru",
               "bidirectional": True, "layers": 1, "dropout": 0.2, "init": "modern"}),
    by_length("transformer", "transformer", "Transformer, 2 layers, 4 heads",
              {"size": 128, "layers": 2, "heads": 4, "pre_norm": True, "dropout": 0.1,
               "smoothing": 0.1}, replace(TRAIN, schedule="linear")),
)
