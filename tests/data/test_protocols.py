"""Each kind of batches has the methods that a Trainer calls."""

import pytest

from numpy_attention.data.batching import DocumentBatches, PairBatches, TextBatches
from numpy_attention.data.protocols import Batch, Batches


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
    assert batch.size == len(batch.rows) == len(batch.row_tokens)
    assert batch.tokens == batch.row_tokens.sum()
