"""Parsers of option values. For a wrong value, they raise ValueError with what is expected."""

import math
import os
from collections.abc import Callable
from typing import Any

from numpy_attention.data.encoding import lines_of
from numpy_attention.training import settings
from numpy_attention.training.settings import Values
from numpy_attention.validation.messages import short_repr
from numpy_attention.validation.paths import short_path


def whole(low: int, high: int = 10**9) -> Callable[[str], Any]:
    """Return a parser of integers from `low` to `high`."""
    return settings.whole(low, high).read


thread_count = settings.THREADS.read
seed = settings.SEEDS.read
positive = settings.POSITIVE.read
not_negative = Values(float, "a number of at least 0", lambda value: 0 <= value < math.inf).read
share = Values(float, "a fraction, 0 or more and below 1", lambda value: 0 <= value < 1).read
share_kept = Values(float, "a fraction, above 0 and at most 1", lambda value: 0 < value <= 1).read
seconds = Values(float, "seconds from 0.1 to 86,400", lambda value: 0.1 <= value <= 86_400).read

MOST_SEEDS = 1000


def seeds(text: str) -> tuple[int, ...]:
    """Parse seeds such as "0-2", "0,3,5" or "1".

    Raises ValueError if there are no seeds or more than MOST_SEEDS, or if a seed is repeated.
    """
    found: list[int] = []
    for part in text.split(","):
        low, dash, high = part.partition("-")
        first, last = seed(low), seed(high if dash else low)
        if last < first:
            raise ValueError(f"got {short_repr(part)}; swap the two seeds: '{last}-{first}'")
        found += range(first, last + 1)[:MOST_SEEDS + 1]
    if len(set(found)) < len(found) or len(found) > MOST_SEEDS:
        rule = "each seed once" if len(found) <= MOST_SEEDS else f"at most {MOST_SEEDS:,} seeds"
        raise ValueError(f"got {short_repr(text)}; expected {rule}")
    return tuple(found)


def text(word: str) -> str:
    """Return a text without byte order marks. Raises ValueError if it is not UTF-8."""
    try:
        word.encode()
    except UnicodeEncodeError:      # bytes that Python could not decode in this locale
        return "\n".join(lines_of(word.encode("utf-8", "surrogateescape"), "this text"))
    return word.replace("\ufeff", "")


def several(expected: str, once: bool = False,
            paths: bool = False) -> Callable[[str], tuple[str, ...]]:
    """Return a parser of comma-separated words. expected: examples, for the error message.

    once: whether all words must differ. paths: whether the words are paths; a path that exists
    may contain commas. The parser raises ValueError for a word that is empty, or repeated.
    """
    def read(text: str) -> tuple[str, ...]:
        found = tuple(paths_in(text) if paths else text.split(","))
        if not all(found) or (once and len(set(found)) < len(found)):
            why = f", which repeats {short_repr(max(found, key=found.count))}" if all(found) else ""
            raise ValueError(f"got {short_repr(text)}{why}; expected {expected}")
        return found
    return read


def paths_in(text: str) -> list[str]:
    """Split a text at commas, except those in a path that exists, such as "my,folder/b.py"."""
    found = []
    words = text.split(",")
    while words:
        ends = [n for n in range(len(words), 1, -1) if os.path.exists(",".join(words[:n]))]
        taken = ends[0] if ends else 1
        found.append(",".join(words[:taken]))
        words = words[taken:]
    return found


def columns(text: str) -> tuple[int, ...]:
    """Parse two column numbers from 1, such as "1,2". Raises ValueError for any other text."""
    found = text.split(",")
    if len(found) != 2 or not all(one.isdecimal() and int(one) >= 1 for one in found):
        raise ValueError(f"got {short_repr(text)}; expected two positive column numbers, as in 1,2")
    return tuple(map(int, found))


folders = several("folders such as runs/b,runs/c", once=True, paths=True)
files = several("files such as mine.py,other.py", paths=True)
names = several("names such as weights,dx")


def writable(*endings: str) -> Callable[[str], str]:
    """Return a parser for the name of an output file, which must have one of these endings.

    The parser raises ValueError for other names, or if the folder does not exist.
    """
    def read(text: str) -> str:
        if os.path.splitext(text)[1].lower() not in endings:
            *others, last = endings
            raise ValueError(f"{short_path(text)!r} must end with {', '.join(others)} or {last}")
        folder = os.path.dirname(text)
        if folder and not os.path.isdir(folder):
            raise ValueError(f"the folder of {short_path(text)!r} does not exist; create it first")
        return text
    return read


picture = writable(".png", ".pdf", ".svg")
page_name = writable(".html", ".htm")
