"""Exercises on what goes along a sequence: lessons 02 to 06."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise
from numpy_attention.course.exercises.source import Source
from numpy_attention.gradcheck import randomize

SECOND = "02_recurrent_network"


def bptt_cases(rng, its):
    for T, B in ((4, 3), (1, 2)):
        cell = randomize(its.PlainRNN(np.empty((2, 5)), np.empty((5, 5)), np.empty(5)), rng)
        inputs = rng.standard_normal((T, B, 2)), rng.standard_normal((B, 5))
        yield Case(cell.forward, inputs, cell.backward, cell)


def truncated_cases(rng, its):
    for T, k in ((7, 3), (6, 2), (4, 9)):
        W, U = rng.standard_normal((2, 4)), 0.7 * rng.standard_normal((4, 4))
        xs, h, dhs = (rng.standard_normal(shape) for shape in ((T, 3, 2), (3, 4), (T, 3, 4)))
        yield Case(its.truncated, (W, U, xs, h, dhs, k))


def masked_cases(rng, its):
    for lengths in ([4, 2, 3], [1, 4, 4]):
        cell = randomize(its.MaskedRNN(np.empty((2, 5)), np.empty((5, 5))), rng)
        mask = np.arange(4)[:, None] < np.array(lengths)
        inputs = rng.standard_normal((4, 3, 2)), rng.standard_normal((3, 5)), mask
        yield Case(cell.forward, inputs, cell.backward, cell)


def deep_output_cases(rng, its):
    for B in (3, 1):
        shapes = (5, 6), (2, 6), (4, 6), (3, 7)
        layer = its.DeepOutput(*(rng.standard_normal(shape) for shape in shapes))
        inputs = [rng.standard_normal((B, size)) for size in (5, 2, 4)]
        yield Case(layer.forward, inputs, layer.backward, layer)


SEQUENCES = [
    Exercise(
        "bptt", "back-propagation through time", SECOND,
        Source(SECOND, ("PlainRNN",)), ("PlainRNN.backward",), """
    h_t = tanh(x_t W + h_{t−1} U + b)          t = 1 … T

Given ∂L/∂h_t from above for every t, and ∂L/∂h_T of whatever uses the last state besides, add to
grads.W, grads.U and grads.b, and return ∂L/∂xs and ∂L/∂h_0. One W, one U and one b serve all steps.
""", bptt_cases, (
            "h_t has two listeners: what stands above it, and the next step. What they say adds "
            "up.",
            "Go from the last step to the first and carry dh, the gradient of the state that you "
            "are about to reach, along.",
            "da_t = (dys_t + dh) (1 − h_t²), and the dh for the step before is da_t Uᵀ"),
        "The loop is the forward's, backwards. dU meets the state *before* the step, h_{t−1}.",
        "With T = 1 a backward that never carries dh on is right but for h_0.",
        ("linear", "squash")),
    Exercise(
        "truncated", "the state goes on, the gradient does not", SECOND,
        Source("sequences", ("states", "truncated")), ("truncated",), """
    h_t = tanh(x_t W + h_{t−1} U)

A long text is cut into chunks of k steps; the last may be shorter. The state is carried from chunk
to chunk; the gradient is not. Given dhs, ∂L/∂h_t from above for every t, return dW and dU: the sums
over all chunks.
""", truncated_cases, (
            "With k ≥ T nothing is cut off: it is BPTT.",
            "Within a chunk nothing changes. What is dh at a chunk's last step?",
            "dh begins with zeros in every chunk; hs comes from the whole run"),
        "What is dropped is no noise but the far end of every sum: the gradient is that of "
        "another loss, in which the first state of each chunk is a constant.",
        "Beginning each chunk with a state of zeros has right gradients too, of another model.",
        ("bptt",)),
    Exercise(
        "masks", "a sequence that has ended", "04_gru",
        Source("sequences", ("MaskedRNN",)), ("MaskedRNN.backward",), """
    n_t = tanh(x_t W + h_{t−1} U)
    h_t = n_t where the mask is True, h_{t−1} where it is False

Sentences of a batch differ in length. Past its end a sentence's state stays as it is. Given
∂L/∂h_t for every t, add to grads.W and grads.U and return ∂L/∂xs, ∂L/∂h_0, and None for the mask.
""", masked_cases, (
            "What is read past the end changes nothing: its dx is 0.",
            "np.where sends each gradient to the one that was taken. There are two ways back.",
            "dn = dh where the mask is True; and dh where it is False goes to h_{t−1} unchanged"),
        "The second way is easily forgotten: without it a short sentence's last state gets no "
        "gradient from the steps behind its end.",
        "A batch in which all sentences have one length passes every check.", ("bptt",)),
    Exercise(
        "deep-output", "the larger of each pair", "06_additive_attention",
        Source("sequences", ("DeepOutput",)), ("DeepOutput.backward",), """
    t̃ = s U + y V + c C                    (B, 2L)
    t_l = max(t̃_{2l}, t̃_{2l+1})            (B, L), maxout
    scores = t W                            (B, K)

The layer from which RNNsearch reads its words (Bahdanau et al. 2015, appendix A.2.2). Given
∂L/∂scores, add to grads.U, grads.V, grads.C and grads.W, and return ∂L/∂s, ∂L/∂y, ∂L/∂c.
""", deep_output_cases, (
            "The smaller of a pair could be a bit smaller still, and nothing would change.",
            "t is linear in whichever of the two was taken.",
            "dt̃ is dt at the larger of each pair, and 0 at the other"),
        "The cache holds the pairs, by which the backward pass knows which one was taken.",
        "Where both of a pair are equal there is no derivative; random numbers never meet it.",
        ("linear",)),
]
