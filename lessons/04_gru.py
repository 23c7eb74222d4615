# %% [markdown]
# # Lesson 04: the gated recurrent unit
#
# **You will be able to** derive the GRU and its backward pass, set a unit by hand, and find such a
# unit in a trained network. Part B measures what the reset gate is worth, and adds other
# conventions and masks.
#
# **Needs:** lessons 02 and 03, each without part B. **Time:** 50 minutes to read, about 15 of them
# for the optional part B; about a minute to run.
#
# Read this verse letter by letter, and stop anywhere. Are you inside or outside the quotation?
#
#     god said , “ let there be light , ” and there was light .
#
# You know at once, because you have *held* on to the last quotation mark you saw. The LSTM of
# lesson 03 can hold, too, with three gates and a cell state. The **gated recurrent unit**, GRU (Cho
# et al. 2014), has only two gates and no cell state. At each step, each of its units chooses:
# *keep* the number you have, or *take* a new one.
#
# First you will set a unit by hand that holds the answer, then derive the whole GRU. At the end, a
# network of 128 units learns to predict the letters of English verses, and nothing in its training
# says what a quotation is. Guess now: will one of its units learn to do what your unit does?

# %%
print("Lesson 04: the gated recurrent unit", flush=True)

from dataclasses import dataclass
from functools import partial

import numpy as np
from course import caught, show
from gru_parts import (RUNS_THAT_LEARNT, check_same, draw_unit, quoted, recall_gru, short_verse,
                       train, verses, watch)
from lstm_parts import recall_network, share_that_arrives
from recurrent_parts import bigram_bits, letters

from numpy_attention import plotting
from numpy_attention.cells.gru import GRU
from numpy_attention.gradcheck import gradcheck, numeric_gradient, randomize
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.module import Array, Module

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# ## A unit that holds
#
# Does it take gates to hold on? Take one unit of lesson 02's network, whose weight in U is 2, and
# whose input is +8 at an opening mark, −8 at a closing mark, and 0 elsewhere:
#
#     h' = tanh(2 h + input)

# %%
VERSE = "god said , “ let there be light , ” and there was light ."
opening = VERSE.index("“")
closing = VERSE.index("”")

h = 0.0
states = []
for letter in VERSE:
    h = np.tanh(2 * h + {"“": 8.0, "”": -8.0}.get(letter, 0.0))
    states.append(h)
print(f"just before the closing mark: h = {states[closing - 1]:.4f}; at the end: {states[-1]:.4f}")

# %% [markdown]
# No: this unit holds the answer, and loses nothing, because 0.9575 is where tanh(2 h) = h. But in
# the backward pass, each letter multiplies the gradient by ∂h'/∂h = 2 (1 − h'²):

# %%
slopes = 2 * (1 - np.array(states[opening + 1:closing])**2)
print(f"what remains of the gradient: {slopes[-1]:.2f} after one letter, {slopes.prod():.0e} "
      f"after all {len(slopes)} letters between the marks")

# %% [markdown]
# This unit holds, but almost nothing of the gradient gets back to the opening mark. Both have the
# same reason: with a slope of 0.17, each letter shrinks any change of h to a sixth, and the
# gradient with it. Can training find such a unit?
#
# A **gated** unit also has one number, h. At each letter it is offered a new number, the
# **candidate** n, between −1 and 1. Its **gate** z, between 0 and 1, decides how much of the old
# number to keep:
#
#     h' = (1 − z) n + z h
#
# If z is 1, the unit keeps its old number. If z is 0, it takes the candidate instead. A gate is the
# sigmoid of some number a, σ(a) = 1 / (1 + e^{−a}). We choose a = −6 at a quotation mark, which
# makes the unit take, and a = 6 at every other letter, which makes it keep. The candidate is +1 at
# an opening mark, −1 at a closing mark, and 0 elsewhere.

# %%
def sigmoid(a):
    return 1 / (1 + np.exp(-a))


h = 0.0
states = []
gates = []
for letter in VERSE:
    n = {"“": 1.0, "”": -1.0}.get(letter, 0.0)
    z = sigmoid(-6.0 if letter in "“”" else 6.0)
    h = (1 - z) * n + z * h
    states.append(h)
    gates.append(z)

# %%
left = states[closing - 1]
show(draw_unit(VERSE, states, gates, "Set by hand: it takes at the marks, and keeps in between "
               f"({left:.3f} is left just before the closing mark)"), "04_hold")

