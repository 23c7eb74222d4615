"""Results of decoding, and the checks that all searches share."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Sequence

import numpy as np

from numpy_attention.data.vocabulary import BOS, EOS, PAD
from numpy_attention.module import Array
from numpy_attention.validation.arguments import as_integers, check_methods, check_number
from numpy_attention.validation.arrays import at_least, check_integers, check_mask


@dataclass
class Hypothesis:
    """A translation: its ids, the sum of their log p, and the attention weights.

    The ids end with </s>, unless the search ended at the maximum length.
    """

    ids: list[int]
    log_probability: float
    weights: Array      # (T, S)  S includes </s>

    @property
    def finished(self) -> bool:
        """True if the translation ends with </s>."""
        return bool(self.ids) and self.ids[-1] == EOS

    @property
    def words(self) -> list[int]:
        """The ids without </s>."""
        return self.ids[:-1] if self.finished else self.ids

    def score(self, length_penalty: float) -> float:
        """Return log p / ((5 + length) / 6)^length_penalty (Wu et al. 2016, equation 14).

        The length includes </s>. With length_penalty = 0, the score is the sum of log p. Raises
        ValueError unless length_penalty is a number from −100 to 100.
        """
        check_penalty(length_penalty)
        return self.log_probability / ((5 + len(self.ids)) / 6) ** length_penalty


class Prefix(NamedTuple):
    """The beginning of a translation during a search."""

    sentence: int                   # its place in the batch
    ids: list[int] = []
    log_probability: float = 0.0
    weights: list[Array] = []       # of (S,)

    def followed_by(self, token: int, log_probability: float, weights: Array) -> "Prefix":
        """Return the prefix extended by a token. log_probability: log p of the extended prefix."""
        return Prefix(self.sentence, self.ids + [token], log_probability,
                      self.weights + [weights.copy()])

    def ends(self, limit: Array) -> bool:
        """Return whether the prefix ends with </s> or has the maximum length.

        limit (B,): the maximum length of the translation of each sentence in the batch.
        """
        return self.ids[-1] == EOS or len(self.ids) >= limit[self.sentence]

    def hypothesis(self) -> Hypothesis:
        return Hypothesis(self.ids, self.log_probability, np.array(self.weights))


def check_penalty(length_penalty: float) -> None:
    """Raise ValueError unless length_penalty is a number from −100 to 100."""
    check_number("length_penalty", length_penalty, -100, 100, "a number from -100 to 100")


def check_sources(model: Any, source: Array, source_mask: Array) -> None:
    """Check the model and the source arguments of a search.

    Raises TypeError if an argument has the wrong type, and ValueError if a shape is not (S, B).
    """
    check_methods("model", model, "a translator", "start", "next")
    check_integers("source", source, (None, None), "(S, B)")
    check_mask(source_mask, source.shape, "(S, B)", "source_mask")


def longest(source_mask: Array, max_length: int | None) -> Array:
    """Return the maximum length (B,) of the translation of each sentence.

    It is twice the source length (with </s>) plus 10, or max_length if max_length is smaller.
    Raises ValueError for an empty sentence or a max_length below 1.
    """
    lengths = source_mask.sum(0)
    if (lengths < 1).any():
        raise ValueError(f"source[:, {lengths.argmin()}] is empty; expected at least </s>. Remove "
                         "empty sentences")
    limit = 2 * lengths + 10
    if max_length is None:
        return limit
    at_least(1, max_length=max_length)
    return np.minimum(min(max_length, int(limit.max(initial=1))), limit)


def never_chosen(never: Sequence[int], V: int) -> list[int]:
    """Return the ids that a search must not choose: <pad>, <s> and the ids in `never`.

    V: the vocabulary size. Raises ValueError for an id outside 0 … V − 1, or if no id is left.
    """
    ids = as_integers("`never`", never)
    wrong = ids[(ids < 0) | (ids >= V)]
    if wrong.size:
        raise ValueError(f"`never` contains the id {wrong[0]}; expected ids from 0 to {V - 1}")
    if len({PAD, BOS, *ids.tolist()}) == V:
        raise ValueError("`never` leaves no token to choose; remove ids from it")
    return [PAD, BOS, *ids.tolist()]


def forbid(log_probs: Array, never: Sequence[int] = (PAD, BOS), dtype: Any = None) -> Array:
    """Return a copy of log_probs (…, V) with −inf at the ids in `never`.

    dtype: the dtype of the copy; None: that of log_probs. Raises ArithmeticError if the log p of an
    allowed id is not a number, or if a row has nothing left to choose from.
    """
    log_probs = np.array(log_probs, dtype)
    log_probs[..., list(never)] = -np.inf
    if not (log_probs.max(-1) > -np.inf).all():             # the largest of a row with a NaN is NaN
        what = "NaN" if np.isnan(log_probs).any() else "−inf for every allowed token"
        raise ArithmeticError(f"the model's log p is {what}; did training diverge?")
    return log_probs
