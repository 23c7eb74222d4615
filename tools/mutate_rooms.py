"""Checks the tests beside the gradients: changes one place at a time in the rooms that train,
decode, measure and record, and sees whether a test fails.

    python tools/mutate_rooms.py                            all of ROOMS
    python tools/mutate_rooms.py --only training runs/words.py      rooms or files of the package
    python tools/mutate_rooms.py --sample 50 --seed 7       so many, drawn at random
    python tools/mutate_rooms.py --workers 2 --resume FILE  in two processes; FILE keeps outcomes

What may be changed is said in line_mutants.py. Only tests that run the changed line are tried,
those of its own file first, the quickest next, until they make up SECONDS; a mutant that they let
pass and harmless.py does not explain meets the others, too, before it is called a survivor. Exit
status 1 when one survives, or when what stands in harmless.py names nothing any more.

With --resume, a mutant caught is tried again only when its function has changed, one that survived
when a test has, or what harmless.py says of it. The table by room at the end is the one in
docs/sharpness.md.
"""

import argparse
import fnmatch
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

from harmless import HARMLESS
from line_mutants import mutants
from outcomes import Outcomes, digest
from patient import SURVIVED

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("training", "decoding", "metrics.py", "data", "runs", "recipes")
TESTS = ("tests/training", "tests/decoding", "tests/test_metrics.py", "tests/data", "tests/runs",
         "tests/recipes", "tests/tools/test_refusals.py")
# corpora that do not ship; tests that need them are skipped where they are not
BESIDE = ROOT.parent / "shared"
# these need most of the kernels
FIRST = ("tests/training/test_trainer.py", "tests/decoding/test_beam.py")
# of tests beside those of the file itself, that are tried first
SECONDS = 2

# ---- what is mutated ---------------------------------------------------------------------------


def files_of(names):
    """Paths of rooms or files of the package. FileNotFoundError."""
    package = ROOT / "numpy_attention"
    found = []
    for name in names:
        path = package / name
        if not path.exists():
            raise FileNotFoundError(f"no file or room {name}: name it relative to {package}")
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return found


def test_files():
    """Those of TESTS, and what they share."""
    found = [ROOT / "tests" / "conftest.py"]
    for name in TESTS:
        path = ROOT / name
        found += sorted(path.rglob("*.py")) if path.is_dir() else [path]
    return found


def all_mutants(names):
    made = []
    for path in files_of(names):
        made += mutants(path, path.relative_to(ROOT).as_posix())
    return made


def room(mutant):
    """The name in ROOMS that holds it, or its file."""
    inside = mutant.file.removeprefix("numpy_attention/")
    return inside.partition("/")[0] if "/" in inside else inside


# ---- the tests that can notice -----------------------------------------------------------------


class Noticing:
    """Which tests run a line, and their seconds, measured once for one state of the checkout."""

    def __init__(self, keep):
        """keep: a file, or None."""
        package = sorted((ROOT / "numpy_attention").rglob("*.py"))
        code = digest(*(path.read_bytes() for path in [*package, *test_files()]))
        known = json.loads(keep.read_text(encoding="utf-8")) if keep and keep.exists() else {}
        if known.get("code") != code:
            known = {"code": code, **self._measured()}
            if keep:
                keep.write_text(json.dumps(known), encoding="utf-8")
        self.seconds = known["seconds"]
        self.lines = known["lines"]

    @staticmethod
    def _measured():
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "noticing.json"
            command = [sys.executable, str(ROOT / "tools" / "noticing.py"), str(out), *TESTS]
            run = subprocess.run(command, cwd=ROOT, env=environment(ROOT), capture_output=True,
                                 text=True)
            if run.returncode != 0:
                raise RuntimeError(f"no tests could be measured:\n{run.stdout}{run.stderr}")
            return json.loads(out.read_text(encoding="utf-8"))

    def tests(self, mutant):
        """→ tests that run it: those to be tried first, its own and others up to SECONDS, the
        quickest first; and the rest of them.
        """
        lines = self.lines.get(mutant.file, {})
        inside = Path(mutant.file).relative_to("numpy_attention")
        own = f"tests/{(inside.parent / f'test_{inside.stem}').as_posix()}"
        found = {test for line in mutant.lines for test in lines.get(str(line), ())}
        if not found:           # run on import alone: what runs the file, or is its room's
            around = f"tests/{inside.parent.as_posix()}/"
            found = {test for tests in lines.values() for test in tests}
            found |= {test for test in self.seconds if test.startswith((own, around))}
        owners = tuple(f"{name}-" for name in {mutant.function, mutant.function.split(".")[0]})

        def is_own(test):
            """Of its own file, or of wrong arguments for what it is in."""
            return test.startswith(own) or test.partition("[")[2].startswith(owners)

        own_ones, others = (sorted((test for test in found if is_own(test) is whether),
                                   key=lambda test: (self.seconds[test], test))
                            for whether in (True, False))
        spent = itertools.accumulate(self.seconds[test] for test in others)
        number = sum(seconds <= SECONDS for seconds in spent)
        return own_ones + others[:number], others[number:]


# ---- the campaign ------------------------------------------------------------------------------


def environment(folder):
    """Of a process that imports the package from this folder, on one core."""
    return {**os.environ, "PYTHONPATH": str(folder), "MPLBACKEND": "Agg",
            "OPENBLAS_NUM_THREADS": "1"}


def copy_of_checkout(folder):
    """→ a copy, of all files that git knows or would add, beside the same data as the checkout."""
    if BESIDE.exists():
        (folder / BESIDE.name).symlink_to(BESIDE)
    folder = folder / "checkout"
    listed = subprocess.run(["git", "ls-files", "-z", "--cached", "--others",
                             "--exclude-standard"], cwd=ROOT, capture_output=True, check=True)
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


