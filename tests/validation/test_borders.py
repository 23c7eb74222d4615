"""Public calls with invalid arguments: a result without NaN, or an error on one line.

Arguments are replaced by values of other types and by arrays of other shapes, dtypes and memory
orders.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import leaves
from validation.borders import (
    CALLS,
    CREATE,
    KINDS,
    F,
    attentions,
    cells,
    create,
    floats,
    generator,
    language_model,
    pairs,
    translator,
)

from numpy_attention.attention.fixed import FixedVector
from numpy_attention.cells.bidirectional import Bidirectional
from numpy_attention.decoding.beam import beam_search
from numpy_attention.decoding.sampling import sample
from numpy_attention.layers.linear import Linear
from numpy_attention.layers.maxout import Maxout
from numpy_attention.layers.output import Output
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.models.registry import build
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.validation.messages import EXPECTED

each = pytest.mark.parametrize("name", CALLS)
VALUES = (None, True, 0, -1, 1.5, math.nan, math.inf, 10**20, "text", "\ud800", b"x", [], [1.0],
          [[4, 5.5]], (), {}, {"a": 1}, {1}, object(), int, np.float32(1), np.random,
          np.random.RandomState(0))
MEMORY_ORDERS = (np.asfortranarray, lambda array: array[::-1].copy()[::-1],
                 lambda array: np.repeat(array, 2, axis=-1)[..., ::2])


def replacements(value):
    """Yield replacements for an argument."""
    yield from VALUES
    if isinstance(value, (list, tuple)):
        yield from (value[:-1], value * 2, [value], [*value, None], [*value, 7], [*value, "z"])
    if isinstance(value, np.ndarray):
        yield from (value[None], value[:-1], value[1:], value[..., :-1], value[..., :0], value.T,
                    value.tolist(), np.ma.array(value), np.array(3), np.zeros((0, 0)))
        for dtype in (bool, int, np.uint8, np.float16, float, complex, object, ">f4", ">i8"):
            yield value.astype(dtype)
        if value.dtype.kind == "i":
            yield from (value + 1000, value - 9)


def arrays_of(result):
    """Return all arrays in a result."""
    if hasattr(result, "named_parameters"):
        return list(result.named_parameters())
    return list(leaves(np.array(result) if isinstance(result, float) else result))


@each
@settings(max_examples=30)
@given(data=st.data())
def test_call_returns_a_result_or_raises_on_one_line(name, data):
    function, arguments = CALLS[name]()
    names = st.lists(st.sampled_from(list(arguments)), min_size=1, max_size=2, unique=True)
    for one in data.draw(names):
        arguments[one] = data.draw(st.sampled_from(list(replacements(arguments[one]))), label=one)
    try:
        result = function(**arguments)
    except EXPECTED as error:
        message = str(error)
        assert message and "\n" not in message and len(message) < 400, message
        assert "numba" not in message and "nopython" not in message
        return
    for part, array in arrays_of(result):
        assert array.dtype.kind not in "fc" or not np.isnan(array).any(), f"{part} has NaN"


@each
def test_memory_order_does_not_change_results(name):
    function, arguments = CALLS[name]()
    wanted = arrays_of(function(**arguments))
    for one, value in arguments.items():
        if isinstance(value, np.ndarray):
            for order in MEMORY_ORDERS:
                function, again = CALLS[name]()
                result = arrays_of(function(**again | {one: order(value)}))
                for (part, array), (_, expected) in zip(result, wanted):
                    np.testing.assert_allclose(array, expected, rtol=1e-5, atol=1e-6, err_msg=part)


# ---- frequent error messages ---------------------------------------------------------------------

MESSAGES = {
    "heads": (
        lambda: create(KINDS["multi-head"], size=30, heads=4), ValueError,
        "size (30) must be divisible by heads (4)"),
    "sizes that differ": (
        lambda: create(KINDS["dot"], query_size=3), ValueError,
        "query_size (3) must equal value_size (4) in dot attention, which has no weight matrix; "
        "choose attention = 'general' or 'scaled-dot'"),
    "a window that does not fit": (
        lambda: create(LuongTranslator, attention="multi-head"), ValueError,
        "attention = 'multi-head' cannot be combined with window = 'local-p': local-p "
        "needs one set of weights, but multi-head attention has one per head. Choose window = "
        "'global' or 'local-m'"),
    "a size": (
        lambda: create(RNNSearch, hidden=0), ValueError,
        "hidden = 0; expected an integer of at least 1"),
    "a name": (
        lambda: create(LanguageModel, cell="mamba"), ValueError,
        "unknown cell 'mamba'; expected one of rnn, lstm, gru"),
    "a setting": (
        lambda: build("luong", generator(), range(8), range(8), depth=3), ValueError,
        "luong has no setting 'depth'; did you mean width? Its settings are embedding, hidden, "
        "layers, cell, bidirectional, input_feeding, bias, query, dropout, init, attention, "
        "window, width, backwards, alignment, longest, heads"),
    "a setting of a class": (
        lambda: create(AttentiveLanguageModel, hiden=3), ValueError,
        "AttentiveLanguageModel has no setting 'hiden'; did you mean hidden? Its settings are "
        "attention, hidden, layers, cell, embedding, tied, dropout, init, forget_bias, window, "
        "carried, order, activation"),
    "a dtype": (
        lambda: create(KINDS["gru"], dtype="float16"), TypeError,
        "dtype = 'float16'; expected float32 or float64"),
    "a seed for a Generator": (
        lambda: create(KINDS["gru"], rng=7), TypeError,
        "rng is 7, of type int; expected numpy.random.default_rng(seed)"),
    "a number for initial values": (
        lambda: Linear.create(generator(), 3, 2, init=0.1), TypeError,
        "init is 0.1, of type float; expected a function init(rng, shape, dtype), such as glorot"),
    "parameters that do not fit each other": (
        lambda: Linear(np.ones((2, 3)), np.ones(4)), ValueError,
        "b (O) has shape (4,); expected (3,). See the fields of Linear for the shapes of its "
        "parameters"),
    "time-major values": (
        lambda: attentions["concat"].read(np.zeros((6, 2), F), np.ones((6, 2), bool)), ValueError,
        "values (B, S, D) has shape (6, 2); expected (B, S, 4). Pass B sequences of S vectors"),
    "mixed dtypes": (
        lambda: attentions["general"].read(np.zeros((2, 6, 4)), np.ones((2, 6), bool)), TypeError,
        "values is float64, but the weights are float32; convert it with .astype(np.float32)"),
    "a mask of integers": (
        lambda: cells["gru"].forward(np.zeros((5, 2, 3), F), None, np.ones((5, 2), int)), TypeError,
        "mask (T, B) is int64; expected a boolean array, True where there is a token. "
        "Convert it with np.asarray(mask, bool)"),
    "an LSTM's state without its cell": (
        lambda: cells["lstm"].forward(np.zeros((5, 2, 3), F), np.zeros((2, 4), F)), ValueError,
        "state has 1 array; expected 2. An LSTM has the state (h, c), and other cells have "
        "one array h"),
    "a long source": (
        lambda: attentions["location"].read(np.zeros((1, 10, 4), F), np.ones((1, 10), bool)),
        ValueError, "the source has 10 positions including </s>, but location attention has "
        "weights for only 9; omit longer sentences, or build a model with longest=10"),
    "an unknown word": (
        lambda: translator.start(np.array([[99]]), np.array([[True]])), ValueError,
        "ids contains the id 99; expected 0 to 8. Encode tokens with the model's vocabulary"),
    "an empty sentence": (
        lambda: translator.start(np.array([[4, 0]]), np.array([[True, False]])), ValueError,
        "source[:, 1] does not begin with a token; remove it if it is empty, or put the "
        "padding at the end"),
    "another model's gradient": (
        lambda: translator.loss_and_grad(pairs, None, 1.0, language_model.zeros_like()), TypeError,
        "grads is a LanguageModel; expected an RNNSearch that holds gradients. Use "
        "grads = model.zeros_like()"),
    "a beam": (
        lambda: beam_search(translator, pairs.source, pairs.source_mask, 0), ValueError,
        "beam = 0; expected an integer from 1 to 10,000"),
    "what is not a Reading": (
        lambda: sample(translator, None, generator()), TypeError,
        "start is None; expected a Reading, as returned by `read`"),
}


@pytest.mark.parametrize("name", MESSAGES)
def test_message(name):
    call, error, message = MESSAGES[name]
    with pytest.raises(error) as caught:
        call()
    assert str(caught.value) == message


# ---- NaN in the input ----------------------------------------------------------------------------


def test_nan_propagates():
    xs = floats(5, 2, 3)
    xs[2, 1, 0] = np.nan
    for name in ("gru", "lstm"):
        ys, _, _ = cells[name].forward(xs)
        assert np.isnan(ys[2:, 1]).all()
        assert np.isfinite(ys[:, 0]).all() and np.isfinite(ys[:2]).all()
    assert np.isnan(Output.create(generator(), 3, 9).loss(np.full((1, 3), np.nan, F),
                                                          np.array([4])))
    for pair in ((np.nan, -np.inf), (-np.inf, np.nan)):
        t, chosen = Maxout().forward(np.array([pair], F))
        assert np.isnan(t).all()
        assert np.isnan(Maxout().backward(np.full_like(t, np.nan), chosen)).all()
    # the fixed vector is the last annotation, which depends on the earlier NaN
    ys, _, _ = Bidirectional(cells["rnn"], cells["gru"]).forward(xs)
    memory = FixedVector().read(np.ascontiguousarray(ys.swapaxes(0, 1)), np.ones((2, 5), bool))
    context, _, _ = FixedVector().step(None, memory, 0)
    assert np.isnan(context[1]).any() and np.isfinite(context[0]).all()


def test_invalid_sizes_are_named_in_their_errors():
    """Check every size of every `create`."""
    sizes = [(kind, name) for kind, arguments in CREATE.items() for name, value in arguments.items()
             if type(value) is int and name not in ("parts", "carried")]
    sizes.remove((KINDS["single"], "query_size"))       # its score ignores the query
    assert len(sizes) > 60
    for kind, name in sizes:
        for size in (-1, 1.5, math.nan, "3", True):
            with pytest.raises(ValueError, match=f"^{name} = .*; expected an integer of at le"):
                create(kind, **{name: size})
