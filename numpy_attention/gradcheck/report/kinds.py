"""The kinds of mistakes, and how a wrong array differs from the correct array."""

from dataclasses import dataclass
from itertools import permutations

import numpy as np

# {kind: what is wrong with a statement that an edit of this kind repairs}
INTRODUCTIONS = {
    "assigned": "assigned where it is to be added",
    "no return": "a gradient that is computed and not returned",
    "unwritten": "memory of np.empty that is not filled",
    "dtype": "floats put into integers",
    "repeated ids": "an id that occurs twice is added once",
    "shape": "the wrong product",
    "transpose": "a transpose",
    "axis": "the wrong axis",
    "output ignored": "the gradient of an output is not used",
    "batch sum": "a sum over the batch",
    "sign": "the wrong sign",
    "wrong step": "the wrong step or index",
    "mask backward": "a mask",
    "mask forward": "a mask",
    "buffer": "changed in place, and read again later",
    "cache": "not the value that the backward expects",
    "exchanged": "two things exchanged",
    "derivative": "a local derivative",
    "factor": "a factor",
    "jacobian": "a part of the Jacobian",
    "missing term": "a term that is missing",
    "wrong variable": "a wrong variable",
    "double": "a term that is counted twice, or should not be there",
    "extra term": "a term too many",
}
CLOSE = 1e-4
BLOCKS = (2, 3, 4)      # numbers of gates that a cell may have

# local derivatives as functions of a value z of `forward`: {source: function}
LOCAL = {
    "1": lambda z: np.ones_like(z),
    "{}": lambda z: z,
    "(1 - {})": lambda z: 1 - z,
    "(1 + {})": lambda z: 1 + z,
    "{}**2": lambda z: z**2,
    "(1 - {}**2)": lambda z: 1 - z**2,
    "{} * (1 - {})": lambda z: z * (1 - z),
    "1 / {}": lambda z: 1 / z,
}


@dataclass(frozen=True)
class Kind:
    """A kind of mistake: its short name and its description."""

    name: str
    text: str
    instead: str = ""       # a phrase with the correct code, such as "right with `x.T`", or ""
    line: int = 0           # number of the forward line that explains the mistake, or 0


def array_kinds(found, right, flags=(), shapes=()):
    """Return the Kinds that describe how the array `found` differs from the correct `right`.

    flags: boolean arrays that may be masks. shapes: the shapes of other arrays of the model.
    """
    if np.shape(found) != right.shape:
        note = ", which is the other way round" if np.shape(found) == right.shape[::-1] else ""
        return [Kind("shape", f"its shape is {np.shape(found)}; expected {right.shape}{note}")]
    if not np.isfinite(found).all():
        return [Kind("unwritten", "not finite: a division by 0 or an overflow, or memory of "
                     "np.empty that was never written")]
    size = np.abs(right).max(initial=0)
    if np.abs(found).max(initial=0) <= 1e-9 * size:
        return [Kind("missing term", "all 0: the statement that adds this gradient is missing, or "
                     "adds to a copy")]

    def same(one, other):
        return np.abs(one - other).max(initial=0) <= CLOSE * size

    if not right.ndim:                  # a number is a multiple of any other
        return [Kind("sign", "it has the other sign")] if same(found, -right) else []
    large = np.abs(right) > 1e-3 * size
    ratios = found[large] / right[large]
    scaled = len(ratios) and np.allclose(ratios, ratios[0], rtol=CLOSE)
    if scaled and not np.isclose(ratios[0], 1, rtol=CLOSE) and same(found, ratios[0] * right):
        if np.isclose(ratios[0], -1, rtol=CLOSE):
            return [Kind("sign", "every element has the other sign")]
        return [Kind("factor", f"every element is {ratios[0]:.5g} times the right one")]
    for axis in range(min(found.ndim - 1, 2)):
        if by_rows(found.swapaxes(0, axis), right.swapaxes(0, axis), size):
            return [Kind("scale in time", f"each slice along axis {axis} has its own factor: "
                         "divided by a wrong number of steps or words, or not divided")]
    if found.ndim == 2 and found.shape[0] == found.shape[1] and same(found.T, right):
        return [Kind("transpose", "right after a transpose: the factors of a matrix product are "
                     "exchanged")]
    return masked(found, right, size, flags) or exchanged(found, right, same, shapes) or along(
        found, right, size)


def by_rows(found, right, size):
    """Return whether each row of `found` is a positive multiple of the same row of `right`.

    size: the largest |right|.
    """
    found, right = (one.reshape(len(one), -1) for one in (found, right))
    ratios = (found * right).sum(1) / np.maximum((right**2).sum(1), 1e-300)
    fits = np.abs(found - ratios[:, None] * right).max(initial=0) <= CLOSE * size
    return right.shape[1] > 1 and bool(fits and (ratios > CLOSE).all())


