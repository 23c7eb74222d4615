"""Gradient checks of the layers."""

from dataclasses import dataclass
from functools import partial

import numpy as np

from numpy_attention.gradcheck import randomize
from numpy_attention.gradcheck.cases.case import (
    SEED,
    B,
    Case,
    D,
    H,
    I,
    T,
    V,
    array,
    check_same_loss,
    plain,
)
from numpy_attention.layers.deep_output import DeepOutput
from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.feed_forward import FeedForward
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.linear import Linear
from numpy_attention.layers.maxout import Maxout
from numpy_attention.layers.output import Output
from numpy_attention.layers.residual import Residual
from numpy_attention.module import Module


def linear(rng, dtype, bias=True):
    layer = randomize(Linear.create(rng, D, H, bias, dtype=dtype), rng)
    return plain(layer, array(rng, dtype, T, B, D))


def embedding(rng, dtype):
    ids = rng.integers(0, 4, (T, B))                            # 12 places, 4 words: they repeat
    return plain(randomize(Embedding.create(rng, 5, D, dtype=dtype), rng), ids)


def dropout(rng, dtype):
    layer = Dropout(0.4)

    def forward(x):
        return layer.forward(x, np.random.default_rng(SEED))

    return Case(layer, (array(rng, dtype, T, B, D),), forward, layer.backward)


def maxout(rng, dtype):
    x = array(rng, dtype, T, B, 2 * D)
    # away from ties, where the gradient jumps
    x[..., ::2] += np.where(x[..., ::2] > x[..., 1::2], 0.1, -0.1)
    return plain(Maxout(), x)


def layer_norm(rng, dtype):
    layer = randomize(LayerNorm.create(D, dtype), rng)
    return plain(layer, 2 * array(rng, dtype, T, B, D) + 1)


def deep_output(rng, dtype):
    layer = randomize(DeepOutput.create(rng, H, I, D, 3, dtype=dtype), rng)
    s, Ey, c = (array(rng, dtype, 7, size) for size in (H, I, D))
    return plain(layer, s, Ey, c)


def feed_forward(rng, dtype):
    layer = randomize(FeedForward.create(rng, D, H, dtype=dtype), rng)
    return plain(layer, array(rng, dtype, T, B, D))


def residual(rng, dtype, pre_norm):
    """Return the Case of a residual connection around x → x² / 2."""
    layer = Residual(LayerNorm.create(D, dtype), Dropout(0.4), pre_norm)

    def forward(x):
        inside, entered = layer.pre(x)
        y, left = layer.post(x, inside**2 / 2, np.random.default_rng(SEED))
        return y, (inside, entered, left)

    def backward(dy, cache, grads):
        inside, entered, left = cache
        dx, dfound = layer.post_backward(dy, left, grads)
        return layer.pre_backward(dfound * inside, dx, entered, grads)

    return Case(randomize(layer, rng), (array(rng, dtype, T, B, D),), forward, backward)


def output_smoothed(rng, dtype):
    """Return the Case of the label-smoothed loss."""
    layer = randomize(Output.create(rng, D, V, dtype=dtype), rng)
    targets = np.array([0, 5, 5, 8])

    def forward(x):
        log_p = layer.log_probabilities(x)
        loss = -0.8 * log_p[np.arange(4), targets].sum() - 0.2 * log_p.mean(1).sum()
        return np.array(loss), (x, loss)

    def backward(dloss, cache, grads):
        x, loss = cache
        again, dx = layer.loss_and_grad(x, targets, float(dloss), grads, 0.2)
        check_same_loss(again, loss)
        return dx

    return Case(layer, (array(rng, dtype, 4, D),), forward, backward)


def output(rng, dtype):
    layer = randomize(Output.create(rng, D, V, dtype=dtype), rng)
    targets = np.array([0, 5, 5, 8, 2, 1])

    def forward(x):
        loss = layer.loss(x, targets)
        return np.array(loss), (x, loss)

    def backward(dloss, cache, grads):
        x, loss = cache
        again, dx = layer.loss_and_grad(x, targets, float(dloss), grads)
        log_p = layer.log_probabilities(x)[np.arange(6), targets]
        check_same_loss(again, loss, -log_p.sum())
        return dx

    return Case(layer, (array(rng, dtype, 6, D),), forward, backward)


@dataclass(eq=False)
class TiedWords(Module):
    """A bigram model whose input and output share one embedding table (Press & Wolf 2017)."""

    words: Embedding
    output: Output


def tied_output(rng, dtype):
    words = Embedding.create(rng, V, D, dtype=dtype)
    layer = Output.create(rng, D, V, dtype=dtype, words=words)
    model = randomize(TiedWords(words, layer), rng)
    ids = np.array([1, 4, 4, 0, 8])
    targets = np.array([4, 4, 1, 8, 0])

    def forward():
        x, _ = words.forward(ids)
        return np.array(model.output.loss(x, targets)), x

    def backward(dloss, x, grads):
        _, dx = model.output.loss_and_grad(x, targets, float(dloss), grads.output)
        model.words.backward(dx, ids, grads.words)
        return ()

    return Case(model, (), forward, backward)


CASES = {
    "Linear": linear,
    "Linear without bias": partial(linear, bias=False),
    "Embedding": embedding,
    "Dropout": dropout,
    "Maxout": maxout,
    "LayerNorm": layer_norm,
    "DeepOutput": deep_output,
    "FeedForward": feed_forward,
    "Residual": partial(residual, pre_norm=False),
    "Residual pre-norm": partial(residual, pre_norm=True),
    "Output": output,
    "Output smoothed": output_smoothed,
    "Output tied": tied_output,
}
