"""Exercises on queries, keys and values: one head, many heads, a planted mistake."""

from numpy_attention.course.exercises.catalogue.softmax import MEAN
from numpy_attention.course.exercises.exercise import (
    FIND_THE_LINE,
    Case,
    Exercise,
    Source,
    softmax_mistakes,
)

BOTH = "    dq = dE @ k * scale\n    dk = dE.swapaxes(-1, -2) @ q * scale"
LESSON = "08_scaled_dot_product"


def visible_to(rng, *shape):
    visible = rng.random(shape) < 0.7
    visible[..., 0] = True                          # every query sees something
    return visible


def scaled_dot_cases(rng, its):
    for *before, T, S in ((2, 4, 5), (2, 2, 3, 4)):
        shapes = (T, 6), (S, 6), (S, 7)
        q, k, v = (rng.standard_normal((*before, *shape)) for shape in shapes)
        yield Case(its.attention, (q, k, v, visible_to(rng, *before, T, S)),
                   lambda dY, dA, cache, grads: (*its.attention_backward(dY, dA, cache), None))


def multi_head_cases(rng, its):
    shapes = (9, 6), (6,), (7, 6), (7, 6), (6,), (6, 8), (8,)
    layer = its.PlainMultiHead(*(rng.standard_normal(shape) for shape in shapes), 3)
    inputs = rng.standard_normal((2, 4, 9)), rng.standard_normal((2, 5, 7))
    yield Case(layer.forward, (*inputs, visible_to(rng, 2, 4, 5)),
               lambda dy, dweights, cache, grads: (
                    *layer.backward(dy, dweights, cache, grads), None),
               layer)


SCALED_DOT = Exercise(
    "scaled-dot", "queries, keys, values", LESSON, position=1, needs=("dot", "softmax"),
    source=Source(LESSON, ("softmax", "attention", "attention_backward")),
    blanks=("attention_backward",), cases=scaled_dot_cases,
    text="""
    E = q kᵀ / √d          scores (…, T, S), −∞ where a key is not visible
    A = softmax(E)         weights, along the last axis
    Y = A v                (…, T, d_v)

Vaswani et al. 2017, equation 1, with any axes in front. Given dY, and dA of the weights
themselves, return dq (…, T, d), dk (…, S, d), dv (…, S, d_v).
""",
    hints=(
        "A hidden key has weight 0, and with it nothing comes back to its score.",
        "Y = A v is a product of two matrices; so is E, except for the scale.",
        "dv = Aᵀ dY; dA = dY vᵀ + dA; dE = A (dA − Σ A dA); dq = dE k / √d; dk = dEᵀ q / √d"),
    why="The scale is in both gradients, since it is between both and the score.",
    unseen="A softmax along the wrong axis has right gradients: its rows then do not add up to 1.",
    mistakes=(
        ("dq = dE @ k * scale", "dq = dE @ k",
         "you left out 1/√d in dq; it should be a factor, because it is between q and the score"),
        ("dk = dE.swapaxes(-1, -2) @ q * scale", "dk = dE.swapaxes(-1, -2) @ q",
         "you left out 1/√d in dk; it should be a factor, because it is between k and the score"),
        *softmax_mistakes("dE = A * (dA - (A * dA).sum(-1, keepdims=True))", "A", "dA"),
        ("(A * dA).sum(-1,", "(A * dA).mean(-1,", MEAN),
        ("dA = dY @ v.swapaxes(-1, -2) + dA", "dA = dY @ v.swapaxes(-1, -2)", "you left out the "
         "given dA; it should be added, because the weights are an output in addition to Y"),
        ("(A * dA).sum(-1, keepdims=True)", "(A * dA).sum(-2, keepdims=True)", "you summed along "
         "the axis of queries; each row of A is a softmax, so the sum goes along the last axis"),
        ("return dq, dk, A.swapaxes(-1, -2) @ dY", "return dq, dk, A.swapaxes(-1, -2) @ (A @ v)",
         "you made dv of Y; it should be Aᵀ dY"),
        (BOTH, "    dq = dE @ k\n    dk = dE.swapaxes(-1, -2) @ q",
         "you left out 1/√d in dq and dk; it should be a factor of both, because E = q kᵀ / √d"),
        (BOTH, "    dq = dE @ k * scale**2\n    dk = dE.swapaxes(-1, -2) @ q * scale**2",
         "you used 1/√d twice in dq and dk; once is enough, because E = q kᵀ / √d"),
        (BOTH, "    scale = 1 / np.sqrt(k.shape[-2])\n    dq = dE @ k * scale\n"
         "    dk = dE.swapaxes(-1, -2) @ q * scale",
         "you took the number of keys for d in the scale; d should be the length of a key, "
         "because E = q kᵀ / √d"),
        *(("    dq = dE @ k * scale\n", f"    scale = 1 / np.sqrt({size})\n    dq = dE @ k * "
           "scale\n", f"you took the root of {name} in the scale; it should be √d, the length of a "
           "key, because E = q kᵀ / √d") for size, name in (
            ("q.shape[-2]", "the number of queries"), ("v.shape[-1]", "the length of a value"),
            ("q.shape[0]", "the size of the first axis"),
            ("q.shape[1]", "the size of the second axis"))),
        (BOTH, "    dq = dE @ k / scale\n    dk = dE.swapaxes(-1, -2) @ q / scale",
         "you multiplied by √d; dq and dk should be divided by it, because E = q kᵀ / √d"),
        ("dE = A * (dA - (A * dA).sum(-1, keepdims=True))", "dE = dA", "you left out the gradient "
         "of the softmax; dE should be A (dA − Σ A dA), because A = softmax(E)"),
        ("    dA = dY @ v.swapaxes(-1, -2) + dA\n"
         "    dE = A * (dA - (A * dA).sum(-1, keepdims=True))",
         "    given = dA\n    dA = dY @ v.swapaxes(-1, -2)\n"
         "    dE = A * (dA - (A * dA).sum(-1, keepdims=True)) + given",
         "you added the given dA after the softmax; it should be added before, because it is a "
         "gradient of A and not of E"),
        ("A.swapaxes(-1, -2) @ dY", "dA.swapaxes(-1, -2) @ dY",
         "you took dA for A in dv; it should be Aᵀ dY, because Y = A v"),
        *(("A.swapaxes(-1, -2) @ dY", f"0 * v + dY.{total}(-2, keepdims=True)", "you left A out of "
           "dv; it should be Aᵀ dY, because Y = A v") for total in ("sum", "mean")),
        ("A.swapaxes(-1, -2) @ dY", "dE.swapaxes(-1, -2) @ dY",
         "you took dE for A in dv; it should be Aᵀ dY, because Y = A v"),
        ("A.swapaxes(-1, -2) @ dY", "A.swapaxes(-1, -2) @ dY * scale", "you put 1/√d into dv; it "
         "should be Aᵀ dY alone, because the scores are scaled and not the values"),
        ("dq = dE @ k * scale", "dq = dA @ k * scale", "you took dA for dE in dq; it should be dE, "
         "because q is in the scores, before the softmax"),
        ("dk = dE.swapaxes(-1, -2) @ q", "dk = dA.swapaxes(-1, -2) @ q",
         "you took dA for dE in dk; it should be dE, because k is in the scores, before the "
         "softmax")))


