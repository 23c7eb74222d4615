"""Measure how many mistakes the check of the exercises catches, and how many it names.

    python campaigns/exercises/exam.py              a table of curated and unseen mistakes
    python campaigns/exercises/exam.py --unseen     each unseen mistake, and its report
    python campaigns/exercises/exam.py --lines      how often the printed line is the mistake's
    python campaigns/exercises/exam.py --correct    correct solutions in other styles must pass, and
                                                    unfinished files must fail

The curated mistakes are those of the exercises themselves. The unseen ones, in unseen.toml, were
written by someone who had not seen the curated ones. A mistake is named if a known mistake has its
signature. It is proven if the report names its line and a change of it that makes everything
correct, or a law that it breaks. The mistakes in fresh.toml, also written without knowledge of the
curated ones, say which lines of the file a teacher would accept as the place of the mistake.
"""

import argparse
import ast
import re
import sys
import tempfile
import textwrap
import time
from collections import Counter
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:        # before Python 3.11
    import tomli as tomllib

from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.checking import check
from numpy_attention.course.exercises.notebook import format_verdict
from numpy_attention.course.exercises.source import BLANK

FOLDER = Path(__file__).parent
WRITTEN = [name for name, one in EXERCISES.items() if one.planted is None]
ZEROS = """
def zeros(found):
    if isinstance(found, (tuple, list)):
        return type(found)(zeros(one) for one in found)
    return None if found is None else 0 * found
"""


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unseen", action="store_true", help="print each unseen mistake")
    parser.add_argument("--lines", action="store_true",
                        help="compare the printed lines with those that a teacher would accept")
    parser.add_argument("--correct", action="store_true",
                        help="test correct solutions and unfinished files")
    parser.add_argument("names", nargs="*", metavar="EXERCISE", help="only these exercises")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - set(WRITTEN)
    if unknown:
        parser.error(f"there is no exercise named {', '.join(sorted(unknown))}")
    names = [name for name in WRITTEN if not options.names or name in options.names]
    if options.correct:
        return correct(names)
    if options.lines:
        return lines(names)
    return one_by_one(names) if options.unseen else table(names)


# ---- the data -----------------------------------------------------------------------------------


def unseen():
    """Return [(exercise, what is wrong, text of the file)] for all unseen mistakes."""
    data = tomllib.loads((FOLDER / "unseen.toml").read_text(encoding="utf-8"))
    return [(one["exercise"], one["wrong"], text_of(one, data["right"]))
            for one in data["mistakes"]]


def styles():
    """Return [(exercise, style, text of the file)] for all correct solutions."""
    data = tomllib.loads((FOLDER / "styles.toml").read_text(encoding="utf-8"))
    return [(one["exercise"], one["style"], text_of(one, {})) for one in data["solutions"]]


def text_of(entry, right):
    """Return the file of an exercise with its blanks filled. right: {name: body} for "@name"."""
    text = EXERCISES[entry["exercise"]].start
    for body in entry.get("bodies") or [entry["body"]]:
        body = right.get(body.removeprefix("@"), body)
        line = next(line for line in text.splitlines() if line.strip() == BLANK)
        indent = line[:-len(BLANK)]
        text = text.replace(line, textwrap.indent(body.strip("\n"), indent), 1)
    return text


# ---- the exams ----------------------------------------------------------------------------------


