"""Which line of a backward pass goes wrong first: every dX beside the central difference for X.

For each name dX that the backward makes, ∂L/∂X is taken by moving X in the forward, for each time
that it is made there; a loop, or one call after another, goes through them from the last to the
first. What has no X of its own is held against every expression of the forward. The first that is
wrong, made of what is right, is a finding; the right value takes its place, and the search goes on.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from numpy_attention.gradcheck.backwards import Value
from numpy_attention.gradcheck.forwards import STEP, Counting, Forward, Moving
from numpy_attention.gradcheck.rewriting import Place, Rewritten, is_gradient

CLOSE = 1e-5            # of a directional derivative, beside the size of the gradient
DIRECTIONS = 2
SECONDS = 4.0           # of a search, a failing check's
SEED = 11


@dataclass
class Group:
    """The values that one statement of the backward begins, in the order of its executions.

    state: "right"; "part", what comes back through one use of X and not through all; "wrong";
    "unknown", where the forward has nothing of the same value; "given", by the caller. number: of
    the Place in the forward that it is, or should be, the gradient of. fits: for each execution,
    whether it is right; times: which time X was made then. other: the same, of another X that fits
    better than the one of its name; renamed: whether that is the one that is meant.
    """

    values: list[Value]
    name: str
    state: str = "unknown"
    number: int | None = None
    fits: list[bool] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    other: tuple | None = None
    renamed: bool = False

    @property
    def begins(self):
        return self.values[0].place

    @property
    def places(self):
        """All statements that make it, each once."""
        return list(dict.fromkeys(place for value in self.values for place in value.places))

    @property
    def reads(self):
        return frozenset().union(*(place.reads for place in self.places))

    @property
    def first_wrong(self):
        """The number of the first execution that is not right."""
        return self.fits.index(False) if False in self.fits else 0


class Derivatives:
    """∂L/∂(a value of the forward), by moving it; L = Σ upstream · output."""

    def __init__(self, run: Callable[[], float], functions):
        self.until = time.thread_time() + SECONDS
        self.run = run
        self.rewritten = Rewritten(functions, Forward)
        counting = Counting()
        with self.rewritten.told(counting):
            self.loss = run()
        self.values = counting.values
        self.shapes = {number: [None if one is None else one.shape for one in values]
                       for number, values in self.values.items()}
        self.known = {}
        self.noise = 1e-15 * abs(self.loss) / STEP

    @property
    def places(self):
        return self.rewritten.places

    def is_late(self):
        """Whether the search has had its time: nothing more is differentiated then."""
        return time.thread_time() > self.until

    def times(self, number):
        """The shapes of what a place makes, each time; [] where one is no array of floats."""
        shapes = self.shapes.get(number, [])
        return shapes if all(shape is not None for shape in shapes) else []

    def along(self, number, n, step, use=None):
        """(L(X + step) − L(X − step)) / 2 for the n-th X of a place; None: X cannot be moved."""
        with self.rewritten.told(listener := Moving(number, n, step, use)):
            above = self.run()
        if not listener.met:
            return None
        with self.rewritten.told(Moving(number, n, -step, use)):
            below = self.run()
        return (above - below) / 2

    def directional(self, number, n):
        """[∂L/∂X · δ for each of some random directions δ], the directions; None as above."""
        if (number, n) not in self.known:
            if self.is_late():
                return None
            self.known[number, n] = self._directional(number, n)
        return self.known[number, n]

    def _directional(self, number, n):
        shape = self.shapes[number][n]
        rng = np.random.default_rng([SEED, len(shape), *shape])
        directions = rng.standard_normal((DIRECTIONS, *shape))
        with self.rewritten.told(Moving(number, n, np.zeros(shape))):
            if self.run() != self.loss:         # a copy in its place is not what the forward wants
                return None
        found = [self.along(number, n, STEP * one) for one in directions]
        if None in found:
            return None
        return np.array(found) / STEP, directions

    def whole(self, number, n):
        """∂L/∂X, element by element."""
        shape = self.shapes[number][n]
        found = np.zeros(shape)
        for i in np.ndindex(*shape):
            step = np.zeros(shape)
            step[i] = STEP
            found[i] = self.along(number, n, step) / STEP
        return found

    def use_of(self, array):
        """The Place where the forward reads an array first; None: it does not."""
        listener = First(array)
        with self.rewritten.told(listener):
            self.run()
        return None if listener.number is None else self.places[listener.number]

    def fits(self, value, number, n):
        """Whether an array is ∂L/∂X of the n-th X of a place."""
        if not isinstance(value, np.ndarray) or value.shape != self.shapes[number][n]:
            return False
        known = self.directional(number, n)
        if known is None:
            return False
        numeric, directions = known
        given = np.array([np.sum(value * one) for one in directions])
        if not np.isfinite(given).all():
            return False
        size = max(np.linalg.norm(value), np.abs(numeric).max())
        return bool((np.abs(given - numeric) <= CLOSE * size + 10 * self.noise).all())


class First:
    """Listens where one array is read first."""

    def __init__(self, array):
        self.array = array
        self.number = None

    def moved(self, value, number):
        return value

    def used(self, value, number):
        if value is self.array and self.number is None:
            self.number = number
        return value


class Comparison:
    """The values of one run of the backward, each beside what it should be."""

    def __init__(self, derivatives: Derivatives, values: list[Value], twins: dict[int, str]):
        self.derivatives = derivatives
        self.groups = []
        self.of_parameters = {}         # {parameter: the values that its gradient had}
        self.carrying = carrying(values, {place.name for place in derivatives.places})
        by_place: dict[Place, Group] = {}
        for value in values:
            if id(value.base) in twins:
                self.adds(value, twins[id(value.base)])
                continue
            if not is_arrays(value) or (value.place.function, value.name) not in self.carrying:
                continue
            name = gradient_of(value)
            if value.place not in by_place:
                by_place[value.place] = Group([], name)
                self.groups.append(by_place[value.place])
            by_place[value.place].values.append(value)
        for group in self.groups:
            self.judge(group)
        self.where = {id(value): (group, j) for group in self.groups
                      for j, value in enumerate(group.values)}
        self.flow = Flow([value for value in values if id(value) in self.where])
        for group in self.groups:
            self.judge_again(group)

    def adds(self, value, module):
        name = value.name.rpartition(".")[2]
        full = f"{module}.{name}" if module else name
        self.of_parameters.setdefault(full, []).append(value)

    def judge(self, group):
        group.fits = [False] * len(group.values)
        argument = group.begins.kind == "argument"
        if argument or not self.reads_gradients(group):
            group.state = "given"
            group.fits = [True] * len(group.values)
            return
        own, others = self.candidates(group)
        for number in [*own, *others]:
            fits, times = self.fits(group, number)
            place = self.derivatives.places[number]
            another = number not in own and (own or place.kind not in ("expression", "part"))
            if all(fits):
                group.state = "part" if another else "right"
                group.number, group.fits, group.times = number, fits, times
                return
            if bool(own) and number not in own:
                if sum(fits) > sum(group.other[1] if group.other else ()):
                    group.other = number, fits, times
            elif sum(fits) > sum(group.fits):
                group.state = "part" if another else "wrong"
                group.number, group.fits, group.times = number, fits, times
        if own and not any(group.fits):
            group.state, group.number = "wrong", own[0]

    def judge_again(self, group):
        """What right values are made of is right, whatever X it is, and named for another."""
        if group.state not in ("wrong", "unknown") or any(group.fits):
            return
        fits = [any(map(self.is_found_right, self.flow.consumers(value)))
                for value in group.values]
        if any(fits):
            group.number, group.fits, group.times = group.other or (None, fits, [])
            group.renamed = True

    def reads_gradients(self, group):
        return any(self.is_made_of_gradients(place) for place in group.places)

    def is_made_of_gradients(self, place):
        return any((place.function, path) in self.carrying
                   or path.rpartition(".")[2] in self.carrying for path in place.reads)

    def accused(self, group):
        """The statement of a group that is to be named: the first that reads gradients."""
        return next(filter(self.is_made_of_gradients, group.places), group.begins)

    def candidates(self, group):
        """→ places of the forward that make X as often; other values, or uses, of as many."""
        own, others, expressions, uses = [], [], [], []
        begins = group.begins
        for number, one in enumerate(self.derivatives.places):
            count = len(self.derivatives.times(number))
            if count < len(group.values):
                continue
            same = one.file == begins.file
            named = one.name.rpartition(".")[2] == group.name != ""
            if one.kind == "use":
                if same and count == len(group.values):
                    uses.append(number)
            elif named and (same or "." in group.values[0].name):
                own.append(number)
            elif same and count == len(group.values):
                (expressions if one.kind == "expression" else others).append(number)
        return own, others + expressions + uses

    def fits(self, group, number):
        """→ for each execution, whether its value is the gradient of X, made at `times`; these.

        A loop of the backward goes through the times from the last to the first, or as the
        forward does; where X was made more often, those in a row that fit best.
        """
        m = len(group.values)
        best, at = [False] * m, []
        for times in rows(len(self.derivatives.times(number)), m):
            found = [any(self.derivatives.fits(one, number, n) for one in value.values)
                     for n, value in zip(times, group.values)]
            if sum(found) > sum(best):
                best, at = found, times
            if all(best):
                break
        return best, at

    def suspects(self):
        """→ groups that may be the first mistake, in the order in which they go wrong; then those
        that are part of what they might be.

        Not right, made of gradients that were right then, and of which nothing right was made.
        """
        wrong = []
        for group in self.groups:
            if group.state in ("wrong", "unknown"):
                j = group.first_wrong
                made_of = self.flow.sources(group.values[j])
                made = self.flow.consumers(group.values[j])
                excused = not any(group.fits) and any(map(self.is_found_right, made))
                if all(map(self.is_right, made_of)) and not excused:
                    wrong.append(group)
        wrong.sort(key=lambda group: (group.state != "wrong",
                                      group.values[group.first_wrong].done))
        parts = [group for group in self.groups if group.state == "part"]
        return wrong, sorted(parts, key=lambda group: group.values[0].done)

    def is_innocent(self, group):
        """Whether what is wrong of a group is made of what is wrong, and something is right."""
        return group.state in ("right", "wrong") and any(group.fits) and all(
            fit or not all(map(self.is_right, self.flow.sources(value)))
            for fit, value in zip(group.fits, group.values))

    def in_order(self):
        """The suspects and the parts, in the order in which they are to be tried."""
        suspects, parts = self.suspects()
        first = suspects[0].values[suspects[0].first_wrong].done if suspects else np.inf
        before = [group for group in parts if group.values[0].done < first]
        return [*before, *suspects, *(group for group in parts if not any(group is one for one in before))]

    def is_right(self, value):
        """Whether a value is not known to be wrong; an argument is what it was handed over as."""
        if id(value) not in self.where:
            return True
        group, j = self.where[id(value)]
        if group.state == "given" and value.source is not None:
            return self.is_right(value.source)
        return group.fits[j] or bool(group.other and group.other[1][j])

    def is_found_right(self, value):
        group, j = self.where[id(value)]
        return group.fits[j] and group.state in ("right", "wrong") and not group.renamed

    def made_of(self, group):
        """The groups of which the first wrong value of this one was made."""
        values = self.flow.sources(group.values[group.first_wrong])
        return [self.where[id(value)][0] for value in values]

    def made_with(self, group):
        """The groups of what was made of the first wrong value of this one and is wrong."""
        values = self.flow.consumers(group.values[group.first_wrong])
        return [self.where[id(value)][0] for value in values if not self.is_right(value)]


def rows(count, m):
    """The ways in which m executions may go through the times that X was made, in a row."""
    for last in range(count, m - 1, -1):
        yield list(range(last - 1, last - m - 1, -1))
    if m > 1:
        for first in range(count - m, -1, -1):
            yield list(range(first, first + m))


class Flow:
    """Which values were made of which: what a statement reads is what its names held then."""

    def __init__(self, values):
        self.values = values
        self.by_name: dict[tuple, list[Value]] = {}
        for value in values:
            for key in self.keys(value):
                self.by_name.setdefault(key, []).append(value)
        self.made: dict[int, list[Value]] = {}
        for value in values:
            for source in self.sources(value):
                self.made.setdefault(id(source), []).append(value)

    def keys(self, value):
        last = value.name.rpartition(".")[2]
        if value.place.kind == "return":
            return [("return", value.place.function.rpartition(".")[2])]
        if "." in value.name:
            return [("attribute", last)]
        return [("name", value.call, last)]

    def sources(self, value):
        found = []
        for path in frozenset().union(*(place.reads for place in value.places)):
            last = path.rpartition(".")[2]
            for key in (("name", value.call, path), ("attribute", last), ("return", last)):
                if key[0] == "attribute" and not ("." in path and is_gradient(path)):
                    continue
                before = [one for one in self.by_name.get(key, ())
                          if one.order < value.done and one is not value]
                found += before[-1:]
        return found

    def consumers(self, value):
        return self.made.get(id(value), [])


def carrying(values, of_forward):
    """The names through which gradients flow, (function, name), and functions that return one.

    Those of the habit dX, unless the forward has the same name; and what is made of them.
    """
    found: set = set()
    for value in values:
        function, name = value.place.function, value.name
        reads = frozenset().union(*(place.reads for place in value.places))
        flows = any((function, path) in found or path.rpartition(".")[2] in found
                    for path in reads)
        if flows or is_gradient(name) and name not in of_forward:
            found.add((function, name))
            if value.place.kind == "return":
                found.add(function.rpartition(".")[2])
    return found


def gradient_of(value):
    """The X of a value dX; "return" of what is returned, "" of what is not named so."""
    if value.place.kind == "return":
        return "return"
    base, _, last = value.name.rpartition(".")
    if base:
        return last if is_gradient(base) else ""
    return last[1:].lstrip("_") if is_gradient(last) else ""


def is_arrays(value):
    return any(isinstance(one, np.ndarray) and one.dtype.kind == "f" for one in value.values)
