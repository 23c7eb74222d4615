"""Validation of the arrays, sizes and dtypes that users pass, and helpers for rows of arrays.

The docstring of the package, in numpy_attention/__init__.py, explains the letters of the shapes.
"""

import math
from dataclasses import fields, is_dataclass
from types import NoneType
from typing import get_args

import numpy as np

from numpy_attention.validation.messages import short_repr

# dtypes of layers: float32 for training, float64 for gradient checks
DTYPES = (np.dtype(np.float32), np.dtype(np.float64))
BOOL = np.dtype(bool)
LARGEST = 2**28     # size: the bytes of a matrix with two such sizes still fit into an integer


def as_rows(x):
    """Merge all leading axes: x (…, D) → (N, D)."""
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])              # −1 would fail where D = 0


flat = as_rows      # its name in version 1.0, which users' files may import


def chunks(whole, size):
    """Split a slice into consecutive slices of length `size`. The last one may be shorter."""
    return [slice(start, min(start + size, whole.stop))
            for start in range(whole.start, whole.stop, size)]


def check_shape(name, array, shape, axes, advice="check the sizes and order of the axes"):
    """Raise TypeError unless a value is an array, and ValueError if its shape does not fit.

    shape: the size of each axis, or None for any size. axes: the letters, such as "(T, B, H)".
    """
    if type(array) is not np.ndarray:
        check_array(name, array, f" of shape {axes}")
    given = array.shape
    if given == shape:                                          # the common case is cheap
        return
    if len(given) != len(shape) or any(size not in (None, had) for size, had in zip(shape, given)):
        sizes = zip(axes.strip("(,)").split(", "), shape)
        wanted = ", ".join(axis if size is None else str(size) for axis, size in sizes)
        wanted += "," * (len(shape) == 1)
        raise ValueError(f"{name} {axes} has shape {given}; expected ({wanted}). "
                         f"{advice[0].upper()}{advice[1:]}")


def check_array(name, array, shape=""):
    """Raise TypeError unless a value is a plain array. shape: text after "array" in the message."""
    if type(array) not in (np.ndarray, np.memmap):      # operators of subclasses may differ
        advice = "" if array is None or np.isscalar(array) else ". Convert it with np.asarray"
        if isinstance(array, np.ma.MaskedArray):        # np.asarray would drop the mask
            advice = ". Fill its masked values first, with .filled(value)"
        raise TypeError(f"{name} is {type_name(array)}; expected a NumPy array{shape}{advice}")


def type_name(thing):
    """Return the type of a value in words, such as "None", "a list" or "an int"."""
    name = type(thing).__name__
    article = "an" if name[0] in "aeioAEIO" or name.startswith(("LSTM", "RNN", "NGram")) else "a"
    return "None" if thing is None else f"{article} {name}"


def check_dtype(name, array, like, whose="the weights"):
    """Raise TypeError unless an array has the dtype of `like`, because NumPy would upcast."""
    if array.dtype != like.dtype:
        raise TypeError(f"{name} is {array.dtype}, but {whose} are {like.dtype}; convert it "
                        f"with .astype(np.{like.dtype})")


def check_real(name, array):
    """Raise TypeError unless a value is a float32 or float64 array."""
    if type(array) is not np.ndarray:
        check_array(name, array)
    if array.dtype not in DTYPES:
        is_number = array.dtype.kind in "biuf"
        advice = ". Convert it with .astype(np.float32)" if is_number else ""
        raise TypeError(f"{name} has dtype {array.dtype}; expected float32 or float64{advice}")


def check_floating(dtype):
    """Raise TypeError unless a dtype is float32 or float64."""
    try:
        known = isinstance(dtype, (type, str, np.dtype)) and np.dtype(dtype) in DTYPES
    except (TypeError, ValueError):                                     # not a dtype at all
        known = False
    if not known:
        raise TypeError(f"dtype = {short_repr(dtype)}; expected float32 or float64")


def check_grads(grads, model, name="grads"):
    """Check that `grads` has the same parts and parameters as `model`, like model.zeros_like().

    Raises TypeError if the classes differ or `grads` is `model`, ValueError if parameters differ.
    """
    if type(grads) is not type(model) or grads is model:
        same = f"the same object as {name.replace('grads', 'model')}"
        raise TypeError(f"{name} is {same if grads is model else type_name(grads)}; expected "
                        f"{type_name(model)} that holds gradients. Use grads = model.zeros_like()")
    for field in fields(model):
        _check_parts(getattr(grads, field.name), getattr(model, field.name), f"{name}.{field.name}")


