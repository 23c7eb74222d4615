"""Exercise bptt: back-propagation through time."""

import numpy as np

from numpy_attention.course.exercises.exercise import (
    Case,
    Exercise,
    Source,
    batch_mistakes,
    instead,
    set_mistakes,
    tanh_mistakes,
)
from numpy_attention.gradcheck import randomize


def cases(rng, its):
    for T, B in ((4, 3), (1, 2)):
        cell = randomize(its.PlainRNN(np.empty((2, 5)), np.empty((5, 5)), np.empty(5)), rng)
        inputs = rng.standard_normal((T, B, 2)), rng.standard_normal((B, 5))
        yield Case(cell.forward, inputs, cell.backward, cell)


EXERCISE = Exercise(
    "bptt", "back-propagation through time", "02_recurrent_network", position=2,
    needs=("linear", "squash"), source=Source("02_recurrent_network", ("PlainRNN",)),
    blanks=("PlainRNN.backward",), cases=cases,
    text="""
    h_t = tanh(x_t W + h_{t−1} U + b)          t = 1 … T

Given the upstream gradient ∂L/∂h_t for every t, and ∂L/∂h_T of what else uses the last state, add
to grads.W, grads.U and grads.b, and return ∂L/∂xs and ∂L/∂h_0. One W, one U and one b serve all
steps.
""",
    hints=(
        "h_t is used twice: by the layer above and by the next step. Both gradients add up.",
        "Go from the last step to the first and carry dh, the gradient of the state that you are "
        "about to reach, along.",
        "da_t = (dys_t + dh) (1 − h_t²), and the dh for the step before is da_t Uᵀ"),
    why="The loop is the forward's, backwards. dU meets the state *before* the step, h_{t−1}.",
    unseen="With T = 1 a backward that never carries dh on is right except for h_0.",
    mistakes=(
        ("            dh = dh + dys[t]\n", "            dh = dys[t]\n",
         "you left out the gradient from the next step; dh_t has two terms, because h_t is used "
         "twice"),
        ("grads.U += before[t].T @ da", "grads.U += after[t].T @ da",
         "you took the state after the step for U; it should be h_{t−1}, which U multiplied"),
        ("da = dh * (1 - after[t]**2)", "da = dh * (1 - before[t]**2)",
         "you took the derivative of the tanh at h_{t−1}; it should be taken at its output, h_t"),
        ("dh = da @ self.U.T", "dh = da @ self.U",
         "you went back through U; it should be Uᵀ"),
        ("        dh = dlast\n", "        dh = np.zeros_like(dlast)\n",
         "you began the loop with zeros; it should begin with dlast, because the last state is an "
         "output"),
        ("for t in reversed(range(len(xs)))", "for t in range(len(xs))",
         "you went from the first step to the last; it should be the other way, because later "
         "steps use earlier states"),
        *tanh_mistakes("da = dh * (1 - after[t]**2)", "after[t]", "h_t"),
        *batch_mistakes("grads.b += da.sum(0)", "da", "b"),
        *set_mistakes("it serves all steps", "grads.W += xs[t].T @ da",
                      "grads.U += before[t].T @ da", "grads.b += da.sum(0)"),
        *instead("            dh = dh + dys[t]\n", "dh + dys[t]",
                 ("dys[t] + (dlast if t == len(xs) - 1 else 0)", "you took every step by itself; "
                  "da Uᵀ should be carried to the step before, because h_t is used there too"),
                 ("dh + dys[t] + (dlast if t < len(xs) - 1 else 0)", "you added dlast at every "
                  "step; it should start the loop, because it belongs to the last state alone"),
                 ("dh + (dys[t] if t < len(xs) - 1 else 0)", "you left out dys of the last step; "
                  "it should be added to dlast, because h_T is read in both ways"),
                 ("dh + dys[len(xs) - 1 - t]", "you read dys from the wrong end; step t should "
                  "get dys[t], because the loop runs backwards already"),
                 ("dh", "you left out dys; dh_t should be dys_t plus what comes from the next "
                  "step, because h_t is used twice")),
        *instead("            dh = da @ self.U.T\n", "da @ self.U.T",
                 ("dh @ self.U.T", "you carried dh Uᵀ; it should be da Uᵀ, because U is inside "
                  "the tanh"),
                 ("da @ self.U.T + dh", "you carried dh on as well; it should be da Uᵀ alone, "
                  "because h_{t−1} is read through U only"),
                 ("da", "you carried da itself; it should be da Uᵀ, because h_{t−1} was "
                  "multiplied by U")),
        *instead("grads.U += before[t].T @ da", "before[t]",
                 ("(before[t - 1] if t else 0 * before[t])", "you took h_{t−2} for U; it should "
                  "be h_{t−1}, because that is what U multiplied")),
        *instead("            dxs[t] = da @ self.W.T\n", "dxs[t]",
                 ("dxs[len(xs) - 1 - t]", "you left dxs in the order of the loop; it should be "
                  "reversed, because the loop begins with the last step")),
        *instead("            grads.W += xs[t].T @ da\n            grads.U += before[t].T @ da\n"
                 "            grads.b += da.sum(0)\n", " +=",
                 ("[...] =", "you set the gradients at each step; they should be added with +=, "
                  "because W, U and b serve all steps"),
                 (" += (t == 0) *", "you added the gradients after the loop; it should be at each "
                  "step, because W, U and b serve all steps"),
                 (" += (t == len(xs) - 1) *", "you counted the last step alone; the gradients of "
                  "all steps should be added, because W, U and b serve all"),
                 (" += 1 / len(xs) *", "you averaged over the steps; it should be the sum, "
                  "because W, U and b were used at each of them"),
                 (" += 1 / len(da) *", "you averaged over the batch; it should be the sum, "
                  "because every sequence used W, U and b"))))
