"""Find the first wrong line of a backward pass by comparing every dX with central differences.

For each name dX that `backward` assigns, ∂L/∂X is measured by perturbing X in `forward`.
"""

from dataclasses import dataclass, field
from itertools import chain
from typing import Any

import numpy as np

from numpy_attention.gradcheck.locate.backwards import Value
from numpy_attention.gradcheck.locate.derivatives import Derivatives
from numpy_attention.gradcheck.locate.flow import Flow, carrying, gradient_of, is_arrays
from numpy_attention.gradcheck.locate.rewriting import Place


@dataclass
class Group:
    """The gradients that one statement of `backward` computes, one for each execution.

    state: "right", "wrong", or one of
        "part": the gradients of another value, or gradients through only one use of X
        "unknown": not the gradients of any value of `forward`
        "given": arguments, or values that are not computed from gradients
    renamed: whether the values are gradients of an X with another name
    """

    values: list[Value]         # one Value for each time the statement runs
    name: str                   # X if the gradients are called dX, "return" if returned, or ""
    state: str = "unknown"
    number: int | None = None   # the number of the forward place that computes X
    fits: list[bool] = field(default_factory=list)      # for each value: whether it equals ∂L/∂X
    times: list[int] = field(default_factory=list)      # for each value: the number n of its X
    other: tuple | None = None  # number, fits and times of the best place with another name
    renamed: bool = False
    is_named: bool = False      # whether `forward` has an X of this name

    @property
    def begins(self):
        return self.values[0].place

    @property
    def places(self):
        """The statements that compute or change the values."""
        return list(dict.fromkeys(place for value in self.values for place in value.places))

    @property
    def reads(self):
        return frozenset().union(*(place.reads for place in self.places))

    @property
    def first_wrong(self):
        """The index of the first wrong value, or 0 if all values are correct."""
        return self.fits.index(False) if False in self.fits else 0


