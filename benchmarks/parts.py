"""Where a training step's time goes, on one thread: its matrix products, each kernel, the rest.

    python benchmarks/parts.py [--models a,b20,b35,c,d,e,f] [--rounds 15]

A step and its floor, the same products alone (floor.py), take turns in one process; each compiled
kernel is timed at its calls from Python. All are medians over the rounds, in ms and as shares of
the step. The rest is what is left of the step: NumPy's own passes over arrays, Python, and what a
product costs more in the step than alone, where its factors are in the cache already. It is
negative where the floor, which calls for each product by itself, has more calls than the step.
The models are described in sides.py.
"""

import argparse
import sys
import time
from collections import defaultdict
from dataclasses import dataclass, field
from functools import wraps

import numpy as np
from floor import floor
from numba.core.registry import CPUDispatcher
from sides import MODELS, ours
from turns import names_in
from worker import warm

from numpy_attention.kernels.guard import Guarded


@dataclass
class Clock:
    """What the kernels took, by name."""

    seconds: dict = field(default_factory=lambda: defaultdict(float))

    def timed(self, kernel):
        @wraps(kernel.py_func)
        def call(*arguments):
            start = time.perf_counter()
            result = kernel(*arguments)
            self.seconds[call.__name__] += time.perf_counter() - start
            return result
        return call

    def read(self):
        """{name: seconds} since it was read last."""
        seconds = dict(self.seconds)
        self.seconds.clear()
        return seconds


class Timed:
    """While it is open, every kernel of the package that Python calls runs by a clock.

    They must be compiled before: a kernel that calls another finds a plain function here.
    """

    def __init__(self, clock):
        self.clock = clock
        self.kernels = [
            (module, name, value)
            for key, module in list(sys.modules.items()) if key.startswith("numpy_attention")
            for name, value in list(vars(module).items())
            if isinstance(value, (CPUDispatcher, Guarded))]

    def __enter__(self):
        timed = {id(kernel): self.clock.timed(kernel) for _, _, kernel in self.kernels}
        for module, name, kernel in self.kernels:
            setattr(module, name, timed[id(kernel)])
        return self.clock

    def __exit__(self, *_):
        for module, name, kernel in self.kernels:
            setattr(module, name, kernel)


def seconds_of(step):
    start = time.perf_counter()
    step()
    return time.perf_counter() - start


def measured(size, rounds):
    """→ (seconds of a step, of its products alone, {kernel: seconds}): medians of all rounds."""
    step = ours(size, 1, lambda: None)
    products = floor(size, 1, lambda: None)
    warm(step)
    warm(products)
    steps = []
    floors = []
    kernels = defaultdict(list)
    with Timed(Clock()) as clock:
        for _ in range(rounds):
            steps.append(seconds_of(step))
            floors.append(seconds_of(products))
            for name, seconds in clock.read().items():
                kernels[name].append(seconds)
    medians = {name: float(np.median(seconds)) for name, seconds in kernels.items()}
    return float(np.median(steps)), float(np.median(floors)), medians


def table(whole, products, kernels):
    """Lines of parts in ms and as shares of the whole, the kernels from the slowest."""
    rest = whole - products - sum(kernels.values())
    parts = [("matrix products", products)]
    parts += sorted(kernels.items(), key=lambda part: -part[1])
    parts += [("the rest", rest), ("the step", whole)]
    return [f"  {name:24} {1e3 * seconds:8.2f} {seconds / whole:7.1%}" for name, seconds in parts]


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="a,b20,b35,c,d,e,f")
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args(arguments)
    models = names_in(options.models, MODELS, "model", parser.error)
    if options.rounds < 1:
        parser.error(f"--rounds {options.rounds}: must be at least 1")
    for name in models:
        print(f"{name}: a step in ms, one thread, median of {options.rounds}")
        print("\n".join(table(*measured(MODELS[name], options.rounds))), flush=True)


if __name__ == "__main__":
    main()