# %% [markdown]
# With one number and one gate, this *hold unit* knows whether it is inside: after the opening mark
# its h is nearly 1, and after the closing mark nearly −1. Its gradient survives, too: neither the
# gate nor the candidate reads h, so each step back multiplies the gradient by ∂h'/∂h = z, which is
# nearly 1 between the marks.
#
# ## The whole GRU
#
# Now we want a network to find such gates by itself. It has H units, so h and z are vectors, and it
# computes z, the **update gate**, from the input x and the state h. The candidate reads x and h,
# too, but sometimes it should ignore h: a unit that counts the letters of a word has to start again
# at a space. So a second gate, the **reset gate** r, hides the past from the candidate where r = 0.
# (Cho et al. apply r to h before the product with U_n: part B. ∘ multiplies element by element. The
# letters z, n and s meant other things in lessons 01 to 03.)
#
#     a_r, a_z, a_n = x W + b             the input's part of r, z and n
#     r  = σ(a_r + h U_r)                 reset gate
#     z  = σ(a_z + h U_z)                 update gate
#     s  = h U_n + b_n                    the past, which r can hide
#     n  = tanh(a_n + r ∘ s)              candidate
#     h' = (1 − z) ∘ n + z ∘ h            keep where z is 1, take where it is 0
#
# | symbol | shape | what it is |
# |---|---|---|
# | x, h, h' | (I,), (H,), (H,) | the input, the state before the step and the state after it |
# | r, z | (H,) | reset gate and update gate, between 0 and 1 |
# | W, b | (I, 3H), (3H,) | three blocks of H columns, for r, z, n |
# | U | (H, 3H) | three blocks of H columns: U_r, U_z, U_n |
# | b_n | (H,) | a second bias of the candidate, which r multiplies |
#
# Compared with the LSTM, z plays the role of the forget gate, and 1 − z that of the input gate.
# Because these two shares add up to 1, h is a weighted mean of an old and a new number, so it
# cannot grow without limit as the LSTM's c could. There is no output gate, so the rest of the
# network sees all of h, and three blocks of weights are enough, where the LSTM has four.

# %%
boxes = {
    "a_z": ("a_z", 0, 3.6), "h": ("h", 0, 2.4), "a_r": ("a_r", 0, 0),
    "z": ("z = σ(a_z + h U_z)", 2.6, 3.6, 0),
    "s": ("s = h U_n + b_n", 2.6, 1.2),
    "r": ("r = σ(a_r + h U_r)", 2.6, 0, 1),
    "a_n": ("a_n", 5.6, 0),
    "n": ("n = tanh(a_n + r ∘ s)", 5.6, 1.2, 2),
    "after": ("h' = (1 − z) ∘ n + z ∘ h", 8.6, 2.4),
}
arrows = [("a_z", "z"), ("h", "z"), ("h", "after", "keep"), ("h", "s"), ("h", "r"), ("a_r", "r"),
          ("s", "n"), ("r", "n"), ("a_n", "n"), ("n", "after", "take"), ("z", "after", "how much?")]
show(plotting.diagram(boxes, arrows, title="h is used four times: it is kept, and z, s, r read it"),
     "04_diagram")

# %% [markdown]
# ## Forward
#
# Here is one step of two units in numbers. The input's parts a_r, a_z and a_n are given, and the
# code calls h' `after`. (For the checks, the arguments that end in `_more` add a small change to r,
# z, s or n.)

# %%
a_r = np.array([0.5, -1.0])
a_z = np.array([2.0, -0.5])
a_n = np.array([0.3, 0.8])
h = np.array([0.9, -0.4])
U_r = np.array([[0.2, -0.6], [1.0, 0.4]])
U_z = np.array([[0.7, 0.1], [-0.3, 0.5]])
U_n = np.array([[-0.8, 0.6], [0.5, 1.2]])
b_n = np.array([0.1, -0.2])

# %%
def step(a_r, a_z, a_n, h, U_r, U_z, U_n, b_n, r_more=0, z_more=0, s_more=0, n_more=0):
    """Vectors (H,) and matrices (H, H) → h' (H,), cache."""
    r = sigmoid(a_r + h @ U_r) + r_more
    z = sigmoid(a_z + h @ U_z) + z_more
    s = h @ U_n + b_n + s_more
    n = np.tanh(a_n + r * s) + n_more
    return (1 - z) * n + z * h, (h, U_r, U_z, U_n, r, z, s, n)


after, (*_, r, z, s, n) = step(a_r, a_z, a_n, h, U_r, U_z, U_n, b_n)
for name, value in {"r": r, "z": z, "s": s, "n": n, "h": h, "h'": after}.items():
    print(f"  {name:<2} = {value}")

