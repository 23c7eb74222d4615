"""Exercise truncated: the state goes on, the gradient does not."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source


def states(W, U, xs, h):
    """xs (T, B, I), h_0 (B, H) → the states h_0 … h_T (T + 1, B, H) of h_t = tanh(x_t W + h U)."""
    hs = [h]
    for x in xs:
        hs.append(np.tanh(x @ W + hs[-1] @ U))
    return np.stack(hs)


def truncated(W, U, xs, h, dhs, k):
    """∂L/∂h_t (T, B, H) from above, chunks of k steps → dW, dU.

    The state goes from chunk to chunk, the gradient does not.
    """
    hs = states(W, U, xs, h)
    dW = np.zeros_like(W)
    dU = np.zeros_like(U)
    for first in range(0, len(xs), k):
        dh = np.zeros_like(h)                       # nothing comes from the chunk behind
        last = min(first + k, len(xs))
        for t in reversed(range(first, last)):
            dh = dh + dhs[t]
            da = dh * (1 - hs[t + 1]**2)
            dW += xs[t].T @ da
            dU += hs[t].T @ da
            dh = da @ U.T
    return dW, dU


def cases(rng, its):
    for T, k in ((7, 3), (6, 2), (4, 9)):
        W, U = rng.standard_normal((2, 4)), 0.7 * rng.standard_normal((4, 4))
        xs, h, dhs = (rng.standard_normal(shape) for shape in ((T, 3, 2), (3, 4), (T, 3, 4)))
        yield Case(its.truncated, (W, U, xs, h, dhs, k))


EXERCISE = Exercise(
    "truncated", "the state goes on, the gradient does not", "02_recurrent_network", position=3,
    needs=("bptt",), source=Source(__file__, ("states", "truncated")), blanks=("truncated",),
    cases=cases,
    text="""
    h_t = tanh(x_t W + h_{t−1} U)

A long text is cut into chunks of k steps; the last may be shorter. The state is carried from chunk
to chunk; the gradient is not. Given dhs, ∂L/∂h_t from above for every t, return dW and dU: the sums
over all chunks.
""",
    hints=(
        "With k ≥ T nothing is cut off: it is BPTT.",
        "Within a chunk nothing changes. What is dh at a chunk's last step?",
        "dh begins with zeros in every chunk; hs comes from the whole run"),
    why=("What is dropped is no noise but the far end of every sum: the gradient is that of "
         "another loss, in which the first state of each chunk is a constant."),
    unseen="Beginning each chunk with a state of zeros has right gradients too, of another model.",
    mistakes=(
        ("    for first in range(0, len(xs), k):\n        dh = np.zeros_like(h)",
         "    dh = np.zeros_like(h)\n    for first in range(0, len(xs), k):\n        pass",
         "you let the gradient of another chunk in; at the end of a chunk it should begin again "
         "with zeros"),
        ("range(0, len(xs), k):", "range(0, len(xs), len(xs)):\n        k = len(xs)",
         "you did not cut the gradient at all; it should stop at the beginning of each chunk of k "
         "steps"),
        ("range(0, len(xs), k):", "range(0, len(xs) - k + 1, k):",
         "you dropped the last chunk, which is shorter; its steps count too"),
        ("    for first in range(0, len(xs), k):\n"
         "        dh = np.zeros_like(h)                       # nothing comes from the chunk "
         "behind\n"
         "        last = min(first + k, len(xs))\n"
         "        for t in reversed(range(first, last)):\n"
         "            dh = dh + dhs[t]\n",
         "    dh = np.zeros_like(h)\n"
         "    for t in reversed(range(len(xs))):\n"
         "        if t >= 0:\n"
         "            dh = dh * (t % k > 0) + dhs[t]\n",
         "you cut one step off; what comes to a chunk's first step belongs to it, and what that "
         "step sends on to the chunk before is dropped"),
        ("    hs = states(W, U, xs, h)\n",
         "    hs = np.concatenate([states(W, U, xs[f:f + k], np.zeros_like(h))[f > 0:] "
         "for f in range(0, len(xs), k)])\n",
         "you began each chunk with a state of zeros; the state goes on from chunk to chunk"),
        ("    hs = states(W, U, xs, h)\n",
         "    hs = np.concatenate([states(W, U, xs[f:f + k], h)[f > 0:] "
         "for f in range(0, len(xs), k)])\n",
         "you began each chunk with the given state h; the state goes on from chunk to chunk"),
        ("dU += hs[t].T @ da", "dU += hs[t + 1].T @ da",
         "you took the state after the step for U; it should be h_{t−1}, which U met"),
        ("da = dh * (1 - hs[t + 1]**2)", "da = dh * (1 - hs[t]**2)",
         "you took the derivative of the tanh at h_{t−1}; it should be taken at its output, h_t"),
        ("            dh = dh + dhs[t]\n", "            dh = dhs[t]\n",
         "you dropped what comes from the next step within a chunk; that is k = 1")))
