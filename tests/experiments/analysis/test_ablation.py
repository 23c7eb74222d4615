"""Ablated attention: weights, losses of models that use them, and groups of words."""

import numpy as np
import pytest

from numpy_attention.attention.hard import hard_weights
from numpy_attention.attention.softmax import masked_softmax
from numpy_attention.data.batching import PairBatches, TextBatches
from numpy_attention.experiments.analysis import CHANGES, Ablation, Interval, ablate, changed
from numpy_attention.experiments.analysis.ablation import (
    Cost,
    attentions_of,
    equal,
    none,
    sampled,
)
from numpy_attention.experiments.analysis.losses import losses_of
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.encoder_decoder import EncoderDecoder
from numpy_attention.models.hard_rnnsearch import HardRNNSearch
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.models.transformer import Transformer

V = 12
SOURCES = [[4, 5, 6, 7], [8, 4], [9, 9, 5], [6, 10], [11, 4, 8, 5, 6]]
TARGETS = [[7, 6, 5], [4, 8, 9], [5], [10, 6, 4, 4], [11, 5]]
PAIRS = PairBatches(SOURCES, TARGETS, batch_size=5)
TEXT = TextBatches(list(np.random.default_rng(3).integers(4, V, 300)), batch_size=4, steps=9)


def translators(rng):
    return {
        "rnnsearch": RNNSearch.create(rng, V, V, hidden=6, embedding=5, dtype=np.float64),
        "hard rnnsearch": HardRNNSearch.create(rng, V, V, hidden=6, embedding=5, dtype=np.float64),
        "luong local": LuongTranslator.create(rng, V, V, hidden=6, embedding=5, window="local-m",
                                              width=1, dtype=np.float64),
        "luong predicted": LuongTranslator.create(rng, V, V, hidden=6, embedding=5, width=2,
                                                  window="local-p", dtype=np.float64),
        "several heads": LuongTranslator.create(rng, V, V, hidden=6, embedding=5, heads=2,
                                                attention="multi-head", dtype=np.float64),
        "transformer": Transformer.create(rng, V, V, size=6, layers=2, heads=2, dtype=np.float64),
    }


def writers(rng):
    return {name: AttentiveLanguageModel.create(rng, V, name, hidden=6, dtype=np.float64, **more)
            for name, more in (("single", {}), ("combined", {"window": 3}),
                               ("key-value-predict", {"carried": 4}))}


def both(rng):
    return translators(rng) | writers(rng)


def large(model, rng):
    """Return the model with weights large enough for every change to matter."""
    model.vector[:] = rng.normal(0, 0.7, model.size)
    return model


# ---- weights ------------------------------------------------------------------------------------


VISIBLE = np.array([[1, 1, 0, 1], [0, 0, 0, 0], [0, 1, 0, 0]], bool)
SCORES = np.array([[0.5, 2.0, 9.0, 1.0], [1.0, 2.0, 3.0, 4.0], [9.0, 0.0, 9.0, 9.0]])


@pytest.mark.parametrize("attention_weights, first", [
    (none, [0, 0, 0, 0]), (equal, [1 / 3, 1 / 3, 0, 1 / 3]), (hard_weights, [0, 1, 0, 0])])
def test_weights_in_place_of_the_softmax(attention_weights, first):
    found = attention_weights(SCORES, VISIBLE)
    last = [0, 0, 0, 0] if attention_weights is none else [0, 1, 0, 0]
    np.testing.assert_allclose(found, [first, [0, 0, 0, 0], last])


def test_sampled_positions_have_frequencies_equal_to_the_weights():
    attention_weights = sampled(np.random.default_rng(0))
    many = 4000
    scores = np.tile(SCORES[:1], (many, 1))
    visible = np.tile(VISIBLE[:1], (many, 1))
    found = attention_weights(scores, visible)
    assert set(np.unique(found)) == {0.0, 1.0} and (found.sum(1) == 1).all()
    expected = masked_softmax(SCORES[:1], VISIBLE[:1])[0]
    np.testing.assert_allclose(found.mean(0), expected, atol=0.03)
    assert not attention_weights(SCORES, VISIBLE)[1].any()


# ---- models -------------------------------------------------------------------------------------


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("name", both(np.random.default_rng(0)))
def test_ablated_model_is_a_changed_copy(name, change, rng):
    model = large(both(rng)[name], rng)
    batches = TEXT if name in writers(rng) else PAIRS
    before = losses_of(model, batches)
    other = losses_of(changed(model, change, rng), batches)
    assert all(np.array_equal(a, b) for a, b in zip(before, losses_of(model, batches)))
    assert all(np.isfinite(losses).all() for losses in other)
    most = max(np.abs(a - b).max() for a, b in zip(before, other))
    assert most > 1e-6 or (name, change, most) == ("hard rnnsearch", "hard", 0)
    if batches is TEXT:         # the first word of a text attends to nothing
        np.testing.assert_allclose(other[0][0], before[0][0], rtol=1e-12)


