"""The Transformer: attention without recurrence (Vaswani et al. 2017)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.initializers import normal
from numpy_attention.layers.dropout import Dropout, position_names
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.output import Output
from numpy_attention.layers.positional import positional_encoding
from numpy_attention.models.transformer_layers import DecoderLayer, EncoderLayer
from numpy_attention.models.teacher_forced import TeacherForced
from numpy_attention.module import Array
from numpy_attention.shapes import at_least, flat


@dataclass
class DecoderState:
    """Between two target words: each layer's keys and values, of the source and of what is written so far."""

    source_keys: tuple
    mask: Array         # (B, S)
    written: tuple

    def take(self, rows):
        """The state of these rows of the batch, in this order."""
        pick = lambda arrays: tuple(None if array is None else array[rows] for array in arrays)
        return DecoderState(pick(self.source_keys), self.mask[rows], pick(self.written))


@dataclass(eq=False)
class Transformer(TeacherForced):
    """Encoder and decoder of Vaswani et al. 2017, section 3.

        u_j = √D E x_j + PE(j),  N encoder layers → memory                     j from 0
        v_t = √D E y_{t−1} + PE(t),  N decoder layers → v'_t                   t from 0, y_{−1} = <s>
        p(y_t) = softmax(W_o v'_t + b)                                         v'_t sees the words before t and the memory

    With pre_norm=True layer normalisation stands before each part, and once more after the last layer (Xiong et al. 2020).
    Dropout as the paper: on the sums with the positions and on each part's output. The weights returned are the last
    decoder layer's over the source, the mean over its heads. smoothing: label smoothing ε (section 5.4), in training.
    """

    source_embedding: Embedding
    encoder: list
    encoder_norm: LayerNorm | None
    target_embedding: Embedding
    decoder: list
    decoder_norm: LayerNorm | None
    output: Output
    dropout: Dropout
    smoothing: float = 0.0

    @classmethod
    def create(cls, rng, source_vocabulary, target_vocabulary, size=512, layers=6, heads=8, inner=None, tied=True,
               pre_norm=False, dropout=0.1, smoothing=0.1, dtype=np.float32):
        """A new model; the defaults are those of the paper's base model, which also shares the source's table (section 3.4)
        and has no biases in its attention. size: D; inner: the feed-forward's, 4 D unless given;
        tied: the target's table serves as W_o. ValueError: sizes below 1 or that do not divide, a smoothing outside [0, 1)."""
        at_least(1, size=size, layers=layers, heads=heads, inner=inner)
        if not 0 <= smoothing < 1:
            raise ValueError(f"smoothing = {smoothing}: expected a share in [0, 1)")
        positional_encoding(1, size)                                # refuses an odd size before anything is drawn
        inner, table = inner or 4 * size, normal(size**-0.5)
        settings = (size, heads, inner, dropout, pre_norm, dtype)
        target = Embedding.create(rng, target_vocabulary, size, table, dtype)
        norm = lambda: LayerNorm.create(size, dtype) if pre_norm else None
        return cls(Embedding.create(rng, source_vocabulary, size, table, dtype),
                   [EncoderLayer.create(rng, *settings) for _ in range(layers)], norm(), target,
                   [DecoderLayer.create(rng, *settings) for _ in range(layers)], norm(),
                   Output.create(rng, size, target_vocabulary, table, dtype, target if tied else None), Dropout(dropout),
                   smoothing)

    # ---- words in, words out ----------------------------------------------------------------------------------------

    def _embed(self, embedding, ids, rng=None, names=None, start=0):
        """ids (T, B) → √D E + PE with dropout, (B, T, D), cache."""
        x, cache = embedding.forward(np.ascontiguousarray(ids.T))
        x *= x.dtype.type(np.sqrt(x.shape[2]))
        x += positional_encoding(x.shape[1], x.shape[2], x.dtype, start)
        x, dropped = self.dropout.forward(x, rng, names)
        return x, (cache, dropped)

    def _embed_backward(self, dx, embedding, cache, grad):
        cache, dropped = cache
        # x = D(√D E + PE)
        dx = self.dropout.backward(dx, dropped)
        dx *= dx.dtype.type(np.sqrt(dx.shape[2]))
        embedding.backward(dx, cache, grad)

    def encode(self, source, mask, rng=None, rows=None):
        """source (S, B), mask (S, B) → memory (B, S, D), mask (B, S), cache. ValueError: an empty sentence."""
        names = self._source_names(source, mask, rows)
        names = None if names is None else names.T
        x, embedded = self._embed(self.source_embedding, source, rng, names)
        known, caches = np.ascontiguousarray(mask.T), []
        for layer in self.encoder:
            x, _, cache = layer.forward(x, np.broadcast_to(known[:, None], x.shape[:2] + x.shape[1:2]), rng, names)
            caches.append(cache)
        normed = None
        if self.encoder_norm is not None:
            x, normed = self.encoder_norm.forward(x)
        return x, known, (embedded, caches, normed)

    def encode_backward(self, dx, cache, grad):
        """From ∂L/∂(memory) (B, S, D) down to the source embedding."""
        embedded, caches, normed = cache
        if normed is not None:
            dx = self.encoder_norm.backward(dx, normed, grad.encoder_norm)
        for layer, cache, part in zip(self.encoder[::-1], caches[::-1], grad.encoder[::-1]):
            dx = layer.backward(dx, cache, part)
        self._embed_backward(dx, self.source_embedding, embedded, grad.source_embedding)

    def forward(self, batch, rng=None):
        """Teacher forcing.   → y (N, D) of the N target words that are no padding, weights (T, B, S), cache."""
        memory, known, encoded = self.encode(batch.source, batch.source_mask, rng, batch.rows)
        T, B = batch.target_in.shape
        names = position_names(T, batch.rows).T
        y, embedded = self._embed(self.target_embedding, batch.target_in, rng, names)
        visible = np.tri(T, dtype=bool) & batch.target_mask.T[:, None]                         # (B, T, T)
        source_visible, caches = np.broadcast_to(known[:, None], (B, T, known.shape[1])), []
        for layer in self.decoder:
            y, weights, cache = layer.forward(y, visible, memory, source_visible, rng, names)
            caches.append(cache)
        normed = None
        if self.decoder_norm is not None:
            y, normed = self.decoder_norm.forward(y)
        words = np.flatnonzero(batch.target_mask)
        rows = words % B * T + words // B                   # the same words, counted along the sentences
        cache = memory, encoded, embedded, caches, normed, y.shape, rows
        return flat(y)[rows], np.ascontiguousarray(weights.transpose(1, 0, 2)), cache

    def backward(self, dread_out, dweights, cache, grad):
        """From ∂L/∂y (N, D), and ∂L/∂weights (T, B, S) or None, to every parameter."""
        memory, encoded, embedded, caches, normed, shape, rows = cache
        dy, dmemory = np.zeros(shape, dread_out.dtype), np.zeros_like(memory)
        flat(dy)[rows] = dread_out
        if normed is not None:
            dy = self.decoder_norm.backward(dy, normed, grad.decoder_norm)
        dlooked = None if dweights is None else np.ascontiguousarray(dweights.transpose(1, 0, 2))
        for layer, cache, part in zip(self.decoder[::-1], caches[::-1], grad.decoder[::-1]):
            dy, dread = layer.backward(dy, dlooked, cache, part)
            dmemory += dread
            dlooked = None
        self._embed_backward(dy, self.target_embedding, embedded, grad.target_embedding)
        self.encode_backward(dmemory, encoded, grad)

    # ---- decoding ---------------------------------------------------------------------------------------------------

    def start(self, source, mask):
        """Read the source (S, B): the state before the first target word."""
        memory, known, _ = self.encode(source, mask)
        return DecoderState(tuple(layer.source_attention.keys_and_values(memory) for layer in self.decoder), known,
                            (None,) * len(self.decoder))

    def next(self, tokens, state):
        """Previous words (B,) → log p of the next (B, V), weights (B, S), the state after it."""
        written = state.written[0]
        y, _ = self._embed(self.target_embedding, tokens[None], start=0 if written is None else written.shape[1])
        keys = []
        for layer, written, source_keys in zip(self.decoder, state.written, state.source_keys):
            y, weights, grown = layer.next(y, written, source_keys, state.mask[:, None])
            keys.append(grown)
        if self.decoder_norm is not None:
            y, _ = self.decoder_norm.forward(y)
        return self.output.log_probabilities(y[:, 0]), weights[:, 0], DecoderState(state.source_keys, state.mask, tuple(keys))
