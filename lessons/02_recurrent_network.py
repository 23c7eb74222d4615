# %% [markdown]
# # Lesson 02: the recurrent network
#
# **You will be able to** derive back-propagation through time, and estimate before any training how
# much of a gradient arrives d steps back.
#
# **Needs:** lesson 01. **Time:** 45 minutes to read, about 10 of them for the optional part B;
# about a minute to run.
#
# The model of lesson 01 knew only one letter of the past. A recurrent network (Elman 1990) can in
# principle know all of it. It reads one symbol at a time, and keeps what it has read in a vector,
# its **state**. *How far back can it learn? And can we predict that before we train it?*
#
# Helper functions are in `course.py` and `recurrent_parts.py`, in the same folder.

# %%
print("Lesson 02: the recurrent network", flush=True)

from dataclasses import dataclass

import numpy as np
from course import caught, show
from recurrent_parts import (WAKING, Recall, bigram_bits, bits, draw_back, draw_far, draw_letters,
                             draw_recall, draw_wait, first_step, letters, parts_of_dU,
                             recall_gradient, recall_model, train_recall, write)

from numpy_attention import plotting
from numpy_attention.cells.rnn import RNN
from numpy_attention.data.batching import TextBatches
from numpy_attention.gradcheck import gradcheck, numeric_gradient, randomize
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.module import Array, Module
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.trainer import Trainer

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# ## Watch it fail
#
# In the **recall task**, a network reads one of four symbols, then n symbols of noise, drawn from
# four others, and then a question mark, where it must answer with the first symbol. Here are three
# sequences with n = 4:

# %%
symbols = np.array(list("____ABCDwxyz?"))       # their ids are 4 to 12; ids 0 to 3 are special
batch = Recall(4, 1, np.random.default_rng(0)).batch(0)     # n = 4, one batch
print("shape of the inputs (steps, sequences):", batch.inputs.shape)
for i in range(3):
    print("it reads", *symbols[batch.inputs[:, i]], " and answers", symbols[batch.targets[-1, i]])

# %% [markdown]
# The model reads each symbol as a vector of 16 numbers, its embedding. The recurrent network turns
# these vectors into states of 32 numbers, plenty of room for one symbol. Its matrix U takes the
# state from one step to the next, and starts *small*, with random numbers between −0.1 and 0.1.
# That is a weak start: PyTorch would draw from −1/√32 to 1/√32, nearly twice as wide. A softmax
# layer turns the last state into the answer. Guessing is right a quarter of the time.
#
# For each n we train a new network for 400 training steps, each on a batch of 32 random sequences.
# The optimizer is Adam, gradient descent that divides each number of the gradient by its typical
# size (question 6). The network *learns* the task if more than nine in ten answers to 1,000 new
# sequences are right. We try n = 2, 4, 8, 16 and 32. What is the largest n that it learns?

# %% tags=["training"]
DISTANCES = (2, 4, 8, 16, 32)
small = []
for n in DISTANCES:
    model, rng = recall_model(n, is_orthogonal=False)           # U small
    small.append(train_recall(model, n, rng))
    print(f"n = {n:<3} {small[-1]:.2f} right", flush=True)

# %% [markdown]
# Up to n = 4 the network learns the task. At n = 8 it is barely better than guessing, and beyond
# that no better. On another processor, networks near the limit may come out differently.
#
# To *learn* that the symbol is worth keeping, the network needs a gradient that travels back
# through time, from the mistake to the step that could have prevented it. Perhaps too little of
# this gradient arrives, so we follow it.
#
# ## Forward
#
# At step t the network computes a new state from two vectors: the input x_t (I numbers) and the
# previous state h_{t−1} (H numbers).
#
#     a_t = x_t W + h_{t−1} U + b
#     h_t = tanh(a_t)
#
# | symbol | shape | what it is |
# |---|---|---|
# | x_t | (I,) | what is read at step t |
# | h_t | (H,) | the state after step t, one number per *unit*; h_0 is zeros when a text begins |
# | a_t | (H,) | the sum that the tanh is applied to |
# | W, U, b | (I, H), (H, H), (H,) | parameters, **the same at every step** |
#
# In lesson 01, x was the number of a letter, and h was its embedding. Now x is the embedding, h is
# the state, and both are rows.
#
# The tanh keeps each number of the state between −1 and 1. Here are two steps, with I = 2 and
# H = 3:

# %%
rng = np.random.default_rng(1)
W = rng.standard_normal((2, 3))
U = rng.standard_normal((3, 3))
b = rng.standard_normal(3)
x1 = rng.standard_normal(2)
x2 = rng.standard_normal(2)
h0 = np.zeros(3)

# %%
a1 = x1 @ W + h0 @ U + b
h1 = np.tanh(a1)
a2 = x2 @ W + h1 @ U + b
h2 = np.tanh(a2)
print("h_1 =", h1)
print("h_2 =", h2)

# %% [markdown]
# The input x_1 affects h_2 through h_1: that is the network's memory. We let a simple loss L read
# both states: L = r_1 · h_1 + r_2 · h_2, with random vectors r_1 and r_2.

# %%
boxes = {
    "h0": ("h₀", 0, 1.2), "x1": ("x₁", 2, 0), "x2": ("x₂", 5, 0),
    "s1": ("h₁ = tanh(x₁ W + h₀ U + b)", 2, 1.2, 0),
    "s2": ("h₂ = tanh(x₂ W + h₁ U + b)", 5, 1.2, 0),
    "y1": ("r₁ · h₁", 2, 2.4), "y2": ("r₂ · h₂", 5, 2.4), "L": ("L", 3.5, 3.4, 2),
}
arrows = [("h0", "s1"), ("x1", "s1"), ("x2", "s2"), ("s1", "s2"), ("s1", "y1"), ("s2", "y2"),
          ("y1", "L"), ("y2", "L")]
show(plotting.diagram(boxes, arrows, title="h₁ is used twice: by the loss, and by the next step"),
     "02_diagram")

# %% [markdown]
# ## Backward
#
# Begin at the end. Nothing but L reads h_2, so dh_2 = r_2. The derivative of tanh is 1 − tanh².
# With ∘ for multiplication element by element, the gradient of a_2 is
#
#     da_2 = dh_2 ∘ (1 − h_2²)
#
# The state h_1 is used **twice**, because L reads it directly and step 2 reads it through U. So it
# receives two gradients, which add up:
#
#     dh_1 = r_1 + da_2 Uᵀ
#     da_1 = dh_1 ∘ (1 − h_1²)
#
# Why Uᵀ? Lesson 01 multiplied by Wᵀ forward and by W backward. Here it is the other way round:
#
# | | forward | gradient of the vector | gradient of the matrix |
# |---|---|---|---|
# | lesson 01 | z = h Wᵀ | dh = dz W | dW = dzᵀ h |
# | from now on | z = v M | dv = dz Mᵀ | dM = vᵀ dz |
#
# We measure these gradients as in lesson 01, by nudging a_1, h_1 or a_2.

# %%
r1 = rng.standard_normal(3)
r2 = rng.standard_normal(3)


def loss(a1_more=0, h1_more=0, a2_more=0):
    """L, with a nudge added to a_1, h_1 or a_2."""
    h1 = np.tanh(x1 @ W + h0 @ U + b + a1_more) + h1_more
    h2 = np.tanh(x2 @ W + h1 @ U + b + a2_more)
    return r1 @ h1 + r2 @ h2


def check_gradient(name, ours, compute, array):
    """Print our gradient and the measured one, at most 6 numbers; compute() reads the array."""
    measured = numeric_gradient(compute, array)
    print(f"{name:>4} by hand  {ours.ravel()[:6]}")
    print(f"     measured {measured.ravel()[:6]}")
    assert np.allclose(ours, measured, atol=1e-8)


# %%
da2 = r2 * (1 - h2**2)
dh1 = r1 + da2 @ U.T
da1 = dh1 * (1 - h1**2)
more = np.zeros(3)              # the nudge: numeric_gradient changes it in place
check_gradient("da_2", da2, lambda: loss(a2_more=more), more)
check_gradient("dh_1", dh1, lambda: loss(h1_more=more), more)
check_gradient("da_1", da1, lambda: loss(a1_more=more), more)

# %% [markdown]
# **The parameters.** W, U and b are used at both steps, so their gradients are sums too. For the
# matrices, use the last column of the table, dM = vᵀ dz. Here dz is da_t, and v is x_t for W, but
# h_{t−1} for U:
#
#     dW = x_1ᵀ da_1 + x_2ᵀ da_2
#     dU = h_0ᵀ da_1 + h_1ᵀ da_2
#     db = da_1 + da_2
#
# Note that dU needs the state *before* each step.

