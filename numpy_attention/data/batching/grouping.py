"""Sequences of different lengths side by side: which ones, padded with what, and who gets which."""

from collections.abc import Sequence

import numpy as np

from numpy_attention.data.vocabulary import PAD
from numpy_attention.module import Array


def padded(sentences: Sequence[Sequence[int]], length: int | None = None) -> Array:
    """Lists of ids as one time-major array (T, B), PAD at the end.

    T is the length of the longest, or `length`.
    """
    if not length:
        length = max(map(len, sentences))
    ids = np.full((length, len(sentences)), PAD, np.int64)  # (T, B)
    for b, sentence in enumerate(sentences):
        given = np.asarray(sentence)
        if len(given) and given.dtype.kind not in "iu":
            raise TypeError(f"sentence {b} holds {given.dtype}, expected integers: encode tokens "
                            "with a Vocabulary")
        ids[:len(given), b] = given
    return ids


def grouped(
    lengths: Array, batch_size: int, block: int = 20, rng: np.random.Generator | None = None
) -> list[Array]:
    """Indices of sequences in batches of similar length.

    Shuffled, sorted by length within blocks of `block` batches, and the batches shuffled again. rng
    None: sorted by length altogether, the same each time.
    """
    if rng is None:
        return _cut(np.argsort(lengths, kind="stable"), batch_size)
    blocks = _cut(rng.permutation(len(lengths)), block * batch_size)
    sorted_blocks = [some[np.argsort(lengths[some], kind="stable")] for some in blocks]
    batches = _cut(np.concatenate(sorted_blocks), batch_size)
    return [batches[i] for i in rng.permutation(len(batches))]


def share_of(size: int, k: int, n: int) -> slice:
    """The k-th of n nearly equal slices of so many rows, or numbers."""
    return slice(size * k // n, size * (k + 1) // n)


def _cut(order: Array, size: int) -> list[Array]:
    return [order[i:i + size] for i in range(0, len(order), size)]
