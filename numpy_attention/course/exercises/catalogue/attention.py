"""Exercises on attention over batches and histories, layer norm and search: lessons 06 to 12."""

import itertools

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise
from numpy_attention.course.exercises.source import Source
from numpy_attention.gradcheck import protocol
from numpy_attention.validation.messages import typed_repr

SIXTH = "06_additive_attention"
NINTH = "09_transformer"
TENTH = "10_decoding"
ELEVENTH = "11_attentive_language_model"
TWELFTH = "12_key_value_predict"
MOST = 12           # hypotheses that are compared


def additive_cases(rng, its):
    for lengths in ([5, 3], [2, 5]):
        shapes = (3, 6), (4, 6), (6,)
        attention = its.PlainAttention(*(rng.standard_normal(shape) for shape in shapes))
        mask = np.arange(5) < np.array(lengths)[:, None]
        inputs = rng.standard_normal((3, 2, 3)), rng.standard_normal((2, 5, 4))
        forward, backward = protocol(attention, mask)
        yield Case(forward, inputs, backward, attention)


def layer_norm_cases(rng, its):
    for T, D in ((3, 5), (2, 4)):
        norm = its.PlainNorm(*rng.standard_normal((2, D)))
        yield Case(norm.forward, (rng.standard_normal((T, D)),), norm.backward, norm)


def causal_cases(rng, its):
    shapes = (4, 5), (4, 5), (5,), (4, 7), (4, 7), (7,)
    for lengths in ([5, 3], [2, 5]):
        reader = its.PlainReader(*(rng.standard_normal(shape) for shape in shapes))
        mask = np.arange(5)[:, None] < np.array(lengths)
        yield Case(reader.forward, (rng.standard_normal((5, 2, 4)), mask),
                   lambda dy, dalpha, cache, grads, reader=reader: (
                       reader.backward(dy, dalpha, cache, grads), None), reader)


def key_value_cases(rng, its):
    shapes = (4, 4), (4, 4), (4,), (4, 5), (4, 5)
    for roles in (1, 2, 3):
        reader = its.PlainReader(*(rng.standard_normal(shape) for shape in shapes), roles, 3)
        yield Case(reader.forward, (rng.standard_normal((6, 4 * roles)),), reader.backward, reader)
    reader = its.PlainReader(*(rng.standard_normal(shape) for shape in shapes), 3, 3)
    states = four_roles(reader, rng.standard_normal((6, 12)))
    yield Case(four_states(reader, its.softmax), states, reader.terms, reader)


def four_roles(reader, h):
    """The columns of h that each role reads, of which query and key have the same."""
    key, value, predict = reader.parts(h)
    return key, key, value, predict


def four_states(reader, softmax):
    """The forward of a reader that is given the states of each role apart.

    What goes through the one is told from what goes through the other: in h their gradients meet.
    """
    def forward(query, key, value, predict):
        back = np.subtract.outer(range(len(key)), range(len(key)))
        M = np.tanh(key @ reader.W_Y + (query @ reader.W_h)[:, None])
        e = np.where((back > 0) & (back <= reader.window), M @ reader.w, -np.inf)
        alpha = softmax(e)
        r = alpha @ value
        y = np.tanh(r @ reader.W_r + predict @ reader.W_x)
        return y, alpha, (np.hstack([key, value, predict]), M, alpha, r, y)
    return forward


def beam_cases(rng, its):
    sizes = (1, 4), (2, 5), (3, 4), (8, 3), (4, 5)
    for evenness, (width, longest) in itertools.product((0.5, 2), sizes):   # of the words' shares
        table = rng.dirichlet([evenness] * 4, size=(longest, 4))

        def next_log_p(words, table=table):
            return np.log(table[len(words), words[-1] if words else 0])
        yield Case(lambda *asked: numbered(its.beam(*asked)), (next_log_p, 3, width, longest),
                   differ=lambda found, right, case=f"width {width}, longest {longest}, end 3": (
                       f"{case}: {first_other(found, right)}"))


def numbered(found):
    """Hypotheses as numbers: of each its words as one number, and its log p; 0 where none is.

    TypeError: they are none.
    """
    try:
        rows = [(float(int("1" + "".join(map(str, words)))), float(total))
                for words, total in found]
    except (TypeError, ValueError):
        raise TypeError(f"beam gives {typed_repr(found)}: expected a list of (words, log p), of which "
                        "words is a tuple of numbers") from None
    return np.array((rows + [(0.0, 0.0)] * MOST)[:MOST])


def first_other(found, right):
    """The first hypothesis that is another, in words."""
    at = int(np.argmin(np.isclose(found, right).all(1)))
    return f"hypothesis [{at}] is {told(*found[at])}, right {told(*right[at])}"


def told(words, log_p):
    """One hypothesis of `numbered`, in words."""
    if not words:
        return "none"
    return f"({', '.join(f'{int(words)}'[1:])}), log p {log_p:.4g}"


