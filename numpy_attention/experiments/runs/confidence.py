"""Metrics of a run on a text, and their 95 % confidence intervals.

Intervals come from a bootstrap over sentences; `metrics` computes those of BLEU and chrF. An
interval measures the variation between texts of the same kind. To measure the variation between
training runs, train with several seeds.

Each function except `draws` returns {metric: value}. If rng is given, and there are at least two
sentences, the dict also contains the ends of each metric's interval, `…_low` and `…_high`.
"""

import math
from collections.abc import Iterable, Sequence

import numpy as np

from numpy_attention import metrics
from numpy_attention.bootstrap import mean_interval
from numpy_attention.data.pairs import Pair
from numpy_attention.module import Array
from numpy_attention.training.evaluation import Evaluation

Figures = dict[str, float]
Generator = np.random.Generator


def draws(seed: int) -> Generator:
    """Return the random generator for the confidence intervals of a run with this seed."""
    return np.random.default_rng([seed, 2])


def with_ends(name: str, value: float, ends: tuple[float, float] | None) -> Figures:
    if ends is None:
        return {name: value}
    return {name: value, f"{name}_low": ends[0], f"{name}_high": ends[1]}


def of_likelihood(found: Evaluation, rng: Generator | None = None,
                  name: str = "perplexity", words: Sequence[int] | None = None) -> Figures:
    """Return the perplexity per token, or per word if `words` is given, as {name: perplexity}.

    words: the number of words in each row. If rng is given, `found.rows` must not be None.
    """
    perplexity = Evaluation(found.loss, found.tokens if words is None else sum(words)).perplexity
    if rng is None:
        return {name: perplexity}
    assert found.rows is not None
    losses, tokens = found.rows
    if len(losses) == 1:
        return {name: perplexity}
    interval = mean_interval(losses, tokens if words is None else np.asarray(words), rng)
    return with_ends(name, perplexity, (math.exp(interval.low), math.exp(interval.high)))


def of_text(found: Sequence[Sequence[str]], greedy: Sequence[Sequence[str]],
            pairs: Sequence[Pair], rng: Generator | None = None) -> Figures:
    """Return the metrics of translations by beam search (`found`) and by greedy search.

    If no translation, or no reference, has four tokens, BLEU measures nothing. In this case, the
    dict also has "bleu_empty": 1, and "empty", which is 1 if all translations are empty, else 0.
    """
    references = [pair.target for pair in pairs]
    scores = {
        "bleu_greedy": metrics.bleu(greedy, references, rng=rng),
        "bleu": metrics.bleu(found, references, rng=rng),
        "bleu_13a": metrics.bleu(found, references, "13a", rng=rng),
        "chrf": metrics.chrf(found, references, rng=rng),
    }
    known: Figures = {}
    for name, score in scores.items():
        ends = None if score.low is None or score.high is None else (score.low, score.high)
        known |= with_ends(name, score.score, ends)
    if scores["bleu"].note:
        known |= {"bleu_empty": 1, "empty": float(not any(map(len, found)))}
    greedy = list(map(tuple, greedy))
    exact = [one == tuple(reference) for one, reference in zip(greedy, references)]
    return known | share("exact", metrics.exact_match(greedy, references), exact,
                         [1] * len(exact), rng)


def of_pointing(weights: Sequence[Array], pairs: Sequence[Pair],
                rng: Generator | None = None) -> Figures:
    """Measure how well the attention weights of pairs agree with their gold links.

    The metrics are pointing, near and aer (alignment error rate), and the baseline diagonal.
    """
    links = metrics.links_from_weights(weights, pairs)
    pointed = [(one, pair) for one, pair in zip(weights, pairs) if pair.sure]
    sure = [len(pair.sure) for _, pair in pointed]
    linked = [len({j for _, j in pair.sure}) for _, pair in pointed]
    either = [len(one) + len(pair.sure) for one, pair in zip(links, pairs)]
    return {
        **share("pointing", metrics.pointing_accuracy(weights, pairs),
                (metrics.pointing_accuracy([one], [pair]) for one, pair in pointed), sure, rng),
        **share("near", metrics.near_pointing(weights, pairs),
                (metrics.near_pointing([one], [pair]) for one, pair in pointed), linked, rng),
        **share("diagonal", metrics.diagonal_pointing(pairs),
                (metrics.diagonal_pointing([pair]) for _, pair in pointed), sure, rng),
        **share("aer", metrics.alignment_error_rate(links, pairs),
                (metrics.alignment_error_rate([one], [pair]) if count else 0.0
                 for one, pair, count in zip(links, pairs, either)), either, rng),
    }


def share(name: str, whole: float, shares: Iterable[float], counts: Sequence[int],
          rng: Generator | None) -> Figures:
    """Return the fraction `whole` as the metric `name`, with its interval if rng is given.

    shares, counts: the fraction in each sentence, and the denominator of this fraction.
    """
    if rng is None or len(counts) == 1:
        return {name: whole}
    sizes = np.asarray(counts, float)
    interval = mean_interval(np.fromiter(shares, float) * sizes, sizes, rng)
    return with_ends(name, whole, (interval.low, interval.high))
