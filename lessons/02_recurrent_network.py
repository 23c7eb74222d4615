# %% [markdown]
# # Lesson 02: the recurrent network
#
# **You will be able to** derive back-propagation through time, and predict before any training how
# much of a gradient arrives d steps back.
#
# **Needs:** lesson 01. **Time:** 60 minutes to read, about 15 of them for the optional part B;
# about a minute to run.
#
# The model of lesson 01 knew only one letter of the past. A recurrent network (Elman 1990) can in
# principle know all of it. It reads one symbol at a time, and keeps what it has read in a vector,
# its **state**. But *how far back can it learn?* This question runs through the lesson.
#
# 1. You watch a network fail at a task that looks easy.
# 2. You derive the path of the gradient back through time.
# 3. You predict how much of the gradient arrives where the failing network needs it.
# 4. You give one matrix of the network a better start, and watch the network learn.
# 5. You train the failed network for longer, and watch its gradient.
#
# The answer is the reason for lessons 03 and 04, and in the end for attention. Part B asks the same
# question of a model that reads and writes text.
#
# (In the same folder, `course.py` has functions for figures and for checks of planted bugs, and
# `recurrent_parts.py` has the task and the letters of the Bible.)

# %%
print("Lesson 02: the recurrent network", flush=True)

from dataclasses import dataclass

import numpy as np
from course import caught, show
from recurrent_parts import (Recall, bigram_bits, bits, draw_letters, draw_recall, draw_wait,
                             letters, recall_model, train_recall, watch_recall, write)

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
# Before we look inside a recurrent network, let us see what one can do. In the *recall task*, it
# reads one of four symbols, then n symbols of noise (four other symbols), and then a question mark,
# where it has to answer with the first symbol. With n = 4, for example:
#
#     it reads      C  x z z y  ?
#     it answers                C
#
# It reads each symbol as a vector of 16 numbers, its embedding (before training, numbers between −1
# and 1), and a softmax turns the last state into the answer. Guessing is right a quarter of the
# time. The network's state has 32 numbers, plenty of room for one symbol. For n = 1, 2, 4, 8, 16
# and 32, we train a new network for 400 training steps. We use Adam, a kind of gradient descent
# that adapts its steps, and clipping, which shortens gradients that are too long. The network
# *learns* the task if more than nine in ten answers are right. Guess: what is the largest n at
# which it does?

# %% tags=["training"]
DISTANCES = (1, 2, 4, 8, 16, 32)
small = []
for n in DISTANCES:
    model, rng = recall_model(n, is_orthogonal=False)
    small.append(train_recall(model, n, rng))
    print(f"n = {n:<3} {small[-1]:.2f} right", flush=True)
near = max(n for n, right in zip(DISTANCES, small) if right > 0.9)
print(f"the largest n that it learns is {near}")

# %% [markdown]
# In this run, a little noise does no harm. A little more, and the network might as well guess.
#
# Lack of room need not be the reason: the state has 32 numbers for one symbol. But to *learn* that
# the symbol is worth keeping, the network needs a gradient that travels back through time, from the
# step where a mistake is made to the step that could have prevented it. We follow this gradient.
#
# ## Forward
#
# How does a network keep what it has read? At step t it computes a new state from two vectors: the
# input x_t (I numbers) and the previous state h_{t−1} (H numbers). Two names change their meaning:
# x was the number of a letter in lesson 01, and is now its embedding; h was the embedding, and is
# now the state. And from now on, a vector is a row, and is written to the left of its matrix, so W
# has one row for each number of x.
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
# The input x_1 affects h_2 through h_1: that is the network's memory. In a language model each
# state predicts the next symbol, so the loss reads every state. Our loss L reads every state, too,
# but in a simpler way: L = r_1 · h_1 + r_2 · h_2, with random vectors r_1 and r_2.

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
# How does the gradient get from L back to the first step? Begin at the end. In our two steps, only
# L reads h_2, so dh_2 = r_2. The derivative of tanh is 1 − tanh². With ∘ for multiplication element
# by element, the gradient of a_2 is
#
#     da_2 = dh_2 ∘ (1 − h_2²)
#
# The state h_1 is used **twice**: L reads it directly, and step 2 reads it through U. So it
# receives two gradients, and they add up:
#
#     dh_1 = r_1 + da_2 Uᵀ
#     da_1 = dh_1 ∘ (1 − h_1²)
#
# The term da_2 Uᵀ follows lesson 01's rule, now with rows: if z = h M, then dh = dz Mᵀ. Here M is
# U.
#
# We measure these gradients as in lesson 01, by nudging an array and computing the loss again. But
# we cannot simply nudge the array a_1. The loss computes a_1 again from x_1, h_0, W, U and b, so
# the nudge would be lost. Therefore the function `loss` takes the nudge as an argument, and adds it
# to a_1, h_1 or a_2.

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
# Two things are new since lesson 01: the factor 1 − h², and that h_1 has a second reader. This
# reader, the next step, sends back da_2 Uᵀ. This term is the path back through time: without it,
# the gradient at step 1 would ignore what h_1 does to the second step. The rest of the lesson is
# about what becomes of this term over many steps.
#
# > **Exercise.** Write the backward pass of tanh yourself, and that of the sigmoid,
# > σ(a) = 1 / (1 + e^{−a}), which lesson 03 needs: `numpy-attention exercise start squash`.
#
# **The parameters.** W is one matrix that is used at two steps. To find its gradient, pretend that
# there are two equal matrices, W_1 for step 1 and W_2 for step 2, and do the same for U and b. As
# in lesson 01, the gradient of each of the four matrices is an outer product: of the vector to its
# left (x_t or h_{t−1}), and da_t. Each b is only added, so its gradient is da_t:
#
#     dW_1 = x_1ᵀ da_1        dU_1 = h_0ᵀ da_1        db_1 = da_1
#     dW_2 = x_2ᵀ da_2        dU_2 = h_1ᵀ da_2        db_2 = da_2
#
# If we move W, both copies move, so dW = dW_1 + dW_2. To see this, we move W at step 1 only, at
# step 2 only, and at both.


