"""The search for the first wrong line: accused, tried with the right value in its place, found."""

import time
from dataclasses import dataclass, field, replace

import numpy as np

from numpy_attention.gradcheck.backwards import Backward, Kept
from numpy_attention.gradcheck.edits import Edit
from numpy_attention.gradcheck.explain import Kind, Uses, kinds_of
from numpy_attention.gradcheck.lines import Comparison, Derivatives, Group
from numpy_attention.gradcheck.repairs import Copying, Repairs, quiet
from numpy_attention.gradcheck.rewriting import Place, Rewritten, called

SECONDS_OF_EDITS = 2.5
MOST_RUNS = 6000        # of the forward, for the gradients of one accused name
MOST_FINDINGS = 3
MOST_TRIED = 8


@dataclass
class Finding:
    """A line that goes wrong where what it reads is right.

    place: the statement; others: those that have a part in the same value. of: the Place in the
    forward whose gradient it makes; None: a parameter's, by the name of which it goes. found,
    right: an execution that is wrong, and what it should be. fits: which executions are right.
    follows: what becomes right with it. edit: of the statement, that makes it so.
    copied: the place in the forward that makes it so where it gives a copy.
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
    copied: Place | None = None

    @property
    def earlier(self):
        """What the execution had before, the last first; who made it may have added to it."""
        return () if self.group is None else self.group.values[self.first_wrong].values[-2::-1]

    @property
    def first_wrong(self):
        return self.fits.index(False) if False in self.fits else 0


class Search:
    """A check that failed, run again and again: `check` has loss() and gradients().

    wrong(gradients) → the names of those that are wrong; wrong_elements(name, array) → where it is.
    """

    def __init__(self, check, wrong, wrong_elements):
        self.check = check
        self.wrong = wrong
        self.wrong_elements = wrong_elements
        forward, _ = called(check.loss)
        functions, _ = called(lambda: self.gradients())
        self.derivatives = Derivatives(check.loss, forward)
        self.rewritten = Rewritten(functions, Backward)
        self.repairs = Repairs([one for one in functions if one not in forward], forward,
                               lambda: check.gradients()[0], wrong, check.variables)
        self.instead = {}

    def gradients(self):
        """{name: gradient}; {}: the backward stops."""
        try:
            with quiet():
                return self.check.gradients()[0]
        except Exception:               # of whatever kind, in a learner's code
            return {}

    def run(self, instead, compare=True):
        """→ the gradients, each value of the backward compared."""
        kept = Kept(self.rewritten.places, instead)
        with self.rewritten.told(kept):
            gradients = self.gradients()
        if not compare:
            return gradients, None
        return gradients, Comparison(self.derivatives, kept.end(), self.check.twins)

    def findings(self):
        found = []
        acquitted = set()
        while len(found) < MOST_FINDINGS:
            gradients, compared = self.run(self.instead)
            wrong = self.wrong(gradients)
            if not wrong:
                break
            one = (self.repaired(compared, wrong) if not found else None) or self.first(
                compared, wrong, acquitted)
            if one is None:
                break
            if one.edit is None and one.copied is None:
                one = self.with_edit(one)
            found.append(one)
            if one.follows == wrong:
                break
            acquitted.add(one.place)
            acquitted.update(one.others)
        return found

    def repaired(self, compared, wrong):
        """The Finding of a statement with an edit of which every gradient is right.

        Those that are accused are tried first, then all that can have to do with what is wrong.
        """
        until = time.thread_time() + SECONDS_OF_EDITS
        innocent = {(place.file, place.line) for group in compared.groups
                    if compared.is_innocent(group) for place in group.places}
        for group in compared.in_order():
            edit = self.repairs.first(self.repairs.within(group.places), wrong, until)
            if edit is not None:
                return self.of_edit(edit, wrong, group)
        edit = self.repairs.first(self.repairs.elsewhere(innocent, wrong), wrong, until)
        if edit is not None:
            return self.of_edit(edit, wrong)
        return self.overwritten(wrong)

    def of_edit(self, edit, wrong, group=None):
        name = group.values[0].name if group else edit.place.function
        return Finding(edit.place, name, follows=list(wrong), edit=edit)

    def with_edit(self, finding):
        """The Finding, with the edit of one of its statements that makes its gradients right."""
        for places in ([finding.place], finding.others):
            edit = self.repairs.first(self.repairs.within(places), finding.follows,
                                      self.derivatives.until)
            if edit is not None:
                others = [one for one in [finding.place, *finding.others]
                          if one.line != edit.place.line]
                return replace(finding, place=edit.place, others=others, edit=edit)
        return finding

    def overwritten(self, wrong):
        """The Finding of a value of the forward without which, but a copy of it, all is right."""
        places = self.derivatives.places
        for number, place in enumerate(places):
            if place.kind not in ("assign", "argument"):
                continue
            with self.derivatives.rewritten.told(Copying(number)):
                gradients = self.gradients()
            if gradients and not self.wrong(gradients):
                changes = [one for one in places if one.kind == "update"
                           and (one.function, one.name) == (place.function, place.name)]
                return Finding((changes or [place])[0], place.name, follows=list(wrong),
                               copied=place)
        return None

    def first(self, compared, wrong, acquitted):
        """The first Finding; the right value stands in its place from then on."""
        best = None
        for group in compared.in_order():
            if self.derivatives.is_late():
                break
            if compared.accused(group) in acquitted:
                continue
            for one in (self.tried(group, compared, wrong), self.behind(group, compared, wrong)):
                if one is not None and (best is None or len(one.follows) > len(best.follows)):
                    best = one
            if best is not None and len(best.follows) == len(wrong):
                break
        if best is not None:
            self.instead = best.instead
            return self.narrowed(best)
        for name in wrong:
            events = [event for value in compared.of_parameters.get(name, ())
                      for event in zip(value.places, value.values)]
            if events and name not in acquitted:
                acquitted.add(name)
                return self.of_parameter(name, events)
        for name in wrong:
            use = self.derivatives.use_of(self.check.variables[name])
            if use is not None and not np.any(self.check.gradients()[0].get(name, 1)):
                return Finding(use, f"the gradient of {name}", follows=[name],
                               found=np.zeros_like(self.check.variables[name]))
        return None

    def narrowed(self, finding):
        """The Finding, of the statements that make its value by turns the one that is wrong.

        What each adds should be what comes back through some of the uses of X.
        """
        if not finding.others:
            return finding
        value = finding.group.values[finding.first_wrong]
        uses = Uses(self.derivatives, finding.number, self.time_of(finding))
        before = None
        for place, now in zip(value.places, value.values):
            added = now if before is None or np.shape(before) != np.shape(now) else now - before
            before = now
            if not np.any(added):
                continue
            known = uses.coefficients(added)
            if known is None or not np.isin(np.round(known[1], 3), (0, 1)).all():
                others = [one for one in finding.group.places if one != place]
                return replace(finding, place=place, others=others)
        return finding

    def time_of(self, finding):
        """Which of the times that X is made in the forward it is."""
        return finding.times[finding.first_wrong]

    def of_parameter(self, name, events):
        """The Finding of a parameter whose gradient is added to where all else is right.

        events: (statement, what the gradient was after it). Where it has been right once, the
        statement after that is to blame.
        """
        was_right = [i for i, (_, value) in enumerate(events)
                     if name not in self.wrong({name: value})]
        places = list(dict.fromkeys(place for place, _ in events))
        if was_right and was_right[-1] + 1 < len(events):
            place = events[was_right[-1] + 1][0]
        else:
            place = max(places, key=lambda one: self.share(name, events, one))
        return Finding(place, f"the gradient of {name}", [one for one in places if one != place],
                       found=events[-1][1], follows=[name])

    def share(self, name, events, place):
        """How well the elements that a statement changes are those that are wrong."""
        changed = np.zeros(np.shape(events[-1][1]), bool)
        before = np.zeros(changed.shape)
        for one, value in events:
            if np.shape(value) != changed.shape:
                return 0.0
            if one == place:
                changed |= value != before
            before = value
        wrong = self.wrong_elements(name, before)
        both = np.count_nonzero(changed & wrong)
        return both / max(1, np.count_nonzero(changed | wrong))

    def tried(self, group, compared, wrong):
        """A Finding, if the right value in place of this group's makes some gradient right."""
        best = None
        for number, times in self.meanings(group, compared):
            right = self.right_values(group, number, times)
            if right is None:
                continue
            instead = self.instead | {
                (value.places[-1], self.turn(group, j)): right[j]
                for j, value in enumerate(group.values)}
            gradients, _ = self.run(instead, compare=False)
            still = self.wrong(gradients)
            better = [name for name in wrong if name not in still]
            if not better or any(name not in wrong for name in still):
                continue
            if best is not None and len(better) <= len(best.follows):
                continue
            fits = [any(self.derivatives.fits(one, number, n) for one in value.values)
                    for n, value in zip(times, group.values)]
            j = fits.index(False) if False in fits else 0
            place = compared.accused(group)
            others = [one for one in group.places if one != place]
            best = Finding(place, group.values[0].name, others,
                           self.derivatives.places[number], number, group.values[j].values[-1],
                           right[j], fits, times, better, group, instead)
            if len(better) == len(wrong):
                break
        return best

    def meanings(self, group, compared):
        """→ (place, the times) that its values may be meant to be the gradients of."""
        m = len(group.values)
        for number in self.meant(group, compared):
            count = len(self.derivatives.times(number))
            if number == group.number and any(group.fits):
                yield number, group.times
            elif count >= m:
                back, on = list(range(count - 1, count - m - 1, -1)), list(range(count - m, count))
                yield from ((number, times) for times in ([back, on] if m > 1 else [back]))

    def behind(self, group, compared, wrong):
        """A Finding, if what is made of this group's is to blame and the forward has its X."""
        if group.state == "part":
            return None
        for one in compared.made_with(group):
            if one.state != "wrong" or one is group:
                continue
            found = self.tried(one, compared, wrong)
            if found is not None:
                place = compared.accused(group)
                others = [other for other in group.places if other != place]
                return replace(found, place=place, others=others, name=group.values[0].name)
        return None

    def turn(self, group, j):
        """How often the last statement of the j-th value had been executed before."""
        last = group.values[j].places[-1]
        before = sum(value.places.count(last) for value in group.values[:j])
        return before + group.values[j].places.count(last) - 1

    def meant(self, group, compared):
        """The places whose gradient it may be meant to be, likeliest first."""
        places = self.derivatives.places
        own, others = compared.candidates(group)
        if group.renamed:
            own, others = [], [*own, *others]
        if group.state == "wrong" and not group.renamed:
            uses = [number for number in others if places[number].kind == "use"
                    and places[number].name.rpartition(".")[2] == group.name]
            found = [*own, group.number, *uses]
        else:
            found = [*own] if group.number is None else [*own, group.number]
        if group.state == "part":
            part = places[group.number]
            found = found + [number for number, one in enumerate(places)
                             if one.kind not in ("use", "expression") and one.file == part.file
                             and one.name.rpartition(".")[2] == part.name.rpartition(".")[2] != ""]
        if not own:
            found = found + self.near(group, compared, others)
        return list(dict.fromkeys(found))[:MOST_TRIED]

    def near(self, group, compared, others):
        """Values of the same shape, nearest before that of which the group's gradient is made."""
        places = self.derivatives.places
        lines = [places[one.number].line for one in compared.made_of(group)
                 if one.number is not None]
        line = min(lines, default=0)

        def distance(number):
            back = line - places[number].line
            return back if back >= 0 else 1000 - back
        shapes = [np.shape(value.values[-1]) for value in group.values[::-1]]
        fitting = [number for number in others
                   if self.derivatives.times(number)[-len(shapes):] == shapes]
        return sorted(fitting, key=distance)

    def kinds(self, finding, report, variables):
        """What kind of mistake a Finding looks like."""
        found = []
        if finding.edit is not None:
            edit = finding.edit
            found = [Kind(edit.kind, f"right with `{edit.new}` for `{edit.old}`")]
        if finding.copied is not None:
            return [Kind("buffer", f"right where {finding.name} is a copy: it is changed in place "
                         "after it was put into the cache")]
        if finding.number is not None:
            if finding.fits[0] and len(finding.fits) > 1 and not any(finding.fits[1:]):
                found.append(Kind("recurrent path", "right at the step that the backward begins with "
                                  "and wrong at every other: what flows from one step to the one "
                                  "before it is missing, or not whole"))
            return found + kinds_of(self.derivatives, finding.found, finding.right, finding.number,
                                    self.time_of(finding), earlier=finding.earlier,
                                    flags=self.check.flags)
        name = finding.follows[0]
        if finding.found is None:
            return found
        return found + kinds_of(self.derivatives, finding.found, report.numeric[name],
                                array=variables[name])

    def right_values(self, group, number, times):
        """∂L/∂X for each execution; None: too many, or it cannot be moved."""
        made = self.derivatives.times(number)
        shapes = [made[n] for n in times]
        if shapes != [np.shape(one.values[-1]) for one in group.values]:
            return None
        runs = 2 * sum(int(np.prod(shape)) for shape in shapes)
        if runs > MOST_RUNS or self.derivatives.is_late():
            return None
        if self.derivatives.directional(number, times[0]) is None:
            return None
        return [self.derivatives.whole(number, n) for n in times]
