"""Helpers of lesson 16: the library's layer, figures, a baseline, parts removed, norms held."""

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from matplotlib import pyplot as plt

from numpy_attention.data.vocabulary import EOS
from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.residual import PostCache, Residual
from numpy_attention.models.transformer_layers import EncoderLayer


def library_layer(attention, norm_1, feed_forward, norm_2):
    """The library's pre-norm encoder layer with these parts."""
    return EncoderLayer(attention, Residual(norm_1, Dropout(0.0), pre_norm=True),
                        feed_forward, Residual(norm_2, Dropout(0.0), pre_norm=True))


# ---- pictures ------------------------------------------------------------------------------------


def layers_compared():
    """Boxes and arrows of a post-norm and a pre-norm layer, for `plotting.diagram`."""
    boxes = {
        "x": ("x", 0, 0, 0), "heads": ("heads", 0, 1.3), "+": ("+", 0, 2.6),
        "norm": ("LN: y", 0, 3.9, 1), "FF": ("FF", 0, 5.2), "+ ": ("+", 0, 6.5),
        "norm ": ("LN: z", 0, 7.8, 1),
        "x'": ("x", 2.6, 0, 0), "norm'": ("LN", 2.6, 1.3, 1), "heads'": ("heads", 2.6, 2.6),
        "+'": ("+ : y", 2.6, 3.9), "norm '": ("LN", 2.6, 5.2, 1), "FF'": ("FF", 2.6, 6.5),
        "+ '": ("+ : z", 2.6, 7.8),
    }
    columns = (["x", "heads", "+", "norm", "FF", "+ ", "norm "],
               ["x'", "norm'", "heads'", "+'", "norm '", "FF'", "+ '"])
    arrows = [pair for column in columns for pair in zip(column, column[1:])]
    past = ("x", "+"), ("norm", "+ "), ("x'", "+'"), ("+'", "+ '")
    arrows += [(*pair, "", -1) for pair in past]
    return boxes, arrows


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


# ---- removed parts -------------------------------------------------------------------------------


@contextmanager
def residuals_removed():
    """Let Residual compute LayerNorm(f(x)), without x, as a context. Only for post-norm."""
    def post(self, x, fx, rng=None, row_ids=None):
        fx, dropped = self.dropout.forward(fx, rng, row_ids)
        y, normed = self.norm.forward(fx)
        return y, PostCache(dropped, normed)

    def post_backward(self, dy, cache, grads):
        dfx = self.norm.backward(dy, cache.normed, grads.norm)
        return np.zeros_like(dfx), self.dropout.backward(dfx, cache.dropped)

    with patch.multiple(Residual, post=post, post_backward=post_backward):
        yield


@contextmanager
def norms_removed():
    """Let LayerNorm return its input, as a context."""
    with patch.multiple(LayerNorm, forward=lambda self, x: (x, None),
                        backward=lambda self, dy, cache, grads: dy.copy()), \
            np.errstate(over="ignore"):
        yield


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
