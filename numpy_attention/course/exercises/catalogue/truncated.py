"""Exercise truncated: truncated back-propagation, which carries a state but not its gradient."""

import numpy as np

from numpy_attention.course.exercises.exercise import (
    Case,
    Exercise,
    Source,
    instead,
    tanh_mistakes,
)


def states(W, U, xs, h):
    """xs (T, B, I), h_0 (B, H) → h_0 … h_T (T + 1, B, H), where h_t = tanh(x_t W + h_{t−1} U)."""
    hs = [h]
    for x in xs:
        hs.append(np.tanh(x @ W + hs[-1] @ U))
    return np.stack(hs)


def truncated(W, U, xs, h, dhs, k):
    """Return dW and dU, summed over chunks of k steps.   dhs (T, B, H): ∂L/∂h_t for every t.

    The state is carried from one chunk to the next. The gradient is not.
    """
    hs = states(W, U, xs, h)
    dW = np.zeros_like(W)
    dU = np.zeros_like(U)
    for first in range(0, len(xs), k):
        dh = np.zeros_like(h)                       # nothing comes from the next chunk
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
        xs, h, dhs = (rng.standard_normal(shape) for shape in ((T, 5, 2), (5, 4), (T, 5, 4)))
        yield Case(its.truncated, (W, U, xs, h, dhs, k))