# %% [markdown]
# With z = 0.94, unit 1 moves only a little towards its candidate, while unit 2, with z = 0.35,
# moves most of the way.
#
# ## Backward
#
# The **upstream gradient** dh' = ∂L/∂h' is given (`dafter` in the code). The loss L = dh' · h' has
# exactly this upstream gradient, so we check each gradient with a central difference of this loss.
# The last equation contains z, n and h, so it gives three gradients:
#
#     h' = (1 − z) ∘ n + z ∘ h        dz = dh' ∘ (h − n)      dn = dh' ∘ (1 − z)
#                                     dh = dh' ∘ z                                        (1)
#
# Term (1) is the point of the GRU: a path back through time on which z is the only factor.

# %%
dafter = np.array([1.0, -2.0])


def loss(**more):
    """dh' · h', with something added to an intermediate."""
    after, _ = step(a_r, a_z, a_n, h, U_r, U_z, U_n, b_n, **more)
    return dafter @ after


def check_gradient(name, ours, array, **more):
    """Print our gradient and the measured one, for a change of this array."""
    measured = numeric_gradient(partial(loss, **more), array)
    assert np.allclose(ours, measured, rtol=1e-7, atol=1e-9), name
    print(f"  {name:<5} {ours.ravel()}   measured: {measured.ravel()}")


# %%
dz = dafter * (h - n)
dn = dafter * (1 - z)
more = np.zeros(2)
check_gradient("dz", dz, more, z_more=more)
check_gradient("dn", dn, more, n_more=more)

# %% [markdown]
# Next comes the candidate, with tanh' = 1 − tanh². Because a_n is added inside the tanh, da_n is
# the gradient of everything inside:
#
#     n = tanh(a_n + r ∘ s)       da_n = dn ∘ (1 − n²)    dr = da_n ∘ s    ds = da_n ∘ r
#     s = h U_n + b_n             dU_n = hᵀ ds            db_n = ds
#                                 dh  += ds U_nᵀ                                          (2)
#
# Then come the two gates, with σ' = σ (1 − σ):
#
#     r = σ(a_r + h U_r)          da_r = dr ∘ r ∘ (1 − r)         dU_r = hᵀ da_r
#     z = σ(a_z + h U_z)          da_z = dz ∘ z ∘ (1 − z)         dU_z = hᵀ da_z
#                                 dh  += da_r U_rᵀ + da_z U_zᵀ                            (3)
#
# If a gate is close to 0 or 1, its slope is small: it is **saturated**, and training hardly moves
# it. In question 4, a unit locks itself in this way.

# %%
da_n = dn * (1 - n**2)
dr = da_n * s
ds = da_n * r
da_r = dr * r * (1 - r)
da_z = dz * z * (1 - z)
check_gradient("dr", dr, more, r_more=more)
check_gradient("ds", ds, more, s_more=more)
check_gradient("da_n", da_n, a_n)
check_gradient("da_r", da_r, a_r)
check_gradient("da_z", da_z, a_z)

# %% [markdown]
# Because h is used four times, kept once and read by s, r and z, dh is a sum of four terms. Which
# of them will be the largest?

# %%
uses = {"kept": dafter * z, "s": ds @ U_n.T, "r": da_r @ U_r.T, "z": da_z @ U_z.T}
for name, part in uses.items():
    print(f"  dh through {name:<4} {part}")
check_gradient("dh", sum(uses.values()), h)
check_gradient("dU_z", np.outer(h, da_z), U_z)
check_gradient("dU_n", np.outer(h, ds), U_n)
print("one step: every gradient equals its central difference")

# %% [markdown]
# Term (1), "kept", is the largest in both units, even in unit 2, where z is only 0.35.
#
# ### What a bug looks like
#
# Here is the whole backward pass as a function, with a planted bug. Read the report below the code
# before you look for it.


# %%
def forgetful(dafter, cache, grads):
    """→ the gradients of step's arguments, in their order."""
    h, U_r, U_z, U_n, r, z, s, n = cache
    dz = dafter * (h - n)
    da_n = dafter * (1 - z) * (1 - n**2)
    dr = da_n * s
    ds = da_n * r
    da_r = dr * r * (1 - r)
    da_z = dz * z * (1 - z)
    dh = dafter * z + ds @ U_n.T
    return da_r, da_z, da_n, dh, np.outer(h, da_r), np.outer(h, da_z), np.outer(h, ds), ds


# %%
def check(backward):
    """A gradient check of `step` with this backward pass."""
    rng = np.random.default_rng(1)
    return gradcheck(None, a_r, a_z, a_n, h, U_r, U_z, U_n, b_n, rng=rng, forward=step,
                     backward=backward)


report = caught(check, forgetful)

# %% [markdown]
# Only `input[3]`, which is h (counted from 0), has a wrong gradient. In the line that adds up dh,
# the report found two terms, 0.2893 and 0.06251, but h is used four times: the terms of the gates,
# (3), are missing. Training would not crash. (Would every check find this bug? Question 3.)
#
# ## Any number of steps
#
# Over a sequence, the dh that comes back from step t + 1 is added to the upstream gradient of h_t,
# as in lesson 02. Here is the cell for a batch of B sequences of the same length:

