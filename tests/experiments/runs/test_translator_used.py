"""Arguments that a translator passes to its model and search, and their defaults."""

import numpy as np
import pytest

from numpy_attention.data.pairs import Pair
from numpy_attention.data.vocabulary import UNK
from numpy_attention.decoding import sampling
from numpy_attention.experiments.runs import translator as module
from numpy_attention.experiments.runs.translator import (
    Translation,
    Translator,
    TranslatorTraining,
    vocabularies_of,
)

# vocabularies of different sizes, and links only for the first pair
PAIRS = [Pair(("a", "b"), ("A", "B", "C"), sure={(0, 0), (1, 2)}),
         Pair(("a", "c", "d", "e"), ("A",)), Pair(("a",), ("B", "A"))]
SMALL = dict(embedding=4, hidden=5)


@pytest.fixture
def small():
    return Translator.create(PAIRS, settings=SMALL)


def test_source_and_target_have_separate_vocabularies(small):
    source, target = small.source_vocabulary, small.target_vocabulary
    assert len(source) == 5 + 4 and len(target) == 3 + 4
    assert len(small.model.source_embedding.E) == 9 and len(small.model.target_embedding.E) == 7


def test_rare_words_of_both_sides_are_unknown():
    source, target = vocabularies_of(PAIRS, TranslatorTraining(min_count=2))
    assert source.encode(["a", "b"])[1] == UNK != source.encode(["a"])[0]
    assert target.encode(["C"]) == [UNK] and UNK not in target.encode(["A", "B"])


@pytest.mark.parametrize("row, word", [
    ([0.1, 0.5, 0.4], "b"), ([0.5, 0.1, 0.4], "a"),
    ([0.0, 0.5, 0.5], "b"),
    ([0.2, 0.3, 0.5], "b"),             # </s> has the largest weight but is not a word
    ([0.0, 0.0, 1.0], "<unk>"),         # no word has any weight
])
def test_unknown_word_is_replaced_by_the_one_with_the_largest_weight(row, word):
    weights = np.array([row, [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    translated = Translation(["a", "b"], ["<unk>", "x"], -1.0, weights)
    assert translated.unknown_replaced() == [word, "x"] and translated.finished


def test_default_beam_and_length_penalty(small, monkeypatch):
    calls = []
    searched = module.beam_search

    def beam_search(model, source, mask, beam, length_penalty, never=()):
        calls.append((source.shape[1], beam, length_penalty))
        return searched(model, source, mask, beam, length_penalty, never=never)
    monkeypatch.setattr(module, "beam_search", beam_search)
    many = [["a"]] * 65
    found = small.translate(many)
    assert calls == [(64, 5, 1.0), (1, 5, 1.0)]         # batches of 64
    assert found[0].score == pytest.approx(
        found[0].log_probability / ((5 + len(found[0].weights)) / 6))
    calls.clear()
    every = small.hypotheses(["a"])
    assert calls == [(1, 5, 1.0)] and len(every) == 5
    calls.clear()
    one = small.translate(iter([["a"], ["b"]]), beam=2, batch_size=1)
    assert calls == [(1, 2, 1.0)] * 2 and len(one) == 2
    calls.clear()
    assert small.translate([["a"]], beam=1) and calls == []         # greedy search
    small.measure(PAIRS)
    assert {beam for _, beam, _ in calls} == {5}


def test_sample_passes_its_settings_on(small, monkeypatch, rng):
    calls = []

    def sample(model, start, rng, length, sentences, *how, never):
        calls.append((length, sentences, *how, never))
        return sampling.sample(model, start, rng, length, sentences, *how, never=never)
    monkeypatch.setattr(module, "sample", sample)
    small.sample(["a", "b"], rng)
    small.sample(["a"], rng, 0.5, 3, 0.9)
    assert calls == [(16, 1, 1.0, None, None, [UNK]), (14, 1, 0.5, 3, 0.9, [UNK])]
    long = max((small.sample(["a", "b"], rng) for _ in range(9)), key=lambda one: len(one.weights))
    lengths = (5 + len(long.weights)) / 6
    assert lengths > 1 and long.score == pytest.approx(long.log_probability / lengths)


def test_alignment_is_measured_if_a_pair_has_links(small):
    assert {"pointing", "near", "diagonal", "aer"} <= small.measure(PAIRS, 1, 1).keys()
    assert "pointing" not in small.measure(PAIRS[1:], 1, 1)


def test_non_finite_metric_raises(small, monkeypatch):
    text = {"bleu": float("nan"), "exact": 1.0}
    monkeypatch.setattr(module.confidence, "of_text", lambda *translations: text)
    with pytest.raises(ArithmeticError, match="metrics are not finite: bleu = nan; did"):
        small.measure(PAIRS, 1, 1)


def test_without_unknown_words(small):
    """Measured on pairs without unknown words, and never generating <unk>."""
    rare = [Pair(("a", "z"), ("A",)), Pair(("a",), ("Z",))]
    assert [small.knows(pair) for pair in [*PAIRS, *rare]] == [True] * 3 + [False] * 2
    likes = small.model.output.b            # prefers <unk>, then A, which is sometimes correct
    likes[UNK], likes[small.target_vocabulary.encode(["A"])] = 50.0, 40.0
    for beam in (1, 3):
        assert all("<unk>" in one.target for one in small.translate([["a"], ["b"]], beam))
        for one in small.translate([["a"], ["b", "z"]], beam, unknown=False):
            assert "<unk>" not in one.target
    found = small.evaluate_without_unk([*PAIRS, *rare], 2, 1)
    assert found["pairs"] == 3
    plain = small.measure(PAIRS, 2, 1)
    assert {name for name in plain if plain[name] != found[name]} <= {
        "bleu", "bleu_greedy", "bleu_13a", "chrf", "exact"}
    texts = [small.translate([pair.source for pair in PAIRS], beam, unknown=False)
             for beam in (2, 1)]
    assert found == {"pairs": 3} | small.measure(PAIRS, 2, 1, texts[0], plain=texts[1])
    assert found["chrf"] > plain["chrf"]            # <unk> matches nothing
    with pytest.raises(ValueError, match="every pair contains a word that is not"):
        small.evaluate_without_unk(rare)
    with pytest.raises(TypeError, match="unknown is 'no'"):
        small.translate([["a"]], unknown="no")