# %%
def loss_with(W_1, W_2):
    """L, with a separate matrix for each step."""
    h1 = np.tanh(x1 @ W_1 + h0 @ U + b)
    h2 = np.tanh(x2 @ W_2 + h1 @ U + b)
    return r1 @ h1 + r2 @ h2


dW_1 = np.outer(x1, da1)
dW_2 = np.outer(x2, da2)
moved = W.copy()
check_gradient("dW_1", dW_1, lambda: loss_with(moved, W), moved)
check_gradient("dW_2", dW_2, lambda: loss_with(W, moved), moved)
check_gradient("dW", dW_1 + dW_2, lambda: loss_with(moved, moved), moved)

# %% [markdown]
# The gradients of U and b are sums over the steps, too. Note the state in dU_t: it is h_{t−1}, the
# state *before* step t. (Here dU_1 is 0. Why? Question 2.)

# %%
dU = np.outer(h0, da1) + np.outer(h1, da2)
db = da1 + da2
check_gradient("dU", dU, loss, U)
check_gradient("db", db, loss, b)

# %% [markdown]
# This is *back-propagation through time* (Werbos 1990), and T steps need no new idea, only two
# names. The gradient dh_t has two parts, one from the loss and one from the next step. We call the
# part from the loss dy_t, because h_t is also the network's output, y_t. In our example, dy_t was
# r_t. If the text goes on after step T, step T + 1 also reads h_T and sends back a gradient. This
# gradient is called dlast, because it arrives at the *last* state. If nothing follows, it is all
# zeros. The backward pass goes from the last step to the first:
#
#     dh_T = dy_T + dlast
#     dh_t = dy_t + da_{t+1} Uᵀ        for t < T
#     da_t = dh_t ∘ (1 − h_t²)
#     dW  += x_tᵀ da_t        dx_t = da_t Wᵀ
#     dU  += h_{t−1}ᵀ da_t    db  += da_t
#
# For a *batch*, B sequences at once, x_t has the shape (B, I), and h_t the shape (B, H). The
# products x_tᵀ da_t and h_{t−1}ᵀ da_t then sum over the batch by themselves; for db, we sum da_t
# over the batch. The backward pass returns every dx_t, and dh_0 = da_1 Uᵀ, the gradient of the
# initial state.
#
# So a gradient goes back by one step in two operations: a multiplication by 1 − h_t², element by
# element, and a product with Uᵀ.
#
# > **Exercise.** Write it yourself (the next cell has a solution):
# > `numpy-attention exercise start bptt`.


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
# Is the derivation right? We check it on six steps of three sequences, with sizes that all differ.
# Then we compare it with the library's RNN (such a network is called a *cell* there), which takes a
# different route: it computes x_t W for all steps in one product, and dU in another. (In the
# report, input[0] is xs, and input[1] is h_0.)

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
print("the library's RNN gives the same states and gradients")

# %% [markdown]
# The derivation is right. `numpy-attention step 2` (the 2 is this lesson's number) shows every
# array of this network, one time step after another.
#
# ## A bug
#
# dU needs the state *before* each step. If we take the state *after* the step, nothing crashes,
# because both states have the same shape. That makes this bug easy to miss. The gradient of U will
# be wrong. Guess: will any of the other four gradients (those of W, b, xs and h_0) be wrong, too?


# %%
class OffByOne(PlainRNN):
    def backward(self, dys, dlast, cache, grads):
        xs, before, after = cache
        dxs = np.empty_like(xs)
        dh = dlast
        for t in reversed(range(len(xs))):
            dh = dh + dys[t]
            da = dh * (1 - after[t]**2)
            grads.W += xs[t].T @ da
            grads.U += after[t].T @ da
            grads.b += da.sum(0)
            dxs[t] = da @ self.W.T
            dh = da @ self.U.T
        return dxs, dh


# %%
report = caught(check, create(OffByOne))
assert "grads.U += after[t].T @ da" in str(report)

# %% [markdown]
# Only dU is wrong, because nothing else is computed from dU. The report names the line. Could we
# have found it, knowing only which gradients are wrong? W, b, xs and h_0 are right, and their
# gradients are computed from the same da. So da is right, too. That leaves the line of dU. Of the
# two arrays in it, da is right, so `after` is the suspect, and the report names it, too.
#
# ## How much of the gradient arrives
#
# Back to the network that failed. Its mistake shows at the question mark, but it could have been
# prevented n + 1 steps before, when the network read the symbol. How much of the gradient travels
# that far? The *share* that is left after d steps is the length of the gradient at h_{T−d}, divided
# by its length at h_T. (If the gradient grows, the share is above 1.) Here the network reads
# n + 2 symbols, so T is n + 2. Then h_T is the state at the question mark, and h_1, the state after
# the first symbol, is n + 1 steps earlier.
#
# First, take a pencil and a network of one unit. Its U is a single number u, and each step back
# multiplies the gradient by (1 − h²) u. Let u = 1.8. What has become of the gradient after 20 steps
# if h is always 0.1: is it nearly gone, or has it grown enormously? And if h is always 0.9?

