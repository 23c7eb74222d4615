"""Checks the gradient checks: deletes or negates every statement of every backward pass, in turn.

    python tools/mutate.py                              all of numpy_attention
    python tools/mutate.py --only layers/linear.py      a file of it, or any other
    python tools/mutate.py --workers 2 --resume FILE    in two processes; FILE keeps the outcomes

A mutant is caught when a check of `gradcheck.cases` that reaches the mutated function fails.
Exit status 1 when one survives that equivalent.py does not explain, or when what stands there, or
in mutants.py, names nothing any more. What may be mutated, and how, is said in mutants.py.

A file of your own, given by its path, is imported before the checks are: an entry that it makes in
a table of `numpy_attention.registry` is checked like those that are there.

Nothing is compiled but the unmutated kernels, once: mutants run as plain Python, in which np.empty
gives NaN (so that what is never written shows), and central differences, which no backward pass
enters, are taken once from the unmutated package. With --resume, what FILE says of the same code is
not tried again.
"""

import argparse
import contextlib
import multiprocessing
import signal
import sys
import warnings
from pathlib import Path

import numpy as np
from equivalent import EQUIVALENT
from exchange import PACKAGE, exchange, import_all, module_of, plain_python, replaced, shown
from mutants import ALSO, ALSO_FORWARD, functions, mutants, plain
from outcomes import Outcomes, digest

from numpy_attention.gradcheck import differences
from numpy_attention.gradcheck.report.report import Report

# of processor time, for a check of a mutant; one that takes longer hangs, and counts as caught
SECONDS = 60

# ---- checks ------------------------------------------------------------------------------------


class Numerics:
    """Central differences of each check, taken once."""

    def __init__(self):
        self.taken = {}

    def record(self, name):
        take = differences.numeric_gradient
        taken = self.taken[name] = []

        def recorded(loss, array, *args):
            before = array.copy()
            taken.append((before, take(loss, array, *args)))
            return taken[-1][1]
        return replaced([((differences, "numeric_gradient"), recorded)])

    def replay(self, name):
        """The check's own from the record; those that its report asks for are taken."""
        take = differences.numeric_gradient
        again = iter(self.taken[name])

        def replayed(loss, array, *args):
            before, found = next(again, (None, None))
            known = before is not None and np.array_equal(before, array)
            return found if known else take(loss, array, *args)
        return replaced([((differences, "numeric_gradient"), replayed)])


def reached(check):
    """(file, first line) of every function that a check calls, without its central differences."""
    found = set()

    def profile(frame, event, _):
        if event == "call":
            found.add((frame.f_code.co_filename, frame.f_code.co_firstlineno))

    no_numerics = ((differences, "numeric_gradient"),
                   lambda loss, array, _: np.zeros_like(array))
    no_verdict = ((Report, "wrong"), ())
    with replaced([no_numerics, no_verdict]):
        sys.setprofile(profile)
        try:
            check(np.random.default_rng(0))
        finally:
            sys.setprofile(None)
    return found


def prepared(checks, wanted):
    """→ ({name of a check: the functions of `wanted` that it calls}, their central differences).

    The wanted functions are compiled anew, unchanged, and must pass: else every mutant would be
    caught, for nothing.
    """
    with plain_python():
        calls = {name: reached(check) for name, check in checks.items()}
    firsts = {function.first for function in wanted}
    numerics = Numerics()
    for name, check in checks.items():
        if calls[name] & firsts:
            with numerics.record(name):
                check(np.random.default_rng(0))
    with plain_python():
        unchanged = []
        for function in wanted:
            unchanged += exchange(function, plain(function.node))
        with replaced(unchanged):
            for name in numerics.taken:
                with numerics.replay(name):
                    checks[name](np.random.default_rng(0))
    return calls, numerics


# ---- the campaign ------------------------------------------------------------------------------


class OutOfTime(BaseException):
    """No Exception: a check that goes on after whatever a backward pass raises must end at it."""


def out_of_time(*_):
    raise OutOfTime("the mutant hangs")


@contextlib.contextmanager
def bounded():
    """OutOfTime after SECONDS."""
    signal.signal(signal.SIGVTALRM, out_of_time)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def survives(mutant, checks, numerics):
    """True when no check fails."""
    return failure(mutant, checks, numerics) is None


def failure(mutant, checks, numerics, path=None):
    """What the first check that fails raises, or None; path: as `exchange` has it."""
    function = mutant.function
    try:
        with (warnings.catch_warnings(), plain_python(),
              replaced(exchange(function, mutant.node, path))):
            warnings.simplefilter("ignore")
            for name, check in checks.items():
                fixed = contextlib.nullcontext() if function.forward_too else numerics.replay(name)
                with fixed, bounded():
                    check(np.random.default_rng(0))
        return None
    except (Exception, OutOfTime) as error:             # whatever it is, a test would fail
        return error


