"""The protocols of batches and vocabularies."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from numpy_attention.data.subwords import Subwords
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.module import Array

AnyVocabulary = Vocabulary | Subwords


class Batch:
    """A batch of sentences or streams."""

    rows: Array     # (B,) ids of the rows; dropout depends on them, not on the share of the batch

    @property
    def size(self) -> int:
        """B, the number of rows."""
        return len(self.rows)

    @property
    def tokens(self) -> int:
        """The number of tokens to predict, including ends of sentences."""
        return int(self.row_tokens.sum())

    @property
    def row_tokens(self) -> Array:
        """The number of tokens to predict in each row (B,)."""
        raise NotImplementedError

    def share(self, k: int, n: int) -> "Batch":
        """Divide the rows into n nearly equal batches; return batch k, counted from 0."""
        raise NotImplementedError


class Batches(Protocol):
    """A text cut into batches, which a Trainer reads in the order that `order` returns."""

    def __len__(self) -> int:
        """The number of batches in an epoch with the fixed order: `len(order())`."""

    def order(self, rng: np.random.Generator | None = None) -> Sequence[Any]:
        """Return a place for each batch of an epoch, in the order of training.

        `batch(place)` returns the batch at a place. Without rng, the order is fixed.
        """

    def batch(self, place: Any) -> Batch:
        """Return the batch at a place, which is an element of `order()`.

        The batch must depend only on the place, because several processes may call this method with
        pickled places. Forked processes share the position in an open file, so `batch` must
        itself open any file that it reads.
        """

    def carried(self, place: Any) -> bool:
        """Return whether the batch at a place starts from the final state of the previous batch."""
