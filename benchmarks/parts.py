"""Measure the parts of a training step on one thread: its matrix products, each kernel, the rest.

    python benchmarks/parts.py [--models a,b20,b35,c,d,e,f] [--rounds 15]

A step and its matrix products alone (floor.py) take turns in one process. Each compiled kernel is
timed when Python calls it. All results are medians over the rounds, in ms and as shares of the
step. The rest is the remaining time: NumPy's own operations on arrays, Python, and the additional
time of products within the step, where their factors are not in the cache already. It is negative
if floor.py, which makes one call per product, needs more calls than the step. The models are
described in sides.py.
"""

import sys
from collections import defaultdict
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np
from floor import floor
from machine import machine, parser_of, restart_clean
from numba.core.registry import CPUDispatcher
from sides import MODELS, models_in, ours
from worker import Clock, timed, warm

from numpy_attention.kernels.guard import Guarded


@contextmanager
def timed_kernels():
    """Time every kernel that Python calls within a block.

    Kernels must be compiled before, because the timed ones cannot be called by other kernels.
    """
    clock = Clock()
    with ExitStack() as stack:
        for key, module in list(sys.modules.items()):
            if not key.startswith("numpy_attention"):
                continue
            for name, value in list(vars(module).items()):
                if isinstance(value, (CPUDispatcher, Guarded)):
                    timed_kernel = clock.timed(value.py_func.__name__, value)
                    timed_kernel.in_loop = lambda first, kernel=timed_kernel: kernel
                    stack.enter_context(patch.object(module, name, timed_kernel))
        yield clock


def measured(size, rounds):
    """Return medians over rounds: seconds of a step, of its products alone, {kernel: seconds}."""
    step = ours(size, 1, lambda: None)
    products = floor(size, 1, lambda: None)
    warm(step)
    warm(products)
    steps = []
    floors = []
    kernels = defaultdict(list)
    with timed_kernels() as clock:
        for _ in range(rounds):
            steps.append(timed(step)[0])
            floors.append(timed(products)[0])
            for name, seconds in clock.read().items():
                kernels[name].append(seconds)
    medians = {name: float(np.median(seconds)) for name, seconds in kernels.items()}
    return float(np.median(steps)), float(np.median(floors)), medians


def table(whole, products, kernels):
    """Format the parts in ms and as shares of the step, with kernels from slow to fast."""
    rest = whole - products - sum(kernels.values())
    parts = [("matrix products", products)]
    parts += sorted(kernels.items(), key=lambda part: -part[1])
    parts += [("the rest", rest), ("the step", whole)]
    return [f"  {name:24} {1e3 * seconds:8.2f} {seconds / whole:7.1%}" for name, seconds in parts]


def main(arguments=None):
    parser = parser_of(__doc__, rounds=15)
    parser.add_argument("--models", default="a,b20,b35,c,d,e,f")
    options = parser.parse_args(arguments)
    models = models_in(options.models, parser.error)
    print(machine(threads=1))
    for name in models:
        print(f"{name}: a step in ms, one thread, median of {options.rounds}")
        print("\n".join(table(*measured(MODELS[name], options.rounds))), flush=True)


if __name__ == "__main__":
    restart_clean()
    main()
