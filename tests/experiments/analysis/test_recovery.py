"""Disturbed passages: how words are replaced, and losses of models where they are known."""

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
    """A model whose loss for each target is the id of the last input."""

    def losses(self, batch, state=None):
        assert state is None, "each passage begins with an empty state"
        return np.where(batch.targets > 0, batch.inputs, 0).astype(float), None


def memoryless(model):
    """Return the model with cells that forget: h_t depends only on the current word."""
    for cell in model.cells.cells:
        cell.U[...] = 0
    return model


def attentive(rng, name, **more):
    settings = {"hidden": 6, "layers": 1, "cell": "rnn", "init": 0.8, "dtype": np.float64}
    return AttentiveLanguageModel.create(rng, V, name, **settings | more)


# ---- passages -----------------------------------------------------------------------------------


@pytest.mark.parametrize("batches, streams", [
    (STREAM, 3), (DocumentBatches([[EOS, *TOKENS[:120]], [EOS, *TOKENS[:50]]], 2, steps=7), 2)])
def test_text_is_split_into_passages(batches, streams, rng):
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


def test_last_passage_ends_with_the_stream():
    documents = documents_of(TextBatches([EOS, *TOKENS[:10]], batch_size=3, steps=2))
    assert [list(one) for one in documents] == [
        [EOS, *TOKENS[:4]], list(TOKENS[3:8]), list(TOKENS[7:10])]


def test_passage_as_long_as_the_text(rng):
    batches = DocumentBatches([[EOS, *TOKENS[:15]]], 1, steps=4)
    assert len(disturbed(batches, rng, words=3, following=6, past=10)) == 1
    with pytest.raises(ValueError, match="has 16 tokens; expected at least 17[.] Use a longer"):
        disturbed(batches, rng, words=3, following=7, past=10)


def test_each_sentence_is_one_passage_disturbed_within_it(rng):
    places = set()
    for _ in range(40):
        found = disturbed(SENTENCES, rng, words=3, following=4)
        assert found.own.documents == [one for one in SENTENCES.documents if len(one) >= 5]
        for own, other, start in zip(found.own.documents, found.disturbed.documents, found.starts):
            assert 4 <= start <= len(own) - 1
            assert other[:start - 3] == own[:start - 3] and other[start:] == own[start:]
            places.add((len(own), start))
    # every position in sentences of 5 and 6 tokens occurs
    assert {(5, 4), (6, 4), (6, 5)} <= places
    with pytest.raises(ValueError, match="22 tokens; .*, or reduce `words` to at most 20"):
        disturbed(SENTENCES, rng, words=30)
    short = DocumentBatches([[EOS, 4], [EOS, 5]], 2)
    with pytest.raises(ValueError, match="has 2 tokens; .* Use a longer text$"):
        disturbed(short, rng, words=3)


def test_number_limits_the_passages_without_repetition(rng):
    found = disturbed(STREAM, rng, words=1, following=2, past=3, number=20)
    assert len(found) == 20
    every = disturbed(STREAM, rng, words=1, following=2, past=3).own.documents
    chosen = [every.index(one) for one in found.own.documents]
    assert chosen == sorted(set(chosen)) and chosen != list(range(20))


def test_same_seed_gives_same_passages():
    one, other = (disturbed(STREAM, np.random.default_rng(5), 2, 4, 9, 8) for _ in range(2))
    assert one.disturbed.documents == other.disturbed.documents
    assert one.own.documents == other.own.documents


def test_replacements_have_word_frequencies_and_are_never_special(rng):
    text = ([4] * 6 + [5] * 3 + [UNK, EOS]) * 200
    found = disturbed(TextBatches([EOS, *text], 1, 5), rng, words=5, following=2, past=8)
    replacements = np.concatenate([one[3:8] for one in found.disturbed.documents])
    assert set(replacements) == {4, 5}
    assert (replacements == 4).mean() == pytest.approx(2 / 3, abs=0.05)
    with pytest.raises(ValueError, match="every word of this text is unknown"):
        disturbed(TextBatches([EOS, *[UNK] * 99], 1, 5), rng)


# ---- losses -------------------------------------------------------------------------------------


@pytest.mark.parametrize("batches, words", [(STREAM, 2), (SENTENCES, 3)])
def test_distance_1_is_the_target_after_the_last_replacement(batches, words, rng):
    """The loss of Echo differs by the last replacement minus the original word."""
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


def test_distances_beyond_all_passages_are_omitted(rng):
    short = DocumentBatches([[EOS, 4, 5, 6], [EOS, 4, 5, 6, 7]], 2)
    passages = disturbed(short, rng, words=1, following=9)
    found = recover(Echo(), passages, rng)
    assert list(found.excess) == list(range(1, 1 + int(np.isfinite(found.rows).sum(1).max())))
    assert found.rows.shape == (2, 9)


@pytest.mark.parametrize("name, more, reach", [
    (None, {}, 1), ("projection", {}, 1), ("ngram", {"order": 2}, 1), ("ngram", {"order": 4}, 3),
    ("combined", {"window": 2}, 3), ("key-value", {"window": 4}, 5)])
def test_memoryless_cells_are_affected_within_the_window(name, more, reach, rng):
    if name is None:
        model = LanguageModel.create(rng, V, 6, layers=1, cell="rnn", init=0.8, dtype=np.float64)
    else:
        model = attentive(rng, name, **more)
    passages = disturbed(STREAM, rng, words=4, following=8, past=9)
    found = recover(memoryless(model), passages, rng)
    size = np.abs(found.rows).max(0)
    assert (size[:reach] > 1e-3).all() and (size[reach:] < 1e-12).all()


def test_memory_holds_the_whole_passage(rng):
    """Without a window, a disturbed word stays visible to the end, even with short batches."""
    passages = disturbed(STREAM, rng, words=4, following=30, past=9)
    found = recover(memoryless(attentive(rng, "combined")), passages, rng)
    assert (np.abs(found.rows).max(0) > 1e-6).all()


def test_ensemble(rng):
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
