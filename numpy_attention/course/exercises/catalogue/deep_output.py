"""Exercise deep-output: maxout, the larger number of each pair."""

from dataclasses import dataclass

from numpy_attention.course.exercises.exercise import Case, Exercise, Source, instead, set_mistakes
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class DeepOutput(Module):
    """Bahdanau's deep output: t̃ = s U + y V + c C, t_l = max(t̃_{2l}, t̃_{2l+1}), scores = t W."""

    U: Array  # (H, 2L)
    V: Array  # (E, 2L)
    C: Array  # (N, 2L)
    W: Array  # (L, K)

    def forward(self, s, y, c):
        """State s (B, H), previous word y (B, E), context c (B, N) → scores (B, K), cache."""
        wide = s @ self.U + y @ self.V + c @ self.C             # (B, 2L), t̃
        pairs = wide.reshape(len(wide), -1, 2)                  # (B, L, 2)
        t = pairs.max(axis=2)                                   # (B, L)
        return t @ self.W, (s, y, c, pairs, t)

    def backward(self, dscores, cache, grads):
        """∂L/∂scores (B, K) → ∂L/∂s, ∂L/∂y, ∂L/∂c; adds to grads."""
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
        *instead("dwide = (dt[:, :, None] * largest)", "dwide = (dt[:, :, None] * largest)",
                 ("dwide = (dt[:, :, None] * ~largest)", "you gave the gradient to the smaller of "
                  "a pair; it should go to the larger, which was taken"),
                 ("dwide = (dt[:, :, None] * np.ones_like(pairs))", "you gave both of a pair the "
                  "gradient; the smaller should get 0, because it had no part in the scores"),
                 ("dwide = (dt[:, :, None] * (largest - 0.5 * np.ones_like(pairs)))", "you gave "
                  "the smaller of a pair a negative gradient; it should be 0, because a maximum is "
                  "not a difference")),
        ("grads.V += y.T @ dwide", "grads.V[...] = y.T @ dwide",
         "you set the gradient; it should be added with +=, because a layer may be used twice"),
        ("dwide @ self.U.T, dwide @ self.V.T, dwide @ self.C.T",
         "dwide @ self.U.T, 0 * (dwide @ self.V.T), dwide @ self.C.T",
         "you left out the gradient of the word before; it should have one, because it had a part "
         "in the scores"),
        *set_mistakes("a layer may be used twice", "grads.U += s.T @ dwide",
                      "grads.C += c.T @ dwide", "grads.W += t.T @ dscores"),
        ("grads.V += y.T @ dwide", "grads.V += 0", "you left out the gradient of V; it should be "
         "added, because the forward pass reads V"),
        *instead("dwide = (dt[:, :, None] * largest)", "dt[:, :, None] * largest",
                 ("dt[:, :, None] * (pairs > 0)", "you let through what is positive, as for a "
                  "ReLU; dt should go to the larger of each pair, because maxout takes it"),
                 ("dt[:, :, None] * largest * (pairs > 0)", "you set the gradient of a negative "
                  "maximum to 0; maxout passes it on, because it is not a ReLU"),
                 ("dt[:, :, None] * np.full(pairs.shape, 0.5)", "you gave each of a pair half; the "
                  "larger should get all of dt, because the smaller had no part in it"),
                 ("dt[:, :, None] * [1, 0]", "you gave dt to the first of each pair; it should go "
                  "to the larger, because that was taken"),
                 ("dt[:, :, None] * [0, 1]", "you gave dt to the second of each pair; it should go "
                  "to the larger, because that was taken"),
                 ("dt[:, :, None] * pairs * largest", "you multiplied by t̃; it should be dt at "
                  "the larger, because the derivative of a maximum is 1 there"),
                 ("dt[:, :, None] * (np.abs(pairs) == np.abs(pairs).max(2, keepdims=True))",
                  "you compared absolute values; dt should go to the larger, because the forward "
                  "pass took the maximum"),
                 ("dt[:, :, None] * (pairs == pairs.max(1, keepdims=True))", "you took the maximum "
                  "over l; it should be over the two of each pair"),
                 ("(dt[:, :, None] * largest).transpose(0, 2, 1)", "you put all first elements "
                  "before all second; the two of a pair should be neighbours, because t̃ was cut "
                  "so"),
                 ("dt[:, :, None] * (1 - t[:, :, None]**2) * largest", "you multiplied by tanh's "
                  "derivative; it should be dt alone, because maxout has no tanh")),
        *instead("        dt = dscores @ self.W.T    ", "dscores @ self.W.T",
                 ("dscores @ self.W.T / dscores.shape[1]", "you divided dt by the number of "
                  "scores; it should be dscores Wᵀ, because a matrix product is a sum"),
                 ("dscores @ self.W.T / len(t)", "you averaged dt over the batch; it should be "
                  "dscores Wᵀ, because each row has its own")),
        *instead("        grads.W += t.T @ dscores\n        dt = dscores", "        grads",
                 ("        dscores = dscores / dscores.shape[1]\n        grads", "you divided by "
                  "the number of scores; dscores should be taken as it is, because nothing is "
                  "averaged here"),
                 ("        dscores = dscores / len(t)\n        grads", "you averaged over the "
                  "batch; dscores should be taken as it is, because the mean of the loss is in "
                  "it")),
        ("        grads.U += s.T @ dwide\n        grads.V += y.T @ dwide\n"
         "        grads.C += c.T @ dwide\n",
         "        grads.U[...] = s.T @ dwide\n        grads.V[...] = y.T @ dwide\n"
         "        grads.C[...] = c.T @ dwide\n",
         "you set the gradients of U, V and C; they should be added with +=, because a layer may "
         "be used twice"),
        *instead("return dwide @ self.U.T, dwide @ self.V.T, dwide @ self.C.T",
                 "dwide @ self.U.T, dwide @ self.V.T, dwide @ self.C.T",
                 ("dwide @ self.U.T, dwide @ self.C.T, dwide @ self.V.T", "you returned dc before "
                  "dy; the order should be s, y, c, because that is the order of the inputs"),
                 ("dwide @ self.V.T, dwide @ self.U.T, dwide @ self.C.T", "you returned dy before "
                  "ds; the order should be s, y, c, because that is the order of the inputs"))))
