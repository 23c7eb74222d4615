"""Change one place of the package at a time, and see whether a unit test fails.

    python campaigns/mutation/mutate.py                         every backward pass
    python campaigns/mutation/mutate.py --only layers/linear.py     files or folders of the package
    python campaigns/mutation/mutate.py --lines                 training, decoding, metrics, data, …
    python campaigns/mutation/mutate.py --sample 50 --seed 7    50 mutants, chosen at random
    python campaigns/mutation/mutate.py --workers 2 --resume FILE   FILE records the outcomes

Without --lines, each statement of every function that computes gradients is deleted, or its result
negated. With --lines, one comparison, constant, argument, returned value or statement is changed,
in any code. mutants.py defines both.

Only the quick tier is run on a mutant, without pytest-xdist: the tests that execute the changed
line, first those of its own file, then the fastest. If no test is known to execute a line (it may
run on import, or in another process), the whole quick tier is run. Mutants of kernels are tested
with kernels as plain Python. A mutant that hangs counts as caught and is printed as TOO SLOW. On a
busy machine it may be a survivor.

Exits with status 1 if a mutant survives without an entry in equivalent_mutants.toml, or if an entry
of that file no longer matches a survivor. With --resume, a caught mutant is tried again only when
its function has changed, and a survivor when a test has.
"""

import argparse
import fnmatch
import hashlib
import itertools
import json
import math
import os
import queue
import random
import shutil
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:        # before Python 3.11
    import tomli as tomllib
from mutants import backward_mutants, line_mutants
from mutation_worker import KERNELS, SLOW, SURVIVED

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PACKAGE = "numpy_attention/"
BACKWARD = ("kernels", "layers", "cells", "attention", "models")
LINES = ("training", "decoding", "metrics.py", "data", "experiments")
TESTS = ("tests",)
# tests whose lines in the kernels are measured, with kernels as plain Python
OF_KERNELS = ("tests/kernels", "tests/gradcheck/test_cases.py")
# corpora that do not ship; tests that need them are skipped if they are absent
DATA = ROOT.parent / "shared"
# tests that together use most kernels: a worker runs them once, so that the kernels are compiled
FIRST = ("tests/training/test_trainer.py", "tests/decoding/test_beam.py")
# total time of the tests of other files that are tried first
SECONDS = 2
EQUIVALENT = tomllib.loads((HERE / "equivalent_mutants.toml").read_text(encoding="utf-8"))


def digest(*texts):
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()[:16]


def digest_of(*folders):
    """Return a digest of all Python files in these folders of the checkout."""
    files = sorted(file for folder in folders for file in (ROOT / folder).rglob("*.py"))
    return digest(*(file.read_text(encoding="utf-8") for file in files))


def all_mutants(names, make):
    """Return the mutants of files or folders of the package. Raises FileNotFoundError."""
    made = []
    for name in names:
        path = ROOT / PACKAGE / name
        if not path.exists():
            raise FileNotFoundError(f"no file or folder {name}: name it relative to {path.parent}")
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            made += make(file, file.relative_to(ROOT).as_posix())
    return made


def reason(mutant):
    """Return why a mutant is equivalent, from equivalent_mutants.toml, or None."""
    return next((entry["reason"] for entry in EQUIVALENT["backward"] + EQUIVALENT["lines"]
                 if any(matches(mutant.key, pattern) for pattern in entry["mutants"])), None)


def matches(key, pattern):
    """Return whether a pattern, in which * matches anything, matches this key."""
    return key == pattern or fnmatch.fnmatchcase(key, pattern.replace("[", "[[]"))


# ---- processes in copies of the checkout --------------------------------------------------------


