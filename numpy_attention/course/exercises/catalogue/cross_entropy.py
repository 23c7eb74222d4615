"""Exercise cross-entropy: the gradient of the loss with respect to the scores, in one step."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source, instead


def cross_entropy(z, y):
    """Scores z (N, V), right classes y (N,) → the mean of −log p_y, cache."""
    shifted = z - z.max(axis=1, keepdims=True)
    log_sum = np.log(np.exp(shifted).sum(axis=1))           # (N,)
    rows = np.arange(len(y))
    loss = (log_sum - shifted[rows, y]).mean()
    return loss, (shifted, log_sum, y)


def cross_entropy_backward(dloss, cache, grads):
    """Upstream gradient dloss → ∂L/∂z (N, V), and None for the classes y."""
    shifted, log_sum, y = cache
    dz = np.exp(shifted - log_sum[:, None])                 # p
    rows = np.arange(len(y))
    dz[rows, y] -= 1
    return dz * dloss / len(y), None


def cases(rng, its):
    for N, V in ((6, 4), (5, 7)):
        inputs = rng.standard_normal((N, V)), rng.integers(V, size=N)
        yield Case(its.cross_entropy, inputs, its.cross_entropy_backward)


EXERCISE = Exercise(
    "cross-entropy", "from the loss to the scores in one step", "01_gradients_by_hand", position=1,
    source=Source(__file__, ("cross_entropy", "cross_entropy_backward")),
    blanks=("cross_entropy_backward",), cases=cases,
    text="""
    L = 1/N Σ_n (log Σ_v exp(z_nv) − z_n,y_n)          z (N, V) scores, y (N,) the right classes

Given dloss, which is ∂(what comes after)/∂L, return the gradient of z (N, V), and None for y.
""",
    hints=(
        "The gradient of a row adds up to 0. Why?",
        "log Σ_v exp(z_v) has the derivative exp(z_v) / Σ exp = p_v. What has −z_y?",
        "dz_n = (p_n − onehot(y_n)) · dloss / N"),
    why="Softmax and logarithm are derived together, so nothing is divided by p, which may be 0.",
    unseen=("A forward that predicts the word it has just read has right gradients, and learns "
            "nothing."),
    mistakes=(
        ("return dz * dloss / len(y), None", "return dz * dloss, None",
         "you left out 1/N; the loss is a mean over N rows, so each has a share of 1/N"),
        ("dz[rows, y] -= 1", "dz[rows, y] += 1",
         "you got the sign of onehot wrong; dz should be p − onehot(y), because the correct score "
         "has to rise"),
        ("    dz[rows, y] -= 1\n", "",
         "you left out the second term of L, −z_y; dz should be p − onehot(y)"),
        ("return dz * dloss / len(y), None", "return dz / len(y), None",
         "you left out dloss; it is the upstream gradient, a factor of all of dz"),
        *instead("dz[rows, y] -= 1", "dz[rows, y] -= 1",
                 ("dz[:, y] -= 1", "you subtracted 1 in whole columns; it should be one element of "
                  "each row, dz[rows, y], because each row has its own class"),
                 ("dz -= 1", "you subtracted 1 everywhere; it should be only at y, because −z_y is "
                  "the only score outside the logarithm"),
                 ("dz[rows, y] = 1 - dz[rows, y]", "you took 1 − p_y at the correct class; it "
                  "should be p_y − 1, because that score has to rise"),
                 ("dz = np.where(np.arange(dz.shape[1]) == y[:, None], dz - 1, 0)", "you gave only "
                  "the correct score a gradient; the others should get p_v, because log Σ exp "
                  "reads all"),
                 ("dz = np.where(np.arange(dz.shape[1]) == y[:, None], -1 / dz, 0)", "you stopped "
                  "at ∂/∂p, −1/p_y; it should go on through the softmax, because p is made from "
                  "z"),
                 ("dz *= 1 - dz", "you took p (1 − p); it should be p − onehot(y), because the "
                  "loss is −log p_y"),
                 ("dz[rows, y] -= 1\n    p = np.exp(shifted - log_sum[:, None])\n"
                  "    dz = p * (dz - (p * dz).sum(1, keepdims=True))", "you went through the "
                  "softmax twice; p − onehot(y) should be all, because it is ∂L/∂z already")),
        *instead("dz = np.exp(shifted - log_sum[:, None])", "np.exp(shifted - log_sum[:, None])",
                 ("np.exp(shifted) / log_sum[:, None]", "you divided by log Σ exp; it should be "
                  "Σ exp, because log_sum is a logarithm already"),
                 ("shifted - log_sum[:, None]", "you took log p; it should be p, because the "
                  "derivative of log Σ exp(z) is p"),
                 ("np.exp(shifted)", "you took exp(z) without its sum; it should be p, because the "
                  "derivative of log Σ exp(z) is exp(z) / Σ exp(z)"),
                 ("shifted * 1", "you took z for p; it should be exp(z) / Σ exp(z), because that "
                  "is the derivative of log Σ exp(z)"),
                 ("np.exp(shifted) / np.exp(shifted).sum(0)", "you summed over the rows; p should "
                  "be divided by the sum over the classes, because each row is a distribution")),
        *instead("return dz * dloss / len(y), None", "dz * dloss / len(y)",
                 ("-dz * dloss / len(y)", "you took onehot(y) − p; it should be p − onehot(y), "
                  "because the loss is −log p"),
                 ("dz * dloss / dz.shape[1]", "you divided by the number of classes; it should be "
                  "the number of rows, because the loss is a mean over these"),
                 ("dz * dloss / dz.size", "you divided by all elements; it should be the number of "
                  "rows, because the loss is a mean over these"),
                 ("dz", "you left out dloss and 1/N; dz should be (p − onehot(y)) dloss / N, "
                  "because the loss is a mean and dloss its gradient"))))
