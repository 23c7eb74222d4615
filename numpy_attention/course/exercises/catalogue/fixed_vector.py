"""Exercise fixed-vector: one vector that every step of a decoder reads."""

from dataclasses import dataclass

import numpy as np

from numpy_attention.course.exercises.exercise import (
    Case,
    Exercise,
    Source,
    instead,
    set_mistakes,
    tanh_mistakes,
)
from numpy_attention.gradcheck import randomize
from numpy_attention.module import Array, Module


@dataclass(eq=False)
class PlainDecoder(Module):
    """s_0 = tanh(c W_s), s_t = tanh(x_t W + s_{t−1} U + c C), o_t = s_t U_o + c C_o."""

    W_s: Array  # (D, H)
    W: Array  # (I, H)
    U: Array  # (H, H)
    C: Array  # (D, H)
    U_o: Array  # (H, O)
    C_o: Array  # (D, O)

    def forward(self, xs, c):
        """xs (T, B, I), the fixed vector c (B, D) → all o_t (T, B, O), cache."""
        states = [np.tanh(c @ self.W_s)]
        outputs = []
        for x in xs:
            states.append(np.tanh(x @ self.W + states[-1] @ self.U + c @ self.C))
            outputs.append(states[-1] @ self.U_o + c @ self.C_o)
        return np.stack(outputs), (xs, c, states)

    def backward(self, dos, cache, grads):
        """dos (T, B, O), ∂L/∂o_t for every t → ∂L/∂xs, ∂L/∂c; adds to grads."""
        xs, c, states = cache
        dxs = np.zeros_like(xs)
        dc = np.zeros_like(c)
        ds = np.zeros_like(states[0])
        for t in reversed(range(len(xs))):
            # o_t = s_t U_o + c C_o
            grads.U_o += states[t + 1].T @ dos[t]
            grads.C_o += c.T @ dos[t]
            ds = ds + dos[t] @ self.U_o.T
            dc += dos[t] @ self.C_o.T
            # s_t = tanh(x_t W + s_{t−1} U + c C)
            da = ds * (1 - states[t + 1]**2)
            grads.W += xs[t].T @ da
            grads.U += states[t].T @ da
            grads.C += c.T @ da
            dxs[t] = da @ self.W.T
            dc += da @ self.C.T
            ds = da @ self.U.T
        # s_0 = tanh(c W_s)
        da_0 = ds * (1 - states[0]**2)
        grads.W_s += c.T @ da_0
        dc += da_0 @ self.W_s.T
        return dxs, dc


def cases(rng, its):
    for T, B in ((4, 3), (1, 4)):
        shapes = (6, 5), (2, 5), (5, 5), (6, 5), (5, 7), (6, 7)
        decoder = randomize(its.PlainDecoder(*(np.empty(shape) for shape in shapes)), rng, 0.5)
        inputs = rng.standard_normal((T, B, 2)), rng.standard_normal((B, 6))
        yield Case(decoder.forward, inputs, decoder.backward, decoder)


