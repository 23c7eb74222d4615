"""Find which values make gradients wrong, by replacing wrong values with correct ones."""

from dataclasses import replace

import numpy as np

from numpy_attention.gradcheck.locate.contributions import Contributions
from numpy_attention.gradcheck.locate.localize import nested, rows
from numpy_attention.gradcheck.report.finding import Finding
from numpy_attention.gradcheck.report.kinds import array_kinds

MOST_RUNS = 6000        # largest number of forward runs to compute one group's correct values
MOST_TRIED = 8          # largest number of forward places that are tried as the X of a group


class Hypotheses:
    """Tests which gradients become correct if a statement computes correct values.

    run(instead): runs `backward` with replaced values, and returns {name: gradient}
    wrong(gradients): returns the names of the wrong gradients
    instead: maps (Place, n) to an array, which replaces the n-th value that the Place computes
    """

    def __init__(self, derivatives, run, wrong):
        self.derivatives = derivatives
        self.run = run
        self.wrong = wrong
        self.instead = {}

    def tried(self, group, compared, wrong):
        """Return a Finding if correct values for `group` repair a gradient in `wrong`, or None."""
        if id(group) not in compared.tried:
            compared.tried[id(group)] = self._tried(group, compared, wrong)
        return compared.tried[id(group)]

    def _tried(self, group, compared, wrong):
        best = None
        for number, times in self.meanings(group, compared):
            right = self.right_values(group, number, times)
            if right is None:
                continue
            instead = self.instead | {
                (value.places[-1], self.turn(group, j)): right[j]
                for j, value in enumerate(group.values)}
            gradients = self.run(instead)
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
        """Yield guesses (number, times) of the forward values whose gradients a group holds.

        The guess is that group.values[j] is the gradient of value times[j] of places[number].
        """
        m = len(group.values)
        for number in self.meant(group, compared):
            count = len(self.derivatives.times(number))
            if number == group.number and any(group.fits):
                yield number, group.times
            elif count >= m:
                back, on = list(range(count - 1, count - m - 1, -1)), list(range(count - m, count))
                yield from ((number, times) for times in ([back, on] if m > 1 else [back]))
                if not np.ndim(group.values[0].values[-1]):
                    yield from ((number, times) for times in nested(count, m))

    def behind(self, group, compared, wrong):
        """Return a Finding that blames `group` for wrong values computed from it, or None."""
        if group.state == "part":
            return None
        for one in compared.wrong_consumers(group):
            if one.state != "wrong" or one is group:
                continue
            found = self.tried(one, compared, wrong)
            if found is not None:
                place = compared.accused(group)
                others = [other for other in group.places if other != place]
                return replace(found, place=place, others=others, name=group.values[0].name,
                               compared=one.begins)
        return None

    def turn(self, group, j):
        """Return n such that the last change of group.values[j] is execution n of its statement."""
        last = group.values[j].places[-1]
        before = sum(value.places.count(last) for value in group.values[:j])
        return before + group.values[j].places.count(last) - 1

    def meant(self, group, compared):
        """Return numbers of forward places whose gradients `group` may hold, most likely first."""
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
        """Return those of `others` whose places have the shapes of `group`, nearest lines first."""
        places = self.derivatives.places
        lines = [places[one.number].line for one in compared.source_groups(group)
                 if one.number is not None]
        line = min(lines, default=0)

        def distance(number):
            back = line - places[number].line
            return back if back >= 0 else 1000 - back
        shapes = [np.shape(value.values[-1]) for value in group.values[::-1]]
        fitting = [number for number in others
                   if self.derivatives.times(number)[-len(shapes):] == shapes]
        return sorted(fitting, key=distance)

    def right_values(self, group, number, times):
        """Return the correct gradients of places[number] in the executions `times`, or None."""
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

    def narrowed(self, finding):
        """Return the Finding, but blame the first statement that makes the gradient wrong."""
        if not finding.others:
            return finding
        value = finding.group.values[finding.first_wrong]
        scaled = [place for place in value.places if place.is_scaling]
        if scaled:
            kinds = [kind.name for kind in array_kinds(finding.found, finding.right)]
            if kinds in (["factor"], ["sign"], ["scale in time"]):
                return at(finding, scaled[-1])
            return at(finding, value.places[0])
        uses = Contributions(self.derivatives, finding.number, finding.time)
        before = None
        for place, now in zip(value.places, value.values):
            added = now if before is None or np.shape(before) != np.shape(now) else now - before
            before = now
            if not np.any(added):
                continue
            # a correct statement adds the gradient through some uses of the value
            known = uses.coefficients(added)
            if known is None or not np.isin(np.round(known[1], 3), (0, 1)).all():
                return at(finding, place)
        return finding

    def recomputed(self, compared, wrong):
        """Return a Finding if `backward` recomputes a forward value incorrectly, or None."""
        for values in compared.recomputed_values:
            place = values[0].place
            for number, one in enumerate(self.derivatives.places):
                if (one.file, one.name, one.kind) != (place.file, place.name, "assign"):
                    continue
                made = self.derivatives.values.get(number, [])
                if any(array is None for array in made):
                    continue
                found = self.with_those(values, made, wrong)
                if found is not None:
                    return replace(found, recomputed=one)
        return None

    def with_those(self, values, made, wrong):
        """Return a Finding if replacing `values` with `made` makes all gradients correct, or None.

        values: the Values that `backward` recomputes. made: the arrays that `forward` computes.
        """
        ways = [[made[n] for n in times] for times in rows(len(made), len(values))]
        again = [one.values[-1] for one in values]
        if any(all(map(same, again, way)) for way in ways):
            return None
        for way in ways[:MOST_TRIED]:
            if [np.shape(one) for one in way] != [np.shape(one) for one in again]:
                continue
            instead = self.instead | {(one.places[-1], j): right
                                      for j, (one, right) in enumerate(zip(values, way))}
            if not self.wrong(self.run(instead)):
                j = next(j for j, one in enumerate(again) if not same(one, way[j]))
                return Finding(values[0].place, values[0].name, found=again[j], right=way[j],
                               follows=list(wrong), instead=instead)
        return None


def at(finding, place):
    """Return a copy of a Finding that blames the statement `place`."""
    return replace(finding, place=place,
                   others=[one for one in finding.group.places if one != place])


def same(one, other):
    return np.shape(one) == np.shape(other) and np.allclose(one, other, rtol=1e-12, atol=0)
