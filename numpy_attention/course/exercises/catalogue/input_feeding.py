"""Exercises input-feeding and find-in-feeding: s̃_t as an input of the decoder's next step."""

import numpy as np

from numpy_attention.course.exercises.exercise import (
    FIND_THE_LINE,
    Case,
    Exercise,
    Source,
    softmax_mistakes,
    tanh_mistakes,
)
from numpy_attention.gradcheck import randomize

LESSON = "15_local_attention"


def cases(rng, its):
    shapes = (3, 6), (6, 6), (6,), (7, 6), (6, 7), (6, 7)
    decoder = randomize(its.PlainDecoder(*map(np.empty, shapes)), rng, 0.5)
    inputs = [rng.standard_normal(shape) for shape in ((4, 2, 3), (2, 6), (2, 5, 6))]
    mask = np.arange(5) < np.array([[5], [3]])
    yield Case(decoder.forward, (*inputs, mask), decoder.backward, decoder)


INPUT_FEEDING = Exercise(
    "input-feeding", "the next step reads what attention found", LESSON, position=3,
    needs=("bptt", "dot", "softmax"), source=Source(LESSON, ("softmax", "PlainDecoder")),
    blanks=("PlainDecoder.backward",), cases=cases,
    text="""
    s_t  = tanh(y_t W + s_{t−1} U + s̃_{t−1} F + b)            s̃_0 = 0
    α_t  = softmax(M s_t)           c_t = α_t M
    s̃_t = tanh(c_t C + s_t W_h)

Luong's decoder with the dot score and input feeding (2015, section 3.3), over a batch with masks.
Given ∂L/∂s̃_t and ∂L/∂α_t for every t, add to the six parameters' gradients and return dys, ds of
the first state, and dM.
""",
    hints=(
        "s̃_t is used twice: by its own word and by the next step. s_t is used three times.",
        "Walk up from s̃_t: the layer, the context, the softmax, the score; then the step "
        "itself.",
        "s_t = tanh(r_t) and s̃_t = tanh(u_t): ds̃_t = ∂L/∂s̃_t + dr_{t+1} Fᵀ; ds_t = (through the "
        "scores) + du_t W_hᵀ + dr_{t+1} Uᵀ"),
    why="dr, the gradient in front of the tanh of s, is all that the step before has to know.",
    unseen="Without input feeding in the forward and the backward, all gradients are right again.",
    mistakes=(
        ("dfed = dfeds[t] + dr @ self.F.T", "dfed = dfeds[t]",
         "you left out the gradient from the next step; ds̃_t has two terms, because s̃_t is used "
         "twice"),
        ("du @ self.W_h.T + dr @ self.U.T", "du @ self.W_h.T",
         "you left out dr Uᵀ; ds_t needs it, because s_t goes on to the next step"),
        ("du @ self.W_h.T + dr @ self.U.T", "dr @ self.U.T",
         "you left out du W_hᵀ; ds_t needs it, because s_t meets the context in s̃_t"),
        ("ds = (M * de[:, :, None]).sum(1) + du", "ds = du",
         "you left out the gradient through the scores; ds_t needs it, because s_t is the query"),
        ("return np.array(dys[::-1])", "return np.array(dys)",
         "you returned dys from the last step to the first; reverse it at the end, because the "
         "loop fills it backwards"),
        ("grads.F += fed_before.T @ dr", "grads.F += fed.T @ dr",
         "you took s̃ of this step for F; it should be that of the step before, which F met"),
        ("grads.U += s_before.T @ dr", "grads.U += s.T @ dr",
         "you took the state after the step for U; it should be the one before it, because "
         "U multiplied that"),
        ("dM += de[:, :, None] * s[:, None] + alpha[:, :, None] * dc[:, None]",
         "dM += alpha[:, :, None] * dc[:, None]",
         "you left out the gradient through the scores; dM has two terms, because a word is a key "
         "as well as a value"),
        ("dM += de", "dM = de",
         "you set the gradient of M; it should be added with +=, because every step reads M"),
        *softmax_mistakes("de = alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))",
                          "alpha", "dalpha"),
        ("+ dalphas[t]", "", "you left out dα_t; it should be added, because the weights are an "
                             "output in addition to the context"),
        *tanh_mistakes("du = dfed * (1 - fed**2)", "fed", "s̃_t"),
        *tanh_mistakes("dr = ds * (1 - s**2)", "s", "s_t"),
        ("dr = ds * (1 - s**2)", "dr = ds * (1 - s_before**2)",
         "you took the tanh's derivative at the state before; it should be 1 − s_t², because s_t "
         "is the tanh"),
        ("dfed = dfeds[t] + dr @ self.F.T", "dfed = dr @ self.F.T",
         "you left out ∂L/∂s̃_t; it should be added, because every s̃_t is an output"),
        ("            dfed = dfeds[t] + dr @ self.F.T",
         "            dr = 0 * dr\n            dfed = dfeds[t] + dr @ self.F.T",
         "you carried nothing to the step before; dr should go back through U and F, because the "
         "next step reads s_t and s̃_t"),
        ("+ alpha[:, :, None] * dc[:, None]", "",
         "you left out the gradient through the context; dM has two terms, because a word is a "
         "value as well as a key"),
        ("dr @ self.U.T, dM", "ds, dM",
         "you returned the gradient of s_1; that of the first state should be dr Uᵀ, because s_0 "
         "goes through U and the tanh"),
        ("grads.W_h += s.T @ du", "grads.W_h += s_before.T @ du",
         "you took the state before the step for W_h; it should be s_t, which W_h met"),
        ("grads.W_h += s.T @ du", "grads.W_h += c.T @ du",
         "you took the context for W_h; it should be s_t, because s̃_t = tanh(c_t C + s_t W_h)"),
        ("grads.C += c.T @ du", "grads.C += s.T @ du",
         "you took the state for C; it should be the context, because s̃_t = tanh(c_t C + s_t "
         "W_h)"),
        ("dfeds[t] + dr @ self.F.T … dfed * (1 - fed**2)",
         "dfeds[t] … dfed * (1 - fed**2) + dr @ self.F.T",
         "you added dr Fᵀ after the tanh; it should be in ds̃_t, because the next step reads s̃_t, "
         "the tanh's output"),
        ("grads.b += dr.sum(0)", "grads.b += dr.mean(0)",
         "you averaged db over the batch; it should be a sum, because every sentence used b")))


FIND_IN_FEEDING = Exercise(
    "find-in-feeding", "what the next step reads", LESSON, position=4,
    needs=("input-feeding",), source=Source(LESSON, ("softmax", "PlainDecoder")), cases=cases,
    text=FIND_THE_LINE,
    hints=(
        "Only one parameter is wrong. So every gradient that flows through the steps is right.",
        "It is a product of two arrays, of which dr must be right.",
        "which s̃ met F in step t?"),
    why="F met the s̃ of the step before, as U met its s.",
    planted=("grads.F += fed_before.T @ dr", "grads.F += fed.T @ dr"))
