"""Exercise clipping: one factor for all."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source


def clip(gradients, most):
    """Arrays, and the largest norm that they may have together → (arrays, their norm before).

    All are multiplied with one factor, or none is.
    """
    norm = np.sqrt(sum((one**2).sum() for one in gradients))
    factor = min(1.0, most / norm) if norm > 0 else 1.0
    return [one * factor for one in gradients], norm


def cases(rng, its):
    for size in (0.1, 1.0, 3.0):
        arrays = [size * rng.standard_normal(shape) for shape in ((3, 4), (5,))]
        yield Case(its.clip, (arrays, 2.5))
    yield Case(its.clip, ([np.zeros((2, 2))], 1.0))


EXERCISE = Exercise(
    "clipping", "one factor for all", "02_recurrent_network", position=4,
    source=Source(__file__, ("clip",)), blanks=("clip",), cases=cases,
    text="""
    norm   = √(Σ over all arrays and elements of g²)
    factor = min(1, most / norm)

Given a list of arrays and the largest norm that they may have together, return the list of arrays
times the factor, and the norm that they had (Pascanu et al. 2013). Arrays of zeros stay zeros.
""",
    hints=(
        "The direction of the gradient as a whole does not change.",
        "The norm is that of one long vector that holds all arrays.",
        "g ← g · most / norm where norm > most"),
    why=("One factor for all arrays keeps every share as it is: clipping shortens a step, it does "
         "not turn it."),
    unseen=("Clipping before the gradients of two halves of a batch are added is no clipping of "
            "their sum."),
    mistakes=(
        ("factor = min(1.0, most / norm) if norm > 0 else 1.0",
         "factor = most / norm if norm > 0 else 1.0",
         "you always scaled to `most`; a gradient that is short enough stays as it is, and is "
         "never made longer"),
        ("return [one * factor for one in gradients], norm",
         "return [one * min(1.0, most / max(np.sqrt((one**2).sum()), 1e-300)) for one in "
         "gradients], norm",
         "you clipped each array by its own norm; all get one factor, because that keeps the "
         "direction of the gradient as a whole"),
        ("norm = np.sqrt(sum((one**2).sum() for one in gradients))",
         "norm = sum((one**2).sum() for one in gradients)",
         "you took the square of the norm; the root is missing"),
        ("norm = np.sqrt(sum((one**2).sum() for one in gradients))",
         "norm = sum(np.sqrt((one**2).sum()) for one in gradients)",
         "you added the norms of the arrays; it should be the root of all squares together"),
        ("return [one * factor for one in gradients], norm",
         "return [np.clip(one, -most, most) for one in gradients], norm",
         "you cut each element by itself; all get one factor, because cutting elements turns the "
         "gradient to another direction"),
        ("return [one * factor for one in gradients], norm",
         "return [one * factor for one in gradients], norm * factor",
         "you returned the norm after clipping; return the one that the gradients had before")))
