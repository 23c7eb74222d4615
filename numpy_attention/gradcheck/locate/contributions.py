"""Find reads of a forward value that contribute to its gradient twice, scaled or not at all."""

import linecache

import numpy as np

from numpy_attention.gradcheck.locate.forwards import STEP, Moving
from numpy_attention.gradcheck.locate.rewriting import is_of_package
from numpy_attention.gradcheck.report.kinds import Kind
from numpy_attention.gradcheck.report.notebooks import file_label

CLOSE = 1e-4
MOST_PARTS = 16         # uses of a name, or executions of a use, that are distinguished


class Contributions:
    """The gradient of one forward value, split by the places in `forward` that read the value.

    The value is `array` if given, otherwise the n-th value of places[number].
    """

    def __init__(self, derivatives, number=None, n=0, array=None):
        self.derivatives = derivatives
        self.number = number
        self.n = n
        self.array = array
        found = ReadListener(derivatives.places, number, n, array)
        with derivatives.rewritten.reporting_to(found):
            derivatives.run()
        self.times = found.times            # [(number of a use, execution of the use)]
        self.shape = found.shape

    def parts(self):
        """Split the gradient among the reads of the value; return (parts, derivatives, directions).

        parts: a list of pairs (index of a place that reads the value, tuple of its executions), or
            [] if there are none or too many. The pair (None, ()) stands for unknown places
        derivatives: directional derivatives, a row for each part and a column for each direction
        directions: random arrays of the value's shape
        """
        parts = [(use, (time,)) for use, time in self.times]
        if len(parts) > MOST_PARTS:
            uses = dict.fromkeys(use for use, _ in self.times)
            parts = [(use, tuple(time for one, time in self.times if one == use)) for use in uses]
        if not parts or len(parts) > MOST_PARTS:
            return [], np.zeros((0, 0)), None
        rng = np.random.default_rng([7, *self.shape])
        directions = rng.standard_normal((len(parts) + 3, *self.shape))
        found = np.array([[self.along(part, STEP * one) / STEP for one in directions]
                          for part in parts])
        kept = independent(found)
        parts, found = [parts[i] for i in kept], found[kept]
        if self.number is not None:
            rest = self.total(directions) - found.sum(0)
            if np.abs(rest).max() > 1e-6 * np.abs(found).max(initial=0):
                return [*parts, (None, ())], np.vstack([found, rest]), directions
        return parts, found, directions

    def total(self, directions):
        """Return the directional derivatives of the loss along `directions` of the value."""
        return np.array([self.derivatives.along(self.number, self.n, STEP * one) / STEP
                         for one in directions])

    def along(self, part, step):
        above, below = (self.loss(part, sign * step) for sign in (1, -1))
        return (above - below) / 2

    def loss(self, part, step):
        use, times = part
        listener = MovingUse(self.number, self.n, step, use, times, self.array)
        with self.derivatives.rewritten.reporting_to(listener):
            return self.derivatives.run()

    def coefficients(self, value, later=()):
        """Return (parts, factors) with `value` = Σ factor · (gradient through part), or None.

        All factors of a correct gradient are 1. later: arrays that were added to the gradient after
        `value` was computed. If one is the gradient through a part, that part has factor 1.
        """
        # a single number is a multiple of any other number
        if not np.ndim(value) or np.shape(value) != self.shape:
            return None
        parts, found, directions = self.parts()
        if not parts:
            return None
        given = np.array([np.sum(value * one) for one in directions])
        often, *_ = np.linalg.lstsq(found.T, given, rcond=None)
        rest = given - found.T @ often
        size = max(np.abs(given).max(), np.abs(found).max())
        if not np.isfinite(given).all() or np.abs(rest).max() > CLOSE * size:
            return None
        whole = np.abs(often - np.round(often)).max() < CLOSE
        if len(parts) >= value.size and not whole:      # of this many, anything is a sum
            return None
        for one in later:
            brought = np.array([np.sum(one * each) for each in directions])
            often[np.abs(found - brought).max(1) <= CLOSE * size] = 1
        return parts, often


def independent(parts):
    """Return the indices of the rows of `parts` that are not 0 and not the sum of other rows."""
    size = np.abs(parts).max(initial=0)
    kept = [i for i, one in enumerate(parts) if np.abs(one).max() > 1e-7 * size]
    # the row of a call is the sum of the rows of the reads inside the function
    for i in list(kept):
        others = [k for k in kept if k != i]
        if not others:
            break
        often, *_ = np.linalg.lstsq(parts[others].T, parts[i], rcond=None)
        rest = np.abs(parts[others].T @ often - parts[i]).max()
        if rest < CLOSE * size and np.isin(np.round(often, 3), (0, 1)).all():
            kept = others
    return kept


