# %% [markdown]
# # Lesson 04: the gated recurrent unit
#
# **You will be able to** derive the GRU with its backward pass, recognize its four conventions, set
# a unit by hand, find the same unit in a trained network, and say what the reset gate is worth.
#
# **Needs:** lessons 02 and 03. **Time:** 50 minutes to read, 1 minute to run.
#
# Read this verse letter by letter, and stop anywhere. Are you inside the quotation or outside?
#
#     god said , “ let there be light , ” and there was light .
#
# You know it at once, because you saw a quotation mark some time ago and have *held* that ever
# since. The network of lesson 02 cannot hold: it rewrites all of its state at every letter. Lesson
# 03's LSTM can, with three gates and a cell state. The **gated recurrent unit**, GRU (Cho et al.
# 2014), has two gates and no cell state. At each step each unit chooses: *keep* the number you
# have, or *take* a new one. Is that enough?
#
# You will first set one unit by hand so that it holds. Then you derive the step and watch a unit
# lock itself so well that a correct gradient cannot free it. In the end 128 units learn English
# letters, and nothing in their training says what a quotation is. Guess now: will one of them learn
# to do what your unit did?
#
# (`course.py`, `recurrent_parts.py` from lesson 02, and `gru_parts.py` are in the same folder as
# the lessons.)

# %%
print("Lesson 04: the gated recurrent unit", flush=True)

from dataclasses import dataclass
from functools import partial

import numpy as np
from course import caught, show
from gru_parts import check_same, last_marks, one_hot, quoted, verses, window_gradient
from matplotlib import pyplot as plt
from recurrent_parts import bigram_bits, bits, letters, write

from numpy_attention import plotting
from numpy_attention.cells.gru import GRU
from numpy_attention.data.batching import TextBatches
from numpy_attention.gradcheck import gradcheck, numeric_gradient, randomize
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.module import Array, Module
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.trainer import Trainer

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# ## A unit that holds
#
# One unit, one number h. At each letter it has an offer, the **candidate** n, between −1 and 1. And
# it has a **gate** z, between 0 and 1, which says how much of the old number to keep:
#
#     h' = (1 − z) n + z h
#
# At z = 1 the offer is ignored; at z = 0 nothing of the past is left. A gate is the sigmoid of some
# number, σ(a) = 1 / (1 + e^{−a}). Let a be 6 at every letter and −6 at a quotation mark, where the
# offer is +1 for an opening mark and −1 for a closing one.

# %%
VERSE = "god said , “ let there be light , ” and there was light ."


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def offer(letter):
    """The candidate n."""
    return {"“": 1.0, "”": -1.0}.get(letter, 0.0)


# %%
h = 0.0
held = []
for place, letter in enumerate(VERSE):
    is_mark = letter in "“”"
    z = sigmoid(-6.0 if is_mark else 6.0)
    n = offer(letter)
    before = h
    h = (1 - z) * n + z * h
    held.append(h)
    if is_mark or place in (0, 20):
        print(f"  letter {place:2} {letter}   z = {z:.4f}   n = {n:+.0f}   h from {before:+.3f} "
              f"to {h:+.3f}")

# %%
opened = VERSE.index("“")
closed = VERSE.index("”")
left = held[closed - 1]
print(f"{closed - 1 - opened} letters after the opening mark, {left:.3f} is left of "
      f"{held[opened]:.3f}")
figure, ax = plt.subplots(figsize=(10, 2.8), layout="constrained")
ax.plot(held, color=plotting.COLOURS[0], marker="o", markersize=4)
ax.axhline(0, color="0.7", linewidth=1)
ax.set_xticks(range(len(VERSE)), list(VERSE.replace(" ", "␣")))
ax.set(xlabel="letter read", ylabel="h after it", ylim=(-1.1, 1.1),
       title=f"Set by hand: the unit takes a number at a mark, and holds it ({left:.3f} is left)")