def _check_parts(its, own, name):
    """Check a field of grads (`its`) against the same field of the model (`own`)."""
    if type(its) is type(own) is np.ndarray and (its.shape, its.dtype) == (own.shape, own.dtype):
        return                                                  # the common case is cheap
    if is_dataclass(own):
        check_grads(its, own, name)
    elif isinstance(own, (list, tuple)) and len(its) == len(own):
        for n, (one, other) in enumerate(zip(its, own)):
            _check_parts(one, other, f"{name}[{n}]")
    elif isinstance(own, (list, tuple)) or describe_array(its) != describe_array(own):
        raise ValueError(f"{name} is {describe_array(its)}; expected {describe_array(own)}, as in "
                         "the model. Use grads = model.zeros_like()")


def check_parameters(layer, **axes):
    """Raise TypeError or ValueError unless the parameters of a layer agree in shape and dtype.

    Each keyword gives the axes of a parameter: W="IO", b="O" requires W of shape (I, O) and b of
    shape (O,). An optional parameter may be None.
    """
    sizes = {}
    first = None
    for name, letters in axes.items():
        array = getattr(layer, name)
        if array is None and NoneType in get_args(layer.__dataclass_fields__[name].type):
            continue
        wanted = tuple(sizes.get(letter) for letter in letters)
        check_shape(name, array, wanted, f"({', '.join(letters)})",
                    f"see the fields of {type(layer).__name__} for the shapes of its parameters")
        check_real(name, array)
        first = array if first is None else first
        check_dtype(name, array, first, "the other parameters")
        sizes.update(zip(letters, array.shape))


def describe_array(thing):
    """Describe a value: an array by dtype and shape, a list by length, any other by type."""
    if isinstance(thing, np.ndarray):
        return f"a {thing.dtype} array of shape {thing.shape}"
    if isinstance(thing, (list, tuple)):
        return f"{type_name(thing)} of length {len(thing)}"
    return type_name(thing)


def at_least(lowest, **sizes):
    """Raise ValueError unless each size is None or an integer from `lowest` to LARGEST."""
    check_sizes(lowest, **{name: size for name, size in sizes.items() if size is not None})


def check_sizes(lowest=1, **sizes):
    """Raise ValueError unless sizes are integers from `lowest` to LARGEST. None is not allowed."""
    for name, size in sizes.items():
        check_whole(name, size, lowest)
        if size > LARGEST:
            raise ValueError(f"{name} = {short_repr(size)}; expected at most {LARGEST:,}, the "
                             "largest size that is supported")


def check_whole(name, number, low, high=math.inf):
    """Raise ValueError unless a value is an integer from low to high. A bool is not allowed."""
    whole = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
    if not (whole and low <= number <= high):
        limits = f"of at least {low}" if high == math.inf else f"from {low:,} to {high:,}"
        raise ValueError(f"{name} = {short_repr(number)}; expected an integer {limits}")


def check_mask(mask, shape, axes, name="mask"):
    """Raise TypeError unless `mask` is boolean, and ValueError if its shape is not `shape`."""
    if not isinstance(mask, np.ndarray) or mask.dtype != BOOL:
        given = mask.dtype if isinstance(mask, np.ndarray) else type_name(mask)
        raise TypeError(f"{name} {axes} is {given}; expected a boolean array, True where there "
                        f"is a token. Convert it with np.asarray({name}, bool)")
    check_shape(name, mask, shape, axes, "a mask must match the sequences it masks")


def check_integers(name, array, shape, axes, advice="check the sizes and order of the axes"):
    """Raise TypeError unless `array` holds integers, and ValueError if its shape is not `shape`."""
    _check_integer_dtype(f"{name} {axes}", array)
    check_shape(name, array, shape, axes, advice)


def _check_integer_dtype(name, array):
    if type(array) is not np.ndarray or array.dtype.kind not in "iu" or not array.dtype.isnative:
        what = array.dtype if type(array) is np.ndarray else type_name(array)
        raise TypeError(f"{name} is {what}; expected an integer array. For tokens, use np.array("
                        "vocabulary.encode(tokens)); for floats, np.rint(…).astype(np.int64)")


def check_ids(name, ids, size):
    """Raise TypeError unless ids are integers, and ValueError unless they are in 0 … size − 1."""
    _check_integer_dtype(name, ids)
    if ids.size and (ids.min() < 0 or ids.max() >= size):
        bad = ids.min() if ids.min() < 0 else ids.max()
        raise ValueError(f"{name} contains the id {bad}; expected 0 to {size - 1}. Encode tokens "
                         "with the model's vocabulary")
