"""Exercise layer-norm: a mean and a spread that depend on everything."""

from numpy_attention.course.exercises.exercise import Case, Exercise, Source


def cases(rng, its):
    for T, D in ((3, 5), (2, 4)):
        norm = its.PlainNorm(*rng.standard_normal((2, D)))
        yield Case(norm.forward, (rng.standard_normal((T, D)),), norm.backward, norm)


EXERCISE = Exercise(
    "layer-norm", "a mean and a spread that depend on everything", "09_transformer", position=1,
    needs=("linear",), source=Source("09_transformer", ("PlainNorm",)),
    blanks=("PlainNorm.backward",), cases=cases,
    text="""
    s = √(variance of x along its row + ε)          (T, 1)
    x̂ = (x − mean of x) / s                         (T, D)
    y = g x̂ + b

Ba et al. 2016. Given ∂L/∂y (T, D), add to grads.g and grads.b, and return ∂L/∂x.
""",
    hints=(
        "Adding one number to a whole row changes no x̂. So what must ∂L/∂x of a row add up to? "
        "And stretching a row changes (nearly) no x̂ either.",
        "mean and s both depend on every x of the row: three paths from x to x̂.",
        "dx = (dx̂ − mean(dx̂) − x̂ mean(dx̂ x̂)) / s, with dx̂ = dy g"),
    why=("Both means take away what the two invariances forbid: a part along the ones, and a part "
         "along x̂."),
    unseen="Normalising over the batch instead of the row has right gradients and another meaning.",
    mistakes=(
        (" - x_hat * along) / s", ") / s",
         "s depends on every x of the row: its path, x̂ mean(dx̂ x̂), is missing"),
        ("(dx_hat - dx_hat.mean(1, keepdims=True) - x_hat * along)", "(dx_hat - x_hat * along)",
         "the mean depends on every x of the row: its path is missing"),
        ("(dx_hat - dx_hat.mean(1, keepdims=True) - x_hat * along) / s", "dx_hat / s",
         "mean and spread are no constants: they depend on every x of the row"),
        ("dx_hat = dy * self.g", "dx_hat = dy",
         "y = g x̂ + b: g is a factor of what comes back to x̂"),
        ("along = (dx_hat * x_hat).mean(1, keepdims=True)",
         "along = (dx_hat * x_hat).sum(1, keepdims=True)",
         "the variance is a mean over the row: so is what comes back through it"),
        ("- x_hat * along) / s", "- x_hat * along)", "the division by s is missing"),
        ("        along = (dx_hat * x_hat).mean(1, keepdims=True)\n"
         "        return (dx_hat - dx_hat.mean(1, keepdims=True) - x_hat * along) / s",
         "        along = (dx_hat * x_hat).sum(1, keepdims=True) / len(dy)\n"
         "        alike = dx_hat.sum(1, keepdims=True) / len(dy)\n"
         "        return (dx_hat - alike - x_hat * along) / s",
         "mean and variance are those of a row, over its D elements; len is the number of rows"),
        ("grads.g += (dy * x_hat).sum(0)", "grads.g += dy.sum(0)",
         "g multiplied x̂: x̂ is a factor of its gradient")))
