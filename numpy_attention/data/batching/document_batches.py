"""Batches of documents, each read from its beginning to its end."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from numpy_attention.data.batching.grouping import check_ids_in, grouped, padded
from numpy_attention.data.batching.text_batches import TextBatch
from numpy_attention.module import Array
from numpy_attention.validation.arrays import at_least, check_whole

Place = tuple[Array, int]  # indices of the documents, start of the window


@dataclass(eq=False)
class DocumentBatches:
    """Batches of documents, such as sentences. The state is carried within each document.

    documents: lists of ids; every id except the first is predicted. steps: the number of ids read
    at a time; None reads a whole document at once. A batch has up to batch_size documents. They are
    of similar length, because documents are sorted by length within blocks of `block` batches.
    """

    documents: Sequence[Sequence[int]]
    batch_size: int = 20
    steps: int | None = None
    block: int = 20

    def __post_init__(self) -> None:
        check_whole("batch_size", self.batch_size, 1)
        check_whole("block", self.block, 1)
        at_least(1, steps=self.steps)
        check_ids_in("documents", self.documents)
        if not len(self.documents):
            raise ValueError("documents is empty; expected at least one document")
        shortest, n = min((len(document), n) for n, document in enumerate(self.documents))
        if shortest < 2:
            raise ValueError(f"documents[{n}] has length {shortest}; expected at least 2 ids, "
                             "because the first id is not predicted. Leave out short documents")

    def __len__(self) -> int:
        return len(self.order())

    def order(self, rng: np.random.Generator | None = None) -> list[Place]:
        """Return a place for each batch of an epoch: (indices of its documents, first time step).

        Without rng, the documents are sorted by length.
        """
        lengths = np.array([len(document) - 1 for document in self.documents])
        places = []
        for group in grouped(lengths, self.batch_size, self.block, rng):
            longest = int(lengths[group].max())
            places += [(group, start) for start in range(0, longest, self.steps or longest)]
        return places

    def batch(self, place: Place) -> TextBatch:
        """Return the TextBatch at a place, an element of `order()`."""
        indices, start = place
        end = None if self.steps is None else start + self.steps
        inputs = [self.documents[i][:-1][start:end] for i in indices]
        targets = [self.documents[i][1:][start:end] for i in indices]
        length = max(map(len, targets))
        return TextBatch(padded(inputs, length), padded(targets, length), np.arange(len(indices)))

    def first_words(self) -> "DocumentBatches":
        """Return DocumentBatches with only the first two ids of each document.

        The documents are in the order in which the batches of `order()` contain them.
        """
        places = [place for place in self.order() if place[1] == 0]
        first = [self.documents[i][:2] for group, _ in places for i in group]
        return DocumentBatches(first, self.batch_size)

    def carried(self, place: Place) -> bool:
        """Return whether the batch at a place continues the documents of the previous batch."""
        _, start = place
        return start > 0
