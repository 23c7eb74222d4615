"""Exercise additive: Bahdanau's attention, for a batch."""

import numpy as np

from numpy_attention.course.exercises.catalogue.softmax import MEAN, PRODUCT_MEAN
from numpy_attention.course.exercises.exercise import (
    Case,
    Exercise,
    Source,
    instead,
    set_mistakes,
    softmax_mistakes,
    tanh_mistakes,
)
from numpy_attention.gradcheck import protocol


def cases(rng, its):
    for lengths in ([5, 3], [2, 5]):
        shapes = (3, 6), (4, 6), (6,)
        attention = its.PlainAttention(*(rng.standard_normal(shape) for shape in shapes))
        mask = np.arange(5) < np.array(lengths)[:, None]
        inputs = rng.standard_normal((3, 2, 3)), rng.standard_normal((2, 5, 4))
        forward, backward = protocol(attention, mask)
        yield Case(forward, inputs, backward, attention)

        def contexts(queries, values, forward=forward):
            found, _, cache = forward(queries, values)
            return found, cache

        def contexts_backward(dcontexts, cache, grads, backward=backward):
            return backward(dcontexts, None, cache, grads)
        yield Case(contexts, inputs, contexts_backward, attention)


EXERCISE = Exercise(
    "additive", "Bahdanau's attention, for a batch", "06_additive_attention", position=1,
    needs=("softmax", "linear", "squash"),
    source=Source("06_additive_attention", ("softmax", "PlainAttention")),
    blanks=("PlainAttention.step_backward", "PlainAttention.softmax_backward",
            "PlainAttention.read_backward"),
    cases=cases,
    text="""
    k_j = h_j U_a                        keys, made once for all steps           (B, S, A)
    x_j = tanh(q W_a + k_j)              e_j = v_a · x_j, −∞ outside the mask    (B, S)
    α   = softmax(e)                     c = Σ_j α_j h_j                         (B, D)

Bahdanau et al. 2015, equations 5 and 6, appendix A.1.2. step_backward is given ∂L/∂c, and ∂L/∂α or
None. It adds to dmemory.values and dmemory.keys, since every step of the decoder reads both, and to
grads.W_a and grads.v_a, and returns ∂L/∂q. softmax_backward returns ∂L/∂e. read_backward comes
last. It adds to grads.U_a and returns ∂L/∂h (B, S, D), from all that the steps have gathered in
dmemory.
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
         "dmemory.values = alpha[:, :, None] * dcontext[:, None]", "you set the gradient of the "
         "values; it should be added with +=, because every step of the decoder reads them"),
        ("dmemory.keys += da", "dmemory.keys = da", "you set the gradient of the keys; it should "
         "be added with +=, because every step of the decoder reads them"),
        ("            dalpha = dalpha + dweights\n", "            pass\n",
         "you left out the given ∂L/∂α; it should be added to dα, because the weights are an "
         "output in addition to the context"),
        *softmax_mistakes("return alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))",
                          "alpha", "dalpha"),
        ("(alpha * dalpha).sum(1,", "(alpha * dalpha).mean(1,", MEAN),
        ("dcontext[:, None]).sum(2)", "dcontext[:, None]).mean(2)", PRODUCT_MEAN),
        ("* self.v_a * (1 - x**2)", "* (1 - x**2)",
         "you left out v_a; what comes back to x should be de v_a, because e = v_a · x"),
        ("total = da.sum(1)", "total = da.mean(1)",
         "you averaged over the words; it should be a sum, because every word's score reads q"),
        ("return dmemory.values + dmemory.keys @ self.U_a.T", "return dmemory.values",
         "you left out the gradient through the keys; dh has two terms, because a word is a key as "
         "well as a value"),
        ("return dmemory.values + dmemory.keys @ self.U_a.T", "return dmemory.keys @ self.U_a.T",
         "you left out the gradient through the context; dh has two terms, because a word is a "
         "value as well as a key"),
        *tanh_mistakes("* self.v_a * (1 - x**2)", "x"),
        *set_mistakes("every step of the decoder uses it", "grads.v_a += np.tensordot(de, x, 2)",
                      "grads.W_a += query.T @ total"),
        *set_mistakes("grads may hold that of other calls",
                      "grads.U_a += np.tensordot(memory.values, dmemory.keys, ((0, 1), (0, 1)))"),
        *instead("            dalpha = dalpha + dweights\n", "dalpha + dweights",
                 ("dweights", "you kept only the given ∂L/∂α; h · dc should be added, because the "
                  "context reads α too"),
                 ("dalpha * dweights", "you multiplied by the given ∂L/∂α; it should be added, "
                  "because α is read in two ways")),
        *instead("        return alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))\n",
                 "alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))",
                 ("dalpha", "you left out the softmax; de should be α (dα − Σ α dα), because α = "
                  "softmax(e)"),
                 ("alpha * (dalpha - (alpha * dalpha).sum(0, keepdims=True))", "you summed over "
                  "the batch; the sum goes over the words of one sentence, because only their "
                  "weights add up to 1"),
                 ("alpha * (dalpha - (alpha * dalpha).sum())", "you summed over the whole batch; "
                  "the sum goes over the words of one sentence, because only their weights add up "
                  "to 1"),
                 ("dalpha - (alpha * dalpha).sum(1, keepdims=True)", "you left out the α in front; "
                  "it should be α (dα − Σ α dα), because a score moves its weight by α times as "
                  "much")),
        *instead("dmemory.values += alpha[:, :, None] * dcontext[:, None]",
                 "alpha[:, :, None] * dcontext[:, None]",
                 ("dcontext[:, None] + 0 * memory.values", "you left α out of the gradient of the "
                  "values; it should be α_j dc, because c = Σ α_j h_j"),
                 ("dcontext[:, None] / alpha.shape[1] + 0 * memory.values", "you shared dc equally "
                  "among the words; it should be α_j dc, because c = Σ α_j h_j"),
                 ("dalpha[:, :, None] * dcontext[:, None]", "you took dα for α in the gradient of "
                  "the values; it should be α_j dc, because c = Σ α_j h_j")),
        ("* self.v_a * (1 - x**2)", "* self.v_a * (1 - memory.keys**2)", "you took the derivative "
         "of the tanh at the keys; it should be 1 − x², because x is its output"),
        *instead("grads.v_a += np.tensordot(de, x, 2)", "np.tensordot(de, x, 2)",
                 ("np.tensordot(alpha, x, 2)", "you took α for dv_a; it should be Σ de_j x_j, "
                  "because e_j = v_a · x_j"),
                 ("np.tensordot(dalpha, x, 2)", "you took dα for dv_a; it should be Σ de_j x_j, "
                  "because v_a is behind the softmax"),
                 ("np.tensordot(de, memory.keys, 2)", "you took the keys for dv_a; it should be Σ "
                  "de_j x_j, because e_j = v_a · x_j"),
                 ("np.tensordot(de, x, 2) / len(query)", "you averaged dv_a over the batch; it "
                  "should be the sum, because every row used v_a")),
        *instead("        total = da.sum(1)\n", "da.sum(1)",
                 ("da[:, 0]", "you took the first word alone for dq; it should be the sum over "
                  "the words, because every word's score reads q"),
                 ("da[:, -1]", "you took the last word alone for dq; it should be the sum over "
                  "the words, because every word's score reads q"),
                 ("(alpha[:, :, None] * da).sum(1)", "you weighted the words by α in dq; it should "
                  "be the plain sum of da_j, because α is in de already")),
        *instead("grads.W_a += query.T @ total", "query.T @ total",
                 ("np.outer(query[0], total[0])", "you took dW_a from the first row alone; it "
                  "should be the sum over the batch, because every row used W_a"),
                 ("query.T @ total / len(query)", "you averaged dW_a over the batch; it should be "
                  "the sum, because every row used W_a")),
        *instead("        dmemory.keys += da\n", "da",
                 ("da * memory.mask[..., None] / da.shape[1]", "you divided the gradient of the "
                  "keys by the number of words; it should be da_j, because each key has its own "
                  "score"))))
