"""Check that backward is linear in its upstream gradient: nothing is rounded or clipped."""

import numpy as np

from numpy_attention.gradcheck.arrays import combined, copy_arrays
from numpy_attention.gradcheck.locate.watching import first_line_with
from numpy_attention.gradcheck.passes import (
    Broken,
    backward_of,
    differing,
    forward_of,
    join_words,
    new_grads,
)

# factors of two upstream gradients: one reveals clipped gradients, the other rounded gradients
LARGE, SMALL = 100.0, -1e-3


def linear_in_upstream(first):
    """Check that backward is linear: backward(a u + b v) = a backward(u) + b backward(v)."""
    check = first.check
    u = check.upstream
    v = combined(lambda array: np.array(np.flip(array)), u)
    of_u = first.gradients
    of_v = first.again(v, first.cache)
    combination = combined(lambda one, other: LARGE * one + SMALL * other, u, v)
    small = combined(lambda array: SMALL * array, u)
    of_both = first.again(combination, first.cache)
    of_small = first.again(small, first.cache)
    wanted = {name: LARGE * of_u[name] + SMALL * of_v[name] for name in of_u}
    wrong = differing(of_both, wanted, check.tolerance)
    lost = {name: SMALL * of_u[name] for name in of_u}
    wrong += [name for name in differing(of_small, lost, check.tolerance) if name not in wrong]
    if not wrong:
        return []
    if not differing(of_both, {name: of_u[name] for name in wrong}, check.tolerance):
        return [Broken("output ignored", f"backward gives the same {join_words(wrong)} for every "
                       "upstream\n  a gradient is a sum of upstream × derivative")]
    if all(not of_small[name].any() for name in wrong):
        return [Broken("dtype", f"a small upstream is lost: {join_words(wrong)} becomes 0"
                       "\n  floats are stored as integers, or rounded; use a float array",
                       integers_in(check))]
    return [Broken("factor", f"backward is not linear in the upstream gradient: {join_words(wrong)}"
                   "\n  a gradient is a sum of upstream × derivative: nothing may be clipped, "
                   "rounded or chosen by the upstream's size")]


def integers_in(check):
    """Return the Place of the first line after which an array named d… holds integers, or None."""
    _, cache = forward_of(check, copy_arrays(check.inputs))
    return first_line_with(
        lambda: backward_of(check, copy_arrays(check.upstream), cache, new_grads(check)),
        lambda name, array: name.startswith("d") and array.dtype.kind in "iu")
