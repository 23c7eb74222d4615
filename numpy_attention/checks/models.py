"""Gradient checks of whole models: forward and backward, and loss_and_grad as training calls it."""

from functools import partial

import numpy as np

from numpy_attention.cells.rnn import RNN
from numpy_attention.checks.case import SEED, V, Case, array, same_loss
from numpy_attention.data.batching import TextBatch, pair_batch
from numpy_attention.data.vocabulary import PAD
from numpy_attention.gradcheck import randomize
from numpy_attention.models.attentive_language_model import ATTENTION, AttentiveLanguageModel
from numpy_attention.models.encoder_decoder import EncoderDecoder
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.models.transformer import Transformer

PAIRS = pair_batch([[4, 5, 6], [5, 7], [6, 4, 4, 5]], [[4, 5], [8, 7, 4], [5]])
TEXT = TextBatch(np.array([[4, 6, 5], [5, 5, 4], [4, 0, 6], [8, 0, 7]]),
                 np.array([[5, 5, 4], [4, 0, 6], [8, 0, 7], [6, 0, 4]]), np.arange(3))


def translator(rng, dtype, model, **settings):
    model = model.create(rng, 8, V, embedding=3, hidden=4, maxout=2, init="modern", dtype=dtype, **settings)
    return randomize(model, rng, 0.8)


def elman_translator(rng, dtype, model):
    """RNNSearch around a decoder of another kind."""
    model = translator(rng, dtype, model)
    model.decoder, model.C = RNN.create(rng, 3, 4, dtype=dtype), np.empty((8, 4), dtype)
    return randomize(model, rng, 0.8)


def translation(rng, dtype, model, create=translator, **settings):
    """forward and backward, with a gradient that enters at the attention weights too."""
    model = create(rng, dtype, model, **settings)

    def backward(dt, dweights, cache, grad):
        model.backward(dt, dweights, cache, grad)
        return ()
    return Case(model, (), lambda: model.forward(PAIRS, np.random.default_rng(SEED)), backward)


def luong(rng, dtype, model=LuongTranslator, **settings):
    settings = dict(layers=2, dropout=0.2, D=7) | settings
    return randomize(model.create(rng, 8, V, embedding=3, hidden=4, alignment=5, dtype=dtype, **settings), rng, 0.8)


def transformer(rng, dtype, model=Transformer, **settings):
    model = model.create(rng, 8, V, size=4, layers=2, heads=2, inner=5, dropout=0.2, smoothing=0.0, dtype=dtype, **settings)
    randomize(model, rng)
    for layer in model.encoder + model.decoder:             # away from max(0, x)'s corner, where the gradient jumps
        layer.feed_forward.inner.b[...] = 2 * (-1) ** np.arange(5)
    return model


def language_model(rng, dtype, **settings):
    return randomize(LanguageModel.create(rng, V, 3, dropout=0.2, dtype=dtype, **settings), rng)


def text(rng, dtype):
    """forward and backward from a carried state, with a gradient that comes back from the next batch."""
    model = language_model(rng, dtype, cell="gru")
    return Case(model, (tuple(array(rng, dtype, 3, 3) for _ in range(2)),),
                lambda state: model.forward(TEXT, state, np.random.default_rng(SEED)), model.backward)


def attentive(rng, dtype, **settings):
    return randomize(AttentiveLanguageModel.create(rng, V, hidden=6, dropout=0.2, dtype=dtype, **settings), rng)


def attentive_text(rng, dtype):
    """forward and backward from a carried state and memory."""
    model = attentive(rng, dtype, layers=1, cell="gru", carried=2)
    memory = array(rng, dtype, 3, 2, 6), np.array([[1, 1], [0, 1], [1, 1]], bool)

    def forward(states):
        y, (states, _), cache = model.forward(TEXT, (states, memory), np.random.default_rng(SEED))
        return y, states, cache
    return Case(model, ((array(rng, dtype, 3, 6),),), forward, model.backward)


def loss(rng, dtype, create, batch, **settings):
    """loss_and_grad, as training calls it."""
    model = create(rng, dtype, **settings)

    def forward():
        if batch is TEXT:
            x, targets = model.forward(batch, None, np.random.default_rng(SEED))[0], batch.targets
            x, targets = x[targets != PAD], targets[targets != PAD]
        else:
            x, targets = model.forward(batch, np.random.default_rng(SEED))[0], batch.target_out[batch.target_mask]
        loss = model.output.loss(x, targets)
        return np.array(loss), loss

    def backward(dloss, loss, grad):
        again, _ = model.loss_and_grad(batch, None, dloss, grad, np.random.default_rng(SEED))
        return same_loss(again, loss) and ()
    return Case(model, (), forward, backward)


PAPER = dict(readout="previous", reset="before", update="new")
MODERN = dict(readout="current", reset="after", update="old", dropout=0.2)
translation_loss = partial(loss, create=translator, batch=PAIRS)
text_loss = partial(loss, create=language_model, batch=TEXT)
attentive_loss = partial(loss, create=attentive, batch=TEXT)

CASES = {
    "LanguageModel": text,
    "LanguageModel loss": partial(text_loss, cell="lstm"),
    "LanguageModel tied loss": partial(text_loss, cell="rnn", tied=True),
    "AttentiveLanguageModel": attentive_text,
    **{f"AttentiveLanguageModel {name} loss": partial(attentive_loss, attention=name) for name in ATTENTION},
    "AttentiveLanguageModel untied loss": partial(attentive_loss, tied=False, cell="rnn"),
    "EncoderDecoder": partial(translation, model=EncoderDecoder, **PAPER),
    "EncoderDecoder loss": partial(translation_loss, model=EncoderDecoder, **MODERN),
    "RNNSearch": partial(translation, model=RNNSearch, **PAPER),
    "RNNSearch modern": partial(translation, model=RNNSearch, **MODERN),
    "RNNSearch Elman": partial(translation, model=RNNSearch, create=elman_translator),
    "LuongTranslator": partial(translation, model=LuongTranslator, create=luong, attention="general", bias=True),
    "LuongTranslator GRU": partial(translation, model=LuongTranslator, create=luong, cell="gru", bidirectional=True),
    "LuongTranslator loss": partial(loss, create=luong, batch=PAIRS, attention="concat", window="local-p"),
    "LuongTranslator location loss": partial(loss, create=luong, batch=PAIRS, attention="location", input_feeding=False),
    "LuongTranslator multi-head loss": partial(loss, create=luong, batch=PAIRS, attention="multi-head", heads=2),
    "LuongTranslator both loss": partial(loss, create=luong, batch=PAIRS, attention="scaled-dot", window="local-m",
                                         bidirectional=True, layers=1, bias=True),
    "Transformer": partial(translation, model=Transformer, create=transformer),
    "Transformer first": partial(translation, model=Transformer, create=transformer, pre_norm=True, tied=False),
    "Transformer loss": partial(loss, create=transformer, batch=PAIRS),
    "RNNSearch loss": partial(translation_loss, model=RNNSearch, **PAPER),
    "RNNSearch modern loss": partial(translation_loss, model=RNNSearch, **MODERN),
}
