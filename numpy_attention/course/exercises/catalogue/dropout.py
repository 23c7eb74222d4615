"""Exercise dropout: what is left out, and what is left."""

from numpy_attention.course.exercises.exercise import Case, Exercise, Source


def dropout(x, keep, p):
    """x (B, H), keep (B, H) bool, the share p that is left out → what is left, cache.

    What is left is made larger, so that its expectation is x.
    """
    scale = keep / (1 - p)
    return x * scale, scale


def dropout_backward(dy, cache, grads):
    """∂L/∂y (B, H) → ∂L/∂x, and None for keep and p."""
    scale = cache
    return dy * scale, None, None


def cases(rng, its):
    for p in (0.3, 0.5):
        inputs = rng.standard_normal((4, 6)), rng.random((4, 6)) >= p, p
        yield Case(its.dropout, inputs, its.dropout_backward)


EXERCISE = Exercise(
    "dropout", "what is left out, and what is left", "03_lstm", position=2,
    source=Source(__file__, ("dropout", "dropout_backward")),
    blanks=("dropout", "dropout_backward"), cases=cases,
    text="""
    y = x · keep / (1 − p)          keep (B, H): True with probability 1 − p

Write both passes. What is kept is made larger by 1/(1 − p), so that the expectation of y is x and
nothing has to be done when it is no training any more. What the cache holds is up to you. Return
∂L/∂x, and None for each of keep and p.
""",
    hints=(
        "Where nothing went forward, the gradient is 0.",
        "y is x times a number that does not depend on x.",
        "dx = dy · keep / (1 − p)"),
    why=("The mask is drawn once and used in both passes; drawing it again in the backward pass "
         "is a mistake that a gradient check with fixed draws cannot see."),
    unseen=("A mask drawn once for all time steps, or again for each: both have right gradients, "
            "and they are two different models."),
    mistakes=(
        ("return dy * scale, None, None", "return dy * (scale > 0), None, None",
         "what was made larger on its way forward is so on its way back: the factor 1/(1 − p)"),
        ("return dy * scale, None, None", "return dy, None, None",
         "what was left out has no part in the loss: its gradient is 0")))
