"""Exercise clipping: one factor that scales down all gradients."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source, instead


def clip(gradients, most):
    """Clip gradients by their norm → (list of clipped arrays, norm before clipping).

    gradients: a list of arrays. most: the largest norm allowed for all arrays together. If their
    norm is larger, all arrays are multiplied by the same factor.
    """
    norm = np.sqrt(sum((one**2).sum() for one in gradients))
    factor = min(1.0, most / norm) if norm > 0 else 1.0
    return [one * factor for one in gradients], norm


def cases(rng, its):
    for size in (0.1, 0.45, 1.0, 3.0):
        arrays = [size * rng.standard_normal(shape) for shape in ((3, 4), (5,))]
        yield Case(its.clip, (arrays, 2.5))
    small = [0.07 * rng.standard_normal(shape) for shape in ((3, 4), (5,))]
    yield Case(lambda gradients, most: 1e4 * np.concatenate(       # so that norm + 1e-6 shows
        [one.ravel() for one in its.clip(gradients, most)[0]]), (small, 0.1))
    # with a number that is finite, so that the mistake can be recognized
    yield Case(lambda gradients, most: [np.append(its.clip(gradients, most)[0], 1)],
               ([np.zeros((2, 2))], 1.0),
               differ=lambda found, right: "you divided by a norm of 0; the factor should be 1 "
               "there, because zeros stay zeros" if np.isnan(found).any()
               else "zeros should stay zeros")


EXERCISE = Exercise(
    "clipping", "one factor for all", "02_recurrent_network", position=5,
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
         "you took the mean of the squares; it should be their sum, because that is the norm"),
        *instead("norm = np.sqrt(sum((one**2).sum() for one in gradients))",
                 "np.sqrt(sum((one**2).sum() for one in gradients))",
                 ("max(np.abs(one).max() for one in gradients)", "you took the largest element; it "
                  "should be √Σ g², because all elements count"),
                 ("sum(np.abs(one).sum() for one in gradients)", "you added absolute values; it "
                  "should be √Σ g², because the norm is a root of squares"),
                 ("np.sqrt((gradients[-1]**2).sum())", "you took the norm of the last array alone; "
                  "it should be that of all together, because they are one long vector"),
                 ("np.sqrt((gradients[0]**2).sum())", "you took the norm of the first array alone; "
                  "it should be that of all together, because they are one long vector"),
                 ("max(np.sqrt((one**2).sum()) for one in gradients)", "you took the largest norm "
                  "of an array; it should be that of all together, √Σ g²"),
                 ("np.mean([np.sqrt((one**2).sum()) for one in gradients])", "you averaged the "
                  "norms of the arrays; it should be √Σ g² over all, the norm of one long vector"),
                 ("np.sqrt(np.mean(np.concatenate([one.ravel() for one in gradients])**2))",
                  "you took the mean of all squares; it should be their sum, because that is the "
                  "norm")),
        *instead("factor = min(1.0, most / norm) if norm > 0 else 1.0", "min(1.0, most / norm)",
                 ("min(1.0, norm / most)", "you exchanged most and norm; the factor should be most "
                  "/ norm, because a longer gradient shrinks more"),
                 ("min(1.0, most / norm**2)", "you divided by the square of the norm; it should be "
                  "the norm, because the result has the length `most`"),
                 ("float(norm <= most)", "you set long gradients to 0; they should be scaled to "
                  "the length `most`, because their direction is wanted"),
                 ("min(1.0, most / len(gradients) / norm)", "you divided `most` among the arrays; "
                  "it should be the largest norm of all of them together")),
        *instead("    return [one * factor for one in gradients], norm\n",
                 "[one * factor for one in gradients], norm",
                 ("[one * factor if np.sqrt((one**2).sum()) > most else one for one in gradients], "
                  "norm", "you scaled only the arrays that are too long by themselves; all should "
                  "get the factor, because otherwise the direction changes"),
                 ("[one * factor for one in gradients], factor", "you returned the factor; it "
                  "should be the norm before clipping"),
                 ("[one * factor for one in gradients], norm**2", "you returned the sum of "
                  "squares; it should be its root, the norm"),
                 ("gradients, norm", "you returned the gradients unchanged; they should be "
                  "multiplied by the factor"))))