def verdict(name, text):
    """Return the Verdict, and the seconds that the check took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.py"
        path.write_text(text, encoding="utf-8")
        start = time.perf_counter()
        return check(EXERCISES[name], path), time.perf_counter() - start


def table(names):
    print("| exercise | curated | caught | named | unseen | caught | named | or proven | "
          "seconds of a pass |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    every = unseen()
    sums = [0] * 7
    for name in names:
        exercise = EXERCISES[name]
        curated = [(mistake, verdict(name, exercise.head + exercise.changed(right, wrong))[0])
                   for right, wrong, mistake in exercise.mistakes]
        others = [verdict(name, text)[0] for one, _, text in every if one == name]
        row = [len(curated), sum(not found.passed for _, found in curated),
               sum(mistake in found.mistakes for mistake, found in curated), len(others),
               sum(not found.passed for found in others),
               sum(bool(found.mistakes) for found in others),
               sum(bool(found.mistakes) or found.proven for found in others)]
        sums = [a + b for a, b in zip(sums, row)]
        seconds = verdict(name, exercise.solution)[1]
        print(f"| {name} | " + " | ".join(map(str, row)) + f" | {seconds:.1f} |", flush=True)
    print("| all | " + " | ".join(map(str, sums)) + " | |")
    return 0 if sums[:3] == [sums[0]] * 3 and sums[3] == sums[4] else 1


def one_by_one(names):
    for name, wrong, text in unseen():
        if name in names:
            found, _ = verdict(name, text)
            print(f"{name}: {wrong}")
            for mistake in found.mistakes or ["not named"]:
                print(f"    {mistake}")
            sys.stdout.flush()
    return 0


def lines(names):
    """Count how often the mistakes of fresh.toml are caught, named, and located in the right line.

    A line that is not accepted is "accused" if the report says that it is wrong, and "near" if the
    report says that it is probably wrong or the first that looks wrong. Prints the mistakes that
    pass, the accused lines, and the counts.
    """
    data = tomllib.loads((FOLDER / "fresh.toml").read_text(encoding="utf-8"))
    counts = Counter()
    for one in data["mistake"]:
        name = one["exercise"]
        if name not in names:
            continue
        text = text_of(one, data["right"])
        found, _ = verdict(name, text)
        report = "\n".join(format_verdict(EXERCISES[name], found))
        line = re.search("^(.* in|first wrong:) line ([0-9]+)( of .*)$", report, re.MULTILINE)
        printed = text.splitlines()[int(line[2]) - 1].strip() if line else ""
        outcomes = ["mistakes", "pass" if found.passed else "caught"]
        if found.mistakes:
            outcomes.append("named")
        if line:
            right = any(printed in each or each in printed for each in one["lines"])
            accused = not right and line[1] in ("it is in", "first wrong:")
            outcomes += ["with a line", "right" if right else "accused" if accused else "near"]
        counts.update(outcomes)
        if {"pass", "accused"} & set(outcomes):
            print(f"{name}: {one['wrong']}\n    {printed or 'passes'}", flush=True)
    print(", ".join(f"{count} {what}" for what, count in counts.most_common()))
    return 1 if counts["pass"] else 0


def correct(names):
    """Print every correct solution that does not pass, and every unfinished file that does."""
    failed = [f"{name}, {style}: {found.message}" for name, style, text in styles()
              if name in names and not (found := verdict(name, text)[0]).passed]
    failed += [f"{name}: passes with {what}" for name in names
               for what, text in unfinished(EXERCISES[name]) if verdict(name, text)[0].passed]
    print("\n".join(failed or ["all correct solutions pass, and no unfinished file does"]))
    return 1 if failed else 0


def unfinished(exercise):
    """Yield (what is missing, text) for files with one unfinished function."""
    for blank in exercise.blanks:
        tree = ast.parse(exercise.solution)
        function_of(tree, blank).body[-1] = ast.Pass()
        yield f"the last statement of {blank} missing", ast.unparse(tree)
        tree = ast.parse(exercise.solution)
        returns = [node for node in ast.walk(function_of(tree, blank))
                   if isinstance(node, ast.Return)]
        for node in returns:
            node.value = ast.Call(ast.Name("zeros"), [node.value], [])
        if returns:
            yield f"zeros returned by {blank}", ast.unparse(tree) + ZEROS


def function_of(tree, blank):
    """Return the node of a function such as "softmax" or "PlainRNN.backward"."""
    node = tree
    for name in blank.split("."):
        node = next(one for one in node.body if getattr(one, "name", None) == name)
    return node


if __name__ == "__main__":
    sys.exit(main())
