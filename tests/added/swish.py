"""Exercise swish: a gate that opens itself."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source


def swish(a):
    """a (B, H) → a σ(a), cache."""
    s = 1 / (1 + np.exp(-a))
    return a * s, (a, s)


def swish_backward(dy, cache, grads):
    """∂L/∂y (B, H) → ∂L/∂a (B, H)."""
    a, s = cache
    return dy * (s + a * s * (1 - s))


def cases(rng, its):
    yield Case(its.swish, (rng.standard_normal((3, 4)),), its.swish_backward)


EXERCISE = Exercise(
    "swish", "a gate that opens itself", "03_lstm", position=3, needs=("squash",),
    source=Source(__file__, ("swish", "swish_backward")), blanks=("swish_backward",), cases=cases,
    text="""
    y = a σ(a)

Given ∂L/∂y (B, H), return ∂L/∂a.
""",
    hints=("Where a is large, y is a.", "It is a product of two factors.",
           "y′ = σ(a) + a σ(a) (1 − σ(a))"),
    why="The gate and what goes through it depend on the same number.",
    mistakes=(
        ("dy * (s + a * s * (1 - s))", "dy * s",
         "the gate depends on a as well: you left out its derivative"),))
