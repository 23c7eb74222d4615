"""What the gradient check says first of each planted mistake: is it caught, its line, its kind?

    python tools/mistakes/exam.py                   all of them: a table, and counts
    python tools/mistakes/exam.py --known gru       those of a file by which a tool may be tuned
    python tools/mistakes/exam.py --fourth          those of fourth.py
    python tools/mistakes/exam.py --markdown        the table as docs/mistakes.md has it

A line is right where it is one that the mistake changed, or beside the gap where one was taken
out, or where the report says of which line of the forward nothing comes back. It is another where
the report says what to write there, and with that everything is right. It is beside where the
report says which value is wrong first, and that it does not know by which line. Else it is wrong.
Doubted is a right line of which the report says that, too.
A kind is right where it is one that the mistake goes by in its file: known.py, kept_out.py,
fresh.py, fourth.py.
"""

import argparse
import re
import sys
import time
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mistakes.fourth import FOURTH  # noqa: E402
from mistakes.fresh import FRESH  # noqa: E402
from mistakes.kept_out import KEPT_OUT  # noqa: E402
from mistakes.known import KNOWN  # noqa: E402
from mistakes.planting import FILES, plant  # noqa: E402

from numpy_attention.gradcheck import GradientError, gradcheck  # noqa: E402
from numpy_attention.gradcheck.errors import NotAParameter  # noqa: E402
from numpy_attention.gradcheck.report.report import is_beside  # noqa: E402

COUNTED = "number", "caught", "right", "doubted", "another", "beside", "wrong", "none", "kind"
WIDTHS = 8, 8, 8, 9, 9, 8, 7, 6, 6
# {file: the axis of time} of what reads its own past, as who writes it would tell the check
CAUSAL = {"scaled_dot": 1, "key_value": 0, "transformer": 1}


@dataclass
class Answer:
    """What is said first. lines: those that are named; kind: "" where none is.

    of_others: what it is if the lines are not those of the mistake: "another", "beside", "wrong".
    """

    caught: bool
    lines: tuple[int, ...] = ()
    kind: str = ""
    message: str = ""
    seconds: float = 0.0
    of_others: str = "wrong"

    def line_of(self, mistake):
        """"right", "another", "beside", "wrong", or "none"."""
        if not self.lines:
            return "none"
        return "right" if set(self.lines) & mistake.lines() else self.of_others

    def doubts(self, mistake):
        """Whether the line is right, and yet not told for sure."""
        return self.line_of(mistake) == "right" and self.of_others == "beside"

    def kind_of(self, mistake):
        if not self.kind:
            return "none"
        return "right" if self.kind in mistake.kinds else "wrong"


def judge(mistake):
    """→ the Answer to a mistake."""
    start = time.perf_counter()
    try:
        target, inputs, forward, backward = plant(mistake).case(np.random.default_rng(0))
        with np.errstate(all="ignore"), warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always", NotAParameter)
            gradcheck(target, *inputs, rng=np.random.default_rng(1), forward=forward,
                      backward=backward, causal=CAUSAL.get(mistake.file))
    except GradientError as error:
        answer = said(error)
    except Exception as error:                  # whatever a learner's code may come to
        kind = "not a parameter" if "a parameter must be" in str(error) else ""
        answer = Answer(True, numbers(str(error)), kind, f"{type(error).__name__}: {error}")
    else:
        text = "".join(str(one.message) for one in warned if one.category is NotAParameter)
        answer = Answer(bool(text), numbers(text), "not a parameter" if text else "", text)
    answer.seconds = time.perf_counter() - start
    return answer


def said(error):
    report, message = error.report, str(error)
    if isinstance(report, str):                 # the forward stops
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
    if is_beside(report.findings[0], report.kinds[0]):
        of_others = "beside"
    elif report.is_explained and report.wrong:
        of_others = "another"
    return Answer(True, tuple(line for line in lines if line), kind, message, of_others=of_others)


def numbers(text):
    """The first line that a text names."""
    return tuple(int(number) for number in re.findall(r"\bline (\d+)", text)[:1])


# ---- what is printed ----------------------------------------------------------------------------


def row(mistake, answer, between="  "):
    fields = (f"{mistake.name:<55}", f"{mistake.kinds[0]:<17}",
              f"{'caught' if answer.caught else 'passes':<6}",
              f"{answer.line_of(mistake):<7}", f"{answer.kind_of(mistake):<5}",
              f"{answer.kind:<17}")
    return between.join(fields).rstrip()


def counts(title, keys, judged):
    """Lines of a table key × what is right."""
    heads = ("line" if head == "right" else head for head in COUNTED)
    wide = max(20, *(len(key) + 2 for key in keys))
    yield f"{title:<{wide}}" + "".join(f"{head:>{width}}" for head, width in zip(heads, WIDTHS))
    found = Counter()
    for key, (mistake, answer) in zip(keys, judged):
        found[key, "number"] += 1
        found[key, "caught"] += answer.caught
        found[key, answer.line_of(mistake)] += 1
        found[key, "doubted"] += answer.doubts(mistake)
        found[key, "kind"] += answer.kind_of(mistake) == "right"
    for key in dict.fromkeys(keys):
        at = (found[key, what] for what in COUNTED)
        yield f"{key:<{wide}}" + "".join(f"{n:>{width}}" for n, width in zip(at, WIDTHS))


def markdown(judged):
    yield "| mistake | is | caught | line | kind | said first |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for mistake, answer in judged:
        yield (f"| {mistake.name} | {mistake.kinds[0]} | {'yes' if answer.caught else 'no'} | "
               f"{answer.line_of(mistake)} | {answer.kind_of(mistake)} | {answer.kind or '–'} |")


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description="Print what the gradient check says of each planted mistake.")
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"only of {', '.join(FILES)}")
    sets = parser.add_mutually_exclusive_group()
    sets.add_argument("--known", action="store_true",
                      help="only those by which a tool may be tuned")
    sets.add_argument("--fourth", action="store_true", help="only those of fourth.py")
    parser.add_argument("--markdown", action="store_true", help="the table for docs/mistakes.md")
    parser.add_argument("--counts", action="store_true", help="the counts alone")
    options = parser.parse_args(arguments)
    for file in options.files:
        if file not in FILES:
            parser.error(f"no file {file!r}: expected {', '.join(FILES)}")
    halves = {"known": KNOWN, "kept out": KEPT_OUT, "fresh": FRESH, "fourth": FOURTH}
    if options.known:
        halves = {"known": KNOWN}
    if options.fourth:
        halves = {"fourth": FOURTH}
    chosen = [(half, mistake) for half, mistakes in halves.items() for mistake in mistakes
              if not options.files or mistake.file in options.files]
    judged = []
    for _, mistake in chosen:
        judged.append((mistake, judge(mistake)))
        if not options.markdown and not options.counts:
            print(row(*judged[-1]), flush=True)
    if options.markdown:
        print(*markdown(judged), sep="\n")
    for title, keys in (("half", [half for half, _ in chosen]),
                        ("file", [mistake.file for _, mistake in chosen]),
                        ("kind", [mistake.kinds[0] for _, mistake in chosen])):
        print("", *counts(title, keys, judged), sep="\n")
    seconds = sorted(answer.seconds for _, answer in judged)
    print(f"\nseconds: median {seconds[len(seconds) // 2]:.1f}, longest {seconds[-1]:.1f}")


if __name__ == "__main__":
    main()