# %%
dW = np.outer(x1, da1) + np.outer(x2, da2)
dU = np.outer(h0, da1) + np.outer(h1, da2)
db = da1 + da2
for ours, array in ((dW, W), (dU, U), (db, b)):
    assert np.allclose(ours, numeric_gradient(loss, array), atol=1e-8)

# %% [markdown]
# This is **back-propagation through time** (Werbos 1990). For T steps, we need two new names. dy_t
# is the part of dh_t that comes directly from the loss (r_t in our example), and dlast is whatever
# else arrives at the last state. The backward pass goes from the last step to the first:
#
#     dh_T = dy_T + dlast
#     dh_t = dy_t + da_{t+1} Uᵀ        for t < T
#     da_t = dh_t ∘ (1 − h_t²)
#     dW  += x_tᵀ da_t        dx_t = da_t Wᵀ
#     dU  += h_{t−1}ᵀ da_t    db  += da_t
#
# For a *batch* of B sequences, x_t has the shape (B, I) and h_t the shape (B, H). The products for
# dW and dU then sum over the batch by themselves, while for db we sum da_t. The backward pass also
# returns dh_0 = da_1 Uᵀ.
#
# > **Exercise.** Write the backward pass of tanh yourself, and that of the sigmoid, which lesson 03
# > needs: `numpy-attention exercise start squash`. Then write the whole backward pass,
# > `numpy-attention exercise start bptt`. The next cell has a solution.


# %% tags=["plain"]
@dataclass(eq=False)
class PlainRNN(Module):
    """h_t = tanh(x_t W + h_{t−1} U + b)."""

    W: Array  # (I, H)
    U: Array  # (H, H)
    b: Array  # (H,)

    def forward(self, xs, h):
        """xs (T, B, I), h_0 (B, H) → all states (T, B, H), the last one, cache."""
        hs = [h]
        for x in xs:
            a = x @ self.W + hs[-1] @ self.U + self.b
            hs.append(np.tanh(a))
        hs = np.stack(hs)                                   # (T + 1, B, H)
        return hs[1:], hs[-1], (xs, hs[:-1], hs[1:])

    def backward(self, dys, dlast, cache, grads):
        """From ∂L/∂(all states) and ∂L/∂(last state) to ∂L/∂xs and ∂L/∂h_0."""
        xs, before, after = cache
        dxs = np.empty_like(xs)
        dh = dlast
        for t in reversed(range(len(xs))):
            dh = dh + dys[t]
            da = dh * (1 - after[t]**2)
            grads.W += xs[t].T @ da
            grads.U += before[t].T @ da
            grads.b += da.sum(0)
            dxs[t] = da @ self.W.T
            dh = da @ self.U.T
        return dxs, dh


# %% [markdown]
# ## Check
#
# We check the derivation on six steps of three sequences. In the report, input[0] is xs and
# input[1] is h_0.

# %%
rng = np.random.default_rng(2)
xs = rng.standard_normal((6, 3, 2))             # (T, B, I)
first = rng.standard_normal((3, 5))             # (B, H)
dys = rng.standard_normal((6, 3, 5))
dlast = rng.standard_normal((3, 5))


def create(kind):
    """A cell in float64 with random weights, the same for every kind."""
    cell = kind(np.empty((2, 5)), np.empty((5, 5)), np.empty(5))
    return randomize(cell, np.random.default_rng(3))


def check(cell):
    return gradcheck(cell, xs, first, rng=np.random.default_rng(4))


print(check(create(PlainRNN)))


# %%
def passes(cell, xs, first, dys, dlast):
    """→ all states, the last one, dxs, ∂L/∂h_0, the gradient of all parameters as one vector."""
    ys, last, cache = cell.forward(xs, first)
    grads = cell.zeros_like()
    dxs, dfirst = cell.backward(dys, dlast, cache, grads)
    return ys, last, dxs, dfirst, grads.vector


plain = create(PlainRNN)
full = passes(plain, xs, first, dys, dlast)
theirs = passes(create(RNN), xs, first, dys, dlast)
for one, other in zip(full, theirs):
    assert np.allclose(one, other, rtol=0, atol=1e-12)

