"""Shapes: what every layer asks of its sizes and its input, and the reshape that they share.

The letters of shapes stand in the package's docstring, numpy_attention/__init__.py.
"""

import math
from types import NoneType
from typing import get_args

import numpy as np

from numpy_attention.validation.messages import short_repr

# in which a layer can be made: float32 trains, float64 checks gradients
DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
BOOL = np.dtype(bool)
LARGEST = 2**28     # of sizes: two of them multiplied, of eight bytes each, can still be counted


def as_rows(x):
    """All leading axes as one, so that a product over time and batch is one matrix product.

    (…, D) → (N, D)
    """
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])              # −1 would fail where D = 0


def contiguous_transpose(W):
    """Wᵀ with its rows side by side in memory, for products inside a loop over time.

    (I, G) → (G, I). From some ten rows to a few dozen a product with the view W.T takes up to twice
    as long; the copy costs about as much as one product. For one product over all steps it does
    not pay.
    """
    return np.ascontiguousarray(W.T)


def chunks(whole, size):
    """A slice as slices of `size` that follow one another, the last one shorter."""
    return [slice(start, min(start + size, whole.stop))
            for start in range(whole.start, whole.stop, size)]


def check_shape(name, array, shape, axes, advice="check the order of the axes"):
    """Refuse what is no array (TypeError) or one of another shape (ValueError).

    shape holds an int for each axis that is known and None for one that may be anything, or begins
    with ... for any axes in front; axes reads "(T, B, H)". The message names the array, its shape,
    the one expected and what to do.
    """
    if type(array) is not np.ndarray:
        check_array(f"{name} {axes}", array)
    given = array.shape
    if given == shape:                                          # the common case is cheap
        return
    if shape and shape[0] is ... and len(given) >= len(shape) - 1:
        shape = given[:len(given) - len(shape) + 1] + shape[1:]
    fits = len(given) == len(shape)
    for size, had in zip(shape, given):
        fits &= size is None or size == had
    if not fits:
        names = {None: "any", ...: "…"}
        wanted = ", ".join(names.get(size, str(size)) for size in shape)
        raise ValueError(f"{name} {axes} has shape {given}, expected ({wanted}): {advice}")


def check_array(name, array):
    """Refuse what is no plain array. TypeError.

    A masked array, a matrix or another library's subclass means something else by the operators.
    """
    if type(array) not in (np.ndarray, np.memmap):
        raise TypeError(f"{name} is {type_name(array)}, expected a NumPy array: "
                        "convert it with np.asarray")


def type_name(thing):
    """What something is, in words: "None", "a list"."""
    return "None" if thing is None else f"a {type(thing).__name__}"


def check_dtype(name, array, like, whose="the weights"):
    """Refuse an array of another dtype than the weights', which NumPy would upcast. TypeError."""
    if array.dtype != like.dtype:
        raise TypeError(f"{name} is {array.dtype}, {whose} are {like.dtype}: "
                        "convert one with astype")


def check_real(name, array):
    """Refuse what is no array with an axis, or neither float32 nor float64. TypeError."""
    if type(array) is not np.ndarray:
        check_array(name, array)
    if not array.ndim:
        raise TypeError(f"{name} is an array without axes, a single number: expected one with them")
    if array.dtype not in DTYPES:
        raise TypeError(f"{name} is {array.dtype}, expected float32 or float64: "
                        "convert it with astype")


def check_writable(name, array):
    """Refuse an array that is read-only where it is written to. ValueError."""
    if not array.flags.writeable:
        raise ValueError(f"{name} is read-only, and is written to: give a copy")


def check_floating(dtype):
    """Refuse a dtype in which nothing trains: all but float32 and float64. TypeError."""
    try:
        known = isinstance(dtype, (type, str, np.dtype)) and np.dtype(dtype) in DTYPES
    except (TypeError, ValueError):                                     # no dtype at all
        known = False
    if not known:
        raise TypeError(f"dtype = {short_repr(dtype)}: expected float32, which trains, or float64, "
                        "which checks gradients")


def check_made(name, thing, kind, by):
    """Refuse what is not of the class of what a method gives: a cache, a memory. TypeError."""
    if not isinstance(thing, kind):
        raise TypeError(f"{name} is {type_name(thing)}, expected what `{by}` gave")


def check_twin(grads, layer):
    """Refuse what is no gradient twin of a layer: of another class, or with other parameters.

    Adding to another twin would leave the gradient nowhere, or another layer's wrong; compiled code
    would write past the end of a smaller one. The parts of a layer look at theirs. TypeError,
    ValueError.
    """
    if type(grads) is not type(layer) or grads is layer:
        what = "the layer itself" if grads is layer else type_name(grads)
        raise TypeError(f"grads is {what}, expected the gradient twin of a {type(layer).__name__}: "
                        "layer.zeros_like()")
    for name in layer.__dataclass_fields__:
        own = getattr(layer, name)
        twin = getattr(grads, name)
        if isinstance(own, np.ndarray) or isinstance(twin, np.ndarray):
            if type(own) is not type(twin) or own.shape != twin.shape or own.dtype != twin.dtype:
                raise ValueError(f"grads.{name} is {describe_array(twin)}, the layer's is "
                                 f"{describe_array(own)}: take layer.zeros_like()")
        elif isinstance(own, (list, tuple)) and len(own) != len(twin):
            raise ValueError(f"grads has {len(twin)} {name}, the layer {len(own)}: "
                             "take layer.zeros_like()")


