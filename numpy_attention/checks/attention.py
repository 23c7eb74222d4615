"""Gradient checks of the attention mechanisms."""

from functools import partial

import numpy as np

from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.attention.dot import DotAttention, ScaledDotAttention
from numpy_attention.attention.fixed import FixedVector
from numpy_attention.attention.general import GeneralAttention
from numpy_attention.attention.combined import Combined
from numpy_attention.attention.single import Single
from numpy_attention.attention.history import causal
from numpy_attention.attention.key_value import KeyValueReader
from numpy_attention.attention.local import LocalMonotonic, LocalPredictive
from numpy_attention.attention.location import LocationAttention
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.attention.ngram import NGramReader
from numpy_attention.attention.scaled_dot import ScaledDotProductAttention
from numpy_attention.checks.case import A, B, D, H, Q, S, T, Case, array
from numpy_attention.gradcheck import protocol, randomize


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


def general(rng, dtype):
    return GeneralAttention.create(rng, Q, D, dtype=dtype)


def local_p(rng, dtype, inner=general, queries=Q):
    """A window wide enough for all: at a window's edge, where the weights jump, there is no gradient to check."""
    return LocalPredictive.create(rng, inner(rng, dtype), queries, H, width=7, dtype=dtype)


def multi_head(rng, dtype, **settings):
    return MultiHeadAttention.create(rng, Q, D, 6, 5, heads=settings.pop("heads", 3), dtype=dtype, **settings)


def multi_head_at_once(rng, dtype):
    """Four queries over six positions, one of which sees nothing."""
    layer = randomize(multi_head(rng, dtype, scaled=False), rng)
    visible = rng.random((B, T, S)) < 0.6
    visible[0, 0] = False
    return Case(layer, (array(rng, dtype, B, T, Q), array(rng, dtype, B, S, D)),
                lambda queries, memory: layer.forward(queries, memory, visible), layer.backward)


def scaled_dot(rng, dtype):
    layer, visible = ScaledDotProductAttention(), rng.random((B, 1, T, S)) < 0.6
    return Case(layer, tuple(array(rng, dtype, B, 2, n, size) for n, size in ((T, D), (S, D), (S, Q))),
                lambda q, k, v: layer.forward(q, k, v, visible), layer.backward)


# ---- attention over history ---------------------------------------------------------------------------------------

# nothing remembered of the third row; a hole in the first; T = 4 steps after 2 remembered positions
KNOWN = np.array([[1, 0, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0], [0, 0, 1, 1, 1, 0]], bool)


def history(rng, dtype, score, window=None):
    """All steps at once, keys and values of their own."""
    layer = randomize(score.create(rng, Q, D, A, dtype=dtype), rng)
    visible = causal(KNOWN, T, window)
    return Case(layer, (array(rng, dtype, T, B, Q), array(rng, dtype, B, S, D), array(rng, dtype, B, S, H)),
                lambda queries, keys, values: layer.forward(queries, keys, values, visible), layer.backward)


def single(rng, dtype):
    """The same for a score that does not look at the query."""
    case = history(rng, dtype, Single)
    queries, keys, values = case.inputs
    return Case(case.target, (keys, values), lambda keys, values: case.forward(queries, keys, values),
                lambda *upstream: case.backward(*upstream)[1:])


def reader(rng, dtype, create, hidden, remembered=2):
    """A reader of a ragged batch that remembers states, into which no gradient flows."""
    layer, mask = randomize(create(rng, hidden, 5, dtype=dtype), rng), KNOWN[:, 2:].T
    memory = (array(rng, dtype, B, remembered, hidden), KNOWN[:, :remembered]) if remembered else None
    read_out = "weights" if isinstance(layer, KeyValueReader) else "y"

    def forward(h):
        y, _, weights, cache = layer.forward(h, mask, memory)
        return (y, weights, cache) if read_out == "weights" else (y, cache)

    def backward(dy, *rest):
        *dweights, cache, grad = rest
        return layer.backward(dy, *(dweights or [None]), cache, grad)
    return Case(layer, (array(rng, dtype, T, B, hidden),), forward, backward)


def key_value(roles, **settings):
    return partial(reader, create=partial(KeyValueReader.create, roles=roles, **settings), hidden=3 * roles)


CASES = {
    "AdditiveAttention": partial(attention, create=additive),
    "AdditiveAttention contexts": partial(contexts_only, create=additive),
    "DotAttention": partial(attention, create=lambda rng, dtype: DotAttention(), queries=D),
    "DotAttention scaled": partial(attention, create=lambda rng, dtype: ScaledDotAttention(), queries=D),
    "GeneralAttention": partial(attention, create=general),
    "LocationAttention": partial(attention, create=lambda rng, dtype: LocationAttention.create(rng, Q, 8, dtype=dtype)),
    "LocalMonotonic": partial(attention, create=lambda rng, dtype: LocalMonotonic(general(rng, dtype), width=1)),
    "LocalMonotonic backwards": partial(attention, create=lambda rng, dtype: LocalMonotonic(additive(rng, dtype), 2, True)),
    "LocalPredictive": partial(attention, create=local_p),
    "LocalPredictive additive": partial(attention, create=partial(local_p, inner=additive)),
    "LocalPredictive contexts": partial(contexts_only, create=local_p),
    "ScaledDotProductAttention": scaled_dot,
    "MultiHeadAttention": multi_head_at_once,
    "MultiHeadAttention steps": partial(attention, create=multi_head),
    "MultiHeadAttention contexts": partial(contexts_only, create=partial(multi_head, heads=1)),
    "FixedVector": partial(attention, create=lambda rng, dtype: FixedVector(), queries=0),
    "Single": single,
    "Combined": partial(history, score=Combined),
    "Combined window": partial(history, score=Combined, window=2),
    "KeyValueReader single": key_value(1, score="single", bias=True),
    "KeyValueReader one role": key_value(1, bias=True, carried=3),
    "KeyValueReader two roles": key_value(2, window=2),
    "KeyValueReader three roles": key_value(3),
    "NGramReader": partial(reader, create=partial(NGramReader.create, order=4), hidden=6),
    "NGramReader from nothing": partial(reader, create=partial(NGramReader.create, order=3), hidden=6, remembered=0),
}