show(ax, "04_hold")

# %% [markdown]
# With one number and one gate the unit knows at every letter where it is. It leaks a little: z is
# not quite 1, and each letter takes away a share of 1 − z. The gradient takes the same path back:
# ∂h'/∂h = z, so the gradient of the last letter arrives at the mark nearly whole.
#
# ## The whole unit
#
# Now let a network find the gates. H units read x and the state h, and each gate is a layer. There
# is a second gate, the **reset gate** r, because the candidate contains the past as well. A unit
# that counts the letters of each word goes on from its old number at a letter, and must start again
# at a space; there r = 0 hides the past from the candidate. (It is not the only way: question 6.) ∘
# multiplies element by element.
#
#     a_r, a_z, a_n = x W + b             the input's part of all three
#     r  = σ(a_r + h U_r)                 reset gate
#     z  = σ(a_z + h U_z)                 update gate
#     s  = h U_n + b_n                    what the candidate could see of the past
#     n  = tanh(a_n + r ∘ s)              candidate
#     h' = (1 − z) ∘ n + z ∘ h            keep where z is 1, take where it is 0
#
# | symbol | shape | what it is |
# |---|---|---|
# | x | (I,) | the input |
# | h, h' | (H,) | the state before and after |
# | r, z | (H,) | reset gate and **update gate**, between 0 and 1 |
# | s, n | (H,) | the past as the candidate could see it, and the candidate |
# | W, b | (I, 3H), (3H,) | three blocks of H columns side by side, for r, z, n |
# | U | (H, 3H) | likewise U_r, U_z, U_n |
# | b_n | (H,) | a bias that r multiplies |
#
# Compared with lesson 03: z is the forget gate f, and 1 − z is in the place of the input gate i.
# What is kept leaves less room for what is taken, so h is a mean of old and new and cannot grow as
# c could. There is no output gate: all of h is shown. It has three blocks of weights where the LSTM
# has four. The second bias of the candidate, b_n, is where PyTorch has it.

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
          ("s", "n"), ("r", "n"), ("a_n", "n"), ("n", "after", "take"), ("z", "after", "which?")]
show(plotting.diagram(boxes, arrows, title="h is used four times: it is kept, and z, s, r read it"),
     "04_diagram")

# %% [markdown]
# ## Forward
#
# One step of two units, with numbers. The contribution of the input is given.

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
r = sigmoid(a_r + h @ U_r)
z = sigmoid(a_z + h @ U_z)
s = h @ U_n + b_n
n = np.tanh(a_n + r * s)
after = (1 - z) * n + z * h
for name, value in {"r": r, "z": z, "s": s, "n": n, "h": h, "h'": after}.items():
    print(f"  {name:<2} = {value}")

# %% [markdown]
# The first unit's gate is 0.94: its state moves a little from 0.9 towards its candidate. The second
# unit's gate is 0.35, so its state goes most of the way.
#
# ## Backward
#
# Given the **upstream gradient** dh' = ∂L/∂h', we take the lines in reverse and check each with a
# central difference. The last line first; it contains three arrays:
#
#     h' = (1 − z) ∘ n + z ∘ h        dz = dh' ∘ (h − n)      dn = dh' ∘ (1 − z)
#                                     dh = dh' ∘ z                                        (1)
#
# dz says: if the old number serves better than the new one, keep more. Term (1) is what the unit
# was invented for, a path back through time on which the only factor is z.

# %%
dafter = np.array([1.0, -2.0])


def loss(r_more=0, z_more=0, s_more=0, n_more=0):
    """dh' · h', with something added to an intermediate."""
    r = sigmoid(a_r + h @ U_r) + r_more
    z = sigmoid(a_z + h @ U_z) + z_more
    s = h @ U_n + b_n + s_more
    n = np.tanh(a_n + r * s) + n_more
    return dafter @ ((1 - z) * n + z * h)


