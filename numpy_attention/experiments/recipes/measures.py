"""Compute metrics of translators for recipes, in addition to `Translator.measure`.

    perplexity              as in `Translator.measure`, but without translating
    bleu_of_LOW_to_HIGH     BLEU of the sentences with LOW ≤ source tokens ≤ HIGH
    pointing_adjective      pointing accuracy on swapped adjectives and nouns (`grammar-en-fr`)
    pointing_negation       pointing accuracy on the links of "not" (`grammar-en-fr`)
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from numpy_attention import metrics
from numpy_attention.data.datasets.grammar import phenomena
from numpy_attention.data.pairs import Pair
from numpy_attention.experiments.runs import confidence
from numpy_attention.training.distributed.ranks import SingleProcess
from numpy_attention.training.evaluation import evaluate

Generator = np.random.Generator
PHENOMENA = {"swapped adjective": "pointing_adjective", "negation": "pointing_negation"}
LENGTHS = re.compile(r"bleu_of_(\d+)_to_(\d+)")


def perplexity(trained: Any, data: Any, ranks: SingleProcess,
               rng: Generator | None) -> dict[str, float]:
    found = evaluate(trained.model, trained.batches(data), trained.threads, ranks,
                     by_row=rng is not None)
    return confidence.of_likelihood(found, rng)


def metric_of(low: float, high: float) -> str:
    """Return the name of the BLEU metric for sentences with low ≤ source tokens < high."""
    return f"bleu_of_{low:g}_to_{high - 1:g}"


def length_edges(names: Iterable[str]) -> list[int]:
    """Return the edges of the length ranges in metric names: [1, 11] for "bleu_of_1_to_10"."""
    found = [tuple(map(int, match.groups())) for match in map(LENGTHS.fullmatch, names) if match]
    return sorted({edge for low, high in found for edge in (low, high + 1)})


def by_length(trained: Any, data: Any, wanted: Iterable[str], beam: int, ranks: SingleProcess,
              rng: Generator | None) -> dict[str, float]:
    """Return the metrics of `Translator.measure`, and BLEU for the length ranges in `wanted`."""
    sources = [pair.source for pair in data]
    found = trained.translate(sources, beam, threads=trained.threads, ranks=ranks)
    known = trained.measure(data, beam, trained.threads, found, ranks, rng)
    for bucket in metrics.bleu_by_length(
            [one.target for one in found], [pair.target for pair in data],
            list(map(len, sources)), length_edges(wanted), rng=rng):
        name = metric_of(bucket.low, bucket.high)
        known[name] = bucket.bleu
        if bucket.bleu_low is not None:
            known |= {f"{name}_low": bucket.bleu_low, f"{name}_high": bucket.bleu_high}
    return known


def by_phenomenon(trained: Any, data: Any, rng: Generator | None) -> dict[str, float]:
    """Return the pointing accuracy on each phenomenon's links: {"pointing_negation": 0.9, …}."""
    weights = trained.attend(data)
    found: dict[str, float] = {}
    for name, metric in PHENOMENA.items():
        known = confidence.of_pointing(weights, only(data, name), rng)
        found |= {one.replace("pointing", metric): value for one, value in known.items()
                  if one.startswith("pointing")}
    return found


def only(pairs: Sequence[Pair], name: str) -> list[Pair]:
    """Return copies of the pairs with only the sure links of the phenomenon called `name`."""
    return [replace(pair, sure=frozenset(phenomena(pair)[name])) for pair in pairs]
