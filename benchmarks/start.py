"""Measure the time until the first training step is finished, with a warm and a cold numba cache.

    python benchmarks/start.py [--model a] [--rounds 5] [--threads 2]
    python benchmarks/start.py --quick              one round at a tiny size

Each start is a new process. A round has two: the first has an empty numba cache (NUMBA_CACHE_DIR),
so all kernels that the step needs are compiled; the second uses the cache that the first has
filled. Prints the median and range over the rounds of

    import      `import numpy_attention`, which imports nothing else of the package
    model       importing the modules for training, NumPy and numba; creating model and batch
    first step  of training, including whatever is compiled or read from the cache
    in all      the sum of these three, next to the goal
    later step  the next step

The start of the interpreter is not included. Python's bytecode and the system's file cache are
warm. The models are described in sides.py.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path
from statistics import median

from machine import machine, parser_of, restart_clean

GOALS = {"cold": 8.0, "warm": 1.0}          # seconds in all
PARTS = ("import", "model", "first step", "in all", "later step")


def start_here(model, threads, quick):
    """Measure the parts in this process, which must not have imported the package or NumPy."""
    times = [time.perf_counter()]

    def passed():
        times.append(time.perf_counter())

    import numpy_attention  # noqa: F401
    passed()
    from sides import MODELS, ours
    from worker import tiny
    step = ours(tiny(MODELS[model]) if quick else MODELS[model], threads, lambda: None)
    passed()
    step()
    passed()
    step()
    passed()
    imported, made, first, later = (after - before for before, after in pairwise(times))
    return dict(zip(PARTS, (imported, made, first, imported + made + first, later)))


def start(cache, options):
    """Measure the parts in a new process whose numba cache is in the folder `cache`."""
    words = [sys.executable, __file__, "--here", "--model", options.model,
             "--threads", str(options.threads)]
    if options.quick:
        words.append("--quick")
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache),
                                "OMP_NUM_THREADS": str(options.threads)}
    done = subprocess.run(words, env=environment, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout)


def table(found):
    """Format {"cold" and "warm": a dict per round} as lines."""
    lines = [" " * 6 + "".join(f"{part:>27}" for part in PARTS) + "    goal, in all"]
    for kind, rounds in found.items():
        cells = []
        for part in PARTS:
            times = [one[part] for one in rounds]
            cells.append(f"{median(times):.3f} ({min(times):.3f}–{max(times):.3f}) s")
        met = "met" if median([one["in all"] for one in rounds]) < GOALS[kind] else "missed"
        lines.append(f"{kind:<6}" + "".join(f"{cell:>27}" for cell in cells)
                     + f"    below {GOALS[kind]:g} s: {met}")
    return lines


def main(arguments=None):
    parser = parser_of(__doc__, rounds=5, threads=2)
    parser.add_argument("--model", default="a", help="a model of sides.py (a)")
    parser.add_argument("--quick", action="store_true", help="one round at a tiny size")
    parser.add_argument("--here", action="store_true", help="measure this process; print JSON")
    options = parser.parse_args(arguments)
    if options.here:
        print(json.dumps(start_here(options.model, options.threads, options.quick)))
        return
    print(machine(options.threads))
    found = {"cold": [], "warm": []}
    for _ in range(1 if options.quick else options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            for kind in found:
                found[kind].append(start(Path(folder), options))
            if not any(Path(folder).rglob("*.nbc")):
                raise RuntimeError(f"numba left nothing in {folder}: are kernels compiled at all?")
    print(f"model {options.model}, {options.threads} threads, median (range) of "
          f"{len(found['cold'])} starts each")
    print("\n".join(table(found)))


if __name__ == "__main__":
    if "--here" not in sys.argv:        # a process with --here inherits the environment
        restart_clean()
    main()
