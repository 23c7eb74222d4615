"""Language models that attend to their own past (Salton et al. 2017; Daniluk et al. 2017)."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from numpy_attention.attention.readout_config import ReadoutConfig
from numpy_attention.data.vocabulary import PAD
from numpy_attention.initializers import uniform
from numpy_attention.layers.dropout import Dropout, position_ids
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.output import Output
from numpy_attention.models.language_model import LanguageModel, ReadCache, stack_of
from numpy_attention.models.registry import check_settings
from numpy_attention.module import Module
from numpy_attention.validation.arguments import check_flags, check_number
from numpy_attention.validation.arrays import at_least, check_integers, check_sizes
from numpy_attention.validation.messages import typed_repr


class Cache(NamedTuple):
    read: ReadCache     # from the words to the states
    reader: object      # from the states to what the output layer reads
    dropped: object


@dataclass(eq=False)
class AttentiveLanguageModel(LanguageModel):
    """Language model with attention over its own past states.

        p(w_{t+1} | w_1 … w_t) = softmax(E' D(y_t) + b),  y_t = reader(h_t, the states before h_t)

    h_t comes from stacked cells, as in LanguageModel. The result of attention is not an input of
    the cells. `reader` is a HistoryReadout. Dropout D applies to the embedding, between the cells
    and after the readout (Salton et al. 2017, section 3). The state is a pair: the states of the
    cells, and the memory of the readout. The memory is None if no past states are kept.
    """

    reader: Module

    config_class = ReadoutConfig

    @classmethod
    def create(cls, rng, vocabulary, attention="combined", hidden=200, layers=2, cell="lstm",
               embedding=None, tied=True, dropout=0.0, init=0.1, forget_bias=1.0, dtype=np.float32,
               **reading):
        """Build a new model. For arguments not listed here, see LanguageModel.create.

        attention: a name of `registry.HISTORY_READOUTS`, or a subclass of HistoryAttention
        reading: window, carried, order and the other settings of `ReadoutConfig`
        hidden: the size of a state, which the readout divides into parts such as key and value
        embedding: the size of a word vector, by default the size of a part
        tied: whether input and output use one table. If so, the output of the readout has the size
            of the embedding, otherwise the size of a part

        Raises ValueError for an unknown name or setting, or if hidden cannot be split evenly.
        """
        check_settings(cls, reading)
        choice = ReadoutConfig(attention, **reading)
        check_sizes(choice.parts, hidden=hidden)
        check_sizes(vocabulary=vocabulary, layers=layers)
        at_least(1, embedding=embedding)
        check_flags(tied=tied)
        check_number("forget_bias", forget_bias)
        size = hidden // choice.parts
        embedding = embedding or size
        outputs = embedding if tied else size
        initial = uniform(init)
        sizes = [embedding] + [hidden] * layers
        cells = stack_of(cell, rng, sizes, dropout, initial, forget_bias, dtype)
        words = Embedding.create(rng, vocabulary, embedding, initial, dtype)
        reader = choice.create(rng, hidden, outputs, initial, dtype)
        output = Output.create(rng, outputs, vocabulary, initial, dtype, words if tied else None)
        return cls(words, cells, output, Dropout(dropout), reader)

    def forward(self, batch, state=None, rng=None):
        """Compute the input of the output layer → y (T, B, K), the state to carry, cache."""
        states, memory = both(state)
        h, states, read = self.read(batch, states, rng)
        y, memory, _, reader = self.reader.forward(h, batch.inputs != PAD, memory)      # (T, B, K)
        y, dropped = self.dropout.forward(y, rng, position_ids(len(y), batch.rows))
        return y, (states, memory), Cache(read, reader, dropped)

    def backward(self, dy, dstate, cache, grads):
        """Backpropagate to all parameters; return the gradient of the cells' initial states.

        dy (T, B, K): the gradient of y. dstate: the gradient of the cells' carried states, or None.
        """
        dy = self.dropout.backward(dy, cache.dropped)
        dh = self.reader.backward(dy, None, cache.reader, grads.reader)                  # (T, B, H)
        return self.read_backward(dh, dstate, cache.read, grads)

    def weights(self, batch, state=None):
        """Return the attention weights, and the state to carry.   → weights (T, B, M + T), state.

        The first M weights are for states kept from earlier batches, and the last T for the states
        of this batch. An N-gram model has no weights and returns None for them.
        """
        states, memory = both(state)
        h, states, _ = self.read(batch, states)
        _, memory, weights, _ = self.reader.forward(h, batch.inputs != PAD, memory)
        return weights, (states, memory)

    def next(self, tokens, state=None):
        """Predict the next word: tokens (B,) → log p (B, V), weights (B, M), state.

        The weights are over the states in memory, oldest first; M is at most `reader.reach`. In an
        N-gram model they are None.
        """
        check_integers("tokens", tokens, (None,), "(B,)")
        states, memory = both(state)
        x, _ = self.embedding.forward(tokens[None])                                     # (1, B, E)
        h, states, _ = self.cells.forward(x, states)                                    # (1, B, H)
        known = np.ones((1, len(tokens)), bool)
        y, memory, weights, _ = self.reader.forward(h, known, memory, self.reader.reach)
        attended = None if weights is None else weights[0, :, :-1]
        return self.output.log_probabilities(y[0]), attended, (states, memory)


def both(state):
    """Return a state as the pair (states of the cells, memory of the readout).

    If the state is None, both items are None. Raises TypeError for anything except None or a pair.
    """
    if state is None:
        return None, None
    if not isinstance(state, tuple) or len(state) != 2:
        raise TypeError(f"state is {typed_repr(state)}; expected None, or a state that this model "
                        "returned: the states of its cells and the memory of its readout")
    return state
