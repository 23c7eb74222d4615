"""The report of a gradient check: which gradients are wrong, in which line, and how."""

from dataclasses import dataclass, field, replace

import numpy as np

from numpy_attention.gradcheck.differences import relative_errors
from numpy_attention.gradcheck.edits.repairs import quiet
from numpy_attention.gradcheck.errors import GradientError
from numpy_attention.gradcheck.kinks import lines_of_kinks
from numpy_attention.gradcheck.laws import FORWARD_LAWS, judged
from numpy_attention.gradcheck.locate.reruns import reruns
from numpy_attention.gradcheck.locate.rewriting import Place, is_of_package, users_class
from numpy_attention.gradcheck.locate.search import Search, find_broken_law, find_stop
from numpy_attention.gradcheck.locate.smallest import Smallest, smallest
from numpy_attention.gradcheck.locate.watching import calls_of_package
from numpy_attention.gradcheck.passes import Broken, describe_place, source_line
from numpy_attention.gradcheck.report.arithmetic import arithmetic, furthest
from numpy_attention.gradcheck.report.axis_letters import (
    lettered,
    letters_of_input,
    letters_of_line,
)
from numpy_attention.gradcheck.report.finding import Finding, kinds_of
from numpy_attention.gradcheck.report.kinds import INTRODUCTIONS, Kind, array_kinds
from numpy_attention.gradcheck.report.notebooks import file_label
from numpy_attention.validation.messages import plural

MOST_LINES = 14         # largest number of lines in a short report
MOST_KINDS = 2          # largest number of kinds of mistakes reported for each finding
WHOLE = 2               # number of findings reported with details if the report is too long
MOST_NAMES = 12         # largest number of names of gradients in one line
INPUTS_ARE_RIGHT = "its inputs are right"      # said of a line; the exercises search for this text
SIZE_KINDS = "factor", "sign"      # mistakes that wrong operands of a line may also cause


