"""Central differences of a loss, and how far a gradient is from them."""

import numpy as np

from numpy_attention.validation.arguments import check_function, check_number
from numpy_attention.validation.messages import typed_repr

EPSILON = 1e-4
ROUNDING = 1e-15
TOLERANCE = 1e-6


def check_epsilon(epsilon):
    """ValueError: the step is not a positive number."""
    check_number("epsilon", epsilon, np.nextafter(0, 1), expected="a positive number")


def numeric_gradient(loss, array, epsilon=EPSILON):
    """Return ∂loss/∂array by central differences.

    loss() reads the array, which is changed in place and restored. TypeError: not an array of
    floats, or a loss that is not a number. ValueError: an array that is not contiguous.
    """
    check_function("loss", loss, "a function without arguments")
    check_epsilon(epsilon)
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
        raise TypeError(f"array is {typed_repr(array)}: expected an array of floats")
    numeric = np.empty_like(array)
    flat = array.reshape(-1)
    if array.size and not np.shares_memory(flat, array):
        raise ValueError("the array must be contiguous, so that its elements can be changed "
                         "in place: copy it first")
    for i in range(array.size):
        kept = flat[i]
        around = {}
        for step in (-2, -1, 1, 2):
            flat[i] = kept + step * epsilon
            around[step] = number(loss())
        flat[i] = kept
        near = around[1] - around[-1]
        far = around[2] - around[-2]
        numeric.flat[i] = (8 * near - far) / (12 * epsilon)
    return numeric


def relative_errors(analytic, numeric, smallest=1e-9):
    """Return |a − n| / max(|a|, |n|, 1e-3 · max|n|, smallest), elementwise; NaN is infinite."""
    largest = np.maximum(np.abs(analytic), np.abs(numeric))
    floor = 1e-3 * np.abs(numeric).max(initial=0)
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(analytic - numeric) / np.maximum(largest, max(floor, smallest))
    return np.where(np.isnan(errors), np.inf, errors)


def number(loss):
    """Return the loss. TypeError: it is not a number."""
    if type(loss) is float:             # the common case is cheap
        return loss
    if np.ndim(loss) or np.asarray(loss).dtype.kind not in "fiu":
        raise TypeError(f"the loss is {typed_repr(loss)}: expected a number")
    return loss
