# %% [markdown]
# # Lesson 02: the recurrent network
#
# **You will be able to** derive back-propagation through time, and predict before any training how
# much of a gradient arrives d steps back.
#
# **Needs:** lesson 01. **Time:** 55 minutes to read, about 12 of them for the optional part B;
# about a minute to run.
#
# The model of lesson 01 knew only one letter of the past. A recurrent network (Elman 1990) can in
# principle know all of it. It reads one symbol at a time, and keeps what it has read in a vector,
# its **state**. But *how far back can it learn?*
#
# 1. You watch a network fail at a task that looks easy.
# 2. You derive the path of the gradient back through time.
# 3. You predict how much of the gradient reaches the step that needs it.
# 4. You give one matrix of the network a better start, and watch the network learn.
# 5. You train the failed network for longer, and watch its gradient.
#
# The answer is the reason for lessons 03 and 04, and in the end for attention. Helper functions are
# in `course.py` and `recurrent_parts.py`, in the same folder.

# %%
print("Lesson 02: the recurrent network", flush=True)

from dataclasses import dataclass

import numpy as np
from course import caught, show
from recurrent_parts import (RISE, SHARES, Recall, bigram_bits, bits, draw_letters, draw_recall,
                             draw_wait, letters, recall_model, train_recall, watch_recall, write)

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
# In the **recall task**, a network reads one of four symbols, then n symbols of noise, and then a
# question mark. There it must answer with the first symbol. The noise has four other symbols. Here
# are three sequences with n = 4:

# %%
symbols = np.array(list("____ABCDwxyz?"))       # their ids are 4 to 12; ids 0 to 3 are special
batch = Recall(4, 1, np.random.default_rng(0)).batch(0)     # n = 4, one batch
print("shape of the inputs (steps, sequences):", batch.inputs.shape)
for i in range(3):
    print("it reads", *symbols[batch.inputs[:, i]], " and answers", symbols[batch.targets[-1, i]])

# %% [markdown]
# The model reads each symbol as a vector of 16 numbers, its embedding. The recurrent network turns
# these vectors into states of 32 numbers, plenty of room for one symbol. Its matrix U, which takes
# the state from one step to the next, starts *small*: with random numbers between −0.1 and 0.1. A
# softmax layer turns the last state into the answer. Guessing is right a quarter of the time.
#
# For each n of 1, 2, 4, 8, 16 and 32, we train a new network for 400 training steps, each on a
# batch of 32 random sequences. The optimizer is Adam, gradient descent that adapts the step length
# of every parameter (question 7). The gradient is *clipped*: if it is too long, it is scaled down
# (part B). The network *learns* the task if, on 1,000 new sequences, more than nine in ten answers
# are right. Guess: what is the largest n that is learnt?

# %% tags=["training"]
DISTANCES = (1, 2, 4, 8, 16, 32)
small = []
for n in DISTANCES:
    model, rng = recall_model(n, is_orthogonal=False)           # U small
    small.append(train_recall(model, n, rng))
    print(f"n = {n:<3} {small[-1]:.2f} right", flush=True)
near = max(n for n, right in zip(DISTANCES, small) if right > 0.9)
print(f"the largest n that it learns is {near}")

