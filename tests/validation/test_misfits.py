"""What fits no call is refused by every room that computes: no array, another's cache or twin.

Shapes and dtypes of arrays are in test_bad_input.py, sizes in test_sizes.py.
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
from numpy_attention.attention.memory import Memory, dot_scores, sum_of_values
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.attention.scaled_dot import ScaledDotProductAttention
from numpy_attention.attention.softmax import masked_softmax, masked_softmax_backward
from numpy_attention.cells.bidirectional import Bidirectional
from numpy_attention.cells.gru import GRU
from numpy_attention.cells.lstm import LSTM
from numpy_attention.cells.rnn import RNN
from numpy_attention.cells.stacked import Stacked
from numpy_attention.layers.deep_output import DeepOutput
from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.feed_forward import FeedForward
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.linear import Linear
from numpy_attention.layers.maxout import Maxout
from numpy_attention.layers.output import Output
from numpy_attention.layers.positional import positional_encoding
from numpy_attention.layers.residual import Residual
from numpy_attention.registry import CELLS, HISTORY_SCORES, SCORES, resolve

F = np.float32
T, B, S, H = 5, 2, 6, 4
rng = np.random.default_rng(0)
xs = rng.standard_normal((T, B, 3)).astype(F)
x = rng.standard_normal((T, 3)).astype(F)
values = rng.standard_normal((B, S, H)).astype(F)
query = rng.standard_normal((B, H)).astype(F)
mask = np.ones((B, S), bool)
rnn, gru, lstm = (kind.create(rng, 3, H) for kind in (RNN, GRU, LSTM))
linear, norm = Linear.create(rng, 3, H), LayerNorm.create(3)
words, output = Embedding.create(rng, 9, 3), Output.create(rng, 3, 9)
stacked = Stacked.create(lambda below, above: GRU.create(rng, below, above), (3, H, H))
both = Bidirectional(rnn, gru)
ATTENTIONS = {
    "dot": DotAttention(),
    "general": GeneralAttention.create(rng, H, H),
    "additive": AdditiveAttention.create(rng, H, H, 5),
    "multi-head": MultiHeadAttention.create(rng, H, H, heads=2),
    "local-m": LocalMonotonic(DotAttention(), 2),
    "local-p": LocalPredictive.create(rng, GeneralAttention.create(rng, H, H), H),
}
combined = Combined.create(rng, H, H, 5)
reader = KeyValueReadout.create(rng, H, 3)


# ---- what is no array ----------------------------------------------------------------------------

LIST = [[1.0, 2.0, 3.0]]
NO_ARRAYS = {
    "linear": lambda it: linear.forward(it),
    "linear, back": lambda it: linear.backward(it, x, linear.zeros_like()),
    "layer norm": lambda it: norm.forward(it),
    "feed forward": lambda it: FeedForward.create(rng, 3, 4).forward(it),
    "deep output": lambda it: DeepOutput.create(rng, 3, 3, 3, 2).forward(it, x, x),
    "maxout": lambda it: Maxout().forward(it),
    "dropout": lambda it: Dropout(0.5).forward(it, rng),
    "residual": lambda it: Residual(norm, Dropout(0.0)).enter(it),
    "embedding, back": lambda it: words.backward(it, np.array([1]), words.zeros_like()),
    "output": lambda it: output.loss(it, np.array([1])),
    "output's logits": lambda it: output.logits(it),
    "cell": lambda it: gru.forward(it),
    "cell's state": lambda it: gru.forward(xs, it),
    "cell, back": lambda it: gru.backward(it, None, gru.forward(xs)[2], gru.zeros_like()),
    "bidirectional": lambda it: both.forward(it),
    "stack": lambda it: stacked.forward(it),
    "stack's pre-activations": lambda it: stacked.begin(it),
    "values": lambda it: ATTENTIONS["additive"].read(it, mask),
    "query": lambda it: ATTENTIONS["dot"].step(it, Memory(values, None, mask), 0),
    "queries": lambda it: combined.forward(it, values, values, causal(mask, T)),
    "q": lambda it: ScaledDotProductAttention().forward(it, values, values, mask),
    "reader": lambda it: reader.forward(it, mask.T),
    "scores": lambda it: masked_softmax(it, mask),
    "parameter": lambda it: Linear(it, None),
}


@pytest.mark.parametrize("what", [LIST, None, "abc", np.float32(1), np.ma.ones((1, 3))],
                         ids=lambda what: type(what).__name__)
@pytest.mark.parametrize("name", NO_ARRAYS)
def test_what_is_no_array(name, what):
    if name in ("cell's state", "cell, back") and what is None:     # which stands for zeros
        return
    with pytest.raises(TypeError, match="is (None|a .*), expected a NumPy array"):
        NO_ARRAYS[name](what)


@pytest.mark.parametrize("dtype", [np.float16, np.int64, complex, object, bool, ">f4"])
def test_other_dtypes_are_told_before_compiled_code_is(dtype):
    other = np.ones((B, H)).astype(dtype)
    memory = Memory(values, None, mask)
    last = gru.forward(xs)[2]
    steps = last.steps
    for call in (
        lambda: dot_scores(other, memory),
        lambda: sum_of_values(np.ones((B, S)).astype(dtype), memory),
        lambda: masked_softmax(other, np.ones((B, H), bool)),
        lambda: masked_softmax_backward(other, query),
        lambda: gru.forward(xs, other),
        lambda: gru.backward(None, other, last, gru.zeros_like()),
        lambda: gru.step_backward(1, other, query, steps, gru.begin_backward(steps)),
        lambda: gru.step_backward(1, query, other, steps, gru.begin_backward(steps)),
        lambda: Dropout(0.5).forward(other, rng),
        lambda: words.backward(np.ones((1, 3)).astype(dtype), np.array([1]), words.zeros_like()),
        lambda: Memory(values.astype(dtype), None, mask),
    ):
        with pytest.raises(TypeError, match="is (float16|int64|complex128|object|bool|>f4), "):
            call()


# ---- the cache, the twin and the memory of another -----------------------------------------------

BACK = {
    "linear": (linear, x, Linear.create(rng, 3, 5)),
    "layer norm": (norm, x, LayerNorm.create(4)),
    "feed forward": (FeedForward.create(rng, 3, 4), x, FeedForward.create(rng, 4, 3)),
    "embedding": (words, np.array([1, 8]), Embedding.create(rng, 9, 4)),
    "rnn": (rnn, xs, RNN.create(rng, 3, 5)),
    "gru": (gru, xs, GRU.create(rng, 3, H, reset="before")),
    "lstm": (lstm, xs, LSTM.create(rng, 4, H)),
    "bidirectional": (both, xs, Bidirectional(gru, rnn)),
    "stack": (stacked, xs, Stacked.create(lambda below, above: GRU.create(rng, below, above),
                                          (3, H, H, H))),
    "stack of others": (stacked, xs, Stacked.create(
        lambda below, above: LSTM.create(rng, below, above), (3, H, H))),
}


def upstream(layer, given):
    """What flows back into the layer: (gradients …), and the cache."""
    y, *state, cache = layer.forward(given)
    return (np.ones_like(y), *[None for _ in state]), cache


@pytest.mark.parametrize("name", BACK)
def test_the_twin_of_another(name):
    layer, given, other = BACK[name]
    dys, cache = upstream(layer, given)
    layer.backward(*dys, cache, layer.zeros_like())
    for grads in (other.zeros_like(), layer, None, {}, layer.astype(np.float64).zeros_like()):
        with pytest.raises((TypeError, ValueError), match=r"^grads[ .].*\.zeros_like\(\)$"):
            layer.backward(*dys, cache, grads)


@pytest.mark.parametrize("name", BACK)
def test_the_cache_of_another(name):
    layer, given, _ = BACK[name]
    dys, cache = upstream(layer, given)
    for wrong in (None, LIST, (), object()):
        with pytest.raises(TypeError, match="^cache .*expected (what|a NumPy array)|^cache must"):
            layer.backward(*dys, wrong, layer.zeros_like())


def test_ids_of_a_larger_vocabulary_would_be_written_past_the_table():
    with pytest.raises(ValueError, match="cache holds the id 9, expected 0 to 8"):
        words.backward(np.ones((1, 3), F), np.array([9]), words.zeros_like())


def test_steps_of_another_cell():
    steps = gru.begin(gru.project(xs))
    dsteps = gru.begin_backward(steps)
    small = GRU.create(rng, 3, 2)
    for cell in (small, lstm, rnn):
        for call in (lambda: cell.step(0, steps),
                     lambda: cell.begin_backward(steps),
                     lambda: cell.end_backward(steps, dsteps, cell.zeros_like())):
            with pytest.raises(TypeError, match="steps of another cell.*12 pre-activations"):
                call()
    shorter = gru.begin_backward(gru.begin(gru.project(xs[:3])))
    with pytest.raises(ValueError, match=r"dsteps are of float32 \(3, 2, 12\), the steps of"):
        gru.step_backward(1, query, query, steps, shorter)
    for t in (T, -1, None, 1.0, "1"):
        with pytest.raises(ValueError, match="t = .*: expected a whole number of at least 0 and"):
            gru.step(t, steps)
    with pytest.raises(ValueError, match="steps have 2 layers, expected 3"):
        BACK["stack"][2].step(0, stacked.begin(stacked.project(xs)))


def test_pre_activations_that_cannot_be_taken_over():
    a = gru.project(xs)
    a.flags.writeable = False
    with pytest.raises(ValueError, match="a is read-only, and is written to: give a copy"):
        gru.begin(a)


def asked(attention):
    """A memory, what a step gave, and what flows back."""
    memory = attention.read(values, mask)
    context, weights, cache = attention.step(query, memory, 0)
    return memory, cache, np.ones_like(context), np.ones_like(weights)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_the_gradient_of_another_memory(name):
    attention = ATTENTIONS[name]
    memory, cache, dcontext, dweights = asked(attention)
    grads = attention.zeros_like()
    other = attention.read(values.copy(), mask).gradient()
    message = "dmemory is the gradient of another memory: take gradient"
    with pytest.raises(ValueError, match=message):
        attention.step_backward(dcontext, dweights, cache, other, grads)
    with pytest.raises(ValueError, match=message):
        attention.read_backward(memory, other, grads)
    for wrong in (None, memory, {}):
        with pytest.raises(TypeError, match="dmemory is .*, expected what `memory.gradient` gave"):
            attention.step_backward(dcontext, dweights, cache, wrong, grads)
    with pytest.raises(TypeError, match="memory is None, expected what `read` gave"):
        attention.step(query, None, 0)
    assert not any(array.any() for _, array in grads.named_parameters())


@pytest.mark.parametrize("name", ATTENTIONS)
def test_what_another_attention_gave(name):
    attention = ATTENTIONS[name]
    memory, cache, dcontext, dweights = asked(attention)
    for other in ATTENTIONS.values():
        if other is attention:
            continue
        with pytest.raises((TypeError, ValueError), match="cache is|grads is"):
            attention.step_backward(dcontext, dweights, asked(other)[1], memory.gradient(),
                                    attention.zeros_like())
        with pytest.raises(TypeError, match="^grads is a "):
            attention.step_backward(dcontext, dweights, cache, memory.gradient(),
                                    other.zeros_like())


def test_a_gradient_in_which_nothing_waits():
    general = ATTENTIONS["general"]
    memory = general.read(values, mask)
    with pytest.raises(ValueError, match="nothing waits for values in this gradient: call step_"):
        general.read_backward(memory, memory.gradient(), general.zeros_like())


def test_a_memory_without_these_keys():
    additive = ATTENTIONS["additive"]
    with pytest.raises(TypeError, match=r"memory.keys \(B, S, A\) is None"):
        additive.step(query, DotAttention().read(values, mask), 0)
    wider = AdditiveAttention.create(rng, H, H, 7)
    with pytest.raises(ValueError, match=r"memory.keys \(B, S, A\) has shape \(2, 6, 7\)"):
        additive.step(query, wider.read(values, mask), 0)
    with pytest.raises(ValueError, match="rows holds the id 2"):
        Memory(values, None, mask).take(np.array([0, 2]))


def test_over_a_history_and_of_a_reader():
    h = rng.standard_normal((T, B, H)).astype(F)
    contexts, weights, cache = combined.forward(h, values, values, causal(mask, T))
    other = Combined.create(rng, H, H, 7)
    with pytest.raises(ValueError, match="the cache is of another Combined"):
        other.backward(contexts, weights, cache, other.zeros_like())
    with pytest.raises(ValueError, match="grads.W_s is float32"):
        combined.backward(contexts, weights, cache, other.zeros_like())
    y, _, weights, cache = reader.forward(h, mask.T[:T])
    for memory in ([values, mask], values, (values,)):
        with pytest.raises(TypeError, match=r"memory is .*, expected \(states, known\)"):
            reader.forward(h, mask.T[:T], memory)
    with pytest.raises(TypeError, match=r"the memory's known \(B, M\) must be boolean"):
        reader.forward(h, mask.T[:T], (values, mask.astype(int)))
    with pytest.raises(ValueError, match=r"dy \(T, B, O\) has shape \(1, 2, 3\)"):
        reader.backward(y[:1], weights, cache, reader.zeros_like())


# ---- what is made --------------------------------------------------------------------------------

CREATE = {
    **{name: lambda kind=resolve("cell", name, CELLS), **given: kind.create(
        **{"rng": rng, "inputs": 3, "hidden": 4} | given) for name in CELLS},
    **{name: lambda kind=resolve("score", name, HISTORY_SCORES), **given: kind.create(
        **{"rng": rng, "query_size": 3, "key_size": 4, "size": 5} | given)
       for name in HISTORY_SCORES},
    "linear": lambda **given: Linear.create(**{"rng": rng, "inputs": 3, "outputs": 2} | given),
    "embedding": lambda **given: Embedding.create(
        **{"rng": rng, "vocabulary": 3, "size": 2} | given),
    "output": lambda **given: Output.create(**{"rng": rng, "vocabulary": 3, "size": 2} | given),
    "deep output": lambda **given: DeepOutput.create(
        **{"rng": rng, "hidden": 3, "embedding": 2, "context": 3, "size": 2} | given),
    "feed forward": lambda **given: FeedForward.create(
        **{"rng": rng, "size": 3, "inner": 2} | given),
    "general": lambda **given: resolve("score", "general", SCORES).create(
        **{"rng": rng, "query_size": 3, "value_size": 2} | given),
    "additive": lambda **given: AdditiveAttention.create(
        **{"rng": rng, "query_size": 3, "value_size": 2, "size": 4} | given),
    "multi-head": lambda **given: MultiHeadAttention.create(
        **{"rng": rng, "query_size": 4, "value_size": 2} | given),
    "reader": lambda **given: KeyValueReadout.create(
        **{"rng": rng, "hidden": 4, "outputs": 2} | given),
}


@pytest.mark.parametrize("name", CREATE)
def test_only_float32_and_float64_are_made(name):
    create = CREATE[name]
    for dtype in (np.float32, "float64", np.dtype("f8")):
        assert create(dtype=dtype).dtype == dtype
    for dtype in (np.int32, np.float16, np.complex64, bool, object, ">f4", "no dtype", None, 3):
        with pytest.raises(TypeError, match="^dtype = .*: expected float32, which trains, or"):
            create(dtype=dtype)
    for wrong in (None, 0, np.random, np.random.RandomState(0)):
        with pytest.raises(TypeError, match="^rng is .*: pass numpy.random.default_rng"):
            create(rng=wrong)
    with pytest.raises(TypeError, match="^init is 0.1, of type float: expected a function"):
        create(init=0.1)


def test_what_draws_nothing_is_made_of_these_alone():
    for call in (lambda: LayerNorm.create(3, np.float16), lambda: linear.astype(np.int32),
                 lambda: positional_encoding(3, 4, np.int64)):
        with pytest.raises(TypeError, match="^dtype = .*: expected float32, which trains, or"):
            call()


@pytest.mark.parametrize("size", [None, True, "3", 2**40, 10**30, np.array(3)])
def test_sizes_that_are_none(size):
    message = "^hidden = .*: expected (a whole number of at least 1|at most 268,435,456, for no)"
    for kind in (RNN, GRU, LSTM):
        with pytest.raises(ValueError, match=message):
            kind.create(rng, 3, size)


PARAMETERS = {
    "linear's bias": lambda: Linear(np.ones((2, 3)), np.ones(1)),
    "a bias of another dtype": lambda: Linear(np.ones((2, 3)), np.ones(3, F)),
    "a cell's bias": lambda: LSTM(np.ones((2, 12)), np.ones((3, 12)), np.ones(11)),
    "a cell of three gates": lambda: LSTM(np.ones((2, 9)), np.ones((3, 9)), np.ones(9)),
    "b_n": lambda: GRU(np.ones((2, 9)), np.ones((3, 9)), np.ones(9), np.ones(1)),
    "integers": lambda: RNN(np.ones((2, 3), int), np.ones((3, 3), int), np.ones(3, int)),
    "v_a": lambda: AdditiveAttention(np.ones((2, 3)), np.ones((4, 3)), np.ones(4)),
    "v": lambda: Combined(np.ones((2, 3)), np.ones((4, 3)), np.ones(2)),
    "layer norm": lambda: LayerNorm(np.ones(3), np.ones(2)),
    "a table": lambda: Embedding(np.ones(3)),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_parameters_that_do_not_fit_each_other(name):
    with pytest.raises((ValueError, TypeError), match="has shape|is float32, the other|is int64"):
        PARAMETERS[name]()


# ---- memory order and NaN ------------------------------------------------------------------------


def test_numbers_in_another_memory_order():
    scores = rng.standard_normal((2, 3, 4)).astype(F)
    weights = masked_softmax(scores, np.ones((2, 3, 4), bool))
    plain = masked_softmax_backward(scores, weights)
    for order in (np.asfortranarray, lambda a: a[::-1].copy()[::-1]):
        again = masked_softmax_backward(order(scores), order(weights))
        # the compiler adds up rows that are not side by side in memory in another order
        np.testing.assert_allclose(again, plain, rtol=0, atol=4 * np.finfo(F).eps)


@pytest.mark.parametrize("bad", [np.nan, -np.inf])
def test_a_nan_is_not_hidden(bad):
    for pair in ((np.nan, bad), (bad, np.nan)):
        t, chosen = Maxout().forward(np.array([pair], F))
        assert np.isnan(t).all()
        assert np.isnan(Maxout().backward(np.full_like(t, np.nan), chosen)).all()
    weights = masked_softmax(np.array([[bad, np.nan, 1]], F), np.ones((1, 3), bool))
    assert np.isnan(weights).all()
    # the fixed vector is the last annotation and no other, which a NaN before it has reached
    spoilt = xs.copy()
    spoilt[1, 0] = np.nan
    ys, _, _ = both.forward(spoilt)
    vector = FixedVector()
    memory = vector.read(np.ascontiguousarray(ys.swapaxes(0, 1)), np.ones((B, T), bool))
    context, _, _ = vector.step(None, memory, 0)
    assert np.isnan(context[0]).any() and np.isfinite(context[1]).all()
