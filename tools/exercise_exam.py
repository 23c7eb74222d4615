"""How many mistakes the exercises' check catches, and how many it names.

    python tools/exercise_exam.py              a table: curated mistakes, and unseen ones
    python tools/exercise_exam.py --unseen     of each unseen mistake what is wrong, what is named

The curated mistakes are those of numpy_attention/course/exercises/mistakes/; the unseen ones, of
tests/exercises/unseen.py and unseen_models.py, were written by somebody who had not seen the bank.
Named is a mistake for which the bank has one that gives the same numbers; proven is, besides, one
whose line the report names, with a change of it that makes everything right, or a law it breaks.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "exercises"))

import unseen  # noqa: E402
import unseen_models  # noqa: E402
from unseen import text_of  # noqa: E402

from numpy_attention.course.exercises.catalogue import EXERCISES  # noqa: E402
from numpy_attention.course.exercises.checking import check  # noqa: E402
from numpy_attention.course.exercises.mistakes import MISTAKES  # noqa: E402

UNSEEN = [*unseen.UNSEEN, *unseen_models.UNSEEN]


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--unseen", action="store_true", help="tell the unseen ones, one by one")
    parser.add_argument("names", nargs="*", metavar="EXERCISE", help="some of them")
    options = parser.parse_args(arguments)
    written = [name for name, one in EXERCISES.items() if one.planted is None]
    unknown = set(options.names) - set(written)
    if unknown:
        print(f"exercise_exam: no exercise is named {', '.join(sorted(unknown))}", file=sys.stderr)
        return 2
    names = [name for name in written if not options.names or name in options.names]
    return told(names) if options.unseen else table(names)


def verdict(name, text):
    """→ the Verdict, and the seconds that it took."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "mine.py"
        path.write_text(text, encoding="utf-8")
        start = time.perf_counter()
        return check(EXERCISES[name], path), time.perf_counter() - start


def table(names):
    print("| exercise | curated | caught | named | unseen | caught | named | or proven | "
          "seconds of a pass |\n"
          "| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    sums = [0] * 7
    for name in names:
        solution = EXERCISES[name].solution
        curated = [(said, verdict(name, solution.replace(right, wrong))[0])
                   for right, wrong, said in MISTAKES[name]]
        unseen = [verdict(name, text_of(one))[0] for one in UNSEEN if one.exercise == name]
        row = [len(curated), sum(not found.passed for _, found in curated),
               sum(said in found.mistakes for said, found in curated), len(unseen),
               sum(not found.passed for found in unseen),
               sum(bool(found.mistakes) for found in unseen),
               sum(bool(found.mistakes) or found.proven for found in unseen)]
        sums = [a + b for a, b in zip(sums, row)]
        seconds = verdict(name, solution)[1]
        print(f"| {name} | " + " | ".join(map(str, row)) + f" | {seconds:.1f} |", flush=True)
    print("| all | " + " | ".join(map(str, sums)) + " | |")
    return 0


def told(names):
    for one in UNSEEN:
        if one.exercise in names:
            found, _ = verdict(one.exercise, text_of(one))
            print(f"{one.exercise}: {one.wrong}")
            for said in found.mistakes or ["not named"]:
                print(f"    {said}")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    sys.exit(main())