# %% [markdown]
# Up to n = 4, the network learns the task. At n = 8, it is hardly better than guessing, and beyond
# that not at all. On another processor, a network near its limit may learn where ours fails, or the
# reverse.
#
# To *learn* that the symbol is worth keeping, the network needs a gradient that travels back
# through time: from the step where a mistake is made to the step that could have prevented it.
# Perhaps too little of this gradient arrives. We follow it.
#
# ## Forward
#
# At step t, the network computes a new state from two vectors: the input x_t (I numbers) and the
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
# In lesson 01, x was the number of a letter, and h was its embedding. Now x is the embedding, and h
# is the state. And from now on, a vector is a row, to the left of its matrix.
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
# How does the gradient get from L back to the first step? Begin at the end. Nothing but L reads
# h_2, so dh_2 = r_2. The derivative of tanh is 1 − tanh². With ∘ for multiplication element by
# element, the gradient of a_2 is
#
#     da_2 = dh_2 ∘ (1 − h_2²)
#
# The state h_1 is used **twice**: L reads it directly, and step 2 reads it through U. So it
# receives two gradients, and they add up:
#
#     dh_1 = r_1 + da_2 Uᵀ
#     da_1 = dh_1 ∘ (1 − h_1²)
#
# The term da_2 Uᵀ follows from a rule of lesson 01. There, z = h Wᵀ gave dh = dz W. Here the
# forward pass uses the matrix itself, so the backward pass uses its transpose: z = h M gives
# dh = dz Mᵀ.
#
# We measure these gradients as in lesson 01, by nudging an array and computing the loss again. But
# the loss recomputes a_1, h_1 and a_2, so changing our copies would do nothing. Instead, `loss`
# takes three nudges and adds them inside.

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
# The term da_2 Uᵀ, which the next step sends back, is the path back through time. The rest of the
# lesson is about what becomes of this term over many steps.
#
# **The parameters.** W is used at two steps. To find its gradient, pretend that there are two equal
# matrices, W_1 for step 1 and W_2 for step 2. Do the same for U and b. In lesson 01, z = W h gave
# the outer product of dz and h. With the vector on the left, z = v M gives dM as the outer product
# of v and dz, in this order. For W, v is x_t. For U, v is h_{t−1}. In both cases, dz is da_t. The
# copies b_1 and b_2 of b are only added, so their gradients are da_1 and da_2:
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
# state *before* step t.

# %%
dU = np.outer(h0, da1) + np.outer(h1, da2)
db = da1 + da2
check_gradient("dU", dU, loss, U)
check_gradient("db", db, loss, b)

# %% [markdown]
# This is **back-propagation through time** (Werbos 1990). T steps need no new idea, only two new
# names. The first is dy_t: the part of dh_t that comes directly from the loss, and not through the
# next step. In our example, it was r_t. The name comes from the network's output at step t. Here
# the output is simply the state, y_t = h_t.
#
# The second is dlast. A long text may be read in parts. The part that follows then sends a gradient
# back to our last state, h_T. This is dlast. If nothing follows, dlast is all zeros. The backward
# pass goes from the last step to the first:
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
# > **Exercise.** Write the backward pass of tanh yourself, and that of the sigmoid,
# > σ(a) = 1 / (1 + e^{−a}), which lesson 03 needs: `numpy-attention exercise start squash`.
#
# > **Exercise.** Write the whole backward pass yourself: `numpy-attention exercise start bptt`. The
# > next cell has a solution.


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
# Is the derivation right? We check it on six steps of three sequences. In the report, input[0] is
# xs, and input[1] is h_0. Then we compare it with the library's RNN, which the library calls a
# *cell*. It computes x_t W for all steps in one product, so this is a real comparison.

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
# The derivation is right. `numpy-attention step 2` shows every array of this network, one time step
# after another.
#
# ## A bug
#
# dU needs the state *before* each step. If we take the state *after* the step, nothing crashes,
# because both states have the same shape. The backward pass below differs from the one above in a
# single word. The gradient of U will be wrong. Guess: will any of the other four, the gradients of
# W, b, xs and h_0, be wrong, too?


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
            grads.U += after[t].T @ da                      # the bug
            grads.b += da.sum(0)
            dxs[t] = da @ self.W.T
            dh = da @ self.U.T
        return dxs, dh


# %%
report = caught(check, create(OffByOne))
assert "grads.U += after[t].T @ da" in str(report)

# %% [markdown]
# Only dU is wrong, because nothing else is computed from dU. The report names the line. We could
# have found it ourselves: the other four gradients are right, so da is right, too. That leaves the
# line of dU, and in it `after`.
#
# ## How much of the gradient arrives
#
# We return to the failing task. The network reads n + 2 symbols, so the question mark is step
# T = n + 2, and the first symbol, step 1, is n + 1 steps earlier. How much of the gradient travels
# that far? The **share** that is left after d steps is the length of the gradient at h_{T−d},
# divided by its length at h_T.
#
# First, take a pencil and a network of one unit. Its U is a single number u, and each step back
# multiplies the gradient by (1 − h²) u. Let u = 1.8. What has become of the gradient after 20 steps
# if h is always 0.1: is it nearly gone, or has it grown enormously? And if h is always 0.9?

# %%
for h in (0.1, 0.9):
    factor = (1 - h**2) * 1.8
    print(f"h = {h}: {factor:.2f} after one step, {factor**20:.1e} after 20 steps")

