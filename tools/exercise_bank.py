"""Make the bank of mistakes that ships: numpy_attention/course/exercises/bank.json.

    python tools/exercise_bank.py              write it
    python tools/exercise_bank.py --only gru   of these exercises alone; the others stay
    python tools/exercise_bank.py --check      exit status 1 where it has to be made anew

Each exercise is written when it is done: one that is ended goes on with --only. `--check` runs no
mistake: it compares what the bank was made of (solution, mistakes, operators, and the numbers of
what is right).
"""

import argparse
import json
import sys

from numpy_attention.course.exercises import bank
from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.validation.paths import atomic_write


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--only", nargs="+", default=(), metavar="EXERCISE", help="some of them")
    options = parser.parse_args(arguments)
    names = [name for name, one in EXERCISES.items() if not one.planted]    # of which is told
    unknown = set(options.only) - set(names)
    if unknown:
        print(f"exercise_bank: no exercise is named {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    names = [name for name in names if not options.only or name in options.only]
    return check(names) if options.check else write(names)


def check(names):
    stale = [name for name in names if not bank.is_as_made(EXERCISES[name])]
    if stale:
        print(f"to be made anew: tools/exercise_bank.py --only {' '.join(stale)}")
    return 1 if stale else 0


def write(names):
    found = json.loads(bank.FILE.read_text(encoding="utf-8")) if bank.FILE.exists() else {}
    for name in names:
        exercise = EXERCISES[name]
        mistakes = bank.made(exercise)
        found[name] = bank.part_of(exercise, mistakes)
        with atomic_write(bank.FILE) as file:
            file.write(bank.as_text(found).encode())
        curated = sum(one.curated for one in mistakes)
        print(f"{name:<16} {len(mistakes):>4} mistakes, {curated} of them curated", flush=True)
    print(f"{bank.FILE.name}: {bank.FILE.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