# %% tags=["plain"]
@dataclass(eq=False)
class ShortGRU(Module):
    """The GRU for a batch of sequences of the same length."""

    W: Array  # (I, 3H)
    U: Array  # (H, 3H)
    b: Array  # (3H,)
    b_n: Array  # (H,)

    def forward(self, xs, h):
        """xs (T, B, I), h (B, H) → all states (T, B, H), the last one, cache."""
        U_r, U_z, U_n = np.split(self.U, 3, axis=1)
        hs = []
        steps = []
        for x in xs:
            a_r, a_z, a_n = np.split(x @ self.W + self.b, 3, axis=1)        # (B, H) each
            r = sigmoid(a_r + h @ U_r)
            z = sigmoid(a_z + h @ U_z)
            s = h @ U_n + self.b_n
            n = np.tanh(a_n + r * s)
            steps.append((h, r, z, s, n))
            h = (1 - z) * n + z * h
            hs.append(h)
        return np.stack(hs), h, (xs, steps)

    def backward(self, dys, dh, cache, grads):
        """From ∂L/∂(all states) and dh of the last state to ∂L/∂xs and dh of the first one."""
        xs, steps = cache
        U_r, U_z, U_n = np.split(self.U, 3, axis=1)
        dxs = np.empty_like(xs)
        for t in reversed(range(len(xs))):
            h, r, z, s, n = steps[t]
            dh = dh + dys[t]                                # from the next step, and upstream
            dz = dh * (h - n)
            da_n = dh * (1 - z) * (1 - n**2)
            dr = da_n * s
            ds = da_n * r
            da_r = dr * r * (1 - r)
            da_z = dz * z * (1 - z)
            dh = dh * z + ds @ U_n.T + da_r @ U_r.T + da_z @ U_z.T          # (1), (2), (3)
            da = np.concatenate([da_r, da_z, da_n], axis=1)                 # (B, 3H)
            grads.W += xs[t].T @ da
            grads.U += h.T @ np.concatenate([da_r, da_z, ds], axis=1)
            grads.b += da.sum(0)
            grads.b_n += ds.sum(0)
            dxs[t] = da @ self.W.T
        return dxs, dh


# %% [markdown]
# ## Check
#
# We check `ShortGRU` with central differences, and against the library's GRU.

# %%
rng = np.random.default_rng(4)
xs = rng.standard_normal((4, 3, 2))                     # (T, B, I)
first = rng.standard_normal((3, 5))                     # (B, H)
sizes = ((2, 15), (5, 15), 15, 5)                       # W, U, b, b_n
short = randomize(ShortGRU(*map(np.empty, sizes)), np.random.default_rng(5))
library = randomize(GRU(*map(np.empty, sizes)), np.random.default_rng(5))
report = gradcheck(short, xs, first, rng=np.random.default_rng(6))
check_same(short, library, xs, first, None, np.random.default_rng(7))
print(f"  ShortGRU: worst error {report.worst:.0e}; the library's GRU gives the same")

# %% [markdown]
# `numpy-attention step 4` shows every array of `ShortGRU`, one time step after another.
#
# ## Does it remember?
#
# Can a cell with fewer gates, and no cell state, recall a symbol after 16 or 32 symbols of noise,
# as in lesson 03? The bias b_z of the gate z plays the role of the LSTM's b_f. Here U starts small
# in both cells (it was orthogonal in lesson 03's table). As there, we measure the share of the
# gradient before training, with 16 symbols of noise. Guess: is b_z = 5 best, as b_f = 5 was?

# %%
NETWORKS = {"GRU, b_z = 0": recall_gru(16, 0), "GRU, b_z = 3": recall_gru(16, 3),
            "GRU, b_z = 5": recall_gru(16, 5), "LSTM, b_f = 0": recall_network(16, 0.0),
            "LSTM, b_f = 5": recall_network(16, 5.0)}
print(f"{'':<14} share before training   learnt by … of 20 runs: 16 symbols   32")
for name, (model, _) in NETWORKS.items():
    share = share_that_arrives(model, 16)[17]
    at_16, at_32 = RUNS_THAT_LEARNT[name]       # recorded
    print(f"{name:<14} {share:21.2g} {at_16:37} {at_32:4}")
print(f"{'LSTM, b_f = 5, b_i = −5':<36} (answer 6) {12:25} {2:4}")

