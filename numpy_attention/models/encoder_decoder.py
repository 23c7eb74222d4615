"""The RNN Encoder–Decoder: one fixed vector carries the whole sentence (Cho et al. 2014; Sutskever et al. 2014)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.fixed import FixedVector
from numpy_attention.cells.gru import GRU
from numpy_attention.initializers import orthogonal
from numpy_attention.layers.deep_output import DeepOutput
from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.output import Output
from numpy_attention.models.rnnsearch import RNNSearch, initial
from numpy_attention.shapes import at_least


@dataclass(eq=False)
class EncoderDecoder(RNNSearch):
    """RNNenc, the baseline of Bahdanau et al. 2015: RNNsearch whose context is the same for every target word.

        c_i = →h_S,  s_0 = tanh(W_s →h_S + b_s)

    The encoder is one GRU from left to right; decoder, deep output, training and decoding are RNNSearch's own, so that
    a comparison changes the context and the encoder's directions alone. Reversing the source (Sutskever et al. 2014) is
    an option of the batches.
    """

    @classmethod
    def create(cls, rng, source_vocabulary, target_vocabulary, embedding=620, hidden=1000, maxout=None,
               readout="previous", reset="before", update="new", dropout=0.0, init="paper", dtype=np.float32):
        """A new model; arguments and errors as RNNSearch.create has them, without an alignment size."""
        at_least(1, embedding=embedding, hidden=hidden, maxout=maxout)
        maxout = maxout or max(1, hidden // 2)
        weights, table, _ = initial(init)
        cell = dict(reset=reset, update=update, init=weights, recurrent=orthogonal, dtype=dtype)
        return cls(Embedding.create(rng, source_vocabulary, embedding, table, dtype),
                   GRU.create(rng, embedding, hidden, **cell),
                   weights(rng, (hidden, hidden), dtype), np.zeros(hidden, dtype),
                   Embedding.create(rng, target_vocabulary, embedding, table, dtype),
                   FixedVector(), GRU.create(rng, embedding, hidden, **cell), weights(rng, (hidden, 3 * hidden), dtype),
                   DeepOutput.create(rng, hidden, embedding, hidden, maxout, weights, dtype),
                   Output.create(rng, maxout, target_vocabulary, table, dtype), Dropout(dropout), readout)
