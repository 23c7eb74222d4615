"""Exercise deep-output: the larger of each pair."""

from dataclasses import dataclass

from numpy_attention.course.exercises.exercise import Case, Exercise, Source
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class DeepOutput(Module):
    """Bahdanau's deep output: t̃ = s U + y V + c C, the larger of each pair, scores t W."""

    U: Array  # (H, 2L)
    V: Array  # (E, 2L)
    C: Array  # (N, 2L)
    W: Array  # (L, K)

    def forward(self, s, y, c):
        """State s (B, H), word before y (B, E), context c (B, N) → scores (B, K), cache."""
        wide = s @ self.U + y @ self.V + c @ self.C             # (B, 2L), t̃
        pairs = wide.reshape(len(wide), -1, 2)                  # (B, L, 2)
        t = pairs.max(axis=2)                                   # (B, L)
        return t @ self.W, (s, y, c, pairs, t)

    def backward(self, dscores, cache, grads):
        """∂L/∂scores (B, K) → ∂L/∂s, ∂L/∂y, ∂L/∂c."""
        s, y, c, pairs, t = cache
        grads.W += t.T @ dscores
        dt = dscores @ self.W.T                                 # (B, L)
        largest = pairs == t[:, :, None]                        # (B, L, 2)
        dwide = (dt[:, :, None] * largest).reshape(len(t), -1)  # (B, 2L)
        grads.U += s.T @ dwide
        grads.V += y.T @ dwide
        grads.C += c.T @ dwide
        return dwide @ self.U.T, dwide @ self.V.T, dwide @ self.C.T


def cases(rng, its):
    for B in (3, 1):
        shapes = (5, 6), (2, 6), (4, 6), (3, 7)
        layer = its.DeepOutput(*(rng.standard_normal(shape) for shape in shapes))
        inputs = [rng.standard_normal((B, size)) for size in (5, 2, 4)]
        yield Case(layer.forward, inputs, layer.backward, layer)


EXERCISE = Exercise(
    "deep-output", "the larger of each pair", "06_additive_attention", position=2,
    needs=("linear",), source=Source(__file__, ("DeepOutput",)), blanks=("DeepOutput.backward",),
    cases=cases,
    text="""
    t̃ = s U + y V + c C                    (B, 2L)
    t_l = max(t̃_{2l}, t̃_{2l+1})            (B, L), maxout
    scores = t W                            (B, K)

The layer from which RNNsearch reads its words (Bahdanau et al. 2015, appendix A.2.2). Given
∂L/∂scores, add to grads.U, grads.V, grads.C and grads.W, and return ∂L/∂s, ∂L/∂y, ∂L/∂c.
""",
    hints=(
        "The smaller of a pair could be a bit smaller still, and nothing would change.",
        "t is linear in whichever of the two was taken.",
        "dt̃ is dt at the larger of each pair, and 0 at the other"),
    why="The cache holds the pairs, by which the backward pass knows which one was taken.",
    unseen="Where both of a pair are equal there is no derivative; random numbers never meet it.",
    mistakes=(
        ("dwide = (dt[:, :, None] * largest)", "dwide = (dt[:, :, None] * ~largest)",
         "you gave the gradient to the smaller of a pair; it should go to the larger, which was "
         "taken"),
        ("dwide = (dt[:, :, None] * largest)", "dwide = (dt[:, :, None] * np.ones_like(pairs))",
         "you gave both of a pair the gradient; the smaller should get 0, because it had no part "
         "in the scores"),
        ("dwide = (dt[:, :, None] * largest)", "dwide = (dt[:, :, None] * (largest - 0.5 * "
         "np.ones_like(pairs)))",
         "you gave the smaller of a pair a negative gradient; it should be 0, because a maximum is "
         "not a difference"),
        ("grads.V += y.T @ dwide", "grads.V[...] = y.T @ dwide",
         "you set the gradient; it should be added with +=, because a layer may be used twice"),
        ("dwide @ self.U.T, dwide @ self.V.T, dwide @ self.C.T",
         "dwide @ self.U.T, 0 * (dwide @ self.V.T), dwide @ self.C.T",
         "you left out the gradient of the word before; it should have one, because it had a part "
         "in the scores")))
