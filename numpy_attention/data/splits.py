"""Training, validation and test sets that share no source sentence.

Where a sentence belongs is read off a hash of its words (`split_of`), so it is the same on every
machine, for every seed, and however often a sentence is drawn or translated: all of its copies land
in one split.
"""

import hashlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from numpy_attention.data.pairs import Pair
from numpy_attention.names import SPLITS


def check_split(split: str) -> None:
    """Raises ValueError unless `split` is "train", "valid" or "test"."""
    if split not in SPLITS:
        raise ValueError(f"split = {split!r}; expected one of {', '.join(SPLITS)}")


def split_of(tokens: Iterable[str], held_out: float = 0.1) -> str:
    """The split a sentence belongs to: "train", "valid" or "test".

    The lowercased tokens that hold a letter or a digit (all tokens, if there is none) are joined by
    spaces; the first 8 bytes of their sha256 are u · 2⁶⁴, and u < held_out/2 means test,
    u < held_out valid, else train. So "go ." and "Go !" belong together.
    """
    words = [token.lower() for token in tokens if any(map(str.isalnum, token))] or tokens
    digest = hashlib.sha256(" ".join(words).encode("utf-8")).digest()
    u = int.from_bytes(digest[:8], "big") / 2**64
    if u < held_out / 2:
        return "test"
    return "valid" if u < held_out else "train"


def split_pairs(
    pairs: list[Pair], held_out: float = 0.1
) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """A list of pairs (a user's own, say) → (train, valid, test), by `split_of` each pair's source.

    Raises ValueError for `held_out` outside 0 … 1, or when a part would be empty.
    """
    if not 0 < held_out < 1:
        raise ValueError(f"held_out = {held_out}; expected a share between 0 and 1")
    parts: dict[str, list[Pair]] = {split: [] for split in SPLITS}
    for pair in pairs:
        parts[split_of(pair.source, held_out)].append(pair)
    for split in SPLITS:
        if not parts[split]:
            raise ValueError(
                f"{len(pairs):,} pairs leave the {split} part empty; bring more pairs or change "
                "held_out"
            )
    return parts["train"], parts["valid"], parts["test"]


def distinct(
    draw: Callable[[np.random.Generator], Pair],
    rng: np.random.Generator,
    count: int,
    keep: Callable[[Pair], bool] | None = None,
    max_misses: int = 20_000,
) -> list[Pair]:
    """`count` pairs with different sources from `draw(rng)`; `keep(pair)` may refuse some.

    Raises ValueError after `max_misses` draws in a row that bring nothing new: there are not so
    many sources.
    """
    if count < 1:
        raise ValueError(f"count = {count}; expected at least 1 pair")
    pairs: list[Pair] = []
    seen = set()
    misses = 0
    while len(pairs) < count:
        pair = draw(rng)
        if pair.source not in seen and (keep is None or keep(pair)):
            seen.add(pair.source)
            pairs.append(pair)
            misses = 0
            continue
        misses += 1
        if misses == max_misses:
            raise ValueError(
                f"only {len(pairs):,} different sources found of the {count:,} asked for; "
                "ask for fewer pairs, or allow a larger vocabulary or longer sentences"
            )
    return pairs


def split(
    generate: Callable[..., list[Pair]],
    rng: np.random.Generator,
    train: int = 20_000,
    valid: int = 1_000,
    test: int = 1_000,
    key: Callable[[Pair], tuple[str, ...]] = lambda pair: pair.source,
    **options: Any,
) -> tuple[list[Pair], ...]:
    """(train, valid, test) lists from a function of `generators`, no source in two of them.

    `generate(rng, count, keep=..., **options)` is called once a split and keeps the pairs whose
    `key(pair)` (the source tokens, unless given) belongs there by `split_of`. With
    `key=lambda pair: pair.target` targets are not shared.
    """
    def part(name: str, count: int) -> list[Pair]:
        return generate(rng, count, keep=lambda pair: split_of(key(pair)) == name, **options)

    return tuple(part(name, count) for name, count in zip(SPLITS, (train, valid, test)))