# %%
for h in (0.1, 0.9):
    factor = (1 - h**2) * 1.8
    print(f"h = {h}: {factor:.2f} after one step, {factor**20:.1e} after 20 steps")

# %% [markdown]
# If the factor (without its sign) is above 1, the gradient *explodes*; if it is below 1, the
# gradient *vanishes*. Here u is the same both times, and h decides.
#
# For H units, the factor becomes a matrix, the **Jacobian** of the step: the derivatives of all
# numbers of h_t with respect to all numbers of h_{t−1}. It combines the two operations that we
# found above. In the recall task, only the last step has a loss, so nothing is added on the way.
# Going back d steps multiplies d of these matrices:
#
#     dh_{t−1} = dh_t J_t        J_t = diag(1 − h_t²) Uᵀ
#     dh_{T−d} = dh_T J_T J_{T−1} … J_{T−d+1}
#
# (diag(s) is a matrix with s on its diagonal, and zeros elsewhere.) Such a product, too, usually
# shrinks or grows exponentially (Hochreiter 1991; Bengio et al. 1994). Can we say how fast,
# without multiplying these matrices? We look at the two operations one at a time, and begin with
# U.
#
# How much does the matrix U lengthen a vector? Multiply many random vectors v of length 1 by U. The
# *gain* g of U is the root mean square (rms) of the lengths of the products. We can compute it
# without drawing a single vector. Element j of v U is Σ_i v_i U_ij. Square it, and take the mean
# over all v. The square contains v_i² U_ij² for each i, and cross terms v_i v_k U_ij U_kj if i ≠ k.
# The cross terms average to 0: for any given v_k, v_i is as often negative as positive. The squares
# v_1² to v_H² add up to 1, because v has length 1. There are H of them, and none is special, so
# each averages to 1 / H:
#
#     mean of (v U)_j² = Σ_i U_ij² / H
#     sum over j:   g² = Σ_ij U_ij² / H
#
# The gradient is multiplied by Uᵀ. Uᵀ has the same gain as U, because it has the same numbers. We
# check both with the 3 × 3 matrix U from above.


# %%
def rms(numbers):
    return np.sqrt((numbers**2).mean())


def gain(U):
    return np.sqrt((U**2).sum() / len(U))


v = np.random.default_rng(12).standard_normal((100_000, 3))
v /= np.linalg.norm(v, axis=1, keepdims=True)       # random directions, length 1
print(f"gain of U {gain(U):.3f}; measured with U {rms(np.linalg.norm(v @ U, axis=1)):.3f}, "
      f"and with Uᵀ {rms(np.linalg.norm(v @ U.T, axis=1)):.3f}")

# %% [markdown]
# Now the tanh. It multiplies the gradient by the slopes 1 − h². Take the pencil again, and two
# units, one with h = 0.1 and one with h = 0.9. What becomes of the length of the gradient (1, 1)?

# %%
slopes = 1 - np.array([0.1, 0.9])**2
shortened = np.array([1, 1]) * slopes
length_before = np.sqrt(2)
length_after = np.linalg.norm(shortened)
print(f"(1, 1) becomes {shortened}")
print(f"its length falls from {length_before:.3f} to {length_after:.3f}, "
      f"by a factor of {length_after / length_before:.3f}")
print(f"the rms of the two slopes is {rms(slopes):.3f}, too")

# %% [markdown]
# The factor is the rms of the slopes s_1 and s_2, because the gradient is equally large in both
# units:
#
#     √(s_1² + s_2²) / √(1 + 1) = √((s_1² + s_2²) / 2)
#
# The same holds for H units: if the gradient is spread evenly over all of them, the tanh changes
# its length by the factor rms(1 − h²). And if the gradient points in no special direction, Uᵀ
# multiplies its length by about g. The product of the two is our *estimate* for one step back:
#
#     factor = g · rms(1 − h²)
#
# It needs only U and the states of one forward pass. The rms is over all units, time steps and
# sequences. Over d steps, we raise the factor to the power d. That is bold: it assumes that at
# every step, the gradient points in no special direction and is spread evenly, and that the rms of
# the slopes is the same at every step.
#
# In the networks that we have trained so far, U started *small*, with numbers between −0.1 and 0.1.
# Before training, W is small as well. So the states are small and the slopes are nearly 1, and the
# factor is about g. With a pencil: the mean square of numbers that are spread evenly between −0.1
# and 0.1 is 0.1² / 3. How large is g if H = 32? And what share of the gradient is left after n + 1
# steps back to the symbol, for n = 4 and for n = 8?

# %% tags=["training"]
untrained, _ = recall_model(8, is_orthogonal=False)
small_gain = gain(untrained.cells.cells[0].U)   # the RNN; a model may have several layers
print(f"with a pencil, g = {np.sqrt(32 * 0.1**2 / 3):.3f}")
print(f"gain of a small U: {small_gain:.3f}; its powers: "
      + ", ".join(f"{small_gain:.3f}^{k} = {small_gain**k:.1e}" for k in (5, 9)))