def check_gradient(name, ours, loss, array):
    """Print our gradient and the measured one; loss() reads the array."""
    measured = numeric_gradient(loss, array)
    assert np.allclose(ours, measured, rtol=1e-7, atol=1e-9), name
    print(f"  {name:<5} {ours.ravel()}   as measured: {measured.ravel()}")


# %%
dz = dafter * (h - n)
dn = dafter * (1 - z)
more = np.zeros(2)
check_gradient("dz", dz, partial(loss, z_more=more), more)
check_gradient("dn", dn, partial(loss, n_more=more), more)

# %% [markdown]
# Through the candidate, with tanh' = 1 − tanh² and da_n for the gradient of what is inside:
#
#     n = tanh(a_n + r ∘ s)       da_n = dn ∘ (1 − n²)    dr = da_n ∘ s    ds = da_n ∘ r
#     s = h U_n + b_n             dU_n = hᵀ ds            db_n = ds
#                                 dh  += ds U_nᵀ                                          (2)
#
# and through the two gates, with σ' = σ (1 − σ):
#
#     r = σ(a_r + h U_r)          da_r = dr ∘ r ∘ (1 − r)         dU_r = hᵀ da_r
#     z = σ(a_z + h U_z)          da_z = dz ∘ z ∘ (1 − z)         dU_z = hᵀ da_z
#                                 dh  += da_r U_rᵀ + da_z U_zᵀ                            (3)

# %%
da_n = dn * (1 - n**2)
dr = da_n * s
ds = da_n * r
da_r = dr * r * (1 - r)
da_z = dz * z * (1 - z)
check_gradient("dr", dr, partial(loss, r_more=more), more)
check_gradient("ds", ds, partial(loss, s_more=more), more)
check_gradient("da_n", da_n, loss, a_n)
check_gradient("da_r", da_r, loss, a_r)
check_gradient("da_z", da_z, loss, a_z)

# %% [markdown]
# h is used four times, so dh is a sum of four terms: h is kept, the candidate sees it, and each
# gate reads it. Which term will be the largest?

# %%
uses = {"kept": dafter * z, "s": ds @ U_n.T, "r": da_r @ U_r.T, "z": da_z @ U_z.T}
for name, part in uses.items():
    print(f"  dh through {name:<4} {part}")
check_gradient("dh", sum(uses.values()), loss, h)
check_gradient("dU_z", np.outer(h, da_z), loss, U_z)
check_gradient("dU_n", np.outer(h, ds), loss, U_n)
print("one step: every gradient is what the central difference measures")

# %% [markdown]
# The kept term (1) is by far the largest in both units, even where the gate is only 0.35.
#
# ### How a bug looks
#
# With four uses it is easy to forget some. Here is the step as a pair of functions, and a backward
# pass with a planted bug. Do not look for it: read the report first.


# %%
def step(a_r, a_z, a_n, h, U_r, U_z, U_n, b_n):
    """All (H,), the matrices (H, H) → h' (H,), cache."""
    r = sigmoid(a_r + h @ U_r)
    z = sigmoid(a_z + h @ U_z)
    s = h @ U_n + b_n
    n = np.tanh(a_n + r * s)
    return (1 - z) * n + z * h, (h, U_r, U_z, U_n, r, z, s, n)


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


def check(backward):
    """A gradient check of `step` with this backward pass."""
    rng = np.random.default_rng(1)
    return gradcheck(None, a_r, a_z, a_n, h, U_r, U_z, U_n, b_n, rng=rng, forward=step,
                     backward=backward)


report = caught(check, forgetful)

