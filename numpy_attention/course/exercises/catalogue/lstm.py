"""Exercise lstm: one step of long short-term memory."""

import numpy as np

from numpy_attention.course.exercises.exercise import Case, Exercise, Source
from numpy_attention.gradcheck import randomize


def cases(rng, its):
    for T, B in ((3, 2), (1, 3)):
        cell = randomize(its.PlainLSTM(np.empty((2, 20)), np.empty((5, 20)), np.empty(20)), rng)
        inputs = rng.standard_normal((T, B, 2)), tuple(rng.standard_normal((2, B, 5)))
        yield Case(cell.forward, inputs, cell.backward, cell)


EXERCISE = Exercise(
    "lstm", "one step of long short-term memory", "03_lstm", position=1, needs=("bptt",),
    source=Source("03_lstm", ("sigmoid", "PlainLSTM")), blanks=("PlainLSTM.step_backward",),
    cases=cases,
    text="""
    a = x W + h U + b, cut into a_i, a_f, a_g, a_o          (B, H) each
    i = σ(a_i)      f = σ(a_f)      g = tanh(a_g)      o = σ(a_o)
    c′ = f c + i g                  h′ = o tanh(c′)

Given ∂L/∂h′ and, from the step after alone, ∂L/∂c′ (B, H), add to grads.W, grads.U and grads.b, and
return dx, and ∂L/∂h and ∂L/∂c of the state before. The loop over time is there, and calls you.
""",
    hints=(
        "c′ is used twice: by the next step and by h′.",
        "First all that reaches c′, then the four gates, then one product for each parameter.",
        "dc ← dc + dh o (1 − tanh²(c′)); da_i = dc g i (1 − i); da_f = dc c f (1 − f); da_g = dc i "
        "(1 − g²); da_o = dh tanh(c′) o (1 − o); ∂L/∂c = dc f"),
    why=("What goes from c′ to c is multiplied with f alone: no matrix, no tanh. That is the path "
         "on which a gradient can travel far."),
    unseen="With a forget gate that is 1 everywhere, da_f is 0 and any factor in it is right.",
    mistakes=(
        ("dc = dc + dh * o * (1 - tanh_c**2)", "dc = dh * o * (1 - tanh_c**2)",
         "you left out the gradient from the next step; dc′ has two terms, because c′ is used "
         "twice"),
        ("dc = dc + dh * o * (1 - tanh_c**2)", "dc = dc + dh * o",
         "you left out the derivative of the tanh over the memory; it should be a factor 1 − "
         "tanh²(c′)"),
        ("da_f = dc * c * f * (1 - f)", "da_f = dc * f * (1 - f)",
         "you left out c; it should be a factor of the forget gate's gradient, because that gate "
         "multiplied the old memory"),
        ("da_g = dc * i * (1 - g**2)", "da_g = dc * i * g * (1 - g)",
         "you took another derivative for the candidate; it has a tanh, so it should be 1 − g²"),
        ("dc_before = dc * f", "dc_before = dc",
         "you left out f; it should be a factor of what goes back to c, because c went through the "
         "forget gate"),
        ("da = np.concatenate([da_i, da_f, da_g, da_o], axis=1)",
         "da = np.concatenate([da_f, da_i, da_g, da_o], axis=1)",
         "you joined the blocks of the gates in another order; it should be that of the forward "
         "pass"),
        ("da_o = do * o * (1 - o)", "da_o = do * (1 - o**2)",
         "you took another derivative for the output gate; it has a σ, so it should be o (1 − o)"),
        ("do = dh * tanh_c", "do = dh", "you left out tanh(c′); it should be a factor of the "
                                        "output gate's gradient, because that gate multiplied it"),
        ("da_i = dc * g * i * (1 - i)", "da_i = dc * i * (1 - i)",
         "you left out g; it should be a factor of the input gate's gradient, because that gate "
         "multiplied the candidate")))
