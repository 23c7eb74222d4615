"""Exercise causal: attention over the past of the same sequence."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source, softmax_mistakes


def cases(rng, its):
    shapes = (4, 5), (4, 5), (5,), (4, 7), (4, 7), (7,)
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
    k_s = h_s W_s        q_t = h_t W_q        x_ts = tanh(k_s + q_t)
    e_ts = v · x_ts, for s < t                α_t = softmax(e_t)
    c_t = Σ_s α_ts h_s                        y_t = tanh(h_t W_x + c_t W_r + b)

Salton et al. 2017, all steps at once under the causal mask. Given ∂L/∂y (T, B, K), and ∂L/∂α of
the weights themselves, add to the six parameters' gradients and return ∂L/∂h (T, B, H). That is
what four_roles returns, for `backward` to call: da is the gradient in front of the tanh of y, and
you choose the order of the axes in which you hand it the others.
""",
    hints=(
        "Each state has four roles: it predicts, and it is a query, a key and a value.",
        "Three of them involve other steps: their sums go over different axes.",
        "dk_s is a sum over all t that look at s, dq_t a sum over all s that t looks at; the "
        "value's part of h_s is Σ_t α_ts dc_t"),
    why="The value's part takes the loss at t to h_s in one step, however far apart they are.",
    unseen=("Without the triangle the model reads what it is to predict, and every gradient is "
            "right."),
    mistakes=(
        ("        dh += dvalues                           # it is fetched\n", "",
         "you left out the gradient through the context; dh has three terms, because a state is "
         "query, key and value"),
        ("        dh += dk @ self.W_s.T                   # it is found\n", "",
         "you left out the gradient through the keys; dh has three terms, because a state is "
         "query, key and value"),
        ("        dh += dq @ self.W_q.T                   # it asks\n", "",
         "you left out the gradient through the queries; dh has three terms, because a state is "
         "query, key and value"),
        ("dk = dz.sum(0) ", "dk = dz.mean(0) ",
         "you took the gradient of a key from one step; it should be a sum, because every later "
         "step meets it"),
        ("dq = dz.sum(2) ", "dq = dz.mean(2) ",
         "you took the gradient of a query from one state; it should be a sum, because it meets "
         "every earlier state"),
        ("dalpha = (values * dc[:, :, None]).sum(3) + dalpha",
         "dalpha = (values * dc[:, :, None]).sum(3)",
         "you left out the given dα; it should be added, because the weights are an output besides "
         "the context"),
        *softmax_mistakes("de = alpha * (dalpha - (alpha * dalpha).sum(2, keepdims=True))",
                          "alpha", "dalpha"),
        ("da = dy * (1 - y**2)", "da = dy", "you left out the derivative of the last tanh; it "
                                            "should be a factor 1 − y²")))
