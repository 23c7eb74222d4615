"""Exercises on what every model is made of: lessons 01 to 03, 06 and the metrics."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise
from numpy_attention.course.exercises.source import Source

FIRST = "01_gradients_by_hand"
SECOND = "02_recurrent_network"


def softmax_cases(rng, its):
    for shape in ((3, 5), (2, 4)):
        yield Case(its.softmax, (rng.standard_normal(shape),), its.softmax_backward)


def cross_entropy_cases(rng, its):
    for N, V in ((6, 4), (5, 7)):
        inputs = rng.standard_normal((N, V)), rng.integers(V, size=N)
        yield Case(its.cross_entropy, inputs, its.cross_entropy_backward)


def embedding_cases(rng, its):
    table = its.Embedding(rng.standard_normal((6, 3)))
    for ids in (np.array([2, 0, 2, 5, 2, 1]), np.array([3, 3])):
        yield Case(table.forward, (ids,), table.backward, table)


def linear_cases(rng, its):
    layer = its.Linear(rng.standard_normal((4, 3)), rng.standard_normal(3))
    for B in (5, 1):
        yield Case(layer.forward, (rng.standard_normal((B, 4)),), layer.backward, layer)


def squash_cases(rng, its):
    inputs = rng.standard_normal((3, 4)), rng.standard_normal((3, 4))
    yield Case(its.squash, inputs, its.squash_backward)


def dropout_cases(rng, its):
    for p in (0.3, 0.5):
        inputs = rng.standard_normal((4, 6)), rng.random((4, 6)) >= p, p
        yield Case(its.dropout, inputs, its.dropout_backward)


def clipping_cases(rng, its):
    for size in (0.1, 1.0, 3.0):
        arrays = [size * rng.standard_normal(shape) for shape in ((3, 4), (5,))]
        yield Case(its.clip, (arrays, 2.5))
    yield Case(its.clip, ([np.zeros((2, 2))], 1.0))


def adam_cases(rng, its):
    for step in (1, 2, 30):
        x, g, m = rng.standard_normal((3, 4))
        v = rng.random(4)
        yield Case(its.adam, (x, g, m, v, step, 0.1, 0.9, 0.99, 0.01))


def perplexity_cases(rng, its):
    for lengths in ([3, 5], [2, 2, 4]):
        mask = np.arange(5)[:, None] < np.array(lengths)
        yield Case(its.perplexity, (4 * rng.random(mask.shape), mask))


def pointing_cases(rng, its):
    links = {(0, 1), (1, 1), (1, 3), (3, 0), (4, 2)}
    for _ in range(2):
        yield Case(its.pointing, (rng.random((5, 6)), links))
    yield Case(its.pointing, (np.eye(6), {(0, 0), (1, 2), (3, 3), (3, 1)}))


BASICS = [
    Exercise(
        "softmax", "weights from scores, and the way back", FIRST,
        Source("basics", ("softmax", "softmax_backward")), ("softmax_backward",), """
    α_j = exp(e_j) / Σ_k exp(e_k)          a row e (S,) of scores → weights α (S,)

Given ∂L/∂α, return ∂L/∂e, for every row of a batch (B, S). Every α_j depends on every e_k, since
they add up to 1. `cache` is what the forward returned last. `grads` is where the gradients of
parameters go: there are none here.
""", softmax_cases, (
            "Adding one number to all scores changes no weight. So what must the parts of ∂L/∂e "
            "of a row add up to?",
            "∂α_j/∂e_k = α_j ([j = k] − α_k). Sum over j what ∂L/∂α_j sends back through it.",
            "de_k = α_k (dα_k − Σ_j α_j dα_j)"),
        "A score falls if a look at its word raises the loss by more than the average look, "
        "Σ_j α_j dα_j, does. The Jacobian (S, S) is never written down: it is a diagonal matrix "
        "minus an outer product, and so costs S operations, not S².",
        "A forward with its maximum taken over the whole batch passes every check, until one row "
        "lies 800 below another and all its powers are 0."),
    Exercise(
        "cross-entropy", "from the loss to the scores in one step", FIRST,
        Source("basics", ("cross_entropy", "cross_entropy_backward")),
        ("cross_entropy_backward",), """
    L = 1/N Σ_n (log Σ_v exp(z_nv) − z_n,y_n)          z (N, V) scores, y (N,) the right classes

