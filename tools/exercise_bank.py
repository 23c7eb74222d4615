"""Make the bank of mistakes that ships, numpy_attention/exercises/bank.json.

    python tools/exercise_bank.py              write it
    python tools/exercise_bank.py --check      exit status 1 where it is not what this would write
"""

import argparse
import json
import sys

from numpy_attention.exercises.bank import FILE, as_text, made
from numpy_attention.exercises.catalogue import EXERCISES


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    options = parser.parse_args(arguments)
    banks = {}
    for name, exercise in EXERCISES.items():
        if exercise.planted:                        # of which no mistake is told
            continue
        banks[name] = made(exercise)
        curated = sum(one.curated for one in banks[name])
        print(f"{name:<16} {len(banks[name]):>4} mistakes, {curated} of them curated", flush=True)
    text = as_text(banks)
    if options.check:
        return 0 if same(json.loads(text), json.loads(FILE.read_text(encoding="utf-8"))) else 1
    FILE.write_text(text, encoding="utf-8")
    print(f"{FILE.name}: {len(text):,} characters")
    return 0


def same(made, kept):
    """Whether two banks name the same mistakes; their numbers differ by rounding alone."""
    words = [{name: [one[:2] for one in bank["mistakes"]] for name, bank in banks.items()}
             for banks in (made, kept)]
    return words[0] == words[1]


if __name__ == "__main__":
    sys.exit(main())
