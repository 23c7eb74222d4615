"""A translator from pairs to translations: trained, saved, loaded, measured, and refusing what it cannot use."""

import numpy as np
import pytest

from numpy_attention.data.corpora import load_parallel
from numpy_attention.data.pairs import Pair
from numpy_attention.training import checkpoint
from numpy_attention.runs.translator import Translator, TranslatorTraining

SETTINGS = dict(embedding=12, hidden=16, init="modern", readout="current")


def reverse(split, count):
    return load_parallel("reverse", split, rng=np.random.default_rng(0), count=count, max_length=5)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    translator = Translator.create(reverse("train", 800), settings=SETTINGS,
                                   training=TranslatorTraining(epochs=4, batch_size=16, learning_rate=1e-2),
                                   corpus={"name": "reverse"})
    return translator.fit(reverse("train", 800), reverse("valid", 50), folder, threads=1, progress=False), folder


def test_it_learns(trained):
    figures = trained[0].measure(reverse("test", 100), threads=2)
    assert figures["perplexity"] < 6 and figures["bleu_greedy"] > 15
    assert 0 <= figures["aer"] <= 1 and figures["near"] >= figures["pointing"]


def test_loaded_is_the_same(trained):
    translator, folder = trained
    again, pairs = Translator.load(folder), reverse("test", 20)
    assert np.array_equal(again.model.vector, translator.model.vector)
    assert again.history == translator.history and again.training == translator.training
    for one, other in zip(translator.translate([p.source for p in pairs]), again.translate([p.source for p in pairs])):
        assert one.target == other.target and np.array_equal(one.weights, other.weights)


def test_order_threads_and_batches_do_not_matter(trained):
    translator, sentences = trained[0], [pair.source for pair in reverse("test", 30)]
    together = translator.translate(sentences, beam=3)
    assert [t.source for t in together] == [list(s) for s in sentences]
    for settings in (dict(threads=2), dict(batch_size=4), dict(threads=2, batch_size=7)):
        assert [t.target for t in translator.translate(sentences, beam=3, **settings)] == [t.target for t in together]


@pytest.mark.parametrize("beam, penalty", [(1, 0.5), (3, 0.0), (3, 0.5), (3, 1.0)])
def test_score_is_what_search_ranks_by(trained, beam, penalty):
    sentence = ["1", "2", "3", "4"]
    found, best = trained[0].translate([sentence], beam, penalty)[0], trained[0].hypotheses(sentence, beam, penalty)[0]
    assert len(found.target) > 1 and found.target == best.target
    assert found.score == pytest.approx(best.score, abs=1e-5)
    assert found.score == pytest.approx(found.log_probability / ((5 + len(found.weights)) / 6)**penalty, abs=1e-5)


def test_weights_have_a_row_for_each_word(trained):
    translator, pairs = trained[0], reverse("test", 10)
    for weights, pair in zip(translator.attend(pairs), pairs):
        assert weights.shape == (len(pair.target) + 1, len(pair.source) + 1)
        np.testing.assert_allclose(weights.sum(1), 1, atol=1e-5)


def test_a_reversed_source_is_shown_in_its_own_order():
    """A model that reads x_n … x_1 </s> gives the weights of x_1 … x_n </s>, each at its own word."""
    pairs = reverse("train", 40)
    straight, backwards = (Translator.create(pairs, settings=SETTINGS, training=TranslatorTraining(reverse_source=flag))
                           for flag in (False, True))
    backwards.model.load(dict(straight.model.named_parameters()))
    mirrored = [Pair(pair.source[::-1], pair.target) for pair in pairs]
    for one, other in zip(straight.attend(mirrored), backwards.attend(pairs)):
        np.testing.assert_allclose(one[:, -2::-1], other[:, :-1], atol=1e-6)
        np.testing.assert_allclose(one[:, -1], other[:, -1], atol=1e-6)


def test_unknown_words_are_translated_all_the_same(trained):
    assert len(trained[0].translate([["never", "seen"]])) == 1


def test_refused(trained, tmp_path):
    with pytest.raises(ValueError, match="sentence 2 is empty"):
        trained[0].translate([["1"], []])
    with pytest.raises(ValueError, match="batch_size 0: expected at least 1"):
        trained[0].translate([["1"]], batch_size=0)
    with pytest.raises(TypeError, match=r"sentence 2 is the string '3 1', .* \.split\(\)"):
        trained[0].translate([["1"], "3 1"])
    for use in (trained[0].hypotheses, lambda sentence: trained[0].sample(sentence, np.random.default_rng(0))):
        with pytest.raises(TypeError, match="the sentence is the string '3 1'"):
            use("3 1")
        with pytest.raises(ValueError, match="the sentence is empty"):
            use([])
    with pytest.raises(ValueError, match="no sentence pairs"):
        Translator.create([])
    with pytest.raises(ValueError, match="unknown translator 'perceptron'"):
        Translator.create(reverse("train", 5), "perceptron")
    with pytest.raises(ValueError, match="cannot be built"):
        Translator.create(reverse("train", 5), settings={"size": 3})
    for settings, backwards in (({}, True), ({"backwards": True}, False)):
        with pytest.raises(ValueError, match="run along from the wrong end"):
            Translator.create(reverse("train", 5), "luong", {"window": "local-m", "D": 1, **settings},
                              TranslatorTraining(reverse_source=backwards))
    with pytest.raises(ValueError, match="optimizer 'lion'"):
        TranslatorTraining(optimizer="lion")
    with pytest.raises(ValueError, match="epochs 0"):
        TranslatorTraining(epochs=0)
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        Translator.load(tmp_path)
    checkpoint.save(tmp_path / "checkpoint.npz", {"parameters/W": np.zeros(3)}, {})
    with pytest.raises(ValueError, match="no translator's checkpoint"):
        Translator.load(tmp_path)
