"""Sentence pairs with word links.

A link is (source position, target position), counted from 0. As in Och & Ney (2003), a *sure* link
is beyond doubt, and a *possible* link is open to judgment. Every sure link is also possible.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from numpy_attention.validation.arguments import as_list, check_all, check_list, check_tokens
from numpy_attention.validation.arrays import at_least
from numpy_attention.validation.messages import plural, short_repr


@dataclass(frozen=True)
class Pair:
    """A source sentence, its translation, and the links between their words, if they are known.

    source, target: tuples of tokens. sure, possible: frozensets of links, which are tuples (source
    position, target position), counted from 0. `possible` always contains `sure`. Raises ValueError
    for a position outside a sentence, and TypeError for anything other than tokens and links.
    """

    source: tuple[str, ...]
    target: tuple[str, ...]
    sure: frozenset[tuple[int, int]] = frozenset()
    possible: frozenset[tuple[int, int]] = frozenset()

    def __post_init__(self) -> None:
        for name in ("source", "target"):
            tokens = getattr(self, name)
            check_tokens(name, tokens)
            object.__setattr__(self, name, tuple(tokens))
        sure = as_set("sure", self.sure)
        possible = sure.union(as_set("possible", self.possible))
        object.__setattr__(self, "sure", sure)
        object.__setattr__(self, "possible", possible)
        check_links("link", self.possible, len(self.source), len(self.target))

    def reversed(self) -> "Pair":
        """Return the pair with source and target swapped."""
        sure = frozenset((j, i) for i, j in self.sure)
        possible = frozenset((j, i) for i, j in self.possible)
        return Pair(self.target, self.source, sure, possible)


def as_set(name: str, links: Any) -> frozenset[tuple[int, int]]:
    """Return links as a frozenset of tuples. Raises TypeError unless each link has two integers."""
    if not isinstance(links, (set, frozenset)):
        links = [tuple(link) if isinstance(link, (list, np.ndarray)) else link
                 for link in as_list(name, links, "links")]
    for link in links:
        if type(link) is tuple and len(link) == 2 and type(link[0]) is type(link[1]) is int:
            continue                            # the common case is cheap: corpora have many links
        whole = isinstance(link, tuple) and len(link) == 2 and all(
            isinstance(i, (int, np.integer)) and not isinstance(i, bool) for i in link)
        if not whole:
            raise TypeError(f"a link in `{name}` is {short_repr(link)}; expected two integers, "
                            "(source position, target position)")
    return frozenset(links)


def check_links(name: str, links: Iterable[tuple[int, int]], S: int, T: int) -> None:
    """Raise ValueError unless 0 ≤ i < S and 0 ≤ j < T for each link (i, j). name: for messages."""
    for i, j in links:
        if not (0 <= i < S and 0 <= j < T):
            side, place, size = ("target", j, T) if 0 <= i < S else ("source", i, S)
            raise ValueError(f"{name} ({i}, {j}) has {side} position {place}, which is out of "
                             f"range; the {side} has {plural(size, 'token')}. Positions start at 0")


def as_pairs(pairs: Any) -> list[Pair]:
    """Return a list of Pairs; convert tuples (source, target). Raises TypeError for other items."""
    check_list("pairs", pairs, "Pairs, or of tuples (source, target)")
    found = list(pairs)
    for n, one in enumerate(found):
        if type(one) is tuple and len(one) == 2:
            try:
                found[n] = Pair(*one)
            except TypeError as error:
                raise TypeError(f"pairs[{n}]: {error}") from None
    check_all("pairs", found, Pair, "a Pair: numpy_attention.Pair(source, target)")
    return found


def limited(pairs: Sequence[Pair], name: str, min_length: int | None = None,
            max_length: int | None = None, count: int | None = None) -> list[Pair]:
    """Return the first `count` pairs whose sentences both have min_length to max_length tokens.

    None means no limit, but a pair with an empty sentence is always left out. name: a corpus or
    file, for messages. Raises ValueError if no pair is left.
    """
    at_least(1, min_length=min_length, max_length=max_length, count=count)
    low = min_length or 1
    high = max_length or math.inf
    kept = [pair for pair in as_pairs(pairs)
            if low <= len(pair.source) <= high and low <= len(pair.target) <= high]
    if not kept:
        lengths = f"{low} to {high} tokens"
        limits = "change min_length and max_length"
        if max_length is None:
            lengths = f"at least {plural(low, 'token')}"
            limits = "reduce min_length"
        elif low == 1:
            lengths = f"at most {plural(max_length, 'token')}"
            limits = "increase max_length"
        raise ValueError(f"no pair in {name!r} has {lengths} on both sides; {limits}, or add more "
                         "text")
    return kept[:count]
