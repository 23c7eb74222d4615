"""What decoding returns, and what every search checks first."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.data.vocabulary import BOS, EOS, PAD
from numpy_attention.module import Array


@dataclass
class Hypothesis:
    """A translation: ids with </s> at the end where it was reached, Σ log p, attention weights (target, source)."""

    ids: list
    log_probability: float
    weights: Array      # (T, S), S with the source's </s>

    @property
    def finished(self):
        """Whether </s> was reached."""
        return bool(self.ids) and self.ids[-1] == EOS

    @property
    def words(self):
        """The ids without </s>."""
        return self.ids[:-1] if self.finished else self.ids

    def score(self, length_penalty):
        """log p / ((5 + length) / 6)^length_penalty (Wu et al. 2016, equation 14), length with </s>; 0 compares sums of
        log p."""
        return self.log_probability / ((5 + len(self.ids)) / 6) ** length_penalty


def longest(source_mask, max_length):
    """Steps to allow each sentence (B,): twice its source's length and 10 more, and at most max_length where given."""
    lengths = source_mask.sum(0)
    if (lengths < 1).any():
        raise ValueError("an empty source sentence, expected at least its </s>: drop empty sentences")
    if max_length is not None and max_length < 1:
        raise ValueError(f"max_length {max_length}: expected at least 1")
    return np.minimum(max_length, 2 * lengths + 10) if max_length else 2 * lengths + 10


def forbid(log_probs, never=(PAD, BOS)):
    """Write −inf into log p (…, V) at the ids that are never chosen.

    ArithmeticError: a log p that is not a number, or a row with nothing left to choose from.
    """
    log_probs[..., list(never)] = -np.inf
    if not (log_probs.max(-1) > -np.inf).all():             # the largest of a row with a NaN is NaN
        raise ArithmeticError("the model gives no probabilities to choose a token from: is it trained?")
