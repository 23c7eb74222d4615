"""Exercise bptt: back-propagation through time."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source
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

Given ∂L/∂h_t from above for every t, and ∂L/∂h_T of whatever uses the last state besides, add to
grads.W, grads.U and grads.b, and return ∂L/∂xs and ∂L/∂h_0. One W, one U and one b serve all steps.
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
         "you took the state after the step for U; it should be h_{t−1}, which U met"),
        ("da = dh * (1 - after[t]**2)", "da = dh * (1 - before[t]**2)",
         "you took the derivative of the tanh at h_{t−1}; it should be taken at its output, h_t"),
        ("dh = da @ self.U.T", "dh = da @ self.U",
         "you went back through U; it should be Uᵀ"),
        ("        dh = dlast\n", "        dh = np.zeros_like(dlast)\n",
         "you began the loop with zeros; it should begin with dlast, because the last state is an "
         "output"),
        ("da = dh * (1 - after[t]**2)", "da = dh",
         "you left out the derivative of the tanh; it should be a factor 1 − h²"),
        ("grads.b += da.sum(0)", "grads.b += da[0]",
         "you took the gradient of b from one sequence; it should be a sum, because every sequence "
         "used b"),
        ("grads.W += xs[t].T @ da", "grads.W[...] = xs[t].T @ da",
         "you set the gradient of W at each step; it should be added with +=, because W serves all "
         "steps"),
        ("for t in reversed(range(len(xs)))", "for t in range(len(xs))",
         "you went from the first step to the last; it should be the other way, because later "
         "steps use earlier states")))
