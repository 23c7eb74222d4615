"""Compare attention with a statistical aligner on the test clauses of bible-en-es.

    numpy-attention reproduce clauses-additive        # and others
    python benchmarks/alignment.py runs/clauses-*-seed? [--iterations 5] [--heads] [--posterior]

IBM Model 1 (Brown et al. 1993, section 4.2) learns p(target word | source word) from the training
clauses and aligns with both sentences given. Attention aligns while it translates, before the
target word is known. So each run is also measured with the weights of the first query that has read
the target word, as in Chen et al. 2020, "Accurate word alignment induction from neural machine
translation". This is one step later. It is two steps later for RNNsearch, whose query s_{i−1} has
read only y_{i−2}, and for Luong's decoder with queries from h_{t−1}.

Prints the share of sure links that have the largest weight of their target word, the share of
target words whose largest weight is at most one word off, and the alignment error rate. With
--heads, every layer and head of a multi-head run is also measured alone. With --posterior, the
weights are also measured after the target word is given, with attention as the prior (Shankar &
Sarawagi 2019, "Posterior attention models for sequence to sequence learning"):

    p(a_t = s | y_t) ∝ α_ts p(y_t | all weight is on s)

This is possible for models whose states do not depend on earlier attention: Luong's without input
feeding and without a local window.
"""

import argparse
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from numpy_attention import metrics
from numpy_attention.attention.local import LocalMonotonic, LocalPredictive
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.experiments.runs.translator import Translator

# steps until a query has read the word; 1 for other models
READ = {"rnnsearch": 2, "encoder-decoder": 2}
# the empty source word e_0, with the id of <pad>, which does not occur in sentences
NULL = 0


class Model1:
    """IBM Model 1: estimate t(f | e) by expectation maximization from sentence pairs of ids.

        p(f_1 … f_m | e_1 … e_l) = ε (l + 1)^{−m} Π_j Σ_i t(f_j | e_i)            e_0 = NULL
    """

    def __init__(self, sources, targets, size, iterations=5):
        """Estimate t(f | e). size: that of the target vocabulary.

        `log_likelihoods` are those of the target words before each iteration.
        """
        self.size = size
        pairs = []                      # e · size + f for each f and each e of its source
        words = []                      # the index of that f among all words
        count = 0
        for source, target in zip(sources, targets):
            given = np.array([NULL, *source])
            pairs.append(np.add.outer(np.array(target), given * size).ravel())
            words.append(np.repeat(np.arange(count, count + len(target)), len(given)))
            count += len(target)
        words = np.concatenate(words)
        self.keys, place = np.unique(np.concatenate(pairs), return_inverse=True)
        given = self.keys // size
        self.t = np.full(len(self.keys), 1 / size)
        self.log_likelihoods = []
        for _ in range(iterations):
            joint = self.t[place]
            total = np.bincount(words, joint)                   # Σ_i t(f_j | e_i)
            self.log_likelihoods.append(float(np.log(total).sum()))
            counts = np.bincount(place, joint / total[words])   # expected count of each (e, f)
            self.t = counts / np.bincount(given, counts)[given]

    def weights(self, source, target):
        """Return t(f_j | e_i) (T, S) without NULL. It is 0 for words that never occur together."""
        wanted = np.add.outer(np.array(target), np.array(source) * self.size)
        found = np.searchsorted(self.keys, wanted).clip(max=len(self.keys) - 1)
        return np.where(self.keys[found] == wanted, self.t[found], 0.0)


def model1(train, test, iterations):
    """Return the weights of IBM Model 1 on the test pairs, 0 for words that it never saw."""
    sources = Vocabulary.build([pair.source for pair in train], min_count=1)
    targets = Vocabulary.build([pair.target for pair in train], min_count=1)

    def encode(pairs):
        return ([sources.encode(pair.source) for pair in pairs],
                [targets.encode(pair.target) for pair in pairs])

    model = Model1(*encode(train), len(targets), iterations)
    return [model.weights(source, target) for source, target in zip(*encode(test))]


# ---- one head alone ----------------------------------------------------------------------------


@contextmanager
def only(model, layer, attention, head):
    """Replace the model's weights by those of one head of one decoder layer, within a block."""
    decoder = model.decoder
    whole = attention.attention
    if layer is not None:
        model.decoder = decoder[:layer + 1]         # the weights returned are the last layer's
    attention.attention = OneHead(whole, head)
    try:
        yield
    finally:
        model.decoder = decoder
        attention.attention = whole


class OneHead:
    """Attention with weights (B, heads, T, S) that are those of one head for all heads.

    Multi-head attention returns their mean, which is then that of this head.
    """

    def __init__(self, attention, head):
        self.attention = attention
        self.head = head

    def forward(self, *arguments):
        y, weights, cache = self.attention.forward(*arguments)
        return y, np.broadcast_to(weights[:, [self.head]], weights.shape), cache


