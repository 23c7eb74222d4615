"""Helpers of lessons 09 and 16: comparisons, pictures, training, attention weights."""

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

from numpy_attention import plotting
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.attention.scaled_dot import ScaledDotProductAttention
from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.feed_forward import FeedForward
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.linear import Linear
from numpy_attention.layers.residual import Residual
from numpy_attention.models.transformer_layers import DecoderLayer, EncoderLayer
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.trainer import Trainer

# ---- comparisons with the library ----------------------------------------------------------------


def check_same_encoder(layer, x):
    """Compare lesson 09's encoder layer with the library's, on one sentence x (T, D).

    AssertionError: the output, dx, or the gradient of a parameter differs.
    """
    T = len(x)
    library = _encoder(layer)
    y, cache = layer.forward(x)
    dy = np.random.default_rng(9).standard_normal(y.shape)
    grads = layer.zeros_like()
    dx = layer.backward(dy, cache, grads)
    known_y, _, known = library.forward(x[None], np.ones((1, T, T), bool))
    known_grad = library.zeros_like()
    known_dx = library.backward(dy[None], known, known_grad)
    _check_equal([y, dx], [known_y[0], known_dx[0]], _encoder(grads), known_grad)


def check_same_decoder(layer, decode, x, m, decode_backward=None):
    """The same for its decoder layer, on the words x (T, D) and the memory m (S, D).

    Without decode_backward only the output is compared.
    """
    T = len(x)
    library = _decoder(layer)
    y, cache = decode(layer, x, m)
    known_y, _, known = library.forward(x[None], np.tri(T, dtype=bool)[None], m[None],
                                        np.ones((1, T, len(m)), bool))
    if decode_backward is None:
        assert np.allclose(y, known_y[0], rtol=1e-10, atol=1e-12), "the output differs"
        return
    dy = np.random.default_rng(9).standard_normal(y.shape)
    grads = layer.zeros_like()
    dx, dm = decode_backward(dy, layer, cache, grads)
    known_grad = library.zeros_like()
    known_dx, known_dm = library.backward(dy[None], None, known, known_grad)
    _check_equal([y, dx, dm], [known_y[0], known_dx[0], known_dm[0]], _decoder(grads), known_grad)


def _encoder(layer):
    """The library's layer with these arrays, which may be those of a gradient model."""
    return EncoderLayer(_attention(layer.attention), _around(layer.norm_1),
                        _feed_forward(layer.feed_forward), _around(layer.norm_2))


def _decoder(layer):
    return DecoderLayer(_attention(layer.attention), _around(layer.norm_1),
                        _attention(layer.cross_attention), _around(layer.norm_cross),
                        _feed_forward(layer.feed_forward), _around(layer.norm_2))


def _attention(part):
    heads = part.heads
    return MultiHeadAttention(
        W_q=np.hstack([head.W_q for head in heads]), b_q=np.hstack([head.b_q for head in heads]),
        W_k=np.hstack([head.W_k for head in heads]), W_v=np.hstack([head.W_v for head in heads]),
        b_v=np.hstack([head.b_v for head in heads]), W_o=np.vstack([head.W_o for head in heads]),
        b_o=part.b_o.copy(), attention=ScaledDotProductAttention(), heads=len(heads))


def _around(norm):
    return Residual(LayerNorm(norm.g.copy(), norm.b.copy()), Dropout(0.0))


def _feed_forward(part):
    return FeedForward(Linear(part.W_1.copy(), part.b_1.copy()),
                       Linear(part.W_2.copy(), part.b_2.copy()))


def _check_equal(ours, theirs, our_grad, their_grad):
    ours = ours + [array for _, array in our_grad.named_parameters()]
    theirs = theirs + [array for _, array in their_grad.named_parameters()]
    for number, (mine, one) in enumerate(zip(ours, theirs, strict=True)):
        assert np.allclose(mine, one, rtol=1e-10, atol=1e-12), f"result {number} differs"


# ---- pictures ------------------------------------------------------------------------------------


