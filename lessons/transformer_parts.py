"""Helpers of lessons 09 and 16: heads, comparisons, pictures, training, attention weights."""

from contextlib import contextmanager
from dataclasses import dataclass, replace
from timeit import repeat
from unittest.mock import patch

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

from numpy_attention import plotting
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.attention.scaled_dot import ScaledDotProductAttention
from numpy_attention.data.vocabulary import UNK
from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.feed_forward import FeedForward
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.linear import Linear
from numpy_attention.layers.residual import Residual
from numpy_attention.models.transformer_layers import DecoderLayer, EncoderLayer
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.module import Array, Module
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.trainer import Trainer

# ---- heads: lesson 08, for one sentence ----------------------------------------------------------


@dataclass(eq=False)
class PlainHead(Module):
    """The parameters of one head, for `attend` and `attend_backward`."""

    W_q: Array  # (d_model, d_k)
    b_q: Array  # (d_k,)
    W_k: Array  # (d_model, d_k)
    W_v: Array  # (d_model, d_k)
    b_v: Array  # (d_k,)
    W_o: Array  # (d_k, d_model)


def softmax(e):
    """The softmax of each row; a score of −∞ gets the weight 0."""
    A = np.exp(e - e.max(-1, keepdims=True))
    return A / A.sum(-1, keepdims=True)


def attend(head, x, m, visible):
    """Queries from x (T, d_model), keys, values from m (S, d_model) → (T, d_model), cache."""
    q = x @ head.W_q + head.b_q                                 # (T, d_k)
    k = m @ head.W_k                                            # (S, d_k)
    v = m @ head.W_v + head.b_v                                 # (S, d_k)
    e = np.where(visible, q @ k.T / k.shape[1] ** 0.5, -np.inf)
    A = softmax(e)                                              # (T, S)
    Y = A @ v                                                   # (T, d_k)
    return Y @ head.W_o, (x, m, q, k, v, A, Y)


def attend_backward(dout, head, cache, grads):
    """dout (T, d_model) → dx (T, d_model), dm (S, d_model)."""
    x, m, q, k, v, A, Y = cache
    grads.W_o += Y.T @ dout
    dY = dout @ head.W_o.T
    dA = dY @ v.T
    de = A * (dA - (A * dA).sum(1, keepdims=True)) / k.shape[1] ** 0.5
    dq = de @ k
    dk = de.T @ q
    dv = A.T @ dY
    grads.W_q += x.T @ dq
    grads.b_q += dq.sum(0)
    grads.W_k += m.T @ dk
    grads.W_v += m.T @ dv
    grads.b_v += dv.sum(0)
    return dq @ head.W_q.T, dk @ head.W_k.T + dv @ head.W_v.T


@dataclass(eq=False)
class PlainHeads(Module):
    heads: list     # of PlainHead
    b_o: Array      # (d_model,)

    def forward(self, x, m, visible):
        results = [attend(head, x, m, visible) for head in self.heads]
        return self.b_o + sum(term for term, _ in results), [cache for _, cache in results]

    def backward(self, dout, caches, grads):
        """→ dx (T, d_model), dm (S, d_model)."""
        grads.b_o += dout.sum(0)
        dinputs = [attend_backward(dout, *one) for one in zip(self.heads, caches, grads.heads)]
        return sum(dx for dx, _ in dinputs), sum(dm for _, dm in dinputs)


def new_heads(rng, d_model, h):
    """Untrained PlainHeads."""
    d_k = d_model // h

    def block(rows, columns):
        """Random numbers with the variance for the whole matrix of all heads."""
        return rng.standard_normal((rows, columns)) / np.sqrt(d_model)

    heads = [PlainHead(block(d_model, d_k), np.zeros(d_k), block(d_model, d_k),
                       block(d_model, d_k), np.zeros(d_k), block(d_k, d_model))
             for _ in range(h)]
    return PlainHeads(heads, np.zeros(d_model))


def matrix(rng, rows, columns):
    """Random numbers with the variance that Glorot & Bengio (2010) recommend."""
    return rng.standard_normal((rows, columns)) * np.sqrt(2 / (rows + columns))


def seconds(function, *arguments):
    """The shortest time of five calls."""
    return min(repeat(lambda: function(*arguments), number=1, repeat=5))


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
        "words": ("source words", 0, 0), "E": ("Embedding + Positional\nEncoding", 0, 1.2),
        "x": ("x", 0, 2.4, 0), "heads": ("Multi-Head\nAttention\nheads(x, x)", 0, 3.7),
        "y": ("Add & Norm: y", 0, 5, 1), "FF": ("Feed Forward\nFF(y)", 0, 6.2),
        "z": ("Add & Norm: z", 0, 7.4, 1), "M": ("M", 0, 8.7, 2),
        "words so far": ("target words so far", 4.9, 0),
        "E'": ("Embedding + Positional\nEncoding", 4.9, 1.2), "x'": ("x", 4.9, 2.4, 0),
        "heads'": ("Masked Multi-Head\nAttention\nheads(x, x), j ≤ t", 4.9, 3.7),
        "y'": ("Add & Norm: y", 4.9, 5, 1),
        "asks": ("Multi-Head\nAttention\nheads(y, M)", 4.9, 6.3),
        "z'": ("Add & Norm: z", 4.9, 7.6, 1), "FF'": ("Feed Forward\nFF(z)", 4.9, 8.8),
        "out": ("Add & Norm: out", 4.9, 10, 1),
        "P": ("Linear, Softmax\nP(word) = softmax(out Eᵀ + b)", 4.9, 11.3),
    }
    left = ["words", "E", "x", "heads", "y", "FF", "z", "M"]
    right = ["words so far", "E'", "x'", "heads'", "y'", "asks", "z'", "FF'", "out", "P"]
    arrows = [*zip(left, left[1:]), *zip(right, right[1:]), ("M", "asks")]
    arrows += [(*past, "", -1.4) for past in (("x", "y"), ("y", "z"))]
    arrows += [(*past, "", -1.9) for past in (("x'", "y'"), ("y'", "z'"), ("z'", "out"))]
    return boxes, arrows


def mark_repeated(axes, left, right, low, high):
    """Draw a dashed frame with "× N" around a layer of a diagram."""
    axes.add_patch(Rectangle((left, low), right - left, high - low, fill=False, linestyle="--",
                             edgecolor="0.5", zorder=0))
    axes.set_xlim(right=max(right + 0.2, axes.get_xlim()[1]))
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


def copied(translator, pairs, ahead):
    """The share of words t at which the most probable next word is the input word t + ahead.

    The decoder reads random words instead of the reference, so a copy is not a translation.
    """
    batch = translator.batches(pairs, len(pairs)).batch(range(len(pairs)))
    words = batch.target_in.copy()                              # (T, B), first the start symbols
    rng = np.random.default_rng(0)
    words[1:] = rng.integers(UNK + 1, len(translator.model.output.b), words[1:].shape)
    read_out, _, _ = translator.model.forward(replace(batch, target_in=words))
    guesses = np.zeros_like(words)
    guesses[batch.target_mask] = translator.model.output.logits(read_out).argmax(1)
    inner = batch.target_mask[2:]       # not the start symbol; a next word must exist
    return (guesses[1:-1] == words[1 + ahead:len(words) - 1 + ahead])[inner].mean()


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
