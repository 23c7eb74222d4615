"""Does the fixed vector fail with length, and attention not? BLEU by source length of four models, on bible-en-es.

    python benchmarks/bleu_by_length.py train rnnsearch|encoder-decoder|luong|transformer
    python benchmarks/bleu_by_length.py figure FILE.png
    python benchmarks/bleu_by_length.py positions

All learn from clauses and whole verses of up to 50 tokens, with as many parameters as RNNsearch and the same number of
epochs; the learning rate falls for the Transformer alone, see SCHEDULES. Runs lie in runs/length-NAME and resume. The test
sentences are the clauses and verses of the test split. The figure shows the models that are trained; `positions` prints
their perplexity, the words before it given, by place in the target sentence, which tells a model that cannot read far from
one that loses its way in its own words.
"""

import argparse
import math
from dataclasses import replace
from pathlib import Path

import numpy as np

from numpy_attention import metrics, plotting
from numpy_attention.data.corpora import load_parallel
from numpy_attention.models.budget import translator_within_budget
from numpy_attention.models.registry import build
from numpy_attention.runs.translator import Translator, TranslatorTraining

RUNS = Path(__file__).resolve().parents[1] / "runs"
EDGES = (1, 8, 13, 19, 25, 31, 41, 52)
HOW = TranslatorTraining(epochs=3, batch_size=64, learning_rate=2e-3, clip=1.0, min_count=5, seed=0)
# each at the rate it learns more from in three epochs; validation perplexity at a constant and at a falling one: rnnsearch
# 8.27 and 8.73, encoder-decoder 14.02 and 15.70, luong 8.93 and 11.57, transformer 8.37 and 7.77
SCHEDULES = {"transformer": "linear"}
SYSTEMS = ("rnnsearch", "encoder-decoder", "luong", "transformer")
LUONG = dict(attention="general", cell="gru", bidirectional=True, layers=1, dropout=0.2, init="modern")
TRANSFORMER = dict(layers=2, heads=4, pre_norm=True, dropout=0.1, smoothing=0.1)
COMMON = dict(readout="current", reset="after", update="old", init="modern", dropout=0.2, embedding=128)


def corpus(split):
    """Clauses and verses of up to 50 tokens."""
    return [pair for part in ("clauses", "verses") for pair in load_parallel("bible-en-es", split, part=part)]


def equal_hidden(source, target, size):
    """The hidden size at which EncoderDecoder has nearest to `size` parameters."""
    count = lambda hidden: build("encoder-decoder", np.random.default_rng(0), range(source), range(target),
                                 hidden=hidden, maxout=64, **COMMON).size
    return min(range(128, 400, 2), key=lambda hidden: abs(count(hidden) - size))


def train(name, threads):
    pairs, how = corpus("train"), replace(HOW, schedule=SCHEDULES.get(name, HOW.schedule))
    settings = dict(COMMON, hidden=128, maxout=64)
    translator = Translator.create(pairs, "rnnsearch", settings, how, {"name": "bible-en-es"})
    if name != "rnnsearch":
        sizes, size = (len(translator.source_vocabulary), len(translator.target_vocabulary)), translator.model.size
        if name == "encoder-decoder":
            settings["hidden"] = equal_hidden(*sizes, size)
        else:
            settings = LUONG if name == "luong" else TRANSFORMER
            settings = settings | translator_within_budget(size, *sizes, name, **settings)[0]
        translator = Translator.create(pairs, name, settings, how, {"name": "bible-en-es"})
    print(f"{name}: {translator.model.size:,} parameters, {settings}, {len(pairs):,} pairs", flush=True)
    translator.fit(pairs, corpus("valid"), RUNS / f"length-{name}", threads)


def figure(path, beam):
    pairs = corpus("test")
    lengths, systems = [len(pair.source) for pair in pairs], {}
    for name in trained():
        translator = Translator.load(RUNS / f"length-{name}")
        found = [t.target for t in translator.translate([pair.source for pair in pairs], beam, threads=2)]
        label = f"{name}, {translator.model.size / 1e6:.1f} M parameters"
        systems[label] = metrics.bleu_by_length(found, [pair.target for pair in pairs], lengths, EDGES)
        last = translator.history[-1]
        print(f"{label}: validation perplexity {last['valid_perplexity']:.2f}, {last['seconds'] / 60:.1f} minutes, "
              f"beam {beam}, BLEU of all {metrics.bleu(found, [pair.target for pair in pairs]).score:.2f}")
        for bucket in systems[label]:
            print(f"  {bucket.low:>2} to {math.ceil(bucket.high) - 1:>2} words, {bucket.count:>4} sentences: "
                  f"{'' if bucket.bleu is None else format(bucket.bleu, '.2f')}")
    axes = plotting.bleu_by_length_plot(systems)
    print("saved", plotting.save(axes, path))


def positions():
    pairs, edges = corpus("test"), np.array([0, 5, 10, 15, 20, 25, 30, 35, 40])
    print("target positions from " + ", ".join(map(str, edges + 1)))
    for name in trained():
        translator = Translator.load(RUNS / f"length-{name}")
        model, batches, sums, counts = translator.model, translator.batches(pairs), np.zeros(len(edges)), np.zeros(len(edges))
        for batch in map(batches.batch, batches.order()):
            targets = batch.target_out[batch.target_mask]
            log_p = model.output.log_probabilities(model.forward(batch)[0])[np.arange(len(targets)), targets]
            bucket = np.searchsorted(edges, np.nonzero(batch.target_mask)[0], "right") - 1
            sums += np.bincount(bucket, -log_p, len(edges))
            counts += np.bincount(bucket, minlength=len(edges))
        print(f"{name:16} " + " ".join(f"{value:6.1f}" for value in np.exp(sums / counts)), flush=True)


def trained():
    """The systems whose run is there."""
    return [name for name in SYSTEMS if (RUNS / f"length-{name}").exists()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("train")
    one.add_argument("name", choices=SYSTEMS)
    one.add_argument("--threads", type=int, default=2)
    other = commands.add_parser("figure")
    other.add_argument("file")
    other.add_argument("--beam", type=int, default=5)
    commands.add_parser("positions")
    arguments = parser.parse_args()
    if arguments.command == "train":
        train(arguments.name, arguments.threads)
    elif arguments.command == "positions":
        positions()
    else:
        figure(arguments.file, arguments.beam)


if __name__ == "__main__":
    main()