# %% [markdown]
# This U has a gain of 0.324 instead of 0.327, because its numbers are one draw.
#
# Does the estimate hold? To measure the share, we let an untrained network read 200 sequences. The
# gradient starts as ∂L/∂h of the last state, where L is the loss at the question mark, and we
# follow it back to the state after the first symbol. (We take the mean length over the sequences.)
#
# Two functions do this. `gradient_back` is a backward pass that notes the lengths. You may skip
# `share_at_first`. It takes the arrays out of the library's model, and returns the estimated share,
# the measured share, and two lists for later.


# %% tags=["training"]
def gradient_back(cell, xs, start, dlast):
    """xs (T, B, I), start (B, H) = h_0, dlast (B, H) = ∂L/∂h_T
    → the share of the gradient's length at h_{T−d}, for d = 0 … T; the tanh's factors; all states.
    """
    hs, _, _ = cell.forward(xs, start)
    dh = dlast
    lengths = [np.linalg.norm(dh, axis=1).mean()]
    by_tanh = []
    for h in hs[::-1]:
        da = dh * (1 - h**2)
        dh = da @ cell.U.T
        by_tanh.append(np.linalg.norm(da, axis=1).mean() / lengths[-1])
        lengths.append(np.linalg.norm(dh, axis=1).mean())
    return np.array(lengths) / lengths[0], np.array(by_tanh), hs


# %% tags=["training"]
def share_at_first(model, n):
    """→ the share left at the first symbol, estimated and measured; the tanh's factors, too."""
    model = model.astype(float)
    task = Recall(n, 1, np.random.default_rng(11), size=200).batch(0)
    xs, _ = model.embedding.forward(task.inputs)                # (n + 2, 200, 16)
    cell = PlainRNN(*(getattr(model.cells.cells[0], name) for name in "WUb"))
    start = np.zeros((200, 32))
    _, last, _ = cell.forward(xs, start)
    ignored = model.output.zeros_like()                         # ∂L/∂(the output's parameters)
    _, dlast = model.output.loss_and_grad(last, task.targets[-1], scale=1, grads=ignored)
    share, by_tanh, hs = gradient_back(cell, xs, start, dlast)
    slopes = 1 - hs[:0:-1]**2                                   # on the path, from h_T back to h_2
    estimate = (gain(cell.U) * rms(slopes)) ** (n + 1)
    return estimate, share[n + 1], [rms(one) for one in slopes], by_tanh[:n + 1]


# %% tags=["training"]
arrived = {"U small": {}, "U orthogonal": {}}       # the measured share for each n
print("U small   share before training     right answers")
print("         estimated    measured     after training")
for n, right in zip(DISTANCES, small):
    estimate, share, *_ = share_at_first(recall_model(n, is_orthogonal=False)[0], n)
    print(f"n = {n:<5} {estimate:8.1g} {share:11.1g} {right:18.2f}")
    arrived["U small"][n] = share
    assert np.isclose(estimate ** (1 / (n + 1)), share ** (1 / (n + 1)), rtol=0.1)

# %% [markdown]
# So even before training, there is a hint of where the network will fail. At n = 4, where our
# network learnt, a few thousandths of the gradient arrive. At n = 8, where it failed, less than a
# ten-thousandth arrives. Per step, our estimate is right within a tenth. But small errors multiply:
# after 33 steps, it is off by a factor of five.
#
# Why does a small share do harm? dU is a sum over all steps. If the share at the first symbol is
# 4e-5, the terms of the distant steps are a tiny part of this sum, and the near steps are likely to
# decide where U moves. A larger learning rate does not help, because it scales all terms alike.
# (This argument is about U. The embeddings of the four symbols receive *only* the distant gradient,
# so no near terms outweigh it. Question 8 tests which parameters matter.)
#
# ## A better start
#
# If a small gain is the cause, a larger one should help. Now U starts *orthogonal* (Saxe et al.
# 2014): it leaves the length of every vector unchanged, so its gain is 1, and only the slopes
# 1 − h² shrink the gradient. Guess: what is the largest n at which the network learns the task now?

# %% tags=["training"]
orthogonal = []
print("U orthogonal   share before training     right answers")
print("              estimated    measured     after training")
for n in DISTANCES:
    model, rng = recall_model(n, is_orthogonal=True)
    estimate, share, slopes, _ = share_at_first(model, n)
    arrived["U orthogonal"][n] = share
    assert np.isclose(estimate, share, rtol=0.1)
    orthogonal.append(train_recall(model, n, rng))
    print(f"n = {n:<10} {estimate:8.2f} {share:11.2f} {orthogonal[-1]:18.2f}", flush=True)

print(f"at n = {n}, rms(1 − h²) falls from {slopes[-1]:.2f} for h_2 to {slopes[0]:.2f} for h_T")

# %% tags=["training"]
far = max(n for n, right in zip(DISTANCES, orthogonal) if right > 0.9)
print(f"the largest n learnt: {near} with U small, {far} with U orthogonal")

# From earlier runs: how many of twenty networks, with seeds 8 to 27, learn n = 4, 8, 16 and 32
# (code: lesson 03, answer 5).
LEARNT = {"U small": (16, 1, 0, 0), "U orthogonal": (20, 17, 5, 0)}

# %% tags=["training"]
show(draw_recall(LEARNT, arrived), "02_recall")
assert orthogonal[0] > 0.9 > max(small[-1], orthogonal[-1])

