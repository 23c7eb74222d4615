"""One side of a comparison in a separate process: a turn of steps for every line that it reads.

    python benchmarks/worker.py CHECKOUT SIDE MODEL THREADS [--memory]

SIDE is a function such as sides.ours in the benchmarks of CHECKOUT, and runs with the package of
CHECKOUT. MODEL is a name of the MODELS in its sides.py, or a size in JSON. The worker answers in
lines of JSON: the seconds of its first three steps, in which everything is compiled, and then
[seconds of a step, loss] for every turn. With --memory it writes [MB of three steps, MB of all
its processes] and exits. The environment, with its threads and BLAS kernels, is that of the
benchmark that started it.

A turn is TURN seconds of steps after one step that is not counted, because the first step after the
turns of other sides may take twice as long. A step longer than LONG seconds is a turn by itself.
"""

import argparse
import ctypes
import gc
import json
import os
import sys
import time
from collections import Counter
from importlib import import_module
from pathlib import Path

WARM_UP = 3
TURN = 0.2
LONG = 1.0


class Clock:
    """The seconds of wrapped functions, by name. Nested calls are counted once."""

    def __init__(self):
        self.seconds = Counter()

    def timed(self, name, function):
        def call(*arguments):
            start = time.perf_counter() - self.seconds.total()
            result = function(*arguments)
            self.seconds[name] += time.perf_counter() - self.seconds.total() - start
            return result
        return call

    def read(self):
        """Return {name: seconds} since the last call."""
        seconds = dict(self.seconds)
        self.seconds.clear()
        return seconds


def load(checkout, side, model):
    """Return the function of a checkout and the model's size. Its folders go first in sys.path."""
    sys.path[:0] = [str(checkout), str(checkout / "benchmarks")]
    module, function = side.split(".")
    size = json.loads(model) if model.startswith("{") else import_module("sides").MODELS[model]
    return getattr(import_module(module), function), size


def tiny(size):
    """Return the size of the same model with numbers of at most 8."""
    return {name: min(value, 8) if isinstance(value, int) else value
            for name, value in size.items()}


def warm(step):
    """Run WARM_UP steps, and return their seconds."""
    start = time.perf_counter()
    for _ in range(WARM_UP):
        step()
    return time.perf_counter() - start


def timed(step):
    """Run a step, and return its seconds and its loss."""
    start = time.perf_counter()
    loss = step()
    return time.perf_counter() - start, float(loss)


def take_turn(step):
    """Take a turn. Return the mean seconds of its counted steps, and the last loss."""
    first, loss = timed(step)
    if first > LONG:
        return first, loss
    total = 0.0
    steps = 0
    while total < TURN:
        seconds, loss = timed(step)
        total += seconds
        steps += 1
    return total / steps, loss


def forget_peak():
    """Return freed memory to the system, and reset the peak (Linux)."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def peak():
    """Return the peak resident memory of this process in MB.

    The peak of getrusage would begin with that of the parent process.
    """
    with open("/proc/self/status") as file:
        line = next(line for line in file if line.startswith("VmHWM:"))
    return int(line.split()[1]) / 1024


def of_children():
    """Return the resident memory in MB that child processes do not share with this one."""
    children = Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()
    parts = [line.split() for child in children
             for line in Path(f"/proc/{child}/smaps_rollup").read_text().splitlines()]
    return sum(int(part[1]) for part in parts if part[0].startswith("Private_")) / 1024


def memory_of(make, size, threads):
    """Return [MB of the steps, MB of all processes]. A tiny step loads the code first."""
    make(tiny(size), threads, lambda: None)()
    before = 0.0

    def built():
        nonlocal before
        forget_peak()
        before = peak() + of_children()

    step = make(size, threads, built)       # keeps its processes alive
    warm(step)
    whole = peak() + of_children()
    return [whole - before, whole]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("side")
    parser.add_argument("model")
    parser.add_argument("threads", type=int)
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    answers = sys.stdout
    sys.stdout = sys.stderr                         # keep prints of libraries out of the answers

    def answer(what):
        print(json.dumps(what), file=answers, flush=True)

    make, size = load(options.checkout, options.side, options.model)
    if options.memory:
        answer(memory_of(make, size, options.threads))
        return
    step = make(size, options.threads, lambda: None)
    answer(warm(step))
    for _ in sys.stdin:
        answer(take_turn(step))


if __name__ == "__main__":
    main()
