"""The protocols of batches and of vocabularies."""

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np

from numpy_attention.data.subwords import Subwords
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.module import Array

AnyVocabulary = Vocabulary | Subwords


class Batch:
    """Sentences or streams side by side."""

    rows: Array     # (B,) ids of the rows, by which dropout knows them in any share

    @property
    def size(self) -> int:
        """B, the number of rows."""
        return len(self.rows)

    @property
    def tokens(self) -> int:
        """The number of tokens to predict, ends of sentences included."""
        return int(self.row_tokens.sum())

    @property
    def row_tokens(self) -> Array:
        """(B,) the same for each row."""
        raise NotImplementedError

    def share(self, k: int, n: int) -> "Batch":
        """Return the k-th of n nearly equal parts of the rows."""
        raise NotImplementedError


class Batches(Protocol):
    """A text cut into batches, as a Trainer goes through it."""

    def __len__(self) -> int:
        """How many batches an epoch has, in the order without a generator."""

    def order(self, rng: np.random.Generator | None = None) -> Sequence[Any]:
        """The places of an epoch's batches; rng None: the same each time, for evaluation."""

    def batch(self, place: Any) -> Batch:
        """The batch at a place of `order`."""

    def carried(self, place: Any) -> bool:
        """Whether it continues the batch before, so that the state is carried."""
