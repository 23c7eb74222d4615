"""Greedy and beam search on models whose best translation is known, and on RNNsearch."""

import itertools
from dataclasses import dataclass

import numpy as np
import pytest

from numpy_attention.data.batching import pair_batch
from numpy_attention.data.vocabulary import EOS
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.greedy import greedy
from numpy_attention.gradcheck import randomize
from numpy_attention.models.encoder_decoder import EncoderDecoder
from numpy_attention.models.rnnsearch import RNNSearch

V = 7


@dataclass
class TableState:
    place: np.ndarray

    def take(self, rows):
        return TableState(self.place[rows])


class Table:
    """p(next | previous) from a table, another one for each sentence: every search can be checked by enumeration."""

    def __init__(self, rng, sentences):
        logits = 2 * rng.standard_normal((sentences, V, V))
        logits[:, :, 0] = 30                                    # <pad> and <s> tempt, and must never be chosen
        logits[:, :, 1] = 30
        self.log_p = logits - np.log(np.exp(logits).sum(-1, keepdims=True))

    def start(self, source, mask):
        return TableState(np.arange(source.shape[1]))

    def next(self, tokens, state):
        weights = np.full((len(tokens), 4), 0.25)
        return self.log_p[state.place, tokens].copy(), weights, state


def every_translation(table, b, longest):
    """(ids, log p) of all translations that end in </s> or have the greatest length."""
    for length in range(1, longest + 1):
        for ids in itertools.product(range(2, V), repeat=length):
            if EOS in ids[:-1] or (ids[-1] != EOS and length < longest):
                continue
            yield list(ids), sum(table.log_p[b, p, t] for p, t in zip((1,) + ids, ids))


def test_a_beam_as_wide_as_the_tree_finds_the_best(rng):
    table, source = Table(rng, 3), np.full((4, 3), 4)
    for penalty in (0.0, 1.0):
        found = beam_search(table, source, source > 0, beam=200, length_penalty=penalty, max_length=3)
        for b in range(3):
            best = max(every_translation(table, b, 3), key=lambda item: item[1] / ((5 + len(item[0])) / 6) ** penalty)
            assert found[b][0].ids == best[0]
            assert found[b][0].log_probability == pytest.approx(best[1], abs=1e-12)


def test_greedy_takes_the_most_probable_word(rng):
    table, source = Table(rng, 5), np.full((4, 5), 4)
    for b, hypothesis in enumerate(greedy(table, source, source > 0, max_length=6)):
        previous = 1
        for word in hypothesis.ids:
            assert word == 2 + table.log_p[b, previous, 2:].argmax()
            previous = word
        assert hypothesis.ids[-1] == EOS or len(hypothesis.ids) == 6


@pytest.fixture(params=[RNNSearch, EncoderDecoder])
def model(request, rng):
    return randomize(request.param.create(rng, 11, 12, embedding=4, hidden=5, maxout=3, dtype=np.float64), rng, 1.0)


@pytest.fixture
def batch(rng):
    return pair_batch([list(rng.integers(4, 11, n)) for n in (3, 7, 1, 5)], [[4]] * 4)


def test_beam_one_is_greedy(model, batch):
    for one, other in zip(greedy(model, batch.source, batch.source_mask),
                          beam_search(model, batch.source, batch.source_mask, beam=1)):
        assert len(other) == 1 and one.ids == other[0].ids
        assert one.log_probability == pytest.approx(other[0].log_probability, abs=1e-9)
        np.testing.assert_allclose(one.weights, other[0].weights, atol=1e-12)


@pytest.mark.parametrize("beam", [1, 4])
def test_the_result_does_not_depend_on_the_batch(model, batch, beam):
    together = beam_search(model, batch.source, batch.source_mask, beam)
    for b in range(batch.size):
        n = batch.source_mask[:, b].sum()
        alone = beam_search(model, batch.source[:n, b:b + 1], batch.source_mask[:n, b:b + 1], beam)[0]
        assert [h.ids for h in alone] == [h.ids for h in together[b]]
        for h, other in zip(alone, together[b]):
            np.testing.assert_allclose(h.weights, other.weights, atol=1e-12)


