"""Does the fixed vector fail with length, and attention not? BLEU by source length of six systems.

    python benchmarks/bleu_by_length.py train NAME [--seed N]
    python benchmarks/bleu_by_length.py figure FILE.png
    python benchmarks/bleu_by_length.py positions

NAME: rnnsearch; encoder-decoder, the fixed vector, two-directions, the same of a source read both
ways, and reversed, of one read from its end; luong; transformer. All learn from clauses and whole
verses of bible-en-es of up to 50 tokens, with as many parameters as RNNsearch and the same number
of epochs; the learning rate falls for the Transformer alone. Runs lie in runs/length-NAME-seedN and
resume; runs/length-NAME, where it is there, is that of seed 0.

The test sentences are the clauses and verses of the test split. The figure shows the systems that
are trained, the mean over their seeds, each seed's own BLEU as a ring, and 95 % intervals over the
sentences of a bucket, the mean of the seeds' intervals. `positions` prints their perplexity, the
words before it given, by place in the target sentence, which tells a model that cannot read far
from one that loses its way in its own words.
"""

import argparse
import math
from dataclasses import replace
from pathlib import Path
from statistics import stdev
from typing import NamedTuple

import numpy as np

from numpy_attention import metrics, plotting
from numpy_attention.data.corpora import load_parallel
from numpy_attention.metrics import LengthBucket
from numpy_attention.models.budget import largest, translator_within_budget
from numpy_attention.models.registry import build
from numpy_attention.runs.translator import Translator, TranslatorTraining, vocabularies_of

RUNS = Path(__file__).resolve().parents[1] / "runs"
EDGES = (1, 8, 13, 19, 25, 31, 41, 52)
PLACES = np.array([0, 5, 10, 15, 20, 25, 30, 35, 40])
HOW = TranslatorTraining(
    epochs=3, batch_size=64, learning_rate=2e-3, clip=1.0, min_count=5, seed=0)

RNNSEARCH = {
    "hidden": 128, "embedding": 128, "maxout": 64, "dropout": 0.2, "init": "modern",
    "readout": "current", "reset": "after", "update": "old",
}
LUONG = {
    "attention": "general", "cell": "gru", "bidirectional": True, "layers": 1,
    "dropout": 0.2, "init": "modern",
}
TRANSFORMER = {"layers": 2, "heads": 4, "pre_norm": True, "dropout": 0.1, "smoothing": 0.1}


class System(NamedTuple):
    model: str
    settings: dict
    training: dict = {}     # what is otherwise than in HOW


# each at the rate it learns more from in three epochs; validation perplexity at a constant and at a
# falling one: rnnsearch 8.27 and 8.73, encoder-decoder 14.02 and 15.70, luong 8.93 and 11.57,
# transformer 8.37 and 7.77
SYSTEMS = {
    "rnnsearch": System("rnnsearch", RNNSEARCH),
    "encoder-decoder": System("encoder-decoder", RNNSEARCH),
    "two-directions": System("encoder-decoder", RNNSEARCH | {"bidirectional": True}),
    "reversed": System("encoder-decoder", RNNSEARCH, {"reverse_source": True}),
    "luong": System("luong", LUONG),
    "transformer": System("transformer", TRANSFORMER, {"schedule": "linear"}),
}


def corpus(split):
    """Clauses and verses of up to 50 tokens."""
    clauses = load_parallel("bible-en-es", split, part="clauses")
    return clauses + load_parallel("bible-en-es", split, part="verses")


def settings_of(name, source, target):
    """Settings with which a model has nearest to the parameters of RNNsearch.

    source, target: ids in the vocabularies.
    """
    def size(model, settings):
        return build(model, np.random.default_rng(0), range(source), range(target), **settings).size

    model, settings, _ = SYSTEMS[name]
    if model == "rnnsearch":
        return settings
    wanted = size(*SYSTEMS["rnnsearch"][:2])
    if model != "encoder-decoder":
        sizes, _ = translator_within_budget(wanted, source, target, model, **settings)
        return settings | sizes

    def with_hidden(half):
        return settings | {"hidden": 2 * half}

    below, _ = largest(lambda half: size(model, with_hidden(half)), wanted)
    return min(with_hidden(below), with_hidden(below + 1),
               key=lambda settings: abs(size(model, settings) - wanted))


def folder_of(name, seed):
    """Where a run lies."""
    before = RUNS / f"length-{name}"        # of seed 0, when there was no other
    return before if seed == 0 and before.exists() else RUNS / f"{before.name}-seed{seed}"


