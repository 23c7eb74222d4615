"""Exercises on queries, keys and values: lesson 08."""

from numpy_attention.course.exercises.exercise import Case, Exercise
from numpy_attention.course.exercises.source import Source

LESSON = "08_scaled_dot_product"


def visible_to(rng, B, T, S):
    visible = rng.random((B, T, S)) < 0.7
    visible[:, :, 0] = True                         # every query sees something
    return visible


def scaled_dot_cases(rng, its):
    for T, S in ((4, 5), (2, 3)):
        q, k, v = (rng.standard_normal(shape) for shape in ((2, T, 6), (2, S, 6), (2, S, 7)))
        yield Case(its.attention, (q, k, v, visible_to(rng, 2, T, S)),
                   lambda dY, dA, cache, grads: (*its.attention_backward(dY, dA, cache), None))


def multi_head_cases(rng, its):
    shapes = (3, 6), (6,), (7, 6), (7, 6), (6,), (6, 8), (8,)
    layer = its.PlainMultiHead(*(rng.standard_normal(shape) for shape in shapes), 3)
    inputs = rng.standard_normal((2, 4, 3)), rng.standard_normal((2, 5, 7))
    yield Case(layer.forward, (*inputs, visible_to(rng, 2, 4, 5)),
               lambda dy, dweights, cache, grads: (*layer.backward(dy, dweights, cache, grads), None),
               layer)


HEADS = [
    Exercise(
        "scaled-dot", "queries, keys, values", LESSON,
        Source(LESSON, ("softmax", "attention", "attention_backward")), ("attention_backward",), """
    E = q kᵀ / √d          scores (…, T, S), −∞ where a key is not visible
    A = softmax(E)         weights, along the last axis
    Y = A v                (…, T, d_v)

Vaswani et al. 2017, equation 1, with any axes in front. Given dY, and dA of whoever reads the
weights, return dq (…, T, d), dk (…, S, d), dv (…, S, d_v).
""", scaled_dot_cases, (
            "A hidden key has weight 0, and with it nothing comes back to its score.",
            "Y = A v is a product of two matrices; so is E, but for the scale.",
            "dv = Aᵀ dY; dA = dY vᵀ + dA; dE = A (dA − Σ A dA); dq = dE k / √d; dk = dEᵀ q / √d"),
        "The scale stands in both gradients, since it stands between both and the score.",
        "A softmax along the wrong axis has right gradients: its rows then do not add up to 1.",
        ("dot", "softmax")),
    Exercise(
        "multi-head", "many softmaxes side by side", LESSON,
        Source(LESSON, ("softmax", "attention", "attention_backward", "PlainMultiHead")),
        ("PlainMultiHead.backward",), """
    Q = X W_q + b_q        K = M W_k        V = M W_v + b_v
    each cut into h heads of d / h columns; each head attends by itself
    out = [head_1; …; head_h] W_o + b_o

Given ∂L/∂out (B, T, O), and ∂L/∂(mean of the heads' weights) (B, T, S), add to the seven
parameters' gradients, and return dX and dM. `split` and `join` are there.
""", multi_head_cases, (
            "M was used twice, for keys and for values.",
            "The mean over the heads gives each head an equal share of dweights.",
            "split(dy W_oᵀ) is the gradient of the heads' outputs; dq, dk, dv of all heads at once "
            "by attention_backward, joined; the rest is three linear layers"),
        "Splitting and joining move numbers about and change none: their gradients are each "
        "other.",
        "Heads that are cut out of the wrong axis mix words, with right gradients.",
        ("scaled-dot", "linear")),
]
