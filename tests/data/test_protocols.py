"""Each kind of batches and of vocabularies has the methods that its users call."""

import pytest

from numpy_attention.data.batching import DocumentBatches, PairBatches, TextBatches
from numpy_attention.data.protocols import AnyVocabulary, Batch, Batches
from numpy_attention.data.vocabulary import Vocabulary


@pytest.mark.parametrize("batches", [
    PairBatches([[4, 5]], [[6]]),
    TextBatches([2, 4, 5], batch_size=1),
    DocumentBatches([[2, 4, 5]]),
], ids=lambda batches: type(batches).__name__)
def test_batches(batches):
    assert isinstance(batches, Batches)
    batch = batches.batch(batches.order()[0])
    assert isinstance(batch, Batch) and isinstance(batch.share(0, 1), Batch)
    assert not isinstance(batch, Batches)


def test_vocabularies():
    assert isinstance(Vocabulary(["a"]), AnyVocabulary)


def test_subwords():
    pytest.importorskip("sentencepiece")
    from numpy_attention.data.subwords import Subwords

    assert isinstance(Subwords.build([["abc", "ab", "bc"]] * 9, 10), AnyVocabulary)