# %% [markdown]
# `input[3]` is wrong, and that is h; the other seven gradients are correct. So r, z, s and n are
# fine, and the line that the report names is the one that adds up dh. It has two terms, but h has
# four uses: both gates read h, and term (3) is missing. In training nothing would crash. The
# gradients of the last step's weights do not depend on dh, so they stay correct; those of every
# earlier step are slightly wrong.
#
# ## Four conventions, two lines
#
# Papers and libraries agree on all lines except two.
#
# - *Reset.* r multiplies what comes **after** the product with U_n, as above. Or it multiplies h
#   **before** it: s = r ∘ h, and n = tanh(a_n + s U_n), without b_n.
# - *Update.* z is the share of the **old** state, as above. Or it is the share of the **new** one,
#   and 1 − z is kept.
#
# | who | reset | z is the share of the |
# |---|---|---|
# | Cho et al. 2014, equations 5 to 8 (version 3) | before | old |
# | Bahdanau et al. 2015, A.1.1 | before | new |
# | cuDNN, PyTorch; Keras with `reset_after=True` | after | old |
#
# Old or new is a matter of taste: 1 − σ(a) = σ(−a), so changing the sign of z's weights turns one
# into the other. Before or after is not: U_n mixes the units, and r ∘ (h U_n) is not (r ∘ h) U_n.
# After is faster, since one product h U serves all three blocks. Before:
#
#     n = tanh(a_n + s U_n)       ds = da_n U_nᵀ      dU_n = sᵀ da_n
#     s = r ∘ h                   dr = ds ∘ h         dh  += ds ∘ r                       (2')


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
# ## Any number of steps
#
# Over a sequence, dh of step t + 1 is added to the upstream gradient of h_t, as in lesson 02. A
# batch has B sequences of different lengths, and a **mask** (T, B) that is False where one has
# ended. There the state must stay as it is, so keep is 1. No weight has made this 1, so dz is 0
# there.
#
# > **Exercise.** Write it yourself before you read on: `numpy-attention exercise start masks`, then
# > `gru`. In `find-in-masks` one line of working code is wrong; find it from its report.


# %% tags=["plain"]
@dataclass(eq=False)
class PlainGRU(Module):
    """The equations above, for a batch and any number of steps, in all four conventions."""

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
# ## Check
#
# Three sequences of 4, 2 and 3 steps, all sizes different; the whole report for one convention, one
# number for each of the others. Then the library's GRU, which computes x W for all steps in one
# product and has each step's gates in a compiled loop. The numbers are the same.

# %%
rng = np.random.default_rng(4)
xs = rng.standard_normal((4, 3, 2))                     # (T, B, I)
first = rng.standard_normal((3, 5))                     # (B, H)
mask = np.arange(4)[:, None] < np.array([4, 2, 3])      # (T, B)


def create(kind, reset, update):
    """A cell in float64 with random weights, the same for every kind and update."""
    b_n = np.empty(5) if reset == "after" else None
    cell = kind(np.empty((2, 15)), np.empty((5, 15)), np.empty(15), b_n, reset, update)
    return randomize(cell, np.random.default_rng(5))


print(gradcheck(create(PlainGRU, "after", "old"), xs, first, mask, rng=np.random.default_rng(6)))

# %%
for reset in ("after", "before"):
    for update in ("old", "new"):
        plain = create(PlainGRU, reset, update)
        report = gradcheck(plain, xs, first, mask, rng=np.random.default_rng(6))
        library = create(GRU, reset, update)
        check_same(plain, library, xs, first, mask, np.random.default_rng(7))
        print(f"  reset={reset:<6} update={update}   worst error {report.worst:.0e}, and the same "
              "as the library's GRU")

# %% [markdown]
# `numpy-attention step 4` shows every array of it, one time step after the other.
#
# ## A gate that locks itself
#
# The gate of the hold unit depended on the letter only. A GRU's gate reads the state as well. Take
# the same unit, and give it one more weight u, from its state to its gate:
#
#     z = σ(a_z + u h)
#
# With u > 0 a unit that holds a +1 wants to keep it, which seems useful for a unit that should
# hold. (A −1 opens the gate instead, and the unit takes what the next letter offers, −1 again
# outside.) Now choose u = 32, read the verse again, and guess what happens at the closing mark. (As
# a cell its offers are tanh(3) and tanh(−3), not quite +1 and −1.)

