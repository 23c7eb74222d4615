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
from numpy_attention.shapes import flat

CELLS = {"rnn": RNN, "lstm": LSTM, "gru": GRU}


@dataclass(eq=False)
class LanguageModel(Module):
    """p(w_{t+1} | w_1 … w_t) = softmax(E' D(h_t) + b),  h_t from stacked cells that read D(E w_t).

    D is dropout, on the non-recurrent connections only (Zaremba et al. 2014, section 3.1). Tied weights share the
    Embedding between input and output (Press & Wolf 2017). The state is carried where the text goes on.
    """

    embedding: Embedding
    cells: Stacked
    output: Output
    dropout: Dropout

    @classmethod
    def create(cls, rng, vocabulary, hidden=200, layers=2, cell="lstm", embedding=None, tied=False, dropout=0.0,
               init=0.1, dtype=np.float32):
        """A new model; init: every weight from U(−init, init), as Zaremba has it. ValueError: an unknown cell."""
        if cell not in CELLS:
            raise ValueError(f"cell {cell!r}: expected one of {', '.join(CELLS)}")
        embedding, bound = embedding or hidden, uniform(init)
        sizes = [embedding] + [hidden] * layers
        options = {"forget_bias": 0.0} if cell == "lstm" else {}
        cells = [CELLS[cell].create(rng, below, above, init=bound, recurrent=bound, dtype=dtype, **options)
                 for below, above in zip(sizes, sizes[1:])]
        words = Embedding.create(rng, vocabulary, embedding, bound, dtype)
        return cls(words, Stacked(cells, Dropout(dropout)),
                   Output.create(rng, hidden, vocabulary, bound, dtype, words if tied else None), Dropout(dropout))

    def forward(self, batch, state=None, rng=None):
        """→ h (T, B, H) of the top layer after dropout, the state to carry on, cache."""
        names = position_names(len(batch.inputs), batch.rows)
        x, ids = self.embedding.forward(batch.inputs)
        x, x_dropped = self.dropout.forward(x, rng, names)
        h, state, steps = self.cells.forward(x, state, batch.inputs != PAD, rng, names)
        h, h_dropped = self.dropout.forward(h, rng, names)
        return h, state, (ids, x_dropped, steps, h_dropped)

    def backward(self, dh, dstate, cache, grad):
        """From ∂L/∂h (T, B, H), and ∂L/∂(carried state) or None, to every parameter; → ∂L/∂(initial state)."""
        ids, x_dropped, steps, h_dropped = cache
        dx, dstate = self.cells.backward(self.dropout.backward(dh, h_dropped), dstate, steps, grad.cells)
        self.embedding.backward(self.dropout.backward(dx, x_dropped), ids, grad.embedding)
        return dstate

    def loss_and_grad(self, batch, state, scale, grad, rng=None):
        """Σ −log p of the batch's targets, and the state to carry on; the gradient stops at the batch's first step."""
        h, state, cache = self.forward(batch, state, rng)
        words = np.flatnonzero(batch.targets != PAD)
        loss, dwords = self.output.loss_and_grad(flat(h)[words], batch.targets.ravel()[words], scale, grad.output)
        dh = np.zeros_like(h)
        flat(dh)[words] = dwords
        self.backward(dh, None, cache, grad)
        return loss, state

    def loss(self, batch, state=None):
        """Σ −log p without dropout, and the state to carry on."""
        h, state, _ = self.forward(batch, state)
        words = np.flatnonzero(batch.targets != PAD)
        return float(self.output.loss(flat(h)[words], batch.targets.ravel()[words])), state

    def next(self, tokens, state=None):
        """Previous tokens (B,) → log p of the next (B, V), the state after it."""
        x, _ = self.embedding.forward(tokens[None])
        h, state, _ = self.cells.forward(x, state)
        return self.output.log_probabilities(h[0]), state
