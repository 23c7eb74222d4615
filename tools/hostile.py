"""Hostile input of many kinds: each must come out right, or be refused in one clear line.

    python tools/hostile.py                             200 attempts of every kind
    python tools/hostile.py calls --number 4000         of one kind
    python tools/hostile.py --seed 3 --workers 2        others, in two processes
    python tools/hostile.py --resume FILE               FILE keeps the results

An attempt may also crash, hang, end in another library's words, be accepted although it is wrong,
or execute what the input says: these are findings, listed at the end with what repeats them.
What a machine cannot do is not tried, and told. `--only I` tries attempt I alone. Exit status 1 on
any finding. With --resume, what FILE says of the same code and seed is not tried again.
hostility/accepted.py explains what looks like a finding.
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

from hostility import accepted, engine
from hostility.outcome import FINDINGS, REFUSED, RIGHT, UNTRIED

COLUMNS = (RIGHT, REFUSED, "explained", *FINDINGS)


def verdict_of(result):
    """→ its column in the table: a finding that accepted.py has a reason for is "explained"."""
    if result.verdict in ("silence", "crash") and accepted.reason(shown(result)):
        return "explained"
    return result.verdict


def shown(result):
    return f"{result.kind}: {result.what} → {result.text}"


def table(results):
    """Lines of the table kind × verdict."""
    counts = Counter((result.kind, verdict_of(result)) for result in results)
    kinds = list(dict.fromkeys(result.kind for result in results))
    yield " ".join([f"{'kind':<12}", f"{'tried':>7}", *(f"{name:>10}" for name in COLUMNS)])
    for kind in kinds:
        numbers = [counts[kind, name] for name in COLUMNS]
        yield " ".join([f"{kind:<12}", f"{sum(numbers):>7}", *(f"{n:>10}" for n in numbers)])


def report(results):
    """Print findings, what was not tried, and the table; → the exit status."""
    findings = [result for result in results if verdict_of(result) in FINDINGS]
    tried = [result for result in results if result.verdict != UNTRIED]
    untried = Counter((result.kind, result.text) for result in results
                      if result.verdict == UNTRIED)
    for result in findings:
        print(f"{result.verdict.upper():<10} {result.i:>6} {shown(result)}")
    for (kind, why), number in untried.items():
        print(f"{UNTRIED.upper():<10} {number:>6} {kind}: {why}")
    for line in table(tried):
        print(line)
    return 1 if findings else 0


def main(arguments=None, attempts=None):
    attempts = engine.kinds() if attempts is None else attempts
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND",
                        help=f"kinds of attack: {', '.join(attempts)} (default: all)")
    parser.add_argument("--number", type=int, default=200, help="attempts a kind (default 200)")
    parser.add_argument("--only", type=int, metavar="I", help="attempt I alone")
    parser.add_argument("--seed", type=int, default=0, help="of all attempts (default 0)")
    parser.add_argument("--workers", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--seconds", type=float, default=engine.SECONDS,
                        help=f"until an attempt hangs (default {engine.SECONDS})")
    parser.add_argument("--resume", type=Path, metavar="FILE",
                        help="keep results in FILE, and try only what it does not hold")
    options = parser.parse_args(arguments)
    for kind in options.kinds:
        if kind not in attempts:
            parser.error(f"{kind} is no kind of attack: expected {', '.join(attempts)}")
    chosen = {kind: attempts[kind] for kind in options.kinds or attempts}
    numbers = range(options.number) if options.only is None else [options.only]
    log = engine.Log(options.resume, options.seed)
    results = engine.run(chosen, numbers, options.seed, options.workers, options.seconds, log)
    return report(results)


if __name__ == "__main__":
    sys.exit(main())
