"""Layers of the Transformer (Vaswani et al. 2017, section 3.1), with residual connections."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.feed_forward import FeedForward
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.residual import Residual
from numpy_attention.module import Module


class PartCache(NamedTuple):
    """Caches of `Residual.pre`, of the sublayer itself, and of `Residual.post`."""

    pre: object
    part: object
    post: object


class EncoderCache(NamedTuple):
    attention: PartCache
    feed_forward: PartCache


class DecoderCache(NamedTuple):
    attention: PartCache
    source: PartCache
    feed_forward: PartCache


@dataclass(eq=False)
class EncoderLayer(Module):
    """Encoder layer of a Transformer: self-attention, then a feed-forward network.

    x (B, S, D), visible (B, S, S) → (B, S, D). visible[b, i, j]: whether word i may attend to j.
    """

    attention: MultiHeadAttention
    around_attention: Residual
    feed_forward: FeedForward
    around_feed_forward: Residual

    @classmethod
    def create(cls, rng, size, heads, inner, dropout=0.0, pre_norm=False, dtype=np.float32):
        """Draw the weights. size: D. inner: the hidden size of the feed-forward network.

        pre_norm: whether to normalize each sublayer's input instead of the residual sum. Raises
        ValueError if heads does not divide size, or if a size is below 1.
        """
        return cls(attention=attention_over(rng, size, heads, dtype),
                   around_attention=around(size, dropout, pre_norm, dtype),
                   feed_forward=FeedForward.create(rng, size, inner, dtype=dtype),
                   around_feed_forward=around(size, dropout, pre_norm, dtype))

    def forward(self, x, visible, rng=None, row_ids=None):
        """Run the layer → y (B, S, D), weights (B, S, S), cache."""
        inside, pre_cache = self.around_attention.pre(x)
        found, weights, attend_cache = self.attention.forward(inside, inside, visible)
        x, post_cache = self.around_attention.post(x, found, rng, row_ids)
        y, fed = feed_forward(self, x, rng, row_ids)
        return y, weights, EncoderCache(PartCache(pre_cache, attend_cache, post_cache), fed)

    def backward(self, dy, cache, grads):
        """Backpropagate dy (B, S, D) → dx (B, S, D)."""
        dx = feed_forward_backward(self, dy, cache.feed_forward, grads)
        # x = post(x, attention(inside, inside)),  inside = pre(x)
        pre_cache, attend_cache, post_cache = cache.attention
        dx, dfound = self.around_attention.post_backward(dx, post_cache, grads.around_attention)
        dqueries, dmemory = self.attention.backward(dfound, None, attend_cache, grads.attention)
        dinside = dqueries + dmemory
        return self.around_attention.pre_backward(dinside, dx, pre_cache, grads.around_attention)


@dataclass(eq=False)
class DecoderLayer(Module):
    """Decoder layer: self-attention over the prefix, attention over the source, feed-forward.

    y (B, T, D) → (B, T, D). `next` takes the keys and values of the prefix and of the source as
    arguments, so decoding computes the keys and values of each position only once.
    """

    attention: MultiHeadAttention
    around_attention: Residual
    source_attention: MultiHeadAttention
    around_source: Residual
    feed_forward: FeedForward
    around_feed_forward: Residual

    @classmethod
    def create(cls, rng, size, heads, inner, dropout=0.0, pre_norm=False, dtype=np.float32):
        """Draw the weights. size: D. inner: the hidden size of the feed-forward network.

        pre_norm: whether to normalize each sublayer's input instead of the residual sum. Raises
        ValueError if heads does not divide size, or if a size is below 1.
        """
        return cls(attention=attention_over(rng, size, heads, dtype),
                   around_attention=around(size, dropout, pre_norm, dtype),
                   source_attention=attention_over(rng, size, heads, dtype),
                   around_source=around(size, dropout, pre_norm, dtype),
                   feed_forward=FeedForward.create(rng, size, inner, dtype=dtype),
                   around_feed_forward=around(size, dropout, pre_norm, dtype))

    def forward(self, y, visible, memory, source_visible, rng=None, row_ids=None):
        """Run the layer; the weights returned are those over the source.

        y (B, T, D), visible (B, T, T), memory (B, S, D), source_visible (B, T, S) → y (B, T, D),
        weights (B, T, S), cache.
        """
        inside, pre_cache = self.around_attention.pre(y)
        found, _, attend_cache = self.attention.forward(inside, inside, visible)
        y, post_cache = self.around_attention.post(y, found, rng, row_ids)
        written = PartCache(pre_cache, attend_cache, post_cache)

        inside, pre_cache = self.around_source.pre(y)
        found, weights, attend_cache = self.source_attention.forward(inside, memory, source_visible)
        y, post_cache = self.around_source.post(y, found, rng, row_ids)
        source = PartCache(pre_cache, attend_cache, post_cache)

        y, fed = feed_forward(self, y, rng, row_ids)
        return y, weights, DecoderCache(written, source, fed)

    def backward(self, dy, dweights, cache, grads):
        """Return the gradients of y and of the memory.

        dy (B, T, D), dweights (B, T, S) or None → dy (B, T, D), dmemory (B, S, D).
        """
        dy = feed_forward_backward(self, dy, cache.feed_forward, grads)
        # y = post(y, source_attention(inside, memory)),  inside = pre(y)
        pre_cache, attend_cache, post_cache = cache.source
        dy, dfound = self.around_source.post_backward(dy, post_cache, grads.around_source)
        dinside, dmemory = self.source_attention.backward(dfound, dweights, attend_cache,
                                                          grads.source_attention)
        dy = self.around_source.pre_backward(dinside, dy, pre_cache, grads.around_source)
        # y = post(y, attention(inside, inside)),  inside = pre(y)
        pre_cache, attend_cache, post_cache = cache.attention
        dy, dfound = self.around_attention.post_backward(dy, post_cache, grads.around_attention)
        dqueries, dkeys = self.attention.backward(dfound, None, attend_cache, grads.attention)
        dinside = dqueries + dkeys
        dy = self.around_attention.pre_backward(dinside, dy, pre_cache, grads.around_attention)
        return dy, dmemory

    def next(self, y, written, source, source_visible):
        """Compute one new position. The result is that of `forward` at the last position.

        y (B, 1, D), written (B, t, 2A) or None, source (B, S, 2A), source_visible (B, 1, S) →
        y (B, 1, D), weights (B, 1, S), written (B, t + 1, 2A).
        written: keys and values, each of size A, of the earlier positions; those of the new
        position are appended in the result. source: the keys and values of the source.
        """
        inside, _ = self.around_attention.pre(y)
        own = self.attention.keys_and_values(inside)                                # (B, 1, 2A)
        if written is not None:
            own = np.concatenate([written, own], axis=1)                            # (B, t + 1, 2A)
        everything = np.ones((len(y), 1, own.shape[1]), bool)
        found, _, _ = self.attention.attend(inside, own, everything)
        y, _ = self.around_attention.post(y, found)

        inside, _ = self.around_source.pre(y)
        found, weights, _ = self.source_attention.attend(inside, source, source_visible)
        y, _ = self.around_source.post(y, found)

        y, _ = feed_forward(self, y)
        return y, weights, own


# ---- parts of both layers --------------------------------------------------------------------


def attention_over(rng, size, heads, dtype):
    return MultiHeadAttention.create(rng, size, size, heads=heads, dtype=dtype)


def around(size, dropout, pre_norm, dtype):
    return Residual(LayerNorm.create(size, dtype), Dropout(dropout), pre_norm)


def feed_forward(layer, x, rng=None, row_ids=None):
    """Apply a layer's feed-forward network with its residual.   x (B, T, D) → (B, T, D), cache."""
    inside, pre_cache = layer.around_feed_forward.pre(x)
    found, fed = layer.feed_forward.forward(inside)
    y, post_cache = layer.around_feed_forward.post(x, found, rng, row_ids)
    return y, PartCache(pre_cache, fed, post_cache)


def feed_forward_backward(layer, dy, cache, grads):
    """Backward of `feed_forward`: dy (B, T, D) → dx (B, T, D)."""
    pre_cache, fed, post_cache = cache
    dx, dfound = layer.around_feed_forward.post_backward(dy, post_cache, grads.around_feed_forward)
    dinside = layer.feed_forward.backward(dfound, fed, grads.feed_forward)
    return layer.around_feed_forward.pre_backward(dinside, dx, pre_cache, grads.around_feed_forward)