CHUNKS = "    for first in range(0, len(xs), k):\n"
EXERCISE = Exercise(
    "truncated", "the state goes on, the gradient does not", "02_recurrent_network", position=3,
    needs=("bptt",), source=Source(__file__, ("states", "truncated")), blanks=("truncated",),
    cases=cases,
    text="""
    h_t = tanh(x_t W + h_{t−1} U)

A long text is cut into chunks of k steps; the last may be shorter. The state is carried from chunk
to chunk; the gradient is not. Given dhs, the upstream gradient ∂L/∂h_t for every t, return dW and
dU, the sums over all chunks. The first chunk begins at the given h_0.
""",
    hints=(
        "With k ≥ T nothing is cut: it is plain BPTT.",
        "Within a chunk nothing changes. What is dh at a chunk's last step?",
        "dh begins with zeros in every chunk; hs comes from the whole run"),
    why=("What is dropped is not noise but the far end of every sum: the gradient is that of "
         "another loss, in which the first state of each chunk is a constant."),
    unseen="Starting each chunk from zeros has correct gradients too, those of another model.",
    mistakes=(
        ("    for first in range(0, len(xs), k):\n        dh = np.zeros_like(h)",
         "    dh = np.zeros_like(h)\n    for first in range(0, len(xs), k):\n        pass",
         "you passed dh on from chunk to chunk; it should start from zeros in each, because "
         "the gradient is not carried"),
        ("    for first in range(0, len(xs), k):\n"
         "        dh = np.zeros_like(h)                       # nothing comes from the next "
         "chunk\n"
         "        last = min(first + k, len(xs))\n"
         "        for t in reversed(range(first, last)):\n"
         "            dh = dh + dhs[t]\n",
         "    dh = np.zeros_like(h)\n"
         "    for t in reversed(range(len(xs))):\n"
         "        if t >= 0:\n"
         "            dh = dh * (t % k > 0) + dhs[t]\n",
         "you cut between the first and the second step of a chunk; the cut should be before "
         "its first step, because what reaches that step belongs to the chunk"),
        ("dU += hs[t].T @ da", "dU += hs[t + 1].T @ da", "you multiplied by h_t in dU; it should "
         "be h_{t−1}, because U multiplied the state before the step"),
        ("da = dh * (1 - hs[t + 1]**2)", "da = dh * (1 - hs[t]**2)", "you took the derivative of "
         "the tanh at h_{t−1}; it should be 1 − h_t², because h_t is its output"),
        ("            dh = dh + dhs[t]\n", "            dh = dhs[t]\n",
         "you cut after every step, as if k were 1; within a chunk the gradient from the next "
         "step should be added, because that step reads the state"),
        ("    for first in range(0, len(xs), k):\n", "    for first in [0]:\n        k = len(xs)\n",
         "you did not cut the gradient at all; it should stop at each chunk's first step, "
         "because only k steps are unrolled at a time"),
        *((CHUNKS, f"{CHUNKS}        hs = np.concatenate([hs[:first], "
           f"states(W, U, xs[first:first + k], {state})])\n",
           f"you started each chunk from {name}; it should start from the last state of the chunk "
           "before, because the state is carried") for state, name in (
            ("h", "the given h_0"), ("np.zeros_like(h)", "zeros"),
            ("h if first == 0 else np.zeros_like(h)", "zeros"))),
        *(("range(0, len(xs), k): … min(first + k, len(xs)) … t in reversed(range(first, last)):",
           "range(len(xs)): … first + 1 … t, dh in ((t, dh - dhs[t] * (t < first)) "
           f"for t in reversed(range(max({begin}, 0), last))):",
           "you went back a fixed number of steps from each t; it should be to the first step of "
           "its chunk, because the gradient is cut between chunks")
          for begin in ("first - k + 1", "first - k")),
        ("    for first in range(0, len(xs), k):\n",
         "    for first in range(0, len(xs) - k + 1, k):\n", "you dropped the last chunk if it is "
         "short; it should count too, because its steps are part of the text"),
        ("        last = min(first + k, len(xs))\n",
         "        first -= k - len(xs) % k if len(xs) % k else 0\n"
         "        last = first + k\n        first = max(first, 0)\n",
         "you counted the chunks from the end; they should be counted from the beginning, "
         "because it is the last chunk that may be short"),
        ("dW += xs[t].T @ da", "dW = xs[t].T @ da",
         "you set dW at every step; it should be summed, because every step uses the same W"),
        ("        last = min(first + k, len(xs))\n", "        last = len(xs)\n",
         "you ran every chunk to the end of the text; it should end after k steps, because "
         "otherwise later steps count several times"),
        ("            dh = da @ U.T\n", "            dh = da @ U\n", "you forgot to transpose U; "
         "dh should be da Uᵀ, because the forward pass multiplied by U"),
        *tanh_mistakes("da = dh * (1 - hs[t + 1]**2)", "hs[t + 1]", "h_t"),
        ("dU += hs[t].T @ da", "dU = hs[t].T @ da",
         "you set dU at every step; it should be summed, because every step uses the same U"),
        ("            dW += xs[t].T @ da\n            dU += hs[t].T @ da\n",
         "            dW = xs[t].T @ da\n            dU = hs[t].T @ da\n", "you set dW and dU at "
         "every step; they should be summed, because every step uses the same W and U"),
        *instead("dU += hs[t].T @ da", "hs[t]",
                 ("hs[first]", "you took the chunk's first state for dU; it should be h_{t−1}, "
                  "because U multiplied the state just before step t"),
                 ("(hs[t] if t > first else 0 * h)", "you left the first step of each chunk out of "
                  "dU; it should count, because U multiplied the carried state there"),
                 ("(hs[t] if t else 0 * h)", "you left the first step out of dU; it should count, "
                  "because U multiplied the given h_0 there"),
                 ("(hs[t] if t > first else h)", "you took h_0 for dU at the first step of each "
                  "chunk; it should be the carried state, because that is what U multiplied"),
                 ("hs[max(t - 1, 0)]", "you took h_{t−2} for dU; it should be h_{t−1}, because "
                  "that is what U multiplied")),
        *instead("            dh = dh + dhs[t]\n", "dh + dhs[t]",
                 ("dh + dhs[t] * (t == last - 1)", "you used only the last upstream gradient of "
                  "each chunk; all should be added, because every h_t is read"),
                 ("dh + dhs[t - first]", "you began again with dhs[0] in each chunk; it should be "
                  "dhs[t], because dhs holds all steps")),
        *instead("            dh = da @ U.T\n", "da @ U.T",
                 ("dh @ U.T", "you carried dh Uᵀ; it should be da Uᵀ, because U is inside the "
                  "tanh"),
                 ("da @ U.T + dh", "you carried dh on as well; it should be da Uᵀ alone, because "
                  "h_{t−1} is read through U only")),
        *instead("for t in reversed(range(first, last)):", "reversed(range(first, last))",
                 ("range(first, last)", "you went forwards through each chunk; it should be "
                  "backwards, because dh comes from the step after"),
                 ("reversed(range(first + 1, last))", "you left out the first step of each chunk; "
                  "all k steps should count, because the cut is before it")),
        *instead("    return dW, dU\n", "dW, dU",
                 ("dU, dW", "you returned dU first; dW should come first, because the task says "
                  "so"),
                 ("dW / len(xs), dU / len(xs)", "you averaged over the steps; it should be the "
                  "sum, because every step uses the same W and U"),
                 ("dW / -(-len(xs) // k), dU / -(-len(xs) // k)", "you averaged over the chunks; "
                  "it should be the sum over all chunks")),
        *instead("    for first in range(0, len(xs), k):\n", "range(0, len(xs), k):\n",
                 ("range((len(xs) - 1) // k * k, len(xs), k):\n", "you kept the last chunk alone; "
                  "dW and dU should be sums over all chunks, because each has its own steps"),
                 ("range(0, 1):\n", "you did the first chunk alone; all chunks should be added, "
                  "because each has its own steps")),
        ("    for first in range(0, len(xs), k):\n",
         "    k = -(-len(xs) // k)\n    for first in range(0, len(xs), k):\n",
         "you cut the text into k chunks; it should be chunks of k steps")))
