"""Dates in common spellings → ISO 8601 (`YYYY-MM-DD`), as characters on both sides."""

import dataclasses
import datetime
import re

import numpy as np

from numpy_attention.data.datasets.generators import Keep, distinct
from numpy_attention.data.pairs import Pair
from numpy_attention.validation.arguments import check_flags
from numpy_attention.validation.arrays import check_whole

MONTHS = (
    "January February March April May June "
    "July August September October November December"
).split()
WEEKDAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()

# Fields: d, m without and dd, mm with a leading zero, th = day with ordinal suffix, Month and Mon =
# its name or first three letters, Weekday and Wed likewise. All-numeric dates differ by their
# separator: / month first, . day first.
FORMATS = (
    "{d} {Month} {yyyy}",
    "{Month} {d}, {yyyy}",
    "{th} {Month} {yyyy}",
    "{Month} {th}, {yyyy}",
    "the {th} of {Month}, {yyyy}",
    "{d} {Mon} {yyyy}",
    "{Mon} {dd}, {yyyy}",
    "{dd}-{Mon}-{yyyy}",
    "{yyyy} {Month} {d}",
    "{Weekday}, {d} {Month} {yyyy}",
    "{Weekday}, {Month} {th}, {yyyy}",
    "{Wed} {dd} {Mon} {yyyy}",
    "{Wed}, {Mon} {d}, {yyyy}",
    "{mm}/{dd}/{yyyy}",
    "{m}/{d}/{yyyy}",
    "{dd}.{mm}.{yyyy}",
    "{d}.{m}.{yyyy}",
    "{yyyy}/{mm}/{dd}",
)


def dates(rng: np.random.Generator, count: int, first_year: int = 1900, last_year: int = 2099,
          sure_months: bool = True, keep: Keep | None = None) -> list[Pair]:
    """Draw Pairs: a date in one of 18 spellings (`FORMATS`), and the same date in ISO 8601.

    Tokens are characters. The day (of first_year … last_year) and the spelling are drawn uniformly.
    A random quarter of the sources are in lowercase. The digits of the target's year, month and day
    have links to the same part of the source:

        if the source has   links
        two or four digits  each digit has a sure link to the same digit
        one digit           the second digit has a sure link to it, the first (0) a possible link
        a month's name      both digits have a sure link to its first letter, and possible links to
                            all its letters

    Other characters have no links. January, June and July share their first letter, so the sure
    link to it is a convention. With `sure_months=False`, all links to names are only possible.
    Raises ValueError for years outside 1000 … 9999 or in the wrong order, or if `count` different
    sources cannot be found.
    """
    check_flags(sure_months=sure_months)
    check_whole("first_year", first_year, 1000, 9999)
    check_whole("last_year", last_year, 1000, 9999)
    if first_year > last_year:
        raise ValueError(f"first_year = {first_year} and last_year = {last_year}; expected 1000 ≤ "
                         "first_year ≤ last_year ≤ 9999")
    first = datetime.date(first_year, 1, 1).toordinal()
    last = datetime.date(last_year, 12, 31).toordinal()

    def draw(rng: np.random.Generator) -> Pair:
        date = datetime.date.fromordinal(int(rng.integers(first, last + 1)))
        layout = FORMATS[int(rng.integers(len(FORMATS)))]
        pair = date_pair(date, layout, sure_months)
        if rng.integers(4) == 0:
            pair = dataclasses.replace(pair, source=tuple(c.lower() for c in pair.source))
        return pair

    return distinct(draw, rng, count, keep)


def date_pair(date: datetime.date, layout: str, sure_months: bool = True) -> Pair:
    """Return the Pair of a date; for its links, see `dates`. layout: a spelling in FORMATS."""
    values = {
        "d": str(date.day),
        "dd": f"{date.day:02}",
        "th": f"{date.day}{_suffix(date.day)}",
        "m": str(date.month),
        "mm": f"{date.month:02}",
        "Month": MONTHS[date.month - 1],
        "Mon": MONTHS[date.month - 1][:3],
        "Weekday": WEEKDAYS[date.weekday()],
        "Wed": WEEKDAYS[date.weekday()][:3],
        "yyyy": str(date.year),
    }
    source = ""
    sure: set[tuple[int, int]] = set()
    possible: set[tuple[int, int]] = set()
    for literal, field in re.findall(r"([^{]*)(?:\{(\w+)\})?", layout):
        source += literal
        start = len(source)
        source += values.get(field, "")
        if field == "yyyy":
            sure.update((start + k, k) for k in range(4))
        elif field in ("d", "dd", "th", "m", "mm"):
            tens = 5 if field in ("m", "mm") else 8
            digits = sum(c.isdigit() for c in values[field])
            sure.add((start + digits - 1, tens + 1))
            (sure if digits == 2 else possible).add((start, tens))
        elif field in ("Month", "Mon"):
            letters = range(start, start + len(values[field]))
            possible.update((i, j) for i in letters for j in (5, 6))
            if sure_months:
                sure.update(((start, 5), (start, 6)))
    return Pair(tuple(source), tuple(date.isoformat()), frozenset(sure), frozenset(possible))


def _suffix(day: int) -> str:
    if day in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(day % 10, "th")
