"""What a translator is measured by: likelihood, the text it writes, where its attention points."""

from collections.abc import Sequence

import numpy as np

from numpy_attention import metrics
from numpy_attention.data.pairs import Pair
from numpy_attention.module import Array
from numpy_attention.experiments.runs import confidence
from numpy_attention.training.evaluation import Evaluation

Tokens = Sequence[str]


def of_all(
    read: Evaluation, found: Sequence[Tokens], greedy: Sequence[Tokens],
    weights: Sequence[Array] | None, pairs: Sequence[Pair], by_row: Sequence[int],
    rng: np.random.Generator | None = None,
) -> dict[str, float]:
    """All of the following; weights: None where no pair has gold links.

    rng: for the intervals of `confidence`, too; read then has rows, of by_row words each.
    """
    result = of_likelihood(read, pairs) | of_text(found, greedy, pairs)
    if weights is not None:
        result |= of_pointing(weights, pairs)
    if rng is None:
        return result
    known = confidence.of_likelihood(read, rng, by_row)
    known |= confidence.of_text(found, greedy, pairs, rng)
    if weights is not None:
        known |= confidence.of_pointing(weights, pairs, rng)
    return result | confidence.named(known)


def of_likelihood(found: Evaluation, pairs: Sequence[Pair]) -> dict[str, float]:
    """perplexity over so many tokens, and per word, where tokens are pieces of words."""
    words = sum(len(pair.target) + 1 for pair in pairs)         # a sentence's end is predicted too
    return {
        "perplexity": found.perplexity,
        "tokens": found.tokens,
        "perplexity_word": Evaluation(found.loss, words).perplexity,
    }


def of_text(
    found: Sequence[Tokens], greedy: Sequence[Tokens], pairs: Sequence[Pair]
) -> dict[str, float]:
    """BLEU and chrF of what a beam found; of greedy translations BLEU, and the share exact."""
    references = [pair.target for pair in pairs]
    return {
        "bleu_greedy": metrics.bleu(greedy, references).score,
        "exact": metrics.exact_match(map(tuple, greedy), references),
        "bleu": metrics.bleu(found, references).score,
        "bleu_13a": metrics.bleu(found, references, "13a").score,
        "chrf": metrics.chrf(found, references).score,
    }


def of_pointing(weights: Sequence[Array], pairs: Sequence[Pair]) -> dict[str, float]:
    """How well attention weights agree with the gold links of the pairs."""
    links = metrics.links_from_weights(weights, pairs)
    return {
        "pointing": metrics.pointing_accuracy(weights, pairs),
        "near": metrics.near_pointing(weights, pairs),
        "diagonal": metrics.diagonal_pointing(pairs),
        "aer": metrics.alignment_error_rate(links, pairs),
    }
