"""Exercises input-feeding and find-in-feeding: the next step reads what attention found."""

import numpy as np

from numpy_attention.course.exercises.exercise import (
    FIND_THE_LINE,
    Case,
    Exercise,
    Source,
    softmax_mistakes,
)
from numpy_attention.gradcheck import randomize

LESSON = "07_luong_attention"


def cases(rng, its):
    shapes = (3, 6), (6, 6), (6,), (7, 6), (6, 7), (6, 7)
    decoder = randomize(its.PlainDecoder(*map(np.empty, shapes)), rng, 0.5)
    inputs = [rng.standard_normal(shape) for shape in ((3, 2, 3), (2, 6), (2, 5, 6))]
    mask = np.arange(5) < np.array([[5], [3]])
    yield Case(decoder.forward, (*inputs, mask), decoder.backward, decoder)


INPUT_FEEDING = Exercise(
    "input-feeding", "the next step reads what attention found", LESSON, position=7,
    needs=("bptt", "dot", "softmax"), source=Source(LESSON, ("softmax", "PlainDecoder")),
    blanks=("PlainDecoder.backward",), cases=cases,
    text="""
    h_t  = tanh(y_t W + h_{t−1} U + h̃_{t−1} F + b)            h̃_0 = 0
    α_t  = softmax(M h_t)           c_t = α_t M
    h̃_t = tanh(c_t C + h_t W_h)

Luong's decoder with the dot score and input feeding (2015, section 3.3), over a batch with masks.
Given ∂L/∂h̃_t and ∂L/∂α_t for every t, add to the six parameters' gradients and return dys, dh of
the first state, and dM.
""",
    hints=(
        "h̃_t is used twice: by its own word and by the next step. h_t is used three times.",
        "Walk up from h̃_t: the layer, the context, the softmax, the score; then the step "
        "itself.",
        "h_t = tanh(k_t) and h̃_t = tanh(u_t): dh̃_t = ∂L/∂h̃_t + dk_{t+1} Fᵀ; dh_t = (through the "
        "scores) + du_t W_hᵀ + dk_{t+1} Uᵀ"),
    why="dk, the gradient in front of the tanh of h, is all that the step before has to know.",
    unseen="Without input feeding in the forward and the backward, all gradients are right again.",
    mistakes=(
        ("dfed = dfeds[t] + dk @ self.F.T", "dfed = dfeds[t]",
         "h̃_t is used twice: the gradient from the next step is missing"),
        ("du @ self.W_h.T + dk @ self.U.T", "du @ self.W_h.T",
         "h_t goes on to the next step: dk Uᵀ is missing"),
        ("du @ self.W_h.T + dk @ self.U.T", "dk @ self.U.T",
         "h_t meets the context in h̃_t: du W_hᵀ is missing"),
        ("dh = (M * de[:, :, None]).sum(1) + du", "dh = du",
         "h_t is a query: the gradient through the scores is missing"),
        ("return np.array(dys[::-1])", "return np.array(dys)",
         "the loop goes from the last step to the first, and so does the list that it fills: "
         "dys is reversed at the end"),
        ("grads.F += fed_before.T @ dk", "grads.F += fed.T @ dk",
         "F met h̃ of the step before"),
        ("grads.U += h_before.T @ dk", "grads.U += h.T @ dk",
         "U met the state before the step"),
        ("dM += de[:, :, None] * h[:, None] + alpha[:, :, None] * dc[:, None]",
         "dM += alpha[:, :, None] * dc[:, None]",
         "a word is a key as well as a value: the gradient through its score is missing"),
        ("dM += de", "dM = de",
         "every step reads M: their gradients add up"),
        *softmax_mistakes("de = alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))",
                          "alpha", "dalpha"),
        ("+ dalphas[t]", "", "the weights are an output besides the context: dα_t is missing")))


FIND_IN_FEEDING = Exercise(
    "find-in-feeding", "what the next step reads", LESSON, position=8,
    needs=("input-feeding",), source=Source(LESSON, ("softmax", "PlainDecoder")), cases=cases,
    text=FIND_THE_LINE,
    hints=(
        "Only one parameter is wrong. So every gradient that flows through the steps is right.",
        "It is a product of two arrays, of which dk must be right.",
        "which h̃ met F in step t?"),
    why="F met the h̃ of the step before, as U met its h.",
    planted=("grads.F += fed_before.T @ dk", "grads.F += fed.T @ dk"))
