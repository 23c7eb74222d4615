"""A translator from training to translations: loading, metrics, sampling and errors."""

import numpy as np
import pytest

from numpy_attention import metrics
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.data.pairs import Pair
from numpy_attention.experiments.runs.translator import Translation, Translator, TranslatorTraining
from numpy_attention.training import checkpoint

SETTINGS = dict(embedding=12, hidden=16, init="modern", readout="current")


def reverse(split, count):
    return load_parallel("reverse", split, rng=np.random.default_rng(0), count=count, max_length=5)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    pairs = reverse("train", 800)
    training = TranslatorTraining(epochs=4, batch_size=16, learning_rate=1e-2)
    translator = Translator.create(
        pairs, settings=SETTINGS, training=training, corpus={"name": "reverse"})
    translator.fit(pairs, reverse("valid", 50), folder, threads=1, progress=False)
    return translator, folder


def test_training_learns_to_reverse(trained):
    figures = trained[0].measure(reverse("test", 100), threads=2)
    assert figures["perplexity"] < 6 and figures["bleu_greedy"] > 15
    assert 0 <= figures["aer"] <= 1 and figures["near"] >= figures["pointing"]


def test_beam_and_greedy_translations_are_measured_separately(trained, monkeypatch):
    """Which metric uses which is tested in test_confidence.py."""
    calls = []
    long = [pair for pair in reverse("test", 30) if len(pair.target) > 3]

    def made(self, sentences, beam=5, **rest):
        calls.append(beam)
        right = {tuple(pair.source): list(pair.target) for pair in long}
        targets = [right[tuple(sentence)] for sentence in sentences]
        # every second beam translation is correct and every third greedy one; the rest nearly
        return [Translation(sentence, target if k % (2 if beam > 1 else 3) == 0 else
                            target[:3] + ["?!"] + target[3:], -1.0, None)
                for k, (sentence, target) in enumerate(zip(sentences, targets))]
    monkeypatch.setattr(Translator, "translate", made)
    trained[0].measure(long, 2, 1)
    assert calls == [2, 1]
    for given, searches in ((None, [4, 1]), (made(None, [p.source for p in long], 4), [1])):
        calls = []
        found = trained[0].measure(long, 4, 1, given)
        assert calls == searches
        references = [pair.target for pair in long]
        beam, greedy = ([one.target for one in made(None, [p.source for p in long], k)]
                        for k in (4, 1))
        assert found["bleu"] == metrics.bleu(beam, references).score
        assert found["bleu_greedy"] == metrics.bleu(greedy, references).score
        assert found["bleu_greedy"] < found["bleu"]
    calls = []
    found = trained[0].measure(long, 1, 1)
    assert calls == [1] and found["bleu"] == found["bleu_greedy"]


def test_load_round_trip(trained):
    translator, folder = trained
    again = Translator.load(folder)
    sentences = [pair.source for pair in reverse("test", 20)]
    assert np.array_equal(again.model.vector, translator.model.vector)
    assert again.history == translator.history and again.training == translator.training
    for one, other in zip(translator.translate(sentences), again.translate(sentences)):
        assert one.target == other.target and np.array_equal(one.weights, other.weights)


def test_results_do_not_depend_on_order_threads_or_batches(trained):
    translator, _ = trained
    sentences = [pair.source for pair in reverse("test", 30)]
    together = translator.translate(sentences, beam=3)
    assert [t.source for t in together] == [list(s) for s in sentences]
    for settings in (dict(threads=2), dict(batch_size=4), dict(threads=2, batch_size=7)):
        found = translator.translate(sentences, beam=3, **settings)
        assert [t.target for t in found] == [t.target for t in together]


@pytest.mark.parametrize("beam, penalty", [(1, 0.5), (3, 0.0), (3, 0.5), (3, 1.0)])
def test_score_matches_the_score_of_search(trained, beam, penalty):
    translator, _ = trained
    sentence = ["1", "2", "3", "4"]
    found, = translator.translate([sentence], beam, penalty)
    best = translator.hypotheses(sentence, beam, penalty)[0]
    assert len(found.target) > 1 and found.target == best.target
    assert found.score == pytest.approx(best.score, abs=1e-5)
    lengths = ((5 + len(found.weights)) / 6) ** penalty
    assert found.score == pytest.approx(found.log_probability / lengths, abs=1e-5)


def test_weights_have_a_row_for_each_word(trained):
    translator, _ = trained
    pairs = reverse("test", 10)
    for weights, pair in zip(translator.attend(pairs), pairs):
        assert weights.shape == (len(pair.target) + 1, len(pair.source) + 1)
        np.testing.assert_allclose(weights.sum(1), 1, atol=1e-5)


def test_weights_of_a_reversed_source_are_in_source_order():
    """A model that reads x_n … x_1 </s> returns weights for x_1 … x_n </s>."""
    pairs = reverse("train", 40)
    how = TranslatorTraining(reverse_source=False), TranslatorTraining(reverse_source=True)
    straight, backwards = (Translator.create(pairs, settings=SETTINGS, training=one) for one in how)
    backwards.model.load(dict(straight.model.named_parameters()))
    mirrored = [Pair(pair.source[::-1], pair.target) for pair in pairs]
    for one, other in zip(straight.attend(mirrored), backwards.attend(pairs)):
        np.testing.assert_allclose(one[:, -2::-1], other[:, :-1], atol=1e-6)
        np.testing.assert_allclose(one[:, -1], other[:, -1], atol=1e-6)


def test_invalid_sentences(trained, rng):
    translator, _ = trained
    with pytest.raises(ValueError, match="sentence 2 is empty"):
        translator.translate([["1"], []])
    with pytest.raises(ValueError, match="batch_size = 0; expected an integer"):
        translator.translate([["1"]], batch_size=0)
    with pytest.raises(ValueError, match="beam = 0; expected"):
        translator.measure(reverse("test", 2), 0, found=translator.translate([["1"], ["2"]]))
    with pytest.raises(TypeError, match=r"sentence 2 is the string '3 1'; .* \.split\(\)"):
        translator.translate([["1"], "3 1"])
    for use in (translator.hypotheses, lambda sentence: translator.sample(sentence, rng)):
        with pytest.raises(TypeError, match="the sentence is the string '3 1'"):
            use("3 1")
        with pytest.raises(ValueError, match="the sentence is empty"):
            use([])


def test_folders_without_a_translator_raise(tmp_path):
    with pytest.raises(FileNotFoundError, match="no checkpoint"):
        Translator.load(tmp_path)
    checkpoint.save(tmp_path / "checkpoint.npz", {"parameters/W": np.zeros(3)}, {})
    with pytest.raises(ValueError, match="is the checkpoint of a plain model"):
        Translator.load(tmp_path)
