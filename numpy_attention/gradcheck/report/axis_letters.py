"""Find the names of axes in user code: letters in docstrings, or in comments such as # (B, A)."""

import inspect
import linecache
import re

from numpy_attention.gradcheck.passes import names_of


def letters_of_line(place):
    """Return the axis letters in the comment after a statement, such as ("B", "A"), or ()."""
    found = re.search(r"#\s*\(([^()]*)\)", linecache.getline(place.file, place.line))
    return split(found)


def letters_of_input(forward, name):
    """Return the axis letters of an input, such as "input[1]", from forward's docstring, or ()."""
    number = re.fullmatch(r"input\[(\d+)\]", name)
    names = names_of(forward)
    if number is None or int(number[1]) >= len(names):
        return ()
    text = inspect.getdoc(forward) or ""
    return split(re.search(rf"\b{names[int(number[1])]}:?\s*\(([^()]*)\)", text))


def split(found):
    return tuple(one.strip() for one in found[1].split(",") if one.strip()) if found else ()


def lettered(shape, expected, letters):
    """Return a shape in numbers and, if possible, in letters, such as "(7, 2) or (A, B)".

    expected: the correct shape. letters: the names of its axes, or ().
    """
    known = dict(zip(expected, letters))
    if len(letters) != len(expected) or len(known) < len(expected) or not set(shape) & set(known):
        return str(shape)               # no letters, or two of one size
    names = [known.get(n, str(n)) for n in shape]
    return f"{shape} or ({', '.join(names)}{',' * (len(names) == 1)})"