MULTI_HEAD = Exercise(
    "multi-head", "many softmaxes side by side", LESSON, position=2, needs=("scaled-dot", "linear"),
    source=Source(LESSON, ("softmax", "attention", "attention_backward", "PlainMultiHead")),
    blanks=("PlainMultiHead.backward",), cases=multi_head_cases,
    text="""
    Q = X W_q + b_q        K = M W_k        V = M W_v + b_v
    each cut into h heads of d / h columns; each head attends by itself
    out = [head_1; …; head_h] W_o + b_o

Given ∂L/∂out (B, T, O), and ∂L/∂(mean of the heads' weights) (B, T, S), add to the seven
parameters' gradients, and return dX and dM. `split` and `join` are there.
""",
    hints=(
        "M was used twice, for keys and for values.",
        "The mean over the heads gives each head an equal share of dweights.",
        "split(dy W_oᵀ) is the gradient of the heads' outputs; dq, dk, dv of all heads at once by "
        "attention_backward, joined; the rest is three linear layers"),
    why="Splitting and joining move numbers about and change none: their gradients are each other.",
    unseen="Heads that are cut out of the wrong axis mix words, with right gradients.",
    mistakes=(
        ("shares = dweights[:, None] / self.heads", "shares = dweights[:, None]",
         "you left out 1/h; each head should get that share of dα, because the weights that go out "
         "are a mean over the heads"),
        ("dk @ self.W_k.T + dv @ self.W_v.T", "dk @ self.W_k.T", "you left out the gradient "
         "through the values; dM has two terms, because M gives keys and values"),
        ("dk @ self.W_k.T + dv @ self.W_v.T", "dv @ self.W_v.T", "you left out the gradient "
         "through the keys; dM has two terms, because M gives keys and values"),
        ("grads.b_q += dq.sum((0, 1))", "grads.b_q += dq.mean((0, 1))",
         "you averaged db_q; it should be a sum, because every word of every sentence used b_q"),
        ("grads.W_q += np.tensordot(X, dq, ((0, 1), (0, 1)))", "grads.W_q += X[0].T @ dq[0]",
         "you took the gradient of W_q from one sentence; it should be a sum over the batch"),
        ("dparts = self.split(dy @ self.W_o.T)",
         "dparts = (dy @ self.W_o.T).reshape(len(dy), self.heads, dy.shape[1], -1)",
         "you only reshaped; cut into heads and exchange the axes, as split does, because a "
         "reshape alone mixes words"),
        ("grads.W_v += np.tensordot(M, dv, ((0, 1), (0, 1)))",
         "grads.W_v += np.tensordot(M, dk, ((0, 1), (0, 1)))",
         "you took dk for W_v; it should be dv, because W_v made the values"),
        ("dq, dk, dv = map(self.join, attention_backward(dparts, shares, looked))",
         "dq, dk, dv = (one.reshape(len(one), one.shape[2], -1)\n"
         "                      for one in attention_backward(dparts, shares, looked))",
         "you joined the heads by a reshape; use join, because a reshape without exchanging the "
         "axes mixes heads and words"),
        ("dq, dk, dv = map(self.join, attention_backward(dparts, shares, looked))",
         "dq, dv, dk = map(self.join, attention_backward(dparts, shares, looked))",
         "you exchanged dk and dv; attention_backward returns dq, dk, dv in this order"),
        ("shares = dweights[:, None] / self.heads", "shares = 0 * dweights[:, None]",
         "you left out dweights; each head should get dweights / h, because the weights are an "
         "output in addition to out"),
        ("grads.W_k += np.tensordot(M, dk", "grads.W_k += np.tensordot(M, dv",
         "you took dv for W_k; it should be dk, because W_k made the keys"),
        ("grads.b_v += dv.sum((0, 1))", "grads.b_v += dk.sum((0, 1))",
         "you did not add the gradient of b_v, or you added Σ dk, which is 0; it should be Σ dv, "
         "because b_v is in the values"),
        *((f"        grads.{line}\n", "", f"you did not add the gradient of {line[:3]} to grads; "
           f"it should be added, because the forward pass reads {line[:3]}") for line in (
            "W_o += np.tensordot(joined, dy, ((0, 1), (0, 1)))", "b_o += dy.sum((0, 1))",
            "W_q += np.tensordot(X, dq, ((0, 1), (0, 1)))", "b_q += dq.sum((0, 1))",
            "W_k += np.tensordot(M, dk, ((0, 1), (0, 1)))",
            "W_v += np.tensordot(M, dv, ((0, 1), (0, 1)))")),
        ("grads.b_v += dv.sum((0, 1))", "grads.b_v += dv.mean((0, 1))",
         "you averaged db_v; it should be a sum, because every word of every sentence used b_v"),
        ("grads.b_o += dy.sum((0, 1))", "grads.b_o += dy.mean((0, 1))",
         "you averaged db_o; it should be a sum, because every word of every sentence used b_o"),
        ("grads.W_o += np.tensordot(joined, dy, ((0, 1), (0, 1)))",
         "grads.W_o += np.tensordot(joined, dy, ((0, 1), (0, 1))) / len(X)",
         "you averaged dW_o over the batch; it should be a sum, because every sentence used W_o"),
        ("grads.W_q += np.tensordot(X, dq, ((0, 1), (0, 1)))",
         "grads.W_q += np.tensordot(X, dq, ((0, 1), (0, 1))) / len(X)",
         "you averaged dW_q over the batch; it should be a sum, because every sentence used W_q"),
        ("return dq @ self.W_q.T", "return dq @ self.W_q.T / self.heads",
         "you divided dX by h; it should be a sum over the heads, because X is in all of them")))


FIND_IN_HEADS = Exercise(
    "find-in-heads", "weights where they should be 0", LESSON, position=3, needs=("scaled-dot",),
    source=Source(LESSON, ("softmax", "attention", "attention_backward")), cases=scaled_dot_cases,
    text=FIND_THE_LINE,
    hints=(
        "A hidden key has weight 0. Does it?",
        "No gradient can show this: the backward pass is the derivative of what the forward does. "
        "What does the forward do?",
        "the score of what is not visible is −∞"),
    why="A mask that is forgotten in the forward pass leaves every gradient right.",
    planted=("A = softmax(np.where(visible, E, -np.inf))", "A = softmax(np.where(visible, E, 0))"))
