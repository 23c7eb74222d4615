"""Disturbed passages: which words are replaced by which, and what models lose, where it is known.
"""

import numpy as np
import pytest

from numpy_attention.data.batching import DocumentBatches, TextBatches
from numpy_attention.data.vocabulary import EOS, UNK
from numpy_attention.experiments.analysis import disturbed, recover
from numpy_attention.experiments.analysis.recovery import documents_of
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.ensemble import Ensemble
from numpy_attention.models.language_model import LanguageModel

V = 12
TOKENS = np.random.default_rng(3).integers(4, V, 400)
STREAM = TextBatches([EOS, *TOKENS], batch_size=3, steps=7)
SENTENCES = DocumentBatches([[EOS, *TOKENS[k * k:k * k + k + 1], EOS] for k in range(1, 20)], 4)


class Echo:
    """Loses the id that it has just read, for each target."""

    def losses(self, batch, state=None):
        assert state is None, "each passage begins with an empty state"
        return np.where(batch.targets > 0, batch.inputs, 0).astype(float), None


def memoryless(model):
    """The same with cells that forget: h_t depends on the word just read alone."""
    for cell in model.cells.cells:
        cell.U[...] = 0
    return model


def attentive(rng, name, **more):
    settings = {"hidden": 6, "layers": 1, "cell": "rnn", "init": 0.8, "dtype": np.float64}
    return AttentiveLanguageModel.create(rng, V, name, **settings | more)


# ---- passages -----------------------------------------------------------------------------------


@pytest.mark.parametrize("batches, streams", [
    (STREAM, 3), (DocumentBatches([[EOS, *TOKENS[:120]], [EOS, *TOKENS[:50]]], 2, steps=7), 2)])
def test_a_text_read_in_steps_is_cut_into_passages(batches, streams, rng):
    documents = documents_of(batches)
    assert len(documents) == streams
    found = disturbed(batches, rng, words=3, following=6, past=10)
    cut = [one[k:k + 16] for one in documents for k in range(0, len(one) - 15, 16)]
    assert found.own.documents == cut and len(found) == len(cut)
    assert (found.starts == 10).all() and found.following == 6
    for own, other in zip(found.own.documents, found.disturbed.documents):
        assert other[:7] == own[:7] and other[10:] == own[10:] and len(other) == len(own)
    changed = sum(own[7:10] != other[7:10]
                  for own, other in zip(found.own.documents, found.disturbed.documents))
    assert changed > 0.9 * len(cut)


def test_streams_are_read_to_their_last_targets():
    documents = documents_of(TextBatches([EOS, *TOKENS[:10]], batch_size=3, steps=2))
    assert [list(one) for one in documents] == [
        [EOS, *TOKENS[:4]], list(TOKENS[3:8]), list(TOKENS[7:10])]


def test_a_passage_as_long_as_the_text_is_one(rng):
    batches = DocumentBatches([[EOS, *TOKENS[:15]]], 1, steps=4)
    assert len(disturbed(batches, rng, words=3, following=6, past=10)) == 1
    with pytest.raises(ValueError, match="of 17 tokens .its longest stretch has 16.; use"):
        disturbed(batches, rng, words=3, following=7, past=10)


def test_a_sentence_is_a_passage_and_the_place_lies_within_it(rng):
    places = set()
    for _ in range(40):
        found = disturbed(SENTENCES, rng, words=3, following=4)
        assert found.own.documents == [one for one in SENTENCES.documents if len(one) >= 5]
        for own, other, start in zip(found.own.documents, found.disturbed.documents, found.starts):
            assert 4 <= start <= len(own) - 1
            assert other[:start - 3] == own[:start - 3] and other[start:] == own[start:]
            places.add((len(own), start))
    # every place of a sentence of 5 and of 6 tokens is drawn
    assert {(5, 4), (6, 4), (6, 5)} <= places
    with pytest.raises(ValueError, match="no passage of 32 tokens .its longest stretch has 22"):
        disturbed(SENTENCES, rng, words=30)


def test_so_many_are_drawn_and_no_passage_twice(rng):
    found = disturbed(STREAM, rng, words=1, following=2, past=3, number=20)
    assert len(found) == 20
    every = disturbed(STREAM, rng, words=1, following=2, past=3).own.documents
    chosen = [every.index(one) for one in found.own.documents]
    assert chosen == sorted(set(chosen)) and chosen != list(range(20))


def test_the_same_generator_makes_the_same_passages():
    one, other = (disturbed(STREAM, np.random.default_rng(5), 2, 4, 9, 8) for _ in range(2))
    assert one.disturbed.documents == other.disturbed.documents
    assert one.own.documents == other.own.documents