class ReadListener:
    """Listener that appends (index of a place, execution) to `times` when it reads one value.

    This value is `array` if given, otherwise the n-th value of places[number].
    """

    def __init__(self, places, number, n, array):
        self.places = places
        self.number = number
        self.left = n
        self.held = array
        self.shape = None if array is None else array.shape
        self.times = []
        self.counts = {}

    def moved(self, value, number):
        if number == self.number:
            if self.left == 0:
                self.held = value
                self.shape = np.shape(value)
            self.left -= 1
        elif value is self.held and value is not None:
            if self.places[number].kind == "argument":
                del self.times[-1:]         # the read that passed the value to this function
            elif self.places[number].kind == "expression":          # of a list, hs[t]
                self.used(value, number)
        return value

    def used(self, value, number):
        n = self.counts.get(number, 0)
        self.counts[number] = n + 1
        if number == self.number:
            return self.moved(value, number)
        if value is self.held and self.held is not None:
            self.times.append((number, n))
        return value


class MovingUse(Moving):
    """Listener that adds `step` to a forward value in the executions `times` of places[use].

    The value is `array` if given, otherwise the n-th value of places[number].
    """

    def __init__(self, number, n, step, use, times, array):
        super().__init__(number, n, step, use)
        self.times = times
        if array is not None:
            self.held = array

    def moved(self, value, number):
        if number == self.use and value is self.held:
            return self.used(value, number)
        return super().moved(value, number)

    def used(self, value, number):
        n = self.counts["use", number]
        self.counts["use", number] += 1
        if number == self.number:
            return super().moved(value, number)
        if number == self.use and value is self.held and n in self.times:
            return value + self.step
        return value


def contribution_kinds(uses, value, later, calls):
    """Return a Kind for each use of a forward value whose part of the gradient is wrong or missing.

    uses: the Contributions of the forward value. value: its gradient in `backward`. later: arrays
    that were added to this gradient afterwards. calls: the result of `calls_of_package`.
    """
    known = uses.coefficients(value, later)
    if known is None:
        return []
    parts, often = known
    if any(uses.coefficients(one) is None for one in later):
        # the list of later terms is incomplete, so a missing part may be one of them
        often = np.where(np.abs(often) < 1e-3, 1, often)
    places = uses.derivatives.places
    by_use = {}
    for (use, times), k in zip(parts, often):
        if use is not None:
            by_use.setdefault(use, []).append((times, k))
    found = []
    for use, counted in by_use.items():
        place = places[use]
        place = calls.get((place.file, place.line)) or place
        text = statement(uses.derivatives, place)
        where = f"line {place.line}"
        if calls and is_of_package(place.file):
            where += f" of {file_label(place.file)}"
        kind = use_kind(np.array([k for _, k in counted]), text, f"{where}, {text}")
        if kind is not None:
            found.append(Kind(*kind, line=place.line))
    return found


def use_kind(ks, text, line):
    """Return (name, description) of a mistake in the gradient through one statement, or None.

    ks: for each execution of the statement, the factor of its gradient, 1 if correct. text: the
    statement. line: how to refer to it, such as "line 3, y = x @ W".
    """
    if np.allclose(ks, 1, atol=1e-3):
        return None
    if np.allclose(ks, 0, atol=1e-3):
        name = "output ignored" if text.startswith("return") else "missing term"
        return name, f"nothing comes back through {line}"
    if np.allclose(ks, -1, atol=1e-3):
        return "sign", f"what comes back through {line} has the wrong sign"
    if np.allclose(ks, 2, atol=1e-3):
        return "double", f"what comes back through {line} is counted twice"
    if np.allclose(ks, ks[0], atol=1e-3):
        return "factor", f"what comes back through {line} is {ks[0]:.4g} times what it should be"
    if not np.allclose(ks, np.round(ks), atol=1e-3):
        return None
    right = np.flatnonzero(np.abs(ks - 1) < 1e-3)
    if len(right) == 1 and np.count_nonzero(np.round(ks)) == 1 and right[0] in (0, len(ks) - 1):
        return "assigned", (f"only one of the {len(ks)} executions of {line} counts: "
                            "assigned where it is to be added")
    wrong = [i for i in range(len(ks)) if i not in right]
    return "wrong step", f"wrong in executions {wrong} of {line}, which runs {len(ks)} times"


def statement(derivatives, place):
    """Return the source line of a Place in `forward`."""
    same = [one for one in derivatives.places if one.line == place.line and one.name
            and one.file == place.file and one.kind in ("assign", "update", "part")]
    text = linecache.getline(place.file, place.line).split("#")[0].strip()
    return text or (same[0].text if same else place.text)
