"""Exercise nearness: a score that depends on a distance, for the Memory protocol of the package."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source
from numpy_attention.gradcheck.harness import protocol

LESSON = "13_your_own_mechanism"


def cases(rng, its):
    attention = its.Nearness(rng.standard_normal((4, 3)), rng.standard_normal(1) / 2 - 1)
    mask = np.array([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]], bool)
    forward, backward = protocol(attention, mask)
    inputs = rng.standard_normal((5, 2, 3)), rng.standard_normal((2, 6, 4))
    yield Case(forward, inputs, backward, attention)


EXERCISE = Exercise(
    "nearness", "a score by distance", LESSON, position=1, needs=("softmax", "linear"),
    source=Source(LESSON, ("Nearness",)),
    blanks=("Nearness.score_backward", "Nearness.read_backward"), cases=cases,
    text="""
    k_j = h_j W                      once per sentence, in read
    e_j = −β ‖q − k_j‖²              once per target word, in score;  β = exp(s)

Given dscores = ∂L/∂e (B, S), `score_backward` adds to grads.s and to dmemory.keys (B, S, Q), and
returns ∂L/∂q (B, Q). After all target words `read_backward` adds to grads.W and returns ∂L/∂h
(B, S, D): what super().read_backward returns, and what comes through the keys.
""",
    hints=(
        "u = q − k is used once, and q and k_j get opposite gradients. Whose is a sum over j?",
        "e = −β d, d = Σ_i u_i², β = exp(s): what is ∂e/∂β, ∂d/∂u_i, ∂β/∂s?",
        "du_j = −2 β de_j u_j; dq = Σ_j du_j; dk_j = −du_j; ds = −β Σ de_j d_j; dW = Σ h_jᵀ dk_j"),
    why=("The keys wait for all target words in dmemory.keys, so the products with W are made once "
         "per sentence."),
    unseen="A score that divides by the number of coordinates passes too: it is another mechanism.",
    mistakes=(
        ("grads.s -= beta * (dscores * d).sum()", "grads.s -= (dscores * d).sum()",
         "you left out β; ds should be multiplied by it, because β = exp(s) is its own derivative"),
        ("grads.s -= beta * (dscores * d).sum()", "grads.s += beta * (dscores * d).sum()",
         "you gave ds the wrong sign; it should be negative, because e = −β d"),
        ("dU = 2 * dd[:, :, None] * U", "dU = dd[:, :, None] * U",
         "you left out the factor 2; ∂d/∂u should be 2 u, because d is a sum of squares"),
        ("dd = -beta * dscores", "dd = -dscores",
         "you left out β; dd should be −β de, because e = −β d"),
        ("dmemory.keys -= dU", "dmemory.keys += dU",
         "you added dU to the keys; it should be subtracted, because u = q − k"),
        ("dmemory.keys -= dU", "dmemory.keys[...] = -dU",
         "you set the gradient of the keys; it should be subtracted with -=, because every target "
         "word reads the same keys"),
        ("return dU.sum(1)", "return dU.mean(1)",
         "you averaged over the words; dq should be a sum over j, because q is in every score"),
        ("return of_context + dmemory.keys @ self.W.T", "return dmemory.keys @ self.W.T",
         "you left out what super().read_backward returns; it should be added, because the context "
         "reads the annotations too"),
        ("return of_context + dmemory.keys @ self.W.T", "return of_context",
         "you left out the path through the keys; it should be added, because k = h W"),
        ("dU = 2 * dd[:, :, None] * U", "dU = 2 * dd[:, :, None] * U / np.sqrt(d)[:, :, None]",
         "you divided by the distance; ∂d/∂u should be 2 u, because d is the squared distance"),
        ("dU = 2 * dd[:, :, None] * U", "dU = dd[:, :, None] * U / np.sqrt(d)[:, :, None]",
         "you divided by the distance; ∂d/∂u should be 2 u, because d is the squared distance"),
        ("return dU.sum(1)", "return -dU.sum(1)",
         "you gave dq the sign of the keys; it should be Σ du_j, because u = q − k"),
        ("return dU.sum(1)", "return dU[:, -1]",
         "you took dq from the last word alone; it should be a sum over j, because q is in every "
         "score"),
        ("dd = -beta * dscores", "dd = beta * dscores",
         "you left out the minus in dd; it should be −β de, because e = −β d"),
        ("grads.s -= beta * (dscores * d).sum()", "grads.s -= self.s * (dscores * d).sum()",
         "you took s for β in ds; it should be β, because exp(s) is its own derivative"),
        ("(dscores * d).sum()", "(dscores * d).mean()",
         "you averaged ds; it should be a sum, because s is in every score"),
        ("(dscores * d).sum()", "dscores.sum()",
         "you left out d in ds; it should be a factor, because e = −β d"),
        ("as_rows(memory.values).T @ as_rows(dmemory.keys)", "memory.values[0].T @ dmemory.keys[0]",
         "you took dW from one sentence; it should be a sum over the batch, because every "
         "sentence used W"),
        ("as_rows(memory.values).T @ as_rows(dmemory.keys)",
         "as_rows(memory.values).T @ as_rows(dmemory.keys) / len(memory.values)",
         "you averaged dW over the batch; it should be a sum, because every sentence used W"),
        ("        dmemory.keys -= dU\n", "",
         "you gave the keys no gradient; dmemory.keys should get −du, because u = q − k"),
        ("of_context + dmemory.keys @ self.W.T", "of_context + memory.keys @ self.W.T",
         "you took the keys for their gradient; it should be dmemory.keys, because a gradient is "
         "passed back and not a value")))
