"""Gradient checks of whole models: forward and backward, and loss_and_grad as training calls it."""

from dataclasses import replace
from functools import partial

import numpy as np

from numpy_attention.cells.lstm import LSTM
from numpy_attention.cells.rnn import RNN
from numpy_attention.data.batching import TextBatch, pair_batch
from numpy_attention.data.vocabulary import PAD
from numpy_attention.gradcheck import randomize
from numpy_attention.gradcheck.cases.case import SEED, B, Case, V, array, check_same_loss
from numpy_attention.layers.output import Output
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.encoder_decoder import EncoderDecoder
from numpy_attention.models.hard_rnnsearch import HardRNNSearch
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.models.transformer import Transformer
from numpy_attention.registry import HISTORY_READOUTS

PAIRS = pair_batch([[4, 5, 6], [5, 7], [6, 4, 4, 5, 7]], [[4, 5], [8, 7, 4, 6], [5]])
TEXT = TextBatch(
    np.array([[4, 6, 5], [5, 5, 4], [4, 0, 6], [8, 0, 7]]),
    np.array([[5, 5, 4], [4, 0, 6], [8, 0, 7], [6, 0, 4]]),
    np.arange(3),
)

# ---- models of tiny sizes --------------------------------------------------------------------


def translator(rng, dtype, model, **settings):
    """Return a tiny RNNSearch or EncoderDecoder with random parameters."""
    model = model.create(rng, 8, V, embedding=2, hidden=4, maxout=7, init="modern", dtype=dtype,
                         **settings)
    return randomize(model, rng, 0.8)


def with_decoder(rng, dtype, model, kind):
    """Return a tiny RNNSearch with a decoder of class `kind`."""
    decoder = kind.create(rng, 2, 4, dtype=dtype)
    parts = {"decoder": decoder, "C": np.empty((8, decoder.gates_size), dtype)}
    if kind is LSTM:
        parts |= {"W_s": np.empty((4, 8), dtype), "b_s": np.empty(8, dtype)}      # of h and c
    return randomize(replace(translator(rng, dtype, model), **parts), rng, 0.8)


def luong(rng, dtype, model=LuongTranslator, **settings):
    settings = {"layers": 2, "dropout": 0.2, "alignment": 9} | settings
    if "window" in settings:
        settings["width"] = 7
    if settings.get("attention") == "multi-head":
        del settings["alignment"]
    model = model.create(rng, 8, V, embedding=2, hidden=4, dtype=dtype, **settings)
    return randomize(model, rng, 0.8)


def luong_of_sizes(rng, dtype, model, **settings):
    """Return a LuongTranslator whose attentional state h̃_t and state h_t differ in size."""
    model = luong(rng, dtype, model, **settings)
    parts = {"F": (7, model.decoder.gates_size), "C": (4, 7), "W": (4, 7), "b": (7,)}
    parts = {name: np.empty(shape, dtype) for name, shape in parts.items()}
    output = Output.create(rng, 7, V, dtype=dtype)
    return randomize(replace(model, output=output, **parts), rng, 0.8)


def transformer(rng, dtype, model=Transformer, layers=2, **settings):
    model = model.create(rng, 8, V, size=4, layers=layers, heads=2, inner=8, dropout=0.2,
                         smoothing=0.0, dtype=dtype, **settings)
    randomize(model, rng)
    for layer in model.encoder + model.decoder:     # away from max(0, x)'s corner
        layer.feed_forward.inner.b[...] = 2 * (-1) ** np.arange(8)
    return model


def language_model(rng, dtype, embedding=2, **settings):
    model = LanguageModel.create(rng, V, hidden=5, embedding=embedding, dropout=0.2, dtype=dtype,
                                 **settings)
    return randomize(model, rng)


def attentive(rng, dtype, hidden=6, layers=1, **settings):
    model = AttentiveLanguageModel.create(rng, V, hidden=hidden, embedding=7, layers=layers,
                                          dropout=0.2, dtype=dtype, **settings)
    return randomize(model, rng)


# ---- what is checked of them -----------------------------------------------------------------


def translation(rng, dtype, model, create=translator, **settings):
    """Return the Case of both passes of a translator, create(rng, dtype, model, **settings)."""
    model = create(rng, dtype, model, **settings)

    def forward():
        return model.forward(PAIRS, np.random.default_rng(SEED))

    def backward(dt, dweights, cache, grads):
        model.backward(dt, dweights, cache, grads)
        return ()
    return Case(model, (), forward, backward)


def text(rng, dtype):
    """Return the Case of a language model, with the first state as input and the last as output."""
    model = language_model(rng, dtype, cell="gru")
    states = tuple(array(rng, dtype, B, 5) for _ in range(2))

    def forward(state):
        return model.forward(TEXT, state, np.random.default_rng(SEED))
    return Case(model, (states,), forward, model.backward)


def attentive_text(rng, dtype):
    """Return the Case of an attentive language model with a state and memory of earlier text."""
    model = attentive(rng, dtype, hidden=5, cell="gru", carried=2)
    known = np.array([[1, 1], [0, 1], [1, 1]], bool)
    memory = array(rng, dtype, B, 2, 5), known

    def forward(states):
        y, (states, _), cache = model.forward(TEXT, (states, memory), np.random.default_rng(SEED))
        return y, states, cache
    return Case(model, ((array(rng, dtype, B, 5),),), forward, model.backward)


