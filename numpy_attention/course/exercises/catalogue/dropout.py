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
        inputs[1][0, 0] = True
        inputs[0][0, 0] = 0                 # kept, and 0
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
         "you left out 1/(1 − p) in the backward pass; it should be a factor of dx, because it is "
         "one of y"),
        ("return dy * scale, None, None", "return dy, None, None",
         "you passed dy on everywhere; it should be 0 where keep is False, because what was left "
         "out has no part in the loss"),
        ("scale = keep / (1 - p)", "scale = ~keep / (1 - p)",
         "you left out what keep says is kept; keep is True where x stays"),
        ("scale = keep / (1 - p)", "scale = keep / keep.mean()",
         "you divided by the share that this mask keeps; it should be 1 − p, which is known before "
         "the mask is drawn and makes the expectation x"),
        ("scale = keep / (1 - p)", "scale = keep / p",
         "you divided by p; it should be 1 − p, the share that is kept"),
        ("scale = keep / (1 - p)", "scale = keep * 1.0",
         "you left out 1/(1 − p); without it the expectation of y is x (1 − p)"),
        ("return x * scale, scale", "return x * scale, (x * scale != 0) / (1 - p)",
         "you read the mask back from y ≠ 0; keep it in the cache, because an input that is 0 and "
         "kept has a gradient too")))
