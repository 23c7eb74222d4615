"""The RNN Encoder–Decoder: one fixed vector carries the whole sentence (Cho et al. 2014)."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.attention.fixed import FixedVector
from numpy_attention.models.rnnsearch import RNNSearch


@dataclass(eq=False)
class EncoderDecoder(RNNSearch):
    """RNNenc, the baseline of Bahdanau et al. 2015: RNNsearch with one context for all words.

        c_i = →h_S,  s_0 = tanh(W_s →h_S + b_s)

    By default, the encoder is one GRU from left to right. Decoder, deep output, training and search
    are those of RNNSearch, so the models differ only in the context and the encoder's directions.
    The option `reverse_source` of the batches reverses sources (Sutskever et al. 2014).
    """

    config_class = None

    @classmethod
    def create(cls, rng, source_vocabulary, target_vocabulary, embedding=620, hidden=1000, *,
               layers=1, bidirectional=False, maxout=None, readout="previous", reset="before",
               update="new", dropout=0.0, init="paper", dtype=np.float32):
        """Build a new model. RNNSearch.create documents the arguments and the errors."""
        return super().create(
            rng, source_vocabulary, target_vocabulary, embedding, hidden, layers=layers,
            bidirectional=bidirectional, maxout=maxout, readout=readout, reset=reset, update=update,
            dropout=dropout, init=init, dtype=dtype, attention=FixedVector())