def check_parameters(layer, **axes):
    """Refuse parameters that do not fit each other: W="IO", b="O" are W (I, O) and b (O,).

    One letter is one size; all have one dtype, float32 or float64. A parameter that may be None
    is left out where it is. TypeError, ValueError.
    """
    sizes = {}
    first = None
    for name, letters in axes.items():
        array = getattr(layer, name)
        if array is None and NoneType in get_args(layer.__dataclass_fields__[name].type):
            continue
        wanted = tuple(sizes.get(letter) for letter in letters)
        check_shape(name, array, wanted, f"({', '.join(letters)})",
               f"the parameters of a {type(layer).__name__} fit each other, see its fields")
        check_real(name, array)
        first = array if first is None else first
        check_dtype(name, array, first, "the other parameters")
        sizes.update(zip(letters, array.shape))


def describe_array(thing):
    """An array's dtype and shape, in words, or what else it is."""
    if isinstance(thing, np.ndarray):
        return f"{thing.dtype} {thing.shape}"
    return type_name(thing)


def check_like(name, array, like, whose):
    """Refuse what is no array (TypeError), or not of the shape (ValueError) or dtype (TypeError) of
    `like`, whose shape and dtype these are: compiled code would read or write past its end."""
    check_array(name, array)
    if array.shape != like.shape:
        raise ValueError(f"{name} has shape {array.shape}, expected {like.shape} as {whose}: "
                         "give one number for each")
    if array.dtype != like.dtype:
        raise TypeError(f"{name} is {array.dtype}, expected {like.dtype} as {whose}: "
                        "convert it with astype")


def at_least(lowest, **sizes):
    """Refuse a size below `lowest`, above what a memory holds, or not a whole number.

    None, a default to come, passes; see `check_sizes`. ValueError: names it.
    """
    check_sizes(lowest, **{name: size for name, size in sizes.items() if size is not None})


def check_sizes(lowest=1, **sizes):
    """The same of sizes without a default: None is refused too. ValueError: names it."""
    for name, size in sizes.items():
        check_whole(name, size, lowest)
        if size > LARGEST:
            raise ValueError(f"{name} = {short_repr(size)}: expected at most {LARGEST:,}, "
                             "for no memory holds more")


def check_whole(name, number, low, high=math.inf):
    """Refuse what is no whole number from low to high, True and None included. ValueError."""
    whole = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
    if not (whole and low <= number <= high):
        most = "" if high == math.inf else f" and at most {high:,}"
        raise ValueError(f"{name} = {short_repr(number)}: expected a whole number of at least "
                         f"{low}{most}")


def check_mask(mask, shape, axes, name="mask"):
    """Refuse a mask that is not boolean (TypeError) or not of this shape (ValueError)."""
    if not isinstance(mask, np.ndarray) or mask.dtype != BOOL:
        given = mask.dtype if isinstance(mask, np.ndarray) else type(mask).__name__
        raise TypeError(f"{name} {axes} must be boolean, True where there is a token; given "
                        f"{given}: write {name}.astype(bool), or ids != PAD")
    check_shape(name, mask, shape, axes, "it must match the sequences it masks")


def check_integers(name, array, shape, axes, advice="check the order of the axes"):
    """Refuse what is no array of integers (TypeError) or not of this shape (ValueError)."""
    if type(array) is not np.ndarray or array.dtype.kind not in "iu" or not array.dtype.isnative:
        what = array.dtype if type(array) is np.ndarray else type(array).__name__
        raise TypeError(f"{name} {axes} must be an integer array, given {what}: "
                        "encode tokens with a Vocabulary")
    check_shape(name, array, shape, axes, advice)


def check_ids(name, ids, size):
    """Refuse ids that are not integers (TypeError) or not in 0 … size − 1 (ValueError)."""
    if type(ids) is not np.ndarray or ids.dtype.kind not in "iu" or not ids.dtype.isnative:
        given = ids.dtype if type(ids) is np.ndarray else type(ids).__name__
        raise TypeError(f"{name} must be an integer array, given {given}: "
                        "encode tokens with a Vocabulary")
    if ids.size and (ids.min() < 0 or ids.max() >= size):
        bad = ids.min() if ids.min() < 0 else ids.max()
        raise ValueError(f"{name} holds the id {bad}, expected 0 to {size - 1}: "
                         "encode with the model's vocabulary")
