"""Helpers of lesson 16: a figure, a baseline, heads removed, norms held."""

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from matplotlib import pyplot as plt

from numpy_attention.data.vocabulary import EOS

# ---- pictures ------------------------------------------------------------------------------------


def depth_picture(depths, sizes):
    """Gradient of the last layer against the depth. sizes: {name: (depths, seeds)}; → Figure."""
    figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
    for name, runs in sizes.items():
        line, = ax.plot(depths, np.exp(np.log(runs).mean(1)), marker="o", label=name)
        ax.fill_between(depths, runs.min(1), runs.max(1), color=line.get_color(), alpha=0.15)
    ax.set(xscale="log", yscale="log", xticks=depths, xticklabels=depths, yticks=(1, 2, 4),
           yticklabels=(1, 2, 4), xlabel="layers", ylabel="size of the last layer's dW_2",
           title=f"Before training: geometric mean of {runs.shape[1]} seeds, and their range")
    ax.minorticks_off()
    ax.legend()
    return figure


# ---- training ------------------------------------------------------------------------------------


def perplexity_of_counts(translator, pairs, test):
    """Perplexity of test's target words from the word counts of pairs alone."""
    vocabulary = translator.target_vocabulary
    counts = np.ones(len(vocabulary))           # one more each, so that nothing has probability 0
    for pair in pairs:
        np.add.at(counts, [*vocabulary.encode(pair.target), EOS], 1)
    words = np.concatenate([[*vocabulary.encode(pair.target), EOS] for pair in test])
    return np.exp(-np.log(counts / counts.sum())[words].mean())


# ---- removed heads -------------------------------------------------------------------------------


@contextmanager
def heads_removed(part, numbers):
    """Set these heads' rows of W_o to 0, as a context."""
    kept = part.W_o.copy()                              # (D, D)
    d_k = len(kept) // part.heads
    for number in numbers:
        part.W_o[d_k * number:d_k * (number + 1)] = 0
    try:
        yield
    finally:
        part.W_o[...] = kept


@contextmanager
def divisors_held(model, batch):
    """Let the last two norms of the decoder divide by the s that they have now, as a context.

    s is that of this batch. The last two norms are those after the last cross-attention.
    """
    _, _, cache = model.forward(batch)
    layer, cached = model.decoder[-1], cache.layers[-1]
    with _held(layer.around_source.norm, cached.source.post.normed), \
            _held(layer.around_feed_forward.norm, cached.feed_forward.post.normed):
        yield


def _held(norm, cache):
    def forward(x):
        centred = x - x.mean(-1, keepdims=True)
        return norm.g * (centred * cache.scale) + norm.b, None      # scale: 1 / s

    return patch.object(norm, "forward", forward)
