"""Find the smallest input with which a check still fails, and the gradient that is then wrong."""

import contextlib
from dataclasses import dataclass, replace

import numpy as np

from numpy_attention.gradcheck import differences
from numpy_attention.gradcheck.edits.repairs import quiet
from numpy_attention.gradcheck.locate.reruns import SEED, cut, cut_around, is_right, sizes
from numpy_attention.gradcheck.locate.watching import arrays_within


@dataclass
class Smallest:
    """A wrong gradient and the correct one, for the smallest inputs with which a check fails."""

    shapes: dict            # {input: shape}
    name: str               # of the gradient
    found: np.ndarray       # the wrong gradient
    right: np.ndarray       # the correct gradient

    def lines(self):
        shapes = ", ".join(f"{name} {shape}" for name, shape in self.shapes.items())
        return [f"the smallest input that still fails: {shapes}",
                f"{self.name} there, backward:\n{self.found}",
                f"{self.name} there, central differences:\n{self.right}"]


def smallest(check, wrong):
    """Cut input axes to length 1 as long as a Check still fails; return a Smallest, or None.

    wrong: the names of the wrong gradients.
    """
    arrays = dict(arrays_within(check.inputs, "input"))
    small, done = check, False
    with quiet(), contextlib.ExitStack() as around:
        for size in sizes(check, arrays):
            held = around.enter_context(contextlib.ExitStack())
            held.enter_context(cut_around(small, size))
            one = replace(small, inputs=[cut(value, size) for value in small.inputs], upstream=[])
            if fails(one):
                small, done = one, True
            else:
                held.close()
        return failing_gradient(small, wrong) if done else None


def fails(check):
    """Return whether a Check runs without an exception, but has a wrong gradient."""
    try:
        check.draw(np.random.default_rng(SEED))
        check.gradients()
    except Exception:                   # user code may not accept the cut arrays
        return False
    return not is_right(check)


def failing_gradient(check, wrong):
    found, _ = check.gradients()
    for name in wrong:
        right = differences.numeric_gradient(check.loss, check.variables[name], check.epsilon)
        if np.shape(found.get(name)) == right.shape and not np.allclose(
                found[name], right, rtol=1e-5, atol=1e-8 * np.abs(right).max(initial=0)):
            shapes = {name: array.shape for name, array in arrays_within(check.inputs, "input")}
            return Smallest(shapes, name, found[name], right)
    return None