def test_weights_log_probability_and_order(model, batch):
    """log p and weights are those of teacher forcing on the hypothesis."""
    compared = 0
    for b, hypotheses in enumerate(beam_search(model, batch.source, batch.source_mask, beam=5, length_penalty=0.7)):
        scores = [h.score(0.7) for h in hypotheses]
        assert scores == sorted(scores, reverse=True) and len({tuple(h.ids) for h in hypotheses}) == len(hypotheses)
        n = batch.source_mask[:, b].sum()
        for h in hypotheses:
            if h.ids[-1] != EOS or len(h.ids) == 1:         # cut short, or without a word to force
                continue
            compared += 1
            forced = pair_batch([list(batch.source[:n - 1, b])], [h.words])
            assert h.weights.shape == (len(h.ids), n)
            np.testing.assert_allclose(h.weights, model.weights(forced)[:, 0], atol=1e-9)
            assert model.loss(forced)[0] == pytest.approx(-h.log_probability, abs=1e-9)
    assert compared >= 15                                   # of 20


def test_a_wider_beam_scores_no_worse_on_sums(model, batch):
    narrow, wide = (beam_search(model, batch.source, batch.source_mask, k, 0.0, max_length=4) for k in (1, 500))
    for few, many in zip(narrow, wide):
        assert many[0].log_probability >= few[0].log_probability - 1e-9


def searches(model, source, max_length=None):
    """Greedy's and the best of a beam's hypotheses."""
    return (greedy(model, source, source > 0, max_length),
            [best[0] for best in beam_search(model, source, source > 0, 3, max_length=max_length)])


def test_max_length_is_a_cap(rng):
    """A model that never ends writes up to max_length words, but never more than twice the source's length and 10."""
    table, source = Table(rng, 2), np.array([[4, 4], [4, 0], [4, 0], [4, 0]])              # of 4 words and of 1
    table.log_p[:, :, EOS] = -1e3
    for max_length, wanted in ((None, [18, 12]), (100, [18, 12]), (18, [18, 12]), (15, [15, 12]), (5, [5, 5]), (1, [1, 1])):
        for found in searches(table, source, max_length):
            assert [len(h.ids) for h in found] == wanted


def test_a_sentence_that_ends_is_no_longer_than_it_is(rng):
    table, source = Table(rng, 1), np.full((4, 1), 4)
    table.log_p[:, :, EOS] = np.where(np.arange(V) == 1, -1e3, 0)                           # one word, then </s>
    for max_length in (None, 2, 100):
        assert [len(found[0].ids) for found in searches(table, source, max_length)] == [2, 2]


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
@pytest.mark.parametrize("search", [greedy, beam_search])
def test_a_model_without_probabilities_is_an_error(rng, search, bad):
    """Also where it is one word's in one sentence: a NaN anywhere is a model that went wrong."""
    table, source = Table(rng, 2), np.full((4, 2), 4)
    table.log_p[1] = bad
    with pytest.raises(ArithmeticError, match="no probabilities to choose a token from: is it trained"):
        search(table, source, source > 0)
    table = Table(rng, 2)
    table.log_p[1, 1, V - 1] = np.nan
    with pytest.raises(ArithmeticError, match="no probabilities"):
        search(table, source, source > 0)


def test_refused(model, batch):
    with pytest.raises(ValueError, match="beam 0"):
        beam_search(model, batch.source, batch.source_mask, 0)
    with pytest.raises(ValueError, match="max_length -1"):
        greedy(model, batch.source, batch.source_mask, -1)
    with pytest.raises(ValueError, match="empty"):
        greedy(model, batch.source, np.zeros_like(batch.source_mask))
