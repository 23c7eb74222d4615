"""Exercises in which a mistake is planted in working code, to be found by what a check says."""

from numpy_attention.course.exercises.catalogue.heads import LESSON as EIGHTH
from numpy_attention.course.exercises.catalogue.heads import scaled_dot_cases
from numpy_attention.course.exercises.catalogue.luong import LESSON as SEVENTH
from numpy_attention.course.exercises.catalogue.luong import WIDTH, feeding_cases, local_p_cases
from numpy_attention.course.exercises.catalogue.sequences import masked_cases
from numpy_attention.course.exercises.exercise import Exercise
from numpy_attention.course.exercises.source import Source

TASK = """
All of it is written, and one line is wrong. The check tells what is right and what is wrong, and
names no line: find it by thinking of what the wrong gradients have in common and the right ones
have not. Change that line alone.
"""

PLANTED = [
    Exercise(
        "find-in-masks", "sentences that end too late", "04_gru",
        Source("sequences", ("MaskedRNN",)), (), TASK, masked_cases, (
            "What is read past a sentence's end changes nothing. Which gradients say otherwise?",
            "Look at the elements of xs that are wrong: in which steps, of which sentences?",
            "np.where sends a gradient to the one that was taken, and nothing to the other"),
        "Past its end a sentence's new state was not taken: its gradient, dnew, is 0 there.",
        needs=("masks",), planted=("dnew = np.where(m, dh, 0)", "dnew = dh")),
    Exercise(
        "find-in-local-p", "a window that aims badly", SEVENTH,
        Source(SEVENTH, ("softmax", "windowed", "dot", "local_p", "local_p_backward"), WIDTH), (),
        TASK, local_p_cases, (
            "M is right. So all that goes through scores and context is right.",
            "h, W_p and v_p have one thing in common: the way through p.",
            "p = S σ(z), so ∂p/∂z = S σ(z) (1 − σ(z)); say that by p and S"),
        "∂p/∂z = p (1 − p / S).",
        needs=("local-p",),
        planted=("dz = dp * p * (1 - p / len(M))", "dz = dp * p * (1 - p / D)")),
    Exercise(
        "find-in-feeding", "what is told to the next step", SEVENTH,
        Source(SEVENTH, ("softmax", "PlainDecoder")), (), TASK, feeding_cases, (
            "One parameter alone is wrong. So every gradient that flows through the steps is "
            "right.",
            "It is a product of two arrays, of which dk must be right.",
            "which h̃ met F in step t?"),
        "F met the h̃ of the step before, as U met its h.",
        needs=("input-feeding",),
        planted=("grads.F += fed_before.T @ dk", "grads.F += fed.T @ dk")),
    Exercise(
        "find-in-heads", "a look where nothing is", EIGHTH,
        Source(EIGHTH, ("softmax", "attention", "attention_backward")), (), TASK,
        scaled_dot_cases, (
            "A hidden key has weight 0. Does it?",
            "No gradient can show this: the backward pass is the derivative of what the forward "
            "does. What does the forward do?",
            "the score of what is not visible is −∞"),
        "A mask that is forgotten in the forward pass leaves every gradient right.",
        needs=("scaled-dot",),
        planted=("A = softmax(np.where(visible, E, -np.inf))",
                 "A = softmax(np.where(visible, E, 0))")),
]
