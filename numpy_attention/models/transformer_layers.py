"""The Transformer's two layers (Vaswani et al. 2017, section 3.1): attention and feed-forward parts, each with a residual."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.initializers import glorot
from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.feed_forward import FeedForward
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.residual import Residual
from numpy_attention.module import Module


@dataclass(eq=False)
class EncoderLayer(Module):
    """x → self-attention → feed-forward.   x (B, S, D), visible (B, S, S) → (B, S, D)."""

    attention: MultiHeadAttention
    around_attention: Residual
    feed_forward: FeedForward
    around_feed_forward: Residual

    @classmethod
    def create(cls, rng, size, heads, inner, dropout=0.0, pre_norm=False, dtype=np.float32):
        """size: D; inner: the feed-forward's; pre_norm: layer normalisation before each part. ValueError: impossible sizes."""
        around = lambda: Residual(LayerNorm.create(size, dtype), Dropout(dropout), pre_norm)
        return cls(MultiHeadAttention.create(rng, size, size, heads=heads, init=glorot, dtype=dtype), around(),
                   FeedForward.create(rng, size, inner, dtype=dtype), around())

    def forward(self, x, visible, rng=None, names=None):
        """→ y, weights (B, S, S), cache."""
        inside, entered = self.around_attention.enter(x)
        found, weights, looked = self.attention.forward(inside, inside, visible)
        x, left = self.around_attention.leave(x, found, rng, names)
        y, fed = _feed_forward(self, x, rng, names)
        return y, weights, (entered, looked, left, fed)

    def backward(self, dy, cache, grad):
        """→ dx (B, S, D)."""
        entered, looked, left, fed = cache
        dx = _feed_forward_backward(self, dy, fed, grad)
        dx, dfound = self.around_attention.leave_backward(dx, left, grad.around_attention)
        dqueries, dmemory = self.attention.backward(dfound, None, looked, grad.attention)
        return self.around_attention.enter_backward(dqueries + dmemory, dx, entered, grad.around_attention)


@dataclass(eq=False)
class DecoderLayer(Module):
    """y → self-attention over what is written → attention over the source → feed-forward.   y (B, T, D) → (B, T, D).

    Keys and values of both attentions may be given, so that decoding computes each of them once.
    """

    attention: MultiHeadAttention
    around_attention: Residual
    source_attention: MultiHeadAttention
    around_source: Residual
    feed_forward: FeedForward
    around_feed_forward: Residual

    @classmethod
    def create(cls, rng, size, heads, inner, dropout=0.0, pre_norm=False, dtype=np.float32):
        """size: D; inner: the feed-forward's; pre_norm: layer normalisation before each part. ValueError: impossible sizes."""
        around = lambda: Residual(LayerNorm.create(size, dtype), Dropout(dropout), pre_norm)
        look = lambda: MultiHeadAttention.create(rng, size, size, heads=heads, init=glorot, dtype=dtype)
        return cls(look(), around(), look(), around(), FeedForward.create(rng, size, inner, dtype=dtype), around())

    def forward(self, y, visible, memory, source_visible, rng=None, names=None):
        """visible (B, T, T), memory (B, S, D), source_visible (B, T, S) → (B, T, D), weights (B, T, S), cache."""
        inside, entered = self.around_attention.enter(y)
        found, _, looked = self.attention.forward(inside, inside, visible)
        y, left = self.around_attention.leave(y, found, rng, names)
        inside, entered_source = self.around_source.enter(y)
        found, weights, looked_source = self.source_attention.forward(inside, memory, source_visible)
        y, left_source = self.around_source.leave(y, found, rng, names)
        y, fed = _feed_forward(self, y, rng, names)
        return y, weights, (entered, looked, left, entered_source, looked_source, left_source, fed)

    def backward(self, dy, dweights, cache, grad):
        """From ∂L/∂y and ∂L/∂(weights over the source) or None → dy (B, T, D), dmemory (B, S, D)."""
        entered, looked, left, entered_source, looked_source, left_source, fed = cache
        dy = _feed_forward_backward(self, dy, fed, grad)
        dy, dfound = self.around_source.leave_backward(dy, left_source, grad.around_source)
        dqueries, dmemory = self.source_attention.backward(dfound, dweights, looked_source, grad.source_attention)
        dy = self.around_source.enter_backward(dqueries, dy, entered_source, grad.around_source)
        dy, dfound = self.around_attention.leave_backward(dy, left, grad.around_attention)
        dqueries, dkeys = self.attention.backward(dfound, None, looked, grad.attention)
        return self.around_attention.enter_backward(dqueries + dkeys, dy, entered, grad.around_attention), dmemory

    def next(self, y, written, source_keys, source_visible):
        """One more position.   y (B, 1, D), written: keys of those before (B, t, 2A) or None, source_keys (B, S, 2A).

        → (B, 1, D), weights (B, 1, S), the keys with this position's: the same as `forward` gives at its last position.
        """
        inside, _ = self.around_attention.enter(y)
        keys = self.attention.keys_and_values(inside)
        keys = keys if written is None else np.concatenate([written, keys], axis=1)
        found, _, _ = self.attention.look(inside, keys, np.ones((len(y), 1, keys.shape[1]), bool))
        y, _ = self.around_attention.leave(y, found)
        inside, _ = self.around_source.enter(y)
        found, weights, _ = self.source_attention.look(inside, source_keys, source_visible)
        y, _ = self.around_source.leave(y, found)
        return _feed_forward(self, y)[0], weights, keys


def _feed_forward(layer, x, rng=None, names=None):
    inside, entered = layer.around_feed_forward.enter(x)
    found, cache = layer.feed_forward.forward(inside)
    y, left = layer.around_feed_forward.leave(x, found, rng, names)
    return y, (entered, cache, left)


def _feed_forward_backward(layer, dy, cache, grad):
    entered, cache, left = cache
    dx, dfound = layer.around_feed_forward.leave_backward(dy, left, grad.around_feed_forward)
    dinside = layer.feed_forward.backward(dfound, cache, grad.feed_forward)
    return layer.around_feed_forward.enter_backward(dinside, dx, entered, grad.around_feed_forward)
