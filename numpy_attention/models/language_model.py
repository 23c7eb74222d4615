"""A recurrent language model (Mikolov et al. 2010; Zaremba, Sutskever & Vinyals 2014)."""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from numpy_attention.cells.stacked import Stacked
from numpy_attention.data.vocabulary import PAD
from numpy_attention.initializers import uniform
from numpy_attention.layers.dropout import Dropout, position_ids
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.output import Output
from numpy_attention.models.teacher_forced import TEXT, check_batch, check_step
from numpy_attention.module import Array, Module
from numpy_attention.registry import CELLS, build, resolve
from numpy_attention.validation.arguments import check_flags, check_number
from numpy_attention.validation.arrays import (
    as_rows,
    at_least,
    check_integers,
    check_shape,
    check_sizes,
)


class ReadCache(NamedTuple):
    """The cache of `LanguageModel.read`, from the words to the states of the top layer."""

    ids: Array          # (T, B)
    dropped: object
    cells: object       # the stack's cache


class Cache(NamedTuple):
    read: ReadCache
    dropped: object


@dataclass(eq=False)
class LanguageModel(Module):
    """Recurrent language model with stacked cells (Zaremba et al. 2014).

        p(w_{t+1} | w_1 … w_t) = softmax(E' D(h_t) + b),  h_t from stacked cells that read D(E w_t)

    D is dropout on the non-recurrent connections only (Zaremba et al. 2014, section 3.2). E' is the
    table of the output layer; with tied weights, it is E itself (Press & Wolf 2017). The state is
    carried to the next batch if that batch continues the text.
    """

    embedding: Embedding
    cells: Stacked
    output: Output
    dropout: Dropout

    # the configuration class whose settings `create` accepts besides its own arguments
    config_class: ClassVar[type | None] = None

    @classmethod
    def create(cls, rng, vocabulary, hidden=200, layers=2, cell="lstm", embedding=None, tied=False,
               dropout=0.0, init=0.1, forget_bias=0.0, dtype=np.float32):
        """Build a new model.

        vocabulary: the number of ids
        hidden, layers: the size of a state, and the number of layers of cells
        cell: a name of `registry.CELLS`
        embedding: the size of a word vector, by default hidden
        tied: whether input and output use one table, which requires embedding = hidden
        dropout: the dropout rate of D in the equations of the class
        init: every weight is from U(−init, init)
        forget_bias: the forget bias of an LSTM; it is 0 in Zaremba et al.

        Raises ValueError for an unknown cell, a size below 1, or if tied and embedding ≠ hidden.
        """
        check_sizes(vocabulary=vocabulary, hidden=hidden, layers=layers)
        at_least(1, embedding=embedding)
        check_flags(tied=tied)
        check_number("forget_bias", forget_bias)
        initial = uniform(init)
        sizes = [embedding or hidden] + [hidden] * layers
        cells = stack_of(cell, rng, sizes, dropout, initial, forget_bias, dtype)
        words = Embedding.create(rng, vocabulary, sizes[0], initial, dtype)
        output = Output.create(rng, hidden, vocabulary, initial, dtype, words if tied else None)
        return cls(words, cells, output, Dropout(dropout))

    # ---- from words to the states of the top layer, and back ---------------------------------

    def read(self, batch, state=None, rng=None):
        """Run the cells on a batch → h (T, B, H) of the top layer, the state to carry, cache."""
        check_batch(batch, TEXT)
        check_shape("targets", batch.targets, batch.inputs.shape, "(T, B)",
                    "pass a target for each input")
        row_ids = position_ids(len(batch.inputs), batch.rows)
        x, ids = self.embedding.forward(batch.inputs)                           # (T, B, E)
        x, dropped = self.dropout.forward(x, rng, row_ids)
        h, state, cells = self.cells.forward(x, state, batch.inputs != PAD, rng, row_ids)
        return h, state, ReadCache(ids, dropped, cells)

    def read_backward(self, dh, dstate, cache, grads):
        """Backpropagate to the cells and the embeddings; return the gradient of the initial state.

        dh (T, B, H) is the gradient of h. dstate is the gradient of the carried state, or None.
        """
        dx, dstate = self.cells.backward(dh, dstate, cache.cells, grads.cells)
        self.embedding.backward(self.dropout.backward(dx, cache.dropped), cache.ids,
                                grads.embedding)
        return dstate

    def forward(self, batch, state=None, rng=None):
        """Compute the input of the output layer → h (T, B, H), the state to carry, cache."""
        h, state, read = self.read(batch, state, rng)
        h, dropped = self.dropout.forward(h, rng, position_ids(len(h), batch.rows))
        return h, state, Cache(read, dropped)

    def backward(self, dh, dstate, cache, grads):
        """Backpropagate to all parameters; return the gradient of the initial state.

        dh (T, B, H): the gradient of h. dstate: the gradient of the carried state, or None.
        """
        dh = self.dropout.backward(dh, cache.dropped)
        return self.read_backward(dh, dstate, cache.read, grads)

    # ---- training ----------------------------------------------------------------------------

    def loss_and_grad(self, batch, state, scale, grads, rng=None):
        """Return Σ −log p of the batch's targets, and the state to carry.

        Adds ∂(scale · loss)/∂parameters to grads. No gradient reaches earlier batches.
        """
        check_step(self, scale, grads, rng)
        h, state, cache = self.forward(batch, state, rng)
        loss, dh = self.predict_and_grad(h, batch.targets, scale, grads)
        self.backward(dh, None, cache, grads)
        return loss, state

    def predict_and_grad(self, h, targets, scale, grads):
        """Return Σ −log p, and dh = ∂(scale · loss)/∂h.   h (T, B, H), targets (T, B).

        h comes from `forward`. Adds the gradients of the output layer to grads.
        """
        words = np.flatnonzero(targets != PAD)
        loss, dread_out = self.output.loss_and_grad(as_rows(h)[words], targets.ravel()[words],
                                                    scale, grads.output)
        dh = np.zeros(h.shape, h.dtype)         # in C order, so that as_rows does not copy
        as_rows(dh)[words] = dread_out
        return loss, dh

    def loss(self, batch, state=None):
        """Return Σ −log p without dropout, and the state to carry."""
        h, state, _ = self.forward(batch, state)
        words = np.flatnonzero(batch.targets != PAD)
        return float(self.output.loss(as_rows(h)[words], batch.targets.ravel()[words])), state

    def losses(self, batch, state=None):
        """Return −log p of each target without dropout, and the state.   → losses (T, B), state.

        The losses are float64, and 0 at padding.
        """
        h, state, _ = self.forward(batch, state)
        words = np.flatnonzero(batch.targets != PAD)
        found = np.zeros(batch.targets.shape)
        found.flat[words] = self.output.losses(as_rows(h)[words], batch.targets.ravel()[words])
        return found, state

    # ---- use ---------------------------------------------------------------------------------

    def next(self, tokens, state=None):
        """Predict the next word: tokens (B,) → log p (B, V), None (no attention weights), state."""
        check_integers("tokens", tokens, (None,), "(B,)")
        x, _ = self.embedding.forward(tokens[None])                             # (1, B, E)
        h, state, _ = self.cells.forward(x, state)                              # (1, B, H)
        return self.output.log_probabilities(h[0]), None, state


def stack_of(cell, rng, sizes, dropout, init, forget_bias, dtype):
    """Build stacked cells.

    cell: a name of `registry.CELLS`. sizes: first the size of a word vector, then the state size of
    each layer. dropout: the rate between layers. init: the initializer of all weights. forget_bias:
    the forget bias of an LSTM.
    """
    kind = resolve("cell", cell, CELLS)

    def make(below, above):
        return build(kind, rng, inputs=below, hidden=above, init=init, recurrent=init,
                     forget_bias=forget_bias, dtype=dtype)

    return Stacked.create(make, sizes, dropout)
