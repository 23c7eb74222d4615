"""Check that memory does not grow while a model trains and translates.

    python benchmarks/flat_memory.py                    2,000 steps, then 2,000 translations
    python benchmarks/flat_memory.py --times 500

Prints the resident memory of the process and the number of objects tracked by Python's garbage
collector, ten times during each, and their growth from the third measurement on. The training
includes validation and checkpoints. Exits with status 1 if memory grows by more than 1 MB, or the
number of objects by more than 100, per thousand times. Linux only.
"""

import argparse
import gc
import os
import sys
import tempfile

import numpy as np

from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining

FIGURES = 10        # measurements
SETTLED = 2         # measurements until everything has had its largest size once
LARGEST = {"MB": 1.0, "objects": 100}       # growth per thousand times


def resident():
    """Return the resident memory of this process in MB."""
    with open("/proc/self/statm") as file:
        pages = int(file.read().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


class Watch:
    """Measure memory and objects of this process at regular intervals."""

    def __init__(self, what, times):
        self.what, self.every = what, max(1, times // FIGURES)
        self.figures = []
        print(f"{what:>12} {'MB':>9} {'objects':>9}")

    def look(self, time):
        """Measure if it is due. Call it after every time, numbered from 1."""
        if time % self.every == 0:
            gc.collect()
            self.figures.append((time, resident(), len(gc.get_objects())))
            print("{:12,} {:9.2f} {:9,}".format(*self.figures[-1]), flush=True)

    def grown(self):
        """Print and return {what: growth per thousand times}, the slope of a fitted line."""
        times, *held = np.array(self.figures[SETTLED:]).T
        slopes = [1000 * np.polyfit(times, one, 1)[0] for one in held]
        found = dict(zip(LARGEST, slopes))
        print(f"over 1,000 {self.what}: {found['MB']:+.3f} MB, {found['objects']:+.1f} objects\n")
        return found


def train(times, folder):
    """Train a small translator for `times` steps. Return it and the growth."""
    pairs = load_parallel("bible-en-es", "train", max_length=7)[:1600]
    how = TranslatorTraining(epochs=-(-times // 50), batch_size=32, learning_rate=3e-3)
    settings = dict(hidden=48, embedding=32, dropout=0.2, init="modern", readout="current")
    translator = Translator.create(pairs, settings=settings, training=how)
    trainer = translator.trainer(pairs, pairs[:100], folder, threads=2, progress=False)
    watch = Watch("steps", times)
    step = trainer.train_step

    def watched(*rest):
        found = step(*rest)
        watch.look(trainer.step)
        return found
    trainer.train_step = watched
    trainer.fit(how.epochs)
    return translator, watch.grown()


def translate(translator, times):
    """Translate this many sentences one at a time with a beam. Return the growth."""
    pairs = load_parallel("bible-en-es", "valid", max_length=7)
    watch = Watch("translations", times)
    for time in range(1, times + 1):
        translator.translate([pairs[time % len(pairs)].source], beam=3)
        watch.look(time)
    return watch.grown()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--times", type=int, default=2000,
                        help="number of steps and translations (2000)")
    times = parser.parse_args().times
    if times < 5 * FIGURES:
        parser.error(f"--times {times}: expected at least {5 * FIGURES}")
    with tempfile.TemporaryDirectory() as folder:
        translator, in_training = train(times, folder)
        in_use = translate(translator, times)
    grows = [f"{found[name]:+.1f} {name}" for found in (in_training, in_use)
             for name in LARGEST if found[name] > LARGEST[name]]
    print(f"memory grows: {', '.join(grows)}" if grows else "memory is flat")
    return 1 if grows else 0


if __name__ == "__main__":
    sys.exit(main())
