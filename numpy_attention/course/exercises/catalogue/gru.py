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
    n = tanh(x W_n + b + r (h U_n + b_n))       if reset is "after"
    n = tanh(x W_n + b + (r h) U_n)             if reset is "before"
    h′ = (1 − keep) n + keep h                  keep = z ("old"), or 1 − z ("new"); 1 past the end

`see` computes the part of n that the reset gate controls. Write its backward pass, then that of the
whole loop. Given the upstream gradients of all states and of the last state, add to grads.W,
grads.U and grads.b, and to grads.b_n if there is a b_n; return ∂L/∂xs and ∂L/∂(first state).
""",
    hints=(
        "The old state is used four times: it is kept, and the candidate and both gates read it.",
        "see: which comes first, the product with r or the product with U_n?",
        "after: dr = da_n s, ds = da_n r, dh = ds U_nᵀ, dU_n = hᵀ ds; before: ds = da_n U_nᵀ, dr = "
        "ds h, dh = ds r, dU_n = sᵀ da_n; dz = dh (h − n) or its negative"),
    why="The two conventions of reset differ in one function, those of update in one sign.",
    unseen="With r = 1 everywhere, both conventions of reset give the same numbers.",
    mistakes=(
        ("dz = dkeep if self.update == \"old\" else -dkeep", "dz = dkeep",
         "you forgot the minus of update=\"new\"; dz should be −dkeep there, because keep is 1 "
         "− z"),
        ("dkeep = np.where(runs, dh * (h - n), 0)", "dkeep = np.where(runs, dh * (n - h), 0)",
         "you took n − h; dkeep should be dh (h − n), because keep multiplies h and 1 − keep "
         "multiplies n"),
        ("dkeep = np.where(runs, dh * (h - n), 0)", "dkeep = dh * (h - n)",
         "you let padded steps move z; dz should be 0 past a sentence's end, because keep is 1 "
         "there whatever z is"),
        ("dh = dh * keep + dh_seen + da_r @ U_r.T", "dh = dh_seen + da_r @ U_r.T",
         "you left out the kept part of dh; it should add dh keep, because h′ contains keep h"),
        ("dh_seen + da_r @ U_r.T + da_z", "dh_seen + da_z",
         "you left the reset gate out of dh; it should add da_r U_rᵀ, because r reads the old "
         "state"),
        ("dh * keep + dh_seen + da_r", "dh * keep + da_r",
         "you left the candidate out of dh; it should add what see_backward returns, because n "
         "reads the old state"),
        ("da_n = dh * (1 - keep) * (1 - n**2)", "da_n = dh * (1 - keep)",
         "you passed dn through the tanh unchanged; it should be multiplied by 1 − n², because "
         "n is a tanh"),
        ("    ds = da_n @ U_n.T\n    return ds * r, ds * h, s.T @ da_n",
         "    ds = da_n @ U_n.T\n    return ds * r, ds * h, h.T @ da_n",
         "you multiplied by h in dU_n; with reset=\"before\" it should be s = r h, because U_n "
         "met r h"),
        ("return ds @ U_n.T, dr, h.T @ ds", "return ds @ U_n.T, dr, h.T @ da_n",
         "you used da_n in dU_n; with reset=\"after\" it should be ds = da_n r, because the "
         "product with U_n goes through r"),
        ("grads.b_n += (da_n * r).sum(0)", "grads.b_n += da_n.sum(0)",
         "you left r out of db_n; it should be da_n r, because r multiplies b_n"),
        ("            da_r = dr * r * (1 - r)\n            da_z = dz * z * (1 - z)\n",
         "            da_r = dr\n            da_z = dz\n",
         "you forgot σ's derivative in both gates; da should be dr r (1 − r) and dz z (1 − z), "
         "because r and z are sigmoids"),
        ("            da_r = dr * r * (1 - r)\n            da_z = dz * z * (1 - z)\n",
         "            da_r = dr * (1 - r**2)\n            da_z = dz * (1 - z**2)\n",
         "you used tanh's derivative in the gates; it should be σ (1 − σ), because r and z are "
         "sigmoids"),
        ("dh_seen + da_r @ U_r.T + da_z @ U_z.T", "dh_seen + da_r @ U_r.T",
         "you left the update gate out of dh; it should add da_z U_zᵀ, because z reads the old "
         "state"),
        ("dh_seen + da_r @ U_r.T + da_z @ U_z.T", "dh_seen",
         "you left both gates out of dh; it should add da_r U_rᵀ and da_z U_zᵀ, because both "
         "gates read the old state"),
        ("da_n = dh * (1 - keep) * (1 - n**2)", "da_n = dh * keep * (1 - n**2)",
         "you multiplied dn by keep; it should be 1 − keep, because that is the candidate's "
         "share of h′"),
        ("dh = dh + dys[t] ", "dh = dys[t] ",
         "you kept only the upstream gradient of this state; the gradient from the next step "
         "should be added, because the next step reads the state too")))
