"""Metrics of a run and their intervals, compared with formulas or values by hand."""

import math

import numpy as np
import pytest

from numpy_attention import metrics
from numpy_attention.bootstrap import mean_interval
from numpy_attention.data.pairs import Pair
from numpy_attention.data.running_text import Text
from numpy_attention.experiments.runs import confidence
from numpy_attention.experiments.runs.language_model_run import (
    LanguageModelRun,
    LanguageModelTraining,
)
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.training.evaluation import Evaluation

PAIRS = [Pair(tuple("abc"), tuple("xyz"), sure={(0, 0), (1, 1)}, possible={(2, 2)}),
         Pair(tuple("ab"), tuple("yx"), sure={(0, 1), (1, 1)}),
         Pair(tuple("c"), tuple("z")), Pair(tuple("bb"), tuple("yyy"), sure={(1, 2)})] * 5


def rng():
    return np.random.default_rng(8)


def test_perplexity_of_tokens_and_of_words():
    losses, tokens, words = np.array([4.0, 9.0, 2.0]), np.array([2, 3, 2]), [1, 2, 1]
    found = Evaluation(15.0, 7, (losses, tokens))
    for counts, known in ((tokens, confidence.of_likelihood(found, rng(), "x")),
                          (words, confidence.of_likelihood(found, rng(), "x", words))):
        wanted = mean_interval(losses, counts, rng())
        assert known == {"x": math.exp(15 / sum(counts)), "x_low": math.exp(wanted.low),
                         "x_high": math.exp(wanted.high)}
    assert confidence.of_likelihood(Evaluation(30.0, 15)) == {"perplexity": math.exp(2)}


def test_each_metric_uses_its_translations_and_measure():
    """All values differ, so a mix-up would be detected."""
    pairs = [Pair(("a",), tuple("one, two three four five".split())),
             Pair(("a",), tuple("six seven eight nine ten".split())),
             Pair(("a",), tuple("what is it now ?".split()))]
    references = [pair.target for pair in pairs]
    beam = ["one, two three four six".split(), list(references[1]), list(references[2])]
    greedy = ["one, two three four five".split(), "six seven eight nine".split(),
              "what is that now ?".split()]
    found = confidence.of_text(beam, greedy, pairs)
    assert found == {
        "bleu_greedy": metrics.bleu(greedy, references).score,
        "exact": 1 / 3,
        "bleu": metrics.bleu(beam, references, "none").score,
        "bleu_13a": metrics.bleu(beam, references, "13a").score,
        "chrf": metrics.chrf(beam, references, word_order=0).score,
    }
    others = {
        metrics.bleu(greedy, references, "13a").score,
        metrics.chrf(greedy, references).score,
        metrics.chrf(beam, references, word_order=2).score,
        metrics.exact_match(map(tuple, beam), references),
    }
    assert len({*found.values(), *others}) == 9


def test_intervals_of_a_text():
    pairs = [Pair(pair.source, pair.target * 3) for pair in PAIRS]      # BLEU counts 4-grams
    greedy = [list(pair.target)[::-1] for pair in pairs]
    beam = [list(pair.target) for pair in pairs[:10]] + greedy[10:]
    found = confidence.of_text(beam, greedy, pairs, rng())
    plain = confidence.of_text(beam, greedy, pairs)
    assert plain.items() <= found.items() and len(found) == 3 * len(plain)
    draw = rng()
    metrics.bleu(greedy, [pair.target for pair in pairs], rng=draw)
    score = metrics.bleu(beam, [pair.target for pair in pairs], rng=draw)
    assert (found["bleu_low"], found["bleu_high"]) == (score.low, score.high)
    assert score.low < score.score and found["exact_low"] < found["exact"] < found["exact_high"]


def test_pointing():
    pairs = [Pair(("a", "b"), ("x", "y", "z", "u"), {(0, 0), (1, 3)}, {(1, 2)}),
             Pair(("c",), ("x", "y", "z", "v"))]
    weights = [np.full((5, 3), 0.1), np.ones((5, 2)) / 2]
    weights[0][0, 0] = 0.8              # the first link is found
    weights[0][3, 0] = 0.8              # the second is missed by one word
    weights[0][2, 1] = 0.8              # and a possible link
    found = confidence.of_pointing(weights, pairs)
    assert list(found) == ["pointing", "near", "diagonal", "aer"]
    assert (found["pointing"], found["near"], found["diagonal"]) == (0.5, 1.0, 1.0)
    # 4 + 4 words point, 1 at a sure link and 2 at possible ones; there are 2 sure links
    assert found["aer"] == pytest.approx(1 - (1 + 2) / (8 + 2))


