"""Exercise causal: attention over the past of the same sequence."""

import numpy as np

from numpy_attention.course.exercises.catalogue.softmax import MEAN, PRODUCT_MEAN
from numpy_attention.course.exercises.exercise import (
    Case,
    Exercise,
    Source,
    softmax_mistakes,
    tanh_mistakes,
)


def cases(rng, its):
    shapes = (4, 6), (4, 6), (6,), (4, 7), (4, 7), (7,)
    for lengths in ([5, 3], [2, 5]):
        reader = its.PlainReader(*(rng.standard_normal(shape) for shape in shapes))
        mask = np.arange(5)[:, None] < np.array(lengths)
        yield Case(reader.forward, (rng.standard_normal((5, 2, 4)), mask),
                   lambda dy, dalpha, cache, grads, reader=reader: (
                       reader.backward(dy, dalpha, cache, grads), None), reader)


EXERCISE = Exercise(
    "causal", "attention over its own past", "11_attentive_language_model", position=1,
    needs=("additive",), source=Source("11_attentive_language_model", ("softmax", "PlainReader")),
    blanks=("PlainReader.backward", "PlainReader.four_roles"), cases=cases,
    text="""
    k_i = h_i W_s        q_t = h_t W_q        x_ti = tanh(k_i + q_t)
    e_ti = v · x_ti, for i < t                α_t = softmax(e_t)
    c_t = Σ_i α_ti h_i                        y_t = tanh(h_t W_h + c_t W_r + b)

Salton et al. 2017, all steps at once under the causal mask. Given ∂L/∂y (T, B, O), and ∂L/∂α of
the weights themselves, add to the six parameters' gradients and return ∂L/∂h (T, B, H). That is
what four_roles returns, for `backward` to call: da is the gradient in front of the tanh of y, and
you choose the order of the axes in which you hand it the others.
""",
    hints=(
        "Each state has four roles: it predicts, and it is a query, a key and a value.",
        "Three of them involve other steps: their sums go over different axes.",
        "dk_i is a sum over all t that look at i, dq_t a sum over all i that t looks at; the "
        "value's part of h_i is Σ_t α_ti dc_t"),
    why="The value's part takes the loss at t to h_s in one step, however far apart they are.",
    unseen=("Without the triangle the model reads what it is to predict, and every gradient is "
            "right."),
    mistakes=(
        ("        dh += dvalues                           # it is fetched\n", "",
         "you left out the gradient through the context; dh has four terms, because a state "
         "predicts and is query, key and value"),
        ("        dh += dk @ self.W_s.T                   # it is found\n", "",
         "you left out the gradient through the keys; dh has four terms, because a state "
         "predicts and is query, key and value"),
        ("        dh += dq @ self.W_q.T                   # it asks\n", "",
         "you left out the gradient through the queries; dh has four terms, because a state "
         "predicts and is query, key and value"),
        ("dk = dz.sum(0) ", "dk = dz.mean(0) ", "you averaged the gradient of a key over the "
         "steps; it should be a sum, because every later step meets it"),
        ("dq = dz.sum(2) ", "dq = dz.mean(2) ", "you averaged the gradient of a query over the "
         "states; it should be a sum, because it meets every earlier state"),
        ("dalpha = (values * dc[:, :, None]).sum(3) + dalpha",
         "dalpha = (values * dc[:, :, None]).sum(3)", "you left out the given dα; it should be "
         "added, because the weights are an output in addition to the context"),
        *softmax_mistakes("de = alpha * (dalpha - (alpha * dalpha).sum(2, keepdims=True))",
                          "alpha", "dalpha"),
        ("(alpha * dalpha).sum(2,", "(alpha * dalpha).mean(2,", MEAN),
        ("dc[:, :, None]).sum(3)", "dc[:, :, None]).mean(3)", PRODUCT_MEAN),
        *tanh_mistakes("da = dy * (1 - y**2)", "y"),
        *tanh_mistakes("dz = de[..., None] * self.v * (1 - x**2)", "x"),
        ("        dh = da @ self.W_h.T                    # it predicts\n",
         "        dh = np.zeros(da.shape[:2] + self.W_h.shape[:1])\n", "you left out the gradient "
         "through the prediction; dh has four terms, because h_t W_h is in y_t"),
        ('"tbs,tbsa->a", de, x', '"tbs,tbsa->a", alpha, x',
         "you took α for de in the gradient of v; it should be Σ de x, because v is in the scores"),
        ("* dc[:, :, None]).sum(0)", "* dc[:, :, None]).mean(0)", "you averaged dvalues over the "
         "steps; it should be a sum, because every later step reads the value"),
        ("* self.v * (1 - x**2)", "* (1 - x**2)",
         "you left out v in dz; it should be a factor, because e = v · x"),
        ('"tbh,tba->ha", h, dq', '"tbh,tba->ha", h, dk.swapaxes(0, 1)',
         "you took dk for W_q; it should be dq, because W_q made the queries"),
        ('"bsh,bsa->ha", values, dk', '"bsh,bsa->ha", values, dq.swapaxes(0, 1)',
         "you took dq for W_s; it should be dk, because W_s made the keys"),
        ('"tbh,tbo->ho", c, da', '"tbh,tbo->ho", h, da',
         "you took h for W_r; it should be c, because W_r multiplied the context"),
        ('"tbh,tbo->ho", h, da', '"tbh,tbo->ho", c, da',
         "you took c for W_h; it should be h, because W_h multiplied the state"),
        ("dc = da @ self.W_r.T", "dc = dy @ self.W_r.T",
         "you took dy for dc; it should be da, because y is a tanh"),
        ("grads.b += da.sum((0, 1))", "grads.b += da.mean((0, 1))",
         "you averaged db; it should be a sum, because every step of every sentence used b"),
        ("        dh += dk @ self.W_s.T                   # it is found\n"
         "        dh += dvalues                           # it is fetched\n", "",
         "you left out the gradients through keys and context; dh has four terms, because a state "
         "predicts and is query, key and value"),
        ("        dh += dq @ self.W_q.T                   # it asks\n"
         "        dh += dk @ self.W_s.T                   # it is found\n", "",
         "you left out the gradients through queries and keys; dh has four terms, because a state "
         "predicts and is query, key and value"),
        ("da = dy * (1 - y**2) …         dh += dvalues ", "da = dy …         dh += 0 ",
         "you left out the tanh of y and the gradient through the context; da should be dy (1 − "
         "y²), and dvalues a term of dh"),
        ("dh += dq @ self.W_q.T                   # it asks",
         "dh += dk @ self.W_s.T                   # it is found", "you took the key twice; the "
         "query's term should be dq W_qᵀ, because a state is a query too"),
        ("dalpha = (values * dc[:, :, None])", "dalpha = (h[:, :, None] * dc[:, :, None])",
         "you took h_t for the value in dα; it should be h_i, because c_t = Σ_i α_ti h_i")))
