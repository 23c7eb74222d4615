"""Language models that attend to their own history (Salton et al. 2017; Daniluk et al. 2017)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.key_value import UNLIMITED, KeyValueReader
from numpy_attention.attention.ngram import NGramReader
from numpy_attention.data.vocabulary import PAD
from numpy_attention.initializers import uniform
from numpy_attention.layers.dropout import Dropout, position_names
from numpy_attention.layers.output import Output
from numpy_attention.models.language_model import LanguageModel, words_and_cells
from numpy_attention.module import Module
from numpy_attention.shapes import at_least

# who reads the history: roles of a state, score, bias; the papers' own forms
READERS = {"single": dict(roles=1, score="single", bias=True), "combined": dict(roles=1, score="combined", bias=True),
           "attention": dict(roles=1), "key-value": dict(roles=2), "key-value-predict": dict(roles=3)}
ATTENTION = (*READERS, "ngram")


def roles_of(attention, order=4):
    """Into how many parts a model's states are divided: its hidden size is a multiple of it."""
    if attention not in ATTENTION:
        raise ValueError(f"attention {attention!r}: expected one of {', '.join(ATTENTION)}")
    if attention != "ngram":
        return READERS[attention]["roles"]
    at_least(2, order=order)
    return order - 1


@dataclass(eq=False)
class AttentiveLanguageModel(LanguageModel):
    """p(w_{t+1} | w_1 … w_t) = softmax(E' D(y_t) + b),  y_t = reader(h_t, the states before h_t).

    h_t comes from stacked cells, as in LanguageModel; what attention finds does not feed back into them. Dropout D stands
    on the embedding, between the cells and after the reader (Salton et al. 2017, section 3). The state to carry on is
    the pair (states of the cells, memory of the reader, or None where the memory does not leave the batch).
    """

    reader: Module

    @classmethod
    def create(cls, rng, vocabulary, attention="combined", hidden=200, layers=2, cell="lstm", embedding=None, tied=True,
               dropout=0.0, init=0.1, forget_bias=1.0, window=None, carried=0, order=4, dtype=np.float32):
        """A new model.

        attention: "single" or "combined" (Salton), "attention", "key-value", "key-value-predict" or "ngram" (Daniluk).
        hidden: of the cells, all parts together; the reader's output has the size of the embedding where tied, else of
        one part. window: how far back the reader may look; carried: states it remembers from the batch before (of an
        N-gram model any number but 0 means order − 2); order: N of the N-gram model. ValueError: an unknown name, sizes that
        do not fit.
        """
        parts = roles_of(attention, order)
        at_least(parts, hidden=hidden)
        at_least(1, layers=layers, embedding=embedding)
        at_least(0, carried=carried)
        size = hidden // parts
        embedding, bound = embedding or size, uniform(init)
        words, cells = words_and_cells(rng, vocabulary, hidden, layers, cell, embedding, dropout, init, forget_bias, dtype)
        outputs = embedding if tied else size
        if attention == "ngram":
            if window is not None:
                raise ValueError(f"window = {window}: an N-gram model looks back order − 1 = {order - 1} states, set order")
            reader = NGramReader.create(rng, hidden, outputs, order, bool(carried), bound, dtype)
        else:
            reader = KeyValueReader.create(rng, hidden, outputs, window=window, carried=carried, init=bound, dtype=dtype,
                                           **READERS[attention])
        return cls(words, cells, Output.create(rng, outputs, vocabulary, bound, dtype, words if tied else None),
                   Dropout(dropout), reader)

    def forward(self, batch, state=None, rng=None):
        """→ y (T, B, K) after dropout, the state to carry on, cache."""
        states, memory = state or (None, None)
        h, states, cache = self.read(batch, states, rng)
        y, memory, _, read = self.reader.forward(h, batch.inputs != PAD, memory)
        y, dropped = self.dropout.forward(y, rng, position_names(len(y), batch.rows))
        return y, (states, memory), (cache, read, dropped)

    def backward(self, dy, dstate, cache, grad):
        """From ∂L/∂y and ∂L/∂(the cells' carried states) or None; → ∂L/∂(the cells' initial states)."""
        cache, read, dropped = cache
        dh = self.reader.backward(self.dropout.backward(dy, dropped), None, read, grad.reader)
        return self.read_backward(dh, dstate, cache, grad)

    def weights(self, batch, state=None):
        """α (T, B, M + T) over M carried states and the batch's own, and the state to carry on; None for an N-gram."""
        states, memory = state or (None, None)
        h, states, _ = self.read(batch, states)
        _, memory, weights, _ = self.reader.forward(h, batch.inputs != PAD, memory)
        return weights, (states, memory)

    def next(self, tokens, state=None):
        """Previous tokens (B,) → log p of the next (B, V), α (B, M) over the states remembered, oldest first, state.

        While a text is written word by word the memory holds as many states as the reader may look back to, 64 where
        it has no window.
        """
        states, memory = state or (None, None)
        x, _ = self.embedding.forward(tokens[None])
        h, states, _ = self.cells.forward(x, states)
        reader = self.reader
        # as many as the reader may look back to; of an N-gram's reader any number but 0 keeps its order − 2
        keep = max(int(reader.carried), getattr(reader, "window", None) or UNLIMITED)
        y, memory, weights, _ = reader.forward(h, np.ones((1, len(tokens)), bool), memory, keep)
        looked = None if weights is None else weights[0, :, :-1]
        return self.output.log_probabilities(y[0]), looked, (states, memory)
