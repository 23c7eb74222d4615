"""Runs lessons: seconds to the first line and to the last, the same figures twice, on one core.

    python tools/lesson_runs.py                  every lesson once, with its times
    python tools/lesson_runs.py --same 06 11     some, twice, and once more held to one core

What is measured in seconds, and how fast, may differ; all else that a lesson prints must be the
same when it is run again, letter by letter, and on one core up to rounding: no number further off
than TOLERANCE of its size.
"""

import argparse
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TOLERANCE = 0.02        # of a number, between one core and several, after a training
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
TIMED = re.compile(r"[\d.,]+ ?(?:s|seconds|minutes|tokens/s|ms|batch/s|s/batch)\b")
PROGRESS = re.compile(r"^.*\d+%\|.*$")          # of a bar, which is drawn as time goes


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("numbers", nargs="*", metavar="NN", help="numbers of lessons")
    parser.add_argument("--same", action="store_true", help="run each again, and on one core")
    options = parser.parse_args(arguments)
    lessons = sorted((ROOT / "lessons").glob("[0-9][0-9]_*.py"))
    known = {path.name[:2]: path for path in lessons}
    unknown = [number for number in options.numbers if number not in known]
    if unknown:
        print(f"lesson_runs: no lesson has the number {', '.join(unknown)}: expected some of "
              f"{' '.join(known)}", file=sys.stderr)
        return 2
    head = ["lesson", "first line", "seconds", *(["again", "one core"] if options.same else [])]
    print("| " + " | ".join(head) + " |\n| --- |" + " ---: |" * (len(head) - 1), flush=True)
    right = True
    for number in options.numbers or known:
        try:
            cells, same = measured(known[number], options.same)
        except subprocess.CalledProcessError as error:
            print(f"lesson_runs: {known[number].name} ended with {error.returncode}:\n"
                  f"{error.output}", file=sys.stderr)
            return 1
        right &= same
        print("| " + " | ".join([known[number].name, *cells]) + " |", flush=True)
    return 0 if right else 1


def measured(path, twice):
    """→ a row's cells; whether all is the same that should be."""
    text, first, last = run(path)
    cells = [f"{first:.1f}", f"{last:.0f}"]
    if not twice:
        return cells, True
    again = differing(text, run(path)[0])
    alone = farthest(text, run(path, cores={min(os.sched_getaffinity(0))})[0])
    cells += ["the same" if not again else f"{len(again)} lines differ: {again[0]}",
              f"{alone:.1e} off at most" if alone < float("inf") else "other words"]
    return cells, not again and alone <= TOLERANCE


def run(path, cores=None):
    """→ what a lesson prints, seconds to its first line, to its end. CalledProcessError."""
    def hold():
        if cores:
            os.sched_setaffinity(0, cores)

    start = time.perf_counter()
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    process = subprocess.Popen([sys.executable, str(path)], stdout=subprocess.PIPE, text=True,
                               stderr=subprocess.STDOUT, encoding="utf-8", env=environment,
                               cwd=ROOT, preexec_fn=hold)
    line = process.stdout.readline()
    first = time.perf_counter() - start
    text = line + process.stdout.read()
    if process.wait():
        raise subprocess.CalledProcessError(process.returncode, str(path), text)
    return text, first, time.perf_counter() - start


def lines_of(text):
    """What must be the same again: without bars and times."""
    lines = [line.rpartition("\r")[2] for line in text.splitlines()]
    return [TIMED.sub("", line).rstrip() for line in lines if not PROGRESS.match(line)]


def differing(text, other):
    """The lines that are not the same."""
    lines, others = lines_of(text), lines_of(other)
    if len(lines) != len(others):
        return [f"{len(lines)} lines and {len(others)}"]
    return [line for line, one in zip(lines, others) if line != one]


def farthest(text, other):
    """How far off a number is at most, relative to the larger; inf: other words."""
    found = 0.0
    lines, others = "\n".join(lines_of(text)), "\n".join(lines_of(other))
    if NUMBER.sub("", lines) != NUMBER.sub("", others):
        return float("inf")
    for one, two in zip(NUMBER.findall(lines), NUMBER.findall(others)):
        one, two = float(one.replace(",", "")), float(two.replace(",", ""))
        found = max(found, abs(one - two) / max(abs(one), abs(two), 1e-300))
    return found


if __name__ == "__main__":
    sys.exit(main())
