"""Central differences of the loss with respect to any intermediate value of a forward pass."""

from collections.abc import Callable

import numpy as np

from numpy_attention.gradcheck.locate.budget import Budget
from numpy_attention.gradcheck.locate.forwards import STEP, Counting, Forward, Moving
from numpy_attention.gradcheck.locate.rewriting import Instrumented

CLOSE = 1e-5            # largest error of a directional derivative, relative to the gradient's size
DIRECTIONS = 2
MOST_DIFFERENCES = 9000     # largest number of differences of the loss in one search
SEED = 11


class Derivatives:
    """Numerical gradients of the loss with respect to any value of the forward pass.

    run() runs `forward` and returns the loss. values: maps the index of a Place to copies of the
    values that the Place computes, with None for a value without floats.
    """

    def __init__(self, run: Callable[[], float], functions):
        self.budget = Budget(MOST_DIFFERENCES)
        self.run = run
        self.rewritten = Instrumented(functions, Forward)
        counting = Counting(self.rewritten.places)
        with self.rewritten.reporting_to(counting):
            self.loss = run()
        self.values = counting.values
        self.shapes = {number: [None if one is None else one.shape for one in values]
                       for number, values in self.values.items()}
        self.known: dict[tuple[int, int], tuple | None] = {}
        self.wholes: dict[tuple[int, int], np.ndarray] = {}
        self.noise = 1e-15 * abs(self.loss) / STEP

    @property
    def places(self):
        return self.rewritten.places

    def is_late(self):
        """Return whether the budget of this search is spent."""
        return self.budget.is_spent

    def times(self, number):
        """Return one shape for each value of places[number], or [] if a value holds no floats."""
        shapes = self.shapes.get(number, [])
        return shapes if all(shape is not None for shape in shapes) else []

    def along(self, number, n, step, use=None):
        """Return (L(X + step) − L(X − step)) / 2, or None if `forward` never reaches X.

        X is the n-th value of places[number]. With `use`, only places[use] reads the changed X.
        """
        self.budget.take()
        with self.rewritten.reporting_to(listener := Moving(number, n, step, use)):
            above = self.run()
        if not listener.met:
            return None
        with self.rewritten.reporting_to(Moving(number, n, -step, use)):
            below = self.run()
        return (above - below) / 2

    def directional(self, number, n):
        """Return two arrays (derivatives of the loss, random directions), or None if unknown.

        The directions are changes of the n-th value of places[number].
        """
        if (number, n) not in self.known:
            if self.is_late():
                return None
            self.known[number, n] = self._directional(number, n)
        return self.known[number, n]

    def _directional(self, number, n):
        shape = self.shapes[number][n]
        rng = np.random.default_rng([SEED, len(shape), *shape])
        directions = rng.standard_normal((DIRECTIONS, *shape))
        with self.rewritten.reporting_to(Moving(number, n, np.zeros(shape))):
            if self.run() != self.loss:         # replacing X by a copy changes `forward`
                return None
        found = [self.along(number, n, STEP * one) for one in directions]
        if None in found:
            return None
        return np.array(found) / STEP, directions

    def whole(self, number, n):
        """Return ∂L/∂X, where X is the n-th value of places[number]."""
        if (number, n) not in self.wholes:
            self.wholes[number, n] = self._whole(number, n)
        return self.wholes[number, n].copy()

    def _whole(self, number, n):
        shape = self.shapes[number][n]
        found = np.zeros(shape)
        for i in np.ndindex(*shape):
            step = np.zeros(shape)
            step[i] = STEP
            found[i] = self.along(number, n, step) / STEP
        return found

    def fits(self, value, number, n):
        """Return whether `value` equals ∂L/∂X, where X is the n-th value of places[number]."""
        if not isinstance(value, np.ndarray) or value.shape != self.shapes[number][n]:
            return False
        known = self.directional(number, n)
        if known is None:
            return False
        numeric, directions = known
        flat = value.reshape(-1)
        off = np.abs(directions.reshape(len(directions), -1) @ flat - numeric).max()
        if not np.isfinite(off):
            return False
        size = max(np.sqrt(flat @ flat), np.abs(numeric).max())
        return bool(off <= CLOSE * size + 10 * self.noise)
