"""Gradient checks of the attention mechanisms."""

from functools import partial

import numpy as np

from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.attention.combined import Combined
from numpy_attention.attention.config import REFUSED, AttentionConfig
from numpy_attention.attention.dot import ScaledDotAttention
from numpy_attention.attention.fixed import FixedVector
from numpy_attention.attention.general import GeneralAttention
from numpy_attention.attention.history import causal
from numpy_attention.attention.key_value import KeyValueReadout
from numpy_attention.attention.local import LocalMonotonic, LocalPredictive
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.attention.ngram import NGramReadout
from numpy_attention.attention.scaled_dot import ScaledDotProductAttention
from numpy_attention.gradcheck import protocol, randomize
from numpy_attention.gradcheck.cases.case import A, B, Case, D, H, Q, S, T, array
from numpy_attention.registry import HISTORY_SCORES, SCORES, WINDOWS, build, resolve

# ---- one query after another ---------------------------------------------------------------------


def attention(rng, dtype, create, queries=Q):
    """Return the Case of an attention on three sentences, with no, some and all words masked."""
    layer = randomize(create(rng, dtype), rng)
    mask = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 0, 1, 0, 0], [0, 0, 0, 0, 0, 0]], bool)
    inputs = array(rng, dtype, T, B, queries), array(rng, dtype, B, S, D)
    forward, backward = protocol(layer, mask)
    return Case(layer, inputs, forward, backward)


def without_queries(case):
    """Return the Case without its first input, the queries, for attention that ignores queries."""
    queries, *others = case.inputs

    def backward(*upstream):
        _, *gradients = case.backward(*upstream)
        return tuple(gradients) if len(others) > 1 else gradients[0]
    return Case(case.target, tuple(others), partial(case.forward, queries), backward)


def contexts_only(rng, dtype, create):
    """Return a Case whose loss does not depend on the weights, so that dweights is None."""
    case = attention(rng, dtype, create)

    def forward(queries, values):
        contexts, _, cache = case.forward(queries, values)
        return contexts, cache

    def backward(dcontexts, cache, grads):
        return case.backward(dcontexts, None, cache, grads)
    return Case(case.target, case.inputs, forward, backward)


def additive(rng, dtype):
    return AdditiveAttention.create(rng, Q, D, A, dtype=dtype)


def general(rng, dtype):
    return GeneralAttention.create(rng, Q, D, dtype=dtype)


def unprojected(rng, dtype):
    return ScaledDotAttention.create(rng, D, D, dtype=dtype)


def fixed(rng, dtype):
    return without_queries(attention(rng, dtype, lambda rng, dtype: FixedVector(), queries=0))


def backwards(rng, dtype):
    return LocalMonotonic(additive(rng, dtype), width=2, backwards=True)


def local_p(rng, dtype):
    return LocalPredictive.create(rng, general(rng, dtype), Q, H, WIDE, dtype=dtype)


def multi_head(rng, dtype, heads=2, scaled=True):
    return MultiHeadAttention.create(rng, Q, D, 2 * A, H, heads, scaled, dtype=dtype)


# ---- every score with every window ---------------------------------------------------------------

WIDTHS = {"local-m": 1}
# a window with all positions, because weights of local-p jump at its edge and have no gradient
WIDE = 7


def score_cases():
    """Return {title: build} for valid pairs (score, window). build(rng, dtype) returns a Case."""
    pairs = [(score, window) for score in SCORES for window in WINDOWS]
    return {title(*pair): partial(chosen, *pair) for pair in pairs if pair not in REFUSED}


def title(score, window):
    """Return the title of the check of a score and a window, such as "LocalMonotonic dot"."""
    kind = resolve("attention", score, SCORES)
    if window != "global":
        return f"{resolve('window', window, WINDOWS).__name__} {score}"
    # a class with a forward has another check, with all queries at once
    return f"{kind.__name__} steps" if hasattr(kind, "forward") else kind.__name__


def chosen(score, window, rng, dtype, queries=None):
    """Return the Case of an attention with this score, window and query size (`queries`)."""
    width = WIDTHS.get(window, WIDE)
    choice = AttentionConfig(score, window, width, alignment=2 * A, longest=8, heads=2)
    queries = queries or size_of_queries(lambda rng, size: choice.create(rng, size, D))
    create = lambda rng, dtype: choice.create(rng, queries, D, dtype=dtype)
    return attention(rng, dtype, create, queries)


def size_of_queries(create):
    """Return the query size: Q, or the value size D if create(rng, Q) raises ValueError."""
    try:
        create(np.random.default_rng(0), Q)
    except ValueError:
        return D
    return Q


# ---- all queries at once -------------------------------------------------------------------------


