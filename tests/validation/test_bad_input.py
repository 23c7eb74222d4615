"""Malformed input: refused at once, with what was given and what was expected, by every room.

The command line's share is in tests/cli, checkpoints' in tests/training, text files' in tests/data.
"""

import numpy as np
import pytest

from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.attention.combined import Combined
from numpy_attention.attention.dot import DotAttention
from numpy_attention.attention.fixed import FixedVector
from numpy_attention.attention.general import GeneralAttention
from numpy_attention.attention.history import causal
from numpy_attention.attention.key_value import KeyValueReadout
from numpy_attention.attention.local import LocalMonotonic, LocalPredictive
from numpy_attention.attention.location import LocationAttention
from numpy_attention.attention.memory import Memory
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.attention.ngram import NGramReadout
from numpy_attention.attention.scaled_dot import ScaledDotProductAttention
from numpy_attention.attention.single import Single
from numpy_attention.cells.bidirectional import Bidirectional
from numpy_attention.cells.gru import GRU
from numpy_attention.cells.lstm import LSTM
from numpy_attention.cells.rnn import RNN
from numpy_attention.cells.stacked import Stacked
from numpy_attention.data.batching import PairBatches, TextBatch, TextBatches, pair_batch
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.decoding.hypothesis import longest
from numpy_attention.layers.deep_output import DeepOutput
from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.linear import Linear
from numpy_attention.layers.maxout import Maxout
from numpy_attention.layers.output import Output
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.encoder_decoder import EncoderDecoder
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.registry import build
from numpy_attention.models.rnnsearch import RNNSearch

rng = np.random.default_rng(0)
F = np.float32
rnn = RNN.create(rng, 3, 4)
gru = GRU.create(rng, 3, 4)
before = GRU.create(rng, 3, 4, reset="before")
lstm = LSTM.create(rng, 3, 4)
additive = AdditiveAttention.create(rng, 3, 4, 5)
embedding = Embedding.create(rng, 9, 3)
output = Output.create(rng, 3, 9)
model = RNNSearch.create(rng, 9, 9, embedding=3, hidden=4, maxout=2)
xs = np.zeros((5, 2, 3), F)
mask = np.ones((5, 2), bool)
values = np.zeros((2, 6, 4), F)
memory = additive.read(values, np.ones((2, 6), bool))
three = np.zeros((2, 5, 3), F)
local_p = LocalPredictive.create(rng, DotAttention(), 4)
combined = Combined.create(rng, 4, 4, 5)
history = np.zeros((5, 2, 4), F)
history_read = np.zeros((2, 5, 4), F)
seen = causal(np.ones((2, 5), bool), 5)
language_model = LanguageModel.create(rng, 9, 3)
short = TextBatch(np.ones((3, 2), np.int64), np.ones((3, 2), np.int64), np.arange(2))
short.targets = short.targets[:2]       # as a batch of another class may have them


class Wide(DotAttention):
    """A score that forgets how many positions there are."""

    def score(self, query, memory):
        return np.zeros((2, 9), F), None


class Flat(Single):
    """A reader's own score that forgets the time steps."""

    def score(self, queries, keys, visible):
        return np.zeros(keys.shape[:2], F), None


def back(layer, dys, dstate=None):
    """The backward pass of a cell after a forward pass over xs."""
    return lambda: layer.backward(dys, dstate, layer.forward(xs)[2], layer.zeros_like())


def scaled(visible):
    return ScaledDotProductAttention().forward(three, three, three, visible)


def step_back(cell, dy, dstate):
    """Step 1 of a cell's backward pass, driven by hand."""
    def call():
        _, _, cache = cell.forward(xs)
        cell.step_backward(1, dy, dstate, cache[1], cell.begin_backward(cache[1]))
    return call


def look_back(attention, dcontext, query=np.zeros((2, 4), F), dweights=None):
    """One step of an attention over `values`, and back."""
    def call():
        read = attention.read(values, np.ones((2, 6), bool))
        _, _, cache = attention.step(query, read, 0)
        grads = attention.zeros_like()
        attention.step_backward(dcontext, dweights, cache, read.gradient(), grads)
    return call