# %%
def hold_unit(kind, u):
    """The hold unit as a cell; it reads: opening mark, closing mark, other letter."""
    W = np.array([[0.0, -6.0, 3.0],             # columns r, z, n
                  [0.0, -6.0, -3.0],
                  [0.0, 6.0, 0.0]])
    U = np.array([[0.0, u, 0.0]])
    return kind(W, U, np.zeros(3), np.zeros(1))


def read(u, text):
    """→ all states (T,)."""
    xs = one_hot(text)
    hs, _, _ = hold_unit(PlainGRU, u).forward(xs, np.zeros((1, 1)), np.ones((len(xs), 1), bool))
    return hs[:, 0, 0]


# %%
figure, ax = plt.subplots(figsize=(10, 2.8), layout="constrained")
for number, u in enumerate((0.0, 32.0)):
    states = read(u, VERSE)
    print(f"  u = {u:<4}: before the closing mark {states[closed - 1]:+.3f}, "
          f"after it {states[closed]:+.3f}, at the end {states[-1]:+.3f}")
    ax.plot(states, label=f"u = {u:.0f}", color=plotting.COLOURS[number],
            marker=plotting.MARKERS[number], markersize=4)
ax.set_xticks(range(len(VERSE)), list(VERSE.replace(" ", "␣")))
ax.set(xlabel="letter read", ylabel="h after it", ylim=(-1.1, 1.15),
       title=f"With u = 32 the unit has locked itself: {states[-1]:+.2f} until the end")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
show(ax, "04_locked")

# %% [markdown]
# The mark contributes −6, the state +32: z = σ(26), and the gate stays at 1. Worse: in training the
# state is carried from one window of the text into the next, so the lock holds for the rest of the
# book. But surely the gradient will see that every letter after the closing mark is wrong, and make
# u smaller? Here it is, for the verse read from the state +1. (So the eleven letters before the
# first mark are wrong for any u: the good unit, u = 0, has an error too.)

# %%
xs_verse = one_hot(VERSE)
wanted = last_marks(VERSE)
print("from h = 1, wanted: −1 outside, +1 inside")
for u in (0.0, 8.0, 16.0, 32.0):
    unit = hold_unit(GRU, u)
    error, grads, _ = window_gradient(unit, xs_verse, wanted, np.ones((1, 1)))
    print(f"  u = {u:<4}: mean squared error {error:.2f}, ∂L/∂u = {grads.U[0, 1]:.1e}, "
          f"largest |∂L/∂w| = {np.abs(grads.vector).max():.1e}")

# %% [markdown]
# The error grows with u, and the gradient vanishes. At u = 32 it is *correct*, as any check would
# confirm, and it is nearly 0. The reason is in two lines: dz is large, but da_z = dz ∘ z ∘ (1 − z),
# and dn = dh' ∘ (1 − z). A gate at 1 gets no gradient and lets none through to the candidate. It is
# a **saturated** gate.
#
# SGD does not move such a unit in 300 windows of Bible verses, and neither does Adam (question 7).
# So a gate that should learn must not start saturated. And if a unit of yours has a gradient of 0
# for thousands of steps, look at its gates before you doubt your derivation.
#
# ## A model of letters
#
# Embedding, GRU, softmax: `LanguageModel`, as in lesson 02. It reads the Bible as letters, 16
# streams side by side, in windows of 100, with the state carried. The units' b_z begin evenly
# spread from −1 to 5: some units begin by taking, some by keeping, and none is saturated. Nothing
# says what a unit should keep, or when to let go. (Question 8 has the start with all b_z = 0.)
# Lesson 03's question needs an LSTM for comparison: it is trained alike, with b_f = 1 and as many
# units.

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
def train(model, windows):
    """Train on this many windows of 16 · 100 letters; → bits per letter on held-out text."""
    text = ids[:16 * 100 * windows + 1]
    batches = TextBatches(text, batch_size=16, steps=100)
    trainer = Trainer(model, Adam(8e-3), batches, rng=np.random.default_rng(8), average="token",
                      clip=1.0, threads=1, progress=False)
    trainer.fit(epochs=1)
    return bits(model, held_out, carried=True)