# %% [markdown]
# If the absolute value of the factor is above 1, the gradient **explodes**. If it is below 1, the
# gradient **vanishes**. Here u is the same both times, and h decides.
#
# For H units, the factor becomes a matrix. In the recall task, only the last step has a loss, so
# every earlier dy_t is 0, and one step back is
#
#     dh_{t−1} = da_t Uᵀ = (dh_t ∘ (1 − h_t²)) Uᵀ = dh_t diag(1 − h_t²) Uᵀ
#
# Here diag(s) is a matrix with s on its diagonal, and zeros elsewhere. A product with it multiplies
# element by element. So one step back multiplies by J_t = diag(1 − h_t²) Uᵀ. This is the
# **Jacobian** of the step: its row k holds the derivatives of element k of h_t with respect to
# every element of h_{t−1}. Going back d steps multiplies d of these matrices:
#
#     dh_{T−d} = dh_T J_T J_{T−1} … J_{T−d+1}
#
# Such a product, too, usually shrinks or grows exponentially (Hochreiter 1991; Bengio et al. 1994).
# How fast? We look for one factor per step. Each of the two operations contributes to it.
#
# First, the matrix. How much does U lengthen a vector? Take many vectors v of length 1, in random
# directions, and multiply each by U. The root mean square (rms) of the resulting lengths is the
# **gain** g of U. We can compute it from U alone. Square element j of v U:
#
#     (v U)_j² = (Σ_i v_i U_ij)² = Σ_i v_i² U_ij² + Σ_{i≠k} v_i v_k U_ij U_kj
#
# Now take the mean over all v. The cross terms, those with v_i v_k, average to 0: for any given
# v_k, v_i is as often negative as positive. The squares v_1² to v_H² add up to 1, because v has
# length 1. There are H of them, and none is special, so each averages to 1 / H:
#
#     mean of (v U)_j² = Σ_i U_ij² / H
#     sum over j:   g² = Σ_ij U_ij² / H
#
# The gradient is multiplied by Uᵀ, which has the same numbers as U and therefore the same gain. We
# measure both gains, with the 3 × 3 matrix from above.


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
# Now the tanh. It multiplies the gradient by the slopes 1 − h². Take two units, one with h = 0.1
# and one with h = 0.9. What becomes of the length of the gradient (1, 1)?

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
# multiplies its length by about g. The product of the two is our **estimate** for one step back:
#
#     factor = g · rms(1 − h²)
#
# It needs only U and the states of one forward pass. The rms is over all units, time steps and
# sequences. Over d steps, we raise the factor to the power d. That is bold: we assume that at every
# step, the gradient is spread evenly and points in no special direction, and that the rms is always
# the same.
#
# So far, U started small, with numbers between −0.1 and 0.1. Before training, the states are small
# and the slopes are nearly 1, so the factor is about g. With a pencil: the mean square of numbers
# drawn uniformly from −0.1 to 0.1 is 0.1² / 3. How large is g if H = 32? Round it to a simple
# fraction. What share of the gradient is left after n + 1 steps, for n = 4 and n = 8?

# %% tags=["training"]
untrained, _ = recall_model(8, is_orthogonal=False)
small_gain = gain(untrained.cells.cells[0].U)   # the RNN; a model may have several layers
print(f"with a pencil, g = {np.sqrt(32 * 0.1**2 / 3):.3f}")
print(f"gain of a small U: {small_gain:.3f}; its powers: "
      + ", ".join(f"{small_gain:.3f}^{k} = {small_gain**k:.1e}" for k in (5, 9)))

# %% [markdown]
# So g is about 1/3. Then 1/3⁵ is 0.004, and 1/3⁹ is 5e-5.
#
# Does the estimate hold? To measure the share, we let an untrained network read 200 sequences. The
# loss at the question mark gives dh_T. We follow this gradient back to the state after the first
# symbol, and take the mean length over the sequences.
#
# The function `gradient_back` is a backward pass that notes the lengths. It needs no dys, because
# only the last state has a loss. You may skip `share_at_first`, which takes the arrays out of the
# library's model.


