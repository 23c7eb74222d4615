"""Effective approaches to attention-based translation (Luong, Pham & Manning, EMNLP 2015): one decoder of many parts."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.attention.dot import DotAttention, ScaledDotAttention
from numpy_attention.attention.general import GeneralAttention
from numpy_attention.attention.local import LocalMonotonic, LocalPredictive
from numpy_attention.attention.location import LocationAttention
from numpy_attention.attention.memory import Memory
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.cells.bidirectional import Bidirectional
from numpy_attention.cells.stacked import Stacked
from numpy_attention.initializers import initial_values, uniform
from numpy_attention.layers.dropout import Dropout, position_names
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.output import Output
from numpy_attention.models.language_model import CELLS
from numpy_attention.models.teacher_forced import TeacherForced
from numpy_attention.module import Array, Module
from numpy_attention.shapes import at_least, flat
from numpy_attention.trees import tree_map

SCORES = ("dot", "general", "concat", "location", "scaled-dot", "multi-head")
WINDOWS = ("global", "local-m", "local-p")


@dataclass
class DecoderState:
    """Between two target words: the source, the cells' states, h̃_{t−1}, and the number of the next word."""

    memory: Memory
    cells: tuple
    fed: Array      # (B, K)
    t: int

    def take(self, rows):
        """The state of these rows of the batch, in this order."""
        return DecoderState(self.memory.take(rows), tree_map(lambda array: array[rows], self.cells), self.fed[rows], self.t)


