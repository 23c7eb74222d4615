"""The letters of axes as a learner writes them: q = s @ W  # (B, A), or forward's "s (B, H)"."""

import inspect
import linecache
import re

from numpy_attention.gradcheck.passes import names_of


def letters_of_line(place):
    """("B", "A") of the comment behind a statement; () where there is none."""
    found = re.search(r"#\s*\(([^()]*)\)", linecache.getline(place.file, place.line))
    return split(found)


def letters_of_input(forward, name):
    """The letters of an input, "input[1]", in the docstring of forward, found by its name."""
    number = re.fullmatch(r"input\[(\d+)\]", name)
    names = names_of(forward)
    if number is None or int(number[1]) >= len(names):
        return ()
    text = inspect.getdoc(forward) or ""
    return split(re.search(rf"\b{names[int(number[1])]}:?\s*\(([^()]*)\)", text))


def split(found):
    return tuple(one.strip() for one in found[1].split(",") if one.strip()) if found else ()


def lettered(shape, expected, letters):
    """A shape with the letters of `expected`, "(7, 2) or (A, B)"; without them if they are
    unknown."""
    known = dict(zip(expected, letters))
    if len(letters) != len(expected) or len(known) < len(expected) or not set(shape) & set(known):
        return str(shape)               # no letters, or two of one size
    names = [known.get(n, str(n)) for n in shape]
    return f"{shape} or ({', '.join(names)}{',' * (len(names) == 1)})"
