"""Exercise key-value-predict: a state that is split into one, two or three parts."""

import numpy as np

from numpy_attention.course.exercises.exercise import (
    Case,
    Exercise,
    Source,
    softmax_mistakes,
    tanh_mistakes,
)


def cases(rng, its):
    shapes = (4, 4), (4, 4), (4,), (4, 5), (4, 5)
    for parts in (1, 2, 3):
        reader = its.PlainReader(*(rng.standard_normal(shape) for shape in shapes), parts, 3)
        yield Case(reader.forward, (rng.standard_normal((6, 4 * parts)),), reader.backward, reader)
    reader = its.PlainReader(*(rng.standard_normal(shape) for shape in shapes), 3, 3)
    states = four_roles(reader, rng.standard_normal((6, 12)))
    yield Case(four_states(reader, its.softmax), states, reader.terms, reader)


def four_roles(reader, h):
    """Split h (three parts) into (query, key, value, predict). The query reads the key's part."""
    n = len(reader.w)
    key, value, predict = np.split(h, [n, 2 * n], axis=1)
    return key, key, value, predict


def four_states(reader, softmax):
    """Return reader.forward as a function of (query, key, value, predict) instead of h."""
    def forward(query, key, value, predict):
        back = np.subtract.outer(range(len(key)), range(len(key)))
        x = np.tanh(key @ reader.W_s + (query @ reader.W_q)[:, None])
        e = np.where((back > 0) & (back <= reader.window), x @ reader.w, -np.inf)
        alpha = softmax(e)
        c = alpha @ value
        y = np.tanh(c @ reader.W_r + predict @ reader.W_x)
        return y, alpha, (np.hstack([key, value, predict]), x, alpha, c, y)
    return forward


EXERCISE = Exercise(
    "key-value-predict", "one state in one, two or three parts", "12_key_value_predict", position=1,
    needs=("causal",), source=Source("12_key_value_predict", ("softmax", "PlainReader")),
    blanks=("PlainReader.terms",), cases=cases,
    text="""
    k, v, p = the columns of h for each role           `split` is there
    x_ti = tanh(z_ti), z_ti = k_i W_s + k_t W_q        for the `window` steps before t
    α_t  = softmax(x_t w)        c_t = Σ_i α_ti v_i    y_t = tanh(c_t W_r + p_t W_x)

Daniluk et al. 2017, equations 5 to 9. Given ∂L/∂y and ∂L/∂α, add to the five parameters'
gradients, and return the four terms of ∂L/∂h, each (T, n): of the query, key, value, and predict.
`backward` puts them into their columns.
""",
    hints=(
        "With one part all four terms meet in the same numbers of h; with three parts, value and "
        "predict have their own, and query and key share one.",
        "k is used as key and as query: k_i W_s and k_t W_q. Which axis of dz is summed for "
        "which?",
        "query: Σ_i dz_ti W_qᵀ; key: Σ_t dz_ti W_sᵀ; value: αᵀ dc; predict: da W_xᵀ, where da is "
        "the gradient in front of the tanh of y"),
    why="The terms are kept apart, so that lesson 12 can measure their conflict.",
    unseen="No law sees a window that reaches the word itself: its gradients are right.",
    mistakes=(
        ("return dz.sum(1) @ self.W_q.T, dz.sum(0) @ self.W_s.T,",
         "return dz.sum(0) @ self.W_q.T, dz.sum(1) @ self.W_s.T,", "you exchanged the two sums; "
         "the query's gradient is a sum over the keys, the key's a sum over the queries"),
        ("grads.W_s += k.T @ dz.sum(0)", "grads.W_s += k.T @ dz.sum(1)", "you took the gradient of "
         "a key from one step; it should be a sum over all steps that read it"),
        ("alpha.T @ dc", "alpha @ dc", "you took α for dv; it should be αᵀ dc, because c = α v"),
        ("dalpha = dalpha + dc @ v.T", "dalpha = dc @ v.T", "you left out the given dα; it should "
         "be added, because the weights are an output in addition to r"),
        *softmax_mistakes("de = alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))",
                          "alpha", "dalpha"),
        ("grads.W_x += p.T @ da", "grads.W_x += k.T @ da",
         "you took the key for W_x; it should be the part that predicts, p"),
        *tanh_mistakes("da = dy * (1 - y**2)", "y"),
        *tanh_mistakes("dz = de[:, :, None] * self.w * (1 - x**2)", "x"),
        ("        grads.W_s += k.T @ dz.sum(0)\n        grads.W_q += k.T @ dz.sum(1)\n"
         "        return dz.sum(1) @ self.W_q.T, dz.sum(0) @ self.W_s.T,",
         "        grads.W_s += k.T @ dz.sum(1)\n        grads.W_q += k.T @ dz.sum(0)\n"
         "        return dz.sum(0) @ self.W_q.T, dz.sum(1) @ self.W_s.T,", "you exchanged the two "
         "sums; the query's gradient is a sum over the keys, the key's a sum over the queries"),
        ("        grads.W_s += k.T @ dz.sum(0)\n        grads.W_q += k.T @ dz.sum(1)\n",
         "        grads.W_s += k.T @ dz.sum(1)\n        grads.W_q += k.T @ dz.sum(0)\n",
         "you exchanged the two sums; the query's gradient is a sum over the keys, the key's a "
         "sum over the queries"),
        ("grads.W_q += k.T @ dz.sum(1)", "grads.W_q += k.T @ dz.sum(0)", "you took the sum over "
         "the queries for W_q; it should be the one over the keys, because W_q multiplied k_t"),
        ("        return dz.sum(1) @ self.W_q.T, dz.sum(0) @ self.W_s.T,",
         "        return dz.sum(0) @ self.W_s.T, dz.sum(1) @ self.W_q.T,",
         "you exchanged the first two terms; the order should be query, key, value, predict"),
        ("alpha.T @ dc, da @ self.W_x.T", "da @ self.W_x.T, alpha.T @ dc",
         "you exchanged the last two terms; the order should be query, key, value, predict"),
        ("        k, v, p = self.split(h)\n        # y = tanh(c W_r + p W_x)\n",
         "        k = v = p = self.split(h)[0]\n", "you took the first columns for all roles; use "
         "self.split, because with two or three parts k, v and p are different columns"),
        ("grads.W_x += p.T @ da", "grads.W_x += c.T @ da",
         "you took c for W_x; it should be p, because W_x multiplied p"),
        ("grads.W_r += c.T @ da", "grads.W_r += v.T @ da",
         "you took the values for W_r; it should be c, because W_r multiplied c"),
        ("np.tensordot(de, x, 2)", "np.tensordot(alpha, x, 2)",
         "you took α for de in the gradient of w; it should be Σ de x, because w is in the scores"),
        ("dc @ v.T", "dc @ k.T", "you took the keys for dα; it should be dc vᵀ, because c = α v"),
        ("alpha.T @ dc", "de.T @ dc",
         "you took de for α in the value's term; it should be αᵀ dc, because c = α v"),
        ("da @ self.W_x.T", "dy @ self.W_x.T",
         "you took dy for the term of predict; it should be da W_xᵀ, because y is a tanh"),
        ("* self.w * (1 - x**2)", "* (1 - x**2)",
         "you left out w in dz; it should be a factor, because e = x w")))