def tried(jobs, workers, attempt):
    """(place, attempt(*job)) of each job, in the order in which they end."""
    if workers == 1:
        for i, job in enumerate(jobs):
            yield i, attempt(*job)
        return
    with multiprocessing.get_context("fork").Pool(workers, _adopt, (jobs, attempt)) as pool:
        yield from pool.imap_unordered(_try, range(len(jobs)))


def _adopt(jobs, attempt):
    global _jobs, _attempt
    _jobs, _attempt = jobs, attempt


def _try(i):
    return i, _attempt(*_jobs[i])


def digest_of(paths):
    """Of the package, and of these files."""
    return digest(*(file.read_bytes() for file in sorted({*PACKAGE.rglob("*.py"), *paths})))


def made_of(paths):
    """All mutants of the files, whose modules are imported."""
    made = []
    for path in paths:
        for function in functions(path, shown(path)):
            module_of(path)
            made += mutants(function)
    return made


def reaching(mutant, checks, calls):
    """The checks that enter the mutated function; calls: as `prepared` gives them."""
    return {name: check for name, check in checks.items() if mutant.function.first in calls[name]}


def run(paths, checks, workers=1, outcomes=None):
    """Make and try all mutants of the files; → (mutants made, those that survive)."""
    import_all()
    outcomes = outcomes or Outcomes()
    code = digest_of(paths)
    made = made_of(paths)
    waiting = [mutant for mutant in made if outcomes.get(str(mutant), code) is None]
    wanted = {mutant.function.first: mutant.function for mutant in waiting}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        calls, numerics = prepared(checks, wanted.values()) if waiting else ({}, None)
    jobs = [(mutant, reaching(mutant, checks, calls), numerics) for mutant in waiting]
    for i, survived in tried(jobs, workers, survives):
        outcomes.add(str(waiting[i]), code, survived)
    return made, [mutant for mutant in made if outcomes.get(str(mutant), code)]


def stale(made, paths, everything):
    """What equivalent.py names that is not there any more, and mutants.py if this is all."""
    files = {shown(path) for path in paths}
    keys = {mutant.key for mutant in made}
    found = [f"{key}: there is no such mutant, see equivalent.py" for key in EQUIVALENT
             if key.partition(" ")[0] in files and key not in keys]
    if everything:
        there = {mutant.function.node.name for mutant in made}
        found += [f"{name}: there is no such function, see mutants.py"
                  for name in sorted((ALSO | ALSO_FORWARD) - there)]
    return found


def report(made, survivors, out_of_date):
    """Print it all; → the exit status."""
    explained = [mutant for mutant in survivors if mutant.key in EQUIVALENT]
    alive = [mutant for mutant in survivors if mutant.key not in EQUIVALENT]
    for mutant in explained:
        print(f"equivalent  {mutant}\n            {EQUIVALENT[mutant.key]}")
    for mutant in alive:
        print(f"SURVIVED    {mutant}")
    for text in out_of_date:
        print(f"STALE       {text}")
    mutated = {mutant.function.first for mutant in made}
    files = {file for file, _ in mutated}
    print(f"{len(made)} mutants of {len(mutated)} functions in {len(files)} files: "
          f"{len(made) - len(survivors)} caught, {len(explained)} change no gradient, "
          f"{len(alive)} survived")
    return 1 if alive or out_of_date else 0


def files_of(given, error):
    """Paths of what --only names, or of all of the package but its checks."""
    if not given:
        return [path for path in sorted(PACKAGE.rglob("*.py"))
                if PACKAGE / "checks" not in path.parents]
    paths = []
    for text in given:
        inside = PACKAGE / text
        path = inside if inside.is_file() else Path(text).resolve()
        if not path.is_file():
            error(f"{text} is no file: name it relative to {PACKAGE}, or give its path")
        paths.append(path)
    return paths


def main(arguments=None, checks=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="PATH",
                        help="files, relative to the package (layers/linear.py), or any others")
    parser.add_argument("--workers", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--resume", type=Path, metavar="FILE",
                        help="keep outcomes in FILE, and try only what it does not hold")
    options = parser.parse_args(arguments)
    paths = files_of(options.only, parser.error)
    for path in paths:
        if not path.is_relative_to(PACKAGE):
            module_of(path)
    if checks is None:
        from numpy_attention.gradcheck.cases import CHECKS as checks
    made, survivors = run(paths, checks, options.workers, Outcomes(options.resume))
    return report(made, survivors, stale(made, paths, everything=not options.only))


if __name__ == "__main__":
    sys.exit(main())