def train(name, seed, threads):
    pairs = corpus("train")
    system = SYSTEMS[name]
    how = replace(HOW, seed=seed, **system.training)
    about = {"name": "bible-en-es"}
    vocabularies = vocabularies_of(pairs, how)
    settings = settings_of(name, *map(len, vocabularies))
    translator = Translator.create(pairs, system.model, settings, how, about, vocabularies)
    print(f"{name}: {translator.model.size:,} parameters, {settings}, {len(pairs):,} pairs",
          flush=True)
    translator.fit(pairs, corpus("valid"), folder_of(name, seed), threads)


def trained():
    """(name, its Translators by seed) of the systems whose runs are there."""
    for name in SYSTEMS:
        seeds = {int(path.name.rpartition("seed")[2])
                 for path in RUNS.glob(f"length-{name}-seed*")}
        if folder_of(name, 0).exists():
            seeds.add(0)
        if seeds:
            yield name, {seed: Translator.load(folder_of(name, seed)) for seed in sorted(seeds)}


def figure(path, beam):
    pairs = corpus("test")
    sources = [pair.source for pair in pairs]
    references = [pair.target for pair in pairs]
    systems = {}
    rings = []
    for name, translators in trained():
        runs = []
        for seed, translator in translators.items():
            found = [one.target for one in translator.translate(sources, beam, threads=2)]
            runs.append(metrics.bleu_by_length(found, references, list(map(len, sources)), EDGES,
                                               rng=np.random.default_rng([seed, 2])))
            last = translator.history[-1]
            print(f"{name}, seed {seed}: {translator.model.size:,} parameters, validation "
                  f"perplexity {last['valid_perplexity']:.2f}, {last['seconds'] / 60:.1f} minutes, "
                  f"beam {beam}, BLEU of all {metrics.bleu(found, references).score:.2f}")
        buckets = over_seeds(runs)
        for bucket, *seeds in zip(buckets, *runs):
            print(f"  {told(bucket, seeds)}")
        several = f", {len(runs)} seeds" if len(runs) > 1 else ""
        systems[f"{name}, {translator.model.size / 1e6:.1f} M parameters{several}"] = buckets
        rings.append(runs)
    ax = plotting.bleu_by_length_plot(systems)
    draw_rings(ax, rings)
    print("saved", plotting.save(ax, path))


def over_seeds(runs):
    """The buckets of several seeds as one list: means of BLEU and of the ends of its intervals."""
    return [LengthBucket(*buckets[0][:3], *map(mean_of, list(zip(*buckets))[3:]))
            for buckets in zip(*runs)]


def mean_of(values):
    """None where a bucket has no sentences."""
    return None if None in values else float(np.mean(values))


def told(bucket, seeds):
    """A bucket in words: BLEU, the standard deviation over seeds, the interval over sentences."""
    words = f"{bucket.low:>2} to {math.ceil(bucket.high) - 1:>2} words"
    line = f"{words}, {bucket.count:>4} sentences:"
    if bucket.bleu is None:
        return line
    line += f" {bucket.bleu:.2f}"
    if len(seeds) > 1:
        line += f" ± {stdev(seed.bleu for seed in seeds):.2f}"
    return f"{line} [{bucket.bleu_low:.2f}, {bucket.bleu_high:.2f}]"


def draw_rings(ax, systems):
    """Each seed's own BLEU, where there are several; systems: the runs of each curve."""
    for line, runs in zip(list(ax.lines), systems):
        if len(runs) > 1:
            for buckets in runs:
                scores = [math.nan if bucket.bleu is None else bucket.bleu for bucket in buckets]
                ax.plot(line.get_xdata(), scores, linestyle="none", marker="o", markersize=4,
                        markerfacecolor="none", color=line.get_color(), alpha=0.7)


def positions():
    pairs = corpus("test")
    print("target positions from " + ", ".join(map(str, PLACES + 1)))
    for name, translators in trained():
        for seed, translator in translators.items():
            values = perplexity_by_place(translator.model, translator.batches(pairs))
            print(f"{name:15} seed {seed} " + " ".join(f"{value:6.1f}" for value in values),
                  flush=True)


def perplexity_by_place(model, batches):
    """The perplexity of the words from each of PLACES to the next; NaN: no sentence is so long."""
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
    one = commands.add_parser("train")
    one.add_argument("name", choices=SYSTEMS)
    one.add_argument("--seed", type=int, default=0)
    one.add_argument("--threads", type=int, default=2)
    other = commands.add_parser("figure")
    other.add_argument("file")
    other.add_argument("--beam", type=int, default=5)
    commands.add_parser("positions")
    options = parser.parse_args(arguments)
    if options.command == "train":
        train(options.name, options.seed, options.threads)
    elif options.command == "figure":
        figure(options.file, options.beam)
    else:
        positions()


if __name__ == "__main__":
    main()