def over_history(queries=history, keys=history_read, visible=seen):
    return lambda: combined.forward(queries, keys, history_read, visible)


def history_back(dcontexts, dweights=None):
    def call():
        _, _, cache = combined.forward(history, history_read, history_read, seen)
        combined.backward(dcontexts, dweights, cache, combined.zeros_like())
    return call


def layer_back(layer, x, dy):
    """A layer's backward pass after a forward pass over x."""
    return lambda: layer.backward(dy, layer.forward(x)[1], layer.zeros_like())


BAD = {
    "cell: batch-major sequence": (
        lambda: gru.forward(np.zeros((2, 5), F)),
        ValueError, r"xs \(T, B, I\) has shape \(2, 5\)"),
    "cell: wrong input size": (
        lambda: gru.forward(np.zeros((5, 2, 7), F)),
        ValueError, r"expected \(any, any, 3\)"),
    "cell: wrong dtype": (
        lambda: gru.forward(np.zeros((5, 2, 3))),
        TypeError, "xs is float64, the weights are float32"),
    "cell: mask of another shape": (
        lambda: gru.forward(xs, None, mask.T),
        ValueError, r"mask \(T, B\) has shape \(2, 5\)"),
    "cell: mask that is not boolean": (
        lambda: gru.forward(xs, None, mask.astype(int)),
        TypeError, "must be boolean"),
    "cell: state of another size": (
        lambda: gru.forward(xs, np.zeros((2, 5), F)),
        ValueError, r"state h \(B, H\)"),
    "LSTM: cell of another batch": (
        lambda: lstm.forward(xs, (np.zeros((2, 4), F), np.zeros((3, 4), F))),
        ValueError, r"state c \(B, H\) has shape \(3, 4\)"),
    "LSTM: state without its cell": (
        lambda: lstm.forward(xs, np.zeros((2, 4), F)),
        ValueError, r"state has 1 arrays, expected 2: an LSTM's is the tuple \(h, c\)"),
    "GRU: state of an LSTM": (
        lambda: gru.forward(xs, lstm.zero_state(2)),
        ValueError, "state has 2 arrays, expected 1"),
    "RNN: gradient of one row": (
        back(rnn, np.zeros((5, 1, 4), F)),
        ValueError, r"dys \(T, B, H\) has shape \(5, 1, 4\), expected \(5, 2, 4\)"),
    "GRU: batch-major gradient": (back(gru, np.zeros((2, 5, 4), F)), ValueError, "dys.*time-major"),
    "LSTM: gradient of fewer steps": (
        back(lstm, np.zeros((4, 2, 4), F)),
        ValueError, r"dys \(T, B, H\) has shape \(4"),
    "RNN: gradient of the state of one row": (
        back(rnn, None, np.zeros((1, 4), F)),
        ValueError, r"dstate h \(B, H\) has shape \(1, 4\), expected \(2, 4\)"),
    "GRU: gradient of a smaller state": (
        back(gru, None, np.zeros((2, 3), F)),
        ValueError, r"dstate h \(B, H\)"),
    "LSTM: gradient of a smaller cell": (
        back(lstm, None, (np.zeros((2, 4), F), np.zeros((2, 3), F))),
        ValueError, r"dstate c \(B, H\) has shape \(2, 3\)"),
    "LSTM: gradient of h alone": (
        back(lstm, None, np.zeros((2, 4), F)),
        ValueError, "dstate has 1 arrays, expected 2"),
    "GRU: pre-activations of another width": (
        lambda: before.begin(np.zeros((2, 2, 5), F)),
        ValueError, r"a \(T, B, G\) has shape \(2, 2, 5\), expected \(any, any, 12\)"),
    "RNN: pre-activations of another dtype": (
        lambda: rnn.begin(np.zeros((5, 2, 4))),
        TypeError, "a is float64"),
    "RNN: step, gradient of one row": (
        step_back(rnn, np.zeros((1, 4), F), rnn.zero_state(2)),
        ValueError, r"dy \(B, H\) has shape \(1, 4\), expected \(2, 4\)"),
    "LSTM: step, gradient of a smaller state": (
        step_back(lstm, np.zeros((2, 3), F), lstm.zero_state(2)),
        ValueError, "dy"),
    "LSTM: step, gradient of h alone": (
        step_back(lstm, np.zeros((2, 4), F), np.zeros((2, 4), F)),
        ValueError, "has 1 arrays"),
    "GRU: step, gradient of the state of one row": (
        step_back(gru, np.zeros((2, 4), F), np.zeros((1, 4), F)),
        ValueError, "dstate h"),
    "bidirectional: gradient of one row": (
        back(Bidirectional(rnn, gru), np.zeros((5, 1, 8), F)),
        ValueError, "dys"),
    "GRU: unknown convention": (
        lambda: GRU.create(rng, 3, 4, reset="during"),
        ValueError, "reset='during'"),
    "GRU: bias without its place": (
        lambda: GRU(gru.W, gru.U, gru.b, gru.b_n, "before"),
        ValueError, "has no bias b_n"),
    "bidirectional: mask": (
        lambda: Bidirectional(gru, gru).forward(xs, None, mask[:3]),
        ValueError, "mask"),
    "stacked: state of another depth": (
        lambda: Stacked([gru], Dropout()).forward(xs, (None, None)),
        ValueError, "state has 2 layers, expected 1"),
    "embedding: id too large": (
        lambda: embedding.forward(np.array([9])),
        ValueError, "holds the id 9, expected 0 to 8"),
    "embedding: negative id": (
        lambda: embedding.forward(np.array([-1])),
        ValueError, "holds the id -1"),
    "embedding: floats": (
        lambda: embedding.forward(np.array([1.0])),
        TypeError, "must be an integer array"),
    "embedding: gradient of fewer ids": (
        lambda: embedding.backward(np.zeros((2, 3), F), np.array([1, 2, 3]),
                                   embedding.zeros_like()),
        ValueError, r"dy \(…, E\) has shape \(2, 3\), expected \(3, 3\)"),
    "embedding: gradient of another size": (
        lambda: embedding.backward(np.zeros((2, 5), F), np.array([1, 2]), embedding.zeros_like()),
        ValueError, "dy"),
    "linear: wrong size": (
        lambda: Linear.create(rng, 3, 2).forward(np.zeros((4, 5), F)),
        ValueError, "expected"),
    "dropout: rate": (
        lambda: Dropout(1.0), ValueError, r"rate = 1.0: expected a number in \[0, 1\)"),
    "dropout: one name for all": (
        lambda: Dropout(0.5).forward(xs, rng, np.arange(1)),
        ValueError, r"names x.shape\[:-1\] has shape \(1,\), expected \(5, 2\)"),
    "dropout: gradient of more rows": (
        lambda: Dropout(0.5).backward(np.zeros((6, 2, 3), F), Dropout(0.5).forward(xs, rng)[1]),
        ValueError, r"dy \(rows, D\) has shape \(12, 3\), expected \(10, 3\)"),
    "maxout: odd": (
        lambda: Maxout().forward(np.zeros((2, 5))),
        ValueError, "5 columns: expected an even number"),
    "deep output: size": (
        lambda: DeepOutput.create(rng, 3, 4, 5, 2).forward(*(np.zeros((2, 3), F),) * 3),
        ValueError, r"Ey \(N, E\) has shape \(2, 3\)"),
    "output: target out of range": (
        lambda: output.loss(np.zeros((2, 3), F), np.array([1, 9])),
        ValueError, "the id 9"),
    "output: targets of another length": (
        lambda: output.loss(np.zeros((2, 3), F), np.array([1])),
        ValueError, "targets"),
    "output: tied to another size": (
        lambda: Output.create(rng, 4, 9, words=embedding),
        ValueError, "the tied table"),
    "attention: time-major values": (
        lambda: additive.read(np.zeros((6, 2), F), mask),
        ValueError, "batch-major"),
    "attention: mask of another shape": (
        lambda: additive.read(values, np.ones((2, 5), bool)),
        ValueError, "mask"),
    "attention: integer mask": (
        lambda: FixedVector().read(values, np.ones((2, 6), int)),
        TypeError, "must be boolean"),
    "attention: query of another batch": (
        lambda: additive.step(np.zeros((3, 3), F), memory, 0),
        ValueError, "query"),
    "attention: gradient of one context": (
        look_back(additive, np.zeros((1, 4), F), np.zeros((2, 3), F)),
        ValueError, r"dcontext \(B, D\) has shape \(1, 4\), expected \(2, 4\)"),
    "attention: gradient of a smaller context": (
        look_back(DotAttention(), np.zeros((2, 2), F)),
        ValueError, "dcontext"),
    "attention: scores of more positions": (
        lambda: Wide().step(np.zeros((2, 4), F), memory, 0),
        ValueError, r"scores \(B, S\) has shape \(2, 9\), expected \(2, 6\)"),
    "local-p: around several heads": (
        lambda: LocalPredictive.create(rng, MultiHeadAttention.create(rng, 4, 4), 4),
        ValueError, "multi-head with local-p"),
    "scaled dot: mask to add": (
        lambda: scaled(np.where(np.tri(5, dtype=bool), 0, -np.inf)),
        TypeError, "must be boolean"),
    "scaled dot: mask of another size": (
        lambda: scaled(np.ones((2, 5, 6), bool)),
        ValueError, r"mask \(B, …, T, S\) has shape \(2, 5, 6\), expected \(2, 5, 5\)"),
    "scaled dot: mask of more axes": (
        lambda: scaled(np.ones((1, 2, 5, 5), bool)),
        ValueError, r"mask \(B, …, T, S\) has"),
    "scaled dot: keys of another dtype": (
        lambda: ScaledDotProductAttention().forward(three, three.astype(float), three, None),
        TypeError, "k is float64, the queries are float32"),
    "local-p: gradient of one context": (
        look_back(local_p, np.zeros((1, 4), F)),
        ValueError, "dcontext"),
    "history: scores of another shape": (
        lambda: Flat.create(rng, 4, 4, 5).forward(
            np.zeros((5, 2, 4), F), np.zeros((2, 5, 4), F), np.zeros((2, 5, 4), F),
            causal(mask.T, 5)),
        ValueError, r"scores \(T, B, S\) has shape \(2, 5\), expected \(5, 2, 5\)"),
    "memory: one axis missing": (
        lambda: Memory(values[0], None, mask),
        ValueError, r"values \(B, S, D\)"),
    "batch: empty source": (
        lambda: pair_batch([[4], []], [[4], [4]]),
        ValueError, "an empty source sentence"),
    "batch: empty target": (
        lambda: pair_batch([[4]], [[]]),
        ValueError, "an empty target sentence"),
    "batch: nothing": (lambda: pair_batch([], []), ValueError, "0 sources and 0 targets"),
    "batch: unequal": (
        lambda: pair_batch([[4]], [[4], [5]]),
        ValueError, "1 sources and 2 targets"),
    "batches: empty corpus": (lambda: PairBatches([], []), ValueError, "is the corpus empty"),
    "batches: size 0": (
        lambda: PairBatches([[4]], [[4]], batch_size=0),
        ValueError, "batch_size = 0"),
    "text: too short": (
        lambda: TextBatches([4, 5, 6], batch_size=20),
        ValueError, "too short for 20 streams"),
    "vocabulary: no text": (lambda: Vocabulary.build([]), ValueError, "the text is empty"),
    "vocabulary: a word twice": (lambda: Vocabulary(["a", "a"]), ValueError, "occurs before"),
    "model: source mask missing a sentence": (
        lambda: model.start(np.array([[4, 0], [2, 0]]), np.array([[True, False], [True, False]])),
        ValueError, "a source sentence of the batch is empty"),
    "model: unknown word id": (
        lambda: model.start(np.array([[99]]), np.array([[True]])),
        ValueError, "the id 99"),
    "model: readout": (
        lambda: RNNSearch.create(rng, 9, 9, 3, 4, readout="next"),
        ValueError, "readout='next'"),
    "model: init": (
        lambda: EncoderDecoder.create(rng, 9, 9, 3, 4, init="zero"),
        ValueError, "init='zero'"),
    # one row would be stretched to all
    "linear: gradient of one row": (
        layer_back(Linear.create(rng, 3, 2), np.zeros((4, 3), F), np.zeros((1, 2), F)),
        ValueError, r"dy \(…, O\) has shape \(1, 2\), expected \(4, 2\)"),
    "layer norm: gradient of one row": (
        layer_back(LayerNorm.create(3), np.zeros((4, 3), F), np.zeros((1, 3), F)),
        ValueError, r"dy \(…, D\) has shape \(1, 3\)"),
    "maxout: gradient of one row": (
        layer_back(Maxout(), np.zeros((4, 6), F), np.zeros((1, 3), F)),
        ValueError, r"dt \(…, l\) has shape \(1, 3\)"),
    "attention: weights' gradient of one row": (
        look_back(DotAttention(), np.zeros((2, 4), F), dweights=np.zeros((1, 6), F)),
        ValueError, r"dweights \(B, S\) has shape \(1, 6\), expected \(2, 6\)"),
    "local-p: weights' gradient of one row": (
        look_back(local_p, np.zeros((2, 4), F), dweights=np.zeros((1, 6), F)),
        ValueError, r"dweights \(B, S\) has shape \(1, 6\)"),
    "history: weights' gradient of one row": (
        history_back(np.zeros((5, 2, 4), F), np.zeros((1, 2, 5), F)),
        ValueError, r"dweights \(T, B, S\) has shape \(1, 2, 5\)"),
    "history: gradient of one step": (
        history_back(np.zeros((1, 2, 4), F)), ValueError, r"dcontexts \(T, B, D\) has shape"),
    "history: values of integers": (
        lambda: combined.forward(history, history_read, history_read.astype(int), seen),
        TypeError, "values is int64, the scores are float32"),
    "history: visible of integers": (
        over_history(visible=seen.astype(int)),
        TypeError, r"visible \(T, B, S\) must be boolean.*write visible.astype\(bool\)"),
    "history: float64 queries": (
        over_history(queries=history.astype(float)), TypeError, "queries is float64, the weights"),
    "history: keys of integers": (
        over_history(keys=history_read.astype(int)), TypeError, "keys is int64, the weights"),
    "reader: keeps less than nothing": (
        lambda: KeyValueReadout.create(rng, 4, 3).forward(history, mask, keep=-1),
        ValueError, "keep = -1: expected a whole number of at least 0"),
    "output: bias shorter than the table": (
        lambda: Output(embedding, np.zeros(5, F)).loss(np.zeros((2, 3), F), np.array([1, 2])),
        ValueError, r"b \(V,\) has shape \(5,\), expected \(9\): one for each row"),
    "language model: fewer targets than inputs": (
        lambda: language_model.loss(short), ValueError, r"targets \(T, B\) has shape \(2, 2\)"),
    "language model: fewer targets, in training": (
        lambda: language_model.loss_and_grad(short, None, 1.0, language_model.zeros_like()),
        ValueError, r"targets \(T, B\) has shape \(2, 2\), expected \(3, 2\)"),
    "search: a length that is no number": (
        lambda: longest(np.ones((3, 2), bool), float("nan")),
        ValueError, "max_length = nan: expected a whole number"),
    "batch: floats": (
        lambda: pair_batch([[4, 5.5]], [[4]]), TypeError, "sources hold something of type float"),
    "model: memory below 0": (
        lambda: AttentiveLanguageModel.create(rng, 9, "ngram", hidden=6, carried=-1),
        ValueError, "carried = -1"),
    "N-gram: memory of another length": (
        lambda: NGramReadout.create(rng, 6, 3).forward(
            np.zeros((5, 2, 6), F), mask, (np.zeros((2, 1, 6), F), np.ones((2, 1), bool))),
        ValueError, "memory"),
    "model: cell": (lambda: LanguageModel.create(rng, 9, cell="mamba"), ValueError, "cell 'mamba'"),
    "model: unknown name": (lambda: build("gpt", rng), ValueError, "model 'gpt': expected one of"),
}


