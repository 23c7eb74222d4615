"""A recurrent language model (Mikolov et al. 2010; Zaremba, Sutskever & Vinyals 2014)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.cells.gru import GRU
from numpy_attention.cells.lstm import LSTM
from numpy_attention.cells.rnn import RNN
from numpy_attention.cells.stacked import Stacked
from numpy_attention.data.vocabulary import PAD
from numpy_attention.initializers import uniform
from numpy_attention.layers.dropout import Dropout, position_names
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.output import Output
from numpy_attention.module import Module
from numpy_attention.shapes import at_least, flat

CELLS = {"rnn": RNN, "lstm": LSTM, "gru": GRU}


@dataclass(eq=False)
class LanguageModel(Module):
    """p(w_{t+1} | w_1 … w_t) = softmax(E' D(h_t) + b),  h_t from stacked cells that read D(E w_t).

    D is dropout, on the non-recurrent connections only (Zaremba et al. 2014, section 3.2). Tied weights share the
    Embedding between input and output (Press & Wolf 2017). The state is carried where the text goes on.
    """

    embedding: Embedding
    cells: Stacked
    output: Output
    dropout: Dropout

    @classmethod
    def create(cls, rng, vocabulary, hidden=200, layers=2, cell="lstm", embedding=None, tied=False, dropout=0.0,
               init=0.1, forget_bias=0.0, dtype=np.float32):
        """A new model.

        hidden, embedding (default `hidden`): sizes; layers of "rnn", "lstm" or "gru" cells; tied: one table for input and
        output, which makes embedding = hidden; init: every weight from U(−init, init); forget_bias: an LSTM's, 0 as Zaremba
        et al. have it. ValueError: an unknown cell, sizes below 1 or that do not fit.
        """
        at_least(1, hidden=hidden, layers=layers, embedding=embedding)
        embedding = embedding or hidden
        words, cells = words_and_cells(rng, vocabulary, hidden, layers, cell, embedding, dropout, init, forget_bias, dtype)
        return cls(words, cells, Output.create(rng, hidden, vocabulary, uniform(init), dtype, words if tied else None),
                   Dropout(dropout))

    # ---- from words to the states of the top layer, and back ------------------------------------------------------

    def read(self, batch, state=None, rng=None):
        """→ h (T, B, H) of the top layer, the cells' states to carry on, cache."""
        names = position_names(len(batch.inputs), batch.rows)
        x, ids = self.embedding.forward(batch.inputs)
        x, dropped = self.dropout.forward(x, rng, names)
        h, state, steps = self.cells.forward(x, state, batch.inputs != PAD, rng, names)
        return h, state, (ids, dropped, steps)

    def read_backward(self, dh, dstate, cache, grad):
        """From ∂L/∂h (T, B, H), and ∂L/∂(carried state) or None, to the words; → ∂L/∂(initial state)."""
        ids, dropped, steps = cache
        dx, dstate = self.cells.backward(dh, dstate, steps, grad.cells)
        self.embedding.backward(self.dropout.backward(dx, dropped), ids, grad.embedding)
        return dstate

    def forward(self, batch, state=None, rng=None):
        """→ what the output layer reads (T, B, H), the state to carry on, cache."""
        h, state, cache = self.read(batch, state, rng)
        h, dropped = self.dropout.forward(h, rng, position_names(len(h), batch.rows))
        return h, state, (cache, dropped)

    def backward(self, dh, dstate, cache, grad):
        """From ∂L/∂(what the output layer reads), and ∂L/∂(carried state) or None; → ∂L/∂(initial state)."""
        cache, dropped = cache
        return self.read_backward(self.dropout.backward(dh, dropped), dstate, cache, grad)

    # ---- training ---------------------------------------------------------------------------------------------------

    def loss_and_grad(self, batch, state, scale, grad, rng=None):
        """Σ −log p of the batch's targets, and the state to carry on; grad += ∂(scale · loss)/∂parameters, which stops at the
        batch's first step."""
        h, state, cache = self.forward(batch, state, rng)
        words = np.flatnonzero(batch.targets != PAD)
        loss, dread_out = self.output.loss_and_grad(flat(h)[words], batch.targets.ravel()[words], scale, grad.output)
        dh = np.zeros(h.shape, h.dtype)                 # in C's order, whatever h's is: flat must not copy
        flat(dh)[words] = dread_out
        self.backward(dh, None, cache, grad)
        return loss, state

    def loss(self, batch, state=None):
        """Σ −log p without dropout, and the state to carry on."""
        h, state, _ = self.forward(batch, state)
        words = np.flatnonzero(batch.targets != PAD)
        return float(self.output.loss(flat(h)[words], batch.targets.ravel()[words])), state

    # ---- use --------------------------------------------------------------------------------------------------------

    def next(self, tokens, state=None):
        """Previous tokens (B,) → log p of the next (B, V), what was looked at (nothing: None), the state after it."""
        x, _ = self.embedding.forward(tokens[None])
        h, state, _ = self.cells.forward(x, state)
        return self.output.log_probabilities(h[0]), None, state


def words_and_cells(rng, vocabulary, hidden, layers, cell, embedding, dropout, init, forget_bias, dtype):
    """The Embedding and the Stacked cells that every language model begins with."""
    if cell not in CELLS:
        raise ValueError(f"cell {cell!r}: expected one of {', '.join(CELLS)}")
    bound, sizes = uniform(init), [embedding] + [hidden] * layers
    options = {"forget_bias": forget_bias} if cell == "lstm" else {}
    cells = [CELLS[cell].create(rng, below, above, init=bound, recurrent=bound, dtype=dtype, **options)
             for below, above in zip(sizes, sizes[1:])]
    return Embedding.create(rng, vocabulary, embedding, bound, dtype), Stacked(cells, Dropout(dropout))
