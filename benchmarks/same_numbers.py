"""Measure how much the same training differs with other threads, processors and libraries.

    python benchmarks/same_numbers.py                   the tables of docs/reproducibility.md
    python benchmarks/same_numbers.py --steps 100

Each row is the training of a small translator in a separate process. The process uses the kernels
of this processor, or is forced to use those of another one: OpenBLAS's (OPENBLAS_CORETYPE), NumPy's
(NPY_DISABLE_CPU_FEATURES) or numba's (NUMBA_CPU_NAME). A training that fails on this processor is
marked. With a library other than OpenBLAS, its rows show no difference. The columns are relative
differences of the training loss from the first row, the largest difference of any weight, and
results of the trained model on the validation text. A second table compares ways to compute the
same loss, or the same log p, of one model.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
from machine import clean, restart_clean

from numpy_attention.data.batching import PairBatch, PairBatches
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.experiments.runs.provenance import blas
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.training.evaluation import evaluate

# CPU features that NumPy found beyond its baseline
BEYOND = " ".join(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))


class Way(NamedTuple):
    """The environment, the number of threads and the seed of a training."""

    environment: dict = {}
    threads: int = 1
    seed: int = 0


WAYS = {
    "1 thread": Way(),
    "the same, repeated": Way(),
    "2 threads": Way(threads=2),
    "2 threads, repeated": Way(threads=2),
    "BLAS of Haswell": Way({"OPENBLAS_CORETYPE": "Haswell"}),
    "BLAS of Nehalem": Way({"OPENBLAS_CORETYPE": "Nehalem"}),
    "NumPy's baseline loops": Way({"NPY_DISABLE_CPU_FEATURES": BEYOND}),
    "kernels of Nehalem": Way({"NUMBA_CPU_NAME": "nehalem", "NUMBA_CPU_FEATURES": ""}),
    "another seed": Way(seed=1),
}
SHOWN = (1, 10, 100, 1000)      # steps with a column in the table
BATCH = 32
EPOCH = 100             # steps

# ---- in a separate process ----------------------------------------------------------------------


def trained(steps, threads, seed=0):
    """Train a translator for at least `steps` steps, in whole epochs.

    Return it, the loss per token of each step, and pairs for its evaluation.
    """
    pairs = load_parallel("bible-en-es", "train", max_length=7)[:BATCH * EPOCH]
    valid = load_parallel("bible-en-es", "valid", max_length=7)[:200]
    how = TranslatorTraining(epochs=-(-steps // EPOCH), batch_size=BATCH, learning_rate=3e-3,
                             seed=seed)
    settings = dict(hidden=64, embedding=48, dropout=0.2, init="modern", readout="current")
    translator = Translator.create(pairs, settings=settings, training=how)
    trainer = translator.trainer(pairs, threads=threads, progress=False)
    losses = []
    step = trainer.train_step

    def recorded(*rest):
        loss, tokens = step(*rest)
        losses.append(loss / tokens)
        return loss, tokens
    trainer.train_step = recorded
    trainer.fit(how.epochs)
    return translator, losses, valid


def work(steps, threads, seed, weights):
    """Train and evaluate a model, print the results as JSON, and save the weights."""
    translator, losses, valid = trained(steps, threads, seed)
    figures = translator.measure(valid, 5, threads)
    np.save(weights, translator.model.vector)
    print(json.dumps({"losses": losses, "figures": figures, "blas": blas()}))


# ---- one model, computed in several ways --------------------------------------------------------


def same_model(steps):
    """Return [(what, largest relative difference)] for figures of one trained model."""
    translator, _, pairs = trained(steps, 1)
    model, batches = translator.model, translator.batches(pairs)
    loss = evaluate(model, batches).loss
    alone = evaluate(model, translator.batches(pairs, 1)).loss
    two = evaluate(model, batches, 2).loss
    sentences = [pair.source for pair in pairs]
    found = translator.translate(sentences, beam=1)
    found = [one for one in found if one.finished and "<unk>" not in one.target]
    whole = [-evaluate(model, encoded(translator, one)).loss for one in found]
    return [
        ("perplexity: one sentence per batch, or 64", apart(alone, loss)),
        ("perplexity: padded to 40 words", apart(padded_loss(model, batches), loss)),
        ("perplexity: 2 threads, or 1", apart(two, loss)),
        ("log p: step by step in a search, or all at once", max(
            apart(one.log_probability, all_at_once) for one, all_at_once in zip(found, whole))),
    ]


def apart(one, other):
    """Return the relative difference of two numbers."""
    return abs(one - other) / abs(other)


def encoded(translator, translation):
    """Return a translation as batches of one sentence."""
    return PairBatches([translator.source_vocabulary.encode(translation.source)],
                       [translator.target_vocabulary.encode(translation.target)], batch_size=1)


def padded_loss(model, batches, length=40):
    """Return the loss of batches in which every sentence is padded to `length` words."""
    def wide(ids):
        return np.pad(ids, [(0, length - len(ids)), (0, 0)])

    total = 0.0
    for place in batches.order():
        batch = batches.batch(place)
        total += model.loss(PairBatch(wide(batch.source), wide(batch.target_in),
                                      wide(batch.target_out), batch.rows))[0]
    return total


# ---- the command --------------------------------------------------------------------------------


def ran(way, steps, folder):
    """Train in a separate process. Return its results and weights, or None if it fails."""
    weights = Path(folder) / "weights.npy"
    words = [sys.executable, __file__, "--steps", str(steps),
             "--work", str(way.threads), str(way.seed), str(weights)]
    environment = clean(os.environ) | way.environment
    done = subprocess.run(words, env=environment, capture_output=True, text=True)
    if done.returncode:
        return None
    return json.loads(done.stdout.splitlines()[-1]) | {"weights": np.load(weights)}


def row(name, found, first, steps):
    """Return the cells of a row of the Markdown table."""
    if found is None:
        return [name, "cannot be taken here"]
    shown = [step for step in SHOWN if step <= steps]
    losses = [apart(found["losses"][step - 1], first["losses"][step - 1]) for step in shown]
    weights = np.abs(found["weights"] - first["weights"]).max()
    figures = [f"{found['figures']['perplexity']:.6f}", f"{found['figures']['chrf']:.4f}"]
    return [name, *(written(one) for one in [*losses, weights]), *figures]


def written(difference):
    return f"{difference:.0e}" if difference else "0"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--steps", type=int, default=1000, help="training steps (1000)")
    parser.add_argument("--work", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        threads, seed, weights = options.work
        work(options.steps, int(threads), int(seed), weights)
        return
    head = [*(f"step {step}" for step in SHOWN if step <= options.steps), "weights", "perplexity",
            "chrF"]
    with tempfile.TemporaryDirectory() as folder:
        first = None
        for name, way in WAYS.items():
            found = ran(way, options.steps, folder)
            if first is None:
                first = found
                print(f"{first['blas']}, NumPy {np.__version__}, float32\n")
                print(f"| {' | '.join(['training', *head])} |")
                print(f"|{'---|' * (1 + len(head))}", flush=True)
            print(f"| {' | '.join(row(name, found, first, options.steps))} |", flush=True)
    print("\n| one model | relative difference |\n|---|---:|")
    for what, difference in same_model(options.steps):
        print(f"| {what} | {written(difference)} |", flush=True)


if __name__ == "__main__":
    if "--work" not in sys.argv:        # that process has its own environment
        restart_clean()
    main()