def test_near_uses_weights_and_diagonal_only_pairs():
    weights = [np.full((5, 3), 0.1)]
    weights[0][0, 1] = 0.8              # next to the first link
    weights[0][3, 1] = 0.8              # at the second link
    pair = Pair(("a", "b"), ("x", "y", "z", "u"), {(0, 3), (1, 0)})
    found = confidence.of_pointing(weights, [pair])
    assert (found["pointing"], found["near"], found["diagonal"]) == (0.5, 1.0, 0.0)


def test_pointing_in_parts_matches_the_whole_text(monkeypatch):
    weights = [np.random.default_rng(n).random((len(pair.target) + 1, len(pair.source) + 1))
               for n, pair in enumerate(PAIRS)]
    means = []

    def interval(totals, counts, rng):
        means.append(totals.sum() / counts.sum())
        return mean_interval(totals, counts, rng)

    monkeypatch.setattr(confidence, "mean_interval", interval)
    found = confidence.of_pointing(weights, PAIRS, rng())
    plain = confidence.of_pointing(weights, PAIRS)
    assert means == pytest.approx(list(plain.values()))
    for name, mean in plain.items():
        assert found[f"{name}_low"] < mean < found[f"{name}_high"] and found[name] == mean


def test_translator_measures_intervals_if_given_a_generator():
    made = Translator.create(PAIRS, settings=dict(hidden=6, embedding=5),
                             training=TranslatorTraining(batch_size=3))
    plain = made.measure(PAIRS, 2, 1)
    found = made.measure(PAIRS, 2, 1, rng=rng())
    names = plain.keys() - {"tokens", "bleu_empty", "empty"}
    assert found.keys() == plain.keys() | {f"{name}_{end}" for name in names
                                           for end in ("low", "high")}
    for name in plain:
        assert found[name] == pytest.approx(plain[name], rel=1e-6)
    assert found == made.measure(PAIRS, 2, 1, rng=rng())
    # every token is a word here, and each row's words are counted for its own sentence
    assert plain["perplexity_word"] == pytest.approx(plain["perplexity"])
    for name in ("perplexity", "perplexity_word"):
        assert found[f"{name}_low"] < found[name] < found[f"{name}_high"]
    with pytest.raises(TypeError, match="rng"):
        made.measure(PAIRS, 2, 1, rng=3)


@pytest.mark.parametrize("state", ["carried", "sentence"])
def test_language_model_measures_intervals_if_given_a_generator(state):
    text = Text([[["a", "b", "c"], ["b", "a"]], [["c", "c", "a", "b"]]] * 6, has_articles=True)
    made = LanguageModelRun.create(text, settings=dict(hidden=6, layers=1),
                                   training=LanguageModelTraining(batch_size=4, steps=5,
                                                                  state=state))
    plain = made.measure(text)
    found = made.measure(text, rng=rng())
    names = {name for name in plain if name.startswith("perplexity")}
    assert found.keys() == plain.keys() | {f"{name}_{end}" for name in names
                                           for end in ("low", "high")}
    assert found["perplexity"] == pytest.approx(plain["perplexity"], rel=1e-6)
    assert found["perplexity_low"] < found["perplexity"] < found["perplexity_high"]
    with pytest.raises(TypeError, match="rng"):
        made.measure(text, rng=3)


def test_short_texts_and_single_sentences():
    short = [Pair(["a", "b", "c"], ["x", "y", "z"])] * 2
    words = [pair.target for pair in short]
    found = confidence.of_text(words, words, short, rng())
    assert (found["bleu"], found["bleu_empty"], found["chrf"]) == (0, 1, pytest.approx(100))
    four = [Pair(["a"], ["x", "y", "z", "w"])]
    found = confidence.of_text([four[0].target], [four[0].target], four, rng())
    assert found == {"bleu_greedy": pytest.approx(100), "bleu": pytest.approx(100),
                     "bleu_13a": pytest.approx(100), "chrf": pytest.approx(100), "exact": 1}
