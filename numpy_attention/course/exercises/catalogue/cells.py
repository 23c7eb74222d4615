"""Exercises on cells with gates: lessons 03 and 04."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise
from numpy_attention.course.exercises.source import Source
from numpy_attention.gradcheck import randomize

THIRD = "03_lstm"
FOURTH = "04_gru"


def lstm_cases(rng, its):
    for T, B in ((3, 2), (1, 3)):
        cell = randomize(its.PlainLSTM(np.empty((2, 20)), np.empty((5, 20)), np.empty(20)), rng)
        inputs = rng.standard_normal((T, B, 2)), tuple(rng.standard_normal((2, B, 5)))
        yield Case(cell.forward, inputs, cell.backward, cell)


def gru_cases(rng, its):
    for reset, update in (("after", "old"), ("before", "new")):
        b_n = np.empty(5) if reset == "after" else None
        cell = randomize(its.PlainGRU(np.empty((2, 15)), np.empty((5, 15)), np.empty(15), b_n,
                                      reset, update), rng)
        mask = np.arange(3)[:, None] < np.array([3, 2])
        inputs = rng.standard_normal((3, 2, 2)), rng.standard_normal((2, 5)), mask
        yield Case(cell.forward, inputs,
                   lambda dys, dlast, cache, grads, cell=cell: (
                       *cell.backward(dys, dlast, cache, grads), None), cell)


CELLS = [
    Exercise(
        "lstm", "one step of long short-term memory", THIRD,
        Source(THIRD, ("sigmoid", "PlainLSTM")), ("PlainLSTM.step_backward",), """
    a = x W + h U + b, cut into a_i, a_f, a_g, a_o          (B, H) each
    i = σ(a_i)      f = σ(a_f)      g = tanh(a_g)      o = σ(a_o)
    c′ = f c + i g                  h′ = o tanh(c′)

Given ∂L/∂h′ and, from the step after alone, ∂L/∂c′ (B, H), add to grads.W, grads.U and grads.b, and
return dx, and ∂L/∂h and ∂L/∂c of the state before. The loop over time is there, and calls you.
""", lstm_cases, (
            "c′ has two listeners: the next step, and h′.",
            "First all that reaches c′, then the four gates, then one product for each parameter.",
            "dc ← dc + dh o (1 − tanh²(c′)); da_i = dc g i (1 − i); da_f = dc c f (1 − f); "
            "da_g = dc i (1 − g²); da_o = dh tanh(c′) o (1 − o); ∂L/∂c = dc f"),
        "What goes from c′ to c is multiplied with f alone: no matrix, no tanh. That is the path "
        "on which a gradient can travel far.",
        "With a forget gate that is 1 everywhere, da_f is 0 and any factor in it is right.",
        ("bptt",)),
    Exercise(
        "gru", "the gated recurrent unit, in its conventions", FOURTH,
        Source(FOURTH, ("sigmoid", "see", "see_backward", "PlainGRU")),
        ("see_backward", "PlainGRU.backward"), """
    r = σ(x W_r + h U_r + b_r)                  z = σ(x W_z + h U_z + b_z)
    n = tanh(x W_n + b + r (h U_n + b_n))       where reset is "after"
    n = tanh(x W_n + b + (r h) U_n)             where reset is "before"
    h′ = (1 − keep) n + keep h                  keep = z ("old"), or 1 − z ("new"); 1 past the end

`see` has the part of n that the reset gate is for; write its backward pass, then that of the whole
loop. Given ∂L/∂(all states) and ∂L/∂(last state), add to grads.W, grads.U, grads.b, and grads.b_n where
there is a b_n, and return ∂L/∂xs and ∂L/∂(first state).
""", gru_cases, (
            "The old state goes on in three ways: kept, seen by the candidate, and through both "
            "gates.",
            "see: s is what stands on the inner side of r. Which of r and U_n comes first?",
            "after: dr = da_n s, ds = da_n r, dh = ds U_nᵀ, dU_n = hᵀ ds; before: ds = da_n U_nᵀ, "
            "dr = ds h, dh = ds r, dU_n = sᵀ da_n; dz = dh (h − n) or its negative"),
        "The two conventions of reset differ in one function, those of update in one sign.",
        "With r = 1 everywhere the two resets are one.", ("masks", "bptt")),
]