# %% [markdown]
# The derivation is right, and the library's RNN, which is faster, gives the same gradients.
# `numpy-attention step 2` shows every array of this network, step by step.
#
# ## A bug
#
# What if we take the state *after* each step for dU? Nothing crashes, because both states have the
# same shape. The class below makes this mistake: it calls the backward pass of PlainRNN with
# `after` in place of `before`. The gradient of U will be wrong. Will any of the other four be wrong
# too, the gradients of W, b, xs and h_0?


# %%
class OffByOne(PlainRNN):
    def backward(self, dys, dlast, cache, grads):
        xs, before, after = cache
        return super().backward(dys, dlast, (xs, after, after), grads)      # the bug


# %%
report = caught(check, create(OffByOne))
assert "(xs, after, after)" in str(report)

# %% [markdown]
# Only dU is wrong, because dU alone is computed from `before`, and nothing is computed from dU. The
# report names the line.
#
# ## How much of the gradient arrives
#
# We return to the failing task. The question mark is step T = n + 2, so the gradient must go back
# n + 1 steps to the first symbol. The **share** that is left after d steps is the length of the
# gradient at h_{T−d}, divided by its length at h_T.
#
# First, take a network of one unit. Its U is a single number u, and each step back multiplies the
# gradient by (1 − h²) u. Let u = 1.8. What is left of it after 20 steps if h is always 0.1? And if
# h is always 0.9?

# %%
for h in (0.1, 0.9):
    factor = (1 - h**2) * 1.8
    print(f"h = {h}: {factor:.2f} after one step, {factor**20:.1e} after 20 steps")

# %% [markdown]
# If the absolute value of the factor is above 1, the gradient **explodes**, and if it is below 1,
# it **vanishes**. Here u is the same both times, so h decides.
#
# For H units the factor becomes a matrix. In the recall task, only the last step has a loss, so
# every earlier dy_t is 0, and one step back is
#
#     dh_{t−1} = (dh_t ∘ (1 − h_t²)) Uᵀ = dh_t J_t        with J_t = diag(1 − h_t²) Uᵀ
#
# J_t, the **Jacobian** of the step, holds the derivatives of h_t with respect to h_{t−1}. Going
# back d steps multiplies d of these matrices:
#
#     dh_{T−d} = dh_T J_T J_{T−1} … J_{T−d+1}
#
# Such a product also tends to shrink or grow exponentially (Hochreiter 1991; Bengio et al. 1994),
# so we try to describe it by one number per step: a factor from the slopes 1 − h², times a factor
# from Uᵀ. Each needs an assumption.
#
# **The tanh.** It multiplies the gradient by the slopes s = 1 − h². Assume that the gradient is
# *spread evenly*, with numbers of the same size c for all H units. Then its length changes by the
# factor
#
#     √(Σ_k c² s_k²) / √(H c²) = √(Σ_k s_k² / H) = rms(s)
#
# the root mean square of the slopes. We take one rms over all steps and sequences.
#
# **The matrix.** Assume that the gradient has a *random direction*. Then what matters is the
# **gain** g of U, the rms of the lengths of v U, for many vectors v of length 1 in random
# directions. Square element j of v U:
#
#     (v U)_j² = (Σ_i v_i U_ij)² = Σ_i v_i² U_ij² + Σ_{i≠k} v_i v_k U_ij U_kj
#
# Now take the mean over all v. For each v there is one that differs only in the sign of v_i, so the
# terms with v_i v_k average to 0. The squares v_1² to v_H² add up to 1, and none is special, so
# each averages to 1 / H:
#
#     mean of (v U)_j² = Σ_i U_ij² / H
#     sum over j:   g² = Σ_ij U_ij² / H
#
# The gradient is multiplied by Uᵀ, which has the same numbers and therefore the same gain.
#
# So our **estimate** is that each step back multiplies the length by g · rms(1 − h²). Try it by
# hand on our network. Before training the states are small and the slopes nearly 1, so the factor
# is about g. The mean square of the numbers in U, drawn uniformly from −0.1 to 0.1, is 0.1² / 3,
# and H is 32. What share is left after n + 1 steps, for n = 4 and n = 8?

# %%
g = np.sqrt(32 * 0.1**2 / 3)
print(f"g = {g:.3f}; its powers: g^5 = {g**5:.0e}, g^9 = {g**9:.0e}")