def has_blocks(size, count, shapes):
    """Return whether `size` columns are `count` blocks, judging by shapes such as (H, 4 H)."""
    width = size // count
    return any((shape[-1] == size and width in shape[:-1])
               or (len(shape) > 3 and shape[-1] == width and count in shape[:-1])
               for shape in shapes if shape)


def exchanged(found, right, same, shapes):
    """Return [Kind] if blocks of columns are reordered or a single block is wrong, otherwise [].

    A block is the columns of one gate or one head. same(x, y): whether two arrays are equal.
    """
    for count in BLOCKS:
        if found.ndim == 0 or found.shape[-1] % count:
            continue
        ours, theirs = (np.split(one, count, -1) for one in (found, right))
        for order in permutations(range(count)):
            if order != tuple(range(count)) and all(
                    same(ours[i], theirs[k]) for i, k in enumerate(order)):
                return [Kind("exchanged", f"right with its {count} blocks of columns in the order "
                             f"{list(order)}: two of them are exchanged")]
        wrong = [i for i in range(count) if not same(ours[i], theirs[i])]
        if len(wrong) == 1 and found.ndim > 1 and has_blocks(found.shape[-1], count, shapes):
            i = wrong[0]
            text = f"only block {i} of the {count} blocks of columns is wrong"
            if ours[i].ndim == 2 and ours[i].shape[0] == ours[i].shape[1] and same(
                    ours[i].T, theirs[i]):
                return [Kind("transpose", f"{text}: it is transposed")]
            return [Kind("block", text)]
    return []


def masked(found, right, size, flags):
    """Return [Kind] if `found` is wrong only where a mask is False or `right` is 0, otherwise [].

    size: the largest |right|. flags: boolean arrays that may be masks.
    """
    wrong = np.abs(found - right) > CLOSE * size
    if not right.any():
        return [Kind("extra term", "all of it should be 0: no output depends on it")]
    if wrong.any() and not right[wrong].any():
        return [Kind("mask backward", f"right except at {int(wrong.sum())} places that should be "
                     "0: a mask is forgotten")]
    for flag in flags:
        steps = [flag, *flag] if flag.ndim > 1 else [flag]
        for one in steps:
            if one.all() or not one.any() or wrong.shape[:one.ndim] != one.shape:
                continue
            rows = wrong.any(axis=tuple(range(one.ndim, wrong.ndim)))
            if np.array_equal(rows, ~one):
                which = "backward" if np.abs(found[~one]).any() else "forward"
                return [Kind(f"mask {which}", "wrong only where the mask is False: the forward "
                             "and the backward do not treat the mask alike")]
    return []


def along(found, right, size):
    """Return [Kind] if only some indices of an axis are wrong, or []. size: the largest |right|."""
    wrong = np.abs(found - right) > CLOSE * size
    for axis in range(wrong.ndim):
        others = tuple(i for i in range(wrong.ndim) if i != axis)
        bad = np.flatnonzero(wrong.any(axis=others))
        if 0 < len(bad) < np.count_nonzero((wrong | (right != 0)).any(axis=others)):
            return [Kind("place", f"wrong only at {bad[:6].tolist()} along axis {axis} of "
                         f"{wrong.shape}; look at a mask, the first or last step, a gate's "
                         "columns, or repeated ids")]
    return []


def local_derivative(found, right, values):
    """Return [Kind] if a wrong local derivative explains the gradient `found`, otherwise [].

    values: {name: array that `forward` computes}. The derivative may be taken at each of them.
    """
    if np.shape(found) != right.shape or not np.isfinite(found).all():
        return []
    with np.errstate(all="ignore"):
        for name, z in values.items():
            if z.shape != right.shape:
                continue
            pair = factors(found, right, z)
            if pair is not None:
                return [Kind("derivative", factor_text(*pair, name))]
    return []


def factors(found, right, z):
    """Return two keys f and g of LOCAL with found = right · g(z) / f(z), or None.

    The wrong gradient then has the local derivative g(z) in place of f(z).
    """
    made = {text: f(z) for text, f in LOCAL.items()}
    made = {text: one for text, one in made.items() if np.isfinite(one).all()}
    for wanted, f in made.items():
        for written, g in made.items():
            if wanted == written:
                continue
            size = np.abs(right * g).max(initial=0)
            if size > 0 and np.abs(found * f - right * g).max() <= CLOSE * size:
                return wanted, written
    return None


def factor_text(wanted, written, name):
    right, wrong = (text.replace("{}", name) for text in (wanted, written))
    if written == "1":
        return f"a factor {right} is missing"
    if wanted == "1":
        return f"a factor {wrong} should not be there"
    return f"it has a factor {wrong} where {right} is right"
