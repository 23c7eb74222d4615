"""Exercise linear: a layer, over a batch."""

from dataclasses import dataclass

from numpy_attention.course.exercises.exercise import Case, Exercise, Source
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class Linear(Module):
    """y = x W + b."""

    W: Array  # (I, O)
    b: Array  # (O,)

    def forward(self, x):
        """x (B, I) → y (B, O), cache."""
        return x @ self.W + self.b, x

    def backward(self, dy, cache, grads):
        """∂L/∂y (B, O) → ∂L/∂x (B, I); adds to grads.W and grads.b."""
        x = cache
        grads.W += x.T @ dy
        grads.b += dy.sum(axis=0)
        return dy @ self.W.T


def cases(rng, its):
    layer = its.Linear(rng.standard_normal((4, 3)), rng.standard_normal(3))
    for B in (5, 1):
        yield Case(layer.forward, (rng.standard_normal((B, 4)),), layer.backward, layer)


EXERCISE = Exercise(
    "linear", "a layer, over a batch", "01_gradients_by_hand", position=3,
    source=Source(__file__, ("Linear",)), blanks=("Linear.backward",), cases=cases,
    text="""
    y = x W + b            x (B, I), W (I, O), b (O,) → y (B, O)

Given ∂L/∂y (B, O), add to grads.W and grads.b, and return ∂L/∂x (B, I).
""",
    hints=(
        "W and b were used by each of the B rows: what is used many times receives many gradients, "
        "and they add up.",
        "y_bo = Σ_i x_bi W_io + b_o. Which x and which dy meet in dW_io?",
        "dW = xᵀ dy, db = Σ_b dy_b, dx = dy Wᵀ"),
    why=("Shapes decide each product: dW must be (I, O), and x (B, I) and dy (B, O) can make that "
         "in one way only. So check with sizes that all differ."),
    unseen="With W = 0 every wrong dx is right: it is 0.",
    mistakes=(
        ("grads.b += dy.sum(axis=0)", "grads.b += dy.mean(axis=0)",
         "you averaged the gradient of b; it should be a sum, because every row of the batch used "
         "b"),
        ("grads.W += x.T @ dy", "grads.W[...] = x.T @ dy",
         "you set the gradient; it should be added with +=, because a layer may be used twice"),
        ("grads.b += dy.sum(axis=0)", "grads.b += dy[0]",
         "you took the gradient of b from one row; it should be a sum over all rows of the batch"),
        ("grads.W += x.T @ dy", "grads.W += x.T @ dy / len(x)",
         "you averaged over the batch; it should be a sum, because the mean of the loss is in dy "
         "already")))
