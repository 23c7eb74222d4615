"""Search for the first wrong line by editing statements and by replacing their values."""

from dataclasses import replace

import numpy as np

from numpy_attention.gradcheck.edits.forward import ForwardRepairs
from numpy_attention.gradcheck.edits.repairs import Copying, Repairs, editable, quiet
from numpy_attention.gradcheck.laws import FORWARD_LAWS, judged
from numpy_attention.gradcheck.laws.softmax import unbalanced
from numpy_attention.gradcheck.locate.backwards import BackwardRewriter, Kept
from numpy_attention.gradcheck.locate.contributions import Contributions
from numpy_attention.gradcheck.locate.derivatives import Derivatives
from numpy_attention.gradcheck.locate.hypotheses import Hypotheses
from numpy_attention.gradcheck.locate.localize import Comparison
from numpy_attention.gradcheck.locate.parameters import parameter_finding
from numpy_attention.gradcheck.locate.rewriting import Instrumented, called_functions
from numpy_attention.gradcheck.passes import Broken
from numpy_attention.gradcheck.report.finding import Finding

MOST_FINDINGS = 3
MOST_ELEMENTS = 300      # largest size of a value whose derivative is computed for the report


class Search:
    """The search for the wrong lines of a failed check.

    wrong(gradients): returns the names of the wrong gradients
    wrong_elements(name, array): returns booleans, True where `array` is wrong as gradient `name`
    unbalanced: findings() sets it to [Broken] if a gradient of scores does not sum to 0
    """

    def __init__(self, check, wrong, wrong_elements):
        self.check = check
        self.wrong = wrong
        self.wrong_elements = wrong_elements
        forward, _ = called_functions(check.loss)
        self.forward = editable(forward)
        self.laws = [law for law in FORWARD_LAWS if judged(law, check)]
        functions, _ = called_functions(lambda: self.gradients())
        self.derivatives = Derivatives(check.loss, forward)
        self.rewritten = Instrumented(functions, BackwardRewriter)
        self.repairs = Repairs(editable([one for one in functions if one not in forward]), forward,
                               lambda: check.gradients()[0], wrong, check.variables)
        self.unbalanced: list[Broken] = []
        self.hypotheses = Hypotheses(self.derivatives, lambda instead: self.kept(instead)[0], wrong)

    def gradients(self):
        """Return {name: gradient}, or {} if `backward` raises an exception."""
        try:
            with quiet():
                return self.check.gradients()[0]
        except Exception:               # user code may raise anything
            return {}

    def kept(self, instead):
        """Run `backward` with replaced values (see Kept); return its gradients and Values."""
        kept = Kept(self.rewritten.places, instead)
        with self.rewritten.reporting_to(kept):
            gradients = self.gradients()
        return gradients, kept.end()

    def compared(self):
        """Run `backward`; return {name: gradient} and the Comparison of the recorded Values."""
        gradients, values = self.kept(self.hypotheses.instead)
        return gradients, Comparison(self.derivatives, values, self.check.grads_names)

    def findings(self):
        """Return a list of up to 3 Findings that explain the wrong gradients."""
        found = []
        acquitted = set()
        while len(found) < MOST_FINDINGS:
            gradients, compared = self.compared()
            wrong = self.wrong(gradients)
            if not wrong:
                break
            if not found:
                self.unbalanced = unbalanced(self.derivatives, compared)
            one = self.proven(compared, wrong) if not found else None
            if one is None and gradients:
                one = self.hypotheses.recomputed(compared, wrong)
            if one is None and gradients:       # no gradients are known if `backward` raises
                one = self.first(compared, wrong, acquitted)
            if one is None:
                break
            if not one.is_proven:
                one = self.with_edit(one)
            found.append(one)
            if one.follows == wrong:
                break
            acquitted.add(one.place)
            acquitted.update(one.others)
        return found

    def proven(self, compared, wrong):
        """Return a Finding with a known change that makes all gradients correct, or None."""
        meant = ForwardEditSearch(self.check, self.forward, wrong, self.laws)
        found = self.overwritten(wrong) or meant.first("buffer", "dtype")
        if found is None and self.laws:
            found = meant.first()
        return found or self.repaired(compared, wrong) or meant.first()

    def repaired(self, compared, wrong):
        """Return the Finding of an edit of `backward` that makes all gradients correct, or None."""
        innocent = compared.innocent_lines()
        reach = self.repairs.reach()
        for group in compared.in_order():
            places = [place for place in group.places
                      if reach.get((place.file, place.line), set()) <= set(wrong)]
            edit = self.repairs.first(self.repairs.within(places), wrong)
            if edit is not None:
                return self.edit_finding(edit, wrong, compared, group)
        edit = self.repairs.first(self.repairs.elsewhere(innocent, wrong, reach), wrong)
        return edit and self.edit_finding(edit, wrong)

    def edit_finding(self, edit, wrong, compared=None, group=None):
        """Return the Finding of an Edit, with a wrong and a correct value of `group` if known."""
        if group is None or group.state != "wrong" or group.number is None or group.renamed:
            return Finding(edit.place, "", follows=list(wrong), edit=edit)
        number, j = group.number, group.first_wrong
        times = compared.times(group)
        found = group.values[j].values[-1]
        if times is None or self.derivatives.times(number)[times[j]] != np.shape(found) or (
                np.size(found) > MOST_ELEMENTS):
            return Finding(edit.place, "", follows=list(wrong), edit=edit)
        return Finding(edit.place, group.values[0].name, [], self.derivatives.places[number],
                       number, found, self.derivatives.whole(number, times[j]), group.fits, times,
                       list(wrong), group, edit=edit)

    def with_edit(self, finding):
        """Try to add to a Finding an Edit that corrects all its gradients; return the Finding."""
        for places in ([finding.place], finding.others):
            edit = self.repairs.first(self.repairs.within(places), finding.follows)
            if edit is not None:
                others = [one for one in [finding.place, *finding.others]
                          if one.line != edit.place.line]
                return replace(finding, place=edit.place, others=others, edit=edit)
        return finding

    def overwritten(self, wrong):
        """Return the Finding of a forward value that is changed in place too early, or None."""
        places = self.derivatives.places
        for number, place in enumerate(places):
            if place.kind not in ("assign", "argument"):
                continue
            with self.derivatives.rewritten.reporting_to(Copying(number)):
                gradients = self.gradients()
            if gradients and not self.wrong(gradients):
                changes = [one for one in places if one.kind == "update"
                           and (one.function, one.name) == (place.function, place.name)]
                return Finding((changes or [place])[0], place.name, follows=list(wrong),
                               copied=place)
        return None

    def first(self, compared, wrong, acquitted):
        """Return the Finding that corrects the largest number of wrong gradients, or None.

        acquitted: statements and parameters to skip. A blamed parameter is added to it.
        """
        best = None
        for group in compared.in_order():
            if self.derivatives.is_late():
                break
            if compared.accused(group) in acquitted:
                continue
            for one in (self.hypotheses.tried(group, compared, wrong),
                        self.hypotheses.behind(group, compared, wrong)):
                if one is not None and (best is None or len(one.follows) > len(best.follows)):
                    best = one
            if best is not None and len(best.follows) == len(wrong):
                break
        if best is not None:
            self.hypotheses.instead = best.instead      # for the rest of the search
            return self.hypotheses.narrowed(best)
        for name in wrong:
            one = None if name in acquitted else self.parameter_finding(name, compared)
            if one is not None:
                acquitted.add(name)
                return one
        return None

    def parameter_finding(self, name, compared):
        """Return the Finding for the wrong gradient of the parameter `name`, or None."""
        events = [event for value in compared.parameter_gradients.get(name, ())
                  for event in zip(value.places, value.values)]
        if events:
            return parameter_finding(name, events, self.wrong,
                                     lambda array: self.wrong_elements(name, array))
        # `backward` computes nothing for this gradient
        array = self.check.variables[name]
        uses, _, _ = Contributions(self.derivatives, array=array).parts()
        if not uses or np.any(self.gradients().get(name, 1)):
            return None
        place = self.derivatives.places[uses[0][0]]
        return Finding(place, f"the gradient of {name}", follows=[name], found=np.zeros_like(array))


