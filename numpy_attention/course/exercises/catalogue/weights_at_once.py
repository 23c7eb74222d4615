"""Exercise weights-at-once: the weight gradients of all steps in one product."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source, instead
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class Recurrence(Module):
    """h_t = tanh(x_t W + h_{t−1} U + b),  h_0 = 0."""

    W: Array  # (I, H)
    U: Array  # (H, H)
    b: Array  # (H,)

    def forward(self, xs):
        """xs (T, B, I) → h_1 … h_T (T, B, H), cache."""
        T, B, _ = xs.shape
        hs = np.zeros((T + 1, B, len(self.b)), xs.dtype)
        for t in range(T):
            hs[t + 1] = np.tanh(xs[t] @ self.W + hs[t] @ self.U + self.b)
        return hs[1:], (xs, hs)

    def backward(self, dhs, cache, grads):
        """∂L/∂h_t (T, B, H) → ∂L/∂x_t (T, B, I); adds to grads."""
        xs, hs = cache
        da = np.empty_like(dhs)
        dh = np.zeros_like(dhs[0])
        for t in reversed(range(len(dhs))):
            da[t] = (dhs[t] + dh) * (1 - hs[t + 1]**2)
            dh = da[t] @ self.U.T
        self.add_gradients(xs, hs, da, grads)
        return da @ self.W.T

    def add_gradients(self, xs, hs, da, grads):
        """Add to grads.W, U and b, given xs (T, B, I), h_0 … h_T (T + 1, B, H) and da (T, B, H)."""
        rows = da.reshape(-1, da.shape[2])                  # (T · B, H)
        grads.W += xs.reshape(-1, xs.shape[2]).T @ rows
        grads.U += hs[:-1].reshape(rows.shape).T @ rows
        grads.b += rows.sum(0)


def cases(rng, its):
    layer = its.Recurrence(rng.standard_normal((3, 4)), rng.standard_normal((4, 4)) / 2,
                           rng.standard_normal(4))
    yield Case(layer.forward, (rng.standard_normal((5, 2, 3)),), layer.backward, layer)


XS, HS = "xs.reshape(-1, xs.shape[2]).T", "hs[:-1].reshape(rows.shape).T"
ALL = (f"        grads.W += {XS} @ rows\n        grads.U += {HS} @ rows\n"
       "        grads.b += rows.sum(0)")
EXERCISE = Exercise(
    "weights-at-once", "the weight gradients of all steps in one product", "14_how_fast",
    position=1, needs=("bptt",), source=Source(__file__, ("Recurrence",)),
    blanks=("Recurrence.add_gradients",), cases=cases,
    text="""
    a_t = x_t W + h_{t−1} U + b        h_t = tanh(a_t)
    dW  = Σ_t x_tᵀ da_t                dU = Σ_t h_{t−1}ᵀ da_t          db = Σ_t Σ_b da_tb

