"""Exercise additive: Bahdanau's attention, for a batch."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source, softmax_mistakes
from numpy_attention.gradcheck import protocol


def cases(rng, its):
    for lengths in ([5, 3], [2, 5]):
        shapes = (3, 6), (4, 6), (6,)
        attention = its.PlainAttention(*(rng.standard_normal(shape) for shape in shapes))
        mask = np.arange(5) < np.array(lengths)[:, None]
        inputs = rng.standard_normal((3, 2, 3)), rng.standard_normal((2, 5, 4))
        forward, backward = protocol(attention, mask)
        yield Case(forward, inputs, backward, attention)


EXERCISE = Exercise(
    "additive", "Bahdanau's attention, for a batch", "06_additive_attention", position=1,
    needs=("softmax", "linear", "squash"),
    source=Source("06_additive_attention", ("softmax", "PlainAttention")),
    blanks=("PlainAttention.step_backward", "PlainAttention.softmax_backward",
            "PlainAttention.read_backward"),
    cases=cases,
    text="""
    k_j = h_j U_a                        keys, made once for all steps           (B, S, A)
    x_j = tanh(q W_a + k_j)              e_j = v_a · x_j, −∞ outside of the mask (B, S)
    α   = softmax(e)                     c = Σ_j α_j h_j                         (B, D)

Bahdanau et al. 2015, equations 5 and 6, appendix A.1.2. step_backward is given ∂L/∂c, and ∂L/∂α or
None. It adds to dmemory.values and dmemory.keys, since every step of the decoder reads both, and to
grads.W_a and grads.v_a, and returns ∂L/∂q. softmax_backward returns ∂L/∂e. read_backward comes
last,
with all that the steps have gathered in dmemory, adds to grads.U_a and returns ∂L/∂h (B, S, D).
""",
    hints=(
        "h_j is used in two ways: as a key in its score, and as a value in the context.",
        "Walk up: the context, the softmax, the score, the tanh, then query and keys.",
        "x = tanh(a): dα = h · dc + dα; de = α (dα − Σ α dα); da = de v_a (1 − x²); dk = da; dq = "
        "(Σ_j da_j) W_aᵀ; dh = dmemory.values + dmemory.keys U_aᵀ"),
    why=("The keys are made once, so their gradients are gathered over all steps and go through "
         "U_a once, too."),
    unseen="A mask forgotten in the forward leaves all gradients right.",
    mistakes=(
        ("dmemory.values += alpha[:, :, None] * dcontext[:, None]",
         "dmemory.values = alpha[:, :, None] * dcontext[:, None]",
         "you set the gradient of the values; it should be added with +=, because every step of "
         "the decoder reads them"),
        ("dmemory.keys += da", "dmemory.keys = da",
         "you set the gradient of the keys; it should be added with +=, because every step of the "
         "decoder reads them"),
        ("            dalpha = dalpha + dweights\n", "            pass\n",
         "you left out the given ∂L/∂α; it should be added to dα, because the weights are an "
         "output besides the context"),
        *softmax_mistakes("return alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))",
                          "alpha", "dalpha"),
        ("* self.v_a * (1 - x**2)", "* self.v_a",
         "you left out the derivative of the tanh; it should be a factor 1 − x²"),
        ("* self.v_a * (1 - x**2)", "* (1 - x**2)",
         "you left out v_a; what comes back to x should be de v_a, because e = v_a · x"),
        ("total = da.sum(1)", "total = da.mean(1)",
         "you averaged over the words; it should be a sum, because the query met every word"),
        ("return dmemory.values + dmemory.keys @ self.U_a.T", "return dmemory.values",
         "you left out the gradient through the keys; dh has two terms, because a word is a key as "
         "well as a value"),
        ("return dmemory.values + dmemory.keys @ self.U_a.T", "return dmemory.keys @ self.U_a.T",
         "you left out the gradient through the context; dh has two terms, because a word is a "
         "value as well as a key")))
