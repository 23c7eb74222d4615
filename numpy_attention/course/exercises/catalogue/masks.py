"""Exercises masks and find-in-masks: sentences of a batch that differ in length."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.course.exercises.exercise import (
    FIND_THE_LINE,
    Case,
    Exercise,
    Source,
    instead,
    set_mistakes,
    tanh_mistakes,
)
from numpy_attention.gradcheck import randomize
from numpy_attention.module import Array, Module

LESSON = "04_gru"


@dataclass(eq=False)
class MaskedRNN(Module):
    """h_t = tanh(x_t W + h_{t−1} U), or h_t = h_{t−1} where the mask is False (padding)."""

    W: Array  # (I, H)
    U: Array  # (H, H)

    def forward(self, xs, h, mask):
        """xs (T, B, I), h_0 (B, H), mask (T, B) → all states (T, B, H), cache."""
        hs = [h]
        news = []
        for x, m in zip(xs, mask):
            new = np.tanh(x @ self.W + hs[-1] @ self.U)
            hs.append(np.where(m[:, None], new, hs[-1]))
            news.append(new)
        return np.stack(hs[1:]), (xs, hs, news, mask)

    def backward(self, dhs, cache, grads):
        """dhs (T, B, H), ∂L/∂h_t for every t → ∂L/∂xs, ∂L/∂h_0, None (mask); adds to grads."""
        xs, hs, news, mask = cache
        dxs = np.zeros_like(xs)
        dh = np.zeros_like(hs[0])
        for t in reversed(range(len(xs))):
            dh = dh + dhs[t]
            m = mask[t][:, None]
            dnew = np.where(m, dh, 0)
            stays = np.where(m, 0, dh)              # past the end h_t is the state before
            da = dnew * (1 - news[t]**2)
            grads.W += xs[t].T @ da
            grads.U += hs[t].T @ da
            dxs[t] = da @ self.W.T
            dh = da @ self.U.T + stays
        return dxs, dh, None


def cases(rng, its):
    for lengths in ([4, 2, 3], [1, 3, 2]):
        cell = randomize(its.MaskedRNN(np.empty((2, 5)), np.empty((5, 5))), rng)
        mask = np.arange(4)[:, None] < np.array(lengths)
        inputs = rng.standard_normal((4, 3, 2)), rng.standard_normal((3, 5)), mask
        yield Case(cell.forward, inputs, cell.backward, cell)


MASKS = Exercise(
    "masks", "a sequence that has ended", LESSON, position=1, needs=("bptt",),
    source=Source(__file__, ("MaskedRNN",)), blanks=("MaskedRNN.backward",), cases=cases,
    text="""
    n_t = tanh(x_t W + h_{t−1} U)
    h_t = n_t where the mask is True, h_{t−1} where it is False

