"""Random sentence pairs whose alignment is known by construction.

    generator      example                            alignment
    copy           3 1 4 → 3 1 4                      position k ↔ k
    reverse        3 1 4 → 4 1 3                      position k ↔ k from the end
    dates          March 3rd, 2020 → 2020-03-03       between characters, see `datasets.dates`
    grammar_en_fr  the black cat … → le chat noir …   with changes of word order and agreement,
                                                      see `datasets.grammar`

Each generator is a function `(rng, count, ..., keep=None)` that returns a list of `Pair` with
`count` different sources. Pairs for which `keep(pair)` is false are left out.
"""

from collections.abc import Callable

import numpy as np

from numpy_attention.data.pairs import Pair
from numpy_attention.validation.arguments import check_generator, check_kind
from numpy_attention.validation.arrays import check_whole

LONGEST = 1_000     # tokens of a sequence
LARGEST = 2**31 - 1     # tokens to choose from
MOST = 10_000_000   # pairs at a time; more would not fit into memory, or take hours
Keep = Callable[[Pair], bool]


def distinct(draw: Callable[[np.random.Generator], Pair], rng: np.random.Generator, count: int,
             keep: Keep | None = None, max_misses: int = 20_000) -> list[Pair]:
    """Draw `count` pairs with different sources. draw: a function that returns a random Pair.

    keep: a function that decides whether a Pair is used. Raises ValueError after `max_misses` draws
    in a row without a new pair, and TypeError if `draw` does not return a Pair.
    """
    check_generator(rng)
    check_whole("count", count, 1, MOST)
    pairs: list[Pair] = []
    seen = set()
    misses = 0
    while len(pairs) < count:
        pair = draw(rng)
        check_kind("the return value of `draw`", pair, Pair, "a Pair")
        if pair.source not in seen and (keep is None or keep(pair)):
            seen.add(pair.source)
            pairs.append(pair)
            misses = 0
            continue
        misses += 1
        if misses == max_misses:
            raise ValueError(f"{count:,} different source sentences were requested, but only "
                             f"{len(pairs):,} could be found; ask for fewer, or widen the options "
                             "of the generator")
    return pairs


def copy(rng: np.random.Generator, count: int, vocabulary_size: int = 20, min_length: int = 3,
         max_length: int = 12, keep: Keep | None = None) -> list[Pair]:
    """Draw different Pairs. In each, source and target are the same random sequence.

    Tokens are the numbers 0 … vocabulary_size − 1 as strings. The length is drawn uniformly from
    min_length … max_length, and then every token uniformly. The sure links are (k, k). Raises
    ValueError if there are fewer than `count` different sequences.
    """
    check_whole("count", count, 1, MOST)
    check_whole("vocabulary_size", vocabulary_size, 1, LARGEST)
    check_whole("min_length", min_length, 1)
    check_whole("max_length", max_length, 1)
    if not min_length <= max_length <= LONGEST:
        raise ValueError(f"min_length = {min_length} and max_length = {max_length}; expected "
                         f"1 ≤ min_length ≤ max_length ≤ {LONGEST:,}")
    space = sum(vocabulary_size**length for length in range(min_length, max_length + 1))
    if count > space:
        raise ValueError(f"{count:,} different sequences were requested, but only {space:,} exist "
                         f"for vocabulary_size = {vocabulary_size} and lengths from {min_length} "
                         f"to {max_length}; ask for fewer, or raise vocabulary_size or max_length")

    def draw(rng: np.random.Generator) -> Pair:
        length = int(rng.integers(min_length, max_length + 1))
        tokens = tuple(map(str, rng.integers(vocabulary_size, size=length).tolist()))
        return Pair(tokens, tokens, frozenset((k, k) for k in range(length)))

    return distinct(draw, rng, count, keep)


def reverse(rng: np.random.Generator, count: int, vocabulary_size: int = 20, min_length: int = 3,
            max_length: int = 12, keep: Keep | None = None) -> list[Pair]:
    """Draw Pairs as `copy` does, but with the target in reverse order.

    The sure links are (k, S − 1 − k), where S is the length.
    """
    def backwards(pair: Pair) -> Pair:
        last = len(pair.source) - 1
        return Pair(pair.source, pair.source[::-1], frozenset((k, last - k) for k, _ in pair.sure))

    accept = None if keep is None else lambda pair: keep(backwards(pair))
    copied = copy(rng, count, vocabulary_size, min_length, max_length, accept)
    return [backwards(pair) for pair in copied]
