"""Exercise clipping: one factor for all."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source


def clip(gradients, most):
    """Arrays, and the largest norm allowed for all of them together → (arrays, norm before).

    All are multiplied by the same factor.
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

Given a list of arrays and `most`, the largest norm allowed for all of them together, return the
list of arrays times the factor, and the norm before clipping (Pascanu et al. 2013). Zeros stay
zeros.
""",
    hints=(
        "The direction of the gradient as a whole does not change.",
        "It is the norm of one long vector that holds all arrays.",
        "If norm > most: g ← g · most / norm, for every array."),
    why=("One factor for all arrays keeps their ratios: clipping shortens a step and does not turn "
         "it."),
    unseen=("Clipping the gradients of two halves of a batch and adding them is not the same as "
            "clipping their sum."),
    mistakes=(
        ("factor = min(1.0, most / norm) if norm > 0 else 1.0",
         "factor = most / norm if norm > 0 else 1.0",
         "you always scaled; the factor should be at most 1, because a gradient that is short "
         "enough stays as it is"),
        ("norm = np.sqrt(sum((one**2).sum() for one in gradients))",
         "norm = sum((one**2).sum() for one in gradients)",
         "you used the sum of squares; it should be its square root, because that is the norm"),
        ("norm = np.sqrt(sum((one**2).sum() for one in gradients))",
         "norm = sum(np.sqrt((one**2).sum()) for one in gradients)",
         "you added the norms of the arrays; you should add their squares and then take the "
         "root, because it is the norm of one long vector"),
        ("return [one * factor for one in gradients], norm",
         "return [np.clip(one, -most, most) for one in gradients], norm",
         "you clipped each element by itself; all should get the same factor, because "
         "otherwise the direction changes"),
        ("return [one * factor for one in gradients], norm",
         "return [one * min(1.0, most / (np.sqrt((one**2).sum()) + 1e-30)) for one in gradients], "
         "norm",
         "you clipped each array by its own norm; all should get the same factor, because "
         "otherwise the direction changes"),
        ("return [one * factor for one in gradients], norm",
         "return [one * factor for one in gradients], min(norm, most)",
         "you returned the norm after clipping; it should be the norm before, because that "
         "shows how often clipping acts"),
        ("factor = min(1.0, most / norm) if norm > 0 else 1.0",
         "factor = max(1.0, most / norm) if norm > 0 else 1.0",
         "you used max for min; the factor should be at most 1, because clipping never makes a "
         "gradient longer"),
        ("factor = min(1.0, most / norm) if norm > 0 else 1.0",
         "factor = 1 / norm if norm > most else 1.0",
         "you scaled to a norm of 1; it should be `most`, because that is the largest norm "
         "allowed"),
        ("norm = np.sqrt(sum((one**2).sum() for one in gradients))",
         "norm = np.sqrt(sum((one**2).mean() for one in gradients))",
         "you took the mean of the squares; it should be their sum, because that is the norm")))
