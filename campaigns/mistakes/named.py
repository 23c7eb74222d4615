"""How often does the report name the changed line of a mutant of the lessons' plain forms?

    python campaigns/mistakes/named.py                          every mutant
    python campaigns/mistakes/named.py --sample 120 --seed 2    120 mutants, chosen at random
    python campaigns/mistakes/named.py --list                   print every answer that is not right

The mutants are those of campaigns/mutation/mutate.py: a statement of a backward pass deleted, or
its result negated. The first answer of the first check that fails is judged: "right" if it names a
line that was changed, or one next to the gap of a deleted line; "forward" if a statement was
deleted and the report names the forward line whose gradient is missing; "wrong" if it names another
line; "none" if it names no line.
"""

import argparse
import ast
import contextlib
import copy
import re
import signal
import sys
import tempfile
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np
try:
    import tomllib
except ModuleNotFoundError:        # before Python 3.11
    import tomli as tomllib
from exam import answer_of
from planting import HERE, changed_lines, run

sys.path.append(str(HERE.parent / "mutation"))

from mutants import backward_mutants, functions  # noqa: E402

from numpy_attention.gradcheck import GradientError, gradcheck  # noqa: E402

ROOT = HERE.parents[1]
VERDICTS = "right", "forward", "wrong", "none"
OF_FORWARD = "missing term", "output ignored"       # kinds that name a line of the forward pass
SECONDS = 300       # of processor time, for the checks of a mutant


class OutOfTime(BaseException):
    """Not an Exception: a check that goes on after whatever a backward pass raises must stop."""


@contextlib.contextmanager
def bounded():
    """Raise OutOfTime after SECONDS."""
    def out_of_time(*_):
        raise OutOfTime("the mutant hangs")

    signal.signal(signal.SIGVTALRM, out_of_time)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


# ---- the verdict on a report --------------------------------------------------------------------


def judged(error, path, right, mutant):
    """[verdict, kind, "file:line statement"] of what a check raises for a mutant in a file.

    right: the text of the file without the mistake.
    """
    if error is None:
        return ["passes", "", ""]
    if not isinstance(error, GradientError):
        return ["none", type(error).__name__, ""]
    answer, file = answer_of(error), file_of(error)
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
        if first in right_lines(right, text):
            verdict = "right"
    return [verdict, kind, f"{file}:{first} {statement}".strip()]


def right_lines(right, text):
    """The numbers of the lines that are correct answers: those changed, and next to a gap."""
    lines = text.splitlines()
    changed = changed_lines(right, text)
    left = {number for number in changed if lines[number - 1].strip() == "pass"}
    return changed.union(*({number - 1, number + 1} for number in left))


def file_of(error):
    """The name of the file whose line the report names first."""
    report = error.report
    for one in (*report.laws[:1], *report.findings[:1]):
        if one.place is not None:
            return Path(one.place.file).name
    return "".join(re.findall(r"\bline \d+ of ([^\s,]+)", report.stops)[:1])


def as_written(node):
    """A mutated function as a learner leaves it: `pass` only where nothing else is left."""
    node = copy.deepcopy(node)
    node.decorator_list = []
    for one in ast.walk(node):
        for name in ("body", "orelse"):
            body = getattr(one, name, None)
            if isinstance(body, list):
                rest = [part for part in body if not isinstance(part, ast.Pass)]
                setattr(one, name, rest or body[:1])
    return node


# ---- mutants of the lessons ---------------------------------------------------------------------


@dataclass(frozen=True)
class Lesson:
    """names: functions and classes taken from a lesson; cases: text that defines cases(rng)."""

    file: str
    names: list
    cases: str

    @property
    def source(self):
        """The plain forms and the cases, with the imports that they need."""
        body = ast.parse((ROOT / "lessons" / f"{self.file}.py").read_text(encoding="utf-8")).body
        taken = [node for node in body if getattr(node, "name", None) in self.names]
        cases = ast.parse(self.cases).body
        used = {one.id for node in taken + cases for one in ast.walk(node)
                if isinstance(one, ast.Name)}
        imports = [node for node in body if isinstance(node, (ast.Import, ast.ImportFrom))
                   and used & {one.asname or one.name for one in node.names}]
        return "\n".join(map(ast.unparse, imports + taken + cases))


def lessons():
    entries = tomllib.loads((HERE / "lessons.toml").read_text(encoding="utf-8"))["lesson"]
    return [Lesson(**entry) for entry in entries]


def judge(mutant, lesson, folder, number):
    """The verdict on the first case that fails."""
    tree = mutant.make()
    node = dict(functions(tree))[mutant.function]
    node.body = as_written(node).body
    module = run(ast.unparse(ast.fix_missing_locations(tree)), f"{mutant.file}_{number}", folder)
    error = None
    try:
        for target, inputs, forward, backward in module.cases(np.random.default_rng(0)):
            with warnings.catch_warnings(), np.errstate(all="ignore"), bounded():
                warnings.simplefilter("ignore")
                gradcheck(target, *inputs, rng=np.random.default_rng(1), forward=forward,
                          backward=backward)
    except (Exception, OutOfTime) as found:
        error = found
    return judged(error, Path(module.__file__), ast.unparse(ast.parse(lesson.source)), mutant)


def all_jobs(folder):
    """(mutant, lesson) of each mutant of the plain forms."""
    jobs = []
    for lesson in lessons():
        path = Path(folder, f"{lesson.file}.py")
        path.write_text(lesson.source, encoding="utf-8")
        jobs += [(mutant, lesson) for mutant in backward_mutants(path, f"lesson_{path.stem[:2]}")]
    return jobs


# ---- the campaign -------------------------------------------------------------------------------


def table(judgements):
    """Lines of a table file × verdict, of [(mutant, [verdict, kind, what is named])]."""
    counts, kinds = Counter(), Counter()
    for mutant, (verdict, kind, _) in judgements:
        counts[mutant.file, verdict] += 1
        counts["all", verdict] += 1
        kinds[kind or "no kind"] += verdict == "wrong"
    yield f"{'':<55}{'mutants':>8}{'caught':>8}" + "".join(f"{one:>9}" for one in VERDICTS)
    for file in sorted({file for file, _ in counts} - {"all"}) + ["all"]:
        at = [counts[file, verdict] for verdict in VERDICTS]
        yield (f"{file:<55}{sum(at) + counts[file, 'passes']:>8}{sum(at):>8}"
               + "".join(f"{one:>9}" for one in at))
    named, caught = at[0] + at[1], sum(at)
    yield f"named: {named} of the {caught} that are caught, {100 * named / max(caught, 1):.1f} %"
    yield "wrong by kind: " + ", ".join(f"{kind} {n}" for kind, n in kinds.most_common() if n)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sample", type=int, metavar="N", help="N mutants, chosen at random")
    parser.add_argument("--seed", type=int, default=0, help="of the sample (default 0)")
    parser.add_argument("--list", action="store_true", help="print the answers that are not right")
    options = parser.parse_args(arguments)
    judgements = []
    with tempfile.TemporaryDirectory(prefix="named-") as folder:
        jobs = all_jobs(folder)
        for i in np.random.default_rng(options.seed).permutation(len(jobs))[:options.sample]:
            mutant, lesson = jobs[i]
            judgements.append((mutant, judge(mutant, lesson, folder, i)))
            verdict, kind, named = judgements[-1][1]
            if options.list and verdict not in ("right", "forward"):
                print(f"{verdict:<7} {mutant}\n        {kind}: {named}", flush=True)
    print(*table(judgements), sep="\n")


if __name__ == "__main__":
    main()
