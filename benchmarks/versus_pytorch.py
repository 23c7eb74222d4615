"""Training steps against PyTorch eager: the same model, batch, threads and precision, in turn, as ratios.

    python benchmarks/versus_pytorch.py --models a,b,c,d,e,f [--json FILE] [--rounds 15] [--threads 2] [--untuned] [--memory]

One step is forward, backward, clipping and the optimizer's update. Each library runs in a process of its own, because
they bring different thread pools; the two take turns, one step each, and the ratio of a round is ours / PyTorch's.
PyTorch gets an allocator that keeps freed memory, as this package does for itself; --untuned leaves it as installed. The
floor is the time of the step's matrix products alone, in NumPy, on the same threads.

--memory measures the steps' peak resident memory too, in fresh processes, above what stands before the first step: the
model, its batch, and the code, which a step of a tiny model has loaded. Gradients and optimizer count as the step's.
The models are described in sides.py.
"""

import argparse
import ctypes
import gc
import json
import multiprocessing
import os
import resource
import sys
import time

import numpy as np
from floor import floor
from sides import MODELS, ours, theirs

TUNED = {"MALLOC_TRIM_THRESHOLD_": "4294967296", "MALLOC_MMAP_THRESHOLD_": "4294967296", "MALLOC_TOP_PAD_": "67108864"}
SIDES = {"ours": ours, "theirs": theirs, "floor": floor}
GROUPS = {"b": ["b20", "b35"]}


def serve(kind, size, threads, pipe):
    """A process that runs one step whenever it is asked, and answers with (seconds, loss)."""
    step = SIDES[kind](size, threads, lambda: None)
    for _ in range(3):
        step()
    pipe.send("ready")
    while pipe.recv():
        start = time.perf_counter()
        loss = step()
        pipe.send((time.perf_counter() - start, loss))


def forget_peak():
    """Hand freed memory back to the system, and let the largest resident memory count from here (Linux)."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def peak():
    """Largest resident memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def serve_memory(kind, size, threads, pipe):
    """A process that answers with (MB of its steps, MB of all)."""
    tiny = {name: min(value, 8) if isinstance(value, int) else value for name, value in size.items()}
    SIDES[kind](tiny, threads, lambda: None)()
    before = []
    step = SIDES[kind](size, threads, lambda: (forget_peak(), before.append(peak())))
    for _ in range(3):
        step()
    pipe.send((peak() - before[0], peak()))


def start(target, kind, size, threads, tuned):
    """A process with the environment of its kind; → (process, the pipe to it)."""
    context, kept = multiprocessing.get_context("spawn"), dict(os.environ)
    os.environ.update(TUNED if tuned and kind == "theirs" else {})
    os.environ["OMP_NUM_THREADS"] = str(threads)
    pipe, other = context.Pipe()
    process = context.Process(target=target, args=(kind, size, threads, other), daemon=True)
    process.start()
    os.environ.clear()
    os.environ.update(kept)
    return process, pipe


def measure(size, rounds, threads, tuned):
    """{kind: seconds of each round}; the kinds take turns."""
    running, seconds = {}, {kind: [] for kind in SIDES}
    for kind in SIDES:
        running[kind] = start(serve, kind, size, threads, tuned)
        running[kind][1].recv()
    for _ in range(rounds):
        for kind, (_, pipe) in running.items():
            pipe.send(True)
            elapsed, loss = pipe.recv()
            assert np.isfinite(loss), f"{kind}: loss {loss}"
            seconds[kind].append(elapsed)
    for process, pipe in running.values():
        pipe.send(False)
        process.join()
    return {kind: np.array(times) for kind, times in seconds.items()}


def measure_memory(size, threads, tuned):
    """{kind: (MB of its steps, MB of the process)}, one process after the other."""
    results = {}
    for kind in ("ours", "theirs"):
        process, pipe = start(serve_memory, kind, size, threads, tuned)
        results[kind] = pipe.recv()
        process.join()
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", default="a,b,c,d,e,f", help="comma-separated: " + ", ".join([*MODELS, *GROUPS]))
    parser.add_argument("--json", help="append one JSON line a model to this file")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--untuned", action="store_true", help="leave PyTorch's allocator as installed")
    parser.add_argument("--memory", action="store_true", help="measure peak memory too (Linux)")
    arguments = parser.parse_args()
    names = [name for group in arguments.models.split(",") for name in GROUPS.get(group, [group])]
    if arguments.memory and not sys.platform.startswith("linux"):
        parser.error("--memory reads what only Linux tells: leave it out here")
    for name in names:
        if name not in MODELS:
            parser.error(f"unknown model {name!r}: expected {', '.join([*MODELS, *GROUPS])}")
    for name in names:
        seconds = measure(MODELS[name], arguments.rounds, arguments.threads, not arguments.untuned)
        ratio = seconds["ours"] / seconds["theirs"]
        line = {"model": name, "ratio": float(np.median(ratio)), "ratio_low": float(np.quantile(ratio, 0.25)),
                "ratio_high": float(np.quantile(ratio, 0.75)),
                "floor_share": float(np.median(seconds["floor"] / seconds["ours"]))}
        medians = ", ".join(f"{kind} {1e3 * np.median(times):.1f} ms" for kind, times in seconds.items())
        allocator = "as installed" if arguments.untuned else "tuned"
        print(f"{name}: {medians}; {arguments.threads} threads, PyTorch's allocator {allocator}")
        if arguments.memory:
            memory = measure_memory(MODELS[name], arguments.threads, not arguments.untuned)
            line["memory_ratio"] = memory["ours"][0] / memory["theirs"][0]
            line |= {f"memory_{kind}": step for kind, (step, _) in memory.items()}
            print("   peak memory of a step: " + ", ".join(
                f"{kind} {step:.0f} MB (whole process {whole:.0f} MB)" for kind, (step, whole) in memory.items()))
        print(json.dumps({key: round(value, 3) if isinstance(value, float) else value for key, value in line.items()}))
        if arguments.json:
            with open(arguments.json, "a") as file:
                file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