# %% tags=["training"]
def gradient_back(cell, xs, start, dlast):
    """xs (T, B, I), start (B, H) = h_0, dlast (B, H) = ∂L/∂h_T
    → share (T + 1,): the length at h_{T−d}, divided by that at h_T;
    the factor of the tanh in each step back (T,); all states.
    """
    hs, _, _ = cell.forward(xs, start)
    dh = dlast
    lengths = [np.linalg.norm(dh, axis=1).mean()]
    by_tanh = []
    for h in hs[::-1]:
        da = dh * (1 - h**2)
        by_tanh.append(np.linalg.norm(da, axis=1).mean() / lengths[-1])
        dh = da @ cell.U.T
        lengths.append(np.linalg.norm(dh, axis=1).mean())
    return np.array(lengths) / lengths[0], np.array(by_tanh), hs


# %% tags=["training"]
def share_at_first(model, n):
    """→ the share of the gradient that is left at the first symbol, estimated and measured; for
    each step back, rms(1 − h²) and the factor of the tanh, each (n + 1,).
    """
    model = model.astype(float)
    task = Recall(n, 1, np.random.default_rng(11), size=200).batch(0)
    xs, _ = model.embedding.forward(task.inputs)                # (n + 2, 200, 16)
    cell = PlainRNN(*(getattr(model.cells.cells[0], name) for name in "WUb"))
    start = np.zeros((200, 32))
    _, last, _ = cell.forward(xs, start)
    ignored = model.output.zeros_like()                         # ∂L/∂(the output's parameters)
    _, dlast = model.output.loss_and_grad(last, task.targets[-1], scale=1, grads=ignored)
    share, by_tanh, hs = gradient_back(cell, xs, start, dlast)
    estimate = (gain(cell.U) * rms(1 - hs[1:]**2)) ** (n + 1)   # the slopes of h_2 to h_T
    slopes = np.array([rms(1 - h**2) for h in hs[:0:-1]])       # h_T first
    return estimate, share[n + 1], slopes, by_tanh[:n + 1]


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
# So even before training, there is a hint of where the network will fail. At n = 4, where it
# learnt, a few thousandths of the gradient arrive. At n = 8, where it failed, less than a
# ten-thousandth does. Per step, our estimate is right within a tenth. But small errors multiply: at
# n = 32, after 33 steps, the estimate is off by a factor of five.
#
# Why does a small share do harm? dU is a sum over all steps. If the share is 4e-5, the terms of the
# distant steps are a tiny part of this sum. The near steps are likely to decide where U moves. A
# larger learning rate would not change that, because it scales all terms alike. The same holds for
# dW. The embeddings of the four symbols are an exception: they receive *only* the distant gradient
# (question 8).
#
# ## A better start
#
# If a small gain is the cause, a larger one should help. Now U starts **orthogonal** (Saxe et al.
# 2014): it leaves the length of every vector unchanged. Each of its H rows has length 1, so Σ
# U_ij² = H, and our formula, too, gives g = 1. Only the slopes 1 − h² shrink the gradient. Guess:
# what is the largest n at which the network learns the task now?

# %% tags=["training"]
orthogonal = []
print("U orthogonal   share before training     right answers")
print("              estimated    measured     after training")
for n in DISTANCES:
    model, rng = recall_model(n, is_orthogonal=True)
    estimate, share, *_ = share_at_first(model, n)
    arrived["U orthogonal"][n] = share
    assert np.isclose(estimate, share, rtol=0.1)
    orthogonal.append(train_recall(model, n, rng))
    print(f"n = {n:<10} {estimate:8.2f} {share:11.2f} {orthogonal[-1]:18.2f}", flush=True)

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
# With U orthogonal, the network learns n = 8, but not n = 16. At n = 8, more than half of the
# gradient arrives. And the same 32 units now recall the symbol, so room was not the problem.
#
# Perhaps this network was just lucky. The figure shows earlier runs with twenty seeds. At n = 8, 17
# of 20 networks learn the task with U orthogonal, and only one does with U small.
#
# The number at each point is the share in one of these networks (seed 8). Do not compare shares
# across n: with U small, 0.004 of the gradient is enough for most networks at n = 4, and with U
# orthogonal, 0.23 is not enough for most at n = 16. Longer tasks may be harder for other reasons,
# too.
#
# One doubt remains: did the better start help the *gradient* on its way back, or the *symbol* on
# its way forward? If we change h_1 by a small δ, then h_2 changes by about δ J_2ᵀ, and h_T by about
# δ J_2ᵀ J_3ᵀ … J_Tᵀ. These are the same matrices, transposed. So a start that lets the gradient
# reach h_1 also lets the symbol reach h_T, and this experiment cannot tell which of the two helps.
#
# ## Can it learn from a vanished gradient?
#
# We train the network that failed at n = 8 again, from the same initial parameters, now for longer
# and on new sequences. One step back has two factors, that of the tanh and that of Uᵀ. For each of
# them, the table has two columns: our estimate, which is rms(1 − h²) for the tanh and g for Uᵀ, and
# the measured factor, a geometric mean over the nine steps back. Guess: will the network learn? And
# what will the share do first?

