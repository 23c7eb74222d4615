"""Right calls of the attentions: each score with each window, histories, readers, heads."""

from functools import partial

import numpy as np

from hostility.catalogue_layers import create, draw
from hostility.right_calls import Call, anything, array, either, optional, whole
from numpy_attention.attention.choice import REFUSED, AttentionChoice
from numpy_attention.attention.fixed import FixedVector
from numpy_attention.attention.history import causal
from numpy_attention.attention.local import LocalMonotonic, LocalPredictive
from numpy_attention.attention.memory import Memory, dot_scores, sum_of_values, sum_over_steps
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.attention.reader_choice import ReaderChoice
from numpy_attention.attention.scaled_dot import ScaledDotProductAttention
from numpy_attention.attention.softmax import masked_softmax, masked_softmax_backward
from numpy_attention.names import HISTORY_SCORES, READERS, SCORES, WINDOWS, find

F = np.float32
LENGTHS = (15, 3, 9, 6, 1, 7)


def mask_of(z):
    """A mask (B, S), every sentence of another length."""
    return np.arange(z.S) < np.resize(LENGTHS, z.B)[:, None]


def other_places(mask, size):
    """Where values (B, S, size) are not read."""
    return np.repeat(~mask[:, :, None], size, 2)


# ---- one query after another ---------------------------------------------------------------------


def attention_calls(layer, rng, z, query_size, title, blind=False):
    """The four methods of the protocol. blind: the query, or most values, may go unread."""
    mask = mask_of(z)
    values = draw(rng, z.B, z.S, z.D)
    query = draw(rng, z.B, query_size)
    memory = layer.read(values, mask)

    def read(values, mask):
        one = layer.read(values, mask)
        return one.values, one.keys, layer.step(query, one, 0)[:2]

    def step(query, memory, t):
        return layer.step(query, memory, t)[:2]

    context, weights, cache = layer.step(query, memory, 1)

    def step_backward(dcontext, dweights, cache, dmemory, grad):
        dquery = layer.step_backward(dcontext, dweights, cache, dmemory, grad)
        return dquery, layer.read_backward(memory, dmemory, grad), grad

    def read_backward(memory, dmemory, grad):
        return layer.read_backward(memory, dmemory, grad), grad

    dmemory = memory.gradient()
    ones = np.ones_like(context)
    layer.step_backward(ones, np.ones_like(weights), cache, dmemory, layer.zeros_like())
    upstream = {"dweights": optional(array(*weights.shape))}
    looks_at_t = title.startswith("local-m")
    same_batch = {"memory": lambda one: isinstance(one, Memory) and fits_memory(
                      one, memory, not any(name in title for name in ("location", "multi-head"))),
                  "t": whole(0) if looks_at_t else anything}
    no_query = {"query": anything} if title == "FixedVector" else {}
    hidden = {"values": True if blind else other_places(mask, z.D), "query": blind}
    late = {"dweights": True} if blind else {"dweights": ~mask}
    either = {"values": lambda v: array(z.B, z.S, None)(v) or array(
        z.B, z.S, None, dtype=np.float64)(v)} if title == "FixedVector" else {}
    if title == "FixedVector":      # without weights or a look at the query
        same_batch = {"memory": lambda one: isinstance(one, Memory), "t": anything}
        upstream["grad"] = anything
    return [
        Call(f"{title}.read", read, {"values": values, "mask": mask}, either, hidden),
        Call(f"{title}.step", step, {"query": query, "memory": memory, "t": 1},
             same_batch | no_query, hidden),
        Call(f"{title}.step_backward", step_backward,
             {"dcontext": ones, "dweights": np.ones_like(weights), "cache": cache,
              "dmemory": memory.gradient(), "grad": layer.zeros_like()},
             upstream, late),
        Call(f"{title}.read_backward", read_backward,
             {"memory": memory, "dmemory": dmemory, "grad": layer.zeros_like()},
             {"grad": anything} if title == "FixedVector" else {}),
    ]


