"""Formatting of values in messages, on one short line. This module imports nothing heavy."""

import os
from collections.abc import Sequence
from typing import Any

LONGEST = 60        # characters of a value
# the library's own errors, each one line
EXPECTED = (ValueError, TypeError, OSError, ArithmeticError)


def short_repr(value: Any) -> str:
    """Return the repr of a value on one line, cut if it is long."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:                      # a whole number of thousands of digits
        text = f"a {type(value).__name__}"
    end = "" if text[-1:].isalnum() else text[-1:]       # a quote or a bracket
    return text if len(text) <= LONGEST else f"{text[:LONGEST - 1 - len(end)]}…{end}"


def typed_repr(value: Any) -> str:
    """Return a value and its type, such as "7, of type int"."""
    return "None" if value is None else f"{short_repr(value)}, of type {type(value).__name__}"


def cut(text: str, most: int) -> str:
    """Return the first `most` characters of a text, with … at the end if the text is longer."""
    return text if len(text) <= most else f"{text[:most]}…"


def plural(number: int, what: str) -> str:
    """Return a number with its noun, such as "1 epoch" or "2 epochs"."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def decimals(number: float, digits: int) -> str:
    """Format a number with `digits` decimals or, if it is at least a million, with an exponent."""
    return f"{number:.{digits}f}" if number < 1e6 else f"{number:.3g}"


def missing_and_unknown(missing: Sequence[str], unknown: Sequence[str]) -> str:
    """Return "missing 'x', 'y'; unknown 'z'", with up to four names each. Omit empty lists."""
    return "; ".join(f"{what} {', '.join([*map(repr, names[:4]), '…'][:len(names)])}"
                     for what, names in (("missing", missing), ("unknown", unknown)) if names)


def format_error(error: Exception) -> str:
    """Return the message of an error or, for a system error, the file name and the reason."""
    if isinstance(error, OSError) and error.errno is not None:
        return f"{error.filename or 'the output'}: {os.strerror(error.errno)}"
    return str(error) or type(error).__name__
