"""Kinds of arguments: a right value, and what is wrong for an argument of this kind.

    beam=whole(3)       3 is right; 0, −1, 1.5, nan, True, "3", None, a list … are wrong

Right values are made anew for each attempt, by a function of the attempt's empty folder.
"""

import math
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

Make = Callable[[Path], Any]


class Kind(NamedTuple):
    """right: makes a right value; fits: whether a value is right as well; wrong and same: {in
    words: what makes it}, values that are wrong for this kind alone, and those that must give what
    the right one gives."""

    right: Make
    fits: Callable[[Any], bool] = lambda value: False
    wrong: dict[str, Make] = {}
    same: dict[str, Make] = {}
    avoid: tuple[str, ...] = ()


def values(*those: Any) -> dict[str, Make]:
    """{in words: maker} of values that can be shared."""
    return {_in_words(value): lambda folder, value=value: value for value in those}


def _in_words(value: Any) -> str:
    if isinstance(value, np.generic):
        return f"np.{type(value).__name__}({value.item()!r})"      # NumPy 1 shows the number alone
    text = re.sub(r" at 0x\w+", "", " ".join(repr(value).split()))     # the same in each process
    return text if len(text) < 60 else f"{text[:57]}..."


# what is wrong nearly everywhere
RUBBISH = values(
    None, True, 0, 7, -1, 2.5, math.nan, math.inf, -math.inf, 10**20, 1j, "x", "", "\ud800", "a\0b",
    b"x", [], [1], ["a"], [None], [[]], (), {}, {"a": 1}, {1}, object, np.float64(2.5),
    np.array(3), np.zeros(3), np.zeros((2, 2)), np.zeros((0, 2)), np.array(["a", "b"]),
    np.array([None, 1]), np.full(3, np.nan), np.zeros((2, 2), complex), np.random, print, range(3),
) | {
    "a generator, used up": lambda folder: iter(()),
    "an object": lambda folder: object(),
}


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def whole(right: int, low: int = 1, high: float = math.inf, optional: bool = False) -> Kind:
    """A whole number of at least `low`, to `high`."""
    def fits(value: Any) -> bool:
        if value is None:
            return optional
        kinds = (int, np.integer)
        return isinstance(value, kinds) and not isinstance(value, bool) and low <= value <= high

    wrong = values(low - 1, str(right), [right], float(right) + 0.5)
    return Kind(lambda folder: right, fits, wrong, values(np.int64(right), np.int32(right)))


def number(right: float, low: float = -math.inf, high: float = math.inf, optional: bool = False,
           without: tuple[float, ...] = (math.inf, -math.inf)) -> Kind:
    """A number from low to high; without: those of them that are wrong."""
    def fits(value: Any) -> bool:
        if value is None:
            return optional
        return is_number(value) and low <= value <= high and value not in without

    below = low - 0.5 if math.isfinite(low) else math.nan
    above = high + 0.5 if math.isfinite(high) else math.nan
    same = [np.float64(right)]
    if right == np.float32(right):
        same.append(np.float32(right))
    return Kind(lambda folder: right, fits, values(below, above, str(right), *without),
                values(*same))


def flag(right: bool) -> Kind:
    """True or False."""
    return Kind(lambda folder: right, lambda value: isinstance(value, bool), values("no", 1),
                values(np.bool_(right)))


def function(right: Callable, others: dict[str, Make], optional: bool = False) -> Kind:
    """A function; what a caller's own function raises is its own affair, so that others that can
    be called, but not so, are left out."""
    return Kind(lambda folder: right, lambda value: optional and value is None, others, {},
                ("<class 'object'>", "<built-in function print>"))


def one_of(right: str, *others: str, optional: bool = False) -> Kind:
    """A name out of a few."""
    def fits(value: Any) -> bool:
        return (value is None and optional) or isinstance(value, str) and value in (right, *others)

    return Kind(lambda folder: right, fits, values(right.upper(), f" {right}", [right], b"nope"),
                {"a NumPy string": lambda folder: np.str_(right)})


def generator() -> Kind:
    """A numpy Generator."""
    return Kind(lambda folder: np.random.default_rng(1), lambda value: False,
                values(random.Random(1), np.random.RandomState(1), np.random.default_rng,
                       np.random.PCG64(1), "rng"))