def fits_memory(one, like, same_size):
    """Whether a memory is of the same mechanism and batch, with values of the same size."""
    if like.keys is not None and (one.keys is None or one.keys.shape[2:] != like.keys.shape[2:]):
        return False
    sizes = one.values.shape[2] == like.values.shape[2] or not same_size
    return len(one.values) == len(like.values) and sizes and one.values.dtype == F


def chosen(score, window, rng, z):
    choice = AttentionChoice(score, window, 2, alignment=z.A, longest=2 * z.S, heads=2)
    query_size = z.D if score == "dot" else z.Q
    layer = choice.create(rng, query_size, z.D)
    title = score if window == "global" else f"{window} {score}"
    # a window looks at some positions, multi-head at projections of them
    return attention_calls(layer, rng, z, query_size, title, window != "global")


def score_create(score, rng, z):
    kind = find("attention", score, SCORES)
    sizes = {"dot": {"query_size": z.D, "value_size": z.D},
             "location": {"query_size": z.Q, "longest": z.S},
             "concat": {"query_size": z.Q, "value_size": z.D, "size": z.A},
             "general": {"query_size": z.Q, "value_size": z.D},
             "scaled-dot": {"query_size": z.Q, "value_size": z.D},
             "multi-head": {"query_size": z.Q, "value_size": z.D, "size": z.A, "outputs": z.O,
                            "heads": 2}}.get(score)
    if sizes is None or score == "dot":
        return []
    even = {"size": lambda n: n is None or whole(1)(n) and n % 2 == 0,
            "outputs": optional(whole(1)),
            "heads": lambda n: whole(1)(n) and z.A % n == 0} if score == "multi-head" else {}
    return [create(kind, sizes, **even)]


def fixed(rng, z):
    return attention_calls(FixedVector(), rng, z, z.Q, "FixedVector", True)


def local(rng, z):
    widths = {"width": whole(1)}
    inner = AttentionChoice("dot").create(rng, z.D, z.D)
    monotonic = Call("LocalMonotonic", lambda width: LocalMonotonic(inner, width).width,
                     {"width": 2}, widths)
    sizes = {"query_size": z.D, "size": z.A, "width": 2}
    return [monotonic, create(LocalPredictive, sizes, {"attention": inner},
                              size=optional(whole(1)))]


# ---- all queries at once -------------------------------------------------------------------------


def multi_head(rng, z):
    layer = MultiHeadAttention.create(rng, z.Q, z.D, z.A, z.O, 2)
    visible = np.repeat(mask_of(z)[:, None], z.T, 1)
    queries, values = draw(rng, z.B, z.T, z.Q), draw(rng, z.B, z.S, z.D)
    y, weights, cache = layer.forward(queries, values, visible)

    def back(dy, dweights, cache, grad):
        return layer.backward(dy, dweights, cache, grad), grad

    both = layer.keys_and_values(values)

    def both_backward(dkeys_and_values, values, grad):
        return layer.keys_and_values_backward(dkeys_and_values, values, grad), grad

    def look(queries, keys_and_values, visible):
        return layer.look(queries, keys_and_values, visible)[:2]

    return [
        Call("MultiHead.forward", lambda **given: layer.forward(**given)[:2],
             {"queries": queries, "values": values, "visible": visible}, {},
             {"values": other_places(mask_of(z), z.D)}),
        Call("MultiHead.backward", back,
             {"dy": np.ones_like(y), "dweights": np.ones_like(weights), "cache": cache,
              "grad": layer.zeros_like()}, {"dweights": optional(array(*weights.shape))}),
        Call("MultiHead.look", look,
             {"queries": queries, "keys_and_values": both, "visible": visible}, {},
             {"keys_and_values": other_places(mask_of(z), both.shape[2])}),
        Call("MultiHead.keys_and_values", layer.keys_and_values, {"values": values},
             {"values": array(None, None, z.D)}),
        Call("MultiHead.keys_and_values_backward", both_backward,
             {"dkeys_and_values": np.ones_like(both), "values": values,
              "grad": layer.zeros_like()}),
    ]


