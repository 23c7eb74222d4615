"""The Transformer: attention without recurrence (Vaswani et al. 2017)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.initializers import normal
from numpy_attention.layers.dropout import Dropout, position_ids
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.output import Output
from numpy_attention.layers.positional import positional_encoding
from numpy_attention.models.teacher_forced import PAIRS, Embedded, TeacherForced, check_batch
from numpy_attention.models.transformer_layers import DecoderLayer, EncoderLayer
from numpy_attention.module import Array
from numpy_attention.validation.arguments import check_flags, check_kind, check_number
from numpy_attention.validation.arrays import as_rows, at_least, check_integers, check_sizes


@dataclass
class DecoderState:
    """State between two target words: each layer's keys and values for source and prefix."""

    source: tuple       # of arrays (B, S, 2A)
    mask: Array         # (B, S)
    written: tuple      # of arrays (B, t, 2A), or of None

    def take(self, rows):
        """Return the state of the given rows of the batch, in the given order."""
        def pick(arrays):
            return tuple(None if array is None else array[rows] for array in arrays)
        return DecoderState(pick(self.source), self.mask[rows], pick(self.written))


class Encoded(NamedTuple):
    embedded: Embedded
    layers: list
    normed: object      # the last normalization's cache, or None


class Cache(NamedTuple):
    memory: Array       # (B, S, D)
    encoded: Encoded
    embedded: Embedded
    layers: list
    normed: object
    shape: tuple        # of the decoder's output
    rows: Array         # (N,)        places of the target words that are not padding