# %% tags=["training"]
model = start()
lstm = LanguageModel.create(np.random.default_rng(7), V, hidden=UNITS, layers=1, cell="lstm",
                            embedding=32, init=0.3, forget_bias=1.0)
reached = {}
for name, one in {"GRU": model, "LSTM": lstm}.items():
    reached[name] = train(one, 700)
    print(f"{name:<4} {one.size:,} parameters: {reached[name]:.2f} bits per letter, held out",
          flush=True)
pairs = bigram_bits(ids, held_out, V)
print(f"by counting pairs of letters {pairs:.2f}")
assert max(reached.values()) < pairs - 0.5
# with the seeds 7, 1, 2: GRU 1.94, 1.92, 1.93; LSTM 1.91, 1.91, 1.93

# %% [markdown]
# Lesson 03 asked whether fewer gates and no cell state can do the same. Here they can: the
# difference is no larger than between seeds, with 69,519 parameters in place of 89,999. (In bits,
# the start with all b_z = 0 does better still: question 8. This one makes holders easier to find,
# which comes next.)
#
# What does it write? Each p is raised to the power 1 / 0.6, a **temperature** of 0.6 (lesson 10),
# before a letter is drawn. Does it close the quotations that it opens? We count it: the share of
# opening marks whose next mark is a closing one, in 40,000 letters of its own and in held-out text.
# The control is the same text with its marks in random order.


# %% tags=["training"]
def share_closed(marks):
    """The share of opening marks whose next mark is a closing one."""
    following = [after for mark, after in zip(marks, marks[1:]) if mark == "“"]
    return np.mean([after == "”" for after in following])


def marks_of(text):
    return [letter for letter in text if letter in "“”"]


# %% tags=["training"]
written = write(model, vocabulary, "god said , “ ", 40_000, np.random.default_rng(9),
                temperature=0.6)
print(written[:300])
for name, one in {"written": written, "held out": verses("valid", 50_000)}.items():
    marks = marks_of(one)
    rng = np.random.default_rng(10)
    shuffled = np.mean([share_closed(rng.permutation(marks).tolist()) for _ in range(100)])
    print(f"{name:<8}: {len(marks)} marks; the next mark after an opening one is a closing one in "
          f"{share_closed(marks):.0%}, shuffled {shuffled:.0%}")
# written with the seeds 9, 10 and 11: 0.85, 0.83, 0.72; with AVX2 kernels 0.73, 0.79, 0.76

# %% [markdown]
# Mostly it does: about three of four opening marks are followed by a closing one, and by chance it
# would be about three of five. (That is more often than in the Bible, where a speech may go on in
# the next verses and open again. It is a rough figure: there are only about a hundred marks.)
#
# ## Did it find your unit?
#
# Look for a unit whose *state* tells inside from outside, as yours did. (Only verses that close
# what they open count: in this text a law may stay open for pages.) The rule: in the first half of
# 60,000 held-out letters, take the unit whose state has the largest correlation with the answer, +1
# or −1. The largest of 128 is partly chance, so all numbers below are from the second half. The
# *gate* of the unit played no part in the choice. If this is a hold unit, what must z do? (With
# some seeds the unit waits for the letter after the mark, so we take the lower z of the two.)

# %% tags=["training"]
def gates(model, text):
    """→ states and update gates (letters, H) while the model reads."""
    cell = model.cells.cells[0]
    x, _ = model.embedding.forward(np.array(vocabulary.encode(text))[:, None])
    hs, _, cache = cell.forward(x)
    return hs[:, 0], cache.steps.gates[:, 0, UNITS:2 * UNITS]


