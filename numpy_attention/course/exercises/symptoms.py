"""Describe the wrong elements of an output, and the shapes of arrays in a line that raises."""

import ast
import linecache
import re
from collections.abc import Callable, Iterator

import numpy as np

from numpy_attention.course.exercises.exercise import Exercise
from numpy_attention.course.exercises.given import functions_of
from numpy_attention.custom.code import RUN

MOST_ROWS = 12      # largest number of positions that are reported


def of_values(name: str, one: np.ndarray, other: np.ndarray, differs: np.ndarray) -> Iterator[str]:
    """Yield lines of text that compare a wrong output `one` with the correct output `other`.

    differs: a boolean array, True where a value is wrong.
    """
    infinite = ~np.isfinite(one)
    if infinite.any() and np.isfinite(other).all():
        yield f"{name} is not finite: {infinite.sum()} of {one.size} elements are NaN or infinite"
        return
    at = np.unravel_index(np.argmax(np.where(differs, np.abs(one - other), 0)), one.shape)
    where = f"Element {list(map(int, at))} of {one.shape} is" if one.shape else "It is"
    yield (f"{name}: {differs.sum()} of {one.size} wrong{rows_of(differs)}. {where} {one[at]:.8g}; "
           f"expected {other[at]:.8g}")
    times = one[at] / other[at] if other[at] else np.nan
    if one.size > 1 and np.allclose(one, times * other, rtol=1e-7, atol=1e-10):
        yield f"  every element is {times:.5g} times the right one"


def labels_of(exercise: Exercise, forward: Callable) -> dict[str, str]:
    """Return names of the outputs, such as {"output[1]": "m (output[1])"} for a variable m."""
    function = functions_of(ast.parse(exercise.solution)).get(forward.__qualname__)
    returns = [node.value for node in ast.walk(function) if isinstance(node, ast.Return)
               ] if function else []
    parts = returns[-1].elts if returns and isinstance(returns[-1], ast.Tuple) else []
    return {f"output[{number}]": f"{part.id} (output[{number}])"
            for number, part in enumerate(parts) if isinstance(part, ast.Name)}


def rows_of(wrong: np.ndarray) -> str:
    """Return the positions of wrong rows, such as ", all in [1, 0], [2, 0]".

    Return "" if all rows or more than 12 rows are wrong, or if `wrong` has one axis.
    """
    rows = wrong.any(-1) if wrong.ndim > 1 else np.ones(1, bool)
    if rows.all() or rows.sum() > MOST_ROWS:
        return ""
    return ", all in " + ", ".join(str(list(map(int, at))) for at in np.argwhere(rows))


def shapes_at(error: BaseException) -> Iterator[str]:
    """Yield the shapes of the arrays in the user's line that raised a ValueError or IndexError."""
    frame = line = None
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename in RUN:
            frame, line = trace.tb_frame, trace.tb_lineno
        trace = trace.tb_next
    if frame is None or line is None or not isinstance(error, (ValueError, IndexError)):
        return
    text = linecache.getline(frame.f_code.co_filename, line).partition("#")[0]
    found = {}
    for name in re.findall(r"(?<![\w.])[^\W\d]\w*(?:\.\w+)*", text):
        value, parts = frame.f_locals.get(name.partition(".")[0]), name.split(".")[1:]
        for number, part in enumerate(parts):
            if isinstance(value, np.ndarray):       # W.T, x.sum: the array itself
                name = ".".join([name.split(".")[0], *parts[:number]])
                break
            value = getattr(value, part, None)
        if isinstance(value, np.ndarray):
            found[name] = value.shape
    if found:
        yield "  shapes: " + ", ".join(f"{name} {shape}" for name, shape in found.items())