@dataclass(eq=False)
class LuongTranslator(TeacherForced):
    """Encoder, decoder and attention of Luong et al. 2015, section 3.

        h_t = cells(E y_{t−1}; h_{t−1}),  with input feeding cells([E y_{t−1}; h̃_{t−1}]; h_{t−1})
        c_t = Σ_s α_ts h̄_s                       the current state h_t asks the encoder's annotations h̄_s
        h̃_t = tanh(W_c [c_t; h_t] + b)           W_c in two parts, C for the context and W for the state
        p(y_t) = softmax(W_s h̃_t + b_s)          b_s is this project's

    h_t is the top of a stack; the encoder is a stack of as many layers, whose last states the decoder starts from, layer by
    layer; with two directions each has half the size, and both last states side by side start the decoder. The attention
    is anything on the read/step protocol. Dropout as Zaremba et al. 2014: on both embeddings, between layers and on h̃_t
    before the softmax. F is input feeding's part of the first cell's input weights; None: no input feeding.
    """

    source_embedding: Embedding
    encoder: Stacked
    target_embedding: Embedding
    decoder: Stacked
    F: Array | None  # (K, gates · H)
    attention: Module
    C: Array  # (D, K), D the annotations' size
    W: Array  # (H, K)
    b: Array | None  # (K,)
    output: Output
    dropout: Dropout

    @classmethod
    def create(cls, rng, source_vocabulary, target_vocabulary, embedding=1000, hidden=1000, layers=4, cell="lstm",
               bidirectional=False, attention="dot", window="global", D=10, backwards=False, input_feeding=True,
               bias=False, alignment=None, longest=64, heads=4, dropout=0.0, init="paper", dtype=np.float32):
        """A new model; the defaults are the paper's. Biases are 0 but an LSTM's forget gate, 1.

        init "paper": every matrix from U(−0.1, 0.1); "modern": Glorot's uniform weights, recurrent matrices orthogonal,
        embeddings and W_s from N(0, 0.1²), for sizes far below the paper's; a number b: all from U(−b, b).
        attention: "dot", "general", "concat" (additive), "location", "scaled-dot" or "multi-head" of so many heads; window:
        "global", "local-m" or "local-p", 2D + 1 positions wide; backwards: the batches' sources are reversed, so local-m
        starts at their end; alignment: size of concat's and local-p's hidden layer (default `hidden`); longest: source
        positions that location knows, </s> included; bias: textbooks' b in h̃. ValueError: names or sizes that do not fit
        together.
        """
        at_least(1, embedding=embedding, hidden=hidden, layers=layers, alignment=alignment)
        if cell not in CELLS:
            raise ValueError(f"cell {cell!r}: expected one of {', '.join(CELLS)}")
        if bidirectional and hidden % 2:
            raise ValueError(f"hidden = {hidden} cannot be shared by two directions: expected an even number")
        weights, recurrent, table = initial_values(init, paper=(uniform(0.1),) * 3)

        def stack(kind):
            sizes = [embedding] + [hidden] * layers
            return Stacked([kind(below, above) for below, above in zip(sizes, sizes[1:])], Dropout(dropout))

        def one(below, above):
            return CELLS[cell].create(rng, below, above, init=weights, recurrent=recurrent, dtype=dtype)

        def both(below, above):
            return Bidirectional(one(below, above // 2), one(below, above // 2))

        decoder = stack(one)
        gates = decoder.cells[0].W.shape[1]
        return cls(Embedding.create(rng, source_vocabulary, embedding, table, dtype), stack(both if bidirectional else one),
                   Embedding.create(rng, target_vocabulary, embedding, table, dtype), decoder,
                   weights(rng, (hidden, gates), dtype) if input_feeding else None,
                   attention_of(rng, attention, window, hidden, alignment or hidden, D, backwards, longest, heads, weights,
                                dtype),
                   weights(rng, (hidden, hidden), dtype), weights(rng, (hidden, hidden), dtype),
                   np.zeros(hidden, dtype) if bias else None,
                   Output.create(rng, hidden, target_vocabulary, table, dtype), Dropout(dropout))

    # ---- encoder --------------------------------------------------------------------------------------------------

    def encode(self, source, mask, rng=None, rows=None):
        """source (S, B), mask (S, B) → memory, the decoder's first states, cache. ValueError: an empty sentence."""
        names = self._source_names(source, mask, rows)
        x, embedded = self._embed(self.source_embedding, source, rng, names)
        annotations, last, steps = self.encoder.forward(x, None, mask, rng, names)
        if isinstance(self.encoder.cells[0], Bidirectional):
            last = tuple(tree_map(lambda ahead, back: np.concatenate([ahead, back], 1), *pair) for pair in last)
        memory = self.attention.read(np.ascontiguousarray(annotations.transpose(1, 0, 2)), np.ascontiguousarray(mask.T))
        return memory, last, (embedded, steps, memory)

    def encode_backward(self, dmemory, dlast, cache, grad):
        """From the memory's gradient and ∂L/∂(the decoder's first states) down to the source embedding."""
        embedded, steps, memory = cache
        dvalues = self.attention.read_backward(memory, dmemory, grad.attention)
        if isinstance(self.encoder.cells[0], Bidirectional):
            halves = [tree_map(lambda array: np.ascontiguousarray(array[:, half]), dlast)
                      for half in (slice(None, len(self.W) // 2), slice(len(self.W) // 2, None))]
            dlast = tuple(zip(*halves))
        dx, _ = self.encoder.backward(np.ascontiguousarray(dvalues.transpose(1, 0, 2)), dlast, steps, grad.encoder)
        self._embed_backward(dx, self.source_embedding, embedded, grad.source_embedding)

    # ---- decoder --------------------------------------------------------------------------------------------------

    def forward(self, batch, rng=None):
        """Teacher forcing.   → h̃ (N, K) of the N target words that are no padding, weights (T, B, S), cache."""
        memory, first, encoded = self.encode(batch.source, batch.source_mask, rng, batch.rows)
        T, B = batch.target_in.shape
        names = position_names(T, batch.rows)
        y, embedded = self._embed(self.target_embedding, batch.target_in, rng, names)
        steps = self._begin(y, first, batch.target_mask)
        dropout_keys = [self.decoder.dropout.draw(rng) for _ in steps[1:]]
        belows = [np.empty((T, B, cell.W.shape[0]), y.dtype) for cell in self.decoder.cells[1:]]
        contexts, weights = np.empty((T, B, len(self.C)), y.dtype), np.empty((T,) + memory.mask.shape, y.dtype)
        attentional, looks, dropped = np.zeros((T + 1, B, len(self.W)), y.dtype), [], []          # h̃_0 = 0
        for t in range(T):
            dropped.append(self._cells(t, steps, attentional[t], belows, dropout_keys, names[t]))
            contexts[t], weights[t], looked = self.attention.step(steps[-1].hs[t + 1], memory, t)
            attentional[t + 1] = self._attentional(contexts[t], steps[-1].hs[t + 1])
            looks.append(looked)
        words = np.flatnonzero(batch.target_mask)
        read_out, r_dropped = self.dropout.forward(flat(attentional[1:])[words], rng, names.ravel()[words])
        return read_out, weights, (encoded, embedded, y, steps, belows, dropped, contexts, attentional, looks, words,
                                   r_dropped)

    def backward(self, dread_out, dweights, cache, grad):
        """From ∂L/∂h̃ (N, K), and ∂L/∂weights (T, B, S) or None, to every parameter."""
        encoded, embedded, y, steps, belows, dropped, contexts, attentional, looks, words, r_dropped = cache
        cells, memory = self.decoder.cells, encoded[-1]
        T, B = contexts.shape[:2]
        dattentional = np.zeros_like(attentional[1:])
        flat(dattentional)[words] = self.dropout.backward(dread_out, r_dropped)
        dmemory, dmixed = memory.gradient(), np.empty_like(dattentional)
        dsteps = [cell.begin_backward(one) for cell, one in zip(cells, steps)]
        dstates, nothing = [cell.zero_state(B) for cell in cells], np.zeros((B, len(self.W)), y.dtype)
        for t in reversed(range(T)):
            # h̃_t = tanh(mixed_t),  mixed_t = c_t C + h_t W + b
            dmixed[t] = dattentional[t] * (1 - attentional[t + 1] ** 2)
            dcontext = dmixed[t] @ self.C.T
            dquery = self.attention.step_backward(dcontext, None if dweights is None else dweights[t], looks[t], dmemory,
                                                  grad.attention)
            dh = dmixed[t] @ self.W.T + (nothing if dquery is None else dquery)
            # the cells, from the top down
            for layer in reversed(range(len(cells))):
                cell = cells[layer]
                dstates[layer] = cell.step_backward(t, dh, dstates[layer], steps[layer], dsteps[layer])
                da = dsteps[layer].a[t]
                if layer:
                    dh = self.decoder.dropout.backward(da @ cell.W.T, dropped[t][layer - 1])
                elif self.F is not None and t:      # the first cell's a = E y_{t−1} W + b + h̃_{t−1} F
                    dattentional[t - 1] += da @ self.F.T
        # the weights, one product each for all steps
        das = [cell.end_backward(one, done, part) for cell, one, done, part in
               zip(cells, steps, dsteps, grad.decoder.cells)]
        for cell, da, below, part in zip(cells[1:], das[1:], belows, grad.decoder.cells[1:]):
            cell._weights_backward(da, below, part)
        if self.F is not None:
            grad.F += flat(attentional[:-1]).T @ flat(das[0])
        grad.C += flat(contexts).T @ flat(dmixed)
        grad.W += flat(steps[-1].hs[1:]).T @ flat(dmixed)
        if self.b is not None:
            grad.b += flat(dmixed).sum(0)
        dy = cells[0].project_backward(das[0], y, grad.decoder.cells[0])
        self._embed_backward(dy, self.target_embedding, embedded, grad.target_embedding)
        self.encode_backward(dmemory, tuple(dstates), encoded, grad)

    def _begin(self, y, states, mask):
        """Steps of every layer; only the first one's input is known before the loop."""
        T, B = mask.shape
        cells = self.decoder.cells
        inputs = [cells[0].project(y)] + [np.empty((T, B, cell.W.shape[1]), y.dtype) for cell in cells[1:]]
        return [cell.begin(a, state, mask) for cell, a, state in zip(cells, inputs, states)]

    def _cells(self, t, steps, fed, belows, dropout_keys, names):
        """Step t of all layers; → what dropout between them keeps."""
        dropped = []
        if self.F is not None:
            steps[0].a[t] += fed @ self.F
        for layer, cell in enumerate(self.decoder.cells):
            if layer:
                below, cache = self.decoder.dropout.apply(steps[layer - 1].hs[t + 1], dropout_keys[layer - 1], names)
                belows[layer - 1][t] = below
                steps[layer].a[t] = cell.project(below[None])[0]
                dropped.append(cache)
            cell.step(t, steps[layer])
        return dropped

    def _attentional(self, context, h):
        mixed = context @ self.C + h @ self.W
        return np.tanh(mixed if self.b is None else mixed + self.b)

    # ---- decoding ---------------------------------------------------------------------------------------------------

    def start(self, source, mask):
        """Read the source (S, B): the state before the first target word."""
        memory, first, _ = self.encode(source, mask)
        return DecoderState(memory, first, np.zeros((source.shape[1], len(self.W)), self.W.dtype), 0)

    def next(self, tokens, state):
        """Previous words (B,) → log p of the next (B, V), weights (B, S), the state after it."""
        y, _ = self.target_embedding.forward(tokens[None])
        steps = self._begin(y, state.cells, np.ones((1, len(tokens)), bool))
        belows = [np.empty((1, len(tokens), cell.W.shape[0]), y.dtype) for cell in self.decoder.cells[1:]]
        self._cells(0, steps, state.fed, belows, [None] * len(belows), None)
        h = steps[-1].hs[1]
        context, weights, _ = self.attention.step(h, state.memory, state.t)
        fed = self._attentional(context, h)
        cells = tuple(cell.state(one, 1) for cell, one in zip(self.decoder.cells, steps))
        return self.output.log_probabilities(fed), weights, DecoderState(state.memory, cells, fed, state.t + 1)


def attention_of(rng, score, window, size, alignment, D, backwards, longest, heads, init, dtype):
    """The attention of a score and a window over annotations as large as the decoder's states."""
    if score not in SCORES or window not in WINDOWS:
        raise ValueError(f"attention {score!r} with window {window!r}: expected one of {', '.join(SCORES)} with one of "
                         f"{', '.join(WINDOWS)}")
    if score == "location" and window != "global":
        raise ValueError(f"location with {window}: location scores absolute places and does not look at the words, so there "
                         "is nothing for a window to choose from (Luong et al. 2015 pair local windows with dot and "
                         "general): choose window 'global', or another score")
    attention = {"dot": lambda: DotAttention(), "scaled-dot": lambda: ScaledDotAttention(),
                 "general": lambda: GeneralAttention.create(rng, size, size, init, dtype),
                 "concat": lambda: AdditiveAttention.create(rng, size, size, alignment, init, dtype=dtype),
                 "location": lambda: LocationAttention.create(rng, size, longest, init, dtype),
                 "multi-head": lambda: MultiHeadAttention.create(rng, size, size, heads=heads, init=init,
                                                                 dtype=dtype)}[score]()
    if window == "local-m":
        return LocalMonotonic(attention, D, backwards)
    if window == "local-p":
        return LocalPredictive.create(rng, attention, size, alignment, D, init, dtype)
    return attention
