"""How messages show what was given: on one line, and no longer than one. Imports nothing heavy."""

import os
from typing import Any

LONGEST = 60        # characters of a value
# the library's own errors, each one line
EXPECTED = (ValueError, TypeError, OSError, ArithmeticError)


def short_repr(value: Any) -> str:
    """A value as messages show it: on one line, and not longer than one."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:                      # a whole number of thousands of digits
        text = f"a {type(value).__name__}"
    return text if len(text) <= LONGEST else f"{text[:LONGEST - 1]}…"


def typed_repr(value: Any) -> str:
    """A value and its kind: "7, of type int"."""
    return "None" if value is None else f"{short_repr(value)}, of type {type(value).__name__}"


def cut(text: str, most: int) -> str:
    """A text cut to a number of characters, with a sign if something is left out."""
    return text if len(text) <= most else f"{text[:most]}…"


def plural(number: int, what: str) -> str:
    """"1 epoch", "2 epochs"."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def format_error(error: Exception) -> str:
    """The message of an error; a system error without a file name gets its context."""
    if isinstance(error, OSError) and error.errno is not None:
        return f"{error.filename or 'the output'}: {os.strerror(error.errno)}"
    return str(error) or type(error).__name__
