"""Exercises masks and find-in-masks: a sequence that has ended."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.course.exercises.exercise import FIND_THE_LINE, Case, Exercise, Source
from numpy_attention.gradcheck import randomize
from numpy_attention.module import Array, Module

LESSON = "04_gru"


@dataclass(eq=False)
class MaskedRNN(Module):
    """h_t = tanh(x_t W + h_{t−1} U); where a sequence has ended, its state stays."""

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
        """From ∂L/∂(all states) to ∂L/∂xs, ∂L/∂h_0, and None for the mask."""
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
    for lengths in ([4, 2, 3], [1, 4, 4]):
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
upstream gradient ∂L/∂h_t for every t, add to grads.W and grads.U, and return ∂L/∂xs, ∂L/∂h_0, and
None for the mask.
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
         "you dropped the gradient past a sentence's end; it should come back unchanged there, "
         "because the old state is passed on"),
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
        ("da = dnew * (1 - news[t]**2)", "da = dnew",
         "you passed dn through the tanh unchanged; it should be multiplied by 1 − n_t², "
         "because n_t is a tanh"),
        ("            dh = dh + dhs[t]\n", "            dh = dhs[t]\n",
         "you kept only the upstream gradient of this state; the gradient from the next step "
         "should be added, because the next step reads h_t too"),
        ("            dh = dh + dhs[t]\n", "            dh = dh + dhs[t] * mask[t][:, None]\n",
         "you masked the upstream gradient; all of it should count, because h_t past the end "
         "is still an output"),
        ("grads.U += hs[t].T @ da", "grads.U += hs[t + 1].T @ da",
         "you multiplied by h_t in dU; it should be h_{t−1}, because U met the state before "
         "the step")))


FIND_IN_MASKS = Exercise(
    "find-in-masks", "sentences that end too late", LESSON, position=2, needs=("masks",),
    source=Source(__file__, ("MaskedRNN",)), cases=cases,
    text=FIND_THE_LINE,
    hints=(
        "What is read past a sentence's end changes nothing. Which gradients contradict that?",
        "Which elements of xs are wrong: in which steps, of which sentences?",
        "np.where sends a gradient to the operand that was taken, and 0 to the other."),
    why="Past its end, a sentence's new state is not used, so its gradient, dnew, is 0 there.",
    planted=("dnew = np.where(m, dh, 0)", "dnew = dh"))
