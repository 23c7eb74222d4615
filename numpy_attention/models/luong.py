"""Luong's translator (Luong, Pham & Manning, EMNLP 2015): a decoder with interchangeable parts."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.attention.config import AttentionConfig, attention_of
from numpy_attention.attention.memory import Memory
from numpy_attention.cells.bidirectional import Bidirectional
from numpy_attention.cells.stacked import Stacked
from numpy_attention.initializers import InitialValues, initial_values, uniform
from numpy_attention.layers.dropout import Dropout, position_ids
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.output import Output
from numpy_attention.models.registry import check_settings
from numpy_attention.models.teacher_forced import PAIRS, Embedded, TeacherForced, check_batch
from numpy_attention.module import Array, Module
from numpy_attention.products import few_rows
from numpy_attention.registry import CELLS, QUERIES, build, resolve
from numpy_attention.trees import tree_map
from numpy_attention.validation.arguments import check_flags, check_kind, check_name
from numpy_attention.validation.arrays import as_rows, check_integers, check_sizes
from numpy_attention.validation.results import check_memory, check_returned

PAPER = InitialValues(weights=uniform(0.1), recurrent=uniform(0.1), table=uniform(0.1))


@dataclass
class DecoderState:
    """State after t target words: the memory, the cell states, h̃_t (`fed`), and t."""

    memory: Memory
    cells: tuple
    fed: Array      # (B, K)
    t: int

    def take(self, rows):
        """Return the state of the given rows of the batch, in the given order."""
        cells = tree_map(lambda array: array[rows], self.cells)
        return DecoderState(self.memory.take(rows), cells, self.fed[rows], self.t)


class Encoded(NamedTuple):
    embedded: Embedded
    cells: object       # the encoder's cache
    memory: Memory


class Cache(NamedTuple):
    encoded: Encoded
    embedded: Embedded
    y: Array            # (T, B, E)       D(E y_{t−1})
    steps: object       # the decoder's cells
    contexts: Array     # (T, B, D)
    attentional: Array  # (T + 1, B, K)   h̃_0 … h̃_T
    attend_caches: list         # the attention's cache of each step
    words: Array        # (N,)            places of the target words that are not padding
    dropped: object


@dataclass(eq=False)
class LuongTranslator(TeacherForced):
    """Encoder, decoder and attention of Luong et al. 2015, section 3.

        h_t = cells(E y_{t−1}; h_{t−1})     with input feeding cells([E y_{t−1}; h̃_{t−1}]; h_{t−1})
        c_t = Σ_s α_ts h̄_s                  query="current": the query is h_t
                                            query="previous": the query is h_{t−1}
        h̃_t = tanh(W_c [c_t; h_t] + b)      W_c in two parts: C for the context, W for the state
        p(y_t) = softmax(W_s h̃_t + b_s)     b_s is not in the paper

    h_t and h̄_s are the states of the top layers of decoder and encoder. The encoder has as many
    layers as the decoder, and its last states initialize the decoder, layer by layer. In a
    bidirectional encoder, each direction has half the size, and the last states of both directions
    are concatenated. Any `attention.protocol.Attention` can be used. With query="previous", as in
    Bahdanau et al. 2015, the query does not depend on y_{t−1}, and the first query is h_0, the last
    state of the encoder. As in Zaremba et al. 2014, dropout applies to both embeddings, between
    layers, and to h̃_t before the softmax. F is the part of the first cell's input weights that
    multiplies h̃_{t−1}, or None without input feeding.
    """

    source_embedding: Embedding
    encoder: Stacked
    target_embedding: Embedding
    decoder: Stacked
    F: Array | None  # (K, G)
    attention: Module
    C: Array  # (D, K)
    W: Array  # (H, K)
    b: Array | None  # (K,)
    output: Output
    dropout: Dropout
    query: str = "current"

    config_class = AttentionConfig

    def __post_init__(self):
        check_name("query", self.query, QUERIES)

    @classmethod
    def create(cls, rng, source_vocabulary, target_vocabulary, embedding=1000, hidden=1000, *,
               layers=4, cell="lstm", bidirectional=False, input_feeding=True, bias=False,
               query="current", dropout=0.0, init="paper", dtype=np.float32, attention="dot",
               **attention_settings):
        """Build a new model; the default sizes and initial values are the paper's.

        embedding, hidden: the sizes of a word vector and of a state
        layers: the number of layers of encoder and decoder
        cell: a name of `registry.CELLS`
        bidirectional, input_feeding: as in the class
        bias: whether h̃ has the bias b that textbooks add
        query: "current" for h_t, or "previous" for h_{t−1}
        dropout: the dropout rate
        init: with "paper", every matrix is from U(−0.1, 0.1). With "modern", for sizes far below
            the paper's, weights are drawn by `glorot`, recurrent matrices are orthogonal, and
            embeddings and W_s are from N(0, 0.1²). With a number b, every matrix is from U(−b, b)
        attention: a name of `registry.SCORES`, or a user-defined attention
        attention_settings: window, width and the other settings of `AttentionConfig`

        Biases are 0, except the forget bias of an LSTM, which is 1. Raises ValueError for unknown
        names, a size below 1, a size that the score forbids, or an odd `hidden` if bidirectional.
        """
        check_settings(cls, attention_settings)
        check_sizes(source_vocabulary=source_vocabulary, target_vocabulary=target_vocabulary,
                    embedding=embedding, hidden=hidden, layers=layers)
        check_flags(bidirectional=bidirectional, input_feeding=input_feeding, bias=bias)
        kind = resolve("cell", cell, CELLS)
        if bidirectional and hidden % 2:
            raise ValueError(f"hidden ({hidden}) must be even, because each direction gets half")
        values = initial_values(init, PAPER)
        sizes = [embedding] + [hidden] * layers

        def one(below, above):
            return build(kind, rng, inputs=below, hidden=above, init=values.weights,
                         recurrent=values.recurrent, dtype=dtype)

        def both(below, above):
            return Bidirectional(one(below, above // 2), one(below, above // 2))

        def weights(*shape):
            return values.weights(rng, shape, dtype)

        # the result of a seed depends on the order of these draws
        decoder = Stacked.create(one, sizes, dropout)
        source_embedding = Embedding.create(rng, source_vocabulary, embedding, values.table, dtype)
        encoder = Stacked.create(both if bidirectional else one, sizes, dropout)
        target_embedding = Embedding.create(rng, target_vocabulary, embedding, values.table, dtype)
        F = weights(hidden, decoder.gates_size) if input_feeding else None
        attention = attention_of(attention, rng, hidden, hidden, dtype=dtype,
                                 settings=attention_settings, init=values.weights)
        C = weights(hidden, hidden)
        W = weights(hidden, hidden)
        b = np.zeros(hidden, dtype) if bias else None
        output = Output.create(rng, hidden, target_vocabulary, values.table, dtype)
        return cls(source_embedding, encoder, target_embedding, decoder, F, attention, C, W, b,
                   output, Dropout(dropout), query)

    # ---- encoder -----------------------------------------------------------------------------

    def encode(self, source, mask, rng=None, rows=None):
        """Encode source (S, B), mask (S, B) → memory, first states of the decoder, cache.

        rng and rows (sentence ids) are for dropout. Raises ValueError for an empty sentence.
        """
        row_ids = self._source_ids(source, mask, rows)
        x, embedded = self._embed(self.source_embedding, source, rng, row_ids)
        annotations, last, cells = self.encoder.forward(x, None, mask, rng, row_ids)     # (S, B, D)
        if self._reads_both_ways():
            last = tuple(tree_map(side_by_side, ahead, back) for ahead, back in last)
        values = np.ascontiguousarray(annotations.transpose(1, 0, 2))                   # (B, S, D)
        memory = self.attention.read(values, np.ascontiguousarray(mask.T))
        check_memory(self.attention.read, memory)
        return memory, last, Encoded(embedded, cells, memory)

    def encode_backward(self, dmemory, dlast, cache, grads):
        """Backpropagate to the encoder. dlast: the gradient of the decoder's first states."""
        dvalues = self.attention.read_backward(cache.memory, dmemory, grads.attention)   # (B, S, D)
        check_returned(self.attention.read_backward, dvalues, "dvalues", cache.memory.values.shape,
                       "(B, S, D)")
        if self._reads_both_ways():
            dlast = tuple((tree_map(first_half, one), tree_map(second_half, one)) for one in dlast)
        dannotations = np.ascontiguousarray(dvalues.transpose(1, 0, 2))                 # (S, B, D)
        dx, _ = self.encoder.backward(dannotations, dlast, cache.cells, grads.encoder)
        self._embed_backward(dx, self.source_embedding, cache.embedded, grads.source_embedding)

    def _reads_both_ways(self):
        return isinstance(self.encoder.cells[0], Bidirectional)

    # ---- decoder -----------------------------------------------------------------------------

    def forward(self, batch, rng=None):
        """Run the model with teacher forcing → read_out (N, K), weights (T, B, S), cache.

        read_out: the output layer's input, a row for each of the N words that are not padding.
        """
        check_batch(batch, PAIRS)
        memory, first, encoded = self.encode(batch.source, batch.source_mask, rng, batch.rows)
        T, B = batch.target_in.shape
        row_ids = position_ids(T, batch.rows)
        y, embedded = self._embed(self.target_embedding, batch.target_in, rng, row_ids)
        steps = self.decoder.begin(self.decoder.project(y), first, batch.target_mask, rng, row_ids)
        contexts = np.empty((T, B, len(self.C)), y.dtype)                               # (T, B, D)
        weights = np.empty((T,) + memory.mask.shape, y.dtype)                           # (T, B, S)
        attentional = np.zeros((T + 1, B, self.W.shape[1]), y.dtype)                    # h̃_0 = 0
        asking = self._query_states(steps.hs)
        attend_caches = []
        C = few_rows(self.C, B, T)
        W = few_rows(self.W, B, T)
        F = None if self.F is None else few_rows(self.F, B, T)
        for t in range(T):
            # h_t = cells([E y_{t−1}; h̃_{t−1}]; h_{t−1})
            if F is not None:
                steps.a[t] += attentional[t] @ F
            self.decoder.step(t, steps)
            # c_t = Σ_s α_ts h̄_s
            contexts[t], weights[t], attend_cache = self.attention.step(asking[t], memory, t)
            attend_caches.append(attend_cache)
            # h̃_t = tanh(c_t C + h_t W + b)
            attentional[t + 1] = self._attentional(contexts[t], steps.hs[t + 1], C, W)
        # p(y_t) is read out of D(h̃_t)
        words = np.flatnonzero(batch.target_mask)
        read_out = as_rows(attentional[1:])[words]                                         # (N, K)
        read_out, dropped = self.dropout.forward(read_out, rng, row_ids.ravel()[words])
        cache = Cache(encoded, embedded, y, steps, contexts, attentional, attend_caches, words,
                      dropped)
        return read_out, weights, cache

    def backward(self, dread_out, dweights, cache, grads):
        """Backpropagate to all parameters.   dread_out (N, K), dweights (T, B, S) or None."""
        encoded, embedded, y, steps, contexts, attentional, attend_caches, words, dropped = cache
        # p(y_t) is read out of D(h̃_t)
        dattentional = np.zeros_like(attentional[1:])                                   # (T, B, K)
        as_rows(dattentional)[words] = self.dropout.backward(dread_out, dropped)
        dmixed = np.empty_like(dattentional)
        dmemory = encoded.memory.gradient()
        dhs = np.zeros_like(steps.hs)                   # T + 1 states from h_0 on
        dasking = self._query_states(dhs)
        dsteps = self.decoder.begin_backward(steps)
        T, B, _ = y.shape
        C_T = few_rows(self.C.T, B, T)
        W_T = few_rows(self.W.T, B, T)
        F_T = None if self.F is None else few_rows(self.F.T, B, T)
        dstates = self.decoder.zero_state(B)
        for t in reversed(range(len(attend_caches))):
            # h̃_t = tanh(mixed_t)
            dmixed[t] = dattentional[t] * (1 - attentional[t + 1] ** 2)
            # mixed_t = c_t C + h_t W + b
            dcontext = dmixed[t] @ C_T                                                  # (B, D)
            dhs[t + 1] += dmixed[t] @ W_T
            # c_t = Σ_s α_ts h̄_s
            dalpha = None if dweights is None else dweights[t]
            dquery = self.attention.step_backward(dcontext, dalpha, attend_caches[t], dmemory,
                                                  grads.attention)
            if dquery is not None:
                dasking[t] += dquery
            # h_t = cells(a_t; h_{t−1})
            dstates = self.decoder.step_backward(t, dhs[t + 1], dstates, steps, dsteps)
            # a_t = project(E y_{t−1}) + h̃_{t−1} F,  where h̃_0 = 0 is constant
            if F_T is not None and t > 0:
                dattentional[t - 1] += dsteps.a[t] @ F_T
        # if h_{t−1} is the query, h_0 is the first one
        self.decoder.hidden(dstates)[...] += dhs[0]
        # gradients of the weights, with one product each for all steps
        da = self.decoder.end_backward(steps, dsteps, grads.decoder)
        dy = self.decoder.project_backward(da, y, grads.decoder)
        if self.F is not None:
            grads.F += as_rows(attentional[:-1]).T @ as_rows(da)
        grads.C += as_rows(contexts).T @ as_rows(dmixed)
        grads.W += as_rows(steps.hs[1:]).T @ as_rows(dmixed)
        if self.b is not None:
            grads.b += as_rows(dmixed).sum(0)
        self._embed_backward(dy, self.target_embedding, embedded, grads.target_embedding)
        self.encode_backward(dmemory, dstates, encoded, grads)

    def _query_states(self, states):
        """Return the queries for c_1 … c_T: states h_0 … h_T (T + 1, B, H) → a view (T, B, H)."""
        return states[:-1] if self.query == "previous" else states[1:]

    def _attentional(self, context, h, C, W):
        """Return h̃ = tanh(c C + h W + b).   context (B, D), h (B, H) → (B, K)."""
        mixed = context @ C + h @ W
        return np.tanh(mixed if self.b is None else mixed + self.b)

    # ---- decoding ----------------------------------------------------------------------------

    def start(self, source, mask):
        """Return the state before the first target word.   source (S, B), mask (S, B)."""
        memory, first, _ = self.encode(source, mask)
        fed = np.zeros((source.shape[1], self.W.shape[1]), self.W.dtype)                    # (B, K)
        return DecoderState(memory, first, fed, 0)

    def next(self, tokens, state):
        """Predict the next word: last tokens (B,) → log p (B, V), weights (B, S), state."""
        check_kind("state", state, DecoderState, "a state returned by this model's `start`")
        check_integers("tokens", tokens, (len(state.memory.mask),), "(B,)", "pass one for each row")
        y, _ = self.target_embedding.forward(tokens[None])                              # (1, B, E)
        steps = self.decoder.begin(self.decoder.project(y), state.cells)
        if self.F is not None:
            steps.a[0] += state.fed @ few_rows(self.F, len(tokens))
        self.decoder.step(0, steps)
        query = self._query_states(steps.hs)[0]                                             # (B, H)
        context, weights, _ = self.attention.step(query, state.memory, state.t)         # (B, D)
        C, W = (few_rows(W, len(tokens)) for W in (self.C, self.W))
        fed = self._attentional(context, steps.hs[1], C, W)                             # (B, K)
        after = DecoderState(state.memory, self.decoder.state(steps, 1), fed, state.t + 1)
        return self.output.log_probabilities(fed), weights, after


def side_by_side(ahead, back):
    """Concatenate the states of both directions.   ahead, back (B, H / 2) → [ahead back] (B, H)."""
    return np.concatenate([ahead, back], axis=1)


def first_half(h):
    """Return →h, the left half of the columns of h = [→h; ←h]."""
    return np.ascontiguousarray(h[:, :h.shape[1] // 2])


def second_half(h):
    """Return ←h, the right half of the columns of h = [→h; ←h]."""
    return np.ascontiguousarray(h[:, h.shape[1] // 2:])
