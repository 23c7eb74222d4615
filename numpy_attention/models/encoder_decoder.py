"""The RNN Encoder–Decoder: one fixed vector carries the whole sentence (Cho et al. 2014)."""

from dataclasses import dataclass

from numpy_attention.attention.fixed import FixedVector
from numpy_attention.models.rnnsearch import RNNSearch


@dataclass(eq=False)
class EncoderDecoder(RNNSearch):
    """RNNenc, the baseline of Bahdanau et al. 2015: RNNsearch with one context for all words.

        c_i = →h_S,  s_0 = tanh(W_s →h_S + b_s)

    The encoder is one GRU from left to right; decoder, deep output, training and decoding are
    RNNSearch's own, so that a comparison changes the context and the encoder's directions alone.
    Reversing the source (Sutskever et al. 2014) is an option of the batches.
    """

    @classmethod
    def create(cls, rng, source_vocabulary, target_vocabulary, bidirectional=False, **settings):
        """A new model; settings and errors as RNNSearch.create has them, without an attention."""
        return super().create(rng, source_vocabulary, target_vocabulary, attention=FixedVector(),
                              bidirectional=bidirectional, **settings)
