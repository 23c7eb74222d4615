"""Between what a figure lies: 95 % intervals of what `figures` measures, over a text's sentences.

All are bootstraps (of BLEU and chrF in `metrics`): what another text of the same kind might give.
What another training would give is seen over seeds alone.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from numpy_attention import metrics
from numpy_attention.bootstrap import mean_interval
from numpy_attention.data.pairs import Pair
from numpy_attention.module import Array
from numpy_attention.training.evaluation import Evaluation

Intervals = dict[str, tuple[float, float]]      # metric: low, high


def draws(seed: int) -> np.random.Generator:
    """The draws of the intervals of a run with this seed."""
    return np.random.default_rng([seed, 2])


def of_likelihood(found: Evaluation, rng: np.random.Generator,
                  words: Sequence[int] | None = None) -> Intervals:
    """perplexity, and per word where a row has so many words; found: with its rows."""
    assert found.rows is not None
    losses, tokens = found.rows
    known = {"perplexity": mean_interval(losses, tokens, rng)}
    if words is not None:
        known["perplexity_word"] = mean_interval(losses, np.asarray(words), rng)
    return {name: (math.exp(one.low), math.exp(one.high)) for name, one in known.items()}


def of_text(found: Sequence[Any], greedy: Sequence[Any], pairs: Sequence[Pair],
            rng: np.random.Generator) -> Intervals:
    """BLEU and chrF of what a beam found; of greedy translations BLEU, and the share exact."""
    references = [pair.target for pair in pairs]
    scores = {
        "bleu_greedy": metrics.bleu(greedy, references, rng=rng),
        "bleu": metrics.bleu(found, references, rng=rng),
        "bleu_13a": metrics.bleu(found, references, "13a", rng=rng),
        "chrf": metrics.chrf(found, references, rng=rng),
    }
    known: Intervals = {}
    for name, score in scores.items():
        assert score.low is not None and score.high is not None     # for draws were asked for
        known[name] = score.low, score.high
    exact = [tuple(one) == tuple(reference) for one, reference in zip(greedy, references)]
    known["exact"] = share_of(exact, [1] * len(exact), rng)
    return known


def of_pointing(weights: Sequence[Array], pairs: Sequence[Pair],
                rng: np.random.Generator) -> Intervals:
    """Pointing, near, diagonal and the alignment error rate.

    Each is a share of the whole text's links; a sentence's part of it is its own share, of as many.
    """
    pointed = [pair for pair in pairs if pair.sure]
    looked = [one for one, pair in zip(weights, pairs) if pair.sure]
    sure = [len(pair.sure) for pair in pointed]
    linked = [len({j for _, j in pair.sure}) for pair in pointed]
    links = metrics.links_from_weights(weights, pairs)
    either = [len(one) + len(pair.sure) for one, pair in zip(links, pairs)]
    return {
        "pointing": share_of([metrics.pointing_accuracy([one], [pair])
                              for one, pair in zip(looked, pointed)], sure, rng),
        "near": share_of([metrics.near_pointing([one], [pair])
                          for one, pair in zip(looked, pointed)], linked, rng),
        "diagonal": share_of([metrics.diagonal_pointing([pair]) for pair in pointed], sure, rng),
        "aer": share_of([metrics.alignment_error_rate([one], [pair]) if count else 0.0
                         for one, pair, count in zip(links, pairs, either)], either, rng),
    }


def share_of(shares: Iterable[float], counts: Sequence[int],
             rng: np.random.Generator) -> tuple[float, float]:
    """Between what a share of the whole lies, from each sentence's own, of so many."""
    counted = np.asarray(counts, float)
    found = mean_interval(np.fromiter(shares, float) * counted, counted, rng)
    return found.low, found.high


def named(intervals: Intervals) -> dict[str, float]:
    """{"bleu_low": …, "bleu_high": …, …}, to stand beside the figures."""
    return {f"{name}_{end}": value for name, ends in intervals.items()
            for end, value in zip(("low", "high"), ends)}
