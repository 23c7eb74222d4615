"""Compare training steps with PyTorch eager: the same model, batch, threads and precision.

    python benchmarks/versus_pytorch.py [--models a,b,c,d,e,f] [--rounds 15] [--threads 2]
    python benchmarks/versus_pytorch.py --models a,c,e --peers compiled,jax,per-step
    python benchmarks/versus_pytorch.py --against PATH          before and after a change

A step is forward, backward, clipping and the optimizer's update. Each library runs in a separate
process, and the sides take turns of 0.2 s (worker.py). The ratio of a round is ours / PyTorch's.
The median and quartiles over all rounds are printed. PyTorch gets an allocator that keeps freed
memory, as this package does for itself; --untuned leaves PyTorch's allocator as installed. The
floor is the time of the step's matrix products alone, in NumPy, on the same threads.

--peers adds sides, each with its own ratio: PyTorch through torch.compile, JAX through jit and
scan, and plain NumPy one time step after another. They compile in their first three steps, which
are printed separately. A peer that is not installed, or does not have a model, is skipped with the
reason.

--against compares with another checkout of this package instead of PyTorch. It runs that checkout's
code with its own benchmarks/sides.py. The ratio of a round is this checkout's time / the other's.

--memory also measures the peak resident memory of a step for every side except the floor, in new
processes. Memory used before the first step is subtracted: the model, its batch and the loaded
code. Gradients and optimizer are part of the step, and so is a compiler. The models are described
in sides.py.
"""

import json
import os
import shutil
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from machine import check_recordable, machine, names_in, parser_of, record, restart_clean
from sides import MODELS, models_in
from turns import ROOT, TUNED, Side, measure, measure_memory, medians, ratio

# {peer: (its function, the models that it has)}
PEERS = {
    "compiled": ("sides.compiled", tuple(MODELS)),
    "jax": ("jax_side.jax_step", ("a", "c", "e")),
    "per-step": ("per_step.per_step", ("a", "e")),
}


def sides_of(options, model):
    """Return the sides: this package, then another checkout or PyTorch, the floor and peers."""
    ours = Side("ours", "sides.ours", ROOT)
    if options.against:
        return [ours, Side("before", "sides.ours", options.against.resolve())]
    allocator = {} if options.untuned else TUNED
    sides = [ours, Side("theirs", "sides.theirs", ROOT, allocator),
             Side("floor", "floor.floor", ROOT)]
    for name in options.peers:
        function, models = PEERS[name]
        if reason := absent(name, model, models):
            print(f"{model}: without {name}, {reason}")
        else:
            sides.append(Side(name, function, ROOT, allocator if name == "compiled" else {}))
    return sides


def absent(peer, model, models):
    """Return why a peer cannot run here, or None if it can."""
    if model not in models:
        return f"it has {', '.join(models)} only"
    if peer == "jax" and find_spec("jax") is None:
        return "JAX is not installed: pip install -e '.[peers]'"
    if peer == "compiled" and shutil.which(os.environ.get("CXX", "g++")) is None:
        return "torch.compile needs a C++ compiler: g++, or the one that CXX names"
    return None


def compare(sides, model, options):
    """Time one model and print the result. Return {name of a figure: figure}."""
    ours, *others = sides
    first, seconds = measure(sides, model, options.rounds, options.threads)
    line = {"model": model}
    if options.against:
        line["against"] = others[0].checkout.name
    else:
        line["floor_share"] = np.median(seconds["floor"] / seconds["ours"])
    print(f"{model}: {medians(seconds)}")
    others = [side for side in others if side.name != "floor"]
    ratios = []
    for side in others:
        low, median, high = ratio(seconds[ours.name], seconds[side.name])
        key = suffix(side)
        line |= {f"ratio{key}": median, f"ratio{key}_low": low, f"ratio{key}_high": high}
        ratios.append(f"{side.name} {median:.3f} ({low:.3f}–{high:.3f})")
    print(f"   ours / {', '.join(ratios)}")
    print("   first three steps, in which all is compiled: "
          + ", ".join(f"{name} {time:.1f} s" for name, time in first.items()))
    line |= {f"first_{name}": time for name, time in first.items()}
    if options.memory:
        line |= compare_memory(ours, others, model, options.threads)
    return line


def suffix(side):
    """Return the suffix of the names of a side's figures, which is empty except for peers."""
    return f"_{side.name}" if side.name in PEERS else ""


def compare_memory(ours, others, model, threads):
    figures = {}
    texts = []
    for side in [ours, *others]:
        step, whole = measure_memory(side, model, threads)
        figures[f"memory_{side.name}"] = step
        text = f"{side.name} {step:.0f} MB (whole process {whole:.0f} MB"
        if side is not ours:
            share = figures[f"memory_{ours.name}"] / step
            figures[f"memory_ratio{suffix(side)}"] = share
            text += f", ours / {side.name} {share:.3f}"
        texts.append(text + ")")
    print("   peak memory of a step: " + ", ".join(texts))
    return figures


def main(arguments=None):
    parser = parser_of(__doc__, rounds=15, threads=2)
    parser.add_argument("--models", default="a,b,c,d,e,f",
                        help=f"comma-separated: {', '.join(MODELS)}, or b for b20,b35")
    parser.add_argument("--peers", default="", help="comma-separated: " + ", ".join(PEERS))
    parser.add_argument("--json", help="append one JSON line per model to this file")
    parser.add_argument("--untuned", action="store_true",
                        help="do not tune PyTorch's allocator")
    parser.add_argument("--against", type=Path, metavar="PATH",
                        help="time another checkout of this package instead of PyTorch")
    parser.add_argument("--memory", action="store_true", help="also measure peak memory (Linux)")
    options = parser.parse_args(arguments)
    names = models_in(options.models, parser.error)
    options.peers = names_in(options.peers, PEERS, "peer", parser.error)
    check_recordable(options.json, parser.error)
    if options.memory and not sys.platform.startswith("linux"):
        parser.error("--memory reads figures that only Linux has: leave it out here")
    if options.against and not (options.against / "benchmarks" / "sides.py").is_file():
        parser.error(f"--against {options.against}: there is no benchmarks/sides.py in it, "
                     "name the folder of a checkout")
    if options.against and options.peers:
        parser.error("--against compares two checkouts: leave out --peers")
    print(machine(options.threads, *(() if options.against else ("torch", "jax"))))
    if not options.against:
        print(f"PyTorch's allocator is {'as installed' if options.untuned else 'tuned'}")
    for name in names:
        line = compare(sides_of(options, name), name, options)
        print(json.dumps({key: round(value, 3) if isinstance(value, float) else value
                          for key, value in line.items()}), flush=True)
        record(options.json, line)


if __name__ == "__main__":
    restart_clean()
    main()
