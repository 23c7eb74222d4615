"""Measure how often reports of the gradient check find a planted mistake, its line and its kind.

    python campaigns/mistakes/exam.py                   the table of results.md, and counts
    python campaigns/mistakes/exam.py gru               the mistakes of one file
    python campaigns/mistakes/exam.py --set fourth      the mistakes of one set

The first answer of the report is judged. A line is right if the mistake changed it, if it is next
to a deleted line, or if the report names the line of the forward pass whose gradient is missing. It
is "another" if the report proposes an edit of a different line that makes every gradient correct,
"unsure" if the report names the first wrong value and says that it does not know the line, and
otherwise "wrong". "Doubted" is a right line that the report is not sure of. A kind is right if the
entry of the mistake lists it.
"""

import argparse
import re
import time
import warnings
from collections import Counter
from dataclasses import dataclass

import numpy as np
from planting import FILES, SETS, plant

from numpy_attention.gradcheck import GradientError, gradcheck
from numpy_attention.gradcheck.errors import NotAParameter
from numpy_attention.gradcheck.report.report import is_unexplained

COUNTED = "number", "caught", "right", "doubted", "unsure", "another", "none", "wrong", "kind"
WIDTHS = 8, 8, 8, 9, 8, 9, 6, 7, 6
# {file: the time axis} of causal mechanisms
CAUSAL = {"scaled_dot": 1, "key_value": 0, "transformer": 1}


@dataclass
class Answer:
    """The first answer of a report: the lines and the kind that it names, "" for no kind.

    of_others: the verdict if the lines are not those of the mistake: "another", "unsure", "wrong"
    """

    caught: bool
    lines: tuple[int, ...] = ()
    kind: str = ""
    message: str = ""
    seconds: float = 0.0
    of_others: str = "wrong"

    def line_of(self, mistake):
        """Judge the lines: "right", "another", "unsure", "wrong" or "none"."""
        if not self.lines:
            return "none"
        return "right" if set(self.lines) & mistake.lines() else self.of_others

    def doubts(self, mistake):
        """Return whether the line is right, but the report is not sure of it."""
        return self.line_of(mistake) == "right" and self.of_others == "unsure"

    def judge_kind(self, mistake):
        if not self.kind:
            return "none"
        return "right" if self.kind in mistake.kinds else "wrong"


def judge(mistake):
    """Return the Answer to a mistake."""
    start = time.perf_counter()
    try:
        target, inputs, forward, backward = plant(mistake).case(np.random.default_rng(0))
        with np.errstate(all="ignore"), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", NotAParameter)
            gradcheck(target, *inputs, rng=np.random.default_rng(1), forward=forward,
                      backward=backward, causal=CAUSAL.get(mistake.file))
    except GradientError as error:
        answer = answer_of(error)
    except Exception as error:                  # a learner's code may raise anything
        kind = "not a parameter" if "a parameter must be" in str(error) else ""
        answer = Answer(True, numbers(str(error)), kind, f"{type(error).__name__}: {error}")
    else:
        text = "".join(str(one.message) for one in warned if one.category is NotAParameter)
        answer = Answer(bool(text), numbers(text), "not a parameter" if text else "", text)
    answer.seconds = time.perf_counter() - start
    return answer


def answer_of(error):
    report, message = error.report, str(error)
    if isinstance(report, str):                 # the forward pass failed
        return Answer(True, numbers(report), "shape" if "shape" in report else "", message)
    law = report.laws[0] if report.laws else None
    if law is not None and law.place is not None:
        return Answer(True, (law.place.line,), law.kind, message)
    if not report.findings:
        return Answer(True, numbers(report.stops), law.kind if law else "", message)
    first = report.kinds[0][0] if report.kinds[0] else None
    lines = report.findings[0].place.line, first.line if first else 0
    kind = law.kind if law else first.name if first else ""
    of_others = "wrong"
    if is_unexplained(report.findings[0], report.kinds[0]):
        of_others = "unsure"
    elif report.is_explained and report.wrong:
        of_others = "another"
    return Answer(True, tuple(line for line in lines if line), kind, message, of_others=of_others)


def numbers(text):
    """Return a tuple with the number of the first line that a text names, or ()."""
    return tuple(int(number) for number in re.findall(r"\bline (\d+)", text)[:1])


# ---- tables -------------------------------------------------------------------------------------


def row(mistake, answer):
    """Format a row of the table in results.md."""
    return (f"| {mistake.name} | {mistake.kinds[0]} | {'yes' if answer.caught else 'no'} | "
            f"{answer.line_of(mistake)} | {answer.judge_kind(mistake)} | {answer.kind or '–'} |")


def counts(title, keys, judged):
    """Yield the lines of a table of counts, one per key."""
    heads = ("line" if head == "right" else head for head in COUNTED)
    wide = max(20, *(len(key) + 2 for key in keys))
    yield f"{title:<{wide}}" + "".join(f"{head:>{width}}" for head, width in zip(heads, WIDTHS))
    found = Counter()
    for key, (mistake, answer) in zip(keys, judged):
        found[key, "number"] += 1
        found[key, "caught"] += answer.caught
        found[key, answer.line_of(mistake)] += 1
        found[key, "doubted"] += answer.doubts(mistake)
        found[key, "kind"] += answer.judge_kind(mistake) == "right"
    for key in dict.fromkeys(keys):
        at = (found[key, what] for what in COUNTED)
        yield f"{key:<{wide}}" + "".join(f"{n:>{width}}" for n, width in zip(at, WIDTHS))


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", metavar="FILE",
                        help=f"only mistakes in these files: {', '.join(FILES)}")
    parser.add_argument("--set", choices=SETS, help="only this set")
    options = parser.parse_args(arguments)
    for file in options.files:
        if file not in FILES:
            parser.error(f"no file {file!r}: expected {', '.join(FILES)}")
    print("| mistake | true kind | caught | line | kind | reported kind |\n" + "| --- " * 6 + "|")
    sets, judged = [], []
    for name in [options.set] if options.set else SETS:
        for mistake in SETS[name]:
            if options.files and mistake.file not in options.files:
                continue
            sets.append(name)
            judged.append((mistake, judge(mistake)))
            print(row(*judged[-1]), flush=True)
    for title, keys in (("set", sets),
                        ("file", [mistake.file for mistake, _ in judged]),
                        ("kind", [mistake.kinds[0] for mistake, _ in judged])):
        print("", *counts(title, keys, judged), sep="\n")
    seconds = sorted(answer.seconds for _, answer in judged)
    print(f"\nseconds: median {seconds[len(seconds) // 2]:.1f}, longest {seconds[-1]:.1f}")


if __name__ == "__main__":
    main()
