"""Sizes and initial values that cannot be are refused by every `create`, by name, at once."""

import inspect

import numpy as np
import pytest

from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.attention.combined import Combined
from numpy_attention.attention.dot import DotAttention
from numpy_attention.attention.general import GeneralAttention
from numpy_attention.attention.key_value import KeyValueReadout
from numpy_attention.attention.local import LocalPredictive
from numpy_attention.attention.location import LocationAttention
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.attention.ngram import NGramReadout
from numpy_attention.attention.single import Single
from numpy_attention.cells.gru import GRU
from numpy_attention.cells.lstm import LSTM
from numpy_attention.cells.rnn import RNN
from numpy_attention.initializers import normal, uniform
from numpy_attention.layers.deep_output import DeepOutput
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.feed_forward import FeedForward
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.linear import Linear
from numpy_attention.layers.output import Output
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.budget import within_budget
from numpy_attention.models.encoder_decoder import EncoderDecoder
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.models.transformer import Transformer

# of each `create`, sizes that can be
SIZES = {
    RNN: dict(inputs=3, hidden=4),
    GRU: dict(inputs=3, hidden=4),
    LSTM: dict(inputs=3, hidden=4),
    Linear: dict(inputs=3, outputs=4),
    Embedding: dict(vocabulary=9, size=4),
    Output: dict(size=4, vocabulary=9),
    LayerNorm: dict(size=4),
    FeedForward: dict(size=4, inner=5),
    DeepOutput: dict(hidden=4, embedding=3, context=5, size=2),
    AdditiveAttention: dict(query_size=3, value_size=4, size=5),
    GeneralAttention: dict(query_size=3, value_size=4),
    LocationAttention: dict(query_size=3, longest=9),
    LocalPredictive: dict(query_size=3, size=4, width=2),
    MultiHeadAttention: dict(query_size=4, value_size=3, size=6, outputs=5, heads=2),
    Combined: dict(query_size=4, key_size=3, size=5),
    Single: dict(key_size=3, size=5),
    KeyValueReadout: dict(hidden=4, outputs=3, window=2),
    NGramReadout: dict(hidden=6, outputs=3, order=4),
    LanguageModel: dict(vocabulary=9, hidden=4, layers=2, embedding=3),
    AttentiveLanguageModel: dict(vocabulary=9, hidden=4, layers=2, embedding=3, window=2),
    RNNSearch: dict(embedding=3, hidden=4, alignment=5, maxout=2),
    EncoderDecoder: dict(embedding=3, hidden=4, maxout=2),
    LuongTranslator: dict(embedding=3, hidden=4, layers=2, alignment=5),
    Transformer: dict(size=4, layers=2, heads=2, inner=5),
}
# and what it takes besides
OTHERS = {
    LocalPredictive: dict(attention=DotAttention()),
    Single: dict(query_size=4),
    RNNSearch: dict(source_vocabulary=9, target_vocabulary=9),
    EncoderDecoder: dict(source_vocabulary=9, target_vocabulary=9),
    LuongTranslator: dict(source_vocabulary=9, target_vocabulary=9),
    Transformer: dict(source_vocabulary=9, target_vocabulary=9),
}


def create(kind, **sizes):
    arguments = SIZES[kind] | OTHERS.get(kind, {}) | sizes
    if "rng" in inspect.signature(kind.create).parameters:
        arguments["rng"] = np.random.default_rng(0)
    return kind.create(**arguments)


@pytest.mark.parametrize("kind, name", [(kind, name) for kind in SIZES for name in SIZES[kind]])
def test_a_size_that_cannot_be_is_refused_by_name(kind, name):
    assert create(kind).size
    for size in (0, -1, 1.5, float("nan")):
        message = rf"^{name} = {size}: expected a whole number of at least [12]$"
        with pytest.raises(ValueError, match=message):
            create(kind, **{name: size})


def test_one_of_everything_can_be():
    for kind in (RNNSearch, EncoderDecoder):
        assert create(kind, embedding=1, hidden=1, maxout=None).output.words.E.shape == (9, 1)
    assert create(LuongTranslator, embedding=1, hidden=1, layers=1, alignment=None).size
    assert create(LanguageModel, hidden=1, layers=1, embedding=None).size


@pytest.mark.parametrize("order", [1, 0, -2])
def test_an_ngram_of_less_than_two(order):
    message = f"order = {order}: expected a whole number of at least 2"
    with pytest.raises(ValueError, match=message):
        create(AttentiveLanguageModel, attention="ngram", window=None, order=order)
    with pytest.raises(ValueError, match=message):
        within_budget(5000, 9, "ngram", order=order)


def test_more_roles_than_numbers_in_a_state():
    with pytest.raises(ValueError, match="hidden = 2: expected a whole number of at least 3"):
        create(AttentiveLanguageModel, attention="key-value-predict", hidden=2)
    with pytest.raises(ValueError, match="carried = -1: expected a whole number of at least 0"):
        create(AttentiveLanguageModel, carried=-1)


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -0.1])
def test_initial_values_that_cannot_be(bad):
    for call in (
        lambda: uniform(bad),
        lambda: normal(bad),
        lambda: create(LanguageModel, init=bad),
        lambda: create(AttentiveLanguageModel, init=bad),
        lambda: create(LuongTranslator, init=bad),
    ):
        with pytest.raises(ValueError, match=f"= {bad}: expected a finite number of at least 0"):
            call()
    assert not uniform(0)(np.random.default_rng(0), (2, 3)).any()