def multi_head_at_once(rng, dtype):
    """Return the Case of multi-head attention with all queries at once."""
    layer = randomize(multi_head(rng, dtype, scaled=False), rng)
    visible = rng.random((B, T, S)) < 0.6
    visible[0, 0] = False
    inputs = array(rng, dtype, B, T, Q), array(rng, dtype, B, S, D)
    forward = lambda queries, memory: layer.forward(queries, memory, visible)
    return Case(layer, inputs, forward, layer.backward)


def scaled_dot(rng, dtype):
    layer = ScaledDotProductAttention()
    visible = rng.random((B, 1, T, S)) < 0.6
    inputs = tuple(array(rng, dtype, B, 2, n, size) for n, size in ((T, D), (S, D), (S, Q)))
    forward = lambda q, k, v: layer.forward(q, k, v, visible)
    return Case(layer, inputs, forward, layer.backward)


# ---- over a history ------------------------------------------------------------------------------

# visible positions (B, 2 + T): the first 2 are in the memory, and hidden in the third row
KNOWN = np.array([[1, 0, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 0]], bool)


def history_cases():
    """Return {title: build} for each of HISTORY_SCORES. build(rng, dtype) returns a Case."""
    kinds = [resolve("score", name, HISTORY_SCORES) for name in HISTORY_SCORES]
    return {kind.__name__: partial(history, score=kind) for kind in kinds}


def history(rng, dtype, score, window=None, queries=None):
    """Return the Case of a score over past states, called with all queries at once.

    window: how many steps back a query may attend, or None for all. queries: the size of a query.
    """
    create = lambda rng, size: build(score, rng, query_size=size, key_size=D, size=A, dtype=dtype)
    queries = queries or size_of_queries(create)
    layer = randomize(create(rng, queries), rng)
    visible = causal(KNOWN, T, window)
    asked = array(rng, dtype, T, B, queries)
    inputs = asked, array(rng, dtype, B, S, D), array(rng, dtype, B, S, H)
    forward = lambda queries, keys, values: layer.forward(queries, keys, values, visible)
    case = Case(layer, inputs, forward, layer.backward)
    return case if reads_queries(case) else without_queries(case)


def reads_queries(case):
    """Return True if backward returns a gradient of the queries, or if a pass raises an error."""
    try:
        contexts, weights, cache = case.forward(*case.inputs)
        dqueries, *_ = case.backward(contexts, weights, cache, case.target.zeros_like())
    except Exception:                               # the gradient check will report it
        return True
    return dqueries is not None


def reader(rng, dtype, create, hidden, remembered=2):
    """Return the Case of a readout. remembered: the number of positions in its memory."""
    layer = randomize(create(rng, hidden, A, dtype=dtype), rng)
    mask = KNOWN[:, 2:].T
    memory = None
    if remembered:
        memory = array(rng, dtype, B, remembered, hidden), KNOWN[:, :remembered]

    def forward(h):
        y, _, weights, cache = layer.forward(h, mask, memory)
        return y, weights, cache
    return Case(layer, (array(rng, dtype, T, B, hidden),), forward, layer.backward, causal=0)


def key_value(parts, **settings):
    create = partial(KeyValueReadout.create, parts=parts, **settings)
    return partial(reader, create=create, hidden=H * parts)


CASES = {
    **score_cases(),
    "AdditiveAttention contexts": partial(contexts_only, create=additive),
    "LocalMonotonic backwards": partial(attention, create=backwards),
    "LocalPredictive contexts": partial(contexts_only, create=local_p),
    "ScaledDotAttention one size": partial(attention, create=unprojected, queries=D),
    "ScaledDotProductAttention": scaled_dot,
    "MultiHeadAttention": multi_head_at_once,
    "MultiHeadAttention contexts": partial(contexts_only, create=partial(multi_head, heads=1)),
    "FixedVector": fixed,
    **history_cases(),
    "Combined window": partial(history, score=Combined, window=2),
    "KeyValueReadout single": key_value(1, score="single", bias=True),
    "KeyValueReadout one part": key_value(1, bias=True, carried=3),
    "KeyValueReadout two parts": key_value(2, window=2),
    "KeyValueReadout three parts": key_value(3),
    "KeyValueReadout linear": key_value(2, activation="linear"),
    "NGramReadout": partial(reader, create=partial(NGramReadout.create, order=4), hidden=3 * H),
    "NGramReadout from nothing": partial(reader, create=partial(NGramReadout.create, order=3),
                                         hidden=2 * H, remembered=0),
    "NGramReadout projection": partial(reader, hidden=H, remembered=0, create=partial(
        NGramReadout.create, order=2, activation="linear")),
}
