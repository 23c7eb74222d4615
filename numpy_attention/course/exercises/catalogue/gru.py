"""Exercise gru: the gated recurrent unit, in its conventions."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source
from numpy_attention.gradcheck import randomize


def cases(rng, its):
    for reset, update in (("after", "old"), ("before", "new")):
        b_n = np.empty(5) if reset == "after" else None
        cell = randomize(its.PlainGRU(np.empty((2, 15)), np.empty((5, 15)), np.empty(15), b_n,
                                      reset, update), rng)
        mask = np.arange(3)[:, None] < np.array([3, 2])
        inputs = rng.standard_normal((3, 2, 2)), rng.standard_normal((2, 5)), mask
        yield Case(cell.forward, inputs,
                   lambda dys, dlast, cache, grads, cell=cell: (
                       *cell.backward(dys, dlast, cache, grads), None), cell)


EXERCISE = Exercise(
    "gru", "the gated recurrent unit, in its conventions", "04_gru", position=3,
    needs=("masks", "bptt"),
    source=Source("04_gru", ("sigmoid", "see", "see_backward", "PlainGRU")),
    blanks=("see_backward", "PlainGRU.backward"), cases=cases,
    text="""
    r = σ(x W_r + h U_r + b_r)                  z = σ(x W_z + h U_z + b_z)
    n = tanh(x W_n + b + r (h U_n + b_n))       where reset is "after"
    n = tanh(x W_n + b + (r h) U_n)             where reset is "before"
    h′ = (1 − keep) n + keep h                  keep = z ("old"), or 1 − z ("new"); 1 past the end

`see` has the part of n that the reset gate is for; write its backward pass, then that of the whole
loop. Given ∂L/∂(all states) and ∂L/∂(last state), add to grads.W, grads.U, grads.b, and grads.b_n
where there is a b_n, and return ∂L/∂xs and ∂L/∂(first state).
""",
    hints=(
        "The old state goes on in three ways: kept, seen by the candidate, and through both "
        "gates.",
        "see: s is the operand on the inner side of r. Which of r and U_n comes first?",
        "after: dr = da_n s, ds = da_n r, dh = ds U_nᵀ, dU_n = hᵀ ds; before: ds = da_n U_nᵀ, dr = "
        "ds h, dh = ds r, dU_n = sᵀ da_n; dz = dh (h − n) or its negative"),
    why="The two conventions of reset differ in one function, those of update in one sign.",
    unseen="With r = 1 everywhere the two resets are one.",
    mistakes=(
        ("dz = dkeep if self.update == \"old\" else -dkeep", "dz = dkeep",
         "you left out a minus; where z is the share of the new state, keep is 1 − z"),
        ("dkeep = np.where(runs, dh * (h - n), 0)", "dkeep = np.where(runs, dh * (n - h), 0)",
         "you got the sign of the gradient of z wrong; keep multiplies h and 1 − keep multiplies "
         "n, so it should be h − n"),
        ("dkeep = np.where(runs, dh * (h - n), 0)", "dkeep = dh * (h - n)",
         "you gave z a gradient past a sentence's end; it should be 0 there, because keep is 1 for "
         "any z"),
        ("dh = dh * keep + dh_seen + da_r @ U_r.T", "dh = dh_seen + da_r @ U_r.T",
         "you left out the gradient past the gates; dh needs it, because the old state is kept "
         "too"),
        ("dh_seen + da_r @ U_r.T + da_z", "dh_seen + da_z",
         "you left out the gradient through the reset gate; dh needs it, because that gate reads "
         "the old state"),
        ("dh * keep + dh_seen + da_r", "dh * keep + da_r",
         "you left out the gradient through the candidate; dh needs it, because the candidate "
         "reads the old state"),
        ("da_n = dh * (1 - keep) * (1 - n**2)", "da_n = dh * (1 - keep)",
         "you left out the derivative of the candidate's tanh; it should be a factor 1 − n²"),
        ("    ds = da_n @ U_n.T\n    return ds * r, ds * h, s.T @ da_n",
         "    ds = da_n @ U_n.T\n    return ds * r, ds * h, h.T @ da_n",
         "you took h for U_n; with reset before the product it should be r h, which U_n met"),
        ("return ds @ U_n.T, dr, h.T @ ds", "return ds @ U_n.T, dr, h.T @ da_n",
         "you left out r; with reset after the product it should be a factor of what comes back to "
         "U_n"),
        ("grads.b_n += (da_n * r).sum(0)", "grads.b_n += da_n.sum(0)",
         "you left out r in the gradient of b_n; it should be a factor, because r multiplies "
         "b_n")))
