"""Does the fixed vector fail with length, and attention not? BLEU by source length of four models.

    python benchmarks/bleu_by_length.py train rnnsearch|encoder-decoder|luong|transformer
    python benchmarks/bleu_by_length.py figure FILE.png
    python benchmarks/bleu_by_length.py positions

All learn from clauses and whole verses of bible-en-es of up to 50 tokens, with as many parameters
as RNNsearch and the same number of epochs; the learning rate falls for the Transformer alone, see
SCHEDULES. Runs lie in runs/length-NAME and resume. The test sentences are the clauses and verses of
the test split. The figure shows the models that are trained; `positions` prints their perplexity,
the words before it given, by place in the target sentence, which tells a model that cannot read far
from one that loses its way in its own words.
"""

import argparse
import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from numpy_attention import metrics, plotting
from numpy_attention.data.corpora import load_parallel
from numpy_attention.models.budget import largest, translator_within_budget
from numpy_attention.models.registry import build
from numpy_attention.runs.translator import Translator, TranslatorTraining

RUNS = Path(__file__).resolve().parents[1] / "runs"
EDGES = (1, 8, 13, 19, 25, 31, 41, 52)
PLACES = np.array([0, 5, 10, 15, 20, 25, 30, 35, 40])
HOW = TranslatorTraining(
    epochs=3, batch_size=64, learning_rate=2e-3, clip=1.0, min_count=5, seed=0)
# each at the rate it learns more from in three epochs; validation perplexity at a constant and at a
# falling one: rnnsearch 8.27 and 8.73, encoder-decoder 14.02 and 15.70, luong 8.93 and 11.57,
# transformer 8.37 and 7.77
SCHEDULES = {"transformer": "linear"}

RNNSEARCH = {
    "hidden": 128, "embedding": 128, "maxout": 64, "dropout": 0.2, "init": "modern",
    "readout": "current", "reset": "after", "update": "old",
}
LUONG = {
    "attention": "general", "cell": "gru", "bidirectional": True, "layers": 1,
    "dropout": 0.2, "init": "modern",
}
TRANSFORMER = {"layers": 2, "heads": 4, "pre_norm": True, "dropout": 0.1, "smoothing": 0.1}
SYSTEMS = {
    "rnnsearch": RNNSEARCH,
    "encoder-decoder": RNNSEARCH,
    "luong": LUONG,
    "transformer": TRANSFORMER,
}


def corpus(split):
    """Clauses and verses of up to 50 tokens."""
    clauses = load_parallel("bible-en-es", split, part="clauses")
    return clauses + load_parallel("bible-en-es", split, part="verses")


def settings_of(name, source, target):
    """Settings with which a model has nearest to the parameters of RNNsearch.

    source, target: ids in the vocabularies.
    """
    def size(name, settings):
        return build(name, np.random.default_rng(0), range(source), range(target), **settings).size

    settings = SYSTEMS[name]
    if name == "rnnsearch":
        return settings
    wanted = size("rnnsearch", SYSTEMS["rnnsearch"])
    if name != "encoder-decoder":
        sizes, _ = translator_within_budget(wanted, source, target, name, **settings)
        return settings | sizes

    def with_hidden(half):
        return settings | {"hidden": 2 * half}

    below, _ = largest(lambda half: size(name, with_hidden(half)), wanted)
    return min(with_hidden(below), with_hidden(below + 1),
               key=lambda settings: abs(size(name, settings) - wanted))


def train(name, threads):
    pairs = corpus("train")
    how = replace(HOW, schedule=SCHEDULES.get(name, HOW.schedule))
    about = {"name": "bible-en-es"}
    translator = Translator.create(pairs, "rnnsearch", SYSTEMS["rnnsearch"], how, about)
    vocabularies = (translator.source_vocabulary, translator.target_vocabulary)
    settings = settings_of(name, *map(len, vocabularies))
    translator = Translator.create(pairs, name, settings, how, about, vocabularies)
    print(f"{name}: {translator.model.size:,} parameters, {settings}, {len(pairs):,} pairs",
          flush=True)
    translator.fit(pairs, corpus("valid"), RUNS / f"length-{name}", threads)


def trained():
    """(name, Translator) of the systems whose run is there."""
    for name in SYSTEMS:
        folder = RUNS / f"length-{name}"
        if folder.exists():
            yield name, Translator.load(folder)


def figure(path, beam):
    pairs = corpus("test")
    sources = [pair.source for pair in pairs]
    references = [pair.target for pair in pairs]
    systems = {}
    for name, translator in trained():
        found = [one.target for one in translator.translate(sources, beam, threads=2)]
        buckets = metrics.bleu_by_length(found, references, list(map(len, sources)), EDGES)
        label = f"{name}, {translator.model.size / 1e6:.1f} M parameters"
        systems[label] = buckets
        last = translator.history[-1]
        print(f"{label}: validation perplexity {last['valid_perplexity']:.2f}, "
              f"{last['seconds'] / 60:.1f} minutes, beam {beam}, "
              f"BLEU of all {metrics.bleu(found, references).score:.2f}")
        for bucket in buckets:
            bleu = "" if bucket.bleu is None else f"{bucket.bleu:.2f}"
            words = f"{bucket.low:>2} to {math.ceil(bucket.high) - 1:>2} words"
            print(f"  {words}, {bucket.count:>4} sentences: {bleu}")
    print("saved", plotting.save(plotting.bleu_by_length_plot(systems), path))


def positions():
    pairs = corpus("test")
    print("target positions from " + ", ".join(map(str, PLACES + 1)))
    for name, translator in trained():
        values = perplexity_by_place(translator.model, translator.batches(pairs))
        print(f"{name:16} " + " ".join(f"{value:6.1f}" for value in values), flush=True)


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
    one.add_argument("--threads", type=int, default=2)
    other = commands.add_parser("figure")
    other.add_argument("file")
    other.add_argument("--beam", type=int, default=5)
    commands.add_parser("positions")
    options = parser.parse_args(arguments)
    if options.command == "train":
        train(options.name, options.threads)
    elif options.command == "figure":
        figure(options.file, options.beam)
    else:
        positions()


if __name__ == "__main__":
    main()