ATTENTION = [
    Exercise(
        "additive", "Bahdanau's attention, for a batch", SIXTH,
        Source(SIXTH, ("softmax", "PlainAttention")),
        ("PlainAttention.step_backward", "PlainAttention.softmax_backward",
         "PlainAttention.read_backward"), """
    k_j = h_j U_a                        keys, made once for all steps           (B, S, A)
    x_j = tanh(q W_a + k_j)              e_j = v_a · x_j, −∞ outside of the mask (B, S)
    α   = softmax(e)                     c = Σ_j α_j h_j                         (B, D)

Bahdanau et al. 2015, equations 5 and 6, appendix A.1.2. step_backward is given ∂L/∂c, and ∂L/∂α or
None. It adds to dmemory.values and dmemory.keys, since every step of the decoder reads both, and to
grads.W_a and grads.v_a, and returns ∂L/∂q. softmax_backward returns ∂L/∂e. read_backward comes last,
with all that the steps have gathered in dmemory, adds to grads.U_a and returns ∂L/∂h (B, S, D).
""", additive_cases, (
            "h_j is used in two ways: it is found by its key, and it is said in the context.",
            "Walk up: the context, the softmax, the score, the tanh, then query and keys.",
            "x = tanh(a): dα = h · dc + dα; de = α (dα − Σ α dα); da = de v_a (1 − x²); dk = da; "
            "dq = (Σ_j da_j) W_aᵀ; dh = dmemory.values + dmemory.keys U_aᵀ"),
        "The keys are made once, so their gradients are gathered over all steps and go through U_a "
        "once, too.",
        "A mask forgotten in the forward leaves all gradients right.",
        ("softmax", "linear", "squash")),
    Exercise(
        "layer-norm", "a mean and a spread that depend on everything", NINTH,
        Source(NINTH, ("PlainNorm",)), ("PlainNorm.backward",), """
    s = √(variance of x along its row + ε)          (T, 1)
    x̂ = (x − mean of x) / s                         (T, D)
    y = g x̂ + b

Ba et al. 2016. Given ∂L/∂y (T, D), add to grads.g and grads.b, and return ∂L/∂x.
""", layer_norm_cases, (
            "Adding one number to a whole row changes no x̂. So what must ∂L/∂x of a row add up "
            "to? And stretching a row changes (nearly) no x̂ either.",
            "mean and s both depend on every x of the row: three paths from x to x̂.",
            "dx = (dx̂ − mean(dx̂) − x̂ mean(dx̂ x̂)) / s, with dx̂ = dy g"),
        "Both means take away what the two invariances forbid: a part along the ones, and a part "
        "along x̂.",
        "Normalising over the batch instead of the row has right gradients and another meaning.",
        ("linear",)),
    Exercise(
        "beam", "more than one way to go on", TENTH, Source("search", ("beam",)), ("beam",), """
In each step every running hypothesis is continued by every word; of all these continuations the
most probable ones are kept, at most `width` less those that have ended already. The log p of a
hypothesis is the sum of those of its words. It has ended, and runs no more, when its last word is
`end`, or when it has `longest` words. When none is running, return all that ended, as
(words, log p), the most probable first.
""", beam_cases, (
            "A beam of width 1 is greedy search. A beam as wide as there are sentences finds the "
            "best one.",
            "The total of a continuation is that of its hypothesis plus the log p of its word.",
            "kept = the first width − len(ended) of all continuations, sorted by their totals"),
        "What has ended holds its place: otherwise `width` more would go on behind it.",
        "A beam that loses its best hypothesis now and then still translates well: only a law, "
        "such as that a width of 1 is greedy search, shows it."),
    Exercise(
        "causal", "attention over one's own past", ELEVENTH,
        Source(ELEVENTH, ("softmax", "PlainReader")),
        ("PlainReader.backward", "PlainReader.four_roles"), """
    k_s = h_s W_s        q_t = h_t W_q        x_ts = tanh(k_s + q_t)
    e_ts = v · x_ts, for s < t                α_t = softmax(e_t)
    c_t = Σ_s α_ts h_s                        y_t = tanh(h_t W_x + c_t W_r + b)

Salton et al. 2017, all steps at once under the causal mask. Given ∂L/∂y (T, B, K), and ∂L/∂α of
whoever reads the weights, add to the six parameters' gradients and return ∂L/∂h (T, B, H). That is
what four_roles returns, for `backward` to call: da is the gradient in front of the tanh of y, and
you choose the order of the axes in which you hand it the others.
""", causal_cases, (
            "Each state has four roles: it predicts, asks, is found, and is said.",
            "In three of them other steps have a part: whom sums go over differs.",
            "dk_s is a sum over all t that look at s, dq_t a sum over all s that t looks at; the "
            "value's part of h_s is Σ_t α_ts dc_t"),
        "The value's part takes the loss at t to h_s in one step, however far apart they are.",
        "Without the triangle the model reads what it is to predict, and every gradient is right.",
        ("additive",)),
    Exercise(
        "key-value-predict", "one state in one, two or three roles", TWELFTH,
        Source(TWELFTH, ("softmax", "PlainReader")), ("PlainReader.terms",), """
    k, v, p = the columns of h for each role           `parts` is there
    M_ti = tanh(Z_ti), Z_ti = k_i W_Y + k_t W_h        for the `window` steps before t
    α_t  = softmax(M_t w)        r_t = Σ_i α_ti v_i    y_t = tanh(r_t W_r + p_t W_x)

Daniluk et al. 2017, equations 5 to 9. Given ∂L/∂y and ∂L/∂α, add to the five parameters'
gradients, and return the four terms of ∂L/∂h, each (T, n): of the query, key, value, and predict.
`backward` puts them into their columns.
""", key_value_cases, (
            "With one role all four terms meet in the same numbers of h; with three each but the "
            "first two has its own.",
            "k is used as key and as query: k_i W_Y and k_t W_h. Which axis of dZ is summed for "
            "which?",
            "query: Σ_i dZ_ti W_hᵀ; key: Σ_t dZ_ti W_Yᵀ; value: αᵀ dr; predict: da W_xᵀ, where da "
            "is the gradient in front of the tanh of y"),
        "The terms stand apart, so that their conflict can be measured: lesson 12 does.",
        "A window that reaches the word itself is no law's business: the gradients are right.",
        ("causal",)),
]