# %% [markdown]
# At n = 8, where the network failed, a few hundred-thousandths arrive. But why does that matter, if
# Adam divides each number of the gradient by its typical size? We split dU into the parts of the
# steps, and then let Adam make its first step:

# %% tags=["training"]
model, rng = recall_model(8, is_orthogonal=False)
parts = parts_of_dU(model, 8)
print(f"part of dU from the last step: {parts[10]:.2f}, from step 2: {parts[2]:.4f}")
for name, size, moved in first_step(model, 8, rng):
    print(f"{name:<20} mean gradient {size:.0e}, moved by {moved:.2f} learning rates")

# %% [markdown]
# The gradient of the embeddings of A to D is about ten thousand times smaller than that of U, and
# yet Adam moves them almost as far. These symbols occur at step 1 only, so their gradient is
# nothing but what has arrived there, and Adam scales it up. But each number of dU is a sum over the
# steps, and Adam can scale only the sum. The part of step 2, where U meets the state that has just
# read the symbol, drowns in it. So U moves where the last few steps want it, which see noise and
# the question mark, and so do W and b. The network can learn new vectors for A to D, but not how to
# keep them.
#
# The estimate suggests a better start: a larger g. If U is **orthogonal** (Saxe et al. 2014), it
# leaves the length of every vector unchanged. So its gain is 1, and only the slopes shrink the
# gradient.
#
# Does the estimate hold? We follow the gradient back through an untrained network of each kind, on
# 200 sequences with n = 32.


# %%
def rms(numbers):
    return np.sqrt((numbers**2).mean())


def gain(U):
    return np.sqrt((U**2).sum() / len(U))


# %% tags=["training"]
def gradient_back(cell, xs, start, dlast):
    """xs (T, B, I), start (B, H) = h_0, dlast (B, H) = ∂L/∂h_T
    → share (T + 1,): the length at h_{T−d}, divided by that at h_T; all states.
    """
    hs, _, _ = cell.forward(xs, start)
    dh = dlast
    lengths = [np.linalg.norm(dh, axis=1).mean()]
    for h in hs[::-1]:
        da = dh * (1 - h**2)
        dh = da @ cell.U.T
        lengths.append(np.linalg.norm(dh, axis=1).mean())
    return np.array(lengths) / lengths[0], hs


# %% tags=["training"]
def share_back(model, n):
    """→ share (n + 2,) that is left after 0 to n + 1 steps back; the estimate for one step."""
    cell, xs, start, dlast = recall_gradient(model, n)
    share, hs = gradient_back(cell, xs, start, dlast)
    return share[:-1], gain(cell.U) * rms(1 - hs[1:]**2)        # the slopes of h_2 to h_T


curves = {}
for start, is_orthogonal in (("U small", False), ("U orthogonal", True)):
    share, factor = share_back(recall_model(32, is_orthogonal)[0], 32)
    curves[start] = share, factor
    print(f"{start}: each step estimated {factor:.2f}, measured {share[33]**(1/33):.2f}; "
          f"share after 5, 9 and 17 steps {share[5]:.1g}, {share[9]:.1g}, {share[17]:.1g}")
show(draw_back(curves), "02_back")

# %% [markdown]
# Per step the estimate is right to within a tenth, but over 33 steps such errors multiply. Only U
# small puts the random direction to the test, because an orthogonal U keeps the length of every
# vector.
#
# ## A better start
#
# At n = 8 the first symbol is 9 steps back. With U orthogonal, half of the gradient should arrive
# there. What is the largest n that this network learns?

# %% tags=["training"]
orthogonal = []
for n in DISTANCES:
    model, rng = recall_model(n, is_orthogonal=True)
    orthogonal.append(train_recall(model, n, rng))
    print(f"n = {n:<3} {orthogonal[-1]:.2f} right", flush=True)

# %% [markdown]
# With U orthogonal the network learns n = 8. Was it just lucky? We have trained networks with
# twenty **seeds**, the numbers from which random generators start. A third start joins them,
# PyTorch's range, which has g² = H · (1/√H)² / 3 = 1/3. At n = 8 it lets through more than a
# hundred times as much as U small:

