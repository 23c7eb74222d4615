"""A translator's figures, each beside its metric, by hand where that is short."""

import math

import numpy as np
import pytest

from numpy_attention import metrics
from numpy_attention.data.pairs import Pair
from numpy_attention.experiments.runs import figures
from numpy_attention.training.evaluation import Evaluation

PAIRS = [
    Pair(("a", "b"), ("x", "y", "z", "u"), {(0, 0), (1, 3)}, {(1, 2)}),
    Pair(("c",), ("x", "y", "z", "v")),
]
RIGHT = [["x", "y", "z", "u"], ["x", "y", "z", "v"]]
HALF = [["x", "y", "z", "u"], ["x", "y", "z", "w"]]


def test_likelihood_of_tokens_and_of_words():
    found = figures.of_likelihood(Evaluation(loss=30.0, tokens=15), PAIRS)
    assert found == {
        "perplexity": math.exp(2), "tokens": 15, "perplexity_word": math.exp(3)}    # 4 + 1 + 4 + 1


def test_text_of_a_beam_and_of_greedy_search():
    found = figures.of_text(RIGHT, HALF, PAIRS)
    assert found["bleu"] == pytest.approx(100) and found["chrf"] == pytest.approx(100)
    assert found["bleu_13a"] == pytest.approx(100)
    assert found["exact"] == 0.5
    assert found["bleu_greedy"] == metrics.bleu(HALF, [pair.target for pair in PAIRS]).score < 100


def test_every_figure_of_a_text_is_of_its_own_translations_and_measure():
    """Where all of them differ: none stands for another."""
    pairs = [Pair(("a",), tuple("one, two three four five".split())),
             Pair(("a",), tuple("six seven eight nine ten".split())),
             Pair(("a",), tuple("what is it now ?".split()))]
    references = [pair.target for pair in pairs]
    beam = ["one, two three four six".split(), list(references[1]), list(references[2])]
    greedy = ["one, two three four five".split(), "six seven eight nine".split(),
              "what is that now ?".split()]
    found = figures.of_text(beam, greedy, pairs)
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


def test_pointing():
    weights = [np.full((5, 3), 0.1), np.ones((5, 2)) / 2]
    weights[0][0, 0] = 0.8              # the first link is found
    weights[0][3, 0] = 0.8              # the second is not, but its neighbour
    weights[0][2, 1] = 0.8              # and one that is possible
    found = figures.of_pointing(weights, PAIRS)
    assert list(found) == ["pointing", "near", "diagonal", "aer"]
    assert (found["pointing"], found["near"], found["diagonal"]) == (0.5, 1.0, 1.0)
    # 4 + 4 words point, 1 of them at a sure link, 2 at possible ones; 2 links are sure
    assert found["aer"] == pytest.approx(1 - (1 + 2) / (8 + 2))


def test_near_is_of_the_weights_and_diagonal_of_the_pairs():
    weights = [np.full((5, 3), 0.1), np.ones((5, 2)) / 2]
    weights[0][0, 1] = 0.8              # beside the first link
    weights[0][3, 1] = 0.8              # at the second one
    found = figures.of_pointing(weights, [Pair(("a", "b"), ("x", "y", "z", "u"), {(0, 3), (1, 0)}),
                                          PAIRS[1]])
    assert (found["pointing"], found["near"], found["diagonal"]) == (0.5, 1.0, 0.0)
