"""The result of a search: a statement, its correct value, and the kind of mistake."""

from dataclasses import dataclass, field
from types import MappingProxyType

import numpy as np

from numpy_attention.gradcheck.edits.editing import Edit
from numpy_attention.gradcheck.edits.variants import target_of, written
from numpy_attention.gradcheck.locate.contributions import Contributions, contribution_kinds
from numpy_attention.gradcheck.locate.localize import Group
from numpy_attention.gradcheck.locate.rewriting import Place
from numpy_attention.gradcheck.report.kinds import Kind, array_kinds, local_derivative


@dataclass
class Finding:
    """A statement that computes a wrong value from correct operands.

    place, name: the statement, and the name of the value that it computes
    others: statements that contribute to the same value
    of, number: the forward Place that computes X, and the index of this Place, if the statement
        should compute ∂L/∂X; otherwise None, for instance for the gradient of a parameter
    found, right: the first wrong value, and the correct value
    fits, times: for each value of the group, whether it is correct, and the n for which it should
        be the gradient of the n-th X, counted from 0
    follows: the names of the gradients that become correct with `instead` or `edit`
    group: the Group that contains the value
    instead, edit: {(place, n): array that replaces the n-th value of the place}, and an edit of the
        statement, or None
    compared: the statement whose later value is compared if the forward has no X for this value
    copied: the forward Place whose value must be copied
    recomputed: the forward Place whose value the backward should use
    is_forward: whether the statement is in the forward
    arithmetic: how the element with the largest error was computed, or ""
    """

    place: Place
    name: str
    others: list[Place] = field(default_factory=list)
    of: Place | None = None
    number: int | None = None
    found: np.ndarray | None = None
    right: np.ndarray | None = None
    fits: list[bool] = field(default_factory=list)
    times: list[int] = field(default_factory=list)
    follows: list[str] = field(default_factory=list)
    group: Group | None = None
    instead: dict = field(default_factory=dict)
    edit: Edit | None = None
    compared: Place | None = None
    copied: Place | None = None
    recomputed: Place | None = None
    is_forward: bool = False
    arithmetic: str = ""

    @property
    def earlier(self):
        """Earlier contents of the first wrong value, such as incomplete sums, the latest first."""
        return () if self.group is None else self.group.values[self.first_wrong].values[-2::-1]

    @property
    def first_wrong(self):
        return self.fits.index(False) if False in self.fits else 0

    @property
    def time(self):
        """The n, from 0, for which the first wrong value should be the gradient of the n-th X."""
        return self.times[self.first_wrong]

    @property
    def is_recurrent(self):
        """Whether every time step is wrong except the last one, at which the backward begins."""
        back = len(self.times) > 1 and self.times[0] > self.times[-1]
        return back and self.fits[0] and not any(self.fits[1:])

    @property
    def is_proven(self):
        """Whether a known change of the code makes all gradients in `follows` correct."""
        return any(one is not None for one in (self.edit, self.copied, self.recomputed))


def kinds_of(finding, derivatives, flags, variables, numeric, calls=MappingProxyType({})):
    """Return the likely Kinds of mistake of a Finding, the most likely first.

    derivatives: the numerical gradients of the forward's values
    flags: boolean arrays that may be masks
    variables, numeric: {name: array} of parameters and inputs, and of their numerical gradients
    calls: {(file, line) of this package: the Place in user code that called it}
    """
    if finding.copied is not None:
        return [Kind("buffer", f"{finding.name} is changed in place after it went into the cache")]
    if finding.recomputed is not None:
        return [Kind("wrong variable", f"{finding.name} is not what the forward has in line "
                     f"{finding.recomputed.line}, `{finding.recomputed.text}`",
                     line=finding.recomputed.line)]
    kinds = []
    shapes = [np.shape(array) for array in variables.values()]
    if finding.edit is not None:
        edit = finding.edit
        kinds.append(edit_kind(edit))
    if finding.found is None:
        return kinds
    if finding.number is None:
        name = finding.follows[0]
        uses = Contributions(derivatives, array=variables[name])
        return kinds + gradient_kinds(finding.found, numeric[name], (), uses, {}, flags,
                                      calls, shapes)
    if finding.is_recurrent:
        kinds.append(Kind("recurrent path", "right at the step that the backward begins with and "
                          "wrong at every other: what flows from one step to the one before it is "
                          "missing, or not whole"))
    uses = Contributions(derivatives, finding.number, finding.time)
    return kinds + gradient_kinds(finding.found, finding.right, finding.earlier, uses,
                                  at_the_same_time(derivatives, finding), flags, calls, shapes)


def edit_kind(edit):
    """Return the Kind of mistake that an Edit corrects."""
    if edit.behind is None:
        return Kind(edit.kind, f"`{edit.old}`", f"right with `{edit.new}`")
    return Kind(edit.kind, f"of {written(target_of(edit.behind))}, after this line",
                f"right with `{written(edit.behind)}` after it")


def gradient_kinds(found, right, earlier, uses, values, flags, calls, shapes):
    """Return the likely Kinds of mistake of a wrong gradient.

    found, right: the wrong array and the correct array
    earlier: previous contents of the wrong array, the latest first
    uses: the Contributions of X, where the array should be the gradient of X
    values, shapes: {name: array} of the forward, and the shapes of parameters and inputs
    flags, calls: as in `kinds_of`
    """
    kinds = array_kinds(found, right, flags, [*shapes, *map(np.shape, values.values())])
    if kinds and kinds[0].name in ("shape", "unwritten"):
        return kinds
    used, later = [], []
    for one, after in zip((found, *earlier), (None, found, *earlier)):
        later += [] if after is None else [after - one]
        used = used or contribution_kinds(uses, one, later, calls)
    return used + ([] if used else local_derivative(found, right, values)) + kinds


def at_the_same_time(derivatives, finding):
    """Return {name: array} of the forward values from the time step of the first wrong value."""
    times = len(derivatives.times(finding.number))
    found = {}
    for number, made in derivatives.values.items():
        place = derivatives.places[number]
        if place.name and place.kind != "use" and len(made) == times:
            if made[finding.time] is not None:
                found[place.name] = made[finding.time]
    return found