# %% [markdown]
# With U orthogonal, the network learns n = 8, and not yet n = 16. So the same 32 units can recall
# the symbol after more noise: room was not the problem at n = 8. There, more than half of the
# gradient arrives. Why does the share fall at all? Every slope is below 1, and the slopes get
# smaller while the network reads: an orthogonal U preserves the noise in the state, so the state
# grows (see the line below the table, for n = 32). Our estimate now agrees with the measured share:
# this U leaves *every* length unchanged, so only the factor of the tanh is an estimate.
#
# But our comparison of the two starts is not quite fair: the two networks saw different training
# sequences, because drawing an orthogonal U uses up random numbers. Perhaps one was lucky. The
# figure shows earlier runs with twenty seeds. At n = 8, 17 of 20 networks learn the task with U
# orthogonal, and only one does with U small.
#
# The number at each point is the share, measured in one network. Compare shares only at the same n.
# At n = 8, the share is 0.58 with U orthogonal, and 4e-5 with U small. Across different n, a
# comparison of shares misleads, so our first table was no more than a hint. A share of 0.004 is
# usually enough at n = 4 (U small), but 0.23 is usually not enough at n = 16 (U orthogonal). Longer
# tasks may be harder for other reasons.
#
# Even at the same n, the gradient may not be the only reason why an orthogonal start helps. Suppose
# that the first symbol is replaced by a different one, and that this changes h_1 a little, by δ_1.
# On its way to h_T, δ_1 is multiplied by the same matrices (as long as the change is small), but
# transposed and in the opposite order:
#
#     the gradient, back:    dh_1 = dh_T J_T … J_3 J_2
#     the symbol, forward:   δ_T ≈ δ_1 J_2ᵀ J_3ᵀ … J_Tᵀ
#
# The product of the matrices in the second line is the transpose of the product in the first. A
# matrix and its transpose have the same gain. So a start that preserves the gradient also preserves
# the symbol. Perhaps that is what helps: this experiment cannot tell the two apart.
#
# ## Can it learn from a vanished gradient?
#
# Is it impossible, then, to learn from a gradient that has vanished? Here again is the network that
# failed at n = 8, with U small. We train it again from the same start, now for longer and on new
# sequences. After every 200 training steps, we measure the factor per step back (the ninth root of
# the share, because there are n + 1 = 9 steps), the share that arrives, and the right answers.
# Guess: what will the share do?

# %% tags=["training"]
watch_recall(share_at_first, gain)

# %% [markdown]
# In this table, the network *wakes up*: it begins to learn. There are three phases:
#
# 1. **By training step 800, the share has sunk.** After 200 training steps, g has grown from 0.32
#    to 0.52, but rms(1 − h²) has fallen to 0.53, because training moves numbers of the state
#    towards −1 and 1, where the tanh is flat. The units *saturate*. Then the share sinks further,
#    although our estimate does not.
# 2. **From 800 to 1,000, the share grows twentyfold**, to about half of where it began. The answers
#    are still guesses.
# 3. **By 1,200, both have jumped**, the share and the answers. g has more than doubled, and the
#    states are more saturated than before. (With 200 training steps between two lines, we cannot
#    see which of the two jumped first.)
#
# (At training step 0, no answer is right: an untrained network may answer with a noise symbol every
# time. On another processor, the numbers may differ.)
#
# So during training, our estimate is no longer reliable. After the jump, we estimate 0.41 and
# measure 0.66. Our estimate is a product, g · rms(1 − h²). The end of the output shows which part
# of it is wrong. Per step, the tanh multiplies the length by 0.34 (we estimated 0.36), but Uᵀ
# multiplies it by 1.97 (g is 1.16). We boldly assumed that the gradient points in no special
# direction. Now its direction is special: Uᵀ lengthens this gradient more than it lengthens most
# vectors. At training step 800, too, the estimate is wrong: 0.29 per step back instead of 0.22.
# That looks close, but over nine steps back, the estimated share is twelve times too large. (Is Uᵀ
# to blame there, too? Question 6.)
#
# Do other networks wake up, too? The figure shows an earlier recording of this network (seed 8) and
# of four others. We tried the seeds 8, 9, 10 and so on, and took the first five that fail in 400
# training steps. Guess: in the others, too, does the share begin to grow while the answers are
# still guesses?

# %% tags=["training"]
show(draw_wait(), "02_wait")

# %% [markdown]
# So a network can recover from a vanished gradient: three of the five learn the task, and the other
# two, seeds 10 and 13, learn to tell some of the four symbols apart. (The grey dashed line is
# roughly the share before training in the upper plot, and guessing in the lower one. A curve ends
# soon after its network has learnt the task.)
#
# Each time, the share begins to grow before the answers do. In the figure, it grows for at least
# 200 training steps before the answers improve; for seed 11, for more than a thousand. Measured
# every 20 training steps (answer 6), it is above the grey line in all five networks just before the
# answers improve. (It then grows further, together with the answers.)
#
# But a larger share guarantees nothing. After the first 20 training steps, all five shares were
# above the line, too (not in the figure: answer 6), and then sank far below it. And once seeds 10
# and 13 tell some symbols apart, the share sinks, and the answers stay as they are. So why does a
# network wake up at all? Adam has a part in it (question 8); the rest we do not know.
#
# ## How far back can it learn?
#
# In 400 training steps, not far. One likely reason is that the gradient shrinks with each step
# back, and before training we can tell how fast. At n = 4, 8 and 16, more of the gradient arrives
# with U orthogonal, and more networks learn. Most networks learnt n = 4 with U small, and n = 8
# with U orthogonal. Beyond that, learning is slow, and a matter of luck. In 4,000 training steps,
# one of five networks with U orthogonal learnt n = 32, and so did one of five with U small (answer
# 6). Yet with U small, only about 3e-16 of the gradient arrives before training! The share before
# training tells how training begins, not how it must end, because the share changes while the
# network learns.
#
# Lesson 03 builds a path on which the gradient hardly shrinks, and lets the network choose when to
# write into its state. There, with a good start of U and of its biases, all twenty networks learn
# this in 400 training steps.

