"""RNNsearch: learning to align and translate jointly (Bahdanau, Cho & Bengio, ICLR 2015)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from numpy_attention.attention.config import AttentionConfig, attention_of
from numpy_attention.attention.memory import Memory
from numpy_attention.cells.bidirectional import Bidirectional
from numpy_attention.cells.gru import GRU
from numpy_attention.cells.stacked import stack
from numpy_attention.initializers import InitialValues, initial_values, normal, orthogonal
from numpy_attention.layers.deep_output import DeepOutput
from numpy_attention.layers.dropout import Dropout, position_ids
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.output import Output
from numpy_attention.models.registry import check_settings
from numpy_attention.models.teacher_forced import PAIRS, Embedded, TeacherForced, check_batch
from numpy_attention.module import Array, Module
from numpy_attention.products import few_rows
from numpy_attention.registry import READOUTS
from numpy_attention.trees import cut_columns, join_columns, last_leaf, last_leaf_alone, tree_map
from numpy_attention.validation.arguments import check_flags, check_kind, check_name, check_number
from numpy_attention.validation.arrays import as_rows, at_least, check_integers, check_sizes
from numpy_attention.validation.results import check_memory, check_returned

# appendix B.1
PAPER = InitialValues(weights=normal(0.01), recurrent=orthogonal, table=normal(0.01))
PAPER_ATTENTION = {"init": normal(0.001), "init_v": normal(0.0)}


@dataclass
class DecoderState:
    """State between two target words: memory, states of the decoder, index i of the next word."""

    memory: Memory
    states: object      # a cell's (B, H), or a tuple of a stack's
    i: int

    def take(self, rows):
        """Return the state of the given rows of the batch, in the given order."""
        states = tree_map(lambda array: array[rows], self.states)
        return DecoderState(self.memory.take(rows), states, self.i)


class Encoded(NamedTuple):
    embedded: Embedded
    cells: object       # the encoder's cache
    last: object        # the encoder's last states
    s_0: Array          # (B, L · H)
    memory: Memory


class Cache(NamedTuple):
    encoded: Encoded
    embedded: Embedded
    y: Array            # (T, B, E)   D(E y_{i−1})
    steps: object       # the decoder's cells
    contexts: Array     # (T, B, D)
    attend_caches: list         # the attention's cache of each step
    words: Array        # (N,)        places of the target words that are not padding
    deep: object
    dropped: object


@dataclass(eq=False)
class RNNSearch(TeacherForced):
    """Encoder, attention and decoder of Bahdanau et al. 2015, section 3 and appendix A.

        h_j  = [→h_j; ←h_j]                               annotations; both RNNs share an embedding
        s_0  = tanh(W_s ←h_1 + b_s)
        c_i  = Σ_j α_ij h_j                               α_i from s_{i−1} and the annotations
        s_i  = GRU(E y_{i−1}, c_i; s_{i−1})               c_i enters gates and candidate, through C
        t_i  = maxout(U_o s + V_o E y_{i−1} + C_o c_i)    readout="previous": s = s_{i−1} (A.2.2)
                                                          readout="current": s = s_i (section 3.1)
        p(y_i) = softmax(W_o t_i)

    W_o is output.words.E. Any `attention.protocol.Attention` can be used. The GRUs, t_i and the
    softmax also have biases, which the paper's equations omit. Some options go beyond the paper:
    dropout (on both embeddings, between layers and on t), label smoothing, other initial values,
    other GRU conventions, and several layers. With several layers, s is the state of the top layer,
    and W_s has a block of columns for s_0 of each layer. The code computes ←h_1 W_s.

    A source is an array (S, B) of ids, in which each sentence ends in </s>. Targets are (T, B).
    """

    source_embedding: Embedding
    encoder: Module
    W_s: Array  # (H_encoder, L · H)
    b_s: Array  # (L · H,)
    target_embedding: Embedding
    attention: Module
    decoder: Module
    C: Array  # (D, G)
    deep_output: DeepOutput
    output: Output
    dropout: Dropout
    readout: str = "previous"
    smoothing: float = 0.0

    config_class: ClassVar[type | None] = AttentionConfig

    def __post_init__(self):
        check_name("readout", self.readout, READOUTS)

    @classmethod
    def create(cls, rng, source_vocabulary, target_vocabulary, embedding=620, hidden=1000, *,
               layers=1, bidirectional=True, maxout=None, readout="previous", reset="before",
               update="new", dropout=0.0, init="paper", smoothing=0.0, dtype=np.float32,
               attention="concat", **attention_settings):
        """Build a new model; the defaults are the paper's.

        embedding, hidden: the sizes of a word vector and of a state
        layers: the number of layers of encoder and decoder
        bidirectional: whether the encoder reads from both ends
        maxout: l, the size of t, by default hidden / 2
        readout: as in the class. reset, update: as in `GRU`
        dropout: the dropout rate
        init: with "paper", weights are from N(0, 0.01²), W_a and U_a from N(0, 0.001²), and v_a = 0
            (appendix B.1). With "modern", for small models and short training runs, weights are
            drawn by `glorot`, and embeddings and W_o from N(0, 0.1²). In both cases, recurrent
            matrices are orthogonal. With a number b, every matrix is from U(−b, b)
        smoothing: ε of label smoothing in training (Szegedy et al. 2016, section 7)
        attention: a name of `registry.SCORES` (in the paper, "concat"), or a user-defined attention
        attention_settings: `alignment` (the hidden size of the score), and the other settings of
            `AttentionConfig`

        Raises ValueError for sizes below 1, an unknown name, or smoothing outside [0, 1).
        """
        check_settings(cls, attention_settings)
        check_sizes(source_vocabulary=source_vocabulary, target_vocabulary=target_vocabulary,
                    embedding=embedding, hidden=hidden, layers=layers)
        at_least(1, maxout=maxout)
        check_number("smoothing", smoothing, 0, np.nextafter(1, 0), "a fraction in [0, 1)")
        check_flags(bidirectional=bidirectional)
        values = initial_values(init, PAPER)
        annotation = (2 if bidirectional else 1) * hidden
        maxout = maxout or max(1, hidden // 2)
        scoring = PAPER_ATTENTION if init == "paper" else {"init": values.weights}
        attention = attention_of(attention, rng, hidden, annotation, dtype=dtype,
                                 settings=attention_settings, **scoring)

        def gru(below, above):
            return GRU.create(rng, below, above, reset, update, values.weights, values.recurrent,
                              dtype)

        def both(below, above):
            return Bidirectional(gru(below, above // 2), gru(below, above // 2))

        def weights(*shape):
            return values.weights(rng, shape, dtype)

        # the result of a seed depends on the order of these draws
        source_embedding = Embedding.create(rng, source_vocabulary, embedding, values.table, dtype)
        reads = both if bidirectional else gru
        encoder = stack(reads, [embedding] + [annotation] * layers, dropout)
        W_s = weights(hidden, layers * hidden)
        target_embedding = Embedding.create(rng, target_vocabulary, embedding, values.table, dtype)
        decoder = stack(gru, [embedding] + [hidden] * layers, dropout)
        C = weights(annotation, decoder.gates_size)
        deep_output = DeepOutput.create(rng, hidden, embedding, annotation, maxout, values.weights,
                                        dtype)
        output = Output.create(rng, maxout, target_vocabulary, values.table, dtype)
        b_s = np.zeros(layers * hidden, dtype)
        return cls(source_embedding, encoder, W_s, b_s, target_embedding, attention, decoder, C,
                   deep_output, output, Dropout(dropout), readout, smoothing)

    # ---- encoder -----------------------------------------------------------------------------

    def encode(self, source, mask, rng=None, rows=None):
        """Encode source (S, B), mask (S, B) → memory of the annotations, s_0 (B, L · H), cache.

        rng and rows (sentence ids) are for dropout. Raises ValueError for an empty sentence.
        """
        row_ids = self._source_ids(source, mask, rows)
        x, embedded = self._embed(self.source_embedding, source, rng, row_ids)
        annotations, last, cells = self.encoder.forward(x, None, mask, rng, row_ids)     # (S, B, D)
        # s_0 = tanh(W_s ←h_1 + b_s); ←h_1 is the last leaf of the encoder's last states
        s_0 = np.tanh(last_leaf(last) @ self.W_s + self.b_s)                            # (B, L · H)
        values = np.ascontiguousarray(annotations.transpose(1, 0, 2))                   # (B, S, D)
        memory = self.attention.read(values, np.ascontiguousarray(mask.T))
        check_memory(self.attention.read, memory)
        return memory, s_0, Encoded(embedded, cells, last, s_0, memory)

    def encode_backward(self, dmemory, ds_0, cache, grads):
        """Backpropagate dmemory and ds_0 (B, L · H) to the encoder's parameters."""
        dvalues = self.attention.read_backward(cache.memory, dmemory, grads.attention)   # (B, S, D)
        check_returned(self.attention.read_backward, dvalues, "dvalues", cache.memory.values.shape,
                       "(B, S, D)")
        # s_0 = tanh(W_s ←h_1 + b_s)
        da = ds_0 * (1 - cache.s_0**2)                                                  # (B, L · H)
        grads.W_s += last_leaf(cache.last).T @ da
        grads.b_s += da.sum(0)
        dlast = last_leaf_alone(cache.last, da @ self.W_s.T)
        # h_j = [→h_j; ←h_j]
        dannotations = np.ascontiguousarray(dvalues.transpose(1, 0, 2))                 # (S, B, D)
        dx, _ = self.encoder.backward(dannotations, dlast, cache.cells, grads.encoder)
        self._embed_backward(dx, self.source_embedding, cache.embedded, grads.source_embedding)

    # ---- decoder -----------------------------------------------------------------------------

    def forward(self, batch, rng=None):
        """Run the model with teacher forcing → t (N, l), weights (T, B, S), cache.

        t has a row for each of the N target words that are not padding.
        """
        check_batch(batch, PAIRS)
        memory, s_0, encoded = self.encode(batch.source, batch.source_mask, rng, batch.rows)
        T, B = batch.target_in.shape
        row_ids = position_ids(T, batch.rows)
        y, embedded = self._embed(self.target_embedding, batch.target_in, rng, row_ids)
        steps = self.decoder.begin(self.decoder.project(y), self._first_states(s_0),
                                   batch.target_mask, rng, row_ids)
        contexts = np.empty((T, B, memory.values.shape[2]), y.dtype)                    # (T, B, D)
        weights = np.empty((T,) + memory.mask.shape, y.dtype)                           # (T, B, S)
        attend_caches = []
        C = few_rows(self.C, B, T)
        for i in range(T):
            # c_i = Σ_j α_ij h_j, with the query s_{i−1} = hs[i]
            contexts[i], weights[i], attend_cache = self.attention.step(steps.hs[i], memory, i)
            attend_caches.append(attend_cache)
            # s_i = GRU(E y_{i−1}, c_i; s_{i−1})
            steps.a[i] += contexts[i] @ C
            self.decoder.step(i, steps)
        # t_i = D(maxout(U_o s + V_o E y_{i−1} + C_o c_i + b))
        words = np.flatnonzero(batch.target_mask)
        s = self._read_out_of(steps.hs)
        t, deep = self.deep_output.forward(as_rows(s)[words], as_rows(y)[words],
                                           as_rows(contexts)[words])
        t, dropped = self.dropout.forward(t, rng, row_ids.ravel()[words])
        cache = Cache(encoded, embedded, y, steps, contexts, attend_caches, words, deep, dropped)
        return t, weights, cache

    def backward(self, dt, dweights, cache, grads):
        """Backpropagate to all parameters.   dt (N, l), dweights (T, B, S) or None."""
        encoded, embedded, y, steps, contexts, attend_caches, words, deep, dropped = cache
        # t_i = D(maxout(U_o s + V_o E y_{i−1} + C_o c_i + b))
        dt = self.dropout.backward(dt, dropped)
        ds_rows, dy_rows, dc_rows = self.deep_output.backward(dt, deep, grads.deep_output)
        ds_read = np.zeros_like(steps.hs)               # T + 1 states from s_0 on
        as_rows(self._read_out_of(ds_read))[words] = ds_rows
        dy = np.zeros_like(y)
        as_rows(dy)[words] = dy_rows
        dcontexts = np.zeros_like(contexts)
        as_rows(dcontexts)[words] = dc_rows
        dmemory = encoded.memory.gradient()
        dsteps = self.decoder.begin_backward(steps)
        C_T = few_rows(self.C.T, dsteps.a.shape[1], len(dsteps.a))
        # ∂L/∂(the states after step i) through later steps; ds_read has the part through t_i
        dstates = self.decoder.zero_state(len(steps.hs[0]))
        for i in reversed(range(len(attend_caches))):
            # s_i = GRU(a_i; s_{i−1})
            dstates = self.decoder.step_backward(i, ds_read[i + 1], dstates, steps, dsteps)
            # a_i = project(E y_{i−1}) + c_i C
            dcontexts[i] += dsteps.a[i] @ C_T
            # c_i = Σ_j α_ij h_j,  α_i from s_{i−1}
            dalpha = None if dweights is None else dweights[i]
            dquery = self.attention.step_backward(dcontexts[i], dalpha, attend_caches[i], dmemory,
                                                  grads.attention)
            if dquery is not None:
                ds_read[i] += dquery
        # s_0 is the first query, and t_1 reads it if it reads s_{i−1}
        self.decoder.hidden(dstates)[...] += ds_read[0]
        ds_0 = join_columns(dstates)
        # one product for all steps: dC = Σ_i c_iᵀ da_i,  dW = Σ_i (E y_{i−1})ᵀ da_i
        da = self.decoder.end_backward(steps, dsteps, grads.decoder)
        dy += self.decoder.project_backward(da, y, grads.decoder)
        grads.C += as_rows(contexts).T @ as_rows(da)
        self._embed_backward(dy, self.target_embedding, embedded, grads.target_embedding)
        self.encode_backward(dmemory, ds_0, encoded, grads)

    def _first_states(self, s_0):
        """Return s_0 (B, L · H) as the decoder's first state, split by layer if L > 1."""
        return cut_columns(s_0, self.decoder.zero_state(len(s_0)))

    def _read_out_of(self, states):
        """Return the states that deep output reads: s_0 … s_T (T + 1, B, H) → a view (T, B, H)."""
        return states[:-1] if self.readout == "previous" else states[1:]

    # ---- decoding ----------------------------------------------------------------------------

    def start(self, source, mask):
        """Return the state before the first target word.   source (S, B), mask (S, B)."""
        memory, s_0, _ = self.encode(source, mask)
        return DecoderState(memory, self._first_states(s_0), 0)

    def next(self, tokens, state):
        """Predict the next word: last tokens (B,) → log p (B, V), weights (B, S), state."""
        check_kind("state", state, DecoderState, "a state returned by this model's `start`")
        check_integers("tokens", tokens, (len(state.memory.mask),), "(B,)", "pass one for each row")
        y, _ = self.target_embedding.forward(tokens[None])                              # (1, B, E)
        steps = self.decoder.begin(self.decoder.project(y), state.states)
        context, weights, _ = self.attention.step(steps.hs[0], state.memory, state.i)   # (B, D)
        steps.a[0] += context @ few_rows(self.C, len(context))
        self.decoder.step(0, steps)
        s = self._read_out_of(steps.hs)[0]                                              # (B, H)
        t, _ = self.deep_output.forward(s, y[0], context)                               # (B, l)
        after = DecoderState(state.memory, self.decoder.state(steps, 1), state.i + 1)
        return self.output.log_probabilities(t), weights, after