def test_new_words_are_as_frequent_as_in_the_text_and_never_special(rng):
    text = ([4] * 6 + [5] * 3 + [UNK, EOS]) * 200
    found = disturbed(TextBatches([EOS, *text], 1, 5), rng, words=5, following=2, past=8)
    drawn = np.concatenate([one[3:8] for one in found.disturbed.documents])
    assert set(drawn) == {4, 5}
    assert (drawn == 4).mean() == pytest.approx(2 / 3, abs=0.05)
    with pytest.raises(ValueError, match="every word of this text is unknown"):
        disturbed(TextBatches([EOS, *[UNK] * 99], 1, 5), rng)


# ---- what is lost -------------------------------------------------------------------------------


@pytest.mark.parametrize("batches, words", [(STREAM, 2), (SENTENCES, 3)])
def test_the_first_target_is_the_one_after_the_last_new_word(batches, words, rng):
    """A model that loses the id it has just read loses the last new word less the old one."""
    passages = disturbed(batches, rng, words=words, following=5, past=8)
    found = recover(Echo(), passages, rng)
    last = [(own[start - 1], other[start - 1]) for own, other, start in zip(
        passages.own.documents, passages.disturbed.documents, passages.starts)]
    np.testing.assert_array_equal(found.rows[:, 0], [new - old for old, new in last])
    assert found.excess[1].mean == pytest.approx(np.mean([new - old for old, new in last]))
    assert found.excess[1].low < found.excess[1].mean < found.excess[1].high
    left = [min(5, len(own) - start)
            for own, start in zip(passages.own.documents, passages.starts)]
    for row, measured in zip(found.rows, left):
        assert not row[1:measured].any() and np.isnan(row[measured:]).all()
    assert found.tokens == sum(left)
    assert found.mean.mean == pytest.approx(sum(new - old for old, new in last) / sum(left))
    read = [own[start - 1:start - 1 + measured] for own, start, measured in zip(
        passages.own.documents, passages.starts, left)]
    assert found.loss == pytest.approx(np.mean(np.concatenate(read)))


def test_distances_that_no_passage_reaches_are_left_out(rng):
    short = DocumentBatches([[EOS, 4, 5, 6], [EOS, 4, 5, 6, 7]], 2)
    passages = disturbed(short, rng, words=1, following=9)
    found = recover(Echo(), passages, rng)
    assert list(found.excess) == list(range(1, 1 + int(np.isfinite(found.rows).sum(1).max())))
    assert found.rows.shape == (2, 9)


@pytest.mark.parametrize("name, more, reach", [
    (None, {}, 1), ("projection", {}, 1), ("ngram", {"order": 2}, 1), ("ngram", {"order": 4}, 3),
    ("combined", {"window": 2}, 3), ("key-value", {"window": 4}, 5)])
def test_cells_without_a_memory_are_misled_as_far_as_the_reader_sees(name, more, reach, rng):
    if name is None:
        model = LanguageModel.create(rng, V, 6, layers=1, cell="rnn", init=0.8, dtype=np.float64)
    else:
        model = attentive(rng, name, **more)
    passages = disturbed(STREAM, rng, words=4, following=8, past=9)
    found = recover(memoryless(model), passages, rng)
    size = np.abs(found.rows).max(0)
    assert (size[:reach] > 1e-3).all() and (size[reach:] < 1e-12).all()


def test_the_whole_passage_is_in_the_memory(rng):
    """Without a window what was disturbed is seen to the end, however short a batch's steps are."""
    passages = disturbed(STREAM, rng, words=4, following=30, past=9)
    found = recover(memoryless(attentive(rng, "combined")), passages, rng)
    assert (np.abs(found.rows).max(0) > 1e-6).all()


def test_an_ensemble_recovers_too(rng):
    both = Ensemble([LanguageModel.create(rng, V, 6) for _ in range(2)])
    assert np.isfinite(recover(both, disturbed(STREAM, rng, 2, 4, 9, 8), rng).mean.mean)


def test_two_models_are_paired_by_passage(rng):
    passages = disturbed(SENTENCES, rng, words=2, following=6)
    one, other = (recover(model, passages, rng)
                  for model in (Echo(), attentive(rng, "single", cell="lstm")))
    excess, mean = other.more_than(one, rng)
    assert mean.mean == pytest.approx(other.mean.mean - one.mean.mean)
    assert mean.low < mean.mean < mean.high
    assert excess.keys() == one.excess.keys()
    assert excess[2].mean == pytest.approx(other.excess[2].mean - one.excess[2].mean)
    zero = one.more_than(one, rng)[1]
    assert zero == (0, 0, 0)
    with pytest.raises(ValueError, match="cover different passages"):
        other.more_than(recover(Echo(), disturbed(STREAM, rng), rng), rng)
    with pytest.raises(TypeError, match="first"):
        other.more_than(passages, rng)