def environment(folder):
    """Return the environment of a process that uses the package in this folder, on one core."""
    return {**os.environ, "PYTHONPATH": str(folder), "MPLBACKEND": "Agg",
            "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def copy_of_checkout(folder):
    """Copy all files that git tracks or would add, and link the data. Return the copy."""
    if DATA.exists():
        (folder / DATA.name).symlink_to(DATA)
    folder = folder / "checkout"
    found = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                            "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, found.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def measured_lines(*words):
    """Run line_coverage.py in a copy. Raises RuntimeError if the unchanged tests do not pass."""
    with tempfile.TemporaryDirectory() as folder:
        copy, out = copy_of_checkout(Path(folder)), Path(folder, "lines.json")
        command = [sys.executable, str(HERE / "line_coverage.py"), str(out), *words]
        run = subprocess.run(command, cwd=copy, env=environment(copy), capture_output=True,
                             text=True)
        if run.returncode != 0:
            raise RuntimeError(f"no tests could be measured:\n{run.stdout}{run.stderr}")
        return json.loads(out.read_text(encoding="utf-8"))


class LineCoverage:
    """The tests that run each line, and their seconds, measured once per state of the checkout."""

    def __init__(self, keep, tests=TESTS, kernels=False):
        """Measure, or read the file `keep`. kernels: also measure kernels, as plain Python."""
        self.keep = keep
        self.measured = self._kept("compiled", *tests)
        of_kernels = OF_KERNELS if tests == TESTS else tests
        self.kernels = self._kept("plain", "--plain", *of_kernels) if kernels else None

    def _kept(self, name, *words):
        code = digest_of("numpy_attention", "tests") + " ".join(words)
        known = {}
        if self.keep and self.keep.exists():
            known = json.loads(self.keep.read_text(encoding="utf-8"))
        if known.get(name, {}).get("code") != code:
            known[name] = {"code": code, **measured_lines(*words)}
            if self.keep:
                self.keep.write_text(json.dumps(known), encoding="utf-8")
        return known[name]

    def tests(self, mutant):
        """Return [tests to try first, other tests], and the seconds of each test.

        The tests of the mutant's own file come first, then the fastest others, up to SECONDS.
        """
        of_kernels = mutant.file.startswith(KERNELS)
        measured = self.kernels if of_kernels and self.kernels else self.measured
        seconds, lines = measured["seconds"], measured["lines"].get(mutant.file, {})
        found = {test for line in mutant.lines for test in lines.get(str(line), ())}
        inside = Path(mutant.file).relative_to(PACKAGE)
        own = f"tests/{(inside.parent / f'test_{inside.stem}').as_posix()}"
        found = sorted(found or seconds, key=lambda test: (seconds[test], test))
        own_tests = [test for test in found if test.startswith(own)]
        others = [test for test in found if not test.startswith(own)]
        spent = itertools.accumulate(seconds[test] for test in others)
        number = sum(total <= SECONDS for total in spent)
        return [own_tests + others[:number], others[number:]], seconds


def judged(mutants, coverage, workers):
    """Yield (mutant, whether it survives) as results arrive. Raises the error of a worker."""
    left = iter(mutants)            # shared by the workers
    done = queue.SimpleQueue()

    def work():
        try:
            judge_what_is_left()
        except Exception as error:
            done.put(error)

    def judge_what_is_left():
        with tempfile.TemporaryDirectory() as folder:
            copy = copy_of_checkout(Path(folder))
            known = {test.partition("::")[0] for test in coverage.measured["seconds"]}
            first = [test for test in FIRST if test in known]
            command = [sys.executable, str(HERE / "mutation_worker.py"), str(copy), *first]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  env=environment(copy), text=True) as worker:
                worker.stdout.readline()
                for mutant in left:
                    done.put((mutant, survives(worker, mutant, coverage)))
                worker.stdin.close()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for _ in range(len(mutants)):
        ended = done.get()
        if isinstance(ended, Exception):
            raise ended
        yield ended


def survives(worker, mutant, coverage):
    """Return whether no test fails. A mutant with an entry gets only the tests tried first."""
    (first, rest), seconds = coverage.tests(mutant)
    return passes(worker, mutant, first, seconds) and (
        reason(mutant) is not None or passes(worker, mutant, rest, seconds))


def passes(worker, mutant, tests, seconds):
    if not tests:
        return True
    expected = sum(seconds[test] for test in tests)
    job = {"file": mutant.file, "source": mutant.source, "tests": tests,
           "seconds": math.ceil(5 + 3 * expected)}
    worker.stdin.write(json.dumps(job) + "\n")
    worker.stdin.flush()
    answer = worker.stdout.readline()
    if not answer:
        raise RuntimeError(f"the worker process ended at {mutant}")
    verdict = json.loads(answer)
    if verdict == SLOW:
        print(f"TOO SLOW    {mutant}", flush=True)
    return verdict == SURVIVED