@dataclass
class Report:
    """The result of a gradient check: the gradients, their errors, and the mistakes found.

    title: the name of the check
    errors: {name: largest relative error of the gradient}
    tolerance: the largest error that is allowed
    noise: the rounding error of a central difference
    analytic: {name: gradient from `backward`}
    numeric: {name: gradient by central differences}
    findings: a Finding for each wrong line
    kinds: for each Finding, its likely Kinds of mistake, the most likely first
    declined: {function: why the function could not be traced}
    stops: the message of the exception that ended a pass, or ""
    laws: a Broken for each violated law. Central differences cannot test these rules
    reruns: lines of text about smaller checks that pass
    smallest: a Smallest, the wrong gradient for the smallest inputs that still fail, or None
    letters: {name: letters of the axes} of the wrong gradients, such as {"input[0]": ("B", "S")}
    kinks: {name: {index: Kink}} of elements at kinks, where gradients cannot be compared
    wrong_kinks: {name: {index: Kink}} of elements whose gradient is not between the slopes
    users_class: the name of the user's class, or ""
    calls: {(file, line) of this package: the Place in user code that called this line, or None}
    """

    title: str
    errors: dict = field(default_factory=dict)
    tolerance: float = 1e-6
    noise: float = 0.0
    analytic: dict = field(default_factory=dict)
    numeric: dict = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    kinds: list[list[Kind]] = field(default_factory=list)
    declined: dict[str, str] = field(default_factory=dict)
    stops: str = ""
    laws: list[Broken] = field(default_factory=list)
    reruns: list[str] = field(default_factory=list)
    smallest: Smallest | None = None
    letters: dict[str, tuple] = field(default_factory=dict)
    kinks: dict[str, dict] = field(default_factory=dict)
    wrong_kinks: dict[str, dict] = field(default_factory=dict)
    users_class: str = ""
    calls: dict[tuple, Place | None] = field(default_factory=dict)

    def add(self, name, analytic, numeric):
        """Compare and record two gradients: `analytic` (None if it is missing) and `numeric`."""
        self.analytic[name] = analytic
        self.numeric[name] = numeric
        self.errors[name] = np.inf
        if analytic is not None and np.shape(analytic) == numeric.shape:
            self.errors[name] = float(self.element_errors(name).max(initial=0.0))

    def element_errors(self, name):
        """Return the relative error of each element of a gradient."""
        smallest = max(self.noise / self.tolerance, 1e-9)
        return relative_errors(self.analytic[name], self.numeric[name], smallest)

    def is_wrong(self, name):
        """Return an array of booleans, True for the elements of a gradient that are wrong."""
        return ~(self.element_errors(name) < self.tolerance)

    @property
    def worst(self):
        return max(self.errors.values())

    @property
    def wrong(self):
        """The names of the gradients that are wrong."""
        return [name for name, error in self.errors.items() if not error < self.tolerance]

    @property
    def left_out(self):
        """Lines of text about the elements at kinks, whose gradients were not compared."""
        return list(lines_of_kinks(self.kinks, self.numeric))

    def check_measured(self):
        """Raise ValueError if every element has a numeric gradient of about 0, or is at a kink."""
        moving = {name: np.abs(numeric) > 1e3 * self.noise
                  for name, numeric in self.numeric.items()}
        for name, found in self.kinks.items():
            for at in found:
                moving[name][at] = False
        if not any(array.any() for array in moving.values()):
            why = "; ".join(self.left_out) or (
                f"apart from rounding, the outputs do not depend on {names(list(moving))}; pass "
                "inputs that change the outputs")
            raise ValueError(f"{self.title}: nothing was checked: {why}")

    @property
    def right(self):
        return [name for name, error in self.errors.items() if error < self.tolerance]

    @property
    def is_explained(self):
        """Whether an edit of one line makes all gradients correct."""
        return bool(self.findings) and self.findings[0].edit is not None and (
            self.findings[0].follows == self.wrong)

    def __repr__(self):
        if self.wrong or self.laws or self.stops:
            return "\n".join(short(self))
        width = max(map(len, self.errors))
        lines = [f"{self.title}: {plural(len(self.errors), 'gradient')}, "
                 f"largest relative error {self.worst:.1e}"]
        for name, error in self.errors.items():
            lines.append(f"  {name:<{width}}  {error:.1e}")
        return "\n".join(lines + self.left_out)

    @property
    def full(self):
        """The report as text, with corrected code and wrong gradients (large arrays abridged)."""
        lines = ["\n".join(lines_of(self))] if self.wrong or self.laws else [repr(self)]
        for finding, kinds in zip(self.findings, self.kinds):
            lines += [f"line {finding.place.line}: {kind.instead}" for kind in kinds
                      if kind.instead]
        if self.is_explained:
            lines += self.reruns
        lines += [f"not traced: {why}" for why in self.declined.values()]
        with np.printoptions(precision=5, suppress=True, threshold=60, edgeitems=2):
            lines += self.smallest.lines() if self.smallest else []
            for name in self.wrong:
                lines.append(f"{name}, backward:\n{self.analytic[name]}\n"
                             f"{name}, central differences:\n{self.numeric[name]}")
        return "\n".join(lines)


def explain(report, check):
    """Search for the wrong lines of a failed Check; return the Report with the Findings added."""
    def wrong(gradients):
        trial = Report(report.title, {}, report.tolerance, report.noise)
        for name, right in report.numeric.items():
            trial.add(name, gradients.get(name), right)
        return trial.wrong

    def wrong_elements(name, array):
        return relative_errors(array, report.numeric[name]) >= report.tolerance

    report.users_class = "" if check.model is None else users_class(check.model)
    with quiet():
        if report.users_class:
            report.calls = calls_of_package(check.loss)
        search = Search(check, wrong, wrong_elements)
        report.findings = search.findings()
        report.laws = search.unbalanced
        for one in report.findings:
            one.arithmetic = arithmetic(check, one)
            found = kinds_of(one, search.derivatives, check.flags, check.variables, report.numeric,
                             report.calls)
            report.kinds.append([kind for kind in found if kind.name != "place"] or found)
    report.declined = search.derivatives.rewritten.declined | search.rewritten.declined
    report.letters = {name: letters_of_input(check.forward, name) for name in report.wrong}
    report.reruns = reruns(check, report.wrong)
    report.smallest = smallest(check, report.wrong)
    return report


