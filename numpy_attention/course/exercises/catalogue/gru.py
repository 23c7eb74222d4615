"""Exercise gru: the gated recurrent unit, in both conventions of its reset and update gates."""

import numpy as np

from numpy_attention.course.exercises.exercise import (
    Case,
    Exercise,
    Source,
    batch_mistakes,
    instead,
    set_mistakes,
    sigmoid_mistakes,
    tanh_mistakes,
)
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
        ("    ds = da_n @ U_n.T\n    return ds * r, ds * h, s.T @ da_n",
         "    ds = da_n @ U_n.T\n    return ds * r, ds * h, h.T @ da_n",
         "you multiplied by h in dU_n; with reset=\"before\" it should be s = r h, because U_n "
         "multiplied r h"),
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
         "should be added, because the next step reads the state too"),
        *tanh_mistakes("da_n = dh * (1 - keep) * (1 - n**2)", "n"),
        *sigmoid_mistakes("da_r = dr * r * (1 - r)", "r"),
        *sigmoid_mistakes("da_z = dz * z * (1 - z)", "z"),
        *batch_mistakes("grads.b += da.sum(0)", "da", "b"),
        *batch_mistakes("grads.b_n += (da_n * r).sum(0)", "(da_n * r)", "b_n"),
        *set_mistakes("every step uses it", "grads.W += xs[t].T @ da", "grads.b += da.sum(0)",
                      "grads.U += np.concatenate([h.T @ da_r, h.T @ da_z, dU_n], axis=1)",
                      "grads.b_n += (da_n * r).sum(0)"),
        *instead("            dh = dh * keep + dh_seen + da_r @ U_r.T + da_z @ U_z.T\n",
                 "dh * keep + dh_seen",
                 ("dh * keep * runs + dh_seen", "you dropped the kept part past a sentence's end; "
                  "dh keep should come back there unchanged, because keep is 1"),
                 ("dh * (1 - keep) + dh_seen", "you multiplied the kept part by 1 − keep; it "
                  "should be dh keep, because h′ contains keep h"),
                 ("dh + dh_seen", "you passed dh on whole; it should be dh keep, because h′ "
                  "contains keep h"),
                 ("dh * z + dh_seen", "you took z for keep in dh; it should be dh keep, because "
                  "keep is 1 − z for \"new\", and 1 past the end")),
        *instead("da_n = dh * (1 - keep) * (1 - n**2)", "(1 - keep) * (1 - n**2)",
                 ("(1 - n**2)", "you left 1 − keep out of dn; it should be dh (1 − keep), because "
                  "that is the candidate's share of h′"),
                 ("(1 - z) * (1 - n**2)", "you took 1 − z for 1 − keep; keep is z only for "
                  "\"old\", and 1 past a sentence's end"),
                 ("z * (1 - n**2)", "you took z for 1 − keep in dn; it should be 1 − keep, because "
                  "that is the candidate's share in both conventions")),
        *instead("dkeep = np.where(runs, dh * (h - n), 0)", "dh * (h - n)",
                 ("dh * h", "you left n out of dkeep; it should be dh (h − n), because h′ contains "
                  "(1 − keep) n too"),
                 ("-dh * n", "you left h out of dkeep; it should be dh (h − n), because h′ "
                  "contains keep h too"),
                 ("dys[t] * (h - n)", "you took only the upstream gradient in dkeep; it should be "
                  "the whole dh, because the next step reads h′ too")),
        *instead("        dr = da_n * s\n        ds = da_n * r\n"
                 "        return ds @ U_n.T, dr, h.T @ ds\n",
                 "        dr = da_n * s\n        ds = da_n * r\n"
                 "        return ds @ U_n.T, dr, h.T @ ds\n",
                 ("        ds = da_n @ U_n.T\n        return ds * r, ds * h, h.T @ (da_n * r)\n",
                  "you multiplied by r after U_n; with reset=\"after\" dh should be (da_n r) U_nᵀ "
                  "and dr da_n s, because r multiplies the product"),
                 ("        ds = da_n @ U_n.T\n        return ds * r, ds * h, s.T @ da_n\n",
                  "you used the equations of \"before\" in both; with \"after\" dr should be "
                  "da_n s, and dh (da_n r) U_nᵀ"),
                 ("        ds = da_n * r\n        return ds @ U_n.T, da_n * h, h.T @ ds\n",
                  "you took h for s in dr; with reset=\"after\" it should be da_n s, because r "
                  "multiplies s = h U_n + b_n"),
                 ("        ds = da_n * r\n        return ds @ U_n.T, da_n * (h @ U_n), h.T @ ds\n",
                  "you left b_n out of dr; with reset=\"after\" it should be da_n s, because s "
                  "contains b_n"),
                 ("        ds = da_n\n        return ds @ U_n.T, da_n * s, h.T @ ds\n",
                  "you left r out; with reset=\"after\" ds should be da_n r, because r multiplies "
                  "s"),
                 ("        ds = da_n * r\n        return da_n @ U_n.T, da_n * s, h.T @ ds\n",
                  "you left r out of dh; with reset=\"after\" it should be (da_n r) U_nᵀ, because "
                  "r multiplies the product"),
                 ("        ds = da_n * r\n        return ds @ U_n.T, ds * s, h.T @ ds\n",
                  "you multiplied dr by r; it should be da_n s, because the derivative of r s by r "
                  "is s")),
        *instead("    ds = da_n @ U_n.T\n    return ds * r, ds * h, s.T @ da_n\n",
                 "    ds = da_n @ U_n.T\n    return ds * r, ds * h, s.T @ da_n\n",
                 ("    ds = da_n @ U_n.T\n    return ds, ds * h, s.T @ da_n\n",
                  "you left r out of dh; with reset=\"before\" it should be ds r, because s = r h"),
                 ("    ds = da_n @ U_n.T\n    return ds * r, ds * s, s.T @ da_n\n",
                  "you took s for h in dr; with reset=\"before\" it should be ds h, because s = r "
                  "h"),
                 ("    return (da_n * r) @ U_n.T, da_n * s, h.T @ (da_n * r)\n",
                  "you used the equations of \"after\" in both; with \"before\" ds should be da_n "
                  "U_nᵀ, dr ds h, and dh ds r"),
                 ("    ds = da_n @ U_n\n    return ds * r, ds * h, s.T @ da_n\n",
                  "you forgot to transpose U_n; with reset=\"before\" ds should be da_n U_nᵀ")),
        *instead("da = np.concatenate([da_r, da_z, da_n], axis=1)", "[da_r, da_z, da_n]",
                 ("[da_z, da_r, da_n]", "you put da_z before da_r; the order should be r, z, n, "
                  "because that is how W, U and b are cut"),
                 ("[da_n, da_r, da_z]", "you put da_n first; the order should be r, z, n, because "
                  "that is how W, U and b are cut")),
        *instead("grads.U += np.concatenate([h.T @ da_r, h.T @ da_z, dU_n], axis=1)",
                 "[h.T @ da_r, h.T @ da_z, dU_n]",
                 ("[h.T @ da_r, h.T @ da_z, h.T @ da_n]", "you took hᵀ da_n for dU_n; it should be "
                  "what see_backward returns, because U_n and r meet there"),
                 ("[(r * h).T @ da_r, (z * h).T @ da_z, dU_n]", "you multiplied h by the gates; it "
                  "should be hᵀ da, because the gates read h itself"),
                 ("[h.T @ da_z, h.T @ da_r, dU_n]", "you put dU_z before dU_r; the order should be "
                  "r, z, n, because that is how U is cut")),
        ("            grads.W += xs[t].T @ da\n"
         "            grads.U += np.concatenate([h.T @ da_r, h.T @ da_z, dU_n], axis=1)\n"
         "            grads.b += da.sum(0)\n",
         "            grads.W[...] = xs[t].T @ da\n"
         "            grads.U[...] = np.concatenate([h.T @ da_r, h.T @ da_z, dU_n], axis=1)\n"
         "            grads.b[...] = da.sum(0)\n",
         "you set the gradients of W, U and b; they should be added with +=, because every step "
         "uses them")))