# %% tags=["training"]
watch_recall(share_at_first, gain)

# %% [markdown]
# The network **wakes up**: it begins to learn, in three phases.
#
# 1. **Until training step 800, the share sinks**, mostly in the first 200 steps. The units
#    **saturate**: numbers of the state move towards −1 and 1, where the tanh is flat. At step
#    0, the network's answer is never one of the four symbols, so none is right. Now it is one of
#    them, but the same for every sequence.
# 2. **From 800 to 1,000, the share grows twentyfold.** The answers are still guesses.
# 3. **By 1,200, both have jumped**, the share and the answers. Uᵀ now nearly doubles the gradient
#    per step.
#
# At 800, the estimate is too high, mostly because the gradient is not spread evenly. At the
# question mark, the tanh would leave 0.32 of an evenly spread gradient, but of this one it leaves
# 0.07. At 1,200, the estimate is too low, because the gradient points in directions that Uᵀ
# lengthens: by 1.97 per step, although g is 1.16.
#
# Do other networks wake up, too? In earlier runs, we tried the seeds 8, 9, 10 and so on, and kept
# the first five networks that had failed after 400 training steps: seed 8, the network above, and
# seeds 10 to 13. Within 4,000 steps, three of the five learnt the task, and two learnt a part of
# it. The figure shows one of each kind.

# %% tags=["training"]
show(draw_wait({11: "learns the task", 13: "stops halfway"}), "02_wait")      # code: answer 6

# %% tags=["training"]
grown = [share / SHARES[seed][0] for seed, (_, (share, _), _) in RISE.items()]
guesses = [right for _, (_, right), _ in RISE.values()]
print(f"just before the answers improve, {min(guesses)} to {max(guesses)} of them are right")
print(f"by then, the share is {min(grown):.0f} to {max(grown):,.0f} times what it was at step 0")

# %% [markdown]
# In all five, the gradient came back *before* the answers improved: while they were still guesses,
# the share was already at least 26 times as large as before training. This does not prove that the
# gradient is the cause, because the symbol's way forward opens at the same time.
#
# So a vanished gradient can come back: a small gradient still has a direction, and training can
# follow it. Nothing guarantees this: two of the five networks stopped partway. It is not only a
# matter of the starting weights: with other training sequences, the same two networks learn the
# task (answer 6). Adam helps to wake a network (question 8).
#
# ## How far back can it learn?
#
# In 400 training steps, not far. The largest n that most networks learnt was 4 with U small, and 8
# with U orthogonal. One likely reason is that the gradient shrinks with each step back. Before
# training, g · rms(1 − h²) predicts how fast.
#
# At larger n, learning is slow, and a matter of luck. With 4,000 training steps, one of five
# networks with U orthogonal learnt n = 32, and so did one of five with U small (answer 6). Yet with
# U small, only about 3e-16 of the gradient arrives before training! So the first share tells how
# training begins, not how it must end.
#
# Lesson 03 builds a path on which the gradient hardly shrinks. There, if U and the biases start
# well, all twenty networks that we tried learn n = 32 in 400 training steps.