# %% tags=["training"]
wider, _ = recall_model(8, is_orthogonal=False)
wider.cells.cells[0].U *= 10 / np.sqrt(32)              # from ±0.1 to ±1/√32
for name, model, n in (("U small", recall_model(4, False)[0], 4),
                       ("U small", recall_model(8, False)[0], 8), ("PyTorch's range", wider, 8)):
    print(f"n = {n}, {name}: share at the first symbol {share_back(model, n)[0][-1]:.0e}")
# How many of the seeds 8 to 27 learn n = 4, 8, 16 and 32 (code: answer 5)
LEARNT = {"U small": (16, 1, 0, 0), "PyTorch's range": (19, 1, 0, 0),
          "U orthogonal": (20, 17, 5, 0)}
show(draw_recall(LEARNT), "02_recall")
assert orthogonal[0] > 0.9 > max(small[-1], orthogonal[-1])

# %% [markdown]
# It was not luck: 17 of 20 networks learn n = 8 with U orthogonal, and one with U small. But
# PyTorch's range does not help there, although it lets about as much through at n = 8 as U small
# does at n = 4, which most networks learn. At no n does a start with a smaller share do better, but
# no fixed share is enough.
#
# Did the orthogonal start help the *gradient* on its way back, or the *symbol* on its way forward?
# A small change δ of h_1 changes h_T by about δ J_2ᵀ J_3ᵀ … J_Tᵀ. These are the same matrices,
# transposed, so this experiment cannot separate the two.
#
# ## How far back can it learn?
#
# What if we just train for longer? We took five networks with U small that had failed at n = 8, and
# trained each again for 4,000 steps. Four learn the task, and one stops at half of the answers.
# Which comes first, the gradient or the answers? Step 0 of the figure is the last measurement at
# which a network is still guessing.

# %% tags=["training"]
show(draw_wait(), "02_wait")                            # code: answer 5
last, initial, lowest, share, losses, below = np.array(list(WAKING.values())).T
fall = (initial / lowest).min() // 1
rise = (share / initial).min() // 1
print(f"recorded: the share first falls by a factor of {fall:.0f} or more;")
print(f"at step 0 it is at least {rise:.0f} times as large as before training,")
print(f"and the loss is {losses.min():.2f} to {losses.max():.2f} (guessing: {np.log(4):.2f})")
assert (last - below).min() == 120

# %% [markdown]
# The gradient comes first. For more than a hundred steps its share is above the value from before
# training, and it climbs a hundredfold while the answers and even the loss stay at guessing. When
# the answers improve it shoots up further, except in the network that stops halfway, where it falls
# back. What makes the share climb, long before it pays off, stays open.
#
# Can a network wait for much less? At n = 32 the share of U small starts at 2e-17. Of five
# networks, one learns the task in 4,000 steps all the same:

# %% tags=["training"]
show(draw_far(), "02_far")                              # code: answer 5
share, _ = share_back(recall_model(32, is_orthogonal=False, seed=12)[0], 32)
print(f"share before training: {share[33]:.0e}")
print("recorded after 4,000 steps: share 0.02, estimated 1e-15")
print("recorded per step back: the slopes 0.42, their rms 0.34; U 2.1, its gain 1.0")
print("recorded, how far U stretches 32 orthogonal directions: 3.8, 3.4, 1.5, 1.0, ...")

# %% [markdown]
# So a tiny share need not be a limit, because training can change it. But our estimate misses the
# whole rise. Mainly the random direction is to blame, because U has learnt to stretch two
# directions far more than all others, and most of the gradient lies in these two. If we remove them
# from the gradient at every step, almost nothing arrives (answer 5).
#
# One sentence to take home: **before training, one forward pass and g · rms(1 − h²) estimate how
# much of the gradient a start lets through.** Use it to compare starts, not to rule out a distance.
# Lesson 03 builds a path on which the gradient barely shrinks.

# %% [markdown]
# ## Part B (optional): a model of letters
#
# **You will be able to** train a recurrent network on a long text, and tell whether its gradient
# vanishes. **Time:** about 10 minutes to read. Lessons 03 and 04 do not need this part.
#
# ### Cutting the gradient
#
# For a text of a million letters, one backward pass would need a million states in memory. Instead,
# the text is read in **windows**, short pieces that follow one another. In **truncated**
# back-propagation through time, the *state* is **carried** from one window to the next, but the
# gradient is cut at the border: what a window's first step sends back, da Uᵀ, is thrown away. Here
# are two windows of three steps, in two colours:

# %%
boxes = {f"h{t}": (f"h{mark}", 1.3 * t, 1.2, None if t == 0 else (t - 1) // 3)
         for t, mark in enumerate("₀₁₂₃₄₅₆")}
boxes["cut"] = ("cut", 1.3 * 3.5, 0.4)
arrows = [(f"h{t}", f"h{t + 1}") for t in range(6)]
arrows += [(f"h{t + 1}", f"h{t}", "", -0.5, True) for t in (1, 2, 4, 5)]
arrows.append(("h4", "cut", "", 0, True))
show(plotting.diagram(boxes, arrows, title="The state crosses the border, but the gradient "
                                           "(dashed) does not"), "02_truncated")

# %% [markdown]
# So no gradient ever tells the model how a symbol affects the loss of a later window.
#
# > **Exercise.** Cut the gradient yourself: `numpy-attention exercise start truncated`.
#
# ### A network that writes
#
# What will a model with a memory write, if we draw letter after letter from its predictions? A
# `LanguageModel` consists of an embedding, the recurrent network of this lesson and the softmax of
# lesson 01. We train it on the letters of the Bible, from 16 places in the text at once, in windows
# of 50. `clip=1.0` is **clipping** (Pascanu et al. 2013): if the norm of the *whole* gradient, of
# all parameters together, is above 1, the gradient is scaled down to the norm 1. So one gradient
# that explodes cannot spoil what was learnt.

# %% tags=["training"]
vocabulary, ids, held_out = letters()
held_out = held_out[:50_000]
V = len(vocabulary)
text = ids[:16 * 50 * 1200 + 1]
model = LanguageModel.create(np.random.default_rng(5), V, hidden=128, layers=1, cell="rnn",
                             embedding=32)
batches = TextBatches(text, batch_size=16, steps=50)        # 16 streams, in windows of 50 letters
trainer = Trainer(model, Adam(3e-3), batches, rng=np.random.default_rng(6), average="token",
                  clip=1.0, progress=False)
print(f"{model.size:,} parameters, {len(text):,} letters to learn from ...", flush=True)
trainer.fit(epochs=1)
print("it writes:", write(model, vocabulary, "the ", 160, np.random.default_rng(10)))

# %% tags=["training"]
network = bits(model, held_out)
pairs = bigram_bits(ids, held_out, V)
print(f"bits per letter: {network:.2f}, and {pairs:.2f} by counting pairs, as in lesson 01")
assert network < pairs - 0.9

# %% [markdown]
# A slash marks the end of a verse. You can pronounce almost all of the words, and many exist, but
# the sentences make no sense.
#
# The **bits per letter** are the log2 of the perplexity, which lesson 01 defined. We measure them
# on **held-out** text, which was not used for training. Compared with counted pairs, the network's
# memory saves about one bit per letter. But from how far back could it learn?
#
# > **Exercise.** Write the perplexity yourself: `numpy-attention exercise start perplexity`. Then
# > write clipping: `numpy-attention exercise start clipping`.
#
# ### What becomes of its gradient
#
# The windows let the gradient go back up to 50 steps. How much of it is left then? First, the gain
# of U:

# %% tags=["training"]
print(f"gain of U after training: {gain(model.cells.cells[0].U):.1f}")

# %% [markdown]
# U *lengthens* a typical vector, nearly twofold. Does the gradient of this model vanish or explode?
#
# In a hundred places of the held-out text, the model reads 60 letters to warm up its state, and 60
# more, along which the gradient of the loss on the next letter goes back.

# %% tags=["training"]
T = 60
B = 100
model = model.astype(float)                                     # trained in float32
windows = held_out[:B * (2 * T + 1)].reshape(B, 2 * T + 1).T    # (2T + 1, B)
read, _ = model.embedding.forward(windows[:-1])                 # (2T, B, 32)
trained = model.cells.cells[0]                                  # in float64
plain = PlainRNN(trained.W, trained.U, trained.b)
states, last, _ = plain.forward(read, np.zeros((B, 128)))
warm = states[T - 1]                                            # after the first 60 letters
ignored = model.output.zeros_like()
_, dlast = model.output.loss_and_grad(last, windows[-1], scale=1, grads=ignored)

# %% tags=["training"]
shares, hs = gradient_back(plain, read[T:], warm, dlast)
for d in (10, 20, 60):
    print(f"letters back: {d:2}, share left: {shares[d]:.1e}")
slope = rms(1 - hs**2)
estimated = gain(plain.U) * slope
measured = shares[T] ** (1 / T)
print(f"rms(1 − h²) = {slope:.2f}; factor per step: estimated {estimated:.2f}, "
      f"measured {measured:.2f}")
large = (np.abs(hs) > 0.9).mean()
print(f"{large:.0%} of the numbers in the states are above 0.9 or below −0.9")
stretches = np.linalg.svd(plain.U)[1]                           # the singular values of U
print(f"how far U stretches orthogonal directions: {stretches[:6].round(1)} ...")

# %% [markdown]
# It vanishes: after 20 letters, less than a thousandth is left. As with one unit, U alone does not
# decide. Many units are **saturated**: 71% of the numbers in the states are near −1 or 1, where the
# tanh is flat. So the slopes are small, and the estimate is 0.64 per step, although the gain is
# above 1.
#
# This time training has not broken the estimate. A likely reason is that no two directions stand
# out: U stretches many of them about equally far.
#
# One of these pieces ends with "flowing with mi", and the next letter is "l". The bar above a
# letter is the share of the gradient that reaches the state after this letter.

# %% tags=["training"]
assert shares[20] < 0.005 and 0.8 < estimated / measured < 1.25
one = slice(83, 84)
verse = "".join(vocabulary.decode(windows[T:2 * T, 83]))[-28:]
share, _ = gradient_back(plain, read[T:, one], warm[one], dlast[one])
show(draw_letters(verse, share[:28][::-1]), "02_letters")
assert verse.endswith("flowing with mi") and share[12] < 0.1

# %% [markdown]
# So the loss on the "l" teaches the model what to keep from "with mi", and almost nothing about
# "land". The cut between two windows makes this little worse, because on average more than a
# fiftieth of the gradient would cross it only from the first ten of a window's 50 letters.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | the recurrent network of this lesson | Elman network, simple or vanilla RNN |
# | windows of text | chunks, segments, BPTT length |
# | the state is carried | stateful training, carried hidden state |
# | clipping | gradient clipping by global norm |
# | bits per letter | bits per character, BPC |
#
# Most terms are in the [glossary](../docs/site/glossary.md).
#
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |
# | `gradcheck` | compares a backward pass with central differences |
# | `numeric_gradient` | the central differences of one array |
# | `randomize` | gives every parameter random values |
# | `RNN` | the library's recurrent cell, for comparison |
# | `LanguageModel` | embedding, cell and softmax in one |
# | `TextBatches` | cuts a long text into windows, in order |
# | `Adam` | the optimizer (question 6) |
# | `Trainer` | the training loop |
# | `plotting` | draws diagrams, and saves figures |

# %% [markdown]
# ## Questions
#
# 1. Set r_1 = 0, so that L reads h_2 only. Which of the gradients in the section "Backward" change?
#    Is x_1ᵀ da_1, the first term of dW, then 0?
# 2. In our example, step 1 contributes nothing to dU. Why? When would it contribute?
# 3. (Part B) Elman (1990) cut his gradient after a single step. Train our model of letters like
#    this, on the same letters, with `TextBatches(text, batch_size=16, steps=1)`. What does the
#    model lose?
# 4. In the recall task, draw the noise from the same four symbols as the first symbol. Why is the
#    task harder?
# 5. (Long.) At n = 16, take the networks with an orthogonal start and the seeds 15 to 20.
#    `recall_model(16, True, seed)` creates them, and `train_recall` has an argument `steps`. How
#    many training steps does each of them need?
# 6. All our networks were trained with **Adam** (Kingma & Ba 2015). For every number among the
#    parameters, it keeps two running means, of its gradient G and of G²:
#
#        m ← m + (G − m) / 10        v ← v + (G² − v) / 1,000
#
#    It subtracts the learning rate times m̂ / (√v̂ + ε), where ε is tiny. Both means begin at 0, so
#    at first they are too small. The hats mark a correction for this. Let the gradient be 5 at
#    every step. How long are the first three steps, as multiples of the learning rate, with the
#    correction and without it? The formulas are in `numpy-attention exercise start adam`.
