"""What a right argument may be replaced by: the same numbers in another form, and worse.

    mutant = values.mutant(rng, value)          whatever the value is
    mutant.name                                 "float64", "one longer on axis 1", "a list"
    mutant.kind                                 SAME, SHAPE, DTYPE, CONTENT or THING
"""

import math
from typing import Any, NamedTuple

import numpy as np

SAME = "same"           # these very numbers in memory otherwise: the same result, or refused
SHAPE = "shape"         # an array of another shape
DTYPE = "dtype"         # an array of the same shape and another dtype
CONTENT = "content"     # an array of the same shape and dtype that holds what it should not
THING = "thing"         # no array at all, or a number that is none

DTYPES = ("float64", "float32", "float16", "longdouble", "complex64", "int64", "int32", "uint8",
          "bool", "object", "U4", "datetime64[s]")


class Mutant(NamedTuple):
    name: str
    value: Any
    kind: str


class Rubbish:
    """An object that is nothing, and says so in a short line."""

    def __repr__(self):
        return "<rubbish>"


class Row(np.ndarray):
    """An array of another class."""


THINGS = (None, 0, 1, -1, 1.5, math.nan, math.inf, True, 10**20, 1j, "", "3", "a b", b"3",
          "\ud800", "\0", [], [1], [[1.0]], (), (1, 2), {}, {"a": 1}, set(), Rubbish(), Rubbish,
          len, slice(1), range(3), np.float32(2), np.int64(3), np.array(2.0), np.zeros(0),
          np.zeros((2, 3)), np.random)
SIZES = (0, -1, 1.5, 2.0, 10**6, 10**12, 10**30, True, False, "3", None, math.nan, math.inf, -0.0,
         1j, [3], (3,), np.array(3), np.array([3]), np.float32(3), np.bool_(True), b"3", Rubbish())
NUMBERS = (0, -1, 1, -0.5, 1.5, 1e308, 1e-320, 10**400, math.nan, math.inf, -math.inf, True, "0.5",
           None, 1j, [0.5], np.array(0.5), np.array([0.5]), np.float16(0.5), b"1", Rubbish())


def mutant(rng, value):
    """A Mutant of a value: of an array, a number, or anything else."""
    if isinstance(value, np.ndarray):
        makers = ARRAYS if value.ndim else [things]
        return makers[rng.integers(len(makers))](rng, value)
    if isinstance(value, (bool, str)) or value is None:
        return things(rng, value)
    if isinstance(value, int):
        return chosen(rng, SIZES)
    if isinstance(value, float):
        return chosen(rng, NUMBERS)
    if isinstance(value, tuple):
        return trees(rng, value)
    return things(rng, value)


def chosen(rng, options):
    """One of them, as a Mutant."""
    value = options[rng.integers(len(options))]
    return Mutant(named(value), value, THING)


def named(value):
    """What is said of a value in a line that can be printed anywhere."""
    if isinstance(value, np.ndarray):
        return f"an array {value.dtype} {value.shape}"
    return ascii(value)[:60]


def things(rng, value):
    """No array at all."""
    if isinstance(value, np.ndarray) and rng.random() < 0.3:
        return Mutant("a list", value.tolist(), THING)
    return chosen(rng, THINGS)


# ---- arrays ------------------------------------------------------------------------------------


def layouts(rng, array):
    """The same numbers in memory otherwise."""
    wide = np.zeros(array.shape[:-1] + (2 * array.shape[-1],), array.dtype)
    wide[..., ::2] = array
    frozen = array.copy()
    frozen.flags.writeable = False
    aside = np.zeros(array.nbytes + 1, np.uint8)[1:].view(array.dtype).reshape(array.shape)
    aside[...] = array
    forms = {
        "Fortran order": np.asfortranarray(array),
        "negative strides": array[::-1].copy()[::-1],
        "every other number": wide[..., ::2],
        "read-only": frozen,
        "bytes swapped": array.astype(array.dtype.newbyteorder()),
        "not aligned": aside,
        "a subclass": array.view(Row),
        "a masked array": np.ma.masked_array(array),
        "first two axes turned": array.swapaxes(0, -1).copy().swapaxes(0, -1),
    }
    name = list(forms)[rng.integers(len(forms))]
    return Mutant(name, forms[name], SAME)


def shapes(rng, array):
    """Numbers of the same dtype in another shape."""
    axis = int(rng.integers(array.ndim))
    size = array.shape[axis]
    stretched = (len(array) + 3 if len(array) else 0,) + array.shape[1:]
    forms = {
        "transposed": array.T.copy(),
        "an axis more in front": array[None],
        "an axis more behind": array[..., None],
        "an axis less": array[0] if len(array) else array.reshape(-1),
        "flat": array.reshape(-1),
        f"one longer on axis {axis}": np.concatenate([array, array.take([0] * min(size, 1), axis)],
                                                     axis),
        f"one shorter on axis {axis}": array.take(range(size - 1), axis),
        f"of one on axis {axis}": array.take([0] * min(size, 1), axis),
        f"of none on axis {axis}": array.take(np.zeros(0, int), axis),
        f"twice as long on axis {axis}": np.concatenate([array, array], axis),
        "one row stretched": np.broadcast_to(array[:1], stretched),
    }
    name = list(forms)[rng.integers(len(forms))]
    return Mutant(name, forms[name], SHAPE)


def dtypes(rng, array):
    """The same numbers, as far as they can be, of another dtype."""
    others = [name for name in DTYPES if np.dtype(name) != array.dtype]
    name = others[rng.integers(len(others))]
    with np.errstate(all="ignore"):
        made = np.abs(array).astype(np.uint8) if name == "uint8" else array.astype(name)
    return Mutant(name, made, DTYPE)


def contents(rng, array):
    """One number, or all, that should not be there."""
    bad = {"f": (np.nan, np.inf, -np.inf, 1e38, -1e38), "b": (None,)}
    options = bad.get(array.dtype.kind, (-1, 10**6, 2**31, -2**31, 2**40))
    value = options[rng.integers(len(options))]
    worse = array.copy()
    if value is None:
        worse[...] = rng.random() < 0.5
        return Mutant(f"all {worse.flat[0] if worse.size else None}", worse, CONTENT)
    if not worse.size or (array.dtype.kind != "f" and not in_range(value, array.dtype)):
        return chosen(rng, THINGS)
    if rng.random() < 0.2:
        worse[...] = value
        return Mutant(f"all {value}", worse, CONTENT)
    place = int(rng.integers(worse.size))
    worse.flat[place] = value
    return Mutant(f"{value} at {place}", worse, CONTENT)


def in_range(value, dtype):
    info = np.iinfo(dtype)
    return info.min <= value <= info.max


ARRAYS = [layouts, shapes, dtypes, contents, things]


# ---- trees of arrays ---------------------------------------------------------------------------


def trees(rng, tree):
    """A tuple with one part made hostile, one more, one less, or no tuple."""
    choice = rng.integers(6)
    if choice == 0 and tree:
        return Mutant("a part less", tree[:-1], THING)
    if choice == 1:
        return Mutant("a part more", tree + tree[-1:], THING)
    if choice == 2:
        return Mutant("a list of its parts", list(tree), THING)
    if choice == 3 or not tree:
        return things(rng, tree)
    place = int(rng.integers(len(tree)))
    part = mutant(rng, tree[place])
    made = tree[:place] + (part.value,) + tree[place + 1:]
    return Mutant(f"part {place} {part.name}", made, part.kind)