def figure_1():
    """The boxes and arrows of a diagram like Figure 1 of Vaswani et al. 2017."""
    boxes = {
        "words": ("source words", 0, 0), "x": ("Embedding + Positional\nEncoding: x", 0, 1.3, 0),
        "heads": ("Multi-Head Attention\nheads(x, x)", 0, 2.6), "y": ("Add & Norm: y", 0, 3.9, 1),
        "FF": ("Feed Forward\nFF(y)", 0, 5.2), "z": ("Add & Norm: z", 0, 6.5, 1),
        "M": ("M", 0, 7.8, 2), "words so far": ("target words so far", 4.9, 0),
        "x'": ("Embedding + Positional\nEncoding: x", 4.9, 1.3, 0),
        "heads'": ("Masked Multi-Head Attention\nheads(x, x), j ≤ t", 4.9, 2.6),
        "y'": ("Add & Norm: y", 4.9, 3.9, 1),
        "asks": ("Multi-Head Attention\nheads(y, M)", 4.9, 5.2),
        "z'": ("Add & Norm: z", 4.9, 6.5, 1), "FF'": ("Feed Forward\nFF(z)", 4.9, 7.8),
        "out": ("Add & Norm: out", 4.9, 9.1, 1),
        "P": ("Linear, Softmax\nP(word) = softmax(out Eᵀ + b)", 4.9, 10.4),
    }
    arrows = [("words", "x"), ("x", "heads"), ("heads", "y"), ("y", "FF"), ("FF", "z"), ("z", "M"),
              ("words so far", "x'"), ("x'", "heads'"), ("heads'", "y'"), ("y'", "asks"),
              ("asks", "z'"), ("z'", "FF'"), ("FF'", "out"), ("out", "P"), ("M", "asks", "", 0.15)]
    arrows += [(*past, "", -1.35) for past in (("x", "y"), ("y", "z"))]
    arrows += [(*past, "", -1.85) for past in (("x'", "y'"), ("y'", "z'"), ("z'", "out"))]
    return boxes, arrows


def mark_repeated(axes, left, right, low, high):
    """Draw a dashed frame with "× N" around a layer of a diagram."""
    axes.add_patch(Rectangle((left, low), right - left, high - low, fill=False, linestyle="--",
                             edgecolor="0.5", zorder=0))
    axes.text(left + 0.1, high - 0.1, "× N", ha="left", va="top", fontsize=14)


def positions_picture(PE):
    """The faster half of positions PE (T, D); → Figure."""
    D = PE.shape[1]
    figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
    image = ax.imshow(PE.T[:D // 2], aspect="auto", cmap="RdBu_r", vmin=-1, vmax=1)
    figure.colorbar(image, ax=ax).set_label("PE(p)")
    ax.hlines(np.arange(1.5, D // 2 - 1, 2), -0.5, len(PE) - 0.5, colors="black", linewidth=0.8)
    ax.set(xlabel="position p", ylabel=f"component of PE(p), 0 to {D // 2 - 1} of {D}",
           title="Each pair of rows, between two lines, is a clock: fast above, slower below")
    return figure


def head_picture(weights, pair, title):
    """Heatmap of a head's weights (T, S) on one pair; → Figure."""
    source = [*pair.source, "</s>"]
    target = [*pair.target, "</s>"]
    figure, ax = plt.subplots(figsize=(6.5, 5.2), layout="constrained")
    plotting.attention_heatmap(weights[:len(target), :len(source)], source_tokens=source,
                               target_tokens=target, gold=pair.sure, ax=ax, title=title)
    ax.set_ylabel("word to be predicted")
    return figure


# ---- training ------------------------------------------------------------------------------------


def trained(pairs, valid, seed, epochs, rate, schedule, batch_size=64, **settings):
    """Train the library's Transformer on Pairs, with Adam as in the paper, without dropout.

    valid: Pairs to measure it on after each epoch; settings: of the model. → the Translator, the
    Trainer's line of each epoch.
    """
    translator = Translator.create(pairs, "transformer", {"dropout": 0.0, **settings},
                                   TranslatorTraining(seed=seed))
    trainer = Trainer(translator.model, Adam(rate, 0.9, 0.98, 1e-9),
                      translator.batches(pairs, batch_size), translator.batches(valid, 100),
                      rng=np.random.default_rng(seed), clip=1.0, average="token",
                      schedule=schedule, threads=1, progress=False)
    return translator, trainer.fit(epochs)


@contextmanager
def triangle_too_wide():
    """Let the causal mask of the library show one word too many, as a context."""
    tri = np.tri
    with patch("numpy.tri", lambda T, dtype: tri(T, k=1, dtype=dtype)):
        yield


def weights_of_heads(translator, pairs):
    """The weights with which the target reads the source, under teacher forcing.

    → the weights of each layer's heads (B, h, T, S), and the linked words (B, T, S)
    """
    batch = translator.batches(pairs, len(pairs)).batch(range(len(pairs)))
    _, _, cache = translator.model.forward(batch)
    linked = np.zeros((len(pairs), len(batch.target_in), len(batch.source)), bool)
    for n, pair in enumerate(pairs):
        for i, j in pair.sure:
            linked[n, j, i] = True
    return [one.source.part.attend_cache.attended.weights for one in cache.layers], linked


def largest_on(linked, weights):
    """Of the words with a link, the share whose largest weight lies on a linked word.

    linked (B, T, S), weights (B, h, T, S) → (h,)
    """
    largest = weights == weights.max(3, keepdims=True)
    hits = (largest & linked[:, None]).any(3)                   # (B, h, T)
    return hits.transpose(1, 0, 2)[:, linked.any(2)].mean(1)
