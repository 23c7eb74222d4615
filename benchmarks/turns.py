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
# an allocator that keeps freed memory, as this package asks for itself
TUNED = {
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TOP_PAD_": "67108864",
}
# where libraries read how many threads they may have: OpenMP and BLAS, JAX
COUNTS = ("OMP_NUM_THREADS", "NPROC")
ENDING = 30                     # seconds that a process has to end
RESET = "\x1b[0m"               # printed by mpirun without a terminal


@dataclass(frozen=True)
class Side:
    """What a process runs: a function, "sides.ours", of the benchmarks of a checkout."""

    name: str
    function: str
    checkout: Path = ROOT
    environment: dict = field(default_factory=dict)


class Process:
    """A process that answers orders with lines of JSON; a context manager, which ends it."""

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
        """Return the next answer. RuntimeError: the process has ended."""
        line = self.process.stdout.readline().replace(RESET, "")
        if not line.strip():
            raise RuntimeError(f"the process of {self.name} ended: its error is printed above")
        return json.loads(line)

    def ask(self, order):
        self.process.stdin.write(order + "\n")
        self.process.stdin.flush()
        return self.answer()


def start(side, model, threads, *more):
    """Start the worker of a side; model: a name of MODELS, or a size."""
    if isinstance(model, dict):
        model = json.dumps(model)
    words = [sys.executable, WORKER, side.checkout, side.function, model, threads, *more]
    return Process(side.name, words, threads, side.environment)


def measure(sides, model, rounds, threads):
    """{side: seconds of its first steps}, in which all is compiled; {side: seconds of each round}.
    """
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
    """(MB of its steps, MB of its process)."""
    with start(side, model, threads, "--memory") as process:
        return process.answer()


def ratio(ours, other):
    """Lower quartile, median and upper quartile of the rounds' ratios ours / other."""
    return np.quantile(ours / other, (0.25, 0.5, 0.75))


def medians(seconds):
    """The median of each side's rounds, in words."""
    return ", ".join(f"{name} {1e3 * np.median(times):.1f} ms" for name, times in seconds.items())
