"""Processes that take turns: what the benchmarks beside other libraries share.

Each side of a comparison runs in a process of its own (worker.py), because libraries bring
different thread pools. The sides stand at the same time and train for a moment each, in turn, so
that what slows the machine for a while slows all of them.
"""

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from numpy_attention.experiments.runs.provenance import blas, processor

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
LIBRARIES = ("numpy", "numba", "torch", "jax")


@dataclass(frozen=True)
class Side:
    """What a process runs: a function, "sides.ours", of the benchmarks of a checkout."""

    name: str
    function: str
    checkout: Path = ROOT
    environment: dict = field(default_factory=dict)


def start(side, model, threads, *more):
    """A worker process; model: a name of MODELS, or a size that is none of them."""
    if isinstance(model, dict):
        model = json.dumps(model)
    command = [sys.executable, WORKER, side.checkout, side.function, model, threads, *more]
    environment = os.environ | side.environment | dict.fromkeys(COUNTS, str(threads))
    return subprocess.Popen(
        [*map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        env=environment)


def answer(side, process):
    """What a worker says next. RuntimeError: it ended, for a reason that it printed."""
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"the process of {side.name} ended: its error stands above")
    return json.loads(line)


def stop(process):
    process.stdin.close()
    process.wait()
    process.stdout.close()


def measure(sides, model, rounds, threads):
    """{side: seconds of its first steps}, in which all is compiled; {side: seconds of each round}.
    """
    first = {}
    seconds = {side.name: [] for side in sides}
    processes = []
    try:
        for side in sides:
            processes.append(start(side, model, threads))
            first[side.name] = answer(side, processes[-1])
        for _ in range(rounds):
            for side, process in zip(sides, processes):
                process.stdin.write("turn\n")
                process.stdin.flush()
                elapsed, loss = answer(side, process)
                assert np.isfinite(loss), f"{side.name}: loss {loss}"
                seconds[side.name].append(elapsed)
    finally:
        for process in processes:
            stop(process)
    return first, {name: np.array(times) for name, times in seconds.items()}


def measure_memory(side, model, threads):
    """(MB of its steps, MB of its process)."""
    process = start(side, model, threads, "--memory")
    try:
        return answer(side, process)
    finally:
        stop(process)


def ratio(ours, other):
    """Lower quartile, median and upper quartile of the rounds' ratios ours / other."""
    return np.quantile(ours / other, (0.25, 0.5, 0.75))


def names_in(text, known, what, error):
    """The names of a comma-separated text, each a `what`; error(message) where one is not known."""
    names = text.split(",") if text else []
    for name in names:
        if name not in known:
            error(f"unknown {what} {name!r}: expected {', '.join(known)}")
    return names


def machine():
    """A line on what the times depend on."""
    versions = []
    for name in LIBRARIES:
        try:
            versions.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            pass
    return f"{os.cpu_count()} processors, {processor()}; {blas()}; {', '.join(versions)}"