# %% [markdown]
# A GRU can recall, too, but with a bias of 5, it learns less often than the LSTM: 13 runs against
# 20, and 7 against 17. A likely reason is that **the gate z has two jobs**, so a unit that keeps
# more must take less: with z = σ(5), less than a hundredth of the first symbol's candidate gets
# into h. The last line supports this: an LSTM whose input gate starts as closed as that learns no
# more often than the GRU.
#
# The share before training does not tell who learns. With a bias of 0, almost nothing arrives in
# either cell, yet 14 of 20 GRUs recall a symbol after 16, and no LSTM does.
#
# ## A model of letters
#
# A model reads the Bible letter by letter, in windows of 100 letters. It carries its state from one
# window to the next, but the gradient stays within a window. Each of 700 training steps reads 16
# windows, from 16 places in the text. We measure the **bits per letter** on held-out text, which
# the model was not trained on: the mean of −log2 p, where p is its probability of the next letter.
#
# The matrices start larger than above, and b_z starts evenly spread from −1 to 5, so that some
# units start by taking and others by keeping. This spread costs a few hundredths of a bit (part B).

# %% tags=["training"]
UNITS = 128
vocabulary, ids, held_out = letters()
held_out = held_out[:50_000]
V = len(vocabulary)


def start(seed=7):
    """A new model; b_z spread from −1 to 5."""
    model = LanguageModel.create(np.random.default_rng(seed), V, hidden=UNITS, layers=1,
                                 cell="gru", embedding=32, init=0.3)
    model.cells.cells[0].b[UNITS:2 * UNITS] = np.linspace(-1, 5, UNITS)
    return model


# %% tags=["training"]
model = start()
reached = train(model, ids, 700, held_out)
print(f"GRU: {reached:.2f} bits per held-out letter; by counting pairs of letters: "
      f"{bigram_bits(ids, held_out, V):.2f} bits")
assert reached < 2.1

# %% [markdown]
# ## Did it find your unit?
#
# Is one of the GRU's 128 units a hold unit? In verses that contain a quotation and close it, we
# label each letter: +1 inside, −1 outside. Then we choose the unit whose *state* is most strongly
# correlated with these labels, whatever the sign. Because the best of 128 units may be the best by
# chance, we choose it in the first half of 60,000 held-out letters, and measure it in the second.
#
# The choice does not look at the *gates*. If the chosen unit is a hold unit, what must its z be at
# the marks, and what elsewhere? (A unit may react late, so we also look at the letter after each
# mark.)


# %% tags=["training"]
def knows(states, letters):
    """Correlation of each unit's state with ±1, inside or outside, over these letters (H,)."""
    return np.array([np.corrcoef(unit[letters], inside[letters])[0, 1] for unit in states.T])


book = verses("valid", 60_000)
inside, counts = quoted(book)
in_first_half = np.arange(len(book)) < len(book) // 2
scored = counts & ~in_first_half

# %% tags=["training"]
def mean_gates(z):
    """Mean z at and after the opening marks, at and after the closing marks, and elsewhere."""
    opened, closed = (np.flatnonzero(scored & (np.array(list(book)) == mark)) for mark in "“”")
    places = [opened, opened + 1, closed, closed + 1]
    elsewhere = np.setdiff1d(np.flatnonzero(scored), np.concatenate(places))
    return np.array([z[here].mean() for here in (*places, elsewhere)])


states, update = watch(model, vocabulary.encode(book))
unit = np.abs(knows(states, counts & in_first_half)).argmax()
found = knows(states, scored)
print(f"unit {unit}: correlation {abs(found[unit]):.2f}; "
      f"the median unit has {np.median(np.abs(found)):.2f}")
z = update[:, unit]
gates = mean_gates(z)
print("mean z      at “  after “     at ”  after ” elsewhere")
print(f"unit {unit}", *(f"{one:8.3f}" for one in gates))

# %% tags=["training"]
verse = short_verse(book, scored)
sign = np.sign(found[unit])
opens, closes = ("at" if at < after else "a letter after" for at, after in gates[:4].reshape(2, 2))
show(draw_unit(book[verse], sign * states[verse, unit], z[verse],
               f"Unit {unit} takes {opens} “ and {closes} ”, and keeps elsewhere",
               "h" if sign > 0 else "−h"), "04_found")

# %% [markdown]
# That is your unit, reading a held-out verse. It takes at the closing mark at once, at the opening
# mark one letter late, and keeps elsewhere, although z dips at a few letters inside the quotation.
# Nothing in the loss speaks of quotations. Does the unit help to predict the closing mark? In the
# states before the closing marks, we flip the sign of its h, and let the output layer predict. As a
# control, we flip each other unit. Guess: how far does the probability of ” fall?

# %% tags=["training"]
closing, = vocabulary.encode("”")
before = np.flatnonzero(scored[:-1] & (np.array(list(book))[1:] == "”"))


