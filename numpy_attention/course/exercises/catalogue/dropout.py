"""Exercise dropout: what is left out, and what is left."""

from numpy_attention.course.exercises.exercise import Case, Exercise, Source


def dropout(x, keep, p):
    """x (B, H), keep (B, H) bool, the probability p of dropping → y (B, H), cache.

    What is kept is divided by 1 − p, so that the expectation of y is x.
    """
    scale = keep / (1 - p)
    return x * scale, scale


def dropout_backward(dy, cache, grads):
    """∂L/∂y (B, H) → ∂L/∂x, and None for keep and p."""
    scale = cache
    return dy * scale, None, None


def cases(rng, its):
    for p in (0.3, 0.5):
        x = rng.standard_normal((4, 6))
        keep = rng.random((4, 6)) >= p
        x[1:3, 2] = 0                       # y is 0 where x is kept, and where it is dropped
        keep[1:3, 2] = True, False
        yield Case(its.dropout, (x, keep, p), its.dropout_backward)


EXERCISE = Exercise(
    "dropout", "what is left out, and what is left", "03_lstm", position=2,
    source=Source(__file__, ("dropout", "dropout_backward")),
    blanks=("dropout", "dropout_backward"), cases=cases,
    text="""
    y = x · keep / (1 − p)          keep (B, H): True with probability 1 − p

Write both passes. What is kept is divided by 1 − p, so that the expectation of y is x and dropout
can simply be left out after training. The mask keep is given; an x may be 0. What the cache holds
is up to you. The backward pass returns ∂L/∂x; None for keep and p may be left out.
""",
    hints=(
        "Where the mask let nothing through, the gradient is 0.",
        "y is x times a number that does not depend on x.",
        "dx = dy · keep / (1 − p)"),
    why=("The mask is drawn once and used in both passes; drawing it again in the backward pass "
         "is a mistake that a gradient check with fixed draws cannot see."),
    unseen=("A mask drawn once for all time steps, or again for each: both have right gradients, "
            "and they are two different models."),
    mistakes=(
        ("return dy * scale, None, None", "return dy * (scale > 0), None, None",
         "you forgot the factor in the backward pass; dx should be dy keep / (1 − p), because "
         "y is x times keep / (1 − p)"),
        ("return dy * scale, None, None", "return dy, None, None",
         "you forgot the mask in the backward pass; dx should be 0 where keep is False, "
         "because a dropped x has no effect on the loss"),
        ("return x * scale, scale", "return x * scale, (x * scale != 0) / (1 - p)",
         "you read the mask back from y ≠ 0; the backward pass should use keep itself, because "
         "an x that is 0 and kept still has a gradient"),
        ("scale = keep / (1 - p)", "scale = ~keep / (1 - p)",
         "you dropped where keep is True; x should be kept there, because keep marks what "
         "stays"),
        ("scale = keep / (1 - p)", "scale = ~keep / p",
         "you dropped where keep is True and divided by p; it should be keep / (1 − p), "
         "because keep marks what stays, and it is True with probability 1 − p"),
        ("scale = keep / (1 - p)", "scale = keep / p",
         "you divided by p; it should be 1 − p, because that is the probability of being kept"),
        ("scale = keep / (1 - p)", "scale = keep * (1 - p)",
         "you multiplied by 1 − p; you should divide by it, because the rest must make up for "
         "what was dropped"),
        ("scale = keep / (1 - p)", "scale = keep / keep.mean()",
         "you divided by the share that this mask happens to keep; it should be 1 − p, because "
         "only then does each number's factor not depend on the other numbers"),
        ("scale = keep / (1 - p)", "scale = keep * 1.0",
         "you did not rescale what is kept; it should be divided by 1 − p, because otherwise "
         "the expectation of y is (1 − p) x"),
        ("scale = keep / (1 - p)",
         "scale = (np.random.default_rng(0).random(x.shape) >= p) / (1 - p)",
         "you drew a mask of your own; it should be keep, because the caller has drawn the "
         "mask and counts on it")))
