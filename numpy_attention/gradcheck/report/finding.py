"""What a search finds: a statement, what it should have made, and what kind of mistake it is."""

from dataclasses import dataclass, field

import numpy as np

from numpy_attention.gradcheck.edits.editing import Edit
from numpy_attention.gradcheck.edits.variants import target_of, written
from numpy_attention.gradcheck.locate.contributions import Contributions, contribution_kinds
from numpy_attention.gradcheck.locate.localize import Group
from numpy_attention.gradcheck.locate.rewriting import Place
from numpy_attention.gradcheck.report.kinds import Kind, array_kinds, local_derivative


@dataclass
class Finding:
    """A line that goes wrong where what it reads is right.

    place: the statement; others: those that have a part in the same value. of: the Place in the
    forward whose gradient it makes; None: a parameter's, by the name of which it goes. found,
    right: an execution that is wrong, and what it should be. fits: which executions are right.
    follows: what becomes right with it. edit: of the statement, that makes it so. compared: the
    statement of what is made of it and was compared, where the forward has no X for it alone.
    copied: the place in the forward that makes it so where it gives a copy. recomputed: the place
    in the forward whose value makes it so. is_forward: the statement is of the forward.
    arithmetic: how the element of `found` that is furthest off was made, in words, or "".
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
        """What the execution had before, the last first; who made it may have added to it."""
        return () if self.group is None else self.group.values[self.first_wrong].values[-2::-1]

    @property
    def first_wrong(self):
        return self.fits.index(False) if False in self.fits else 0

    @property
    def time(self):
        """Which of the times that X is made in the forward it is."""
        return self.times[self.first_wrong]

    @property
    def is_recurrent(self):
        """Whether the step that the backward begins with, the last, is right, and no other."""
        back = len(self.times) > 1 and self.times[0] > self.times[-1]
        return back and self.fits[0] and not any(self.fits[1:])

    @property
    def is_proven(self):
        """Whether all that is said to follow from it was right with one thing changed."""
        return any(one is not None for one in (self.edit, self.copied, self.recomputed))


def kinds_of(finding, derivatives, flags, variables, numeric):
    """The Kinds of mistake that a Finding looks like, likeliest first.

    flags: masks that it may follow; variables, numeric: {name: array}, {name: ∂L/∂array}.
    """
    if finding.copied is not None:
        return [Kind("buffer", f"{finding.name} is changed in place after it went into the cache")]
    if finding.recomputed is not None:
        return [Kind("wrong variable", f"{finding.name} is not what the forward has in line "
                     f"{finding.recomputed.line}, `{finding.recomputed.text}`",
                     line=finding.recomputed.line)]
    kinds = []
    if finding.edit is not None:
        edit = finding.edit
        kinds.append(edit_kind(edit))
    if finding.found is None:
        return kinds
    if finding.number is None:
        name = finding.follows[0]
        uses = Contributions(derivatives, array=variables[name])
        return kinds + gradient_kinds(finding.found, numeric[name], (), uses, {}, flags)
    if finding.is_recurrent:
        kinds.append(Kind("recurrent path", "right at the step that the backward begins with and "
                          "wrong at every other: what flows from one step to the one before it is "
                          "missing, or not whole"))
    uses = Contributions(derivatives, finding.number, finding.time)
    return kinds + gradient_kinds(finding.found, finding.right, finding.earlier, uses,
                                  at_the_same_time(derivatives, finding), flags)


def edit_kind(edit):
    """The Kind of mistake that an Edit takes back."""
    if edit.behind is None:
        return Kind(edit.kind, f"`{edit.old}`", f"right with `{edit.new}`")
    return Kind(edit.kind, f"of {written(target_of(edit.behind))}, after this line",
                f"right with `{written(edit.behind)}` after it")


def gradient_kinds(found, right, earlier, uses, values, flags):
    """Kinds of a wrong gradient; earlier: what it was before, the last first."""
    kinds = array_kinds(found, right, flags)
    if kinds and kinds[0].name in ("shape", "unwritten"):
        return kinds
    used, later = [], []
    for one, after in zip((found, *earlier), (None, found, *earlier)):
        later += [] if after is None else [after - one]
        used = used or contribution_kinds(uses, one, later)
    return used + ([] if used else local_derivative(found, right, values)) + kinds


def at_the_same_time(derivatives, finding):
    """{name: what the forward gave it when it made the X of a Finding}."""
    times = len(derivatives.times(finding.number))
    found = {}
    for number, made in derivatives.values.items():
        place = derivatives.places[number]
        if place.name and place.kind != "use" and len(made) == times:
            if made[finding.time] is not None:
                found[place.name] = made[finding.time]
    return found