EXERCISE = Exercise(
    "fixed-vector", "one vector that every step of a decoder reads", "05_encoder_decoder",
    position=1, needs=("bptt",), source=Source(__file__, ("PlainDecoder",)),
    blanks=("PlainDecoder.backward",), cases=cases,
    text="""
    s_0 = tanh(c W_s)                                c (B, D): all that is known of the source
    s_t = tanh(x_t W + s_{t−1} U + c C)              x_t (B, I): the word before, s_t (B, H)
    o_t = s_t U_o + c C_o                            o_t (B, O): the logits of word t

This is lesson 05's decoder with Elman's cell. c is read in three places: once in s_0, and at every
step in s_t and in o_t. Given the upstream gradients ∂L/∂o_t for every t, add to the gradients of
the six parameters, and return ∂L/∂xs and ∂L/∂c.
""",
    hints=(
        "∂L/∂c is a sum with one term for each use. With T words there are 2 T + 1 uses.",
        "In each step, in this order: o_t, then the tanh of s_t, then what goes to s_{t−1}.",
        "dc += do_t C_oᵀ; dc += da_t Cᵀ with da_t = ds_t (1 − s_t²); after the loop "
        "dc += da_0 W_sᵀ with da_0 = ds_0 (1 − s_0²)"),
    why=("dc is the only gradient that the encoder gets, so each use of c adds to it. No gradient "
         "of the decoder's own parameters is made from dc: a mistake in it shows in ∂L/∂c alone."),
    unseen=("An encoder that hands over its state after the first word instead of the last has "
            "correct gradients, and its decoder never learns what the source says after that."),
    mistakes=(
        ("            dc += dos[t] @ self.C_o.T\n", "            dc = dos[t] @ self.C_o.T\n", "you "
         "set dc at every step; each step should add to it, because every step reads the same c"),
        ("            dc += da @ self.C.T\n", "            dc = da @ self.C.T\n",
         "you set dc where C reads c; it should be added, because the read-out and the other "
         "steps read c too"),
        ("        dc += da_0 @ self.W_s.T\n", "        dc = da_0 @ self.W_s.T\n", "you set dc "
         "after the loop; the term of s_0 should be added, because the steps read c too"),
        ("        dc += da_0 @ self.W_s.T\n", "", "you left the first state out of dc; it should "
         "add da_0 W_sᵀ, because s_0 is made from c"),
        ("            dc += dos[t] @ self.C_o.T\n", "",
         "you left the read-out out of dc; it should add do_t C_oᵀ, because every o_t reads c"),
        ("            dc += da @ self.C.T\n", "",
         "you left the states out of dc; each should add da_t Cᵀ, because every s_t reads c"),
        ("da = ds * (1 - states[t + 1]**2)", "da = ds * (1 - states[t]**2)", "you took the "
         "derivative of the tanh at s_{t−1}; it should be 1 − s_t², because s_t is its output"),
        ("            ds = ds + dos[t] @ self.U_o.T\n", "            ds = dos[t] @ self.U_o.T\n",
         "you kept only the read-out's gradient of s_t; what comes from s_{t+1} should be "
         "added, because the next step reads s_t too"),
        ("grads.U += states[t].T @ da", "grads.U += states[t + 1].T @ da", "you multiplied by s_t "
         "in dU; it should be s_{t−1}, because U multiplied the state before the step"),
        ("grads.U_o += states[t + 1].T @ dos[t]", "grads.U_o += states[t].T @ dos[t]",
         "you multiplied by s_{t−1} in dU_o; it should be s_t, because o_t is read from the "
         "state after the step"),
        ("            ds = da @ self.U.T\n", "            ds = da @ self.U\n", "you forgot to "
         "transpose U; ds should be da Uᵀ, because the forward pass multiplied by U"),
        ("for t in reversed(range(len(xs))):", "for t in range(len(xs)):",
         "you went through the steps forwards; it should be backwards, because ds of a step "
         "comes from the step after it"),
        ("        return dxs, dc\n", "        return dxs, dc / len(xs)\n", "you took the mean of "
         "dc over the steps; it should be the sum, because every use of c adds to L"),
        ("            dxs[t] = da @ self.W.T\n", "",
         "you left dxs at 0; it should be da_t Wᵀ in step t, because s_t reads x_t"),
        *tanh_mistakes("da = ds * (1 - states[t + 1]**2)", "states[t + 1]", "s_t"),
        *tanh_mistakes("da_0 = ds * (1 - states[0]**2)", "states[0]", "s_0"),
        *(("        da_0 = ds * (1 - states[0]**2)\n … c.T @ da_0 … dc += da_0",
           f"{line} … c.T @ {one} … dc += {one}", "you left out the derivative of the tanh; it "
           "should be a factor 1 − s_0²")
          for line, one in (("", "ds"), *((f"        {name} = ds\n", name)
                                          for name in ("da0", "ds0", "da")))),
        *set_mistakes("every step uses it", "grads.U_o += states[t + 1].T @ dos[t]",
                      "grads.C_o += c.T @ dos[t]", "grads.W += xs[t].T @ da",
                      "grads.U += states[t].T @ da", "grads.C += c.T @ da"),
        *set_mistakes("grads may hold that of other calls", "grads.W_s += c.T @ da_0"),
        *instead("            dc += dos[t] @ self.C_o.T\n", "dc +=",
                 ("dc += (t == len(xs) - 1) *", "you counted the read-out of c at the last step "
                  "alone; every step should add do_t C_oᵀ, because every o_t reads c"),
                 ("dc += (t == 0) *", "you counted the read-out of c at the first step alone; "
                  "every step should add do_t C_oᵀ, because every o_t reads c")),
        *instead("            dc += da @ self.C.T\n", "dc +=",
                 ("dc += (t == len(xs) - 1) *", "you counted c in the last state alone; every step "
                  "should add da_t Cᵀ, because every s_t reads c"),
                 ("dc += (t == 0) *", "you counted c in the first step alone; every step should "
                  "add da_t Cᵀ, because every s_t reads c")),
        ("            dc += da @ self.C.T\n", "            dc += ds @ self.C.T\n",
         "you took ds_t for dc; it should be da_t Cᵀ, because c is inside the tanh"),
        *instead("            ds = da @ self.U.T\n", "da @ self.U.T",
                 ("ds @ self.U.T", "you carried ds Uᵀ; it should be da_t Uᵀ, because U is inside "
                  "the tanh"),
                 ("da @ self.U.T + ds", "you carried ds on as well; it should be da_t Uᵀ alone, "
                  "because s_{t−1} is read through U only")),
        ("        dc += da_0 @ self.W_s.T\n", "        dc += da @ self.W_s.T\n",
         "you took da_1 for s_0; it should be da_0 = ds_0 (1 − s_0²), because W_s made s_0"),
        ("        da_0 = ds * (1 - states[0]**2)\n",
         "        da_0 = (ds + dos[0] @ self.U_o.T) * (1 - states[0]**2)\n",
         "you gave s_0 an upstream gradient; only ds should reach it, because no o_t reads s_0"),
        *instead("            dxs[t] = da @ self.W.T\n", "dxs[t] = da @ self.W.T",
                 ("dxs[len(xs) - 1 - t] = da @ self.W.T", "you left dxs in the order of the loop; "
                  "it should be reversed, because the loop begins with the last step"),
                 ("dxs[t] = ds @ self.W.T", "you took ds_t for dxs; it should be da_t Wᵀ, because "
                  "x_t is inside the tanh"))))