def scaled_dot(rng, z):
    layer = ScaledDotProductAttention()
    q, k = draw(rng, z.B, 2, z.T, z.D), draw(rng, z.B, 2, z.S, z.D)
    v = draw(rng, z.B, 2, z.S, z.Q)
    visible = np.ones((z.B, 1, z.T, z.S), bool)
    y, weights, cache = layer.forward(q, k, v, visible)

    def broadcasts(dtype):
        """Accepts arrays of this dtype that stretch to the weights."""
        def fits(value):
            if not isinstance(value, np.ndarray) or value.dtype != dtype or value.ndim > 4:
                return False
            try:
                return np.broadcast_shapes(value.shape, weights.shape) == weights.shape
            except ValueError:
                return False
        return fits

    def of_these_weights(value):
        return (type(value) is type(cache) and value.weights.shape == weights.shape
                and value.v.shape == v.shape)

    return [
        Call("ScaledDot.forward", lambda **given: layer.forward(**given)[:2],
             {"q": q, "k": k, "v": v, "visible": visible},
             {"v": array(z.B, 2, z.S, None), "q": array(z.B, 2, None, z.D),
              "visible": broadcasts(bool)}),
        Call("ScaledDot.backward", layer.backward,
             {"doutput": np.ones_like(y), "dweights": np.ones_like(weights), "cache": cache},
             {"dweights": optional(broadcasts(F)), "cache": of_these_weights}),
    ]


# ---- over a history ------------------------------------------------------------------------------


def history(score, rng, z):
    layer = find("score", score, HISTORY_SCORES).create(rng, z.Q, z.D, z.A)
    known = np.ones((z.B, z.S), bool)
    visible = causal(known, z.T)
    queries, keys = draw(rng, z.T, z.B, z.Q), draw(rng, z.B, z.S, z.D)
    values = draw(rng, z.B, z.S, z.O)
    contexts, weights, cache = layer.forward(queries, keys, values, visible)

    def forward(queries, keys, values, visible):
        return layer.forward(queries, keys, values, visible)[:2]

    def backward(dcontexts, dweights, cache, grad):
        return layer.backward(dcontexts, dweights, cache, grad), grad

    # nobody sees the last position, and `single` does not look at the queries
    last = np.zeros((z.B, z.S), bool)
    last[:, -1] = True
    sizes = {"query_size": z.Q, "key_size": z.D, "size": z.A}
    kind = type(layer)
    tests = {"query_size": anything} if score == "single" else {}
    looks = {"queries": anything} if score == "single" else {}
    return [
        Call(f"{score}.forward", forward,
             {"queries": queries, "keys": keys, "values": values, "visible": visible},
             {"values": array(z.B, z.S, None)} | looks,
             {"keys": np.repeat(last[..., None], z.D, 2), "queries": score == "single",
              "values": np.repeat(last[..., None], z.O, 2)}),
        Call(f"{score}.backward", backward,
             {"dcontexts": np.ones_like(contexts), "dweights": np.ones_like(weights),
              "cache": cache, "grad": layer.zeros_like()},
             {"dweights": optional(array(*weights.shape))},
             {"dcontexts": True, "dweights": True}),
        Call("causal", causal, {"mask": known, "T": z.T, "window": 2},
             {"mask": lambda m: array(None, None, dtype=bool)(m) and m.shape[1] >= z.T,
              "T": lambda T: whole(0)(T) and T <= z.S, "window": optional(whole(1))}),
        create(kind, sizes, **tests),
    ]