def p_closing(flipped=None):
    """The mean probability of ” before the closing marks, with one unit's sign flipped."""
    h = states[before].copy()
    if flipped is not None:
        h[:, flipped] *= -1
    logits = model.output.logits(h)
    return (np.exp(logits[:, closing]) / np.exp(logits).sum(1)).mean()


flips = np.array([p_closing(one) for one in range(UNITS)])
print(f"mean p of ” before {len(before)} closing marks: {p_closing():.2f}; "
      f"with unit {unit} flipped: {flips[unit]:.2f}")
print(f"with another unit flipped: median {np.median(np.delete(flips, unit)):.2f}; "
      f"{(flips < flips[unit]).sum()} of {UNITS - 1} lower it more")
assert flips[unit] < 0.8 * p_closing()

# %% [markdown]
# It does help: without its sign, a third of the probability is gone. But a few other units matter
# even more. A closing mark also depends on what was just read.
#
# Do other seeds find such a unit, and does it take gates to *learn* this? On the same windows, we
# train five more GRUs and 27 of lesson 02's Elman networks, and search all of them in the same way.
# Of the Elman networks, 24 have 128 units (four initializations, two learning rates, three seeds),
# and three have 224 units, which gives them as many parameters as the GRU.

# %% tags=["training"]
# recorded (code: answers 5 and 7)
CORRELATION = (0.937, 0.902, 0.792, 0.924, 0.921)   # seeds 1 to 5
AT_OPENING = (0.073, 0.064, 0.043, 0.232, 0.110)    # mean z at “ or a letter later: the smaller one
AT_CLOSING = (0.150, 0.023, 0.152, 0.174, 0.140)
ELSEWHERE = (0.994, 0.981, 0.988, 0.996, 0.992)
print(f"recorded: 5 GRUs: correlation {min(CORRELATION):.2f} to {max(CORRELATION):.2f}; mean z at "
      f"“ or a letter later at most {max(AT_OPENING):.2f},\n        at ” or a letter later at most "
      f"{max(AT_CLOSING):.2f}, elsewhere at least {min(ELSEWHERE):.2f}")
print("recorded: 27 Elman networks: correlation at most 0.11; of a weighted sum of all units, at "
      "most 0.26")
assert abs(found[unit]) > 0.8 and gates[1:3].max() < 0.3 and gates[[0, 3, 4]].min() > 0.9

# %% [markdown]
# Each of the five GRUs has such a unit. An Elman unit can hold the answer, too, but training found
# none in these 27 networks, and even a weighted sum of all their units knows little (question 7).
# So here, **gates matter for learning, not for holding**. How they start matters as well. We spread
# b_z from −1 to 5. If each b_z starts at 0, the GRU predicts letters better, but only two of five
# find such a unit (question 5).
#
# This ends the main part. In lesson 05, one GRU reads a sentence, and another writes its
# translation.

# %% [markdown]
# ## Part B (optional): the reset gate, four conventions, and masks
#
# **You will be able to** measure what the reset gate is worth, recognize the four conventions of
# the GRU, and mask the steps after the end of a sequence. **Time:** about 15 minutes to read.
# Lesson 05 does not need this part.
#
# ### What is the reset gate worth?
#
# To take the gate away, we saturate it with a bias of b_r = 30, so that r stays at 1. But this
# changes two things at once: the model cannot learn *when* to hide the past, and r ∘ s is about
# twice as large at the start, because a gate that can learn starts near 1/2.
#
# To separate the two, we train the models with and without r once more from U_n = 0. Because b_n
# starts at 0, too, r ∘ s is then 0 in both. How much worse will the model without the gate be then?

# %% tags=["training"]
print("bits per letter after 250 steps:")
print("  U_n starts     random   at 0")
worth = {}
for name, b_r in {"r learns": 0, "r = 1": 30}.items():
    for scale in (1, 0):
        model = start()
        model.cells.cells[0].b[:UNITS] += b_r
        model.cells.cells[0].U[:, 2 * UNITS:] *= scale
        worth[name, scale] = train(model, ids, 250, held_out)
    print(f"  {name:<14} {worth[name, 1]:.2f}     {worth[name, 0]:.2f}", flush=True)
at_random, at_0 = (worth["r = 1", scale] - worth["r learns", scale] for scale in (1, 0))
print(f"  r is worth     {at_random:.2f}     {at_0:.2f}")

# %% tags=["training"]
# bits with seeds 1, 2 and 3, U_n random and at 0, measured before (code: answer 5)
LEARNS = np.array([[2.234, 2.217, 2.202], [2.178, 2.205, 2.189]])
FIXED = np.array([[2.553, 2.701, 2.596], [2.267, 2.272, 2.316]])        # r = 1
for begin, gains in zip(("random", "at 0"), FIXED - LEARNS):
    print(f"  with three other seeds, U_n {begin:<7}", *(f"{gain:.2f}" for gain in gains))