def explain_forward(report, check):
    """If only laws are broken, add the Finding of an edit of `forward` that makes the laws hold."""
    unwritten = any(one.kind == "unwritten" for one in report.laws)
    if report.laws and not report.wrong and not unwritten:
        laws = [law for law in FORWARD_LAWS if judged(law, check)]
        place = next((one.place for one in report.laws if one.place), None)
        finding = find_broken_law(check, laws, place) if laws else None
        if finding is not None:
            report.findings.append(finding)
            report.kinds.append(kinds_of(finding, None, (), {}, {}))
    if any(one.is_forward for one in report.findings):
        report.laws = [one if one.kind == "unwritten" else replace(one, place=None)
                       for one in report.laws]


def stop_error(text, check):
    """Return the GradientError for a forward that raises an error, or returns NaN or ∞."""
    report = Report(check.title, stops=text)
    finding = find_stop(check)
    if finding is not None:
        report.findings.append(finding)
        report.kinds.append(kinds_of(finding, None, (), {}, {}))
    return GradientError(report)


# ---- the text ------------------------------------------------------------------------------------


def short(report):
    """Return the lines about a failed check, with fewer details if there would be more than 14."""
    for brevity in range(4):
        lines = "\n".join(lines_of(report, brevity)).splitlines()
        if len(lines) <= MOST_LINES:
            break
    return lines


def lines_of(report, brevity=0):
    """Yield the lines about a failed check. brevity: from 0 (all lines) to 3 (the fewest)."""
    wrong = report.wrong
    if report.stops:
        yield report.stops
    elif not report.errors:
        yield f"{report.title}: no gradient can be compared"
    elif not wrong:
        yield (f"{report.title}: every gradient agrees with central differences, but a law that "
               "they cannot test is broken")
    else:
        right = f"; right: {names(report.right)}" if report.right else "; no gradient is correct"
        yield f"{report.title}: wrong gradient for {names(wrong)}{right * (len(report.errors) > 1)}"
    yield from report.left_out
    yield from lines_of_kinks(report.wrong_kinks, report.numeric, wrong=True)
    yield from map(str, report.laws)
    whole = [len(report.findings), WHOLE, WHOLE, 1][brevity]
    for finding, kinds in zip(report.findings[:whole], report.kinds):
        yield from finding_lines(finding, kinds, report, 1 if brevity else MOST_KINDS)
    for finding in report.findings[whole:]:
        yield (f"then wrong: {describe_place(finding.place)}; "
               f"follows from it: {names(finding.follows)}")
    if brevity > 1:
        return
    if not report.is_explained and not shapes_differ(report):
        yield from report.reruns[:MOST_KINDS]
    explained = {name for finding in report.findings for name in finding.follows}
    for name in wrong:
        if name not in explained:
            yield from array_lines(report, name)
            yield from map("  not traced: {}".format, list(report.declined.values())[:1])
            break


def shapes_differ(report):
    return any(np.shape(report.analytic[name]) != report.numeric[name].shape
               for name in report.wrong)


def names(found):
    more = [f"and {len(found) - MOST_NAMES} more"] if len(found) > MOST_NAMES else []
    return ", ".join([*found[:MOST_NAMES], *more])