@pytest.mark.parametrize("name", BAD)
def test_refused(name):
    call, error, words = BAD[name]
    with pytest.raises(error, match=words) as caught:
        call()
    assert len(str(caught.value)) < 300


# ---- float64 into float32 weights: NumPy would upcast all that follows ---------------------------

double = np.zeros((2, 6, 4))
single = double.astype(F)
read_mask = np.ones((2, 6), bool)
states = np.zeros((5, 2, 4))
single_states = states.astype(F)
steps_mask = np.ones((5, 2), bool)


def asked(attention):
    """One step over float32 values with a float64 query."""
    return lambda: attention.step(np.zeros((2, 4)), attention.read(single, read_mask), 0)


MIXED = {
    "cell": lambda: gru.forward(np.zeros((5, 2, 3))),
    "linear": lambda: Linear.create(rng, 4, 2).forward(double),
    "layer norm": lambda: LayerNorm.create(4).forward(double),
    "deep output":
        lambda: DeepOutput.create(rng, 4, 4, 4, 2).forward(
            single_states[0], states[0], single_states[0]),
    "output": lambda: output.loss(np.zeros((2, 3)), np.array([1, 2])),
    "additive": lambda: additive.read(double, read_mask),
    "general": lambda: GeneralAttention.create(rng, 3, 4).read(double, read_mask),
    "location": lambda: LocationAttention.create(rng, 3, 6).read(double, read_mask),
    "multi-head": lambda: MultiHeadAttention.create(rng, 4, 4).read(double, read_mask),
    "local-m": lambda: LocalMonotonic(additive).read(double, read_mask),
    "additive query": asked(AdditiveAttention.create(rng, 4, 4, 3)),
    "general query": asked(GeneralAttention.create(rng, 4, 4)),
    "location query": asked(LocationAttention.create(rng, 4, 6)),
    "multi-head query": asked(MultiHeadAttention.create(rng, 4, 4)),
    "dot query": asked(DotAttention()),
    "single":
        lambda: Single.create(rng, 4, 4, 3).forward(states, double, double, causal(read_mask, 5)),
    "combined":
        lambda: Combined.create(rng, 4, 4, 3).forward(
            single_states, double, double, causal(read_mask, 5)),
    "reader": lambda: KeyValueReadout.create(rng, 4, 3).forward(states, steps_mask),
    "reader's memory":
        lambda: KeyValueReadout.create(rng, 4, 3).forward(
            single_states, steps_mask, (double, read_mask)),
    "N-gram's memory":
        lambda: NGramReadout.create(rng, 4, 3, order=3).forward(
            single_states, steps_mask, (double[:, :1], read_mask[:, :1])),
    "N-gram": lambda: NGramReadout.create(rng, 4, 3, order=3).forward(states, steps_mask),
}


@pytest.mark.parametrize("name", MIXED)
def test_mixed_dtypes_are_refused(name):
    message = "is float64, the weights are float32: convert one with astype"
    with pytest.raises(TypeError, match=message):
        MIXED[name]()


def test_a_nan_in_the_input_is_not_hidden():
    """Nothing clamps, masks or averages a NaN away: whoever looks at the result sees it."""
    bad = xs.copy()
    bad[2, 1, 0] = np.nan
    for cell in (gru, lstm):
        ys, _, _ = cell.forward(bad)
        assert np.isnan(ys[2:, 1]).all()
        assert np.isfinite(ys[:, 0]).all() and np.isfinite(ys[:2]).all()
    wrong = values.copy()
    wrong[1, 2, 3] = np.nan
    read = additive.read(wrong, np.ones((2, 6), bool))
    context, weights, _ = additive.step(np.zeros((2, 3), F), read, 0)
    assert np.isnan(context[1]).any() and np.isnan(weights[1]).all()
    assert np.isfinite(context[0]).all()
    loss = output.loss(np.full((1, 3), np.nan, F), np.array([4]))
    assert np.isnan(loss)
