"""What batches and vocabularies are to those that use them: the methods that each kind has."""

from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from numpy_attention.module import Array


@runtime_checkable
class Batch(Protocol):
    """Sentences or streams side by side."""

    rows: Array  # (B,) names of the rows, by which dropout knows them in any share

    @property
    def size(self) -> int:
        """B, the number of rows."""

    @property
    def tokens(self) -> int:
        """The number of tokens to predict."""

    @property
    def row_tokens(self) -> Array:
        """(B,) the same of each row."""

    def share(self, k: int, n: int) -> "Batch":
        """The k-th of n nearly equal parts of the rows."""


@runtime_checkable
class Batches(Protocol):
    """A text cut into batches, as a Trainer goes through it."""

    def __len__(self) -> int:
        """How many batches an epoch has, in the order without a generator."""

    def order(self, rng: np.random.Generator | None = None) -> Sequence[Any]:
        """The places of an epoch's batches; rng None: the same each time, for evaluation."""

    def batch(self, place: Any) -> Batch:
        """The batch at a place of `order`."""

    def carried(self, place: Any) -> bool:
        """Whether it goes on where the one before stopped, so that the state is carried."""


@runtime_checkable
class AnyVocabulary(Protocol):
    """Tokens as ids: of words (`Vocabulary`), or of pieces of words (`Subwords`)."""

    def __len__(self) -> int:
        """The number of ids V: 0 ≤ id < V."""

    def __contains__(self, token: object) -> bool:
        """Whether nothing of the token is unknown."""

    def encode(self, tokens: Sequence[str]) -> list[int]:
        """Ids of the tokens."""

    def decode(self, ids: Iterable[int]) -> list[str]:
        """Tokens of the ids, up to the first </s>."""

    def token(self, id: int) -> str:
        """What one id stands for."""

    def places(self, tokens: Sequence[str]) -> list[int]:
        """For each id of `encode(tokens)`, which of the tokens it belongs to."""

    def read(self, ids: Iterable[int]) -> tuple[list[str], list[int]]:
        """→ `decode(ids)`; for each id that it reads, which of the tokens it belongs to."""

    def unknown_share(self, sentences: Iterable[Sequence[str]]) -> float:
        """The share of the sentences' tokens with something unknown, from 0 to 1."""

    def saved(self) -> Any:
        """All that a checkpoint has to keep."""
