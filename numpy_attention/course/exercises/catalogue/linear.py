"""Exercise linear: a layer, over a batch."""

from dataclasses import dataclass

from numpy_attention.course.exercises.exercise import (
    Case,
    Exercise,
    Source,
    batch_mistakes,
    instead,
    set_mistakes,
)
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
        *batch_mistakes("grads.b += dy.sum(axis=0)", "dy", "b"),
        *set_mistakes("a layer may be used twice", "grads.W += x.T @ dy",
                      "grads.b += dy.sum(axis=0)"),
        *instead("grads.W += x.T @ dy", "x.T @ dy",
                 ("x.T @ dy / len(x)", "you averaged over the batch; it should be a sum, because "
                  "the mean of the loss is in dy already"),
                 ("(dy.T @ x).reshape(self.W.shape)", "you took dyᵀ x and reshaped it; it should "
                  "be xᵀ dy, because a reshape does not transpose"),
                 ("np.outer(x[0], dy[0])", "you took the gradient of W from the first row alone; "
                  "it should be the sum over the batch, xᵀ dy"),
                 ("np.outer(x[-1], dy[-1])", "you took the gradient of W from the last row alone; "
                  "it should be the sum over the batch, xᵀ dy"),
                 ("np.outer(x.sum(0), dy.sum(0))", "you summed x and dy first; each row's product "
                  "should be summed, because x_b meets only its own dy_b"),
                 ("x.T @ (x @ self.W + self.b)", "you took y for dy; it should be xᵀ dy, because "
                  "∂L/∂y is what comes back")),
        *instead("return dy @ self.W.T", "dy @ self.W.T",
                 ("dy @ grads.W.T", "you multiplied by the gradient of W; dx should be dy Wᵀ, "
                  "because the forward pass multiplied x by W"),
                 ("dy @ self.W.T / len(dy)", "you averaged dx over the batch; it should be dy Wᵀ, "
                  "because each row has its own dx"),
                 ("(dy + self.b) @ self.W.T", "you added b in the backward pass; dx should be dy "
                  "Wᵀ, because a constant has no derivative"),
                 ("x * (dy @ self.W.T)", "you multiplied by x; dx should be dy Wᵀ, because y is "
                  "linear in x")),
        ("grads.b += dy.sum(axis=0)", "grads.b += dy.sum()",
         "you summed over the outputs too; db should be Σ_b dy_b, because each output has its own "
         "b")))