class ForwardEditSearch:
    """The search for an edit of `forward` that makes `backward` correct.

    wrong: names of wrong gradients. laws: laws that should hold. accused: the Place to edit first.
    """

    def __init__(self, check, functions, wrong=(), laws=(), accused=None):
        self.repairs = ForwardRepairs(check, functions, laws, accused)
        self.wrong = wrong

    def first(self, *kinds):
        """Return the Finding of the first edit that makes all gradients correct, or None.

        kinds: the kinds of edits to try. The default is all kinds.
        """
        # if no gradient is wrong, an edit can only repair laws
        edit = self.repairs.best(kinds or self.repairs.kinds, not self.wrong)
        return edit and Finding(edit.place, "", follows=list(self.wrong), edit=edit,
                                is_forward=True)


def find_broken_law(check, laws, place):
    """Return the Finding of an edit after which gradients are correct and `laws` hold, or None.

    place: the Place that breaks a law. If given, only edits of masks and time steps are tried.
    """
    kinds = ("mask forward", "wrong step") if place else ()
    with quiet():
        functions = editable(called_functions(check.loss)[0])
        return ForwardEditSearch(check, functions, laws=laws, accused=place).first(*kinds)


def find_stop(check):
    """Find an edit of `forward` that prevents an exception, NaN or ∞; return a Finding or None."""
    def run():
        try:
            check.forward(*check.inputs)
        except Exception:               # it raises
            pass

    with quiet():
        return ForwardEditSearch(check, editable(called_functions(run)[0])).first()