Sentences of a batch differ in length. Past its end, a sentence's state stays as it is. Given the
upstream gradient ∂L/∂h_t for every t, also past a sentence's end, add to grads.W and grads.U, and
return ∂L/∂xs, ∂L/∂h_0, and None for the mask.
""",
    hints=(
        "What is read past the end changes nothing: its dx is 0.",
        "np.where sends each gradient to the operand that was taken. There are two paths back.",
        "dn is dh where the mask is True; where it is False, dh goes to h_{t−1} unchanged"),
    why=("The second path is easily forgotten. Without it a short sentence's last state gets no "
         "gradient from the steps after its end."),
    unseen="With sentences of one length only, a check passes whatever the masks do.",
    mistakes=(
        ("dh = da @ self.U.T + stays", "dh = da @ self.U.T",
         "you dropped the gradient of h_t past a sentence's end; it should go to h_{t−1} "
         "unchanged, because the old state is passed on"),
        ("dnew = np.where(m, dh, 0)", "dnew = dh",
         "you sent a gradient to the new state everywhere; it should be 0 past a sentence's "
         "end, because the new state is not used there"),
        ("dh = da @ self.U.T + stays", "dh = da @ self.U.T + dh",
         "you passed dh on everywhere; it should be passed on only where the mask is False, "
         "because elsewhere h_t is the new state"),
        ("stays = np.where(m, 0, dh) ", "stays = np.where(m, dh, 0) ",
         "you passed dh on where the mask is True; it should be where it is False, because "
         "that is where the old state stays"),
        ("da = dnew * (1 - news[t]**2)", "da = dnew * (1 - hs[t]**2)",
         "you took the derivative of the tanh at the state before; it should be 1 − n_t², "
         "because n_t is its output"),
        ("            dh = dh + dhs[t]\n", "            dh = dhs[t]\n",
         "you kept only the upstream gradient of this state; the gradient from the next step "
         "should be added, because the next step reads h_t too"),
        ("grads.U += hs[t].T @ da", "grads.U += hs[t + 1].T @ da",
         "you multiplied by h_t in dU; it should be h_{t−1}, because U multiplied the state "
         "before the step"),
        *tanh_mistakes("da = dnew * (1 - news[t]**2)", "news[t]", "n_t"),
        *set_mistakes("every step uses it", "grads.W += xs[t].T @ da", "grads.U += hs[t].T @ da"),
        *instead("            grads.W += xs[t].T @ da\n            grads.U += hs[t].T @ da\n", " "
        "+=",
                 ("[...] =", "you set the gradients at each step; they should be added with +=, "
                  "because every step uses W and U"),
                 (" += 1 / len(da) *", "you averaged over the batch; it should be the sum, because "
                  "every sentence used W and U")),
        *instead("            dh = dh + dhs[t]\n", "            dh = dh + dhs[t]\n",
                 ("            if not mask[t].any():\n                continue\n"
                  "            dh = dh + dhs[t]\n", "you skipped the steps past the end of all "
                  "sentences; dhs[t] should be added first, because h_t is still an output"),
                 ("            if not mask[t].all():\n                continue\n"
                  "            dh = dh + dhs[t]\n", "you skipped a step if any sentence has ended; "
                  "the others should go on"),
                 ("            dh = dhs[t] + np.where(mask[t][:, None], dh, 0)\n", "you carried dh "
                  "only where the mask is True; past the end it should be carried too, unchanged"),
                 ("", "you left out dhs; dh should be dhs_t plus what comes from the next step, "
                  "because every h_t is an output")),
        *instead("            m = mask[t][:, None]\n", "mask[t][:, None]",
                 ("mask[t - 1][:, None]", "you took the mask of the step before; it should be "
                  "mask[t], because it decided on h_t"),
                 ("mask[min(t + 1, len(mask) - 1)][:, None]", "you took the mask of the next step; "
                  "it should be mask[t], because it decided on h_t"),
                 ("~mask[t][:, None]", "you read the mask the wrong way round; dn should be dh "
                  "where it is True, because the new state is taken there"),
                 ("np.ones_like(mask[t][:, None])", "you ignored the mask; past a sentence's end "
                  "dn should be 0 and dh go to h_{t−1} unchanged, because the state stays"),
                 ("mask[t].all()", "you read the mask of all sentences at once; each row should "
                  "follow its own, because sentences end at different steps")),
        *instead("grads.U += hs[t].T @ da", "hs[t]",
                 ("news[t - 1]", "you took news[t − 1] for dU; it should be h_{t−1}, hs[t], "
                  "because at t = 0 that is h_0"),
                 ("hs[0]", "you took h_0 for dU at every step; it should be h_{t−1}, because U "
                  "multiplied the state just before")),
        *instead("            dh = da @ self.U.T + stays\n", "da @ self.U.T + stays",
                 ("np.where(m, dh @ self.U.T, dh)", "you carried dh Uᵀ; it should be da Uᵀ, "
                  "because U is inside the tanh"),
                 ("da @ self.U + stays", "you forgot to transpose U; dh should be da Uᵀ, because "
                  "the forward pass multiplied by U")),
        *instead("            dxs[t] = da @ self.W.T\n", "dxs[t]",
                 ("dxs[len(xs) - 1 - t]", "you left dxs in the order of the loop; it should be "
                  "reversed, because the loop begins with the last step"))))


FIND_IN_MASKS = Exercise(
    "find-in-masks", "sentences that end too late", LESSON, position=2, needs=("masks",),
    source=Source(__file__, ("MaskedRNN",)), cases=cases,
    text=FIND_THE_LINE,
    hints=(
        "What is read past a sentence's end changes nothing. Which gradients contradict that?",
        "Which elements of xs are wrong: in which steps, of which sentences?",
        "Follow one sentence that ends: in which step does backward first treat it as running?"),
    why="The mask of step t decided on h_t, so backward reads the same one in step t.",
    planted=("m = mask[t][:, None]", "m = mask[t - 1][:, None]"))
