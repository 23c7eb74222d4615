"""Training steps against PyTorch eager: the same model, batch, threads and precision, as ratios.

    python benchmarks/versus_pytorch.py [--models a,b,c,d,e,f] [--rounds 15] [--threads 2]
    python benchmarks/versus_pytorch.py --against PATH          before and after a change

One step is forward, backward, clipping and the optimizer's update. Each library runs in a process
of its own, because they bring different thread pools; the two take turns, one step each, and the
ratio of a round is ours / PyTorch's. PyTorch gets an allocator that keeps freed memory, as this
package does for itself; --untuned leaves it as installed. The floor is the time of the step's
matrix products alone, in NumPy, on the same threads.

--against times another checkout of this package in PyTorch's place: its own code, driven by its own
benchmarks/sides.py, and the ratio of a round is this checkout's time / the other's.

--memory measures the steps' peak resident memory too, in fresh processes, above what stands before
the first step: the model, its batch, and the code, which a step of a tiny model has loaded.
Gradients and optimizer count as the step's. The models are described in sides.py.
"""

import argparse
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sides import MODELS

ROOT = Path(__file__).resolve().parents[1]
WORKER = Path(__file__).resolve().with_name("worker.py")
GROUPS = {"b": ["b20", "b35"]}
TUNED = {
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TOP_PAD_": "67108864",
}


@dataclass(frozen=True)
class Side:
    """What a process runs: ours, theirs or floor of the benchmarks of a checkout."""

    name: str
    function: str
    checkout: Path
    environment: dict = field(default_factory=dict)


def sides_of(options):
    """[this package, what it is compared with, and beside PyTorch the floor]."""
    ours = Side("ours", "ours", ROOT)
    if options.against:
        return [ours, Side("before", "ours", options.against.resolve())]
    theirs = Side("theirs", "theirs", ROOT, {} if options.untuned else TUNED)
    return [ours, theirs, Side("floor", "floor", ROOT)]


def start(side, model, threads, *more):
    """A worker process, see worker.py."""
    command = [sys.executable, WORKER, side.checkout, side.function, model, threads, *more]
    environment = os.environ | side.environment | {"OMP_NUM_THREADS": str(threads)}
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
    """{name of the side: seconds of each round}; the sides take turns."""
    seconds = {side.name: [] for side in sides}
    processes = []
    try:
        for side in sides:
            processes.append(start(side, model, threads))
            answer(side, processes[-1])
        for _ in range(rounds):
            for side, process in zip(sides, processes):
                process.stdin.write("step\n")
                process.stdin.flush()
                elapsed, loss = answer(side, process)
                assert np.isfinite(loss), f"{side.name}: loss {loss}"
                seconds[side.name].append(elapsed)
    finally:
        for process in processes:
            stop(process)
    return {name: np.array(times) for name, times in seconds.items()}


def measure_memory(side, model, threads):
    """(MB of its steps, MB of its process)."""
    process = start(side, model, threads, "--memory")
    try:
        return answer(side, process)
    finally:
        stop(process)


def compare(sides, model, options):
    """Time one model, and print what came out; → {name of a figure: figure}."""
    ours, other, *rest = sides
    seconds = measure(sides, model, options.rounds, options.threads)
    ratio = seconds[ours.name] / seconds[other.name]
    low, median, high = np.quantile(ratio, (0.25, 0.5, 0.75))
    line = {"model": model, "ratio": median, "ratio_low": low, "ratio_high": high}
    how = f"{options.threads} threads"
    if options.against:
        line["against"] = other.checkout.name
    else:
        line["floor_share"] = np.median(seconds["floor"] / seconds["ours"])
        how += f", PyTorch's allocator {'as installed' if options.untuned else 'tuned'}"
    medians = [f"{name} {1e3 * np.median(times):.1f} ms" for name, times in seconds.items()]
    print(f"{model}: {', '.join(medians)}; {how}")
    if options.memory:
        line |= compare_memory(ours, other, model, options.threads)
    return line


def compare_memory(ours, other, model, threads):
    figures = {}
    texts = []
    for side in (ours, other):
        step, whole = measure_memory(side, model, threads)
        figures[f"memory_{side.name}"] = step
        texts.append(f"{side.name} {step:.0f} MB (whole process {whole:.0f} MB)")
    print("   peak memory of a step: " + ", ".join(texts))
    ratio = figures[f"memory_{ours.name}"] / figures[f"memory_{other.name}"]
    return {"memory_ratio": ratio} | figures


def rounded(figure):
    return round(figure, 3) if isinstance(figure, float) else figure


def names_of(text, error):
    """The models that --models names."""
    names = []
    for group in text.split(","):
        names += GROUPS.get(group, [group])
    for name in names:
        if name not in MODELS:
            error(f"unknown model {name!r}: expected {', '.join([*MODELS, *GROUPS])}")
    return names


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="a,b,c,d,e,f",
                        help="comma-separated: " + ", ".join([*MODELS, *GROUPS]))
    parser.add_argument("--json", help="append one JSON line a model to this file")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--untuned", action="store_true",
                        help="leave PyTorch's allocator as installed")
    parser.add_argument("--against", type=Path, metavar="PATH",
                        help="time another checkout of this package in PyTorch's place")
    parser.add_argument("--memory", action="store_true", help="measure peak memory too (Linux)")
    options = parser.parse_args(arguments)
    names = names_of(options.models, parser.error)
    if options.memory and not sys.platform.startswith("linux"):
        parser.error("--memory reads what only Linux tells: leave it out here")
    if options.against and not (options.against / "benchmarks" / "sides.py").is_file():
        parser.error(f"--against {options.against}: there is no benchmarks/sides.py in it, "
                     "name the folder of a checkout")
    sides = sides_of(options)
    for name in names:
        line = compare(sides, name, options)
        print(json.dumps({key: rounded(value) for key, value in line.items()}))
        if options.json:
            with open(options.json, "a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
