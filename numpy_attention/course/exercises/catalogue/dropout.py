"""Exercise dropout: drop random elements, and scale the others."""

from numpy_attention.course.exercises.exercise import Case, Exercise, Source, instead


def dropout(x, keep, p):
    """x (B, H), keep (B, H) bool, the probability p of dropping → y (B, H), cache.

    Kept elements are divided by 1 − p, so that the expectation of y is x.
    """
    scale = keep / (1 - p)
    return x * scale, scale


def dropout_backward(dy, cache, grads):
    """∂L/∂y (B, H) → ∂L/∂x, and None for keep and p."""
    scale = cache
    return dy * scale, None, None


def cases(rng, its):
    def again(x, keep, p):
        found = its.dropout(x, keep, p)
        its.dropout(x, ~keep, p)            # before the backward pass of the first call
        return found

    for p in (0.3, 0.5):
        x = rng.standard_normal((4, 6))
        keep = rng.random((4, 6)) >= p
        x[1:3, 2] = 0                       # y is 0 where x is kept, and where it is dropped
        keep[1:3, 2] = True, False
        yield Case(its.dropout if p < 0.5 else again, (x, keep, p), its.dropout_backward)


EXERCISE = Exercise(
    "dropout", "what is left out, and what is left", "03_lstm", position=2,
    source=Source(__file__, ("dropout", "dropout_backward")),
    blanks=("dropout", "dropout_backward"), cases=cases,
    text="""
    y = x · keep / (1 − p)          keep (B, H): True with probability 1 − p

Write both passes. p is the probability that an element is dropped. What is kept is divided by
1 − p, so that the expectation of y is x and dropout can simply be left out after training. The mask
keep is given; an x may be 0. You choose what the cache holds. The backward pass returns ∂L/∂x; None
for keep and p may be left out.
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
        ("return x * scale, scale … scale = cache … dy * scale",
         "return x * scale, np.stack([scale, x]) … scale, x = tuple(cache) … dy * x * scale",
         "you multiplied by x in the backward pass; dx should be dy keep / (1 − p), because y is "
         "linear in x"),
        ("return x * scale, scale", "return x * scale, (x * scale != 0) / (1 - p)",
         "you read the mask back from y ≠ 0; the backward pass should use keep itself, because "
         "an x that is 0 and kept still has a gradient"),
        *instead("scale = keep / (1 - p)", "scale = keep / (1 - p)",
                 ("scale = ~keep / (1 - p)", "you dropped where keep is True; x should be kept "
                  "there, because keep marks what stays"),
                 ("scale = ~keep / p", "you dropped where keep is True and divided by p; it should "
                  "be keep / (1 − p), because keep marks what stays, and it is True with "
                  "probability 1 − p"),
                 ("scale = keep / p", "you divided by p; it should be 1 − p, because that is the "
                  "probability of being kept"),
                 ("scale = keep * (1 - p)", "you multiplied by 1 − p; you should divide by it, "
                  "because the rest must make up for what was dropped"),
                 ("scale = keep / keep.mean()", "you divided by the share that this mask happens "
                  "to keep; it should be 1 − p, because only then does each number's factor not "
                  "depend on the other numbers"),
                 ("scale = keep * 1.0", "you did not rescale what is kept; it should be divided by "
                  "1 − p, because otherwise the expectation of y is (1 − p) x"),
                 ("scale = (np.random.default_rng(0).random(x.shape) >= p) / (1 - p)", "you drew a "
                  "mask of your own; it should be keep, because the caller has drawn the mask and "
                  "counts on it")),
        *instead("    scale = keep / (1 - p)\n    return x * scale, scale\n",
                 "return x * scale, scale",
                 ("vars(dropout).setdefault(\"kept\", scale + 0)[...] = scale\n"
                  "    return x * scale, dropout.kept", "you kept the mask outside "
                  "of the cache; it should be in the cache, because forward may run again before "
                  "backward"),
                 ("return np.where(keep, x, x / (1 - p)), np.where(keep, 1, 1 / (1 - p))",
                  "you divided what is dropped; it should be 0 there, and x / (1 − p) where keep "
                  "is True"),
                 ("return np.where(keep, x / (1 - p), x), np.where(keep, 1 / (1 - p), 1)",
                  "you left what is dropped as it was; it should be 0 where keep is False, because "
                  "it is left out"),
                 ("return np.where(keep, x / (1 - p), x), scale", "you left what is dropped as it "
                  "was in y; it should be 0 where keep is False, because it is left out"),
                 ("return x * keep, scale", "you rescaled in the backward pass alone; y should be "
                  "divided by 1 − p too, because dx is its derivative"),
                 ("return x * scale, ~keep / (1 - p)", "you let the gradient through where x was "
                  "dropped; dx should be dy keep / (1 − p), because y is x times that")),
        *instead("scale = keep / (1 - p)", "keep / (1 - p)",
                 ("keep / np.sqrt(1 - p)", "you divided by √(1 − p); it should be 1 − p, because "
                  "the expectation of y is x and not its variance"),
                 ("keep * p", "you multiplied by p; it should be divided by 1 − p, the probability "
                  "of being kept"),
                 ("keep[:1] / (1 - p)", "you used one row of keep for all; each row should have "
                  "its own, because keep is (B, H)"),
                 ("1 / (1 - p) + 0 * keep", "you did not use the mask; y should be 0 where keep is "
                  "False, because that is what dropout is"),
                 ("keep * (1 + p)", "you multiplied by 1 + p; it should be divided by 1 − p, so "
                  "that the expectation of y is x")),
        *instead("return dy * scale, None, None", "dy * scale",
                 ("dy * scale * (scale > 0) * scale", "you multiplied by the factor twice in the "
                  "backward pass; dx should be dy keep / (1 − p), because y has it once"),
                 ("dy / scale.max()", "you multiplied by 1 − p and forgot the mask; dx should be "
                  "dy keep / (1 − p)"),
                 ("dy * scale.max()", "you forgot the mask in the backward pass and kept its "
                  "factor; dx should be 0 where keep is False"),
                 ("dy * (scale > 0) / scale.max()", "you multiplied by 1 − p in the backward pass; "
                  "dx should be dy keep / (1 − p), because y is divided by it"))))
