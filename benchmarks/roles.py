"""Measure whether the gradients of key, value and prediction agree in direction during training.

    python benchmarks/roles.py roles.png
    python benchmarks/roles.py roles.png --models attention,key-value --steps 600 --corpus ptb

Trains a small language model with each of these readouts, from the same seed and on the same
batches. Every --every steps it computes the gradients of a state separately for each role, on text
of the validation split (`analysis.role_gradients`). Plots their cosines (top) and root mean square
norms (bottom), with one column per model, and prints the final values. Roles that read different
parts of a state have no cosine.
"""

import argparse
from pathlib import Path

import numpy as np

from numpy_attention import plotting
from numpy_attention.data.batching import TextBatches
from numpy_attention.data.selection import selected
from numpy_attention.experiments.analysis.roles import PAIRS, ROLES, role_gradients
from numpy_attention.experiments.runs.language_model_run import (
    LanguageModelRun,
    LanguageModelTraining,
)
from numpy_attention.plotting.base import new_figure
from numpy_attention.registry import HISTORY_READOUTS
from numpy_attention.training.threads import Threads

MODELS = ("attention", "key-value", "key-value-predict")
WITH_ROLES = tuple(name for name in HISTORY_READOUTS if name not in ("ngram", "projection"))
STREAMS = 20        # parallel streams of the validation text
LENGTH = 10         # batches of validation text


class Measured:
    """Norms and cosines of the gradients of a model, by step."""

    def __init__(self, model, batches):
        self.model = model
        self.batches = batches
        self.cosines = {" · ".join(pair): {} for pair in PAIRS}
        self.norms = {role: {} for role in ROLES}

    def look(self, step):
        """Measure the model after this number of steps."""
        found = role_gradients(self.model, self.batches, np.random.default_rng(0))
        for role, norm in found.norms.items():
            if norm is not None:
                self.norms[role][step] = norm
        for pair, cosine in found.cosines.items():
            if cosine is not None:
                self.cosines[" · ".join(pair)][step] = cosine


def trained(name, learn, valid, options):
    """Train a model for --steps steps. Return what is Measured during training."""
    how = LanguageModelTraining(steps=20, batch_size=32, clip=5.0, seed=options.seed, min_count=2)
    run = LanguageModelRun.create(learn, "attentive-language-model", settings_of(name, options),
                                     how)
    ids = valid.stream(run.vocabulary)[:LENGTH * STREAMS * how.steps + 1]
    measured = Measured(run.model, TextBatches(ids, STREAMS, how.steps))
    measured.look(0)
    trainer = run.trainer(learn, threads=1, progress=False)
    with Threads(1) as pool:
        grads = [run.model.zeros_like()]
        epoch = 0
        while trainer.step < options.steps:
            for place in trainer.order(trainer.seed, epoch)[:options.steps - trainer.step]:
                if not trainer.train.carried(place):
                    trainer.state = None
                trainer.train_step(trainer.train.batch(place), pool, grads)
                if trainer.step % options.every == 0:
                    measured.look(trainer.step)
            epoch += 1
    return measured


def settings_of(name, options):
    """Return settings with which each part of a state has --size numbers."""
    parts = {"key-value": 2, "key-value-predict": 3}.get(name, 1)
    return {"attention": name, "layers": 1, "embedding": options.size,
            "hidden": parts * options.size, "dropout": 0.2}


def drawn(found):
    """Draw cosines at the top and norms at the bottom, one column per model."""
    figure = new_figure(1 + 4.5 * len(found), 7)
    axes = figure.subplots(2, len(found), squeeze=False, sharex=True, sharey="row")
    for (name, measured), (above, below) in zip(found.items(), axes.T):
        plotting.bands(measured.cosines, "", "", above, name)
        above.axhline(0, color="0.5", linewidth=1)
        plotting.bands(measured.norms, "training steps", "", below)
        below.set_yscale("log")
    axes[0, 0].set_ylabel("cosine of two roles' gradients of a state")
    axes[1, 0].set_ylabel("norm of a role's gradient")
    return figure


def lines_of(name, measured):
    """Format the last value of each curve."""
    lines = []
    for kind, curves in (("norm", measured.norms), ("cosine", measured.cosines)):
        for what, points in curves.items():
            if not points:
                continue
            step = max(points)
            mean, low, high = points[step]
            lines.append(f"{name}: {kind} of {what} after {step:,} steps {mean:.3g} ({low:.3g} to "
                         f"{high:.3g})")
    return lines


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, metavar="PICTURE")
    parser.add_argument("--models", default=",".join(MODELS), metavar="NAMES",
                        help=f"comma-separated: {', '.join(WITH_ROLES)}")
    parser.add_argument("--corpus", default="bible-en", help="corpus of running text (bible-en)")
    parser.add_argument("--size", type=int, default=100, help="size of each part of a state (100)")
    parser.add_argument("--steps", type=int, default=1000)
    parser.add_argument("--every", type=int, default=50, help="steps between two measurements (50)")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    models = options.models.split(",")
    for name in models:
        if name not in WITH_ROLES:
            parser.error(f"--models {name}: expected some of {', '.join(WITH_ROLES)}")
    if min(options.steps, options.every, options.size) < 1:
        parser.error("--steps, --every and --size: expected at least 1 each")
    learn, valid = selected({"name": options.corpus}, "text").load("train", "valid")
    found = {}
    for name in models:
        found[name] = trained(name, learn, valid, options)
        print("\n".join(lines_of(name, found[name])), flush=True)
    print("saved", plotting.save(drawn(found), options.output))


if __name__ == "__main__":
    main()