def loss(rng, dtype, create, batch, **settings):
    """Return the Case of a model's loss_and_grad on a batch, called as in training."""
    model = create(rng, dtype, **settings)

    def read_out_and_targets():
        rng = np.random.default_rng(SEED)
        if batch is PAIRS:
            return model.forward(batch, rng)[0], batch.target_out[batch.target_mask]
        known = batch.targets != PAD
        return model.forward(batch, None, rng)[0][known], batch.targets[known]

    def forward():
        loss = model.output.loss(*read_out_and_targets())
        return np.array(loss), loss

    def backward(dloss, loss, grads):
        rng = np.random.default_rng(SEED)
        again, _ = model.loss_and_grad(batch, None, float(dloss), grads, rng)
        check_same_loss(again, loss)
        return ()
    return Case(model, (), forward, backward)


PAPER = {"readout": "previous", "reset": "before", "update": "new"}
SMALL_MODEL_DEFAULTS = {"readout": "current", "reset": "after", "update": "old", "dropout": 0.2}
rnnsearch = partial(translation, model=RNNSearch)
luong_pass = partial(translation, model=LuongTranslator, create=luong)
translator_loss = partial(loss, create=translator, batch=PAIRS)
luong_loss = partial(loss, create=luong, batch=PAIRS)
text_loss = partial(loss, create=language_model, batch=TEXT)
attentive_loss = partial(loss, create=attentive, batch=TEXT)

CASES = {
    "LanguageModel": text,
    "LanguageModel loss": partial(text_loss, cell="lstm"),
    "LanguageModel tied loss": partial(text_loss, cell="rnn", tied=True, embedding=None),
    "AttentiveLanguageModel": attentive_text,
    **{f"AttentiveLanguageModel {name} loss": partial(attentive_loss, attention=name)
       for name in HISTORY_READOUTS},
    "AttentiveLanguageModel untied loss": partial(attentive_loss, tied=False, cell="rnn", layers=2),
    "EncoderDecoder": partial(translation, model=EncoderDecoder, **PAPER),
    "EncoderDecoder loss": partial(translator_loss, model=EncoderDecoder, **SMALL_MODEL_DEFAULTS),
    "EncoderDecoder deep both ways": partial(translation, model=EncoderDecoder, layers=2,
                                             bidirectional=True, **SMALL_MODEL_DEFAULTS),
    "RNNSearch": partial(rnnsearch, **PAPER),
    "RNNSearch modern": partial(rnnsearch, **SMALL_MODEL_DEFAULTS),
    "RNNSearch deep": partial(rnnsearch, layers=2, **PAPER),
    "RNNSearch deep loss": partial(
        translator_loss, model=RNNSearch, layers=2, **SMALL_MODEL_DEFAULTS),
    "RNNSearch general local-p": partial(rnnsearch, attention="general", window="local-p", width=7,
                                         **PAPER),
    "RNNSearch dot one way": partial(rnnsearch, attention="dot", bidirectional=False, **PAPER),
    "RNNSearch scaled-dot": partial(rnnsearch, attention="scaled-dot", **PAPER),
    "RNNSearch location loss": partial(translator_loss, model=RNNSearch, attention="location",
                                       **SMALL_MODEL_DEFAULTS),
    "RNNSearch multi-head": partial(
        rnnsearch, attention="multi-head", heads=2, **SMALL_MODEL_DEFAULTS),
    "RNNSearch Elman": partial(rnnsearch, create=with_decoder, kind=RNN),
    "RNNSearch LSTM": partial(rnnsearch, create=with_decoder, kind=LSTM),
    "LuongTranslator": partial(luong_pass, create=luong_of_sizes, attention="general", bias=True),
    "LuongTranslator GRU": partial(luong_pass, cell="gru", bidirectional=True),
    "LuongTranslator previous": partial(luong_pass, query="previous", attention="concat"),
    "LuongTranslator previous both": partial(luong_pass, query="previous", cell="gru",
                                             attention="scaled-dot", window="local-p", layers=1,
                                             bidirectional=True, input_feeding=False),
    "LuongTranslator previous loss": partial(luong_loss, query="previous", attention="multi-head",
                                             heads=2, layers=1),
    "LuongTranslator loss": partial(luong_loss, attention="concat", window="local-p"),
    "LuongTranslator location loss": partial(luong_loss, attention="location", layers=1,
                                             input_feeding=False),
    "LuongTranslator multi-head loss": partial(luong_loss, attention="multi-head", heads=2,
                                               layers=1),
    "LuongTranslator both loss": partial(luong_loss, attention="scaled-dot", window="local-m",
                                         bidirectional=True, layers=1, bias=True),
    "Transformer": partial(translation, model=Transformer, create=transformer, layers=1),
    "Transformer first": partial(translation, model=Transformer, create=transformer, pre_norm=True,
                                 tied=False),
    "Transformer loss": partial(loss, create=transformer, batch=PAIRS),
    # all sentences are soft, because a hard choice has no derivative
    "HardRNNSearch loss": partial(translator_loss, model=HardRNNSearch, soft=1.0, **PAPER),
    "RNNSearch loss": partial(translator_loss, model=RNNSearch, **PAPER),
    "RNNSearch modern loss": partial(translator_loss, model=RNNSearch, **SMALL_MODEL_DEFAULTS),
}