def knows(states, letters):
    """Correlation of each unit's state with inside or outside, over these letters (H,)."""
    return np.array([np.corrcoef(unit[letters], inside[letters])[0, 1] for unit in states.T])


book = verses("valid", 60_000)
inside, counts = quoted(book)
in_first_half = np.arange(len(book)) < len(book) // 2

# %% tags=["training"]
states, update = gates(model, book)
unit = np.abs(knows(states, counts & in_first_half)).argmax()
scored = counts & ~in_first_half
found = knows(states, scored)
sign = np.sign(found[unit])
right = (np.sign(sign * states[scored, unit]) == inside[scored]).mean()
began = np.linspace(-1, 5, UNITS)[unit]
print(f"unit {unit}, whose b_z began at {began:.1f}: correlation {abs(found[unit]):.2f}; "
      f"the median unit has {np.median(np.abs(found)):.2f}")
# with the seeds 1 to 5 of `start`: correlation 0.94, 0.90, 0.79, 0.92, 0.92
print(f"the sign of its state is right at {right:.0%} of {scored.sum():,} letters; "
      f"{(inside[scored] > 0).mean():.0%} of them are inside")

# %% tags=["training"]
at_mark = np.isin(list(book), ["“", "”"]) & scored
after_mark = np.roll(at_mark, 1)
z = update[:, unit]
lowest = np.minimum(z[at_mark], z[after_mark]).mean()
elsewhere = z[scored & ~at_mark & ~after_mark].mean()
print(f"its update gate: {elsewhere:.3f} elsewhere; at a mark or the letter after it, whichever is "
      f"lower, {lowest:.2f}")
assert abs(found[unit]) > 0.8 and lowest < 0.3 and elsewhere > 0.95

# %% tags=["training"]
begin = len(book) // 2
for verse in book[begin:].splitlines(keepends=True):
    if counts[begin] and 80 <= len(verse) <= 110:
        break
    begin += len(verse)
shown = slice(begin, begin + len(verse))
print("the first verse of the second half that counts and has 80 to 110 letters:", verse)

# %% tags=["training"]
figure, (above, below) = plt.subplots(2, 1, figsize=(12, 4), sharex=True, layout="constrained")
above.plot(sign * states[shown, unit], color=plotting.COLOURS[0], marker="o", markersize=3)
above.axhline(0, color="0.7", linewidth=1)
above.set(ylabel="h" if sign > 0 else "−h", ylim=(-1.1, 1.1),
          title=f"Unit {unit}: its gate opens at the marks, and it holds in between "
                f"(correlation {abs(found[unit]):.2f})")
below.plot(z[shown], color=plotting.COLOURS[1], marker="s", markersize=3)
below.set(ylabel="z: 1 keeps, 0 takes", xlabel="letter read", ylim=(-0.05, 1.05))
below.set_xticks(range(len(verse)), list(verse.replace(" ", "␣").replace("\n", "⏎")), fontsize=8)
show(figure, "04_found")

# %% [markdown]
# That is your unit: it opens at the marks and keeps elsewhere, and five other seeds each have one,
# too. It began as a holder, but of nothing in particular. The loss only asks for the next letter;
# but to predict a closing mark, the network must remember the opening one.
#
# ## What is the reset gate worth?
#
# Take it away: with b_r = 30, σ is 1 in float32 and its slope 0. So r stays at 1: a gate that is
# saturated on purpose. A shorter training, each from the same start. But there is a catch: a free r
# begins near one half, and halves the past in every candidate, whether it chooses or not. To
# separate *quieter* from *choosing when*, both are trained a second time with U_n = 0 at the start,
# where the past has no effect until training gives it one. Of the four, guess the best and the
# worst.