def reader(name, rng, z):
    layer = ReaderChoice(name, carried=2).create(rng, z.H, z.O)
    mask = np.ones((z.T, z.B), bool)
    h = draw(rng, z.T, z.B, z.H)
    exactly = {"ngram": 2, "projection": 0}.get(name)      # states of a memory; None: any number
    M = 2 if exactly is None else exactly
    memory = draw(rng, z.B, M, z.H), np.ones((z.B, M), bool)
    y, _, weights, cache = layer.forward(h, mask, memory)

    def forward(h, mask, memory, keep):
        return layer.forward(h, mask, memory, keep)[:3]

    def backward(dy, dweights, cache, grad):
        return layer.backward(dy, dweights, cache, grad), grad

    def remembered(value):
        if value is None:
            return True
        if not (isinstance(value, tuple) and len(value) == 2):
            return False
        states, known = value
        return (array(z.B, exactly, z.H)(states)
                and array(*states.shape[:2], dtype=bool)(known))

    dweights = None if weights is None else np.ones_like(weights)
    wide = {"dweights": anything} if weights is None else \
        {"dweights": optional(array(*weights.shape))}
    return [
        Call(f"reader {name}.forward", forward,
             {"h": h, "mask": mask, "memory": memory, "keep": 3},
             {"keep": optional(whole(0)), "memory": remembered,
              "mask": array(z.T, z.B, dtype=bool)}, {"h": True, "memory": True}),
        Call(f"reader {name}.backward", backward,
             {"dy": np.ones_like(y), "dweights": dweights, "cache": cache,
              "grad": layer.zeros_like()}, wide, {"dweights": True}),
    ]


# ---- what they share -----------------------------------------------------------------------------


def shared(rng, z):
    mask = mask_of(z)
    values = draw(rng, z.B, z.S, z.D)
    memory = Memory(values, None, mask)
    weights = draw(rng, z.B, z.S)
    scores = draw(rng, z.T, z.B, z.S)
    visible = np.ones(scores.shape, bool)
    alike = lambda one: isinstance(one, Memory) and one.values.dtype == F \
        and one.values.shape[::2] == values.shape[::2]
    rows = lambda value: isinstance(value, np.ndarray) and value.ndim == 1 and (
        value.dtype.kind in "iu" and (not value.size or 0 <= value.min() and value.max() < z.B)
        or value.dtype == bool and len(value) == z.B)
    return [
        Call("dot_scores", dot_scores, {"query": draw(rng, z.B, z.D), "memory": memory},
             {"memory": alike}),
        Call("sum_of_values", sum_of_values, {"weights": weights, "memory": memory},
             {"memory": alike}),
        Call("sum_over_steps", sum_over_steps,
             {"factors": draw(rng, z.T, z.B, z.S), "rows": draw(rng, z.T, z.B, z.D)},
             {"factors": array(z.T, z.B, None), "rows": array(z.T, z.B, None)}),
        Call("masked_softmax", masked_softmax, {"scores": scores, "visible": visible}),
        Call("masked_softmax_backward", masked_softmax_backward,
             {"dweights": scores, "weights": np.abs(scores)}),
        Call("Memory", lambda values, mask: Memory(values, None, mask),
             {"values": values, "mask": mask}, {"values": either(z.B, z.S, None)}),
        Call("Memory.take", lambda rows: memory.take(rows), {"rows": np.arange(z.B)},
             {"rows": rows}),
    ]


MAKERS = {"fixed": fixed, "local": local, "multi-head at once": multi_head,
          "scaled dot": scaled_dot, "shared": shared}
MAKERS |= {f"{score} {window}": partial(chosen, score, window)
           for score in SCORES for window in WINDOWS if (score, window) not in REFUSED}
MAKERS |= {f"{score} create": partial(score_create, score)
           for score in ("general", "concat", "location", "scaled-dot", "multi-head")}
MAKERS |= {f"history {score}": partial(history, score) for score in HISTORY_SCORES}
MAKERS |= {f"reader {name}": partial(reader, name) for name in READERS}
