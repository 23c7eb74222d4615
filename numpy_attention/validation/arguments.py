"""Validation of arguments that are not arrays of numbers. The module `arrays` validates arrays.

Each message is one line that says what was given, what was expected and what to do. A wrong type
raises TypeError. A value out of range or an unknown name raises ValueError. If a single number is
expected, any other value raises ValueError, too.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np

from numpy_attention.validation.messages import short_repr, typed_repr

MOST = 160          # characters of a list of names


# ---- single values -------------------------------------------------------------------------------


def check_kind(name: str, value: Any, kinds: type | tuple[type, ...], expected: str) -> None:
    """Raise TypeError unless isinstance(value, kinds). expected: the types, for the message."""
    if not isinstance(value, kinds):
        raise TypeError(f"{name} is {typed_repr(value)}; expected {expected}")


def check_methods(name: str, value: Any, expected: str, *methods: str) -> None:
    """Raise TypeError unless a value is an instance that has these methods or attributes."""
    lacking = [method for method in methods if not hasattr(value, method)]
    if isinstance(value, type):
        raise TypeError(f"{name} is the class {value.__name__}; pass an instance")
    if lacking:
        raise TypeError(f"{name} is {typed_repr(value)}, which has no attribute `{lacking[0]}`; "
                        f"expected {expected}")


def check_function(name: str, value: Any, expected: str) -> None:
    """Raise TypeError unless a value is callable. expected: a description, for the message."""
    if not callable(value):
        raise TypeError(f"{name} is {typed_repr(value)}; expected {expected}")


def check_generator(rng: Any, name: str = "rng") -> None:
    """Raise TypeError unless rng is a NumPy Generator. Seeds and RandomStates are not allowed."""
    if not isinstance(rng, np.random.Generator):
        raise TypeError(f"{name} is {typed_repr(rng)}; expected numpy.random.default_rng(seed)")


def check_flags(**flags: Any) -> None:
    """Raise TypeError unless each value is True or False. The string "no" would be truthy."""
    for name, value in flags.items():
        if not isinstance(value, (bool, np.bool_)):
            raise TypeError(f"{name} is {typed_repr(value)}; expected True or False")


def check_number(name: str, value: Any, low: float = -math.inf, high: float = math.inf,
                 expected: str = "a number", finite: bool = True) -> None:
    """Raise ValueError unless a value is a number from low to high. NaN is never allowed."""
    kinds = (int, float, np.integer, np.floating)
    number = isinstance(value, kinds) and not isinstance(value, bool)
    if not number or not low <= value <= high or (finite and not _is_finite(value)):
        if number and finite and not _is_finite(value):
            expected = expected.replace("number", "finite number")
        raise ValueError(f"{name} = {short_repr(value)}; expected {expected}")


def _is_finite(number):
    """Return whether a number is finite as a float. An integer may be too large for a float."""
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def check_name(name: str, value: Any, known: Iterable[str]) -> None:
    """Raise ValueError unless a value is one of the known names. The message lists them."""
    names = list(known)
    if not isinstance(value, str) or value not in names:
        listing = ", ".join(map(repr, names))
        if len(listing) > MOST:
            listing = f"{listing[:MOST].rpartition(',')[0]}, … ({len(names)} in all)"
        raise ValueError(f"{name} = {short_repr(value)}; expected one of {listing}")


def check_text(name: str, value: Any) -> None:
    """Raise TypeError unless a value is a string, and ValueError if it has a lone surrogate."""
    check_kind(name, value, str, "a string")
    if not encodable(value):
        raise ValueError(f"{name} is {short_repr(value)}, which contains a lone surrogate; remove "
                         "it with .encode(errors='ignore').decode()")


def encodable(text: str) -> bool:
    """Return whether a text can be written as UTF-8. A lone surrogate makes this impossible."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


# ---- lists ---------------------------------------------------------------------------------------


def is_list(value: Any) -> bool:
    """Return whether a value is a sequence that can be read several times, and not a string."""
    if isinstance(value, (list, tuple)):
        return True
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    return isinstance(value, Sequence) and not isinstance(value, (str, bytes, bytearray))


def check_list(name: str, value: Any, of: str) -> None:
    """Raise TypeError unless a value is a list, tuple, array or range. of: a noun for the items."""
    if not is_list(value):
        raise TypeError(f"{name} is {typed_repr(value)}; expected a list of {of}")


def as_list(name: str, values: Any, of: str) -> list:
    """Return list(values). Raise TypeError for str, dict, set or scalar. of: a noun for items."""
    unordered = isinstance(values, (str, bytes, bytearray, Mapping, Set))
    scalar = isinstance(values, np.ndarray) and not values.ndim
    if unordered or scalar or not isinstance(values, Iterable):
        raise TypeError(f"{name} is {typed_repr(values)}; expected a list of {of}")
    return list(values)


def as_integers(name: str, values: Any) -> np.ndarray:
    """Return a list of integers as an array (N,). Raises TypeError for any other value."""
    check_list(name, values, "integers")
    try:
        array = np.asarray(values)
    except ValueError:                      # lists of unequal length
        array = np.empty((0, 0))
    if array.ndim != 1:
        raise TypeError(f"{name} has {array.ndim} dimensions; expected a list of integers")
    if array.dtype.kind not in "iu" and len(values):
        bad = [one for one in values if not isinstance(one, (int, np.integer))] or [array.max()]
        raise TypeError(f"{name} contains {short_repr(bad[0])}; expected 64-bit integers. For "
                        "tokens, use vocabulary.encode(…); for floats, np.rint(…).astype(np.int64)")
    return array


def as_numbers(name: str, values: Any) -> np.ndarray:
    """Convert nested lists or an array of real numbers to floats. Raises TypeError for others."""
    try:
        array = np.asarray(values)
    except ValueError:                      # lists of unequal length
        array = np.empty(0, object)
    if array.dtype.kind not in "fiub":
        fault = {"U": "contains text", "c": "contains complex numbers"}.get(array.dtype.kind)
        raise TypeError(f"{name} {fault or 'is ' + typed_repr(values)}; expected real numbers")
    return array.astype(float)


def check_tokens(name: str, tokens: Any) -> None:
    """Raise TypeError unless a value is a list of tokens. A single string is not a list."""
    if isinstance(tokens, str):
        raise TypeError(
            f"{name} is the string {short_repr(tokens)}; expected a list of tokens. Split it "
            "with .split(), or with list() for a character model")
    if type(tokens) in (tuple, list) and set(map(type, tokens)) <= {str}:
        return                              # the common case is cheap
    check_list(name, tokens, "tokens")
    if isinstance(tokens, np.ndarray) and tokens.ndim != 1:
        raise TypeError(f"{name} is an array with {tokens.ndim} dimensions; expected a list of "
                        "tokens")
    for token in tokens:
        if not isinstance(token, str):
            raise TypeError(f"{name} contains {typed_repr(token)}; expected only strings")


def check_all(name: str, values: Collection, kind: type, expected: str) -> None:
    """Raise TypeError with the index of the first item of `values` that is not of type `kind`."""
    for n, value in enumerate(values):
        if not isinstance(value, kind):
            raise TypeError(f"{name}[{n}] is {typed_repr(value)}; expected {expected}")
