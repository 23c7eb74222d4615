"""Translators with subwords: weights per word, sampling, and unknown words replaced."""

import numpy as np
import pytest

from numpy_attention.data.pairs import Pair
from numpy_attention.experiments.runs.translator import (
    Translator,
    TranslatorTraining,
    vocabularies_of,
)

WORDS = ["red", "green", "greener", "blue", "bluest", "house", "houses", "tree"]
SETTINGS = dict(embedding=12, hidden=16, init="modern", readout="current")


def pairs_of(rng, count):
    """Return sentences of colours and things, each with its reversal in capitals as target."""
    pairs = []
    for _ in range(count):
        words = [WORDS[k] for k in rng.integers(len(WORDS), size=rng.integers(1, 5))]
        links = {(len(words) - 1 - j, j) for j in range(len(words))}
        pairs.append(Pair(words, [word.upper() for word in words[::-1]], links))
    return pairs


def translator_of(pairs, **training):
    training = TranslatorTraining(**dict(epochs=6, batch_size=16, learning_rate=1e-2) | training)
    return Translator.create(pairs, settings=SETTINGS, training=training)


@pytest.fixture(scope="module")
def cut(tmp_path_factory):
    missing = "sentencepiece is not installed: pip install -e '.[subwords]'"
    pytest.importorskip("sentencepiece", reason=missing)
    pairs = pairs_of(np.random.default_rng(0), 400)
    folder = tmp_path_factory.mktemp("run")
    translator = translator_of(pairs, subwords=28, reverse_source=True, epochs=20)
    return translator.fit(pairs, None, folder, 1, progress=False), folder


@pytest.mark.parametrize("side", ["source", "target"])
def test_side_with_too_many_characters_is_reported(side):
    pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
    few, many = ["ab", "ba"], ["abcdefgh", "ijklmnopqrstuvw"]
    pair = Pair(many, few) if side == "source" else Pair(few, many)
    with pytest.raises(ValueError, match=f"not learn 8 subwords from the {side}'s 3 sentences"):
        vocabularies_of([pair] * 3, TranslatorTraining(subwords=8))


def test_translations_are_words(cut, rng):
    translator, folder = cut
    pairs = pairs_of(rng, 40)
    assert len(translator.source_vocabulary) == len(translator.target_vocabulary) == 28
    figures = translator.measure(pairs, 2, 1)
    words = sum(len(pair.target) + 1 for pair in pairs)
    assert figures["bleu_greedy"] > 50 and figures["tokens"] > words
    per_word = figures["perplexity"] ** (figures["tokens"] / words)
    assert figures["perplexity_word"] == pytest.approx(per_word)
    again = Translator.load(folder)
    sentences = [pair.source for pair in pairs]
    for one, other in zip(translator.translate(sentences), again.translate(sentences)):
        assert one.target == other.target and np.array_equal(one.weights, other.weights)
        assert one.weights.shape == (len(one.target) + one.finished, len(one.source) + 1)
        np.testing.assert_allclose(one.weights.sum(1), 1, atol=1e-5)


def test_word_weights_sum_over_source_and_average_over_target_pieces(cut, rng):
    translator, _ = cut
    for pair in pairs_of(rng, 5):
        ids = translator.source_vocabulary.encode(pair.source)
        batches = translator.batches([pair])
        raw = translator.model.weights(batches.batch([0]))[:, 0]
        # the model read the pieces in reverse
        raw = np.concatenate([raw[:, -2::-1], raw[:, -1:]], 1)
        source = translator.source_vocabulary.places(pair.source) + [len(pair.source)]
        target = translator.target_vocabulary.places(pair.target) + [len(pair.target)]
        assert raw.shape == (len(target), len(ids) + 1)
        weights = translator.attend([pair])[0]
        assert weights.shape == (len(pair.target) + 1, len(pair.source) + 1)
        for j, i in np.ndindex(weights.shape):
            block = raw[np.array(target) == j][:, np.array(source) == i]
            assert weights[j, i] == pytest.approx(block.sum(1).mean(), abs=1e-6)


def test_sampling(cut):
    translator, _ = cut
    sentence = ["red", "houses"]
    best = translator.translate([sentence], beam=1)[0]
    certain = translator.sample(sentence, np.random.default_rng(0), temperature=0)
    assert certain.target == best.target
    assert certain.log_probability == pytest.approx(best.log_probability, abs=1e-4)
    np.testing.assert_allclose(certain.weights, best.weights, atol=1e-5)
    samples = [translator.sample(sentence, np.random.default_rng(seed), temperature=3.0)
             for seed in range(8)]
    assert len({tuple(one.target) for one in samples}) > 2
    for one in samples:
        likelier = one.log_probability > best.log_probability + 1e-4
        assert not likelier or len(one.target) < len(best.target)
    again = translator.sample(sentence, np.random.default_rng(3), temperature=3.0)
    assert again.target == samples[3].target
    with pytest.raises(ValueError, match="the sentence is empty"):
        translator.sample([], np.random.default_rng(0))
