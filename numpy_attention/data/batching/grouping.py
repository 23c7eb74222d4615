"""Group sequences by length, pad them, and divide the rows of batches into slices."""

from collections.abc import Sequence
from itertools import chain

import numpy as np

from numpy_attention.data.vocabulary import PAD
from numpy_attention.module import Array
from numpy_attention.validation.arguments import as_integers, check_generator, check_list
from numpy_attention.validation.arrays import at_least, check_whole


def padded(sentences: Sequence[Sequence[int]], length: int | None = None) -> Array:
    """Return sentences, lists of ids, as one time-major array (T, B) with PAD at the end.

    T is `length`, or the length of the longest sentence. Raises TypeError for ids that are not
    integers, and ValueError if there are no sentences, if a sentence is longer than `length`, or if
    an id is negative.
    """
    at_least(1, length=length)
    check_lists("sentences", sentences)
    if not len(sentences):
        raise ValueError("there are no sentences; expected at least one")
    longest = max(map(len, sentences))
    if length is not None and longest > length:
        raise ValueError(f"length = {length} is too short: the longest sentence has {longest} ids")
    ids = np.full((length or longest, len(sentences)), PAD, np.int64)  # (T, B)
    for b, sentence in enumerate(sentences):
        ids[:len(sentence), b] = as_integers(f"sentences[{b}]", sentence)
    if ids.size and ids.min() < 0:
        raise ValueError(f"sentences contain the id {ids.min()}; ids must be at least 0, like "
                         "those that a Vocabulary returns")
    return ids


def check_lists(name: str, sentences: Sequence[Sequence[int]]) -> None:
    """Raise TypeError unless `sentences` is a list of lists. name: for messages."""
    check_list(name, sentences, "lists of ids")
    for n, sentence in enumerate(sentences):
        check_list(f"{name}[{n}]", sentence, "ids")


def check_ids_in(name: str, sentences: Sequence[Sequence[int]]) -> None:
    """Raise TypeError unless `sentences` has lists of integers, and ValueError for negative ids."""
    check_lists(name, sentences)
    # only the types, because a text is long
    for kind in set(map(type, chain.from_iterable(sentences))):
        if not issubclass(kind, (int, np.integer)) or kind is bool:
            raise TypeError(f"{name} contain values of type {kind.__name__}; expected "
                            "integers. Encode tokens with a Vocabulary")
    least = min(chain.from_iterable(sentences), default=0)
    if least < 0:
        raise ValueError(f"{name} contain the id {least}; ids must be at least 0, like those that "
                         "a Vocabulary returns")


def grouped(lengths: Array, batch_size: int, block: int = 20,
            rng: np.random.Generator | None = None) -> list[Array]:
    """Group sequences of similar length. Return an array of their indices for each batch.

    With rng, the sequences are shuffled, then sorted by length within blocks of `block` batches,
    and then the batches are shuffled. Without rng, all sequences are sorted by length.
    """
    lengths = as_integers("lengths", lengths)
    if not len(lengths):
        raise ValueError("there are no lengths; expected one for each sequence")
    check_whole("batch_size", batch_size, 1)
    check_whole("block", block, 1)
    if rng is None:
        return _cut(np.argsort(lengths, kind="stable"), batch_size)
    check_generator(rng)
    blocks = _cut(rng.permutation(len(lengths)), block * batch_size)
    sorted_blocks = [some[np.argsort(lengths[some], kind="stable")] for some in blocks]
    batches = _cut(np.concatenate(sorted_blocks), batch_size)
    return [batches[i] for i in rng.permutation(len(batches))]


def share_of(size: int, k: int, n: int) -> slice:
    """Divide `size` elements into n nearly equal slices; return slice k, counted from 0."""
    check_whole("n", n, 1)
    check_whole("k", k, 0, n - 1)
    return slice(size * k // n, size * (k + 1) // n)


def _cut(order: Array, size: int) -> list[Array]:
    return [order[i:i + size] for i in range(0, len(order), size)]
