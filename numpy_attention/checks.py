"""The gradient checks of the package: every layer, cell, attention and model, at tiny sizes that all differ.

    report = CHECKS["GRU before new"](np.random.default_rng(0))

A transpose cannot hide behind equal sizes, nor a forgotten bias behind a zero one: parameters, inputs and what flows
back are random, lengths ragged, words repeated. A case in float32 holds the same numbers, rounded.
"""

from dataclasses import dataclass
from functools import partial
from typing import Callable

import numpy as np

from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.attention.fixed import FixedVector
from numpy_attention.cells.bidirectional import Bidirectional
from numpy_attention.cells.gru import GRU
from numpy_attention.cells.lstm import LSTM
from numpy_attention.cells.rnn import RNN
from numpy_attention.cells.stacked import Stacked
from numpy_attention.data.batching import TextBatch, pair_batch
from numpy_attention.data.vocabulary import PAD
from numpy_attention.gradcheck import GradientError, gradcheck, protocol, randomize
from numpy_attention.layers.deep_output import DeepOutput
from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.linear import Linear
from numpy_attention.layers.maxout import Maxout
from numpy_attention.layers.output import Output
from numpy_attention.models.encoder_decoder import EncoderDecoder
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.module import Module

T, B, I, H, S, D, Q, A, V = 4, 3, 2, 5, 6, 4, 3, 7, 9
SEED = 7            # of the dropout inside a case: every call draws the same masks


@dataclass
class Case:
    """What is checked: a module, its float inputs, and the calls in gradcheck's form."""

    target: Module
    inputs: tuple
    forward: Callable
    backward: Callable


def ragged(size, lengths):
    """A mask (size, len(lengths)), True for the first lengths[b] steps of sequence b."""
    return np.arange(size)[:, None] < np.asarray(lengths)


def array(rng, dtype, *shape):
    return rng.standard_normal(shape).astype(dtype)


def plain(target, *inputs):
    """A layer without further arguments."""
    return Case(target, inputs, target.forward, target.backward)


# ---- layers -------------------------------------------------------------------------------------------------------


def linear(rng, dtype, bias=True):
    return plain(randomize(Linear.create(rng, D, H, bias, dtype=dtype), rng), array(rng, dtype, T, B, D))


def embedding(rng, dtype):
    ids = rng.integers(0, 4, (T, B))                                    # 12 places, 4 words: all of them repeat
    return plain(randomize(Embedding.create(rng, 5, D, dtype=dtype), rng), ids)


def dropout(rng, dtype):
    layer = Dropout(0.4)
    return Case(layer, (array(rng, dtype, T, B, D),), lambda x: layer.forward(x, np.random.default_rng(SEED)),
                layer.backward)


def maxout(rng, dtype):
    x = array(rng, dtype, T, B, 2 * D)
    x[..., ::2] += np.where(x[..., ::2] > x[..., 1::2], 0.1, -0.1)      # away from ties, where the gradient jumps
    return plain(Maxout(), x)


def deep_output(rng, dtype):
    layer = randomize(DeepOutput.create(rng, H, I, D, 3, dtype=dtype), rng)
    return plain(layer, *(array(rng, dtype, 6, size) for size in (H, I, D)))


def output(rng, dtype):
    layer = randomize(Output.create(rng, D, V, dtype=dtype), rng)
    targets = np.array([0, 5, 5, 8, 2, 1])

    def forward(x):
        loss = layer.loss(x, targets)
        return np.array(loss), (x, loss)

    def backward(dloss, cache, grad):
        x, loss = cache
        again, dx = layer.loss_and_grad(x, targets, dloss, grad)
        return same_loss(again, loss, -layer.log_probabilities(x)[np.arange(6), targets].sum()) and dx

    return Case(layer, (array(rng, dtype, 6, D),), forward, backward)