# %% [markdown]
# ## Part B (optional): a model of letters
#
# **You will be able to** train a recurrent network on a long text, and tell whether its gradient
# vanishes. **Time:** about 12 minutes to read. Lessons 03 and 04 do not need this part.
#
# ### Cutting the gradient
#
# How can we train on a text of a million letters? The backward pass would need a million states in
# memory, for a single step of training. Instead, the text is read in **windows**, short pieces that
# follow one another. In **truncated** back-propagation through time, the *state* is **carried**
# from one window to the next. But the gradient is cut at the border: what a window's first step
# sends back, da Uᵀ, is thrown away.
#
# What do we lose? We cut the six steps of the section "Check" into two windows of three. Then we
# take the gradient that was thrown away, and send it through the first window alone. This should
# give the missing part.

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
# The two colours are the two windows, and h₀ is the initial state. In the code, `full` holds the
# results of one pass over all six steps.

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
# windows do not add up to the whole gradient. The part that would have gone back through h_3, the
# state at the border, is missing. With it, the sum is exact.
#
# So the window limits how far back the gradient can teach. No gradient ever tells the model how a
# symbol affects the loss of a later window.
#
# > **Exercise.** Cut the gradient yourself: `numpy-attention exercise start truncated`.
#
# ### A network that writes
#
# What will a model with a memory write, if we draw letter after letter from its predictions? Guess:
# words, sentences, or sense?
#
# We train a `LanguageModel`, which consists of an embedding, the recurrent network of this lesson
# and the softmax of lesson 01. It reads the Bible as letters, from 16 places in the text at once,
# in windows of 50. A *token* is one symbol, here a letter: with `average="token"`, the loss is the
# mean over all letters.

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
# A slash stands for the end of a verse. Many of the words that it writes exist, and most of the
# others could: you can pronounce them. Sentences and sense are another matter.
#
# The **bits per letter** are the log2 of the perplexity, which lesson 01 defined. We measure them
# on **held-out** text, which was not used for training. The network's memory saves about one bit
# per letter, compared with counted pairs. But from how far back could it learn?
#
# > **Exercise.** Write the perplexity yourself: `numpy-attention exercise start perplexity`. Its
# > mask is for later lessons, which pad short sentences.
#
# ### What becomes of its gradient
#
# The model's windows let the gradient go back up to 50 steps. How much of it is left then? Our
# estimate of the factor per step is g · rms(1 − h²). What has training done to g?

# %% tags=["training"]
trained = model.cells.cells[0]
print(f"gain of U: {gain(first_U):.2f} before training, {gain(trained.U):.1f} after it")

# %% [markdown]
# After training, U *lengthens* a typical vector, nearly twofold. Guess: does the gradient of the
# trained model vanish or explode?
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
trained = model.cells.cells[0]                                  # in float64
plain = PlainRNN(trained.W, trained.U, trained.b)
last = plain.forward(read, np.zeros((B, H)))[1]
ignored = model.output.zeros_like()
_, dlast_true = model.output.loss_and_grad(last, windows[-1], scale=1, grads=ignored)

# %% tags=["training"]
def measure(cell, dlast):
    """→ `gradient_back` of dlast (B, H) through the last T states."""
    start = cell.forward(read[:T], np.zeros((B, H)))[1]
    return gradient_back(cell, read[T:], start, dlast)


trained_share, _, hs = measure(plain, dlast_true)
for d in (10, 20, 60):
    print(f"letters back: {d:2}, share left: {trained_share[d]:.1e}")
flat = (np.abs(hs) > 0.9).mean()
print(f"{flat:.0%} of the numbers in the trained model's states are above 0.9 or below −0.9")
assert trained_share[20] < 0.005

# %% [markdown]
# One of the hundred stretches ends with "flowing with mi", and the next letter is "l". The bar
# above a letter is the share of the gradient that reaches the state after this letter.

# %% tags=["training"]
one = slice(83, 84)
verse = "".join(vocabulary.decode(windows[T:2 * T, 83]))[-28:]
start = plain.forward(read[:T, one], np.zeros((1, H)))[1]
share, _, _ = gradient_back(plain, read[T:, one], start, dlast_true[one])
show(draw_letters(verse, share[:28][::-1]), "02_letters")
assert verse.endswith("flowing with mi") and share[12] < 0.1

# %% [markdown]
# So the loss on the "l" teaches the model what to keep from "with mi", and hardly anything about
# "land". On average over the hundred stretches, less than a thousandth of the gradient is left
# after 20 letters: it vanishes.
#
# U lengthens a typical vector, so we suspect the tanh. Indeed, 71% of the numbers in the states are
# above 0.9 or below −0.9: many units are saturated, and their slope 1 − h² is small.
#
# Does our estimate hold here? We test it on the trained model, and on four networks with a random
# U, scaled to g = 0.5, 1, 1.5 and 2.5. The four read the same letters, with a small random W. They
# have no loss: their gradient begins as a random vector.

