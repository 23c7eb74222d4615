"""The RNN Encoder–Decoder: one fixed vector carries the whole sentence (Cho et al. 2014; Sutskever et al. 2014)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.fixed import FixedVector
from numpy_attention.models.rnnsearch import RNNSearch
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
        return cls._around(rng, FixedVector(), 1, source_vocabulary, target_vocabulary, embedding, hidden, maxout, readout,
                           reset, update, dropout, init, dtype)