def test_none_equals_a_model_that_ignores_the_context(rng):
    model = large(writers(rng)["combined"], rng)
    without = model.copy()
    without.reader.W_r[...] = 0
    np.testing.assert_allclose(np.concatenate(losses_of(changed(model, "no context", rng), TEXT)),
                               np.concatenate(losses_of(without, TEXT)), rtol=1e-12)


def test_equal_matches_a_score_that_is_always_0(rng):
    model = large(writers(rng)["combined"], rng)
    flat = model.copy()
    flat.reader.attention.v[...] = 0
    np.testing.assert_allclose(
        np.concatenate(losses_of(changed(model, "equal weights", rng), TEXT)),
        np.concatenate(losses_of(flat, TEXT)), rtol=1e-12)


@pytest.mark.parametrize("name", ["rnnsearch", "several heads", "transformer"])
def test_shuffled_memory_is_that_of_the_next_row(name, rng):
    """Equal sources give equal losses, and a single row keeps its own memory."""
    model = large(translators(rng)[name], rng)
    same = PairBatches([[4, 5, 6]] * 3, TARGETS[:3], batch_size=3)
    single = PairBatches(SOURCES[:3], TARGETS[:3], batch_size=1)
    for batches in (same, single):
        for a, b in zip(losses_of(model, batches),
                        losses_of(changed(model, "shuffled", rng), batches)):
            np.testing.assert_allclose(a, b, rtol=1e-12)


def test_shuffled_memory_by_hand(rng):
    """RNNsearch with the memory of the other source and the initial state of its own."""
    model = large(translators(rng)["rnnsearch"], rng)
    batches = PairBatches([[4, 5, 6], [9, 7]], [[5, 6], [5, 6]], batch_size=2)
    batch = batches.batch(batches.order()[0])
    other = changed(model, "shuffled", rng).start(batch.source, batch.source_mask)
    own = model.start(batch.source, batch.source_mask)
    np.testing.assert_array_equal(other.memory.values, own.memory.values[::-1])
    np.testing.assert_array_equal(other.memory.mask, own.memory.mask[::-1])


@pytest.mark.parametrize("make", [
    lambda rng: LanguageModel.create(rng, V, 6),
    lambda rng: AttentiveLanguageModel.create(rng, V, "ngram", 6),
    lambda rng: EncoderDecoder.create(rng, V, V, hidden=6, embedding=5),
])
def test_model_without_attention_raises(make, rng):
    for use in (lambda model: changed(model, "no context", rng),
                lambda model: ablate(model, PAIRS, rng), attentions_of):
        with pytest.raises(ValueError, match="has no attention to change"):
            use(make(rng))


# ---- costs --------------------------------------------------------------------------------------


@pytest.mark.parametrize("batches, make", [
    (PAIRS, lambda rng: translators(rng)["luong local"]),
    (TEXT, lambda rng: writers(rng)["single"]),
])
def test_costs_are_differences_of_losses(batches, make, rng):
    model = large(make(rng), rng)
    found = ablate(model, batches, rng, ["equal weights", "no context"])
    tokens = sum(int((one > 0).sum()) for one in losses_of(model, batches))
    assert found.tokens == tokens
    own, other = (sum(one.sum() for one in losses_of(each, batches)) / tokens
                  for each in (model, changed(model, "no context", rng)))
    cost = found.cost("no context")
    assert found.loss == pytest.approx(own) and cost.loss == pytest.approx(other)
    assert cost.more.mean == pytest.approx(other - own)
    assert cost.more.low < cost.more.mean < cost.more.high
    with pytest.raises(ValueError, match="change = 'sampled' and words = 'all'; changes"):
        found.cost("sampled")


def test_old_names_of_changes_are_accepted(rng):
    model = large(writers(rng)["single"], rng)
    found = ablate(model, TEXT, rng, ["another's memory", "largest alone"])
    assert [one.change for one in found.costs if one.words == "all"] == ["shuffled", "hard"]
    assert found.cost("largest alone") == found.cost("hard")


def test_words_are_grouped_by_last_occurrence(rng):
    found = ablate(large(writers(rng)["single"], rng), TEXT, rng, ["no context"])
    every, *groups = found.costs
    assert [one.words for one in found.costs] == ["all", "1 to 5 ago", "6 to 15 ago",
                                                  "16 to 35 ago", "not since"]
    assert sum(one.tokens for one in groups) == every.tokens
    whole = sum(one.tokens * one.more.mean for one in groups) / every.tokens
    assert whole == pytest.approx(every.more.mean)


@pytest.mark.parametrize("low, used, word", [(0.02, True, "used"), (0.0099, False, "unused")])
def test_verdict_includes_the_decisive_number(low, used, word):
    more = Interval(0.03, low, 0.04)
    found = Ablation(2.0, 9, [Cost("equal weights", "all", 9, 2.03, more)])
    assert found.used is found.alive is used
    decides = f"attention is {word}: equal weights cost 0.030 ({low:.3f} to 0.040) nats per token"
    assert found.verdict().startswith(decides)