# ---- the campaign -------------------------------------------------------------------------------


class Outcomes:
    """{(mutant, code): whether it survives}, also as JSON lines in a file if a path is given."""

    def __init__(self, path=None):
        self.path = path
        self.known = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                outcome = json.loads(line)
                self.known[outcome["mutant"], outcome["code"]] = outcome["survives"]

    def add(self, mutant, code, survived):
        self.known[mutant, code] = survived
        if self.path is not None:
            line = {"mutant": mutant, "survives": survived, "code": code}
            with open(self.path, "a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")


def run(made, outcomes, coverage, workers=1):
    """Try mutants without a known outcome. Return the survivors."""
    tests = digest_of("tests")

    def surviving(mutant):
        """Digest what a survival depends on: code, tests, and the entry, which limits the tests."""
        return digest(mutant.code, tests, str(reason(mutant)))

    def known(mutant):
        if outcomes.known.get((mutant.key, digest(mutant.code))) is False:
            return False
        return outcomes.known.get((mutant.key, surviving(mutant)))

    pending = [mutant for mutant in made if known(mutant) is None]
    for number, (mutant, survived) in enumerate(judged(pending, coverage, workers), 1):
        outcomes.add(mutant.key, surviving(mutant) if survived else digest(mutant.code), survived)
        if number % 100 == 0:
            print(f"{number} of {len(pending)} tried", flush=True)
    return [mutant for mutant in made if known(mutant)]


def report(made, survivors, stale=()):
    """Print all survivors and a table by folder. Return the exit status."""
    def folder(mutant):
        return mutant.file.removeprefix(PACKAGE).partition("/")[0]

    no_reason = [mutant for mutant in survivors if reason(mutant) is None]
    for mutant in no_reason:
        print(f"SURVIVED    {mutant}")
    for pattern in stale:
        print(f"STALE       {pattern}")
    total, lived, unsolved = (Counter(map(folder, one)) for one in (made, survivors, no_reason))
    print("| folder | mutants | caught | equivalent, with a reason | survived |")
    print("|---|---:|---:|---:|---:|")
    for name, *counts in [*((name, total[name], lived[name], unsolved[name]) for name in total),
                          ("all", len(made), len(survivors), len(no_reason))]:
        every, survived, unexplained = counts
        print(f"| {name} | {every:,} | {every - survived:,} | {survived - unexplained} | "
              f"{unexplained} |")
    return 1 if no_reason or stale else 0


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lines", action="store_true",
                        help="change any code, not only code that computes gradients")
    parser.add_argument("--only", nargs="+", metavar="PATH",
                        help="files or folders, relative to the package")
    parser.add_argument("--tests", nargs="+", metavar="TEST", default=TESTS,
                        help="run only these tests (default: the quick tier)")
    parser.add_argument("--sample", type=int, metavar="N", help="N mutants, chosen at random")
    parser.add_argument("--seed", type=int, default=0, help="random seed (default 0)")
    parser.add_argument("--workers", type=int, default=1, help="number of processes (default 1)")
    parser.add_argument("--resume", type=Path, metavar="FILE",
                        help="record outcomes in FILE, and skip those already in it")
    options = parser.parse_args(arguments)
    make, names = (line_mutants, LINES) if options.lines else (backward_mutants, BACKWARD)
    try:
        made = all_mutants(options.only or names, make)
    except FileNotFoundError as error:
        parser.error(str(error))
    if options.sample is not None:
        made = random.Random(options.seed).sample(made, min(options.sample, len(made)))
    keep = options.resume and options.resume.with_suffix(".tests.json")
    kernels = any(mutant.file.startswith(KERNELS) for mutant in made)
    coverage = LineCoverage(keep, options.tests, kernels)
    survivors = run(made, Outcomes(options.resume), coverage, options.workers)
    stale = ()
    if options.only is None and options.sample is None:
        keys = [mutant.key for mutant in survivors]
        entries = EQUIVALENT["lines" if options.lines else "backward"]
        stale = [pattern for entry in entries for pattern in entry["mutants"]
                 if not any(matches(key, pattern) for key in keys)]
    return report(made, survivors, stale)


if __name__ == "__main__":
    sys.exit(main())
