"""Beam search: enumerable models with known best translations, translators, invalid arguments."""

import inspect

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tables import Table, every_translation

from numpy_attention.data.batching import pair_batch
from numpy_attention.data.vocabulary import EOS
from numpy_attention.decoding.beam import _largest, beam_search
from numpy_attention.decoding.greedy import greedy


@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_exhaustive_beam_finds_the_best_translation(rng, penalty):
    table = Table(rng, 3)
    source = np.full((4, 3), 4)

    def score(translation):
        ids, log_p = translation
        return log_p / ((5 + len(ids)) / 6) ** penalty

    found = beam_search(table, source, source > 0, beam=200, length_penalty=penalty, max_length=3)
    for b in range(3):
        ids, log_p = max(every_translation(table, b, 3), key=score)
        assert found[b][0].ids == ids
        assert found[b][0].log_probability == pytest.approx(log_p, abs=1e-12)


def test_beam_1_equals_greedy(model, batch):
    beams = beam_search(model, batch.source, batch.source_mask, beam=1)
    for one, other in zip(greedy(model, batch.source, batch.source_mask), beams):
        assert len(other) == 1 and one.ids == other[0].ids
        assert one.log_probability == pytest.approx(other[0].log_probability, abs=1e-9)
        np.testing.assert_allclose(one.weights, other[0].weights, atol=1e-12)


@pytest.mark.parametrize("beam", [1, 4])
def test_result_does_not_depend_on_the_batch(model, batch, beam):
    whole = beam_search(model, batch.source, batch.source_mask, beam)
    for b in range(batch.size):
        n = batch.source_mask[:, b].sum()
        source = batch.source[:n, b:b + 1]
        single = beam_search(model, source, batch.source_mask[:n, b:b + 1], beam)[0]
        assert [h.ids for h in single] == [h.ids for h in whole[b]]
        for h, other in zip(single, whole[b]):
            np.testing.assert_allclose(h.weights, other.weights, atol=1e-12)


def test_weights_log_probability_and_order(model, batch):
    """log p and weights equal those of teacher forcing on the hypothesis."""
    compared = 0
    found = beam_search(model, batch.source, batch.source_mask, beam=5, length_penalty=0.7)
    for b, hypotheses in enumerate(found):
        scores = [h.score(0.7) for h in hypotheses]
        assert scores == sorted(scores, reverse=True)
        assert len({tuple(h.ids) for h in hypotheses}) == len(hypotheses)
        n = batch.source_mask[:, b].sum()
        for h in hypotheses:
            if h.ids[-1] != EOS or len(h.ids) == 1:         # incomplete, or without words
                continue
            compared += 1
            forced = pair_batch([list(batch.source[:n - 1, b])], [h.words])
            assert h.weights.shape == (len(h.ids), n)
            np.testing.assert_allclose(h.weights, model.weights(forced)[:, 0], atol=1e-9)
            assert model.loss(forced)[0] == pytest.approx(-h.log_probability, abs=1e-9)
    assert compared >= 15                                   # of 20


def test_wider_beam_does_not_lower_log_probability(model, batch):
    narrow, wide = (beam_search(model, batch.source, batch.source_mask, beam, 0.0, max_length=4)
                    for beam in (1, 500))
    for few, many in zip(narrow, wide):
        assert many[0].log_probability >= few[0].log_probability - 1e-9


def test_invalid_beam(model, batch):
    with pytest.raises(ValueError, match="beam = 0"):
        beam_search(model, batch.source, batch.source_mask, 0)


def test_invalid_penalty_raises_before_the_model_is_called():
    class Model:
        def start(self, source, source_mask):
            pytest.fail("start was called")

        def next(self, tokens, state):
            pytest.fail("next was called")

    source = np.full((3, 1), 4)
    with pytest.raises(ValueError, match="^length_penalty = 101; expected a number from -100 to"):
        beam_search(Model(), source, source > 0, length_penalty=101)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.longdouble, object])
@pytest.mark.parametrize("count", [1, 2, 3, 5, 40, 60, 61])
def test_largest_sums_come_first_and_ties_keep_their_order(count, dtype, rng):
    so_far = rng.integers(-2, 0, 3).astype(float)
    log_p = rng.integers(-4, 0, (3, 20)).astype(float)              # with many ties
    log_p[rng.random((3, 20)) < 0.2] = -np.inf
    totals = so_far[:, None] + log_p
    log_p = log_p.astype(dtype)                                 # user-defined models may do this
    order = sorted(np.ndindex(3, 20), key=lambda place: (-totals[place], place))
    wanted = [(*place, totals[place]) for place in order if np.isfinite(totals[place])][:count]
    assert _largest(so_far, log_p, count) == wanted
    ties = np.full((2, 40), -1.0, dtype)
    assert _largest(np.zeros(2), ties, 2) == [(0, 0, -1.0), (0, 1, -1.0)]


@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([0.0, 0.6, 1.0, -1.0]))
def test_hypotheses_are_sorted_and_beam_1_equals_greedy(seed, beam, penalty):
    table = Table(np.random.default_rng(seed), 2)
    source = np.full((3, 2), 4)
    found = beam_search(table, source, source > 0, beam, penalty, max_length=5)
    narrow = beam_search(table, source, source > 0, 1, penalty, max_length=5)
    for hypotheses, one, single in zip(found, greedy(table, source, source > 0, 5), narrow):
        scores = [hypothesis.score(penalty) for hypothesis in hypotheses]
        assert scores == sorted(scores, reverse=True) and len(scores) == beam
        assert len({tuple(hypothesis.ids) for hypothesis in hypotheses}) == beam
        assert [hypothesis.ids for hypothesis in single] == [one.ids]
        assert single[0].log_probability == pytest.approx(one.log_probability, abs=1e-12)


def test_defaults():
    parameters = inspect.signature(beam_search).parameters
    assert (parameters["beam"].default, parameters["length_penalty"].default) == (5, 1.0)
