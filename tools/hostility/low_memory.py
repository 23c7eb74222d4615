"""Little memory: a command that gets a few megabytes beyond what it began with says so in a line.

The limit is that of the address space (RLIMIT_AS), in a child of the process.
"""

import importlib
import os

from hostility import child, small_runs
from hostility.command_line import halves, outcome
from hostility.outcome import Attempt, Outcome

from numpy_attention.training import checkpoint

MEGABYTE = 1 << 20
# most attempts begin with these loaded, so that the memory ends later
LIBRARIES = ("numpy_attention.cli.translators", "numpy_attention.cli.language_models",
             "numpy_attention.plotting", "sacrebleu")


def attempt(rng, folder):
    os.chdir(folder)
    if rng.random() < 0.9:
        for library in LIBRARIES:
            importlib.import_module(library)
    work = WORK[rng.integers(len(WORK))]
    words = work(rng, folder)
    more = int(MEGABYTE * (2 ** rng.uniform(-2, 9)))
    what = f"{' '.join(map(str, words))[:150]} with {more / MEGABYTE:.2f} MB"

    def run():
        found = child.outcome(child.with_little_memory(more), lambda: outcome(words, folder=folder))
        left = halves(folder)
        if left:
            return Outcome("silence", f"left half-written: {', '.join(left)}")
        if (folder / "run" / "checkpoint.npz").exists():
            checkpoint.load(folder / "run" / "checkpoint.npz")
        return found

    return Attempt(what, run)


def train(rng, folder):
    hidden = str(2 ** rng.integers(4, 12))
    return ["train", "--corpus", "copy", "--pairs", "200", "--max-length", "8", "--hidden", hidden,
            "--embedding", hidden, "--epochs", "1", "--threads", str(rng.integers(1, 3)), "--run",
            folder / "run", "--minutes", "0.02"]


def train_lm(rng, folder):
    hidden = str(2 ** rng.integers(4, 12))
    return ["train", "lm", "--text", small_runs.texts() / "source.txt", "--hidden", hidden,
            "--attention", "combined", "--epochs", "1", "--batch-size", "2", "--threads", "1",
            "--minutes", "0.02", "--run", folder / "run"]


def translate(rng, folder):
    small_runs.run("luong").put(folder / "run")
    beam = str(rng.integers(1, 200))
    return ["translate", folder / "run", "the cat " * int(rng.integers(1, 30)), "--beam", beam]


def evaluate(rng, folder):
    small_runs.any_run(rng).put(folder / "run")
    return ["evaluate", folder / "run", "--threads", "2"]


def heatmap(rng, folder):
    small_runs.run("transformer").put(folder / "run")
    return ["heatmap", folder / "run", "the cat", "el gato", "--output", folder / "a.png"]


WORK = (train, train_lm, translate, evaluate, heatmap)