def heads(translator):
    """Return (name, layer, attention, head) for each head of multi-head attention to the source."""
    layers = []
    if translator.name == "transformer":
        for k, layer in enumerate(translator.model.decoder):
            layers.append((f"layer {k + 1}, ", k, layer.source_attention))
    elif isinstance(getattr(translator.model, "attention", None), MultiHeadAttention):
        layers.append(("", None, translator.model.attention))
    return [(f"{name}head {head + 1}", layer, attention, head)
            for name, layer, attention in layers for head in range(attention.heads)]


# ---- weights given the word --------------------------------------------------------------------


def posterior(model, batch):
    """Return p(a_t = s | y_t) (T, B, S), 0 for steps that are padding."""
    _, weights, _ = model.forward(batch)
    attention = model.attention
    words = batch.target_mask
    targets = batch.target_out[words]
    joint = np.zeros_like(weights)
    try:
        for s in range(weights.shape[2]):
            model.attention = Only(attention, s)
            read_out, _, _ = model.forward(batch)
            log_p = model.output.log_probabilities(read_out)
            p = np.exp(log_p[np.arange(len(targets)), targets])
            joint[words, s] = p * weights[words, s]
    finally:
        model.attention = attention
    return joint / np.maximum(joint.sum(2, keepdims=True), np.finfo(joint.dtype).tiny)


class Only:
    """An attention to a single position, or to all positions in rows where it is padding."""

    def __init__(self, attention, position):
        self.attention = attention
        self.position = position

    def read(self, values, mask):
        memory = self.attention.read(values, mask)
        here = np.arange(mask.shape[1]) == self.position
        memory.mask = mask & (here | ~mask[:, [self.position]])
        return memory

    def step(self, *arguments):
        return self.attention.step(*arguments)


@contextmanager
def posterior_weights(model):
    """Replace the model's weights by the posterior ones within a block."""
    model.weights = lambda batch: posterior(model, batch)
    try:
        yield
    finally:
        del model.weights


def has_posterior(translator):
    """Return whether `posterior` applies.

    The context of a step must not affect other steps, and the weights of a step must sum to 1.
    """
    if translator.name != "luong" or translator.model.F is not None:
        return False
    return not isinstance(translator.model.attention, (LocalMonotonic, LocalPredictive))


# ---- the table ---------------------------------------------------------------------------------


def later(weights, steps):
    """Return the weights (T, S) of `steps` steps later, and 0 for the last `steps` words."""
    nothing = np.zeros((steps, weights.shape[1]), weights.dtype)
    return np.concatenate([weights[steps:], nothing])


def steps_until_read(translator):
    """Return the number of steps from the prediction of a word to the first query that read it."""
    if translator.name == "luong" and translator.model.query == "previous":
        return 2
    return READ.get(translator.name, 1)


def both_times(translator, pairs):
    """Format the figures before a word is read and after."""
    weights = translator.attend(pairs)
    steps = steps_until_read(translator)
    after = [later(rows, steps) for rows in weights]
    return f"{figures(weights, pairs)}  {figures(after, pairs)}"


def figures(weights, pairs):
    pointing = metrics.pointing_accuracy(weights, pairs)
    near = metrics.near_pointing(weights, pairs)
    links = metrics.links_from_weights(weights, pairs)
    return f"{pointing:8.3f} {near:8.3f} {metrics.alignment_error_rate(links, pairs):8.3f}"


def diagonal(pair):
    """Return weights (T, S), 1 at the source word in the same relative position, 0 elsewhere."""
    S, T = len(pair.source), len(pair.target)
    steps = max(T - 1, 1)
    return np.eye(S)[[(2 * j * (S - 1) + steps) // (2 * steps) for j in range(T)]]


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="*", metavar="RUN")
    parser.add_argument("--iterations", type=int, default=5)
    parser.add_argument("--heads", action="store_true", help="also measure every layer and head")
    parser.add_argument("--posterior", action="store_true",
                        help="also measure with the target word given, where possible")
    options = parser.parse_args(arguments)
    train = load_parallel("bible-en-es", "train")
    test = load_parallel("bible-en-es", "test")
    width = max([24] + [len(Path(folder).name) for folder in options.runs])

    def show(name, row):
        print(f"{name:{width}}  {row}", flush=True)

    show("", "pointing     near      aer    its word read")
    show("the diagonal", figures([diagonal(pair) for pair in test], test))
    show(f"IBM Model 1, {options.iterations} iterations",
         figures(model1(train, test, options.iterations), test))
    for folder in options.runs:
        translator = Translator.load(folder)
        show(Path(folder).name, both_times(translator, test))
        if options.heads:
            for name, layer, attention, head in heads(translator):
                with only(translator.model, layer, attention, head):
                    show("    " + name, both_times(translator, test))
        if options.posterior and has_posterior(translator):
            with posterior_weights(translator.model):
                show("    given its word", figures(translator.attend(test), test))


if __name__ == "__main__":
    main()