def tried(waiting, noticing, workers):
    """Yield (mutant, whether it survives) in the order in which they end. A worker's error."""
    left = iter(waiting)            # shared by the workers
    done = queue.SimpleQueue()

    def work():
        try:
            try_what_is_left()
        except Exception as error:
            done.put(error)

    def try_what_is_left():
        with tempfile.TemporaryDirectory() as folder:
            copy = copy_of_checkout(Path(folder))
            command = [sys.executable, str(ROOT / "tools" / "patient.py"), str(copy), *FIRST]
            with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  env=environment(copy), text=True) as patient:
                patient.stdout.readline()
                for mutant in left:
                    done.put((mutant, _survives(patient, mutant, noticing)))
                patient.stdin.close()

    threads = [threading.Thread(target=work, daemon=True) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for _ in range(len(waiting)):
        ended = done.get()
        if isinstance(ended, Exception):
            raise ended
        yield ended


def _survives(patient, mutant, noticing):
    """Whether no test notices it; of one that does no harm, none of those that are tried first."""
    first, rest = noticing.tests(mutant)
    seconds = noticing.seconds
    return _passes(patient, mutant, first, seconds) and (
        reason(mutant) is not None or _passes(patient, mutant, rest, seconds))


def _passes(patient, mutant, tests, seconds):
    """Whether these tests, which take so many seconds each, let a mutant pass."""
    if not tests:
        return True
    expected = sum(seconds[test] for test in tests)
    job = {"file": mutant.file, "source": mutant.source, "tests": tests,
           "seconds": math.ceil(5 + 3 * expected)}
    patient.stdin.write(json.dumps(job) + "\n")
    patient.stdin.flush()
    answer = patient.stdout.readline()
    if not answer:
        raise RuntimeError(f"the process that tries mutants ended at {mutant}")
    return json.loads(answer) == SURVIVED


def run(made, outcomes, noticing, workers=1):
    """Try what the outcomes do not know; → those that survive."""
    tests = digest(*(path.read_bytes() for path in test_files()))

    def surviving(mutant):
        """Of all that its survival hangs on; one that was explained has not met all tests."""
        return digest(mutant.code, tests, str(reason(mutant)))

    def known(mutant):
        if outcomes.get(mutant.key, digest(mutant.code)) is False:
            return False
        return outcomes.get(mutant.key, surviving(mutant))

    waiting = [mutant for mutant in made if known(mutant) is None]
    for number, (mutant, survives) in enumerate(tried(waiting, noticing, workers), 1):
        code = surviving(mutant) if survives else digest(mutant.code)
        outcomes.add(mutant.key, code, survives)
        if number % 100 == 0:
            print(f"{number} of {len(waiting)} tried", flush=True)
    return [mutant for mutant in made if known(mutant)]


# ---- the report --------------------------------------------------------------------------------


def reason(mutant):
    """Why it does no harm, from harmless.py; None where nothing is said."""
    for text, keys in HARMLESS.items():
        if any(matches(mutant.key, key) for key in keys):
            return text
    return None


def matches(key, pattern):
    """A pattern is a key, in which * stands for anything."""
    return key == pattern or fnmatch.fnmatchcase(key, pattern.replace("[", "[[]"))


def stale(survivors):
    """What harmless.py names and what does not survive any more."""
    keys = [mutant.key for mutant in survivors]
    return [pattern for patterns in HARMLESS.values() for pattern in patterns
            if not any(matches(key, pattern) for key in keys)]


def report(made, survivors, out_of_date=()):
    """Print it all; → the exit status."""
    alive = [mutant for mutant in survivors if reason(mutant) is None]
    for mutant in alive:
        print(f"SURVIVED    {mutant}")
    for pattern in out_of_date:
        print(f"STALE       {pattern}")
    lived, unexplained = Counter(map(room, survivors)), Counter(map(room, alive))
    total = Counter(map(room, made))
    print("| room | mutants | caught | harmless, with a reason | survived |")
    print("|---|---:|---:|---:|---:|")
    for name in total:
        print(f"| {name} | {total[name]} | {total[name] - lived[name]} | "
              f"{lived[name] - unexplained[name]} | {unexplained[name]} |")
    print(f"| all | {len(made)} | {len(made) - len(survivors)} | "
          f"{len(survivors) - len(alive)} | {len(alive)} |")
    return 1 if alive or out_of_date else 0


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="PATH", default=ROOMS,
                        help="rooms or files, relative to the package")
    parser.add_argument("--sample", type=int, metavar="N", help="N of them, drawn at random")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default 0)")
    parser.add_argument("--workers", type=int, default=1, help="processes (default 1)")
    parser.add_argument("--resume", type=Path, metavar="FILE",
                        help="keep outcomes in FILE, and try only what it does not hold")
    options = parser.parse_args(arguments)
    try:
        made = all_mutants(options.only)
    except FileNotFoundError as error:
        parser.error(str(error))
    whole = tuple(options.only) == ROOMS and options.sample is None
    if options.sample is not None:
        made = random.Random(options.seed).sample(made, min(options.sample, len(made)))
        print(f"{len(made)} mutants drawn with seed {options.seed}")
    keep = options.resume and options.resume.with_suffix(".tests.json")
    survivors = run(made, Outcomes(options.resume), Noticing(keep), options.workers)
    return report(made, survivors, stale(survivors) if whole else ())


if __name__ == "__main__":
    sys.exit(main())
