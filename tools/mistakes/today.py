"""What the gradient check says of each planted mistake: a table, and counts.

    python tools/mistakes/today.py                  all of them
    python tools/mistakes/today.py --known gru      those of a file by which a tool may be tuned

A mistake is "wrong" where the check raises GradientError, "stopped" where anything else is raised,
and "passes" where nothing is: these a law may see, or nobody. What memory from np.empty holds is
chance, so an unwritten array may pass today and be wrong tomorrow.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mistakes.kept_out import KEPT_OUT  # noqa: E402
from mistakes.known import KNOWN  # noqa: E402
from mistakes.planting import FILES, plant  # noqa: E402

from numpy_attention.gradcheck import GradientError, gradcheck  # noqa: E402

VERDICTS = ("wrong", "stopped", "passes")
UNSPECIFIC = "a missing or extra term"


def judge(mistake):
    """→ (verdict, message, "" where it passes)."""
    try:
        target, inputs, forward, backward = plant(mistake).case(np.random.default_rng(0))
        with np.errstate(all="ignore"):
            gradcheck(target, *inputs, rng=np.random.default_rng(1), forward=forward,
                      backward=backward)
    except GradientError as error:
        return "wrong", str(error)
    except Exception as error:                  # whatever a learner's code may come to
        return "stopped", f"{type(error).__name__}: {error}"
    return "passes", ""


def line(mistake, verdict, message):
    first = message.partition("\n")[0]
    return f"{mistake.name:<55} {mistake.kinds[0]:<17} {verdict:<8} {first}".rstrip()


def counts(title, keys, verdicts):
    """Lines of a table key × verdict."""
    found = Counter(zip(keys, verdicts))
    yield f"{title:<20}{'number':>8}" + "".join(f"{verdict:>9}" for verdict in VERDICTS)
    for key in dict.fromkeys(keys):
        row = [found[key, verdict] for verdict in VERDICTS]
        yield f"{key:<20}{sum(row):>8}" + "".join(f"{number:>9}" for number in row)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description="Print what the gradient check says of each planted mistake.")
    parser.add_argument("files", nargs="*", metavar="FILE", help=f"only of {', '.join(FILES)}")
    parser.add_argument("--known", action="store_true",
                        help="only those by which a tool may be tuned")
    options = parser.parse_args(arguments)
    for file in options.files:
        if file not in FILES:
            parser.error(f"no file {file!r}: expected {', '.join(FILES)}")
    halves = {"known": KNOWN} if options.known else {"known": KNOWN, "kept out": KEPT_OUT}
    chosen = [(half, mistake) for half, mistakes in halves.items() for mistake in mistakes
              if not options.files or mistake.file in options.files]
    judged = [judge(mistake) for _, mistake in chosen]
    for (_, mistake), (verdict, message) in zip(chosen, judged):
        print(line(mistake, verdict, message))
    verdicts = [verdict for verdict, _ in judged]
    for title, keys in (("half", [half for half, _ in chosen]),
                        ("file", [mistake.file for _, mistake in chosen]),
                        ("kind", [mistake.kinds[0] for _, mistake in chosen])):
        print("", *counts(title, keys, verdicts), sep="\n")
    unspecific = sum(UNSPECIFIC in message for _, message in judged)
    print(f"\n{len(judged) - verdicts.count('passes')} of {len(judged)} noticed; "
          f'"{UNSPECIFIC}" is what {unspecific} are told')


if __name__ == "__main__":
    main()
