"""Validation of what the methods of a subclass return. The subclass may be user-defined.

An error about a result is raised in this package, but the mistake is in the method. So the error
gets an attribute `place` for messages: a pair (code object, line number) of the method.
"""

import ast
import inspect
import textwrap
from functools import cache
from opcode import opmap

import numpy as np

from numpy_attention.validation.arrays import check_shape, describe_array


def check_returned(method, result, name, shape, axes, *others, optional=False):
    """Raise TypeError or ValueError unless `result` is an array of this shape.

    others: names of further results; `result` is then a tuple that begins with the array. optional:
    whether None is allowed, in place of an array of zeros.
    """
    many = isinstance(result, (tuple, list))
    array = result[0] if many and result else result
    called = f"{getattr(method, '__name__', name)}()"
    try:
        if many != bool(others) or many and len(result) != 1 + len(others):
            wanted = f"tuple ({', '.join([name, *others])})" if others else f"array {name} {axes}"
            raise TypeError(f"{called} returns {describe_array(result)}; expected the {wanted}")
        if result is None and (not optional or drops_result(getattr(method, "__code__", None))):
            raise TypeError(f"{called} returns None; expected the array {name} {axes}. End it with "
                            f"`return {name}`" + " (or `return None`, if all 0)" * optional)
        if array is not None or not optional:
            check_shape(name, array, shape, axes)
    except (TypeError, ValueError) as error:
        error.place = place_of_return(method)
        raise


@cache
def drops_result(code):
    """Return whether the last statement of a function computes a value that is not used."""
    try:
        last = ast.parse(textwrap.dedent(inspect.getsource(code))).body[0].body[-1]
    except (OSError, TypeError, SyntaxError, AttributeError):
        return False
    if isinstance(last, ast.Expr):
        return not isinstance(last.value, (ast.Call, ast.Constant))
    return isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name)


def check_written(method, state, written):
    """Raise TypeError if a cell's `_step` returned a state that it has not written to steps.hs."""
    if not np.array_equal(state, written):
        error = TypeError(f"{method.__name__}() returns {describe_array(state)}; expected None. "
                          "Write the state to steps.hs[t + 1]")
        error.place = place_of_return(method)
        raise error


def check_created(create, module, dtype):
    """Raise TypeError unless all parameters of a Module that `create` returned have this dtype."""
    for name, array in getattr(module, "named_parameters", tuple)():
        if array.dtype != dtype:
            error = TypeError(
                f"{name} is {array.dtype}; expected {np.dtype(dtype)}. `create` must pass dtype to "
                "every array, as in np.zeros(n, dtype) and init(…, dtype) / float(np.sqrt(n))")
            error.place = place_of_return(create)
            raise error


def check_memory(read, memory):
    """Raise TypeError unless `memory`, the result of `read`, has the fields values and mask."""
    if not (hasattr(memory, "values") and hasattr(memory, "mask")):
        error = TypeError(f"read() returns {describe_array(memory)}; expected a Memory. End it "
                          "with `return memory`")
        error.place = place_of_return(read)
        raise error


def check_deferred(dmemory, name, grads):
    """Raise ValueError unless the deferred product xᵀ dy fits the parameter `name` in grads."""
    known = {one: array.shape for one, array in grads.named_parameters() if array.ndim == 2}
    shape = known.get(name)
    product = tuple(factor.shape[1] for factor in dmemory.pending[name][0])
    if shape is None:
        error = ValueError(
            f"defer: {name!r} is not a matrix of {type(grads).__name__}; expected "
            f"{' or '.join(map(repr, ['values', *known]))}. Add other gradients to grads")
    elif len(product) == 2 and shape[0] == product[0] and shape[1] >= product[1]:
        return
    else:
        error = ValueError(
            f"defer({name!r}, x, dy): xᵀ dy has shape {product}; expected {shape}, the shape of "
            f"{name}. For y = x {name}, pass x first, and then dy")
    error.place = dmemory.callers[name]
    raise error


def place_of_return(method):
    """Return (code object, line of the return) of a method, or None if it is not Python code.

    If a method has several returns, the line is the first line of the method.
    """
    code = getattr(method, "__code__", None)
    if code is None:
        return None
    returns = [opmap[name] for name in ("RETURN_VALUE", "RETURN_CONST") if name in opmap]
    early = sum(map(code.co_code[::2].count, returns)) > 1          # several returns
    return code, code.co_firstlineno if early else max(line for *_, line in code.co_lines() if line)
