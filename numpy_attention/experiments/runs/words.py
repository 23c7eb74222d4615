"""Attention weights of the ids that a model reads and writes, as weights of the words."""

from collections.abc import Sequence

import numpy as np

from numpy_attention.module import Array


def turned(weights: Array) -> Array:
    """Weights (T, S) of a source that was read from its end, in its own order; </s> stays last."""
    return np.concatenate([weights[:, -2::-1], weights[:, -1:]], axis=1)


def in_words(weights: Array, columns: Sequence[int], rows: Sequence[int]) -> Array:
    """Weights (T, S) of ids as weights of words: sums over the ids of a source word, means over the
    ids of a target word.

    columns (S,), rows (T,): to which word an id belongs, counted from 0; </s> is the last.
    """
    source = np.eye(max(columns) + 1, dtype=weights.dtype)[columns]         # (S, source words)
    target = np.eye(max(rows) + 1, dtype=weights.dtype)[rows]               # (T, target words)
    return target.T @ weights @ source / target.sum(0)[:, None]
