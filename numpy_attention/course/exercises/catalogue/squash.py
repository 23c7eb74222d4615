"""Exercise squash: the derivatives of tanh and σ, computed from their outputs."""

import numpy as np

from numpy_attention.course.exercises.exercise import (
    Case,
    Exercise,
    Source,
    instead,
    sigmoid_mistakes,
    tanh_mistakes,
)


def squash(a, b):
    """a, b (B, H) → x = tanh(a), s = σ(b), cache. The cache holds only the outputs."""
    x = np.tanh(a)
    s = 1 / (1 + np.exp(-b))
    return x, s, (x, s)


def squash_backward(dx, ds, cache, grads):
    """∂L/∂x, ∂L/∂s → ∂L/∂a, ∂L/∂b, from only the outputs x and s."""
    x, s = cache
    return dx * (1 - x**2), ds * s * (1 - s)


def cases(rng, its):
    inputs = rng.standard_normal((3, 4)), rng.standard_normal((3, 4))
    yield Case(its.squash, inputs, its.squash_backward)


EXERCISE = Exercise(
    "squash", "tanh and σ through their outputs", "02_recurrent_network", position=1,
    source=Source(__file__, ("squash", "squash_backward")), blanks=("squash_backward",),
    cases=cases,
    text="""
    x = tanh(a)            s = σ(b) = 1 / (1 + exp(−b))

Given ∂L/∂x and ∂L/∂s, return ∂L/∂a and ∂L/∂b. The cache holds only x and s, not a and b.
""",
    hints=(
        "Neither derivative is ever negative, and both are largest where the input is 0: 1 and "
        "1/4.",
        "tanh′(a) = 1 − tanh(a)². Write σ′ by σ itself in the same way.",
        "da = dx (1 − x²), db = ds s (1 − s)"),
    why=("The inputs need not be kept after the forward: the outputs are all that the "
         "derivatives need. A network's memory in training is what its backward pass reads."),
    unseen="exp(−b) overflows for b of −1000; every check at small b passes.",
    mistakes=(
        *tanh_mistakes("dx * (1 - x**2)", "x"),
        *sigmoid_mistakes("ds * s * (1 - s)", "s"),
        *instead("return dx * (1 - x**2), ds * s * (1 - s)", "dx * (1 - x**2), ds * s * (1 - s)",
                 ("dx * (1 - x**2), ds", "you left out the derivative of σ; it should be a factor "
                  "s (1 − s), because s is a σ"),
                 ("1 - x**2, s * (1 - s)", "you left out dx and ds; they should be factors, "
                  "because the chain rule multiplies by the upstream gradient"),
                 ("1 - x**2, ds * s * (1 - s)", "you left out dx; it should be dx (1 − x²), "
                  "because the chain rule multiplies by the upstream gradient"),
                 ("dx * (1 - x**2), s * (1 - s)", "you left out ds; it should be ds s (1 − s), "
                  "because the chain rule multiplies by the upstream gradient"),
                 ("dx * x * (1 - x), ds * (1 - s**2)", "you exchanged the derivatives; da should "
                  "be dx (1 − x²) and db ds s (1 − s), because x is the tanh and s the σ"),
                 ("ds * s * (1 - s), dx * (1 - x**2)", "you returned db first; da should come "
                  "first, because a is the first input"),
                 ("dx * s * (1 - s), ds * (1 - x**2)", "you took the σ for a and the tanh for b; "
                  "it should be x for a and s for b, because x = tanh(a)"))))