class Comparison:
    """Comparison of the gradients of a backward pass with central differences of the loss.

    values: the Values of `backward`. grads_names: maps the id of a module in `grads` to its name.
    """

    def __init__(self, derivatives: Derivatives, values: list[Value], grads_names: dict[int, str]):
        self.derivatives = derivatives
        self.groups = []
        self.tried: dict[int, Any] = {}     # {id of a group: Finding or None}
        self.unjudged: set[Place] = set()
        # {parameter: the Values that its gradient has had}
        self.parameter_gradients: dict[str, list[Value]] = {}
        self.carrying = carrying(values, {place.name for place in derivatives.places})
        by_place: dict[Place, Group] = {}
        # {statement that may recompute a forward value: the Values that it computes}
        again: dict[Place, list[Value]] = {}
        for value in values:
            if id(value.base) in grads_names:
                self.adds(value, grads_names[id(value.base)])
                continue
            if not is_arrays(value) or (value.place.function, value.name) not in self.carrying:
                self.unjudged.update(value.places)
                if is_arrays(value) and value.place.kind == "assign" and value.base is None:
                    again.setdefault(value.place, []).append(value)
                continue
            name = gradient_of(value)
            if value.place not in by_place:
                by_place[value.place] = Group([], name)
                self.groups.append(by_place[value.place])
            by_place[value.place].values.append(value)
        self.recomputed_values = [*again.values()]
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
        self.parameter_gradients.setdefault(full, []).append(value)

    def judge(self, group):
        """Compare a Group with central differences, and store the result in the Group."""
        group.fits = [False] * len(group.values)
        argument = group.begins.kind == "argument"
        if argument or not self.reads_gradients(group):
            group.state = "given"
            group.fits = [True] * len(group.values)
            return
        own, others = self.candidates(group)
        group.is_named = bool(own)
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
        """Mark a wrong group as renamed if correct gradients are computed from it."""
        if group.state not in ("wrong", "unknown") or any(group.fits):
            return
        fits = [any(map(self.is_found_right, self.flow.consumers(value)))
                for value in group.values]
        if any(fits):
            group.number, group.fits, group.times = group.other or (None, fits, [])
            group.renamed = True

    def reads_gradients(self, group):
        return any(self.depends_on_gradients(place) for place in group.places)

    def depends_on_gradients(self, place):
        return any((place.function, path) in self.carrying
                   or path.rpartition(".")[2] in self.carrying for path in place.reads)

    def accused(self, group):
        """Return the statement to report for a wrong group: the first one that reads gradients."""
        return next(filter(self.depends_on_gradients, group.places), group.begins)

    def candidates(self, group):
        """Return two lists of indices of forward places: with the group's name, and the others."""
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
        """Compare a group with the gradients of one forward place; return (fits, times).

        X_n is the value that the place computes in its n-th run. fits: for each value of the group,
        whether it is a correct gradient. times: for each value, the n for which it should be
        ∂L/∂X_n, or an empty list if no value is correct.
        """
        m = len(group.values)
        best, at = [False] * m, []
        count = len(self.derivatives.times(number))
        is_number = not np.ndim(group.values[0].values[-1])
        ways = chain(rows(count, m), nested(count, m) if is_number else ())
        for times in ways:
            found = [any(self.derivatives.fits(one, number, n) for one in value.values)
                     for n, value in zip(times, group.values)]
            if sum(found) > sum(best):
                best, at = found, times
            if all(best):
                break
        return best, at

    def suspects(self):
        """Return (suspects, parts), two lists of groups that may contain the first mistake.

        suspects: those whose first wrong value has only correct operands. parts: in state "part".
        """
        wrong = []
        for group in self.groups:
            if group.state in ("wrong", "unknown"):
                j = group.first_wrong
                source_groups = self.flow.sources(group.values[j])
                made = self.flow.consumers(group.values[j])
                excused = not any(group.fits) and any(map(self.is_found_right, made))
                if all(map(self.is_right, source_groups)) and not excused:
                    wrong.append(group)
        wrong.sort(key=lambda group: (group.state != "wrong",
                                      group.values[group.first_wrong].done))
        parts = [group for group in self.groups if group.state == "part"]
        return wrong, sorted(parts, key=lambda group: group.values[0].done)

    def is_innocent(self, group):
        """Return whether a group has a correct value, and each wrong value has a wrong operand."""
        judged = group.state in ("right", "wrong") and group.is_named and not group.renamed
        return judged and any(group.fits) and all(
            fit or not all(map(self.is_right, self.flow.sources(value)))
            for fit, value in zip(group.fits, group.values))

    def innocent_lines(self):
        """Return the (file, line) of lines that compute only values of innocent groups."""
        found, others = set(), set(self.unjudged)
        for group in self.groups:
            if self.is_innocent(group):
                until, behind = self.up_to_right(group)
                found.update(until)
                others.update(behind)
            else:
                others.update(group.places)
        return {(place.file, place.line) for place in found} - {
            (place.file, place.line) for place in others}

    def up_to_right(self, group):
        """Split a group's statements into two lists; those in the second spoil a correct value."""
        until, behind = [], []
        for fit, value, n in zip(group.fits, group.values, group.times):
            ends = [self.derivatives.fits(one, group.number, n) for one in value.values]
            last = len(ends) - ends[::-1].index(True) if fit and True in ends else len(ends)
            until += value.places[:last]
            behind += value.places[last:]
        return until, behind

    def times(self, group):
        """Return which execution of places[group.number] computes each value's X, or None."""
        m, count = len(group.values), len(self.derivatives.times(group.number))
        if any(group.fits) or m == count == 1:
            return group.times or [0]
        # a correct group in the same function was probably computed in the same loop
        for one in self.groups:
            alike = one.begins.function == group.begins.function and len(one.values) == m > 1
            if alike and one.state == "right" and len(self.derivatives.times(one.number)) == count:
                return one.times
        return None

    def in_order(self):
        """Return all groups of suspects() in one list, in the order to search them."""
        suspects, parts = self.suspects()
        first = suspects[0].values[suspects[0].first_wrong].done if suspects else np.inf
        before = [group for group in parts if group.values[0].done < first]
        behind = [group for group in parts if group.values[0].done >= first]
        return [*before, *suspects, *behind]

    def is_right(self, value):
        """Return whether a Value is correct. A Value that was not compared counts as correct."""
        if id(value) not in self.where:
            return True
        group, j = self.where[id(value)]
        if group.state == "given" and value.source is not None:
            return self.is_right(value.source)
        return group.fits[j] or bool(group.other and group.other[1][j])

    def is_found_right(self, value):
        group, j = self.where[id(value)]
        return group.fits[j] and group.state in ("right", "wrong") and not group.renamed

    def source_groups(self, group):
        """Return the groups from which the first wrong value of `group` was computed."""
        values = self.flow.sources(group.values[group.first_wrong])
        return [self.where[id(value)][0] for value in values]

    def wrong_consumers(self, group):
        """Return the Groups with a wrong value computed from the first wrong value of `group`."""
        values = self.flow.consumers(group.values[group.first_wrong])
        return [self.where[id(value)][0] for value in values if not self.is_right(value)]


def rows(count, m):
    """Yield lists of `m` consecutive numbers below `count`: descending lists, then ascending ones.

    For example, rows(3, 2) yields [2, 1], [1, 0], [1, 2] and [0, 1].
    """
    for last in range(count, m - 1, -1):
        yield list(range(last - 1, last - m - 1, -1))
    if m > 1:
        for first in range(count - m, -1, -1):
            yield list(range(first, first + m))


def nested(count, m):
    """Yield lists of `m` numbers below `count`, in orders that nested loops may produce."""
    if count % m:
        return
    k = count // m
    last = np.arange(k - 1, count, k)       # the last steps of an innermost loop of k steps
    if k > 1:
        yield from (last.tolist(), last[::-1].tolist())
    for inner in range(2, m):
        if m % inner == 0:
            table = last.reshape(-1, inner)
            for one in (table, table.T):
                yield from (one[::-1].ravel().tolist(), one[:, ::-1].ravel().tolist())
            yield from (table.T.ravel().tolist(), table.T[::-1, ::-1].ravel().tolist())