@dataclass(eq=False)
class Transformer(TeacherForced):
    """Encoder and decoder of Vaswani et al. 2017, section 3.

        u_j = √D E x_j + PE(j),  N encoder layers → memory             j from 0
        v_t = √D E y_{t−1} + PE(t),  N decoder layers → v'_t           t from 0, y_{−1} = <s>
        p(y_t) = softmax(W_o v'_t + b)

    v'_t depends on the memory and on y_{−1} … y_{t−1}, not on later words. With pre_norm, layer
    normalization comes before each sublayer, and again after the last layer (Xiong et al. 2020).
    As in the paper, dropout applies to the sums of embeddings and positions, and to the output of
    each sublayer. The weights returned are those of the last decoder layer over the source,
    averaged over the heads. smoothing: ε of label smoothing in training (section 5.4).
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
    def create(cls, rng, source_vocabulary, target_vocabulary, size=512, layers=6, heads=8,
               inner=None, tied=True, pre_norm=False, dropout=0.1, smoothing=0.1, dtype=np.float32):
        """Build a new model; the defaults are those of the paper's base model.

        The paper's model differs in two ways: it also shares the embedding of the source with the
        target (section 3.4), and its attention has no biases.

        size: D. inner: the hidden size of the feed-forward layers, by default 4 · D
        tied: whether W_o is the target embedding
        pre_norm, smoothing, dropout: as in the class; `dropout` is the rate

        Raises ValueError if a size is below 1, if `size` is odd or not divisible by heads, or if
        smoothing is outside [0, 1).
        """
        check_sizes(source_vocabulary=source_vocabulary, target_vocabulary=target_vocabulary,
                    size=size, layers=layers, heads=heads)
        at_least(1, inner=inner)
        check_flags(tied=tied, pre_norm=pre_norm)
        check_number("smoothing", smoothing, 0, np.nextafter(1, 0), "a fraction in [0, 1)")
        positional_encoding(1, size)            # raises for an odd size before anything is drawn
        table = normal(size**-0.5)
        settings = {"size": size, "heads": heads, "inner": inner or 4 * size, "dropout": dropout,
                    "pre_norm": pre_norm, "dtype": dtype}

        def norm():
            return LayerNorm.create(size, dtype) if pre_norm else None

        # the result of a seed depends on the order of these draws
        target_embedding = Embedding.create(rng, target_vocabulary, size, table, dtype)
        source_embedding = Embedding.create(rng, source_vocabulary, size, table, dtype)
        encoder = [EncoderLayer.create(rng, **settings) for _ in range(layers)]
        decoder = [DecoderLayer.create(rng, **settings) for _ in range(layers)]
        output = Output.create(rng, size, target_vocabulary, table, dtype,
                               target_embedding if tied else None)
        return cls(source_embedding, encoder, norm(), target_embedding, decoder, norm(), output,
                   Dropout(dropout), smoothing)

    # ---- words in ----------------------------------------------------------------------------

    def _embed(self, embedding, ids, rng=None, row_ids=None, start=0):
        """Embed ids (T, B) → x = dropout(√D E ids + PE) (B, T, D), cache. PE begins at `start`."""
        x, by_sentence = embedding.forward(np.ascontiguousarray(ids.T))         # (B, T, D)
        x *= x.dtype.type(np.sqrt(x.shape[2]))
        x += positional_encoding(x.shape[1], x.shape[2], x.dtype, start)
        x, dropped = self.dropout.forward(x, rng, row_ids)
        return x, Embedded(by_sentence, dropped)

    def _embed_backward(self, dx, embedding, cache, grads):
        # x = dropout(√D E ids + PE)
        dx = self.dropout.backward(dx, cache.dropped)
        dx *= dx.dtype.type(np.sqrt(dx.shape[2]))
        embedding.backward(dx, cache.ids, grads)

    def encode(self, source, mask, rng=None, rows=None):
        """Encode source (S, B), mask (S, B) → memory (B, S, D), mask (B, S), cache.

        rng and rows (sentence ids) are for dropout. Raises ValueError for an empty sentence.
        """
        row_ids = self._source_ids(source, mask, rows)
        row_ids = None if row_ids is None else row_ids.T
        x, embedded = self._embed(self.source_embedding, source, rng, row_ids)    # (B, S, D)
        known = np.ascontiguousarray(mask.T)                                    # (B, S)
        visible = np.broadcast_to(known[:, None], x.shape[:2] + x.shape[1:2])   # (B, S, S)
        layers = []
        for layer in self.encoder:
            x, _, cache = layer.forward(x, visible, rng, row_ids)
            layers.append(cache)
        normed = None
        if self.encoder_norm is not None:
            x, normed = self.encoder_norm.forward(x)
        return x, known, Encoded(embedded, layers, normed)

    def encode_backward(self, dx, cache, grads):
        """Backpropagate dx (B, S, D), the gradient of the memory, to the encoder's parameters."""
        if cache.normed is not None:
            dx = self.encoder_norm.backward(dx, cache.normed, grads.encoder_norm)
        for layer, kept, part in zip(self.encoder[::-1], cache.layers[::-1], grads.encoder[::-1]):
            dx = layer.backward(dx, kept, part)
        self._embed_backward(dx, self.source_embedding, cache.embedded, grads.source_embedding)

    # ---- words out ---------------------------------------------------------------------------

    def forward(self, batch, rng=None):
        """Run the model with teacher forcing → read_out (N, D), weights (T, B, S), cache.

        read_out: the output layer's input, a row for each of the N words that are not padding.
        """
        check_batch(batch, PAIRS)
        memory, known, encoded = self.encode(batch.source, batch.source_mask, rng, batch.rows)
        T, B = batch.target_in.shape
        row_ids = position_ids(T, batch.rows).T                                 # (B, T)
        y, embedded = self._embed(self.target_embedding, batch.target_in, rng, row_ids)
        visible = np.tri(T, dtype=bool) & batch.target_mask.T[:, None]          # (B, T, T)
        source_visible = np.broadcast_to(known[:, None], (B, T, known.shape[1]))  # (B, T, S)
        layers = []
        for layer in self.decoder:
            y, weights, cache = layer.forward(y, visible, memory, source_visible, rng, row_ids)
            layers.append(cache)
        normed = None
        if self.decoder_norm is not None:
            y, normed = self.decoder_norm.forward(y)
        words = np.flatnonzero(batch.target_mask)
        rows = (words % B) * T + words // B     # the same words, numbered sentence by sentence
        read_out = as_rows(y)[rows]                                                # (N, D)
        cache = Cache(memory, encoded, embedded, layers, normed, y.shape, rows)
        return read_out, np.ascontiguousarray(weights.transpose(1, 0, 2)), cache

    def backward(self, dread_out, dweights, cache, grads):
        """Backpropagate to all parameters.   dread_out (N, D), dweights (T, B, S) or None."""
        memory, encoded, embedded, layers, normed, shape, rows = cache
        dy = np.zeros(shape, dread_out.dtype)                                   # (B, T, D)
        as_rows(dy)[rows] = dread_out
        if normed is not None:
            dy = self.decoder_norm.backward(dy, normed, grads.decoder_norm)
        # the weights returned are the last layer's
        dlooked = None
        if dweights is not None:
            dlooked = np.ascontiguousarray(dweights.transpose(1, 0, 2))         # (B, T, S)
        dmemory = np.zeros_like(memory)
        for layer, kept, part in zip(self.decoder[::-1], layers[::-1], grads.decoder[::-1]):
            dy, dread = layer.backward(dy, dlooked, kept, part)
            dmemory += dread
            dlooked = None
        self._embed_backward(dy, self.target_embedding, embedded, grads.target_embedding)
        self.encode_backward(dmemory, encoded, grads)

    # ---- decoding ----------------------------------------------------------------------------

    def start(self, source, mask):
        """Return the state before the first target word.   source (S, B), mask (S, B)."""
        memory, known, _ = self.encode(source, mask)
        source = tuple(layer.source_attention.keys_and_values(memory) for layer in self.decoder)
        return DecoderState(source, known, (None,) * len(self.decoder))

    def next(self, tokens, state):
        """Predict the next word: last tokens (B,) → log p (B, V), weights (B, S), state."""
        check_kind("state", state, DecoderState, "a state returned by this model's `start`")
        check_integers("tokens", tokens, (len(state.mask),), "(B,)", "pass one for each row")
        before = state.written[0]
        position = 0 if before is None else before.shape[1]
        y, _ = self._embed(self.target_embedding, tokens[None], start=position)         # (B, 1, D)
        written = []
        for layer, own, source in zip(self.decoder, state.written, state.source):
            y, weights, grown = layer.next(y, own, source, state.mask[:, None])
            written.append(grown)
        if self.decoder_norm is not None:
            y, _ = self.decoder_norm.forward(y)
        after = DecoderState(state.source, state.mask, tuple(written))
        return self.output.log_probabilities(y[:, 0]), weights[:, 0], after
