"""Whether what a gradient check says first of a mutant names the line that was changed."""

import ast
import copy
import re
from pathlib import Path

from mistakes.exam import said
from mistakes.planting import changed_lines

from numpy_attention.gradcheck import GradientError

VERDICTS = "right", "forward", "wrong", "none"
OF_FORWARD = "missing term", "output ignored"       # kinds that tell which line it is


def judged(error, path, right, mutant):
    """[verdict, kind, "file:line statement"] of what a check raises for a mutant in a file.

    right: the text of the file without the mistake.
    """
    if error is None:
        return ["passes", "", ""]
    if not isinstance(error, GradientError):
        return ["none", type(error).__name__, ""]
    answer, file = said(error), file_of(error)
    kind = answer.kind or ("stops" if error.report.stops else "")
    if not answer.lines:
        return ["none", kind, ""]
    text = path.read_text(encoding="utf-8")
    first, *of_forward = answer.lines
    verdict, statement = "wrong", ""
    if mutant.what.startswith("delete") and of_forward and answer.kind in OF_FORWARD:
        verdict = "forward"
    if file == path.name:
        statement = text.splitlines()[first - 1].strip()
        if first in answers(right, text):
            verdict = "right"
    return [verdict, kind, f"{file}:{first} {statement}".strip()]


def answers(right, text):
    """The numbers of the lines that are right answers: those changed, those beside a gap."""
    lines = text.splitlines()
    changed = changed_lines(right, text)
    left = {number for number in changed if lines[number - 1].strip() == "pass"}
    return changed.union(*({number - 1, number + 1} for number in left))


def file_of(error):
    """The name of the file whose line is said first."""
    report = error.report
    for one in (*report.laws[:1], *report.findings[:1]):
        if one.place is not None:
            return Path(one.place.file).name
    return "".join(re.findall(r"\bline \d+ of ([^\s,]+)", report.stops)[:1])


def as_written(node):
    """A mutated function as a learner leaves it: `pass` only where nothing else stands."""
    node = copy.deepcopy(node)
    for one in ast.walk(node):
        for name in ("body", "orelse"):
            body = getattr(one, name, None)
            if isinstance(body, list):
                rest = [part for part in body if not isinstance(part, ast.Pass)]
                setattr(one, name, rest or body[:1])
    return node