# %% [markdown]
# ## Part B (optional): a model of letters
#
# **You will be able to** train a recurrent network on a text of any length, and tell whether its
# gradient vanishes. **Time:** about 15 minutes to read. Lesson 03 does not need this part.
#
# ### Cutting the gradient
#
# How can we train on a text of a million letters? The backward pass needs the state of every step,
# so we would keep a million states in memory, and all that for a single step of training. Instead,
# the text is read in windows. In *truncated* back-propagation through time, the *state* is carried
# from one window to the next, but the gradient is cut at the border: what a window's first step
# sends back, da Uᵀ, is thrown away. What do we lose? We cut the six steps of the section "Check"
# into two windows of three, and compare with one pass over all six. Then we take the gradient that
# was thrown away, and send it back through the first window alone, to see exactly what was lost.

# %%
boxes = {f"h{t}": (f"h{mark}", 1.3 * t, 1.2, 0 if t < 4 else 1)
         for t, mark in enumerate("₀₁₂₃₄₅₆")}
boxes["cut"] = ("cut", 1.3 * 3.5, 0.4)
arrows = [(f"h{t}", f"h{t + 1}") for t in range(6)]
arrows += [(f"h{t + 1}", f"h{t}", "", -0.5, True) for t in (0, 1, 2, 4, 5)]
arrows.append(("h4", "cut", "", 0, True))
show(plotting.diagram(boxes, arrows, title="The state crosses the border, but the gradient "
                                           "(dashed) does not"), "02_truncated")

# %% [markdown]
# The two colours are the two windows. In the code, `full` holds the results of one pass over all
# six steps, from the section "Check".

# %%
nothing = np.zeros((3, 5))                      # no gradient enters the first window
states_1, border, _, _, grad_1 = passes(plain, xs[:3], first, dys[:3], nothing)
states_2, _, _, thrown_away, grad_2 = passes(plain, xs[3:], border, dys[3:], dlast)
*_, grad_lost = passes(plain, xs[:3], first, np.zeros((3, 3, 5)), thrown_away)
states, *_, grad_whole = full
assert np.allclose(np.concatenate([states_1, states_2]), states)
assert np.allclose(grad_1 + grad_2 + grad_lost, grad_whole)
print(f"the whole gradient has norm {np.linalg.norm(grad_whole):.2f}, and the part that truncation "
      f"drops has norm {np.linalg.norm(grad_lost):.2f}")

# %% [markdown]
# The states are the same, because they are carried across the border. But the gradients of the two
# windows do not add up to the whole gradient. What is missing is the part that the second window
# would have sent back through h_3, the state at the border. With it, the sum is exact. Here this
# part is small. But in a network that is trained like this, no gradient ever tells what a symbol
# does to the loss in a later window.
#
# So the window limits how far back the gradient can teach. What the network learns inside the
# windows may still carry further: the forward pass can remember further back than the backward pass
# can reach.
#
# > **Exercise.** Cut the gradient yourself: `numpy-attention exercise start truncated`.
#
# ### A network that writes
#
# Is the network's memory worth having? Lesson 01's model wrote pairs of letters that exist, but
# words that do not. What will a model with a memory write, if we draw letter after letter from its
# predictions? Guess: words, sentences, or sense?
#
# We train a `LanguageModel`, which consists of an embedding, the recurrent network of this lesson
# and the softmax of lesson 01. It reads the Bible as letters, from 16 places in the text at once,
# in windows of 50. The loss is the mean over all letters, which are the *tokens* here
# (`average="token"`). Clipping (explained below) and Adam (question 7) keep the training steps at a
# good length.

# %% tags=["training"]
vocabulary, ids, held_out = letters()
held_out = held_out[:50_000]
V = len(vocabulary)
text = ids[:16 * 50 * 1200 + 1]
model = LanguageModel.create(np.random.default_rng(5), V, hidden=128, layers=1, cell="rnn",
                             embedding=32)
batches = TextBatches(text, batch_size=16, steps=50)        # 16 streams, in windows of 50 letters
first_U = model.cells.cells[0].U.copy()                     # before training
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
# (A slash stands for the end of a verse.) Many of the words that it writes exist, and most of the
# others could: you can pronounce them. Sentences and sense are another matter. Spelling needs a
# memory of a few letters, but sense needs much more.
#
# The line "bits per letter" compares the model with counted pairs of letters, on **held-out** text,
# which was not used for training. The *bits per letter* are the log2 of the perplexity, which
# lesson 01 defined. The network's memory saves about one bit per letter. But from how far back
# could it learn?
#
# > **Exercise.** Write the perplexity yourself: `numpy-attention exercise start perplexity`. (It
# > has a mask, because later lessons pad short sentences, and padding does not count.)
#
# ### What becomes of its gradient
#
# The model's windows let the gradient go back up to 50 steps. How much of it is left then? That
# depends on the factor per step, which we estimate as g · rms(1 − h²). First, what has training
# done to g?

