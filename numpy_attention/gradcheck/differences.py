"""Central differences of a loss, and the relative errors of a gradient."""

import numpy as np

from numpy_attention.validation.arguments import check_function, check_number
from numpy_attention.validation.messages import typed_repr

EPSILON = 1e-4
ROUNDING = 1e-15
TOLERANCE = 1e-6


def check_epsilon(epsilon):
    """Raise ValueError unless epsilon is a positive number."""
    check_number("epsilon", epsilon, np.nextafter(0, 1), expected="a positive number")


def numeric_gradient(loss, array, epsilon=EPSILON):
    """Return ∂loss/∂array by central differences.

    loss() must compute with `array`, whose elements are changed in place and restored. Raises
    TypeError if `array` does not hold floats or loss() does not return a number. Raises ValueError
    if `array` is not C-contiguous or epsilon is not a positive number.
    """
    check_function("loss", loss, "a function without arguments")
    check_epsilon(epsilon)
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f":
        raise TypeError(f"array is {typed_repr(array)}; expected an array of floats")
    return gradient_and_bends(loss, array, epsilon)[0]


def gradient_and_bends(loss, array, epsilon, middle=0.0):
    """Return ∂loss/∂array by central differences, and the `bend` of the loss at each element.

    middle: the loss with the unchanged array. Raises ValueError if `array` has no flat view.
    """
    numeric, bends = np.empty_like(array), np.empty_like(array)
    flat = array.reshape(-1)
    if array.size and not np.shares_memory(flat, array):
        raise ValueError("the array is not C-contiguous, so the check cannot change its elements; "
                         "pass array.copy(), which `loss` must also read")
    for i in range(array.size):
        around = losses_around(loss, flat, i, epsilon)
        numeric.flat[i] = central(around, epsilon)
        bends.flat[i] = bend(around, middle, epsilon)
    return numeric, bends


def losses_around(loss, flat, i, epsilon):
    """Return {step: loss} for the steps −2, −1, 1 and 2, with step · epsilon added to flat[i]."""
    kept = flat[i]
    around = {}
    try:
        for step in (-2, -1, 1, 2):
            flat[i] = kept + step * epsilon
            around[step] = number(loss())
    finally:                            # also if the loss raises
        flat[i] = kept
    return around


def central(around, epsilon):
    """Return the four-point central difference. around: the result of `losses_around`."""
    near = around[1] - around[-1]
    far = around[2] - around[-2]
    return (8 * near - far) / (12 * epsilon)


def bend(around, middle, epsilon):
    """Return how abruptly the slope of the loss changes near an element, to detect a kink.

    The result is O(ε²) for a smooth loss, and at least a third of the change of slope for a kink
    within ε. around: from `losses_around`. middle: the loss without a step.
    """
    left = around[-2] - 3 * around[-1] + 3 * middle - around[1]
    right = around[-1] - 3 * middle + 3 * around[1] - around[2]
    return max(abs(left), abs(right)) / epsilon


def relative_errors(analytic, numeric, smallest=1e-9):
    """Return |a − n| / max(|a|, |n|, 1e-3 · max|n|, smallest), elementwise.

    `a` is `analytic`, `n` is `numeric`. max|n| is over finite elements, because a slope may be
    infinite (√x at 0). An error of NaN becomes 0 if `a` and `n` are the same infinity, else inf.
    """
    largest = np.maximum(np.abs(analytic), np.abs(numeric))
    floor = 1e-3 * np.abs(numeric).max(initial=0, where=np.isfinite(numeric))
    with np.errstate(invalid="ignore", over="ignore"):
        errors = np.abs(analytic - numeric) / np.maximum(largest, max(floor, smallest))
    return np.where(np.isnan(errors), np.where(analytic == numeric, 0, np.inf), errors)


def number(loss):
    """Return the loss unchanged. Raises TypeError if the loss is not a number."""
    if type(loss) is float:             # the common case is cheap
        return loss
    if np.ndim(loss) or np.asarray(loss).dtype.kind not in "fiu":
        raise TypeError(f"the loss is {typed_repr(loss)}; expected a number")
    return loss