# %% tags=["training"]
def changed(is_locked, is_quiet):
    """A new model; locked: its reset gates stay at 1; quiet: U_n starts at 0."""
    model = start()
    cell = model.cells.cells[0]
    if is_locked:
        cell.b[:UNITS] = 30
    if is_quiet:
        cell.U[:, 2 * UNITS:] = 0
    return model


# %% tags=["training"]
print("bits per letter after 250 windows of 16 · 100 letters, from U_n random and from U_n = 0:")
worth = {}
for is_locked in (False, True):
    random = train(changed(is_locked, False), 250)
    quiet = train(changed(is_locked, True), 250)
    name = "r = 1" if is_locked else "r learns"
    worth[name] = np.array([random, quiet])
    print(f"  {name:<9} {random:.2f}   {quiet:.2f}", flush=True)
more = worth["r = 1"] - worth["r learns"]
print(f"  without r {more[0]:.2f}   {more[1]:.2f} more")
assert more[0] > 2 * more[1] > 0
# U_n = 0, the seeds 1, 2, 3: 2.18, 2.21, 2.19 where r learns, 2.27, 2.27, 2.32 where r = 1;
# U_n random: 2.23, 2.22, 2.20 where r learns, 2.55, 2.70, 2.60 where r = 1
# without r, seeds 7, 1, 2 and 3: 0.32 to 0.48 more; from U_n = 0, 0.07 to 0.13 more

# %% [markdown]
# From a random U_n the reset gate seems to be worth a lot. Most of that was loudness: if the past
# starts quiet, 0.09 is left of 0.47 (with four seeds 0.07 to 0.13 is left, of 0.32 to 0.48). *That*
# is what choosing when is worth here, and it is not nothing. Look along the first line, too: even
# where r learns, a quiet start helps. With the first column only, we would have credited the choice
# with both. One unit shows what a gate *can* do; what it *is* worth shows only when it is taken
# away, one change at a time.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | update gate z, share of the old state | z in Cho et al. and PyTorch; 1 − z in Bahdanau et al. |
# | candidate n | new gate (PyTorch), candidate activation, h̃ |
# | reset after, before | `reset_after=True`, `False` (Keras); v1 and v3 of the paper |
# | a locked gate | saturated gate; vanishing gradient |
# | hold unit | latch; quote detection cell (Karpathy et al. 2015) |
# | bits per letter | bits per character, BPC |
#
# All terms are in the [glossary](../docs/site/glossary.md).
#
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `plotting` | diagrams, colours, pictures as files |
# | `GRU` | the library's gated recurrent unit, for comparison |
# | `TextBatches` | cuts a long text into windows, in its order |
# | `gradcheck` | compares a backward pass with central differences |
# | `numeric_gradient` | the central differences of one array |
# | `randomize` | gives every parameter random values |
# | `LanguageModel` | embedding, cell and softmax in one |
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |
# | `Adam` | the optimizer of lesson 02 |
# | `Trainer` | the training loop |

# %% [markdown]
# ## Questions
#
# 1. The hold unit leaks. What must replace the 6 if half of the number should be left after 1,000
#    letters?
# 2. With which values of the gates is this cell the network of lesson 02?
# 3. You have the trained weights of a cell with update="old", and a program that only knows "new".
#    Which numbers do you change, and how?
# 4. Let r be 1 everywhere. Are reset="after" and reset="before" then the same cell?
# 5. A friend checks `forgetful` for one step and compares only the weights' gradients. Does the
#    check find the bug? And with two steps?
# 6. Let one unit count the letters of a word, h' = tanh(0.1 + r h) at a letter, and h' = tanh(r h)
#    with r = 0 at a space. It can be done without a reset gate: how does a space restart the count?
# 7. Train the locked unit, u = 32, on 300 windows with the state carried, with SGD and with Adam
#    (`learn` in `gru_parts.py`). Does either free it? And does a fresh state of zeros in every
#    window?
# 8. Train the model of letters with all b_z = 0 at the start. What happens to its bits, and to the
#    unit that holds?