# %% tags=["training"]
trained = model.cells.cells[0]
print(f"gain of U: {gain(first_U):.2f} before training, {gain(trained.U):.1f} after it")

# %% [markdown]
# Before training, g is twice as large as in the recall task. U has H² numbers from the same range,
# so g² = Σ U_ij² / H is proportional to H, and H is now 128 instead of 32. After training, U
# *lengthens* a typical vector, nearly twofold. Guess: does the gradient of the trained model vanish
# or explode?
#
# The model reads a hundred stretches of held-out text: 60 letters to warm up its state, and 60
# more, along which the gradient goes back. The gradient starts as ∂L/∂h of the last state, where L
# is the loss on the next letter.

# %% tags=["training"]
T = 60
B = 100
H = 128
model = model.astype(float)                                     # trained in float32
windows = held_out[:B * (2 * T + 1)].reshape(B, 2 * T + 1).T    # (2T + 1, B)
read, _ = model.embedding.forward(windows[:-1])                 # (2T, B, 32)
trained = model.cells.cells[0]                                 # in float64
plain = PlainRNN(trained.W, trained.U, trained.b)
last = plain.forward(read, np.zeros((B, H)))[1]
ignored = model.output.zeros_like()
_, dlast_true = model.output.loss_and_grad(last, windows[-1], scale=1, grads=ignored)

# %% tags=["training"]
places = [10, 20, 60]


def measure(cell, dlast):
    """→ `gradient_back` of dlast (B, H) through the last T states."""
    start = cell.forward(read[:T], np.zeros((B, H)))[1]
    return gradient_back(cell, read[T:], start, dlast)


trained_share, _, hs = measure(plain, dlast_true)
for d in places:
    print(f"letters back: {d:2}, share left: {trained_share[d]:.1e}")
flat = (np.abs(hs) > 0.9).mean()
print(f"{flat:.0%} of the numbers in the trained model's states are above 0.9 or below −0.9")
assert trained_share[20] < 0.005

# %% [markdown]
# Here is the end of one of the hundred stretches, letter by letter. (We chose it for its last
# words.) It ends with "flowing with mi", and the next letter is "l". The bar above a letter is the
# share of the gradient that reaches the state after this letter.

# %% tags=["training"]
one = slice(83, 84)
verse = "".join(vocabulary.decode(windows[T:2 * T, 83]))[-28:]
start = plain.forward(read[:T, one], np.zeros((1, H)))[1]
share, *_ = gradient_back(plain, read[T:, one], start, dlast_true[one])
show(draw_letters(verse, share[:28][::-1]), "02_letters")
assert verse.endswith("flowing with mi") and share[12] < 0.1

# %% [markdown]
# So the loss on the "l" teaches the model what to keep from "with mi", and hardly anything about
# "land". On average over the hundred stretches, less than a thousandth of the gradient is left
# after 20 letters: it vanishes.
#
# U lengthens a typical vector, so we suspect that it is the tanh that shortens the gradient. And
# indeed, 71% of the numbers in the states are above 0.9 or below −0.9 (printed above the figure):
# many units are nearly saturated, as in the recall task, and the slope 1 − h² is small. Remember
# the network of one unit: with u = 1.8 and h = 0.9, the factor was 0.34.
#
# In the recall task, our estimate did not survive training. Does it here? We test it on the trained
# model and on four random networks. Their U is scaled to g = 0.5, 1, 1.5 and 2.5. They read the
# same letters through the trained embedding, with a small random W. They have no output layer and
# so no loss: their gradient begins as a random vector.

# %% tags=["training"]
rng = np.random.default_rng(7)
from_above = rng.standard_normal((B, H))
random_U = rng.standard_normal((H, H)) / np.sqrt(H)
random_W = 0.05 * rng.standard_normal((32, H))


# %% tags=["training"]
curves = {}


def compare(name, cell, dlast):
    """Print the estimated factor per step and the measured one; keep the curve; → their ratio."""
    share, by_tanh, hs = measure(cell, dlast)
    curves[name] = share
    slope = rms(1 - hs**2)
    estimated = gain(cell.U) * slope
    measured = share[T] ** (1 / T)
    tanh = by_tanh.prod() ** (1 / T)
    a = read[T + 1:] @ cell.W + hs[:-1] @ cell.U + cell.b
    print(f"{name:<16} {rms(a):5.2f} {measured / tanh:5.2f} {slope:11.2f} {tanh:8.2f} "
          f"{estimated:9.2f} {measured:8.2f} ", *(f"{one:7.1g}" for one in share[places]))
    return estimated / measured


# %% [markdown]
# In the next table, the column *Uᵀ per step* is measured. If the estimate holds, this column
# repeats the g in the name of the row, and the two columns under *tanh* agree. (The first column is
# the size of the sums a, before the tanh. We need it at the end.)

# %% tags=["training"]
print("                   rms  Uᵀ per    tanh per step       both per step   share that is left")
print("                  of a   step rms(1 − h²) measured estimated measured ",
      *(f"{f'{d} back':>7}" for d in places))
for g in (0.5, 1.0, 1.5, 2.5):
    cell = PlainRNN(random_W, random_U * g / gain(random_U), np.zeros(H))
    assert 0.9 < compare(f"random, g = {g}", cell, from_above) < 1.1
