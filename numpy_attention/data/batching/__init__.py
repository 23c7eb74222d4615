"""Batches: sentences of similar length, padded, or a long text cut into parallel streams.

`numpy_attention.data.protocols.Batches` describes the methods of all kinds of batches.
"""

from numpy_attention.data.batching.document_batches import DocumentBatches
from numpy_attention.data.batching.grouping import grouped, padded
from numpy_attention.data.batching.pair_batches import PairBatch, PairBatches, pair_batch
from numpy_attention.data.batching.text_batches import TextBatch, TextBatches

__all__ = ["DocumentBatches", "PairBatch", "PairBatches", "TextBatch", "TextBatches", "grouped",
           "padded", "pair_batch"]
