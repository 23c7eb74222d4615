"""Exercise squash: tanh and σ through their outputs."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source


def squash(a, b):
    """a, b (B, H) → tanh(a), σ(b), cache: only the outputs."""
    x = np.tanh(a)
    s = 1 / (1 + np.exp(-b))
    return x, s, (x, s)


def squash_backward(dx, ds, cache, grads):
    """∂L/∂x, ∂L/∂s → ∂L/∂a, ∂L/∂b, from only the outputs."""
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
        ("dx * (1 - x**2)", "dx * (1 - x)",
         "you took 1 − tanh; the derivative of the tanh is 1 − tanh²"),
        ("ds * s * (1 - s)", "ds * (1 - s**2)",
         "you took the derivative of the tanh, 1 − x²; that of σ is σ (1 − σ)"),
        ("ds * s * (1 - s)", "ds * s",
         "you left out one factor; the derivative of σ is σ (1 − σ)"),
        ("dx * (1 - x**2)", "dx",
         "you left out the derivative of the tanh; it should be a factor 1 − tanh²")))