Given dloss, which is ∂(what comes after)/∂L, return the gradient of z (N, V), and None for y.
""", cross_entropy_cases, (
            "The gradient of a row adds up to 0. Why?",
            "log Σ_v exp(z_v) has the derivative exp(z_v) / Σ exp = p_v. What has −z_y?",
            "dz_n = (p_n − onehot(y_n)) · dloss / N"),
        "Softmax and logarithm are derived together, so nothing is divided by p, which may be 0.",
        "A forward that predicts the word it has just read has right gradients, and learns "
        "nothing.", ("softmax",)),
    Exercise(
        "embedding", "a table whose rows are read more than once", FIRST,
        Source("basics", ("Embedding",)), ("Embedding.backward",), """
    rows = E[ids]          E (V, D), ids (N,) → (N, D)

Given ∂L/∂rows (N, D), add to grads.E (V, D), and return nothing. The same id may stand in ids many
times. `grads` has the same arrays as the layer, and may hold gradients of other calls already.
""", embedding_cases, (
            "The sum of all elements of dE is the sum of all elements of drows, whatever the ids "
            "are.",
            "rows = onehot(ids) E, with onehot (N, V). What is dE of that product?",
            "dE[v] = Σ over all n with ids_n = v of drows_n"),
        "np.add.at adds once for every place; `grads.E[ids] += …` reads the rows, adds, and writes "
        "each row once, so that the last of equal ids wins.",
        "Checked with ids that are all distinct, the wrong one is right."),
    Exercise(
        "linear", "a layer, over a batch", FIRST, Source("basics", ("Linear",)),
        ("Linear.backward",), """
    y = x W + b            x (B, I), W (I, O), b (O,) → y (B, O)

Given ∂L/∂y (B, O), add to grads.W and grads.b, and return ∂L/∂x (B, I).
""", linear_cases, (
            "W and b were used by each of the B rows: what is used many times receives many "
            "gradients, and they add up.",
            "y_bo = Σ_i x_bi W_io + b_o. Which x and which dy meet in dW_io?",
            "dW = xᵀ dy, db = Σ_b dy_b, dx = dy Wᵀ"),
        "Shapes decide each product: dW must be (I, O), and x (B, I) and dy (B, O) can make that "
        "in one way only. So check with sizes that all differ.",
        "With W = 0 every wrong dx is right: it is 0."),
    Exercise(
        "squash", "tanh and σ through their outputs", SECOND,
        Source("basics", ("squash", "squash_backward")), ("squash_backward",), """
    x = tanh(a)            s = σ(b) = 1 / (1 + exp(−b))

Given ∂L/∂x and ∂L/∂s, return ∂L/∂a and ∂L/∂b. The cache holds x and s alone, not a and b.
""", squash_cases, (
            "Neither derivative is ever negative, and both are largest where the input is 0: 1 "
            "and 1/4.",
            "tanh′(a) = 1 − tanh(a)². Write σ′ by σ itself in the same way.",
            "da = dx (1 − x²), db = ds s (1 − s)"),
        "What the forward needs no more need not be kept: the outputs say all that the derivatives "
        "need. A network's memory in training is what its backward pass reads.",
        "exp(−b) overflows for b of −1000; every check at small b passes."),
    Exercise(
        "dropout", "what is left out, and what is left", "03_lstm",
        Source("basics", ("dropout", "dropout_backward")), ("dropout", "dropout_backward"), """
    y = x · keep / (1 − p)          keep (B, H): True with probability 1 − p