def same_loss(*losses):
    """True, or GradientError: loss_and_grad must return the loss whose gradient it is."""
    if not np.allclose(losses, losses[-1], 1e-6):
        raise GradientError(f"loss_and_grad returns the loss {losses[0]}, expected {losses[1:]}")
    return True


@dataclass(eq=False)
class TiedWords(Module):
    """A bigram model whose input and output share one table (Press & Wolf 2017): two uses, one gradient."""

    words: Embedding
    output: Output


def tied_output(rng, dtype):
    words = Embedding.create(rng, V, D, dtype=dtype)
    model = randomize(TiedWords(words, Output.create(rng, D, V, dtype=dtype, words=words)), rng)
    ids, targets = np.array([1, 4, 4, 0, 8]), np.array([4, 4, 1, 8, 0])

    def forward():
        x, _ = words.forward(ids)
        return np.array(model.output.loss(x, targets)), x

    def backward(dloss, x, grad):
        _, dx = model.output.loss_and_grad(x, targets, dloss, grad.output)
        model.words.backward(dx, ids, grad.words)
        return ()

    return Case(model, (), forward, backward)


# ---- cells --------------------------------------------------------------------------------------------------------


def cell(rng, dtype, create, mask=ragged(T, [4, 2, 1]), uses="both"):
    """uses: what the loss reads, "both", "outputs" alone (from the zero state) or the last "state" alone."""
    layer = randomize(create(rng, dtype), rng)
    xs, zero = array(rng, dtype, T, B, I), create_state(layer)
    state = tuple(array(rng, dtype, *z.shape) for z in zero) if isinstance(zero, tuple) else array(rng, dtype, B, H)
    if uses == "both":
        return Case(layer, (xs, state), lambda xs, state: layer.forward(xs, state, mask), layer.backward)
    if uses == "outputs":
        def forward(xs):
            ys, _, cache = layer.forward(xs, None, mask)
            return ys, cache
        return Case(layer, (xs,), forward, lambda dys, cache, grad: layer.backward(dys, None, cache, grad)[0])

    def forward(xs, state):
        _, last, cache = layer.forward(xs, state, mask)
        return last, cache
    return Case(layer, (xs, state), forward, lambda dlast, cache, grad: layer.backward(None, dlast, cache, grad))


def create_state(layer):
    if isinstance(layer, Bidirectional):
        return layer.forward_cell.zero_state(B), layer.backward_cell.zero_state(B)
    return layer.zero_state(B)


def rnn(rng, dtype):
    return RNN.create(rng, I, H, dtype=dtype)


def lstm(rng, dtype):
    return LSTM.create(rng, I, H, dtype=dtype)


def gru(reset, update):
    return lambda rng, dtype: GRU.create(rng, I, H, reset, update, dtype=dtype)


def bidirectional(rng, dtype):
    return Bidirectional(RNN.create(rng, I, H, dtype=dtype), GRU.create(rng, I, D, dtype=dtype))


def stacked(rng, dtype, mask=ragged(T, [4, 2, 1])):
    layer = Stacked([LSTM.create(rng, I, H, dtype=dtype), LSTM.create(rng, H, D, dtype=dtype),
                     LSTM.create(rng, D, I, dtype=dtype)], Dropout(0.3))
    state = tuple((array(rng, dtype, B, size), array(rng, dtype, B, size)) for size in (H, D, I))
    return Case(randomize(layer, rng), (array(rng, dtype, T, B, I), state),
                lambda xs, state: layer.forward(xs, state, mask, np.random.default_rng(SEED)), layer.backward)


def stacked_outputs(rng, dtype):
    layer = randomize(Stacked([RNN.create(rng, I, H, dtype=dtype), RNN.create(rng, H, D, dtype=dtype)], Dropout()), rng)

    def forward(xs):
        ys, _, cache = layer.forward(xs)
        return ys, cache
    return Case(layer, (array(rng, dtype, T, B, I),), forward,
                lambda dys, cache, grad: layer.backward(dys, None, cache, grad)[0])