ratio = compare(f"trained, g = {gain(trained.U):.1f}", plain, dlast_true)
assert 0.8 < ratio < 1.25
print(f"trained: estimated / measured is {ratio:.2f} per step, and {ratio**T:.2f} over {T} steps")

# %% tags=["training"]
one_in = round(1 / trained_share[20], -2)
title = f"20 letters back, 1/{one_in:,.0f} of the trained model's gradient is left"
ax = plotting.gradient_flow(curves, title=title)
for line in (ax.lines[-1], ax.get_legend().get_lines()[-1]):
    line.set(color="black", linewidth=2.5)
ax.set(xlabel="steps back", ylabel="share of the last state's gradient (log scale)",
       xticks=range(0, T + 1, 10))
show(ax, "02_gradient_flow")

# %% [markdown]
# The lines are nearly straight on a log scale: the gradient shrinks or grows exponentially. Our
# estimate is right within a tenth for all five factors *per step*, and so are its two parts, g and
# rms(1 − h²). (Over 60 steps, even a small error per step makes the estimated share twenty times
# too small: see the line below the table.) In the trained network of the recall task, the error per
# step was larger: 0.41 instead of 0.66. We do not know why it is smaller here.
#
# Look at the black line. Its g is 1.8. The gradients of the networks with g = 1.5 and g = 2.5
# *explode*, and yet the gradient of the trained model vanishes. Its units are more saturated,
# because they receive larger sums a. In the last two rows, compare the columns *rms of a* and
# *rms(1 − h²)*: the sums are larger, so the slopes are smaller. As with one unit, U alone does not
# settle whether the gradient vanishes: the states matter, too. The factor is 0.67, not 0.34 as for
# the single unit, because not all units are saturated.
#
# So the window is not the only limit to learning from far back. The window lets the gradient go
# back up to 50 letters, but long before that, almost nothing of it is left.
#
# ### Clipping
#
# A gradient that explodes can be repaired: we shorten it. A gradient may be many times longer than
# usual, and one step of that length can spoil what was learnt. **Clipping** (Pascanu et al. 2013)
# takes the norm of the *whole* gradient, of all parameters together. If the norm is above a limit,
# the gradient is scaled down until its norm is the limit. Its direction stays the same.
#
# > **Exercise.** Write clipping yourself: `numpy-attention exercise start clipping`.
#
# A gradient that has vanished cannot be repaired by scaling the whole gradient up: the terms of the
# distant steps remain as small a part of dU as before.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | the recurrent network of this lesson | Elman network, simple or vanilla RNN |
# | windows of text | chunks, segments, BPTT length |
# | orthogonal start of U | orthogonal initialization |
# | gain g of a random U | about its spectral radius |
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
# | `Adam` | the optimizer (question 7) |
# | `Trainer` | the training loop |
# | `plotting` | draws diagrams and curves, and saves figures |

# %% [markdown]
# ## Questions
#
# 1. Set r_1 = 0, so that L reads h_2 only. Which of the gradients in the section "Backward" change?
#    Is dW_1 then 0?
# 2. In our example, step 1 contributes nothing to dU. Why? When would it contribute?
# 3. (Part B) Elman (1990) cut his gradient after a single step. Train our model of letters like
#    this, on the same letters, with `TextBatches(text, batch_size=16, steps=1)`. What does the
#    model lose?
# 4. (Part B) Let the random networks read numbers that are ten times larger, `read = 10 * read`.
#    Which curves are lower then, and which of the two factors of J_t is the cause? Does the
#    estimate g · rms(1 − h²) still hold?
# 5. In the recall task, draw the noise from the same four symbols as the first symbol. Why is the
#    task harder?
# 6. (Long.) (a) At n = 16, take the networks with an orthogonal start and the seeds 15 to 20. (You
#    get them with `recall_model(16, True, seed)`.) How many training steps does each of them need?
#    (b) Watch the network of the lesson's table (n = 8, U small) again, with
#    `watch_recall(share_at_first, gain, details=True)`. Which part of the estimate fails, and at
#    which of the steps back? At training step 1,000, the estimate agrees with the measured factor.
#    Is that luck?
# 7. All our networks were trained with **Adam** (Kingma & Ba 2015). For every number among the
#    parameters, it keeps m, a running mean of the gradient G (m ← m + (G − m) / 10), and v, a
#    running mean of its square (v ← v + (G² − v) / 1,000). It subtracts the learning rate times
#    m̂ / (√v̂ + ε), where ε is tiny. Both means begin at 0, so at first they are too small. The
#    hats mark a correction for this. Let the gradient be 5 at every step. How long is each of the
#    first three steps, as a multiple of the learning rate, with the correction and without it? (The
#    formulas and the usual numbers are in `numpy-attention exercise start adam`.)
# 8. (Long.) Why does Adam wake networks? Train the five networks of the figure 02_wait (U small,
#    n = 8, seeds 8 and 10 to 13) for 4,000 steps. (a) For which parameters does Adam matter: for U,
#    which is on every step of the path, or for the embeddings of the four symbols, which receive
#    *only* a distant gradient? Guess, then train some parameters with Adam and the others with
#    gradient descent. (b) Adam divides each gradient by its usual size, so its steps are about as
#    long for tiny gradients as for others. Does waking up depend on this? Let ε be 10⁻³ or 10⁻²
#    instead of 10⁻⁸, so that tiny gradients make only tiny steps. (c) Does momentum help gradient
#    descent? (Its step is the previous step times the momentum, plus the usual step.)
