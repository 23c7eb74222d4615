"""Measure where attention points when French moves or doubles a word.

    for seed in 0 1 2; do for name in additive dot scaled-dot; do
        numpy-attention reproduce grammar-$name --seed $seed
    done; done
    python benchmarks/grammar_pointing.py runs/grammar-*-seed* [--output runs]

For each run on grammar-en-fr and each phenomenon, prints the share of sure links for which the
target word has its largest weight on the right source word. For the others, prints where the
largest weight is: on a word with a possible link ("does"), on the source word of the previous or
next target word, on </s>, or on another word. The two halves of the negation are reported together
and separately. Saves grammar_attention.png, which shows one sentence for every run.
"""

import argparse
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

from numpy_attention import plotting
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.data.datasets.grammar import phenomena
from numpy_attention.experiments.runs.translator import Translator

SHOWN = ("swapped adjective", "negation", "ne", "pas", "object pronoun", "moved adverb")
EOS = ["</s>"]


def largest_weight_on(pair, weights, i, j):
    """Classify where target word j, whose gold source word is i, has its largest weight."""
    place = int(weights[j].argmax())
    if place == i:
        return "right"
    if place == len(pair.source):
        return "</s>"
    if (place, j) in pair.possible:
        return "a possible link"
    if (place, j - 1) in pair.sure:
        return "word before's"
    if (place, j + 1) in pair.sure:
        return "word after's"
    return "another"


def phenomena_and_halves(pair):
    """Return `phenomena(pair)`, also with separate links of the negation to ne or n', and pas."""
    found = phenomena(pair)
    negation = found["negation"]
    found["pas"] = [(i, j) for i, j in negation if pair.target[j] == "pas"]
    found["ne"] = [(i, j) for i, j in negation if pair.target[j] != "pas"]
    return found


def counts_of(phenomenon, pairs, found, weights):
    """Count over all pairs what the words of one phenomenon point at."""
    counts = Counter()
    for pair, links, rows in zip(pairs, found, weights):
        counts.update(largest_weight_on(pair, rows, i, j) for i, j in links[phenomenon])
    return counts


def row(phenomenon, counts):
    total = counts.total()
    instead = [f"{what} {count / total:.3f}"
               for what, count in counts.most_common() if what != "right"]
    share = f"{counts['right'] / total:.3f} of {total:,} links"
    return f"    {phenomenon:<18} {share}; else {', '.join(instead)}"


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", metavar="RUN")
    parser.add_argument("--output", type=Path, default=Path("runs"), metavar="FOLDER")
    options = parser.parse_args(arguments)
    options.output.mkdir(parents=True, exist_ok=True)
    pairs = load_parallel("grammar-en-fr", "test")
    found = [phenomena_and_halves(pair) for pair in pairs]
    example = next(
        n for n, one in enumerate(found) if one["swapped adjective"] and one["negation"])
    shown = {}
    shares = defaultdict(lambda: defaultdict(list))     # run without its seed → phenomenon → shares
    for folder in options.runs:
        name = Path(folder).name
        weights = Translator.load(folder).attend(pairs)
        shown[name] = weights[example]
        print(name)
        for phenomenon in SHOWN:
            counts = counts_of(phenomenon, pairs, found, weights)
            print(row(phenomenon, counts))
            of_all_seeds = shares[name.rsplit("-seed", 1)[0]]
            of_all_seeds[phenomenon].append(counts["right"] / counts.total())
    print("median over seeds")
    for name, by_phenomenon in shares.items():
        medians = [f"{phenomenon} {np.median(values):.3f}"
                   for phenomenon, values in by_phenomenon.items()]
        print(f"    {name:<20} " + ", ".join(medians))
    pair = pairs[example]
    grid = plotting.heatmap_grid(
        shown, source_tokens=[*pair.source, *EOS], target_tokens=[*pair.target, *EOS],
        gold=pair.sure, possible=pair.possible, columns=3)
    print("saved", plotting.save(grid, options.output / "grammar_attention.png"))


if __name__ == "__main__":
    main()