def finding_lines(finding, kinds, report, most=MOST_KINDS):
    place = finding.place
    unsure = "possibly " if finding.is_forward and report.wrong else ""
    if report.users_class and is_of_package(place.file):
        yield (f"first wrong: the values that {report.users_class} passes to "
               f"{describe_place(place)}; the line itself is correct")
    else:
        yield f"first wrong: {describe_place(place)}{', or its gradient' if unsure else ''}"
    yield f"    {source_line(place)}"
    if finding.is_forward:
        yield ("  the backward would be correct if this line were changed; fix whichever is wrong"
               if unsure else "  the check passes if this line is changed")
    if finding.of is not None:
        what = finding.of.name or finding.of.text
        doubted = finding.compared is not None or is_unexplained(finding, kinds)
        rest = "" if doubted else f"; {INPUTS_ARE_RIGHT}"
        line = f"line {finding.of.line}"
        if finding.of.file != place.file:
            line += f" of {file_label(finding.of.file)}"
        yield f"  {subject_of(finding)} should be ∂L/∂({what}) of {line}{rest}"
        yield from shapes_of(finding)
        if True in finding.fits:
            yield (f"  right for {sum(finding.fits)} of the {len(finding.fits)} times that it is "
                   f"computed; first wrong at number {finding.first_wrong + 1}")
    for kind in kinds[:most]:
        introduction = INTRODUCTIONS.get(kind.name) if kind.instead else ""
        yield f"  {unsure}{introduction}: {kind.text}" if introduction else f"  {kind.text}"
    if finding is report.findings[0] and is_unexplained(finding, kinds):
        yield ("  no small change to this line corrects it: its inputs may be wrong, or a term may "
               "be missing")
    if finding.right is not None and np.shape(finding.found) == finding.right.shape:
        how = f"; computed as {finding.arithmetic}" if finding.arithmetic else ""
        yield f"  {element_of(finding.found, finding.right)}{how}"
    elif finding.follows:
        yield from elements_of(report, finding.follows[0])
    if len(report.wrong) < 2:
        return
    if len(finding.follows) == len(report.wrong):
        yield "  every other error follows from it"
    else:
        yield f"  follows from it: {names(finding.follows)}"


def subject_of(finding):
    """Return the name of the compared value, such as "dx" or "dy of line 7, made of dx,"."""
    if finding.compared is None:
        return finding.name
    made = f", made of {finding.name}," if finding.compared.name != finding.name else ""
    return f"{finding.compared.name} of line {finding.compared.line}{made}"


def shapes_of(finding):
    """Yield a report line on a wrong shape, if a comment after `finding.of` names the axes."""
    letters = letters_of_line(finding.of)
    if finding.right is None or np.shape(finding.found) == finding.right.shape or not letters:
        return
    found, right = (lettered(shape, finding.right.shape, letters)
                    for shape in (np.shape(finding.found), finding.right.shape))
    yield f"  its shape is {found}; expected {right}"


def is_unexplained(finding, kinds):
    """Return whether a Finding is neither proven nor explained by one of its likely `kinds`."""
    explained = any(kind.line and kind.name not in SIZE_KINDS for kind in kinds[:MOST_KINDS])
    return not finding.is_proven and not explained


def element_of(found, right):
    """Describe the element that `furthest` picks from the arrays `found` (wrong) and `right`."""
    at = furthest(found, right)
    where = f"element {list(at)} of {found.shape}: " if at else ""
    return f"{where}found {found[at]:.8g}, right {right[at]:.8g}"


def array_lines(report, name):
    """Yield report lines about a wrong gradient that no Finding explains."""
    found, right = report.analytic[name], report.numeric[name]
    yield from elements_of(report, name)
    if np.shape(found) != right.shape:
        return
    kinds = array_kinds(found, right, shapes=list(map(np.shape, report.numeric.values())))
    if report.is_wrong(name).sum() == len(report.wrong_kinks.get(name, ())):
        return                              # the lines about kinks already say what is wrong
    for kind in kinds[:MOST_KINDS]:
        yield f"  suspect: {kind.text}"
    if not kinds:
        yield ("  no kind of mistake is recognized: go through the lines of forward in reverse, "
               "and derive one dX for every X")


def elements_of(report, name):
    """Yield a report line on the number of wrong elements of a gradient, or on its wrong shape."""
    found, right = report.analytic[name], report.numeric[name]
    if found is None:
        return
    if np.shape(found) != right.shape:
        letters = report.letters.get(name, ())
        has, wanted = (lettered(shape, right.shape, letters)
                       for shape in (np.shape(found), right.shape))
        yield (f"  the gradient of {name} has shape {has}; expected {wanted}. A gradient has the "
               "shape of what it belongs to")
        return
    wrong = relative_errors(found, right) >= report.tolerance
    yield (f"  {name}: {int(wrong.sum())} of {wrong.size} elements are wrong; "
           f"{element_of(found, right)}")
