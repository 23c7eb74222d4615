"""Shapes: what every layer asks of its sizes and its input, and the reshape that they share.

The letters of shapes stand in the package's docstring, numpy_attention/__init__.py.
"""

import math

import numpy as np


def flat(x):
    """All leading axes as one, so that a product over time and batch is one matrix product.

    (…, D) → (N, D)
    """
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])              # −1 would fail where D = 0


def expect(name, array, shape, axes, advice="check the order of the axes"):
    """Refuse an array of another shape.

    shape holds an int for each axis that is known and None for one that may be anything; axes reads
    "(T, B, H)". ValueError: names the array, its shape, the one expected and what to do.
    """
    given = np.shape(array)
    if given == shape:                                                  # the common case is cheap
        return
    fits = len(given) == len(shape)
    if not fits or any(size not in (None, had) for size, had in zip(shape, given)):
        wanted = ", ".join("any" if size is None else str(size) for size in shape)
        raise ValueError(f"{name} {axes} has shape {given}, expected ({wanted}): {advice}")


def expect_dtype(name, array, like, whose="the weights"):
    """Refuse an array of another dtype than the weights', which NumPy would upcast. TypeError."""
    if array.dtype != like.dtype:
        raise TypeError(f"{name} is {array.dtype}, {whose} are {like.dtype}: "
                        "convert one with astype")


def expect_like(name, array, like, whose):
    """Refuse what is no array (TypeError), or not of the shape (ValueError) or dtype (TypeError) of
    `like`, whose shape and dtype these are: compiled code would read or write past its end."""
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{name} is a {type(array).__name__}, expected an array as {whose}: "
                        "convert it with np.asarray")
    if array.shape != like.shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {like.shape} as {whose}: "
                         "give one number for each")
    if array.dtype != like.dtype:
        raise TypeError(f"{name} is {array.dtype}, expected {like.dtype} as {whose}: "
                        "convert it with astype")


def at_least(lowest, **sizes):
    """Refuse a size below `lowest`, or not a whole number; None, a default to come, passes.

    ValueError: names it.
    """
    for name, size in sizes.items():
        if size is None:
            continue
        if not (isinstance(size, (int, np.integer)) and size >= lowest):
            raise ValueError(f"{name} = {size!r}: expected a whole number of at least {lowest}")


def expect_mask(mask, shape, axes, name="mask"):
    """Refuse a mask that is not boolean (TypeError) or not of this shape (ValueError)."""
    given = getattr(mask, "dtype", type(mask).__name__)
    if given != bool:
        raise TypeError(f"{name} {axes} must be boolean, True where there is a token; given "
                        f"{given}: write {name}.astype(bool), or ids != PAD")
    expect(name, mask, shape, axes, "it must match the sequences it masks")


def expect_ids(name, ids, size):
    """Refuse ids that are not integers (TypeError) or not in 0 … size − 1 (ValueError)."""
    if not isinstance(ids, np.ndarray) or ids.dtype.kind not in "iu":
        given = getattr(ids, "dtype", type(ids).__name__)
        raise TypeError(f"{name} must be an integer array, given {given}: "
                        "encode tokens with a Vocabulary")
    if ids.size and (ids.min() < 0 or ids.max() >= size):
        bad = ids.min() if ids.min() < 0 else ids.max()
        raise ValueError(f"{name} holds the id {bad}, expected 0 to {size - 1}: "
                         "encode with the model's vocabulary")