# %% tags=["training"]
rng = np.random.default_rng(7)
from_above = rng.standard_normal((B, H))
random_U = rng.standard_normal((H, H)) / np.sqrt(H)
random_W = 0.05 * rng.standard_normal((32, H))


# %% tags=["training"]
curves = {}


def compare(name, cell, dlast):
    """Print the estimated factor per step and the measured one; keep the curve; → their ratio."""
    share, _, hs = measure(cell, dlast)
    curves[name] = share
    slope = rms(1 - hs**2)
    estimated = gain(cell.U) * slope
    measured = share[T] ** (1 / T)
    print(f"{name:<16} {slope:11.2f} {estimated:10.2f} {measured:9.2f}")
    return estimated / measured


# %% tags=["training"]
print("                             factor per step back")
print("                 rms(1 − h²)  estimated  measured")
for g in (0.5, 1.0, 1.5, 2.5):
    cell = PlainRNN(random_W, random_U * g / gain(random_U), np.zeros(H))
    assert 0.9 < compare(f"random, g = {g}", cell, from_above) < 1.1
assert 0.8 < compare(f"trained, g = {gain(trained.U):.1f}", plain, dlast_true) < 1.25

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
# The lines are nearly straight on a log scale: the gradient shrinks or grows exponentially. Per
# step, our estimate is right within a tenth for all five networks, even for the trained one. But
# small errors multiply: over 60 steps, (0.67 / 0.64)^60 is more than ten.
#
# Look at the black line. Its g is 1.8. The gradients of the networks with g = 1.5 and g = 2.5
# explode. Yet the gradient of the trained model vanishes, because its slopes are smaller. As with
# one unit, U alone does not settle it: the states matter, too.
#
# So the window of 50 letters is not the only limit: long before its border, almost nothing of the
# gradient is left.
#
# ### Clipping
#
# If a gradient explodes, one very long training step can spoil what was learnt. **Clipping**
# (Pascanu et al. 2013) takes the norm of the *whole* gradient, of all parameters together. If the
# norm is above a limit, the gradient is scaled down until its norm is the limit. Its direction
# stays the same.
#
# > **Exercise.** Write clipping yourself: `numpy-attention exercise start clipping`.
#
# A gradient that has vanished cannot be repaired like this. If we scale the whole gradient up, the
# terms of the distant steps remain as small a part of dU as before.

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
#    Which curves are lower then, and which of the two factors of J_t is the cause?
# 5. In the recall task, draw the noise from the same four symbols as the first symbol. Why is the
#    task harder?
# 6. (Long.) At n = 16, take the networks with an orthogonal start and the seeds 15 to 20.
#    `recall_model(16, True, seed)` creates them, and `train_recall` has an argument `steps`. How
#    many training steps does each of them need?
# 7. All our networks were trained with **Adam** (Kingma & Ba 2015). For every number among the
#    parameters, it keeps two running means, of its gradient G and of G²:
#
#        m ← m + (G − m) / 10        v ← v + (G² − v) / 1,000
#
#    It subtracts the learning rate times m̂ / (√v̂ + ε), where ε is tiny. Both means begin at 0, so
#    at first they are too small. The hats mark a correction for this. Let the gradient be 5 at
#    every step. How long is each of the first three steps, as a multiple of the learning rate, with
#    the correction and without it? The formulas and the usual numbers are in
#    `numpy-attention exercise start adam`.
# 8. (Long.) Why does Adam wake networks? Train the five networks of the section "Can it learn from
#    a vanished gradient?" for 4,000 steps. Their U is small, n is 8, and their seeds are 8 and 10
#    to 13. (a) For which parameters does Adam matter: for U, or for the embeddings of the four
#    symbols, which receive *only* a distant gradient? Guess, then train some parameters with Adam
#    and the others with gradient descent. (b) Adam's steps are about as long for tiny gradients as
#    for others. Does waking up depend on this? Let ε be 10⁻³ or 10⁻² instead of 10⁻⁸.