def is_tokens(value: Any, least: int = 1) -> bool:
    if isinstance(value, np.ndarray):
        value = value.tolist() if value.ndim == 1 else None
    if not isinstance(value, (list, tuple)):
        return False
    return len(value) >= least and all(isinstance(token, str) for token in value)


def tokens(*right: str, least: int = 1, strings: bool = False) -> Kind:
    """A list of tokens; strings: a text of characters will do."""
    def fits(value: Any) -> bool:
        return is_tokens(value, least) or strings and isinstance(value, str) and len(value) >= least

    wrong = values([*right, 7], [*right, None], [b"a"], [list(right)], 7)
    if not strings:
        wrong |= values(" ".join(right))
    return Kind(lambda folder: list(right), fits, wrong,
                values(right) | {"an array": lambda folder: np.array(right)})


def sentences(*right: list[str], empty: bool = False, strings: bool = False) -> Kind:
    """A list of lists of tokens; empty: a list of none will do; strings: of texts will do."""
    def one(value: Any) -> bool:
        return is_tokens(value) or strings and isinstance(value, str)

    def fits(value: Any) -> bool:
        if isinstance(value, np.ndarray):
            value = value.tolist() if value.ndim else None
        if not isinstance(value, (list, tuple)):        # a generator, used up: there are none
            return empty and hasattr(value, "__next__")
        return (empty or len(value)) and all(map(one, value))

    wrong = values("a b", [*right, 7], [*right, None], [*right, [7]], [*right, [b"a"]], [[["a"]]])
    if not strings:
        wrong |= values(["a b"], [*right, "a b"])
    return Kind(lambda folder: [list(sentence) for sentence in right],
                fits, wrong,
                values(tuple(map(tuple, right))) | {
                    "a generator": lambda folder: (list(sentence) for sentence in right)})


def made(make: Callable[[], Any], *wrong: Any, fits: Any = None, optional: bool = False,
         others: dict[str, Make] | None = None, same: dict[str, Make] | None = None) -> Kind:
    """Whatever `make()` gives; wrong: values, others: makers of what is wrong here beside the
    rubbish; fits: the types of rubbish that are right as well."""
    def right_too(value: Any) -> bool:
        return (optional and value is None) or (fits is not None and fits(value))

    return Kind(lambda folder: make(), right_too, values(*wrong) | (others or {}), same or {})


def written(name: str, contents: bytes) -> Make:
    """A file with these contents."""
    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(contents)
        return path
    return make


def file(contents: str, optional: bool = False) -> Kind:
    """A text file that is there."""
    return Kind(
        written("right.txt", contents.encode()),
        lambda value: optional and value is None,
        {
            "a folder": lambda folder: folder,
            "a missing file": lambda folder: folder / "missing.txt",
            "a file in no folder": lambda folder: folder / "none" / "x.txt",
            "a file as folder": lambda folder: written("f", b"x")(folder) / "x.txt",
            "a name that is too long": lambda folder: folder / ("x" * 300),
            "latin-1": written("latin.txt", "é\n".encode("latin-1")),
            "NUL characters": written("nul.txt", b"a\0b\n"),
            "an empty file": written("empty.txt", b""),
            "blank lines": written("blank.txt", b"\n\n \n"),
            "no gzip": written("x.gz", b"hello\n"),
            "a lone surrogate": lambda folder: f"{folder}/\ud800",
            "an open file": lambda folder: open(written("open.txt", b"x\n")(folder)),
        },
        {"a string": lambda folder: str(written("right.txt", contents.encode())(folder))})


def new_file(name: str) -> Kind:
    """A file to be written."""
    return Kind(
        lambda folder: folder / name,
        lambda value: False,
        {
            "a folder": lambda folder: folder,
            "a folder with the suffix": lambda folder: _folder(folder / f"x{Path(name).suffix}"),
            "in no folder": lambda folder: folder / "none" / name,
            "a file as folder": lambda folder: written("f", b"x")(folder) / name,
            "a name that is too long": lambda folder: folder / ("x" * 300 + name),
            "a lone surrogate": lambda folder: f"{folder}/\ud800{name}",
            "another suffix": lambda folder: folder / "x.nope",
        },
        {"a string": lambda folder: str(folder / name)})


def _folder(path: Path) -> Path:
    path.mkdir()
    return path
