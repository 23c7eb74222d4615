"""Does attention align as well as a statistical aligner? The test clauses of bible-en-es, their gold links, and IBM Model 1.

    numpy-attention reproduce clauses-additive        # and others
    python benchmarks/alignment.py runs/clauses-*-seed* [--iterations 5]

Model 1 (Brown et al. 1993, section 4.2) learns p(target word | source word) from the training clauses alone and is asked
with both sentences before it. Attention is asked in mid-sentence, before its target word is known; so each run is also
measured one step later, where the word has been read and, if the weights are of use to what comes next, explained
(Chen et al. 2020, "Accurate word alignment induction from neural machine translation", read cross-attention so). Printed:
the share of sure links that the largest weight is on, of target words whose largest weight is at most one word off, and the
alignment error rate.
"""

import argparse
from pathlib import Path

import numpy as np

from numpy_attention import metrics
from numpy_attention.data.corpora import load_parallel
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.translation import Translator

NULL = 0        # the source word that explains what none explains; its id is <pad>'s, which no sentence has


class Model1:
    """t(f | e) of IBM Model 1 by expectation maximisation, from sentence pairs of ids.

        p(f_1 … f_m | e_1 … e_l) = ε (l + 1)^{−m} Π_j Σ_i t(f_j | e_i)            e_0 = NULL
    """

    def __init__(self, sources, targets, size, iterations=5):
        """size: of the target vocabulary; ids are below it. log_likelihoods: of the words, before each iteration."""
        cells = [np.add.outer(np.array(target), np.array([NULL, *source]) * size).ravel()        # e · size + f
                 for source, target in zip(sources, targets)]
        words = np.repeat(np.arange(sum(map(len, targets))),
                          [len(source) + 1 for source, target in zip(sources, targets) for _ in target])
        self.size = size
        self.keys, place = np.unique(np.concatenate(cells), return_inverse=True)
        given = self.keys // size
        self.t = np.full(len(self.keys), 1 / size)
        self.log_likelihoods = []
        for _ in range(iterations):
            joint = self.t[place]
            total = np.bincount(words, joint)                                # Σ_i t(f_j | e_i)
            self.log_likelihoods.append(float(np.log(total).sum()))
            counts = np.bincount(place, joint / total[words])                # expected count of each (e, f)
            self.t = counts / np.bincount(given, counts)[given]

    def weights(self, source, target):
        """t(f_j | e_i) (T, S); 0 for words never seen together, and nothing for NULL."""
        wanted = np.add.outer(np.array(target), np.array(source) * self.size)
        found = np.searchsorted(self.keys, wanted).clip(max=len(self.keys) - 1)
        return np.where(self.keys[found] == wanted, self.t[found], 0.0)


def model1(train, test, iterations):
    """Its weights on the test pairs, one matrix a pair; a target word it never saw points nowhere."""
    sides = [Vocabulary.build(sentences, min_count=1) for sentences in
             ([pair.source for pair in train], [pair.target for pair in train])]
    sources, targets = sides

    def encode(pairs):
        return [sources.encode(pair.source) for pair in pairs], [targets.encode(pair.target) for pair in pairs]

    model = Model1(*encode(train), len(targets), iterations)
    return [model.weights(source, target) for source, target in zip(*encode(test))]


def figures(weights, pairs):
    aer = metrics.alignment_error_rate(metrics.links_from_weights(weights, pairs), pairs)
    return f"{metrics.pointing_accuracy(weights, pairs):8.3f} {metrics.near_pointing(weights, pairs):8.3f} {aer:8.3f}"


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", metavar="RUN")
    parser.add_argument("--iterations", type=int, default=5)
    options = parser.parse_args(arguments)
    train, test = (load_parallel("bible-en-es", split) for split in ("train", "test"))
    width = max([len(Path(folder).name) for folder in options.runs] + [24])
    print(f"{'':{width}}  pointing     near      aer    one step later")
    print(f"{'the diagonal':{width}}  {metrics.diagonal_pointing(test):8.3f}")
    name = f"IBM Model 1, {options.iterations} iterations"
    print(f"{name:{width}}  {figures(model1(train, test, options.iterations), test)}")
    for folder in options.runs:
        weights = Translator.load(folder).attend(test)
        later = [rows[1:] for rows in weights]
        print(f"{Path(folder).name:{width}}  {figures(weights, test)}  {figures(later, test)}", flush=True)


if __name__ == "__main__":
    main()
