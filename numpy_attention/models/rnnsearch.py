"""RNNsearch: learning to align and translate jointly (Bahdanau, Cho & Bengio, ICLR 2015)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.attention.memory import Memory
from numpy_attention.cells.bidirectional import Bidirectional
from numpy_attention.cells.gru import GRU
from numpy_attention.initializers import initial_values, normal, orthogonal
from numpy_attention.layers.deep_output import DeepOutput
from numpy_attention.layers.dropout import Dropout, position_names
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.output import Output
from numpy_attention.models.teacher_forced import TeacherForced
from numpy_attention.module import Array, Module
from numpy_attention.shapes import at_least, flat

PAPER = normal(0.01), orthogonal, normal(0.01)      # appendix B.1: weights, recurrent weights, tables of words


@dataclass
class DecoderState:
    """A translator between two target words: the source it reads from, s_{i−1}, and the number of the next word, from 0."""

    memory: Memory
    s: Array    # (B, H)
    i: int

    def take(self, rows):
        """The state of these rows of the batch, in this order."""
        return DecoderState(self.memory.take(rows), self.s[rows], self.i)


@dataclass(eq=False)
class RNNSearch(TeacherForced):
    """Encoder, attention and decoder of Bahdanau et al. 2015, section 3 and appendix A.

        h_j  = [→h_j; ←h_j]                                annotations, one embedding for both directions
        s_0  = tanh(W_s ←h_1 + b_s)
        c_i  = Σ_j α_ij h_j                                α_i from s_{i−1} and the annotations
        s_i  = GRU(E y_{i−1}, c_i; s_{i−1})                c_i enters both gates and the candidate, through C
        t_i  = maxout(U_o s + V_o E y_{i−1} + C_o c_i)     s = s_{i−1} (readout="previous": appendix, released code)
                                                           s = s_i     (readout="current": section 3.1)
        p(y_i) = softmax(W_o t_i)

    W_o is output.words.E; `attention` may be any other of the read/step protocol. Departures: biases throughout; and
    optional, dropout on both embeddings and on t, other initial values, the GRU's convention. A source is (S, B) ids
    ending in </s>; an array over target words is (T, B, …).
    """

    source_embedding: Embedding
    encoder: Module
    W_s: Array  # (H_encoder, H)
    b_s: Array  # (H,)
    target_embedding: Embedding
    attention: Module
    decoder: GRU
    C: Array  # (D, 3H)
    deep_output: DeepOutput
    output: Output
    dropout: Dropout
    readout: str = "previous"

    def __post_init__(self):
        if self.readout not in ("previous", "current"):
            raise ValueError(f"readout={self.readout!r}: expected 'previous' (from s_i−1) or 'current' (from s_i)")

    @classmethod
    def create(cls, rng, source_vocabulary, target_vocabulary, embedding=620, hidden=1000, alignment=None, maxout=None,
               readout="previous", reset="before", update="new", dropout=0.0, init="paper", dtype=np.float32):
        """A new model; the defaults are the paper's.

        alignment: size of the scoring network (default `hidden`); maxout: l (default hidden / 2); init "paper":
        N(0, 0.01²), recurrent matrices orthogonal, W_a, U_a from N(0, 0.001²), v_a = 0 (appendix B.1); "modern":
        Glorot's uniform weights, embeddings N(0, 0.1²), for models too small and trainings too short for the paper's;
        a number b: all from U(−b, b). ValueError: sizes below 1, an unknown name.
        """
        at_least(1, embedding=embedding, hidden=hidden, alignment=alignment, maxout=maxout)
        scoring = (normal(0.001), normal(0.0)) if init == "paper" else (initial_values(init, PAPER)[0], None)
        attention = AdditiveAttention.create(rng, hidden, 2 * hidden, alignment or hidden, *scoring, dtype)
        return cls._around(rng, attention, 2, source_vocabulary, target_vocabulary, embedding, hidden, maxout, readout, reset,
                           update, dropout, init, dtype)

    @classmethod
    def _around(cls, rng, attention, directions, source_vocabulary, target_vocabulary, embedding, hidden, maxout, readout,
                reset, update, dropout, init, dtype):
        """A new model around this attention, its encoder reading in one or two directions."""
        weights, recurrent, table = initial_values(init, PAPER)
        annotation, maxout = directions * hidden, maxout or max(1, hidden // 2)
        gru = lambda: GRU.create(rng, embedding, hidden, reset, update, weights, recurrent, dtype)
        return cls(Embedding.create(rng, source_vocabulary, embedding, table, dtype),
                   Bidirectional(gru(), gru()) if directions == 2 else gru(),
                   weights(rng, (hidden, hidden), dtype), np.zeros(hidden, dtype),
                   Embedding.create(rng, target_vocabulary, embedding, table, dtype),
                   attention, gru(), weights(rng, (annotation, 3 * hidden), dtype),
                   DeepOutput.create(rng, hidden, embedding, annotation, maxout, weights, dtype),
                   Output.create(rng, maxout, target_vocabulary, table, dtype), Dropout(dropout), readout)

    # ---- encoder --------------------------------------------------------------------------------------------------

    def encode(self, source, mask, rng=None, rows=None):
        """source (S, B), mask (S, B) → memory of the annotations, s_0 (B, H), cache. ValueError: an empty sentence."""
        names = self._source_names(source, mask, rows)
        x, embedded = self._embed(self.source_embedding, source, rng, names)
        annotations, last, steps = self.encoder.forward(x, None, mask)
        last = last[-1] if isinstance(last, tuple) else last            # ←h_1, or →h_S of an encoder with one direction
        s_0 = np.tanh(last @ self.W_s + self.b_s)
        memory = self.attention.read(np.ascontiguousarray(annotations.transpose(1, 0, 2)), np.ascontiguousarray(mask.T))
        return memory, s_0, (embedded, steps, last, s_0, memory)

    def encode_backward(self, dmemory, ds_0, cache, grad):
        """From the memory's gradient and ∂L/∂s_0 down to the source embedding."""
        embedded, steps, last, s_0, memory = cache
        dvalues = self.attention.read_backward(memory, dmemory, grad.attention)
        # s_0 = tanh(W_s ←h_1 + b_s)
        da = ds_0 * (1 - s_0**2)
        grad.W_s += last.T @ da
        grad.b_s += da.sum(0)
        dlast = da @ self.W_s.T
        dlast = (None, dlast) if isinstance(self.encoder, Bidirectional) else dlast
        dx, _ = self.encoder.backward(np.ascontiguousarray(dvalues.transpose(1, 0, 2)), dlast, steps, grad.encoder)
        self._embed_backward(dx, self.source_embedding, embedded, grad.source_embedding)

    # ---- decoder --------------------------------------------------------------------------------------------------

    def forward(self, batch, rng=None):
        """Teacher forcing.   → t (N, l) for the N target words that are no padding, weights (T, B, S), cache."""
        memory, s_0, encoded = self.encode(batch.source, batch.source_mask, rng, batch.rows)
        T, B = batch.target_in.shape
        names = position_names(T, batch.rows)
        y, embedded = self._embed(self.target_embedding, batch.target_in, rng, names)
        steps = self.decoder.begin(self.decoder.project(y), s_0, batch.target_mask)
        contexts = np.empty((T, B, memory.values.shape[2]), y.dtype)
        weights = np.empty((T,) + memory.mask.shape, y.dtype)
        looks = []
        for i in range(T):
            contexts[i], weights[i], looked = self.attention.step(steps.hs[i], memory, i)      # hs[i] is s_{i−1}
            steps.a[i] += contexts[i] @ self.C
            self.decoder.step(i, steps)
            looks.append(looked)
        words = np.flatnonzero(batch.target_mask)
        s = steps.hs[:-1] if self.readout == "previous" else steps.hs[1:]
        t, deep = self.deep_output.forward(flat(s)[words], flat(y)[words], flat(contexts)[words])
        t, t_dropped = self.dropout.forward(t, rng, names.ravel()[words])
        return t, weights, (encoded, embedded, y, steps, contexts, looks, words, deep, t_dropped)

    def backward(self, dread_out, dweights, cache, grad):
        """From ∂L/∂t (N, l), and ∂L/∂weights (T, B, S) or None, to every parameter."""
        encoded, embedded, y, steps, contexts, looks, words, deep, t_dropped = cache
        # t_i = D(maxout(U_o s + V_o E y_{i−1} + C_o c_i + b)); s is s_{i−1} or s_i, so ds_read has T + 1 places, s_0's first
        dt = self.dropout.backward(dread_out, t_dropped)
        ds_rows, dy_rows, dc_rows = self.deep_output.backward(dt, deep, grad.deep_output)
        ds_read, dy, dcontexts = np.zeros_like(steps.hs), np.zeros_like(y), np.zeros_like(contexts)
        flat(ds_read[:-1] if self.readout == "previous" else ds_read[1:])[words] = ds_rows
        flat(dy)[words] = dy_rows
        flat(dcontexts)[words] = dc_rows
        memory = encoded[-1]
        dmemory = memory.gradient()
        dsteps = self.decoder.begin_backward(steps)
        ds = np.zeros_like(steps.hs[0])                     # ∂L/∂s_i through the steps after i, readout left out
        for i in reversed(range(len(looks))):
            # s_i = GRU(a_i; s_{i−1})
            ds = self.decoder.step_backward(i, ds_read[i + 1], ds, steps, dsteps)
            # a_i = E y_{i−1} W + b + c_i C
            dcontexts[i] += dsteps.a[i] @ self.C.T
            # c_i = Σ_j α_ij h_j,  α_i from s_{i−1}
            dquery = self.attention.step_backward(dcontexts[i], None if dweights is None else dweights[i], looks[i],
                                                  dmemory, grad.attention)
            if dquery is not None:
                ds += dquery
        ds += ds_read[0]
        # the weights, one product each for all steps: dC = Σ_i c_iᵀ da_i,  dW = Σ_i (E y_{i−1})ᵀ da_i
        da = self.decoder.end_backward(steps, dsteps, grad.decoder)
        grad.C += flat(contexts).T @ flat(da)
        dy += self.decoder.project_backward(da, y, grad.decoder)
        self._embed_backward(dy, self.target_embedding, embedded, grad.target_embedding)
        self.encode_backward(dmemory, ds, encoded, grad)

    # ---- decoding ---------------------------------------------------------------------------------------------------

    def start(self, source, mask):
        """Read the source (S, B): the state before the first target word."""
        memory, s_0, _ = self.encode(source, mask)
        return DecoderState(memory, s_0, 0)

    def next(self, tokens, state):
        """Previous words (B,) → log p of the next (B, V), weights (B, S), the state after it."""
        y, _ = self.target_embedding.forward(tokens)
        steps = self.decoder.begin(self.decoder.project(y[None]), state.s)
        context, weights, _ = self.attention.step(state.s, state.memory, state.i)
        steps.a[0] += context @ self.C
        self.decoder.step(0, steps)
        t, _ = self.deep_output.forward(state.s if self.readout == "previous" else steps.hs[1], y, context)
        return self.output.log_probabilities(t), weights, DecoderState(state.memory, steps.hs[1], state.i + 1)