# ---- attention ----------------------------------------------------------------------------------------------------


def attention(rng, dtype, create, queries=Q):
    """A whole sentence, a padded one with a hole in the middle, and one with nothing to read."""
    layer = randomize(create(rng, dtype), rng)
    mask = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0]], bool)
    forward, backward = protocol(layer, mask)
    return Case(layer, (array(rng, dtype, T, B, queries), array(rng, dtype, B, S, D)), forward, backward)


def contexts_only(rng, dtype, create):
    """The same where the loss does not read the weights: dweights is None."""
    case = attention(rng, dtype, create)

    def forward(queries, values):
        contexts, _, cache = case.forward(queries, values)
        return contexts, cache
    return Case(case.target, case.inputs, forward,
                lambda dcontexts, cache, grad: case.backward(dcontexts, [None] * T, cache, grad))


def additive(rng, dtype):
    return AdditiveAttention.create(rng, Q, D, A, dtype=dtype)


# ---- models -------------------------------------------------------------------------------------------------------

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


def language_model(rng, dtype, **settings):
    return randomize(LanguageModel.create(rng, V, 3, dropout=0.2, dtype=dtype, **settings), rng)


def text(rng, dtype):
    """forward and backward from a carried state, with a gradient that comes back from the next batch."""
    model = language_model(rng, dtype, cell="gru")
    return Case(model, (tuple(array(rng, dtype, 3, 3) for _ in range(2)),),
                lambda state: model.forward(TEXT, state, np.random.default_rng(SEED)), model.backward)


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

CASES = {
    "Linear": linear,
    "Linear without bias": partial(linear, bias=False),
    "Embedding": embedding,
    "Dropout": dropout,
    "Maxout": maxout,
    "DeepOutput": deep_output,
    "Output": output,
    "Output tied": tied_output,
    "RNN": partial(cell, create=rnn),
    "RNN outputs": partial(cell, create=rnn, mask=None, uses="outputs"),
    "RNN last state": partial(cell, create=rnn, uses="state"),
    "LSTM": partial(cell, create=lstm),
    "LSTM outputs": partial(cell, create=lstm, mask=None, uses="outputs"),
    **{f"GRU {reset} {update}": partial(cell, create=gru(reset, update))
       for reset in ("after", "before") for update in ("old", "new")},
    "Bidirectional": partial(cell, create=bidirectional),
    "Bidirectional outputs": partial(cell, create=bidirectional, uses="outputs"),
    "Stacked": stacked,
    "Stacked outputs": stacked_outputs,
    "AdditiveAttention": partial(attention, create=additive),
    "AdditiveAttention contexts": partial(contexts_only, create=additive),
    "FixedVector": partial(attention, create=lambda rng, dtype: FixedVector(), queries=0),
    "LanguageModel": text,
    "LanguageModel loss": partial(text_loss, cell="lstm"),
    "LanguageModel tied loss": partial(text_loss, cell="rnn", tied=True),
    "EncoderDecoder": partial(translation, model=EncoderDecoder, **PAPER),
    "EncoderDecoder loss": partial(translation_loss, model=EncoderDecoder, **MODERN),
    "RNNSearch": partial(translation, model=RNNSearch, **PAPER),
    "RNNSearch modern": partial(translation, model=RNNSearch, **MODERN),
    "RNNSearch Elman": partial(translation, model=RNNSearch, create=elman_translator),
    "RNNSearch loss": partial(translation_loss, model=RNNSearch, **PAPER),
    "RNNSearch modern loss": partial(translation_loss, model=RNNSearch, **MODERN),
}


def check(name, rng):
    """Build the case `name` in float64 and check its gradients; → Report. Raises GradientError."""
    case = CASES[name](rng, np.float64)
    return gradcheck(case.target, *case.inputs, rng=rng, forward=case.forward, backward=case.backward, title=name)


CHECKS = {name: partial(check, name) for name in CASES}
