"""The law of scores: adding a number to all scores changes nothing, so their gradient sums to 0.

    α = softmax(e) along an axis, L(e + c) = L(e)   ⇒   Σ_k de_k = 0

Only an incorrect `de` is checked. The law is applied if `forward` computes a softmax of `e`, and if
adding `c` to `e` leaves the loss unchanged. It may not, for example, if the scores are also an
output.
"""

import numpy as np

from numpy_attention.gradcheck.locate.forwards import STEP
from numpy_attention.gradcheck.passes import Broken

NOTHING = 1e-5          # a derivative or a sum, relative to the size of its terms
MOST_TIMES = 20         # largest number of times that e is computed; each of them is perturbed
SEED = 13


def unbalanced(derivatives, compared):
    """Return [Broken] for the first wrong gradient of scores that does not sum to 0, or [].

    derivatives: the Derivatives of the loss. compared: the Comparison of `backward` with them.
    """
    for group in last_assignments(compared):
        if group.state != "wrong" or not group.is_named or group.renamed:
            continue
        arrays = [value.values[-1] for value in group.values]
        numbers = compared.candidates(group)[0]
        for axis in axes_of_softmax(derivatives, numbers, arrays[0].shape):
            largest = largest_sum(arrays, axis)
            if largest and all(may_be_shifted(derivatives, one, axis) for one in numbers):
                name = group.values[0].name
                return [Broken("jacobian", f"Σ {name} along axis {axis} must be 0, because adding "
                               f"one number to all of {group.name} changes nothing; after line "
                               f"{group.begins.line} it is up to {largest:.3g}")]
    return []


def last_assignments(compared):
    """Return the Groups of gradients that a variable still holds at the end of a function call."""
    last = {}
    for group in compared.groups:
        for value in group.values:
            key = value.call, value.name
            if value.base is None and (key not in last or last[key][0] < value.order):
                last[key] = value.order, group
    groups = {id(group): group for _, group in last.values()}
    return [one for one in groups.values()
            if all(isinstance(value.values[-1], np.ndarray) for value in one.values)
            and len({value.values[-1].shape for value in one.values}) == 1]


def axes_of_softmax(derivatives, numbers, shape):
    """Return the axes along which `forward` computes a softmax of some of its values.

    numbers: the indices, in `derivatives.places`, of the expressions that compute these values.
    """
    if not numbers or any(set(derivatives.times(one)) != {shape} for one in numbers):
        return []
    made = [derivatives.values[one][0] for one in numbers]
    alike = [values[0] for values in derivatives.values.values()
             if values[0] is not None and values[0].shape == shape]
    return [axis for axis in range(len(shape)) if shape[axis] > 1
            and any(is_softmax(alpha, e, axis) for alpha in alike for e in made)]


def is_softmax(alpha, e, axis):
    """Return whether `alpha` is the softmax of `e` along an axis, apart from masked zeros."""
    if not (alpha >= 0).all() or not np.allclose(alpha.sum(axis), 1):
        return False
    difference = np.where(alpha > 0, np.log(np.where(alpha > 0, alpha, 1)) - e, np.nan)
    return np.nanmax(np.nanmax(difference, axis) - np.nanmin(difference, axis)) < 1e-6


def may_be_shifted(derivatives, number, axis):
    """Return whether adding one number to all values along an axis leaves the loss unchanged.

    number: the index, in `derivatives.places`, of the expression that computes the values.
    """
    shapes = derivatives.times(number)
    if len(shapes) > MOST_TIMES:
        return False
    for n, shape in enumerate(shapes):
        wide = tuple(1 if i == axis else size for i, size in enumerate(shape))
        step = np.random.default_rng([SEED, *shape]).standard_normal(wide)
        known = derivatives.directional(number, n)
        if known is None:
            return False
        moved = derivatives.along(number, n, np.broadcast_to(STEP * step, shape)) / STEP
        size = np.abs(known[0]).max()
        if abs(moved) > NOTHING * size + 10 * derivatives.noise or size < 1e3 * derivatives.noise:
            return False
    return True


def largest_sum(arrays, axis):
    """Return the largest |sum| along an axis, or 0 if all sums are 0 up to rounding."""
    sums = np.array([np.abs(one.sum(axis)).max() for one in arrays])
    sizes = np.array([np.abs(one).sum(axis).max() for one in arrays])
    return float(np.where(sums > NOTHING * sizes, sums, 0).max())
