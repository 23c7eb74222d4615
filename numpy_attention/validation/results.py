"""Validation of the results of a subclass's methods, which may be a user's.

An error surfaces in a line of this package. Its `place`, (code, line), is that of the method.
"""

from opcode import opmap

import numpy as np

from numpy_attention.validation.arrays import check_shape, describe_array


def check_returned(method, result, name, shape, axes, second="", optional=False):
    """Check that a method returned an array, or None if `optional`, or the pair (array, second)."""
    many = isinstance(result, (tuple, list))
    try:
        if many != bool(second) or many and len(result) != 2:
            called = getattr(method, "__name__", name)
            raise TypeError(f"{called} returns {describe_array(result)}, expected "
                            + (f"({name}, {second})" if second else f"the array {name} {axes}"))
        array = result[0] if many else result
        if array is not None or not optional:
            check_shape(name, array, shape, axes)
    except (TypeError, ValueError) as error:
        error.place = place_of_return(method)
        raise


def check_created(create, module, dtype):
    """Raise TypeError unless all parameters of a Module that `create` returned have this dtype."""
    for name, array in getattr(module, "named_parameters", tuple)():
        if array.dtype != dtype:
            error = TypeError(
                f"{name} is {array.dtype}, expected {np.dtype(dtype)}; `create` must give every "
                "array its argument dtype: np.zeros(n, dtype), init(…, dtype) / float(np.sqrt(n))")
            error.place = place_of_return(create)
            raise error


def check_deferred(dmemory, name, grads):
    """Raise ValueError unless factors deferred as `name` fit this matrix or its first columns."""
    known = {one: array.shape for one, array in grads.named_parameters() if array.ndim == 2}
    shape = known.get(name)
    product = tuple(factor.shape[1] for factor in dmemory.pending[name][0])
    if shape is None:
        error = ValueError(
            f"defer: {name!r} is not a matrix of {type(grads).__name__}; expected "
            f"{' or '.join(map(repr, ['values', *known]))}; add other gradients to grads")
    elif len(product) == 2 and shape[0] == product[0] and shape[1] >= product[1]:
        return
    else:
        error = ValueError(
            f"xᵀ dy for {name} has shape {product}, expected {shape}; call "
            f"defer({name!r}, x, dy) with the factors of y = x {name}")
    error.place = dmemory.callers[name]
    raise error


def place_of_return(method):
    """Return (code, line) of the last line of a method; of its first if it may return earlier.

    Return None if the method is not written in Python.
    """
    code = getattr(getattr(method, "__func__", method), "__code__", None)
    if code is None:
        return None
    early = code.co_code[::2].count(opmap["RETURN_VALUE"]) > 1
    return code, code.co_firstlineno if early else max(line for *_, line in code.co_lines() if line)
