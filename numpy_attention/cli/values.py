"""What the words of an option may be: readers that say what they expected, in a ValueError."""

import math
import os
from collections.abc import Callable
from typing import Any

from numpy_attention.validation.messages import short_repr
from numpy_attention.validation.paths import short_path
from numpy_attention.training import settings
from numpy_attention.training.settings import Values


def whole(low: int, high: int = 10**9) -> Callable[[str], Any]:
    """A reader of whole numbers of at least `low`, at most `high`."""
    return settings.whole(low, high).read


def number(expected: str, holds: Callable[[float], bool]) -> Callable[[str], Any]:
    """A reader of the numbers for which `holds` says so; `expected` puts it in words."""
    return Values(float, expected, holds).read


thread_count = settings.THREADS.read
seed = settings.SEEDS.read
positive = settings.POSITIVE.read
not_negative = number("a number of at least 0", lambda value: 0 <= value < math.inf)
share = number("a share, 0 or more and below 1", lambda value: 0 <= value < 1)
share_kept = number("a share, above 0 and at most 1", lambda value: 0 < value <= 1)
seconds = number("seconds from 0.1 to 86,400", lambda value: 0.1 <= value <= 86_400)

MOST_SEEDS = 1000


def seeds(text: str) -> tuple[int, ...]:
    """The seeds of "0-2", "0,3,5" or "1". ValueError: one twice, none, or above MOST_SEEDS."""
    found: list[int] = []
    try:
        for part in text.split(","):
            low, dash, high = part.partition("-")
            first, last = seed(low), seed(high if dash else low)
            if last < first:
                raise ValueError(part)
            found += range(first, last + 1)[:MOST_SEEDS + 1]
    except ValueError:
        found = []
    if not 0 < len(set(found)) == len(found) <= MOST_SEEDS:
        raise ValueError(f"{short_repr(text)}: expected seeds such as 0-2 or 0,3,5: whole numbers of at "
                         f"least 0, below 2⁶⁴, each once, at most {MOST_SEEDS:,}")
    return tuple(found)


def folders(text: str) -> tuple[str, ...]:
    """Folders, with commas between them. ValueError: one of them is empty, or stands twice."""
    found = tuple(text.split(","))
    if not all(found) or len(set(found)) < len(found):
        raise ValueError(f"{short_repr(text)}: expected folders such as runs/b,runs/c, each once")
    return found


def files(text: str) -> tuple[str, ...]:
    """Files, with commas between them. ValueError: one of them is empty."""
    found = tuple(text.split(","))
    if not all(found):
        raise ValueError(f"{short_repr(text)}: expected files such as mine.py,other.py")
    return found


def names(text: str) -> tuple[str, ...]:
    """Names, or patterns, with commas between them. ValueError: one of them is empty."""
    found = tuple(text.split(","))
    if not all(found):
        raise ValueError(f"{short_repr(text)}: expected names such as weights,dx")
    return found


def picture(text: str) -> str:
    """The name of a picture that can be written: told before the work that it is to show."""
    return in_a_folder(text, (".png", ".pdf", ".svg"))


def page_name(text: str) -> str:
    """The name of a page that can be written."""
    return in_a_folder(text, (".html", ".htm"))


def in_a_folder(text: str, endings: tuple[str, ...]) -> str:
    """The name of a file with one of these endings, in a folder that is there."""
    if os.path.splitext(text)[1].lower() not in endings:
        *others, last = endings
        raise ValueError(f"{short_path(text)!r}: the name must end with {', '.join(others)} or {last}")
    folder = os.path.dirname(text)
    if folder and not os.path.isdir(folder):
        raise ValueError(f"{short_path(text)!r}: there is no folder {short_path(folder)}; make it first")
    return text
