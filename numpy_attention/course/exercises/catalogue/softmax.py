"""Exercise softmax: attention weights from scores, forward and backward."""

import numpy as np

from numpy_attention.course.exercises.exercise import (
    DIAGONAL,
    ONE_TERM,
    SECOND,
    UNSUMMED,
    UNWEIGHTED,
    Case,
    Exercise,
    Source,
    instead,
)


def softmax(e):
    """Scores e (B, S) → weights α (B, S), cache. The weights in each row add up to 1."""
    powers = np.exp(e - e.max(axis=1, keepdims=True))       # the largest is e⁰ = 1
    alpha = powers / powers.sum(axis=1, keepdims=True)
    return alpha, alpha


def softmax_backward(dalpha, cache, grads):
    """∂L/∂α (B, S) → ∂L/∂e (B, S)."""
    alpha = cache
    mean = (alpha * dalpha).sum(axis=1, keepdims=True)      # what an average look does
    return alpha * (dalpha - mean)


def cases(rng, its):
    for shape in ((3, 5), (2, 4)):
        yield Case(its.softmax, (rng.standard_normal(shape),), its.softmax_backward)


# common mistakes, for every exercise that contains them
MEAN = ("you took the mean of α dα over the words; it should be the sum Σ α dα, because the "
        "weights α add up to 1 already")
PRODUCT_MEAN = ("you averaged the products in dα; it should be their sum, the dot product of value "
                "and dc, because c = Σ α h")
EXERCISE = Exercise(
    "softmax", "weights from scores, and the backward pass", "01_gradients_by_hand", position=4,
    source=Source(__file__, ("softmax", "softmax_backward")), blanks=("softmax_backward",),
    cases=cases,
    text="""
    α_j = exp(e_j) / Σ_k exp(e_k)          a row e (S,) of scores → weights α (S,)

Given ∂L/∂α, return ∂L/∂e, for every row of a batch (B, S). Every α_j depends on every e_k, since
they add up to 1. `cache` is what the forward returned last. `grads` is where the gradients of
parameters go: there are none here.
""",
    hints=(
        "Adding one number to all scores changes no weight. So what must the parts of ∂L/∂e of a "
        "row add up to?",
        "∂α_j/∂e_k = α_j ([j = k] − α_k). Sum over j what ∂L/∂α_j sends back through it.",
        "de_k = α_k (dα_k − Σ_j α_j dα_j)"),
    why=("A score falls if a look at its word raises the loss by more than the average look, Σ_j "
         "α_j dα_j, does. The Jacobian (S, S) is never written down: it is a diagonal matrix minus "
         "an outer product, and so costs S operations, not S²."),
    unseen=("A forward with its maximum taken over the whole batch passes every check, until one "
            "row lies 800 below another and all its powers are 0."),
    mistakes=(
        ("return alpha * (dalpha - mean)", "return alpha * dalpha", ONE_TERM),
        ("return alpha * (dalpha - mean)", "return dalpha - mean",
         "you left out the α in front; it should be α (dα − Σ α dα), because a score moves its "
         "weight by α times as much"),
        ("return alpha * (dalpha - mean)", "return alpha * (1 - alpha) * dalpha",
         DIAGONAL),
        ("mean = (alpha * dalpha).sum(axis=1, keepdims=True)",
         "mean = dalpha.mean(axis=1, keepdims=True)",
         UNWEIGHTED),
        ("mean = (alpha * dalpha).sum(axis=1, keepdims=True)",
         "mean = (alpha * dalpha).sum(axis=0, keepdims=True)",
         "you summed over the batch; the sum goes over the words of one sentence, because the "
         "weights of one sentence add up to 1"),
        *instead("mean = (alpha * dalpha).sum(axis=1, keepdims=True)",
                 "(alpha * dalpha).sum(axis=1, keepdims=True)",
                 ("dalpha.sum(axis=1, keepdims=True)", UNSUMMED),
                 ("(alpha * dalpha).sum()", "you summed over the whole batch; the sum goes over "
                  "the words of one sentence, because only their weights add up to 1"),
                 ("(alpha * dalpha).mean(axis=1, keepdims=True)", MEAN)),
        *instead("return alpha * (dalpha - mean)", "alpha * (dalpha - mean)",
                 ("alpha * dalpha - mean", SECOND),
                 ("dalpha - alpha * mean", "you left α out of the first term; it should be α (dα − "
                  "Σ α dα), because both terms of the Jacobian have it"),
                 ("-alpha * mean", "you took the second term −α Σ α dα alone; it should be α (dα − "
                  "Σ α dα), because a score also moves its own weight"),
                 ("alpha * (dalpha + mean)", "you added Σ α dα; it should be subtracted, because "
                  "the other weights fall when one rises"),
                 ("alpha**2 * (dalpha - mean)", "you multiplied by α twice; it should be α (dα − "
                  "Σ α dα), because a score moves its weight by α times as much"),
                 ("alpha * (alpha * dalpha - mean)", "you multiplied dα by α inside the brackets; "
                  "it should be α (dα − Σ α dα), because α in front is enough"),
                 ("alpha * (dalpha - mean) / len(alpha)", "you averaged over the batch; it should "
                  "be α (dα − Σ α dα), because the mean of the loss is in dα already"))))
