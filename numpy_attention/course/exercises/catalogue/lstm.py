"""Exercise lstm: one step of long short-term memory."""

import numpy as np

from numpy_attention.course.exercises.exercise import (
    Case,
    Exercise,
    Source,
    batch_mistakes,
    instead,
    set_mistakes,
    sigmoid_mistakes,
    tanh_mistakes,
)
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

Given the upstream gradients ∂L/∂h′ and ∂L/∂c′ (B, H), the second of which comes from the next step
only, add to grads.W, grads.U and grads.b, and return dx, and ∂L/∂h and ∂L/∂c of the state before.
The loop over time is given, and calls your function.
""",
    hints=(
        "c′ is used twice: by the next step and by h′.",
        "First all gradients of c′, then the gates, then one product for each parameter.",
        "dc ← dc + dh o (1 − tanh²(c′)); da_i = dc g i (1 − i); da_f = dc c f (1 − f); da_g = dc i "
        "(1 − g²); da_o = dh tanh(c′) o (1 − o); ∂L/∂c = dc f"),
    why=("The gradient from c′ to c is multiplied by f only: no matrix, no tanh. On this path it "
         "can travel far."),
    unseen="Where the forget gate is 1, da_f is 0, and any factor in it looks correct.",
    mistakes=(
        ("dc = dc + dh * o * (1 - tanh_c**2)", "dc = dh * o * (1 - tanh_c**2)", "you left out the "
         "dc of the next step; it should be added, because c′ is used by h′ and by the next step"),
        ("da_f = dc * c * f * (1 - f)", "da_f = dc * f * (1 - f)", "you left c out of da_f; df "
         "should be dc c, because the forget gate multiplies the old cell"),
        ("da_g = dc * i * (1 - g**2)", "da_g = dc * i * g * (1 - g)",
         "you used σ's derivative for the candidate; it should be 1 − g², because g is a tanh"),
        ("dc_before = dc * f", "dc_before = dc", "you passed dc to the state before unchanged; it "
         "should be dc f, because the forget gate multiplies c"),
        ("da = np.concatenate([da_i, da_f, da_g, da_o], axis=1)",
         "da = np.concatenate([da_f, da_i, da_g, da_o], axis=1)", "you put da_f before da_i; the "
         "order should be i, f, g, o, because that is how a is cut in the forward pass"),
        ("do = dh * tanh_c", "do = dh", "you took dh for do; it should be dh tanh(c′), because the "
         "output gate multiplies tanh(c′)"),
        ("da_i = dc * g * i * (1 - i)", "da_i = dc * i * (1 - i)", "you left g out of da_i; di "
         "should be dc g, because the input gate multiplies the candidate"),
        ("        da_i = dc * g * i * (1 - i)\n        da_f = dc * c * f * (1 - f)\n"
         "        da_g = dc * i * (1 - g**2)\n        da_o = do * o * (1 - o)\n",
         "        da_i = dc * g\n        da_f = dc * c\n        da_g = dc * i * (1 - g**2)\n"
         "        da_o = do\n", "you forgot σ's derivative in all three gates; da should be di i "
         "(1 − i), df f (1 − f) and do o (1 − o), because each gate is a σ of a"),
        ("        da_i = dc * g * i * (1 - i)\n        da_f = dc * c * f * (1 - f)\n"
         "        da_g = dc * i * (1 - g**2)\n        da_o = do * o * (1 - o)\n",
         "        da_i = dc * g\n        da_f = dc * c\n        da_g = dc * i\n        da_o = do\n",
         "you forgot the derivatives of all four; da should have σ (1 − σ) for i, f and o, and "
         "1 − g² for the candidate, because a goes through σ and tanh"),
        ("        da_i = dc * g * i * (1 - i)\n        da_f = dc * c * f * (1 - f)\n"
         "        da_g = dc * i * (1 - g**2)\n        da_o = do * o * (1 - o)\n",
         "        da_i = dc * g * (1 - i**2)\n        da_f = dc * c * (1 - f**2)\n"
         "        da_g = dc * i * (1 - g**2)\n        da_o = do * (1 - o**2)\n", "you used tanh's "
         "derivative in all three gates; it should be σ (1 − σ), because i, f and o are sigmoids"),
        ("dc = dc + dh * o * (1 - tanh_c**2)", "dc = dc + dh * (1 - tanh_c**2)",
         "you left o out of dc; it should be dh o (1 − tanh²(c′)), because h′ = o tanh(c′)"),
        ("grads.U += h.T @ da", "grads.U += (o * tanh_c).T @ da", "you multiplied by h′ in dU; it "
         "should be h, because U multiplied the state before the step"),
        ("da_i = dc * g * i * (1 - i)", "da_i = dc * g", "you forgot σ's derivative in the input "
         "gate; da_i should be dc g i (1 − i), because i is a σ"),
        ("da_f = dc * c * f * (1 - f)", "da_f = dc * c", "you forgot σ's derivative in the forget "
         "gate; da_f should be dc c f (1 − f), because f is a σ"),
        ("da_o = do * o * (1 - o)", "da_o = do", "you forgot σ's derivative in the output gate; "
         "da_o should be do o (1 − o), because o is a σ"),
        *tanh_mistakes("da_g = dc * i * (1 - g**2)", "g")[:2],
        *tanh_mistakes("dc = dc + dh * o * (1 - tanh_c**2)", "tanh_c", "tanh(c′)"),
        *sigmoid_mistakes("da_i = dc * g * i * (1 - i)", "i"),
        *sigmoid_mistakes("da_f = dc * c * f * (1 - f)", "f"),
        *sigmoid_mistakes("da_o = do * o * (1 - o)", "o"),
        *batch_mistakes("grads.b += da.sum(0)", "da", "b"),
        *set_mistakes("every step uses it", "grads.W += x.T @ da", "grads.U += h.T @ da",
                      "grads.b += da.sum(0)"),
        *instead("        grads.W += x.T @ da\n        grads.U += h.T @ da\n"
                 "        grads.b += da.sum(0)\n", " +=",
                 ("[...] =", "you set the gradients; they should be added with +=, because every "
                  "step uses W, U and b"),
                 (" += 1 / len(da) *", "you averaged over the batch; it should be the sum, because "
                  "every sequence used W, U and b")),
        *instead("da = np.concatenate([da_i, da_f, da_g, da_o], axis=1)",
                 "[da_i, da_f, da_g, da_o]",
                 ("[da_i, da_f, da_o, da_g]", "you put da_o before da_g; the order should be i, f, "
                  "g, o, because that is how a is cut in the forward pass"),
                 ("[da_i, da_g, da_f, da_o]", "you put da_g before da_f; the order should be i, f, "
                  "g, o, because that is how a is cut in the forward pass"),
                 ("[da_g, da_i, da_f, da_o]", "you put da_g first; the order should be i, f, g, o, "
                  "because that is how a is cut in the forward pass"),
                 ("[da_f, da_i, da_o, da_g]", "you joined f, i, o, g; the order should be i, f, g, "
                  "o, because that is how a is cut in the forward pass")),
        *instead("dc = dc + dh * o * (1 - tanh_c**2)", "dc + dh * o * (1 - tanh_c**2)",
                 ("dc + dh * o * (1 - np.tanh(c)**2)", "you took the tanh of the old c; it should "
                  "be tanh(c′), because h′ reads the new cell"),
                 ("dc + dh * o * (1 - c**2)", "you took 1 − c²; it should be 1 − tanh²(c′), "
                  "because h′ reads the new cell through a tanh"),
                 ("dc + dh * o * (1 - (f * c + i * g)**2)", "you took 1 − c′²; it should be 1 − "
                  "tanh²(c′), because the derivative is taken at the tanh's output"),
                 ("dc + dh", "you added dh itself to dc; it should be dh o (1 − tanh²(c′)), "
                  "because h′ = o tanh(c′)"),
                 ("dc", "you left the path through h′ out of dc; dh o (1 − tanh²(c′)) should be "
                  "added, because h′ reads c′"),
                 ("dc + do * o * (1 - tanh_c**2)", "you took do for dh in dc; it should be dh o (1 "
                  "− tanh²(c′)), because h′ = o tanh(c′)")),
        *instead("da_f = dc * c * f * (1 - f)", "dc * c",
                 ("dc * (f * c + i * g)", "you took c′ for the old c; df should be dc c, because "
                  "the forget gate multiplies the old cell"),
                 ("dc * tanh_c", "you took tanh(c′) for the old c; df should be dc c, because the "
                  "forget gate multiplies the old cell")),
        *instead("da_g = dc * i * (1 - g**2)", "dc * i * (1 - g**2)",
                 ("dc * i", "you left out the tanh's derivative for the candidate; da_g should be "
                  "dc i (1 − g²), because g is a tanh"),
                 ("dc * (1 - g**2)", "you left i out of da_g; dg should be dc i, because the input "
                  "gate multiplies the candidate")),
        *instead("        do = dh * tanh_c\n", "dh * tanh_c",
                 ("dh * (f * c + i * g)", "you took c′ for tanh(c′) in do; it should be dh "
                  "tanh(c′), because the output gate multiplies the tanh"),
                 ("dh * c", "you took the old c in do; it should be dh tanh(c′), because the "
                  "output gate multiplies tanh(c′)")),
        *instead("        dc_before = dc * f\n", "dc * f",
                 ("(dc - dh * o * (1 - tanh_c**2)) * f", "you took the dc that was given for "
                  "∂L/∂c; it should be the whole dc times f, with what comes through h′"),
                 ("dc * i", "you multiplied dc by i; it should be dc f, because the forget gate "
                  "multiplies the old cell"),
                 ("dc * c", "you multiplied dc by c; it should be dc f, because the forget gate "
                  "multiplies the old cell"),
                 ("dc * f * (1 - f)", "you took σ's derivative in ∂L/∂c; it should be dc f, "
                  "because c′ = f c + i g")),
        *instead("return da @ self.W.T, da @ self.U.T, dc_before", "da @ self.U.T, dc_before",
                 ("dc_before, da @ self.U.T", "you returned ∂L/∂c before ∂L/∂h; it should be dx, "
                  "∂L/∂h, ∂L/∂c, because the loop reads them in that order"),
                 ("da @ self.U.T + dh, dc_before", "you passed dh on as well; ∂L/∂h should be da "
                  "Uᵀ alone, because h is read only through U"))))
