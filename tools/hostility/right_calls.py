"""What a right call is, and what of its arguments may be otherwise and still be right."""

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Callable, NamedTuple

import numpy as np

from numpy_attention.module import Module


class Sizes(NamedTuple):
    """Letters of shapes; heads, roles and parts divide H and A."""

    T: int = 4      # target steps
    B: int = 3      # batch
    I: int = 5      # inputs    # noqa: E741
    H: int = 12     # states
    S: int = 15     # source positions
    D: int = 9      # values
    Q: int = 10     # query
    A: int = 8      # scoring size
    V: int = 11     # vocabulary
    O: int = 13     # outputs   # noqa: E741


def other(rng, sizes):
    """Sizes of which some are twice as large."""
    twice = rng.random(len(sizes)) < 0.3
    twice[rng.integers(len(sizes))] = True
    return Sizes(*(2 * size if more else size for size, more in zip(sizes, twice)))


@dataclass
class Call:
    """A function with right arguments by name."""

    what: str
    function: Callable
    arguments: dict[str, Any]
    # name → test(value): other values that are right
    right: dict[str, Callable] = field(default_factory=dict)
    # name → places (True) of an array whose numbers the result does not depend on; True: all
    unread: dict[str, Any] = field(default_factory=dict)

    def __call__(self):
        return self.function(**self.arguments)

    def fits(self, name, value, wanted):
        """Whether a value is right in the place of the one that the catalogue has there."""
        if name in self.right:
            return bool(self.right[name](value))
        return alike(value, wanted)

    def hides(self, name, place):
        """Whether the number at this place of an argument is one that nobody reads."""
        unread = self.unread.get(name, False)
        return unread if isinstance(unread, bool) else bool(np.ravel(unread)[place])


# ---- tests of values -----------------------------------------------------------------------------


def array(*shape, dtype=np.float32):
    """A test for arrays of this shape, None for any size and ... for any axes in front."""
    def test(value):
        if type(value) is not np.ndarray or value.dtype != dtype:
            return False
        given = value.shape
        wanted = shape
        if wanted[:1] == (...,):
            wanted = wanted[1:]
            if len(given) < len(wanted):
                return False
            given = given[len(given) - len(wanted):]
        return len(given) == len(wanted) and all(
            want is None or want == had for want, had in zip(wanted, given))
    return test


def either(*shape):
    """A test for arrays of this shape in one of the two dtypes."""
    return lambda value: array(*shape)(value) or array(*shape, dtype=np.float64)(value)


def ids(size, *shape):
    """A test for ids 0 … size − 1 of this shape."""
    def test(value):
        return (isinstance(value, np.ndarray) and value.dtype.kind in "iu"
                and array(*shape, dtype=value.dtype)(value)
                and (not value.size or (0 <= value.min() and value.max() < size)))
    return test


def integers(*shape):
    """A test for integers of this shape."""
    return lambda value: (type(value) is np.ndarray and value.dtype.kind in "iu"
                          and array(*shape, dtype=value.dtype)(value))


def optional(test):
    """What passes the test, or None."""
    return lambda value: value is None or test(value)


def whole(lowest):
    """A test for a size."""
    def test(value):
        return (isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_))
                and value >= lowest)
    return test


def anything(value):
    return True


def alike(one, two):
    """Whether two things have the same classes, shapes and dtypes throughout."""
    if type(one) is not type(two):
        return False
    if isinstance(one, np.ndarray):
        return one.shape == two.shape and one.dtype.newbyteorder("=") == two.dtype
    if isinstance(one, (list, tuple)):
        return len(one) == len(two) and all(map(alike, one, two))
    if isinstance(one, dict):
        return one.keys() == two.keys() and all(alike(one[key], two[key]) for key in one)
    if is_dataclass(one):
        return all(alike(getattr(one, part.name), getattr(two, part.name))
                   for part in fields(one))
    if isinstance(one, (np.random.Generator, np.generic)):      # a key that was drawn
        return True
    return one == two


# ---- results -------------------------------------------------------------------------------------


def numbers(result):
    """The arrays and numbers of a result, in order."""
    if isinstance(result, Module):
        return [array.copy() for _, array in result.named_parameters()]
    if isinstance(result, (list, tuple)):
        return [one for item in result for one in numbers(item)]
    if isinstance(result, dict):
        return [one for item in result.values() for one in numbers(item)]
    if is_dataclass(result):
        return [one for part in fields(result) for one in numbers(getattr(result, part.name))]
    if isinstance(result, (np.ndarray, np.generic, int, float)):
        return [np.array(result)]
    return []


def same(result, expected):
    """Whether two lists of numbers agree to rounding, shapes and dtypes but for byte order."""
    return len(result) == len(expected) and all(
        one.shape == two.shape and one.dtype.newbyteorder("=") == two.dtype
        and np.allclose(one, two, 1e-4, 1e-5, equal_nan=True)
        for one, two in zip(result, expected))


def has_nan(result):
    return any(np.isnan(one).any() for one in result if one.dtype.kind == "f")
