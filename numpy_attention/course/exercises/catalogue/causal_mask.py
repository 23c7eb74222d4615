"""Exercise causal-mask: a softmax in which no word attends to later words."""

import numpy as np

from numpy_attention.course.exercises.catalogue.softmax import MEAN
from numpy_attention.course.exercises.exercise import (
    Case,
    Exercise,
    Source,
    instead,
    softmax_mistakes,
)


def causal_softmax(e, lengths):
    """Scores e (B, T, T) and lengths (B,) → weights A (B, T, T), cache."""
    places = np.arange(e.shape[1])
    seen = places <= places[:, None]                            # (T, T): s ≤ t
    real = places < lengths[:, None]                            # (B, T): s is not padding
    visible = seen & real[:, None]                              # (B, T, T)
    e = np.where(visible, e, -np.inf)
    A = np.exp(e - e.max(2, keepdims=True))
    A = A / A.sum(2, keepdims=True)
    return A, A


def causal_softmax_backward(dA, cache, grads):
    """∂L/∂A → ∂L/∂e, and None for the lengths."""
    A = cache
    de = A * (dA - (A * dA).sum(2, keepdims=True))
    return de, None


def cases(rng, its):
    for T, lengths in ((5, [5, 3]), (4, [1, 4, 2])):
        yield Case(its.causal_softmax, (rng.standard_normal((len(lengths), T, T)),
                                        np.array(lengths)), its.causal_softmax_backward)


EXERCISE = Exercise(
    "causal-mask", "what may be seen", "09_transformer", position=2, needs=("scaled-dot",),
    source=Source(__file__, ("causal_softmax", "causal_softmax_backward")),
    blanks=("causal_softmax", "causal_softmax_backward"), cases=cases,
    text="""
    A_bts = exp(e_bts) / Σ exp(e_btr) over the visible places r, and 0 where s is not visible
    place s is visible for t  if  s ≤ t  and  s < the length of sentence b

Vaswani et al. 2017, section 3.2.3: the masked softmax of a decoder, for a batch of padded
sentences. e[b, t, s] is the score of the query at t with the key at s. Given ∂L/∂A (B, T, T),
return ∂L/∂e, and None for the lengths. Rows t past a sentence's end are computed like the others.
""",
    hints=(
        "Change a later score, e[b, t, s] with s > t: no weight may change. And every row adds up "
        "to 1.",
        "A score of −∞ becomes a weight of 0 when the softmax is taken: mask before it, not after.",
        "np.where(visible, e, −∞), then a softmax along the last axis; de = A (dA − Σ A dA)"),
    why="A hidden place has weight 0, and with it a gradient of 0: backward needs no mask.",
    unseen=("With a triangle that is one place too wide every gradient is right, and the model "
            "reads the word that it should predict."),
    mistakes=(
        *instead("places <= places[:, None]", "places <= places[:, None]",
                 ("places <= places[:, None] + 1", "you made the triangle one place too wide; it "
                  "should be s ≤ t, because place t + 1 holds the word to predict"),
                 ("places < np.maximum(places[:, None], 1)", "you hid the place t itself; it "
                  "should be visible, because the word at t is already written"),
                 ("places >= places[:, None]", "you reversed the triangle; it should be s ≤ t, "
                  "because the places after t are not written yet"),
                 ("places < places[:, None]", "you hid the place t itself; it should be visible, "
                  "because the word at t is already written")),
        ("visible = seen & real[:, None]", "mask = seen\n    visible = mask", "you left out the "
         "lengths; a place past the end should have weight 0, because it is padding"),
        ("visible = seen & real[:, None]", "mask = real[:, None]\n    visible = mask", "you left "
         "out the triangle; later places should have weight 0, because they are not written yet"),
        ("seen & real[:, None]", "seen | real[:, None]",
         "you joined both masks with or; it should be and, because a place must pass both"),
        ("visible, e, -np.inf", "visible, e, 0",
         "you masked with a score of 0; it should be −∞, because exp(0) = 1 is a weight too"),
        ("    e = np.where(visible, e, -np.inf)\n"
         "    A = np.exp(e - e.max(2, keepdims=True))\n    A = A / A.sum(2, keepdims=True)\n",
         "    A = np.exp(e - e.max(2, keepdims=True))\n"
         "    A = A / A.sum(2, keepdims=True) * visible\n", "you masked after the softmax; it "
         "should be before, because the visible weights must add up to 1"),
        *softmax_mistakes("de = A * (dA - (A * dA).sum(2, keepdims=True))", "A", "dA"),
        ("(A * dA).sum(2,", "(A * dA).mean(2,", MEAN),
        ("(A * dA).sum(2, keepdims=True)", "(A * dA).sum(1, keepdims=True)", "you summed over the "
         "queries; it should be over the keys, because each row of A is a softmax"),
        ("places < lengths[:, None]", "places <= lengths[:, None]", "you made each sentence one "
         "place too long; it should be s < length, because places count from 0"),
        ("places < lengths[:, None]", "places < lengths[:, None] - 1", "you made each sentence one "
         "place too short; it should be s < length, because places count from 0"),
        ("seen & real[:, None]", "seen & real[:, :, None]", "you masked the queries t past the "
         "end; it should be the keys s, because padding is not to be attended to"),
        ("e = np.where(visible, e, -np.inf)",
         "e = np.where(real[:, None], np.where(seen, e, 0), -np.inf)", "you gave later places the "
         "score 0, as np.tril does; it should be −∞, because exp(0) = 1 is a weight too"),
        ("A / A.sum(2, keepdims=True)", "A / A.sum(1, keepdims=True)", "you divided by the sum "
         "over the queries; it should be over the keys, because each row of A adds up to 1"),
        ("A / A.sum(2, keepdims=True)", "A",
         "you left out the division by the sum; each row of A should add up to 1"),
        ("de = A * (dA - (A * dA).sum(2, keepdims=True))", "de = dA", "you left out the gradient "
         "of the softmax; de should be A (dA − Σ A dA), because A = softmax(e)"),
        ("de = A * (dA - (A * dA).sum(2, keepdims=True))", "de = A * (dA - (A * dA).sum())",
         "you summed over everything; Σ A dA should go along each row, because each row of A is "
         "a softmax")))
