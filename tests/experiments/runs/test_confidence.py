"""Intervals beside figures: of perplexity, text and pointing, by hand; in `measure`."""

import math

import numpy as np
import pytest

from numpy_attention import metrics
from numpy_attention.bootstrap import mean_interval
from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.experiments.runs import confidence
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.experiments.runs.writer import LanguageModelRun, LanguageModelTraining
from numpy_attention.training.evaluation import Evaluation, evaluate

PAIRS = [Pair(tuple("abc"), tuple("xyz"), sure={(0, 0), (1, 1)}, possible={(2, 2)}),
         Pair(tuple("ab"), tuple("yx"), sure={(0, 1), (1, 1)}),
         Pair(tuple("c"), tuple("z")), Pair(tuple("bb"), tuple("yyy"), sure={(1, 2)})] * 5


def rng():
    return np.random.default_rng(8)


def test_perplexity():
    losses, tokens = np.array([4.0, 9.0, 2.0]), np.array([2, 3, 2])
    found = confidence.of_likelihood(Evaluation(15.0, 7, (losses, tokens)), rng(), [1, 2, 1])
    draw = rng()
    for name, counts in (("perplexity", tokens), ("perplexity_word", [1, 2, 1])):
        wanted = mean_interval(losses, counts, draw)
        assert found[name] == (math.exp(wanted.low), math.exp(wanted.high))
    assert confidence.of_likelihood(Evaluation(15.0, 7, (losses, tokens)), rng()).keys() == {
        "perplexity"}


def test_pointing_is_that_of_the_whole_text_in_parts(monkeypatch):
    weights = [np.random.default_rng(n).random((len(pair.target) + 1, len(pair.source) + 1))
               for n, pair in enumerate(PAIRS)]
    means = {}

    def interval(totals, counts, rng):
        means[len(means)] = totals.sum() / counts.sum()
        return mean_interval(totals, counts, rng)
    monkeypatch.setattr(confidence, "mean_interval", interval)
    found = confidence.of_pointing(weights, PAIRS, rng())
    assert list(found) == ["pointing", "near", "diagonal", "aer"]
    assert list(means.values()) == pytest.approx([
        metrics.pointing_accuracy(weights, PAIRS), metrics.near_pointing(weights, PAIRS),
        metrics.diagonal_pointing(PAIRS),
        metrics.alignment_error_rate(metrics.links_from_weights(weights, PAIRS), PAIRS)])
    for (low, high), mean in zip(found.values(), means.values()):
        assert low < mean < high


def test_text():
    pairs = [Pair(pair.source, pair.target * 3) for pair in PAIRS]      # BLEU counts four words
    greedy = [list(pair.target)[::-1] for pair in pairs]
    beam = [list(pair.target) for pair in pairs[:10]] + greedy[10:]
    found = confidence.of_text(beam, greedy, pairs, rng())
    assert found.keys() == {"bleu_greedy", "bleu", "bleu_13a", "chrf", "exact"}
    draw = rng()
    metrics.bleu(greedy, [pair.target for pair in pairs], rng=draw)
    score = metrics.bleu(beam, [pair.target for pair in pairs], rng=draw)
    assert found["bleu"] == (score.low, score.high) and score.low < score.score
    same = np.mean([one == list(pair.target) for one, pair in zip(greedy, pairs)])
    assert found["exact"][0] < same < found["exact"][1]


def test_names_of_ends():
    assert confidence.named({"bleu": (1.0, 2.0), "aer": (0.5, 0.75)}) == {
        "bleu_low": 1.0, "bleu_high": 2.0, "aer_low": 0.5, "aer_high": 0.75}


def test_a_translator_measures_with_intervals_where_it_is_given_a_generator():
    made = Translator.create(PAIRS, settings=dict(hidden=6, embedding=5),
                             training=TranslatorTraining(batch_size=3))
    plain = made.measure(PAIRS, 2, 1)
    found = made.measure(PAIRS, 2, 1, rng=rng())
    figures = plain.keys() - {"tokens"}
    assert found.keys() == plain.keys() | {f"{name}_{end}" for name in figures
                                           for end in ("low", "high")}
    for name in plain:
        assert found[name] == pytest.approx(plain[name], rel=1e-6)
    assert found == made.measure(PAIRS, 2, 1, rng=rng())
    # words stand beside the losses of their own sentences: here every token is a word
    for name in ("perplexity", "perplexity_word"):
        assert found[f"{name}_low"] < found[name] < found[f"{name}_high"]
    read = evaluate(made.model, made.batches(PAIRS), by_row=True)
    assert made.batches(PAIRS).order() and read.rows[1].sum() == read.tokens
    with pytest.raises(TypeError, match="rng"):
        made.measure(PAIRS, 2, 1, rng=3)


def test_a_translation_counts_its_words_and_its_end(monkeypatch):
    made = Translator.create(PAIRS, settings=dict(hidden=6, embedding=5),
                             training=TranslatorTraining(batch_size=3))
    counts = []

    def of_all(read, words, plain, weights, pairs, by_row, rng):
        counts.extend(by_row)
        return {"perplexity": 1.0}

    monkeypatch.setattr("numpy_attention.experiments.runs.figures.of_all", of_all)
    made.measure(PAIRS, 1, 1)
    assert sorted(counts) == sorted(len(pair.target) + 1 for pair in PAIRS)


@pytest.mark.parametrize("state", ["carried", "sentence"])
def test_a_writer_does_too(state):
    text = Text([[["a", "b", "c"], ["b", "a"]], [["c", "c", "a", "b"]]] * 6, has_articles=True)
    made = LanguageModelRun.create(text, settings=dict(hidden=6, layers=1),
                         training=LanguageModelTraining(batch_size=4, steps=5, state=state))
    plain = made.measure(text)
    found = made.measure(text, rng=rng())
    figures = {name for name in plain if name.startswith("perplexity")}
    assert found.keys() == plain.keys() | {f"{name}_{end}" for name in figures
                                           for end in ("low", "high")}
    assert found["perplexity"] == pytest.approx(plain["perplexity"], rel=1e-6)
    assert found["perplexity_low"] < found["perplexity"] < found["perplexity_high"]
    with pytest.raises(TypeError, match="rng"):
        made.measure(text, rng=3)
