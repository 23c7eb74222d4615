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
         "where z is the share of the new, keep is 1 − z: a minus"),
        ("dkeep = np.where(runs, dh * (h - n), 0)", "dkeep = np.where(runs, dh * (n - h), 0)",
         "the sign of z: keep multiplies h, 1 − keep multiplies n"),
        ("dkeep = np.where(runs, dh * (h - n), 0)", "dkeep = dh * (h - n)",
         "past a sentence's end keep is 1 for any z: the gradient of z is 0"),
        ("dh = dh * keep + dh_seen + da_r @ U_r.T", "dh = dh_seen + da_r @ U_r.T",
         "the old state is kept, too: the gradient past the gates is missing"),
        ("dh_seen + da_r @ U_r.T + da_z", "dh_seen + da_z",
         "the reset gate reads the old state: the gradient through it is missing"),
        ("dh * keep + dh_seen + da_r", "dh * keep + da_r",
         "the candidate reads the old state: the gradient through it is missing"),
        ("da_n = dh * (1 - keep) * (1 - n**2)", "da_n = dh * (1 - keep)",
         "the candidate's tanh was passed without its derivative"),
        ("    ds = da_n @ U_n.T\n    return ds * r, ds * h, s.T @ da_n",
         "    ds = da_n @ U_n.T\n    return ds * r, ds * h, h.T @ da_n",
         "with reset before the product, U_n met r h, not h"),
        ("return ds @ U_n.T, dr, h.T @ ds", "return ds @ U_n.T, dr, h.T @ da_n",
         "with reset after the product, what comes back to U_n went through r"),
        ("grads.b_n += (da_n * r).sum(0)", "grads.b_n += da_n.sum(0)",
         "b_n is inside of r: r is a factor of its gradient")))
