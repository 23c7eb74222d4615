"""Processes that take turns, for benchmarks that compare several sides.

Each side of a comparison runs in a separate process (worker.py), because libraries bring different
thread pools. All processes exist at the same time and train briefly in turn, so that a load on the
machine slows all of them equally.
"""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
WORKER = Path(__file__).resolve().with_name("worker.py")
# settings of malloc that keep freed memory, as this package sets for itself
TUNED = {
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TOP_PAD_": "67108864",
}
# variables with the number of threads: for OpenMP and BLAS, and for JAX
COUNTS = ("OMP_NUM_THREADS", "NPROC")
ENDING = 30                     # seconds until a process must have ended
RESET = "\x1b[0m"               # printed by mpirun without a terminal


@dataclass(frozen=True)
class Side:
    """What a process runs: a function, such as "sides.ours", in the benchmarks of a checkout."""

    name: str
    function: str
    checkout: Path = ROOT
    environment: dict = field(default_factory=dict)


class Process:
    """A process that answers commands with lines of JSON, as a context manager that ends it."""

    def __init__(self, name, words, threads, environment=None):
        self.name = name
        self.process = subprocess.Popen(
            list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env=os.environ | (environment or {}) | dict.fromkeys(COUNTS, str(threads)))

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.process.stdin.close()
        ends = [self.process.terminate, self.process.kill]
        patience = 0 if any(error) else ENDING
        while self.process.poll() is None:
            try:
                self.process.wait(patience)
            except subprocess.TimeoutExpired:
                ends.pop(0)()
                patience = ENDING
        self.process.stdout.close()

    def answer(self):
        """Return the next answer. Raises RuntimeError if the process has ended."""
        line = self.process.stdout.readline().replace(RESET, "")
        if not line.strip():
            raise RuntimeError(f"the process of {self.name} ended: its error is printed above")
        return json.loads(line)

    def ask(self, order):
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        return self.answer()


def start(side, model, threads, *more):
    """Start the worker of a side. model: a name in MODELS, or a size."""
    if isinstance(model, dict):
        model = json.dumps(model)
    words = [sys.executable, WORKER, side.checkout, side.function, model, threads, *more]
    return Process(side.name, words, threads, side.environment)


def measure(sides, model, rounds, threads):
    """Return {side: seconds of its first steps, with compilation}, {side: seconds per round}."""
    first = {}
    seconds = {side.name: [] for side in sides}
    with ExitStack() as stack:
        processes = []
        for side in sides:
            processes.append(stack.enter_context(start(side, model, threads)))
            first[side.name] = processes[-1].answer()
        for _ in range(rounds):
            for process in processes:
                elapsed, loss = process.ask("turn")
                assert np.isfinite(loss), f"{process.name}: loss {loss}"
                seconds[process.name].append(elapsed)
    return first, {name: np.array(times) for name, times in seconds.items()}


def measure_memory(side, model, threads):
    """Return the MB of the steps of a side, and the MB of its process."""
    with start(side, model, threads, "--memory") as process:
        return process.answer()


def ratio(ours, other):
    """Return the lower quartile, median and upper quartile of the ratios ours / other."""
    return np.quantile(ours / other, (0.25, 0.5, 0.75))


def medians(seconds):
    """Format the median of the rounds of each side."""
    return ", ".join(f"{name} {1e3 * np.median(times):.1f} ms" for name, times in seconds.items())