Write both passes. What is kept is made larger by 1/(1 − p), so that the expectation of y is x and
nothing has to be done when it is no training any more. What the cache holds is up to you. Return
∂L/∂x, and None for each of keep and p.
""", dropout_cases, (
            "Where nothing went forward nothing comes back.",
            "y is x times a number that does not depend on x.",
            "dx = dy · keep / (1 − p)"),
        "The mask is drawn once and used in both passes; drawing it anew in the backward pass is a "
        "mistake that a gradient check with fixed draws cannot see.",
        "A mask drawn once for all time steps, or anew for each: both have right gradients, and "
        "they are two different models."),
    Exercise(
        "clipping", "one factor for all", SECOND, Source("basics", ("clip",)), ("clip",), """
    norm   = √(Σ over all arrays and elements of g²)
    factor = min(1, most / norm)

Given a list of arrays and the largest norm that they may have together, return the list of arrays
times the factor, and the norm that they had (Pascanu et al. 2013). Arrays of zeros stay zeros.
""", clipping_cases, (
            "The direction of the gradient as a whole does not change.",
            "The norm is that of one long vector in which all arrays stand.",
            "g ← g · most / norm where norm > most"),
        "One factor for all arrays keeps every share as it is: clipping shortens a step, it does "
        "not turn it.",
        "Clipping before the gradients of two halves of a batch are added is no clipping of "
        "their sum."),
    Exercise(
        "adam", "two means and their corrections", SECOND, Source("basics", ("adam",)),
        ("adam",), """
    m ← β₁ m + (1 − β₁) g            v ← β₂ v + (1 − β₂) g²
    m̂ = m / (1 − β₁ᵗ)                v̂ = v / (1 − β₂ᵗ)             t = 1, 2, 3, …
    x ← x − rate · m̂ / (√v̂ + ε)

Write one step (Kingma & Ba 2015, algorithm 1): return the new x, m and v.
""", adam_cases, (
            "In the very first step, with m = v = 0, every element moves by nearly the rate, "
            "however large its gradient is.",
            "m after t steps is a sum with weights that add up to 1 − β₁ᵗ, not to 1.",
            "m̂ and v̂ are used in the step; m and v are kept"),
        "√v̂ has the unit of the gradient, so the step has that of the rate alone: multiplying the "
        "loss by 10 changes nothing but ε's share.",
        "Without the hats the first steps are too long by a factor of (1 − β₁)/√(1 − β₂): with the "
        "usual numbers three times. It trains, only worse."),
    Exercise(
        "perplexity", "how many words a model hesitates between", SECOND,
        Source("basics", ("perplexity",)), ("perplexity",), """
    perplexity = exp(1/N Σ −log p)          over the N words that are there

losses (T, B) holds −log p, natural logarithms; mask (T, B) is False where a sequence has ended.
""", perplexity_cases, (
            "A model that gives every one of V words the same probability has a perplexity of V, "
            "however long its texts are.",
            "It is a mean over words, not over sequences, and not over the places of padding.",
            "exp(sum of the losses where the mask is / how many that are)"),
        "It is the geometric mean of 1/p: so many equally likely words would be as hard.",
        "Counting a word that is never predicted, such as each sentence's end, makes it smaller "
        "and compares with nothing.", ("cross-entropy",)),
    Exercise(
        "pointing", "does the largest weight stand on the right word?", "06_additive_attention",
        Source("basics", ("pointing",)), ("pointing",), """
    pointing = share of target words t with a sure link for which (t, argmax_s α_ts) is a sure link

weights (T, S): a row for each target word; links: a set of pairs (t, s), the sure ones.
""", pointing_cases, (
            "Target words without a sure link are not asked; those with two have two right "
            "answers.",
            "First which words are asked, then how many of them point right.",
            "right / asked, with asked = {t : (t, s) in links for some s}"),
        "It says what the heatmap shows: where the darkest cell of a row lies.",
        "Weights shifted by one word point right at the wrong time: the score is then low and "
        "everything else is as it should be."),
]
