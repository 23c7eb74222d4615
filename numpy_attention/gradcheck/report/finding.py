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
    """The statement that is blamed for a failed check, with its wrong value if it is known.

    If `of` is not None, it computes a value X, and the wrong value should be ∂L/∂X. times[j] is the
    number (from 0) of the run of `of` whose X belongs to value j of `group`.
    """

    place: Place                                # the statement
    name: str                                   # of the value that it computes, such as "dx"
    others: list[Place] = field(default_factory=list)   # other statements that change the value
    of: Place | None = None                     # statement of `forward` that computes X
    number: int | None = None                   # index of `of` in the list of forward Places
    found: np.ndarray | None = None             # the first wrong value
    right: np.ndarray | None = None             # the correct value, if it is known
    fits: list[bool] = field(default_factory=list)      # for each value of `group`: is it correct?
    times: list[int] = field(default_factory=list)      # for each value of `group`: n of its X
    follows: list[str] = field(default_factory=list)    # wrong gradients that it explains
    group: Group | None = None                  # all values that the statement computes
    instead: dict = field(default_factory=dict)     # {(place, n): array}, see `Kept`
    edit: Edit | None = None                    # edit of the statement that corrects `follows`
    compared: Place | None = None               # later statement, compared because X is unknown
    copied: Place | None = None                 # forward Place whose value must be copied
    recomputed: Place | None = None             # forward Place whose value `backward` should use
    is_forward: bool = False                    # whether the statement is in `forward`
    arithmetic: str = ""                        # calculation of one wrong element

    @property
    def earlier(self):
        """Earlier contents of the first wrong value, such as incomplete sums, the latest first."""
        return () if self.group is None else self.group.values[self.first_wrong].values[-2::-1]

    @property
    def first_wrong(self):
        return self.fits.index(False) if False in self.fits else 0

    @property
    def time(self):
        """How often the place `of` runs before it computes the X of the first wrong value."""
        return self.times[self.first_wrong]

    @property
    def is_recurrent(self):
        """Whether the gradient is wrong at every step but the last, where `backward` begins."""
        back = len(self.times) > 1 and self.times[0] > self.times[-1]
        return back and self.fits[0] and not any(self.fits[1:])

    @property
    def is_proven(self):
        """Whether a known change of the code makes all gradients in `follows` correct."""
        return any(one is not None for one in (self.edit, self.copied, self.recomputed))


def kinds_of(finding, derivatives, flags, variables, numeric, calls=MappingProxyType({})):
    """Return the Kinds of mistake that may explain a Finding, the most likely first.

    derivatives: the Derivatives of the loss. flags: boolean arrays that may be masks. variables:
    {name: array} of parameters and inputs. numeric: their gradients. calls: as in Report.
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
        kinds.append(Kind("recurrent path", "right at the step where the backward begins and wrong "
                          "at every other: the gradient that a step passes to the step before it "
                          "is missing or incomplete"))
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
    """Return the Kinds of mistake that may explain a wrong gradient.

    found, right: the wrong array and the correct array
    earlier: previous contents of the wrong array, the latest first
    uses: the Contributions of X, where ∂L/∂X is the correct array
    values: {name: array} of values that `forward` computes
    shapes: the shapes of parameters and inputs
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
    """Return {name: array}, the values of `forward` at the time step of the first wrong value."""
    times = len(derivatives.times(finding.number))
    found = {}
    for number, made in derivatives.values.items():
        place = derivatives.places[number]
        if place.name and place.kind != "use" and len(made) == times:
            if made[finding.time] is not None:
                found[place.name] = made[finding.time]
    return found
