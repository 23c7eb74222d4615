"""Exercise layer-norm: a mean and a standard deviation that depend on every number of a row."""

from numpy_attention.course.exercises.exercise import Case, Exercise, Source


def cases(rng, its):
    for T, D in ((3, 5), (2, 4)):
        norm = its.PlainNorm(*rng.standard_normal((2, D)))
        yield Case(norm.forward, (rng.standard_normal((T, D)),), norm.backward, norm)


EXERCISE = Exercise(
    "layer-norm", "a mean and a spread that depend on everything", "09_transformer", position=4,
    needs=("linear",), source=Source("09_transformer", ("PlainNorm",)),
    blanks=("PlainNorm.backward",), cases=cases,
    text="""
    s = √(variance of x along its row + ε)          (T, 1)
    x̂ = (x − mean of x) / s                         (T, d_model)
    y = g x̂ + b

Ba et al. 2016. Given ∂L/∂y (T, d_model), add to grads.g and grads.b, and return ∂L/∂x.
""",
    hints=(
        "Adding one number to a whole row changes no x̂. So what must ∂L/∂x of a row add up to? "
        "And stretching a row changes (nearly) no x̂ either.",
        "mean and s both depend on every x of the row: three paths from x to x̂.",
        "dx = (dx̂ − mean(dx̂) − x̂ mean(dx̂ x̂)) / s, with dx̂ = dy g"),
    why=("Both means take away what the two invariances forbid: a part along the ones, and a part "
         "along x̂."),
    unseen="Normalizing over the batch instead of the row has right gradients and another meaning.",
    mistakes=(
        (" - x_hat * along) / s", ") / s", "you left out x̂ mean(dx̂ x̂); it should be "
                                           "subtracted, because s depends on every x of the row"),
        ("(dx_hat - dx_hat.mean(1, keepdims=True) - x_hat * along)", "(dx_hat - x_hat * along)",
         "you left out mean(dx̂); it should be subtracted, because the mean depends on every x of "
         "the row"),
        ("(dx_hat - dx_hat.mean(1, keepdims=True) - x_hat * along) / s", "dx_hat / s",
         "you took mean and spread as constants; both have a gradient, because they depend on "
         "every x of the row"),
        ("dx_hat = dy * self.g", "dx_hat = dy",
         "you left out g; it should be a factor of dx̂, because y = g x̂ + b"),
        ("along = (dx_hat * x_hat).mean(1, keepdims=True)",
         "along = (dx_hat * x_hat).sum(1, keepdims=True)", "you took a sum for the path of the "
         "variance; it should be a mean, because the variance is a mean over the row"),
        ("- x_hat * along) / s", "- x_hat * along)", "you left out the division by s; dx should be "
                                                     "divided by s, because x̂ = (x − mean) / s"),
        ("        along = (dx_hat * x_hat).mean(1, keepdims=True)\n"
         "        return (dx_hat - dx_hat.mean(1, keepdims=True) - x_hat * along) / s",
         "        along = (dx_hat * x_hat).sum(1, keepdims=True) / len(dy)\n"
         "        alike = dx_hat.sum(1, keepdims=True) / len(dy)\n"
         "        return (dx_hat - alike - x_hat * along) / s", "you divided by the number of "
         "rows; it should be d_model, because mean and variance are those of a row"),
        ("grads.g += (dy * x_hat).sum(0)", "grads.g += dy.sum(0)",
         "you left out x̂ in the gradient of g; it should be a factor, because g multiplied x̂"),
        ("- x_hat * along) / s", "- along) / s", "you left out x̂ in the last term; it should be "
         "x̂ mean(dx̂ x̂), because s scales each x̂ of the row"),
        ("- x_hat * along) / s", "+ x_hat * along) / s",
         "you added x̂ mean(dx̂ x̂); it should be subtracted, because a larger s makes x̂ smaller"),
        ("        dx_hat = dy * self.g\n        along = (dx_hat * x_hat).mean(1, keepdims=True)\n"
         "        return (",
         "        dx_hat = dy\n        along = (dx_hat * x_hat).mean(1, keepdims=True)\n"
         "        return self.g * (", "you multiplied by g after the means; it should be before, "
                                      "in dx̂ = dy g, because both means are of dx̂"),
        ("along = (dx_hat * x_hat).mean", "along = (dy * x_hat).mean",
         "you left out g in mean(dx̂ x̂); dy should be multiplied by g first, because dx̂ = dy g"),
        ("dx_hat - dx_hat.mean(", "dx_hat - dy.mean(",
         "you left out g in mean(dx̂); dy should be multiplied by g first, because dx̂ = dy g"),
        ("(dx_hat - dx_hat.mean(1, keepdims=True) - x_hat * along)",
         "(dx_hat - dx_hat.mean(0) - x_hat * (dx_hat * x_hat).mean(0))", "you took both means over "
         "the rows; they should be along each row, because each row is normalized by itself"),
        ("dx_hat - dx_hat.mean(1, keepdims=True)", "dx_hat - dx_hat.sum(1, keepdims=True)",
         "you took a sum for the path of the mean; it should be mean(dx̂), because x̂ holds the "
         "mean of the row"),
        ("along = (dx_hat * x_hat).mean(1, keepdims=True)",
         "along = (dx_hat * x_hat).sum(1, keepdims=True) / (dy.shape[1] - 1)", "you divided by "
         "d_model − 1; it should be d_model, because the variance of the forward is a plain mean"),
        ("- x_hat * along) / s", "- x_hat * along) / s**2",
         "you divided by the variance; it should be s, because x̂ = (x − mean) / s"),
        ("(dy * x_hat).sum(0)", "(dy * self.g * x_hat).sum(0)",
         "you took dx̂ for dy in the gradient of g; it should be Σ dy x̂, because y = g x̂ + b"),
        *((f"        grads.{line}\n", "", f"you did not add the gradient of {line[0]} to grads; it "
           f"should be added, because the forward pass reads {line[0]}")
          for line in ("g += (dy * x_hat).sum(0)", "b += dy.sum(0)")),
        ("        grads.g += (dy * x_hat).sum(0)\n        grads.b += dy.sum(0)",
         "        grads.g += (dy * x_hat).mean(0)\n        grads.b += dy.mean(0)",
         "you averaged over the words for g and b; it should be a sum, because every row used "
         "them")))