assert at_random > 2 * at_0 > 0

# %% [markdown]
# If U_n starts random, the reset gate seems to be worth 0.3 to 0.5 bits, but if U_n starts at 0,
# only about a tenth of a bit is left. So most of the difference came from r ∘ s at the start. The
# rest is roughly what choosing *when* to hide the past is worth, this early in training.
#
# ### Would an LSTM predict letters better?
#
# Each model has 128 units and is trained for 700 steps:

# %%
# measured before (code: answer 5), with seeds 7, 1 and 2
BITS = {
    "GRU, b_z from −1 to 5": (1.94, 1.92, 1.93),
    "LSTM, b_f from −1 to 5": (1.94, 1.94, 2.09),
    "GRU, b_z = 0": (1.87, 1.88, 1.88),
    "LSTM, b_f = 0": (1.84, 1.84, 1.85),
}
for name, three in BITS.items():
    print(f"{name:<22}", *(f"{one:.2f}" for one in three))

# %% [markdown]
# Both cells predict letters better if b_z and b_f start at 0. Only then is the LSTM better than the
# GRU, by a few hundredths of a bit. So the GRU is almost as good, with fewer gates, no cell state
# and fewer parameters.
#
# ### Four conventions, two lines
#
# The GRUs of papers and libraries differ in two lines. The main part has *after* and *old*:
#
# - *Reset*: r multiplies the past **after** the product with U_n, or **before** it.
# - *Update*: z is the share of the **old** state, or of the **new** one, the candidate.
#
# | source | reset | update |
# |---|---|---|
# | Cho et al. 2014, equations 5 to 8 (version 3) | before | old |
# | Bahdanau et al. 2015, A.1.1 | before | new |
# | cuDNN, PyTorch; Keras with `reset_after=True` | after | old |
#
# The two updates are a matter of taste: because 1 − σ(a) = σ(−a), you get one from the other by
# changing the sign of z's weights and bias. But the two resets make different cells, because U_n
# mixes the units: r ∘ (h U_n) is not (r ∘ h) U_n. With *before*, s is r ∘ h. There is no b_n,
# because it would only add to the bias in a_n. In (2), da_n stays, and the rest becomes:
#
#     n = tanh(a_n + s U_n)       ds = da_n U_nᵀ      dU_n = sᵀ da_n
#     s = r ∘ h                   dr = ds ∘ h         dh  += ds ∘ r                       (2')
#
# ### Masks
#
# Sequences of a batch may differ in length. A **mask** (T, B) has one truth value per step and
# sequence, False where the sequence has ended and its state must not change. In the code, `runs` is
# one step of the mask, and `keep` is the share of the old state. Where `runs` is False, `keep` is 1
# whatever z is, so dz is 0.
#
# > **Exercise.** Write the mask, `numpy-attention exercise start masks`, then this larger cell,
# > `numpy-attention exercise start gru`. In `find-in-masks` you find a bug by its report.
#
# `see` computes what the candidate sees of the past, the only part in which the two resets differ.


# %%
def see(reset, h, r, U_n, b_n):
    """h, r (B, H) → the part that is added to a_n (B, H), s (B, H)."""
    if reset == "after":
        s = h @ U_n + b_n
        return r * s, s
    s = r * h
    return s @ U_n, s


# %%
def see_backward(reset, da_n, h, r, s, U_n):
    """→ dh and dr (B, H), dU_n (H, H)."""
    if reset == "after":
        dr = da_n * s
        ds = da_n * r
        return ds @ U_n.T, dr, h.T @ ds
    ds = da_n @ U_n.T
    return ds * r, ds * h, s.T @ da_n


# %% [markdown]
# Read only those lines of `PlainGRU` that contain `mask`, `runs`, `keep`, `see`, `dU_n` or `b_n`:
# the others are those of `ShortGRU`.