The loop back in time has left ∂L/∂a_t for all steps in da (T, B, H). Add the gradients of W, U and
b to grads, each sum over t and over the batch in one product, without a loop. hs[t] is h_t.
""",
    hints=(
        "A sum over steps of products xᵀ da is one product, if the steps are put below each other.",
        "xs.reshape(-1, I) has T · B rows, in the same order as da.reshape(-1, H).",
        "dU: the rows of hs[:-1] meet those of da; db is the sum of da's rows"),
    why=("It is as many multiplications as in the loop, but the gradient (I, H) is read and "
         "written once in place of T times, and a product of T · B rows runs faster than one of B "
         "rows."),
    unseen="A loop over the steps gives the same gradients: only a clock tells the two apart.",
    mistakes=(
        ("hs[:-1].reshape(rows.shape)", "hs[1:].reshape(rows.shape)",
         "you took h_t for dU; it should be h_{t−1}, because a_t reads the state before"),
        ("grads.b += rows.sum(0)", "grads.b += rows.mean(0)",
         "you averaged db; it should be a sum, because every step of every row used b"),
        ("grads.b += rows.sum(0)", "grads.b += da[-1].sum(0)",
         "you took db from the last step; it should be the sum over all steps, because every step "
         "used b"),
        *instead("xs.reshape(-1, xs.shape[2]).T @ rows", "xs.reshape(-1, xs.shape[2]).T @ rows",
                 ("xs[::-1].reshape(-1, xs.shape[2]).T @ rows", "you reversed the steps of x; x_t "
                  "should meet da_t, because both belong to step t"),
                 ("xs.swapaxes(0, 1).reshape(-1, xs.shape[2]).T @ rows", "you put the batch before "
                  "the steps in x alone; its rows should be in the order of da's, because x_t of a "
                  "row meets da_t of the same row"),
                 ("xs[-1].T @ da[-1]", "you took dW from the last step; it should be the sum over "
                  "all steps, because every step used W"),
                 ("np.outer(xs.sum((0, 1)), rows.sum(0))", "you multiplied two sums for dW; it "
                  "should be a sum of products, because each x_t meets its own da_t")),
        ("grads.W += xs", "grads.W[...] = xs", "you set the gradient of W; it should be added "
                                               "with +=, because grads holds those of other calls"),
        ("grads.U += hs", "grads.U[...] = hs", "you set the gradient of U; it should be added "
                                               "with +=, because grads holds those of other calls"),
        (ALL,
         "        grads.W += xs[-1].T @ da[-1]\n        grads.U += hs[-2].T @ da[-1]\n"
         "        grads.b += da[-1].sum(0)",
         "you took the last step alone; the gradients should be sums over all steps, because "
         "every step used W, U and b"),
        (ALL,
         "        grads.W += xs[:, 0].T @ da[:, 0]\n        grads.U += hs[:-1, 0].T @ da[:, 0]\n"
         "        grads.b += da[:, 0].sum(0)",
         "you took the first row of the batch alone; the gradients should be sums over the "
         "batch, because every row used W, U and b"),
        (ALL,
         "        grads.W += xs.reshape(-1, xs.shape[2]).T @ rows / len(rows)\n"
         "        grads.U += hs[:-1].reshape(rows.shape).T @ rows / len(rows)\n"
         "        grads.b += rows.mean(0)",
         "you averaged over steps and batch; the gradients should be sums, because every step of "
         "every row used W, U and b"),
        (ALL,
         "        grads.W += xs.reshape(-1, xs.shape[2]).T @ rows / da.shape[1]\n"
         "        grads.U += hs[:-1].reshape(rows.shape).T @ rows / da.shape[1]\n"
         "        grads.b += rows.sum(0) / da.shape[1]",
         "you averaged over the batch; the gradients should be sums, because every row used W, U "
         "and b"),
        (ALL,
         "        grads.W += xs.reshape(-1, xs.shape[2]).T @ rows / len(da)\n"
         "        grads.U += hs[:-1].reshape(rows.shape).T @ rows / len(da)\n"
         "        grads.b += rows.sum(0) / len(da)",
         "you averaged over the steps; the gradients should be sums, because every step used W, "
         "U and b"),
        ("hs[:-1].reshape(rows.shape).T @ rows", "hs[-2].T @ da[-1]",
         "you took dU from the last step; it should be the sum over all steps, because every "
         "step used U"),
        ("hs[:-1].reshape(rows.shape).T @ rows", "np.outer(hs[:-1].sum((0, 1)), rows.sum(0))",
         "you multiplied two sums for dU; it should be a sum of products, because each h_{t−1} "
         "meets its own da_t"),
        ("hs[:-1].reshape(rows.shape)", "hs[:-1].swapaxes(0, 1).reshape(rows.shape)",
         "you put the batch before the steps in h alone; its rows should be in the order of "
         "da's, because h_{t−1} of a row meets da_t of the same row"),
        *((f"grads.{line}", f"d{line.replace('+=', '=')}", f"you did not add the gradient of "
           f"{line[0]} to grads; it should be grads.{line[0]} += …, because it is read from there")
          for line in ("W += xs", "U += hs", "b += rows")),
        *((right, wrong, "you reshaped where a transpose is needed; it should be "
           ".reshape(T · B, …).T, because a reshape does not exchange rows and columns")
          for right, wrong in (
            (XS, "xs.reshape(xs.shape[2], -1)"), (HS, "hs[:-1].reshape(hs.shape[2], -1)"),
            (f"{XS} … {HS}", "xs.reshape(xs.shape[2], -1) … hs[:-1].reshape(hs.shape[2], -1)"))),
        ("grads.b += rows", "grads.b[...] = rows",
         "you set the gradient of b; it should be added with +=, because grads holds those of "
         "other calls")))
