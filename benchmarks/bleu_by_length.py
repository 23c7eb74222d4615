"""Plot BLEU by source length for six systems, with a fixed vector and with attention.

    numpy-attention reproduce length-NAME [--seed N]        train, measure and record one system
    python benchmarks/bleu_by_length.py figure FILE.png
    python benchmarks/bleu_by_length.py positions

The systems are the recipes `length-*` in `recipes/translators.toml`. The figure shows the systems
recorded in results/length-*.jsonl: the mean over their seeds, the BLEU of each seed as a ring, and
95 % intervals over the sentences of a bucket (the mean of the seeds' intervals).

`positions` prints the perplexity of the models in runs/length-* by position in the target sentence,
given the reference words before it. This separates a model that cannot read distant words from one
that is misled by its own errors.
"""

import argparse
from itertools import pairwise
from pathlib import Path
from statistics import stdev

import numpy as np

from numpy_attention import plotting
from numpy_attention.experiments import recipes
from numpy_attention.experiments.recipes import results
from numpy_attention.experiments.recipes.measures import length_edges, metric_of
from numpy_attention.experiments.runs.translator import Translator
from numpy_attention.metrics import LengthBucket

ROOT = Path(__file__).resolve().parents[1]
RECIPES = [recipe for name, recipe in recipes.RECIPES.items() if name.startswith("length-")]
EDGES = length_edges(metric for _, metric in RECIPES[0].metrics)
PLACES = np.array([0, 5, 10, 15, 20, 25, 30, 35, 40])


def recorded(folder):
    """Return {recipe: {seed: {metric: line}}} of all figures recorded for the test sentences."""
    systems = {}
    for recipe in RECIPES:
        path = folder / f"{recipe.name}.jsonl"
        for line in results.read_file(path) if path.exists() else []:
            if line["split"] == "test":
                seeds = systems.setdefault(recipe.name, {})
                seeds.setdefault(line["seed"], {})[line["metric"]] = line
    return systems


def buckets_of(lines, counts):
    """Return the LengthBuckets of a run. lines: {metric: line}; counts: sentences per bucket."""
    found = [lines[metric_of(*ends)] for ends in pairwise(EDGES)]
    return [LengthBucket(*ends, count, line["value"], line["low"], line["high"])
            for ends, count, line in zip(pairwise(EDGES), counts, found)]


def figure(path):
    systems = recorded(ROOT / "results")
    if not systems:
        raise SystemExit("bleu_by_length: results/ has no length-*.jsonl: record one with "
                         "numpy-attention reproduce length-additive")
    lengths = [len(pair.source) for pair in RECIPES[0].load("test")]
    counts = np.histogram(lengths, EDGES)[0].tolist()
    curves = {}
    rings = []
    for name, seeds in systems.items():
        runs = [buckets_of(lines, counts) for lines in seeds.values()]
        parameters = seeds[min(seeds)]["bleu"]["parameters"]
        buckets = over_seeds(runs)
        print(f"{name}: {parameters:,} parameters, seeds {', '.join(map(str, seeds))}, BLEU of all "
              + ", ".join(f"{lines['bleu']['value']:.2f}" for lines in seeds.values()))
        for bucket, *each in zip(buckets, *runs):
            print(f"  {format_bucket(bucket, each)}")
        several = f", {len(runs)} seeds" if len(runs) > 1 else ""
        curves[f"{name.removeprefix('length-')}, {parameters / 1e6:.1f} M parameters{several}"] = (
            buckets)
        rings.append(runs)
    ax = plotting.bleu_by_length_plot(curves)
    draw_rings(ax, rings)
    print("saved", plotting.save(ax, path))


def over_seeds(runs):
    """Average the buckets of several seeds: BLEU and the ends of its intervals."""
    return [LengthBucket(*buckets[0][:3], *np.mean([bucket[3:] for bucket in buckets], 0).tolist())
            for buckets in zip(*runs)]


def format_bucket(bucket, seeds):
    """Format a bucket: BLEU, its standard deviation over seeds, its interval over sentences."""
    line = (f"{bucket.low:>2} to {bucket.high - 1:>2} words, {bucket.count:>4} sentences: "
            f"{bucket.bleu:.2f}")
    if len(seeds) > 1:
        line += f" ± {stdev(seed.bleu for seed in seeds):.2f}"
    return f"{line} [{bucket.bleu_low:.2f}, {bucket.bleu_high:.2f}]"


def draw_rings(ax, systems):
    """Draw the BLEU of each seed if there are several. systems: the runs of each curve."""
    for line, runs in zip(list(ax.lines), systems):
        if len(runs) > 1:
            for buckets in runs:
                ax.plot(line.get_xdata(), [bucket.bleu for bucket in buckets], linestyle="none",
                        marker="o", markersize=4, markerfacecolor="none", color=line.get_color(),
                        alpha=0.7)


def positions():
    pairs = RECIPES[0].load("test")
    print("target positions from " + ", ".join(map(str, PLACES + 1)))
    for recipe in RECIPES:
        folders = (ROOT / "runs").glob(f"{recipe.name}-seed*")
        for folder in sorted(folders, key=lambda one: int(one.name.rpartition("seed")[2])):
            translator = Translator.load(folder)
            values = perplexity_by_place(translator.model, translator.batches(pairs))
            print(f"{folder.name:33} " + " ".join(f"{value:6.1f}" for value in values), flush=True)


def perplexity_by_place(model, batches):
    """Return the perplexity of the words from each of PLACES to the next, NaN if there are none."""
    sums = np.zeros(len(PLACES))
    counts = np.zeros(len(PLACES))
    for place in batches.order():
        batch = batches.batch(place)
        targets = batch.target_out[batch.target_mask]
        read_out = model.forward(batch)[0]
        log_p = model.output.log_probabilities(read_out)[np.arange(len(targets)), targets]
        steps, _ = np.nonzero(batch.target_mask)
        bucket = np.searchsorted(PLACES, steps, "right") - 1
        sums += np.bincount(bucket, -log_p, len(PLACES))
        counts += np.bincount(bucket, minlength=len(PLACES))
    with np.errstate(invalid="ignore"):
        return np.exp(sums / counts)


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("figure").add_argument("file")
    commands.add_parser("positions")
    options = parser.parse_args(arguments)
    if options.command == "figure":
        figure(options.file)
    else:
        positions()


if __name__ == "__main__":
    main()