# %% tags=["plain"]
@dataclass(eq=False)
class PlainGRU(Module):
    """The GRU for sequences of different lengths, in all four conventions."""

    W: Array  # (I, 3H)
    U: Array  # (H, 3H)
    b: Array  # (3H,)
    b_n: Array | None = None  # (H,), where reset is "after"
    reset: str = "after"
    update: str = "old"

    def forward(self, xs, h, mask):
        """xs (T, B, I), h (B, H), mask (T, B) → all states (T, B, H), the last one, cache."""
        U_r, U_z, U_n = np.split(self.U, 3, axis=1)
        hs = []
        steps = []
        for x, runs in zip(xs, mask[:, :, None]):
            a_r, a_z, a_n = np.split(x @ self.W + self.b, 3, axis=1)        # (B, H) each
            r = sigmoid(a_r + h @ U_r)
            z = sigmoid(a_z + h @ U_z)
            seen, s = see(self.reset, h, r, U_n, self.b_n)
            n = np.tanh(a_n + seen)
            keep = np.where(runs, z if self.update == "old" else 1 - z, 1)
            steps.append((runs, h, r, z, s, n, keep))
            h = (1 - keep) * n + keep * h
            hs.append(h)
        return np.stack(hs), h, (xs, steps)

    def backward(self, dys, dh, cache, grads):
        """From ∂L/∂(all states) and dh of the last state to ∂L/∂xs and dh of the first one."""
        xs, steps = cache
        U_r, U_z, U_n = np.split(self.U, 3, axis=1)
        dxs = np.empty_like(xs)
        for t in reversed(range(len(xs))):
            runs, h, r, z, s, n, keep = steps[t]
            dh = dh + dys[t]                                # from the next step, and upstream
            dkeep = np.where(runs, dh * (h - n), 0)
            dz = dkeep if self.update == "old" else -dkeep
            da_n = dh * (1 - keep) * (1 - n**2)
            dh_seen, dr, dU_n = see_backward(self.reset, da_n, h, r, s, U_n)
            da_r = dr * r * (1 - r)
            da_z = dz * z * (1 - z)
            dh = dh * keep + dh_seen + da_r @ U_r.T + da_z @ U_z.T          # (1), (2), (3)
            da = np.concatenate([da_r, da_z, da_n], axis=1)                 # (B, 3H)
            grads.W += xs[t].T @ da
            grads.U += np.concatenate([h.T @ da_r, h.T @ da_z, dU_n], axis=1)
            grads.b += da.sum(0)
            if self.b_n is not None:
                grads.b_n += (da_n * r).sum(0)
            dxs[t] = da @ self.W.T
        return dxs, dh


# %% [markdown]
# We check all four conventions like `ShortGRU`, on sequences of 4, 2 and 3 steps.

# %%
mask = np.arange(4)[:, None] < np.array([4, 2, 3])      # (T, B)


def create(kind, reset, update):
    """A cell in float64 with random weights, the same for every kind and update."""
    b_n = np.empty(5) if reset == "after" else None
    cell = kind(np.empty((2, 15)), np.empty((5, 15)), np.empty(15), b_n, reset, update)
    return randomize(cell, np.random.default_rng(5))


# %%
for reset in ("after", "before"):
    for update in ("old", "new"):
        plain = create(PlainGRU, reset, update)
        report = gradcheck(plain, xs, first, mask, rng=np.random.default_rng(6))
        library = create(GRU, reset, update)
        check_same(plain, library, xs, first, mask, np.random.default_rng(7))
        print(f"  reset={reset:<6} update={update}   worst error {report.worst:.0e}; the library's "
              "GRU gives the same")

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | update gate z, share of the old state | z in Cho et al. and PyTorch; 1 − z in Bahdanau et al. |
# | candidate n | new gate (PyTorch), candidate activation, h̃ |
# | reset after, before | `reset_after=True`, `reset_after=False` (Keras) |
# | hold unit | latch; quote detection cell (Karpathy et al. 2015) |
# | bits per letter | bits per character, BPC |
#
# Most terms are in the [glossary](../docs/site/glossary.md).
#
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `plotting` | diagrams, colours, pictures as files |
# | `GRU` | the library's gated recurrent unit, for comparison |
# | `gradcheck` | compares a backward pass with central differences |
# | `numeric_gradient` | the central differences of one array |
# | `randomize` | gives every parameter random values |
# | `LanguageModel` | embedding, cell and softmax in one |
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |

# %% [markdown]
# ## Questions
#
# 1. The hold unit leaks. Which number must replace the 6 if half of h should be left after 1,000
#    letters?
# 2. (Part B) Let r be 1 everywhere. Are reset="after" and reset="before" then the same cell?
# 3. A friend checks `forgetful` with one step, and compares only the gradients of the weights. Does
#    the check find the bug? Would it find the bug with two steps?
# 4. Give the hold unit one more weight u, from its state to its gate: z = σ(a_z + u h). With u > 0,
#    a unit that holds +1 tends to keep it, which seems useful. Let u be 32 and read the verse
#    again. What happens at the closing mark? Then train the unit from there (`hold_unit` and
#    `learn` in `gru_parts.py`). Does SGD, lesson 01's stochastic gradient descent, make u smaller?
#    Does Adam?
# 5. With all b_z = 0 at the start, the model predicts letters better. What happens to the hold
#    unit?
# 6. Start lesson 03's LSTM with b_f = 5 and b_i = −5. Then it takes as little of the first symbol
#    as the GRU with b_z = 5. Does it still recall more often?
# 7. How would you find out whether many units of an Elman network together tell inside from
#    outside?
