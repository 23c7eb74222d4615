# %% [markdown]
# # Lesson 14: how fast can it be?
#
# **You will be able to** find out where a training step spends its time, and make it faster without
# changing what it computes.
#
# **Needs:** lesson 03; question 2 also needs 06 and 09. **Time:** 60 minutes to read, about 12 of
# them for the optional section 7; about a minute to run.
#
# If you write the training step of an LSTM language model directly from its equations, one time
# step after the other, it will be correct, and slow. Where does the time go? And how fast *could*
# it be?
#
# The second question has an answer, because every version has to do the same multiplications.
# Nearly all of these multiplications are inside matrix products, and a few large products have most
# of them. The time of the products alone, each as fast as we can make it, is the **floor**.
#
# You will write the obvious version first, and find out which parts take most of its time. Then you
# will make one change at a time, check that the results stay the same, and measure how much time
# the change saves.
#
# Write down a guess now. Does the first version take twice, three times, five or ten times as long
# as the floor?
#
# **Your numbers and ours.** Times depend on the machine. The output shows the times of one run:
# yours, if you run the script. At the end, *The waterfall* also prints ours, from one core of an
# Intel Xeon, the *recorded machine*.

# %%
print("Lesson 14: how fast can it be?", flush=True)

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from course import caught, show
from speed_parts import (blas_in_use, check_parts_add_up, draw_panel_layout, draw_rates,
                         draw_waterfall, falls, in_turns, kernels_of, medians, panel_rates,
                         print_change, print_columns, print_distance, print_few_rows,
                         print_profile, print_ranking, print_recorded, print_rest, print_savings,
                         print_shares, products_of, ranked, rate, shares_of, with_and_without)

from numpy_attention import plotting
from numpy_attention.data.batching.text_batches import TextBatch
from numpy_attention.gradcheck import gradcheck, randomize
from numpy_attention.kernels import elementary
from numpy_attention.kernels.gates import lstm_backward
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.module import Array, Module
from numpy_attention.products import aligned
from numpy_attention.validation.arrays import as_rows
from numpy_attention.training.optimizers import SGD
from numpy_attention.training.threads import keep_freed_memory

# %% [markdown]
# ## The training step
#
# The model is lesson 03's language model, with the sizes of the small model of Zaremba et al.
# (2014), except that it has one layer and a smaller vocabulary. A *training step* reads T words of
# each of B texts. A *time step* t, or step t for short, reads one word of each text.
#
# | letter | value or shape | what it is |
# |---|---|---|
# | V | 3,000 | words in the vocabulary |
# | H | 200 | numbers in a word's row of E, and in a state |
# | T | 20 | time steps |
# | B | 20 | texts, side by side in a batch |
# | E | (V, H) | input vectors: a row for each word; x_t is the row of word t |
# | W, U, b | (H, 4H), (H, 4H), (4H,) | input weights, recurrent weights and bias of the gates |
# | S, d | (V, H), (V,) | output layer: for each word, a row of S and an entry of d |
#
# The texts are random words, because the time of a product does not depend on the values in it. The
# time of the gradient of E depends on which words occur, but it is a small part of the step.

# %%
V = 3000
H = 200
T = 20
B = 20
RATE = 1.0          # the learning rate
CLIP = 5.0          # the gradient's largest norm
rng = np.random.default_rng(1)
inputs = rng.integers(4, V, (T, B))
targets = rng.integers(4, V, (T, B))

# %%
boxes = {
    "x": ("xₜ = E[word]", 0, 3), "a": ("xₜ W + b", 2.4, 3, 0), "u": ("hₜ₋₁ U", 5, 4, 0),
    "h": ("gates: cₜ, hₜ", 5, 3), "z": ("hₜ Sᵀ + d", 7.4, 3, 0), "L": ("softmax, loss", 9.4, 2),
    "dz": ("dzₜ S,  dzₜᵀ hₜ", 7.4, 1, 0), "dh": ("gates, backward: daₜ", 5, 1),
    "du": ("daₜ Uᵀ", 5, 0, 0), "da": ("daₜ Wᵀ,  xₜᵀ daₜ,  hₜ₋₁ᵀ daₜ", 2.1, 1, 0),
    "w": ("update", 0, 2),
}
arrows = [("x", "a"), ("a", "h"), ("u", "h", "", -0.3, True), ("h", "u", "", -0.3, True),
          ("h", "z"), ("z", "L"), ("L", "dz"), ("dz", "dh"), ("dh", "du", "", -0.3, True),
          ("du", "dh", "", -0.3, True), ("dh", "da"), ("da", "w")]
title = "Six blue boxes hold the nine matrix products; dashed loops go one time step at a time"
show(plotting.diagram(boxes, arrows, title=title), "14_diagram")

# %% [markdown]
# ## Forward
#
# The obvious version has one line per gate, forward and backward. Lesson 03 derives these lines.


# %%
def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def gates(a, c):
    """a (B, 4H), the old cell state c (B, H) → h, the new cell state, what backward needs."""
    a_i, a_f, a_g, a_o = np.split(a, 4, axis=1)
    i = sigmoid(a_i)
    f = sigmoid(a_f)
    g = np.tanh(a_g)
    o = sigmoid(a_o)
    tanh_c = np.tanh(f * c + i * g)
    return o * tanh_c, f * c + i * g, (c, i, f, g, o, tanh_c)


# %%
def gates_backward(dh, dc, kept):
    """∂L/∂h and ∂L/∂(new cell state) → da, ∂L/∂(old cell state)."""
    c, i, f, g, o, tanh_c = kept
    do = dh * tanh_c
    dc = dc + dh * o * (1 - tanh_c**2)
    da_i = dc * g * i * (1 - i)
    da_f = dc * c * f * (1 - f)
    da_g = dc * i * (1 - g**2)
    da_o = do * o * (1 - o)
    return np.concatenate([da_i, da_f, da_g, da_o], axis=1), dc * f


# %% [markdown]
# ## Backward
#
# A time step makes two matrix products in the forward loop, and four in the backward loop, because
# both factors of each product need a gradient.


# %% tags=["plain"]
@dataclass(eq=False)
class Recurrence(Module):
    """x_t → h_t, one time step after the other."""

    W: Array  # (H, 4H)
    U: Array  # (H, 4H)
    b: Array  # (4H,)

    def forward(self, xs):
        """xs (T, B, H) → all h (T, B, H), and cache."""
        h = np.zeros_like(xs[0])
        c = np.zeros_like(xs[0])
        hs = [h]
        kept = []
        for x in xs:
            a = x @ self.W + h @ self.U + self.b
            h, c, of_step = gates(a, c)
            hs.append(h)
            kept.append(of_step)
        hs = np.stack(hs)                           # (T + 1, B, H): the first one is 0
        return hs[1:], (xs, hs, kept)

    def backward(self, dhs, cache, grads):
        """∂L/∂h of all time steps (T, B, H) → ∂L/∂xs."""
        xs, hs, kept = cache
        dh = np.zeros_like(xs[0])
        dc = np.zeros_like(xs[0])
        dxs = np.empty_like(xs)
        for t in reversed(range(len(xs))):
            da, dc = gates_backward(dhs[t] + dh, dc, kept[t])
            grads.W += xs[t].T @ da
            grads.U += hs[t].T @ da                  # hs[t] is h_{t−1}
            grads.b += da.sum(0)
            dxs[t] = da @ self.W.T
            dh = da @ self.U.T
        return dxs


# %% [markdown]
# Check it in float64, with tiny sizes. The command `numpy-attention step 14` shows every array.

# %%
xs = np.random.default_rng(4).standard_normal((4, 3, 2))        # T = 4, B = 3, H = 2
small = Recurrence(np.empty((2, 8)), np.empty((2, 8)), np.empty(8))
randomize(small, np.random.default_rng(5))
print(gradcheck(small, xs, rng=np.random.default_rng(6)))

# %% [markdown]
# The whole training step adds three things:
#
# - Before the recurrence, each word of the texts becomes a row of E.
# - After it, the *output layer* turns each state into a probability p for each of the V words. The
#   loss is −log p of the word that came next. We want the gradients of the loss *per text*, so they
#   are multiplied by `scale` = 1/B.
# - The *update* clips the gradient's norm, as in lesson 02, and subtracts the learning rate times
#   the gradient from the weights.


# %% tags=["plain"]
@dataclass(eq=False)
class FirstWritten(Recurrence):
    """The whole training step, as you would first write it."""

    E: Array  # (V, H)
    d: Array  # (V,)
    S: Array  # (V, H)

    def softmax_loss(self, z, wanted, scale):
        """z (N, V) without its bias → Σ −log p[wanted], ∂(scale · loss)/∂z."""
        z = z + self.d
        e = np.exp(z - z.max(1, keepdims=True))
        p = e / e.sum(1, keepdims=True)
        rows = np.arange(len(z))
        loss = -np.log(p[rows, wanted]).sum()
        dz = p.copy()
        dz[rows, wanted] -= 1
        return loss, scale * dz

    def predict(self, hs, targets, scale, grads):
        """hs (T, B, H), targets (T, B) → the loss, ∂L/∂hs."""
        loss = 0.0
        dhs = np.empty_like(hs)
        for t in range(len(hs)):
            one, dz = self.softmax_loss(hs[t] @ self.S.T, targets[t], scale)
            loss += one
            grads.S += dz.T @ hs[t]
            grads.d += dz.sum(0)
            dhs[t] = dz @ self.S
        return loss, dhs

    def loss_and_grad(self, inputs, targets, grads):
        """inputs, targets (T, B) → Σ −log p; grads += ∂(loss / B)/∂parameters."""
        hs, cache = self.forward(self.E[inputs])
        loss, dhs = self.predict(hs, targets, 1 / inputs.shape[1], grads)
        dxs = self.backward(dhs, cache, grads)
        np.add.at(grads.E, inputs, dxs)              # a word may occur twice
        return loss

    def train_step(self, inputs, targets, grads):
        grads.vector[...] = 0
        loss = self.loss_and_grad(inputs, targets, grads)
        norm = np.sqrt((grads.vector**2).sum())
        clipped = min(1, CLIP / norm) * grads.vector
        self.vector[...] -= RATE * clipped
        return loss


# %% [markdown]
# ## Check
#
# Check every gradient, again in float64, with tiny sizes that are all different. `gradcheck` needs
# a `forward` and a `backward`, but our model computes loss and gradient in one call. So `check`
# makes this call in both.


# %%
def created(kind, V, H, dtype=np.float32):
    """A model with random weights, the same for every kind."""
    shapes = [(H, 4 * H), (H, 4 * H), (4 * H,), (V, H), (V,), (V, H)]
    model = kind(*(np.empty(shape) for shape in shapes))
    return randomize(model, np.random.default_rng(2), 0.2).astype(dtype)


# %%
def check(kind):
    """Check all gradients with T = 4, B = 3, H = 2, V = 7; → the report."""
    model = created(kind, 7, 2, np.float64)
    words = np.random.default_rng(3).integers(7, size=(2, 4, 3))

    def forward():
        return np.array(model.loss_and_grad(*words, model.zeros_like()) / 3), None

    def backward(dL, cache, grads):
        once = model.zeros_like()
        model.loss_and_grad(*words, once)
        grads.vector[...] += dL * once.vector
        return ()

    return gradcheck(model, rng=np.random.default_rng(4), forward=forward, backward=backward)


print(check(FirstWritten))

# %% [markdown]
# Now time a training step. `in_turns` calls each of several functions once per round, in a random
# order, so a machine that is busy for a while slows them all alike. It measures CPU time in one
# thread. The time printed is the median over the rounds.
#
# A **profile** gives the share of each part of the step: the recurrence (`forward` and `backward`),
# the output layer (`predict`), the rows of E, and the update.


# %% tags=["training"]
def run_of(kind):
    """A function that runs a training step of a new model of that kind."""
    model = created(kind, V, H)
    grads = model.zeros_like()
    return lambda: model.train_step(inputs, targets, grads)


keep_freed_memory()     # otherwise each new array asks the system for memory again
seconds = in_turns({"FirstWritten": run_of(FirstWritten)}, 15, np.random.default_rng(9))
print_savings(seconds, ["FirstWritten"])
print_profile(created(FirstWritten, V, H), inputs, targets, 15)

# %% [markdown]
# These are the seven changes, the hardest last:
#
# | change | version | part | what is new |
# |---|---|---|---|
# | 1 | `InputsAtOnce` | forward | one product for the inputs of all time steps |
# | 2 | `WeightsAtOnce` | backward | one product for each weight gradient, after the loop |
# | 3 | `WordsAtOnce` | predict | products, softmax and loss of all time steps at once |
# | 4 | `CompiledGates` | forward, backward | all gates of a time step in one compiled loop |
# | 5 | `OnePassSoftmax` | predict | softmax, loss and gradient in one pass, in place |
# | 6 | `OnePassUpdate` | update | one pass once the norm is known |
# | 7 | `UInPanels` | forward, backward | the recurrent weights in panels, strips of columns |
#
# A change can hardly save more than its part takes. Write down a second guess: which change will
# save most, and which least?
#
# From here on, one check per version is enough: **each version must give what the previous version
# gave**, up to the rounding of float32. We compare the loss, every gradient, and the weights after
# two updates. One update would not reveal a gradient that is never reset to 0.


# %%
def parts_after_a_step(kind):
    """The loss, every gradient, and the weights after two updates, from the same weights."""
    model = created(kind, V, H)
    grads = model.zeros_like()
    loss = model.loss_and_grad(inputs, targets, grads)
    found = {"loss": np.array(loss)}
    found |= {f"d{name}": array.copy() for name, array in grads.named_parameters()}
    grads.vector[...] = 0
    for _ in range(2):
        model.train_step(inputs, targets, grads)
    return found | {"the weights after two updates": model.vector}


# %%
def check_same(kind, before):
    """AssertionError: a part differs by more than rounding; the message names it."""
    largest = 0.0
    theirs = parts_after_a_step(before)
    for name, ours in parts_after_a_step(kind).items():
        off = np.abs(ours - theirs[name]).max() / np.abs(theirs[name]).max()
        assert off < 1e-5, f"{kind.__name__}: {name} differs by {off:.1g} of its largest number"
        largest = max(largest, off)
    print(f"{kind.__name__} agrees with {before.__name__} to within {largest:.0e}", flush=True)


# %% [markdown]
# ## 1. The input products do not need the state
#
# Can any product leave the loop? x_t W can, because it does not depend on the state. All T · B rows
# of x go through W in one product, before the first time step. Only h_{t−1} U has to wait.


# %% tags=["plain"]
class InputsAtOnce(FirstWritten):
    def forward(self, xs):
        of_inputs = as_rows(xs) @ self.W + self.b              # (T · B, 4H)
        h = np.zeros_like(xs[0])
        c = np.zeros_like(xs[0])
        hs = [h]
        kept = []
        for a in np.split(of_inputs, len(xs)):
            h, c, of_step = gates(a + h @ self.U, c)
            hs.append(h)
            kept.append(of_step)
        hs = np.stack(hs)                           # (T + 1, B, H): the first one is 0
        return hs[1:], (xs, hs, kept)


check_same(InputsAtOnce, FirstWritten)
print(f"W takes {4 * H * 4 * H / 1e3:.0f} KB, S takes {4 * V * H / 1e6:.1f} MB")
# six of the nine products are as large as x W, and three as large as h Sᵀ
share = 4 * H / (6 * 4 * H + 3 * V)
print(f"the products x W have {100 * share:.0f}% of the multiplications in matrix products")

# %% [markdown]
# The number of multiplications is the same, so what is there to gain? A product of 20 rows fetches
# all of W, and uses each of its numbers 20 times. A product of 400 rows uses each number 400 times.
#
# But a core has a small, fast memory, often of one or two megabytes: a **cache**, unrelated to the
# `cache` of a backward pass. W fits into it, so fetching W again is cheap. And the products x W
# have only 6% of the multiplications, so expect little.


# %% tags=["training"]
def time_change(kind, before):
    """Time both versions in the same rounds, and print what the change saves."""
    runs = {each.__name__: run_of(each) for each in (before, kind)}
    print_change(in_turns(runs, 15, np.random.default_rng(9)), *runs)


time_change(InputsAtOnce, FirstWritten)

# %% [markdown]
# The last line compares the two versions:
#
# - `… ms → … ms`: the times before and after the change. `saves …` is their difference.
# - `… [… to …] times as fast`: in each round we divide the two times. The line has the median of
#   these ratios and, in brackets, the range of the middle half.
# - The verdict is `faster` if this range is above 1, `slower` if it is below, and `too close to
#   tell` if it contains 1.
#
# If two versions are almost equally fast, expect contradictions: the next run may give a different
# verdict, and `saves` may be negative although the ratio is above 1. Compare times only within one
# line, because the machine may be slower a minute later.
#
# All that change 1 can save is the extra cost of twenty small products over one large one. Section
# 7 asks where this extra cost comes from.
#
# ## 2. The weight gradients can wait
#
# What can leave the loop in the backward pass? Step t − 1 waits for only one product of step t:
# da_t Uᵀ. If we keep every da_t, the other products can be computed after the loop:
#
#     ∂L/∂W = Σ_t x_tᵀ da_t = Xᵀ dA          X (T · B, H), dA (T · B, 4H): all t, row under row
#     ∂L/∂U = Σ_t h_{t−1}ᵀ da_t
#     ∂L/∂b = Σ_t da_t                       dX = dA Wᵀ
#
# A product sums over its inner index. That index now runs over all (t, text) pairs, so the product
# does the sum over t as well. This saves memory traffic: in the loop, each `grads.W += …` made an
# array as large as W, read it again, read `grads.W`, and wrote the sum back.
#
# > **Exercise.** Write it before you read on: `numpy-attention exercise start weights-at-once`.


# %% tags=["plain"]
class WeightsAtOnce(InputsAtOnce):
    def backward(self, dhs, cache, grads):
        xs, hs, *_ = cache
        da = as_rows(self.back_in_time(dhs, cache))            # (T · B, 4H)
        grads.W += as_rows(xs).T @ da
        grads.U += as_rows(hs[:-1]).T @ da
        grads.b += da.sum(0)
        return (da @ self.W.T).reshape(xs.shape)

    def back_in_time(self, dhs, cache):
        """∂L/∂h of all time steps (T, B, H) → all da (T, B, 4H)."""
        xs, hs, kept = cache
        dh = np.zeros_like(xs[0])
        dc = np.zeros_like(xs[0])
        das = []
        for t in reversed(range(len(xs))):
            da, dc = gates_backward(dhs[t] + dh, dc, kept[t])
            das.append(da)
            dh = da @ self.U.T
        return np.stack(das[::-1])


check_same(WeightsAtOnce, InputsAtOnce)

# %% tags=["training"]
time_change(WeightsAtOnce, InputsAtOnce)

# %% [markdown]
# Like change 1, change 2 replaces many small products with a few large ones. It also avoids the
# memory traffic of the sums. Does it save more than change 1?
#
# There are T + 1 states in hs, and T steps in da. Which states belong to the steps? Here is an easy
# mistake:


# %%
class OneOff(WeightsAtOnce):
    def backward(self, dhs, cache, grads):
        xs, hs, *_ = cache
        da = as_rows(self.back_in_time(dhs, cache))
        grads.W += as_rows(xs).T @ da
        grads.U += as_rows(hs[1:]).T @ da
        grads.b += da.sum(0)
        return (da @ self.W.T).reshape(xs.shape)


wrong = created(OneOff, 7, 2, np.float64)
# the recurrence by itself, which the report can follow line by line
report = caught(lambda: gradcheck(wrong, xs, rng=np.random.default_rng(6)))

# %% [markdown]
# All shapes are right, yet the gradient of U is wrong. Each step multiplied U by the state *before*
# it, so the gradient needs hs[:-1]. The report names the line. It tried small changes to the line,
# but hs[:-1] was not among them, so it suspects an input or a missing term.
#
# ## 3. All words at once
#
# Must the output layer be in the loop? No: no state depends on h_t Sᵀ, and in the backward pass,
# the output layer needs nothing from the recurrence. So it can take all T · B states at once.
#
# > **Exercise.** Write this version before you look at the next cell: a subclass of `WeightsAtOnce`
# > with a new `predict`, in five lines and without a loop over t.
# >
# > - *Given:* hs (T, B, H), targets (T, B), `scale` and `grads`. `self.softmax_loss` takes any
# >   number of rows, and `as_rows(hs)` is hs as (T · B, H).
# > - *Returned:* the loss, summed over all words, and ∂L/∂hs (T, B, H). *Added:* the gradients of S
# >   and d, to `grads.S` and `grads.d`.
# > - *Test:* `check_same` of your class and `WeightsAtOnce` prints a line. If it raises an
# >   AssertionError, the message names the first part that differs.


# %%
class WordsAtOnce(WeightsAtOnce):
    def predict(self, hs, targets, scale, grads):
        x = as_rows(hs)                                        # (T · B, H)
        loss, dz = self.softmax_loss(x @ self.S.T, targets.ravel(), scale)
        grads.S += dz.T @ x
        grads.d += dz.sum(0)
        return loss, (dz @ self.S).reshape(hs.shape)


check_same(WordsAtOnce, WeightsAtOnce)
# 4 bytes · T steps · 4 passes over V · H numbers: write dzᵀ h, read it, read and write grads.S
moved = 4 * T * 4 * V * H
print(f"inside the loop, the sums moved {moved / 1e6:.0f} MB per training step")
millions = T * B * V / 1e6
print(f"z has {millions:.1f} million numbers, which take {4 * millions:.1f} MB")

# %% [markdown]
# S is almost four times as large as W or U. In the loop, each of the T steps made an array as large
# as S, and added it to `grads.S`. The price of having no loop is memory: z exists for all time
# steps at once. The library therefore takes blocks of 512 rows.

# %% tags=["training"]
time_change(WordsAtOnce, WeightsAtOnce)
print_profile(created(WordsAtOnce, V, H), inputs, targets, 15)

# %% [markdown]
# On the recorded machine, change 3 saved more than changes 1 and 2 together. One reason is the
# memory traffic. It costs most for S, because S does not fit into a cache of one or two megabytes.
#
# The second profile shows in which parts changes 4 to 7 can still save time.
#
# ## 4. One compiled loop for all gates
#
# Each of the two loops now contains one product and the gates. A single σ takes four NumPy calls,
# and each makes a new array. A time step makes some fifty calls, each for only B · H numbers.
#
# A **kernel** is a compiled inner loop. We write ours in Python, and numba compiles them to machine
# code. A kernel can compute everything for one number before it goes on to the next. Intermediate
# results stay in the processor's *registers*, which hold the numbers that it is computing with, so
# they need no arrays. `elementary.sigmoid` and `elementary.tanh` take one number.


# %%
@njit
def lstm(a, c, h_next, c_next):
    """a (B, 4H) becomes the gates [i f g o]; writes h_next and c_next (B, H), from c (B, H)."""
    H = c.shape[1]
    for b in range(len(c)):
        i = a[b, :H]
        f = a[b, H:2 * H]
        g = a[b, 2 * H:3 * H]
        o = a[b, 3 * H:]
        for j in range(H):
            i[j] = elementary.sigmoid(i[j])
            f[j] = elementary.sigmoid(f[j])
            g[j] = elementary.tanh(g[j])
            o[j] = elementary.sigmoid(o[j])
            c_next[b, j] = f[j] * c[b, j] + i[j] * g[j]
            h_next[b, j] = o[j] * elementary.tanh(c_next[b, j])


# %% [markdown]
# The kernel of the backward pass, `lstm_backward`, does the same for the lines of `gates_backward`.
# It is in `numpy_attention/kernels/gates.py`. `check_same` compares both with the NumPy gates.
#
# The new version makes the arrays for all time steps before the loop, and step t writes its part of
# them. It gets U from a method, `laid_out`, which for now returns U itself. Change 7 will need it.
# How much will change 4 save?


# %% tags=["plain"]
class CompiledGates(WordsAtOnce):
    def forward(self, xs):
        a = (as_rows(xs) @ self.W + self.b).reshape(*xs.shape[:2], -1)         # (T, B, 4H)
        hs = np.zeros((len(xs) + 1, *xs[0].shape), xs.dtype)
        cs = np.zeros_like(hs)
        U = self.laid_out(self.U, xs.shape[1])
        for t in range(len(xs)):
            a[t] += hs[t] @ U
            lstm(a[t], cs[t], hs[t + 1], cs[t + 1])
        return hs[1:], (xs, hs, cs, a)                      # a has become i f g o of all t

    def back_in_time(self, dhs, cache):
        xs, hs, cs, kept = cache
        U_T = self.laid_out(self.U.T, xs.shape[1])
        da = np.empty_like(kept)
        dh = np.zeros_like(xs[0])
        dc = np.zeros_like(xs[0])
        for t in reversed(range(len(xs))):
            dc_before = np.empty_like(dc)
            lstm_backward(dhs[t], dh, dc, kept[t], cs[t], cs[t + 1], da[t], dc_before)
            dh = da[t] @ U_T
            dc = dc_before
        return da

    def laid_out(self, M, rows):
        """A weight matrix, ready for products r M, where r has this many rows: here, M itself."""
        return M


check_same(CompiledGates, WordsAtOnce)

# %% tags=["training"]
time_change(CompiledGates, WordsAtOnce)

# %% [markdown]
# Change 4 removes a thousand NumPy calls per training step. The gain may be small all the same: the
# arrays of these calls take 16 KB each, small enough for the cache.
#
# ## 5. Softmax and loss in one pass
#
# Outside the loop, there are few calls, but the arrays are large. `softmax_loss` makes eight passes
# over arrays as large as z: `z + d`, `max`, `z − max`, `exp`, `sum`, `e / sum`, `copy` and
# `scale * dz`. Such an array takes 4.8 MB, more than most cores' caches, but a single row of z
# takes 12 KB. So this kernel takes one row at a time, does all of this to it in the cache, and
# overwrites it with its gradient.


# %%
@njit
def cross_entropy(z, d, wanted, scale, losses):
    """z (N, V), without its bias, becomes ∂(scale · loss)/∂z; losses (N,) become −log p."""
    for n in range(len(z)):
        row = z[n]
        row += d
        top = elementary.row_max(row)
        z_wanted = row[wanted[n]]
        for v in range(len(row)):
            row[v] = elementary.exp(row[v] - top)
        total = elementary.row_sum(row)
        losses[n] = math.log(total) + top - z_wanted            # = −log(e^(z_wanted − top) / total)
        row *= scale / total
        row[wanted[n]] -= scale


# %%
class OnePassSoftmax(CompiledGates):
    def softmax_loss(self, z, wanted, scale):
        losses = np.empty(len(z))
        cross_entropy(z, self.d, wanted, z.dtype.type(scale), losses)
        return losses.sum(), z                              # z has become ∂(scale · loss)/∂z


check_same(OnePassSoftmax, CompiledGates)

# %% tags=["training"]
time_change(OnePassSoftmax, CompiledGates)

# %% [markdown]
# Six of the eight passes read and write each of z's 1.2 million numbers, and two only read it. That
# is 14 reads and writes per number, and the kernel makes two. So change 5 saves twelve for each of
# the 1.2 million numbers, about 14 million in all.
#
# ## 6. One pass for the update
#
# The arrays of the update are even larger than z. A training step begins by setting the gradient g
# to 0. Once g is computed, the step squares it into a new array, adds up the squares, makes a
# clipped copy of g, writes rate times this copy to another array, and subtracts that array from the
# weights w.
#
# The norm needs no new array, because `g @ g` is the sum of the squares. Once it is known, one pass
# is enough for everything else. Clipping only changes the rate.


# %%
@njit
def sgd(w, g, rate):
    """w −= rate · g, then g = 0."""
    for k in range(len(w)):
        w[k] -= rate * g[k]
        g[k] = 0


# %% [markdown]
# Does change 6 save more than change 5, or less? Count the reads and writes of whole arrays before
# and after it, and guess.


# %%
class OnePassUpdate(OnePassSoftmax):
    def train_step(self, inputs, targets, grads):
        """grads must be 0 before the step, and is 0 after it."""
        loss = self.loss_and_grad(inputs, targets, grads)
        norm = np.sqrt(grads.vector @ grads.vector)
        sgd(self.vector, grads.vector, self.dtype.type(RATE * min(1, CLIP / norm)))
        return loss


check_same(OnePassUpdate, OnePassSoftmax)
print(f"the update changes {created(OnePassUpdate, V, H).size / 1e6:.1f} million weights")

# %% tags=["training"]
time_change(OnePassUpdate, OnePassSoftmax)

# %% [markdown]
# The update made about 11 reads and writes for each of the 1.5 million weights; now it makes five.
# This saves 9 million, and change 5 saved 14 million. Did change 5 save more time in your run?
#
# ## 7. Few rows at full speed: U in panels (optional)
#
# **You will be able to** find out why a product of few rows is slow, and make it faster. **Time:**
# about 12 minutes to read. To go on with *The library, and the floor*, you need only this: change 7
# copies U into another layout, in which the products in the loop are faster.
#
# Two products of 20 rows are left in the loops: h_{t−1} U and da_t Uᵀ. The arithmetic per row is
# the same for any number of rows. Guess: per row, how much faster is a product of 1,000 rows than
# one of 20, or of ten?
#
# Speeds are in GFLOP/s, 10⁹ operations per second. A product of n rows takes 2 n · H · 4H
# operations, because each row meets each entry of U in one multiplication and one addition.
#
# **BLAS** is the library that computes NumPy's products, with kernels for each kind of processor.
# The line `BLAS: …` names yours. This section describes OpenBLAS's SkylakeX kernels, which the
# recorded machine used. They need AVX-512, instructions that process 16 float32 numbers at once.
# With other kernels, the numbers may not show what follows. The output says whether they do.

# %%
ROWS = (1, 5, 10, 12, 20, 50, 200, 1000)
numbers = np.random.default_rng(5)
# `aligned`: each begins at a multiple of 64 bytes. Otherwise, loading 64 bytes takes two accesses.
U = aligned(numbers.standard_normal((H, 4 * H), np.float32))
states = aligned(numbers.standard_normal((max(ROWS), H), np.float32))
slopes = aligned(numbers.standard_normal((max(ROWS), 4 * H), np.float32))

# %%
print(blas_in_use())
# products_of repeats a short product, to make it long enough for the clock
seconds = in_turns({n: products_of(states[:n], U) for n in ROWS}, 9, np.random.default_rng(6))
rates = {n: rate(seconds[n], n, U.size) for n in ROWS}
for n in (20, 10):
    print(f"per row, 1,000 rows are {rates[1000] / rates[n]:.1f} times as fast as {n}")
title = f"Ten rows are {'slower' if rates[10] < rates[5] else 'faster'}, per row, than five"
show(draw_rates({"h @ U": rates}, title, "rows of the product, log scale"), "14_rows")

# %% [markdown]
# ### Why are few rows slow?
#
# BLAS does not read U where it is. First it copies U, block by block, into the order in which its
# inner loop reads it. This **packing** takes the same time for any number of rows. With a thousand
# rows it hardly matters. With ten, it may take longer than the multiplications.
#
# If packing is the reason, the time of a product is a straight line over its rows:
#
#     time = packing + rows · time per row
#
# Other constant costs, such as the call from Python, would also give a straight line. The next cell
# puts this line through the measured times of 20 and 1,000 rows. Where will it fail?

# %%
micros = {n: 2 * n * U.size / rates[n] / 1e3 for n in ROWS}     # operations ÷ speed, in µs
per_row = (micros[1000] - micros[20]) / (1000 - 20)
packing = micros[20] - 20 * per_row
line = {n: packing + n * per_row for n in ROWS}
print(f"the line: packing {packing:.0f} µs, a row {per_row:.2f} µs")
print_few_rows(rates, micros, line)

# %% [markdown]
# Five rows are the surprise. They take much less time than the line predicts, and less per row than
# ten. The call from Python takes the same time for five rows as for ten. So what five rows save may
# well be the packing.
#
# Ten rows show how far to trust the line. They take longer than it predicts. On the recorded
# machine, they even took longer than twelve rows, which are more work. Packing does not explain
# this, because it takes the same time for both. Perhaps BLAS computes rows in groups of four, with
# slower code for the two rows that are left over. We do not test this guess. So the packing time is
# only an estimate, and the argument needs another test.
#
# If packing is the reason, change 1 saves some, too: twenty small products pack W twenty times, and
# one large product packs it once.
#
# Why does BLAS not pack for five rows? For processors with AVX-512, OpenBLAS has *small-matrix
# kernels*, which read a matrix where it is. It uses them for products of at most 10⁶
# multiplications. Five rows times U take 5 · 200 · 800 = 800,000, but ten rows take 1,600,000.
#
# Test this claim: multiply ten rows by a matrix of 200 rows with more and more columns. At how many
# columns must the speed drop?

# %%
SMALL = 10**6       # a product is small up to this many multiplications
COLUMNS = (64, 128, 256, 384, 448, 496, 512, 576, 640, 800)
narrow = {n: aligned(U[:, :n]) for n in COLUMNS}
sides = {n: products_of(states[:10], W) for n, W in narrow.items()}
seconds = in_turns(sides, 15, np.random.default_rng(7))
print(f"the limit is at {SMALL // (10 * H)} columns")
print_columns({n: rate(seconds[n], 10, H * n) for n in COLUMNS})

# %% [markdown]
# If your run shows no sharp drop at the limit, change 7 may save nothing.
#
# ### Panels
#
# The limit suggests a trick: make many small products out of each large one. Let r be the few rows
# and M the matrix, U or Uᵀ. A column of r M depends on only one column of M. So cut M (K rows) into
# P *panels* M_p of 64 columns:
#
#     y = r M = r [M₁ M₂ … ] = [r M₁, r M₂, …]          M_p (K, 64)
#
# Each product r M_p is small: 20 · 200 · 64 is 256,000 multiplications. If the P panels are stacked
# in one contiguous array (P, K, 64), one call of `np.matmul` computes all P products.
#
# Making panels is packing, too. But BLAS packs U for each of the T products, and we make its panels
# once per training step, because U stays the same until the update.
#
# Two details remain. The last columns, fewer than 64, get a separate product. And a product with a
# panel of Uᵀ takes 20 · 800 · 64 = 1,024,000 multiplications, just too many. So we cut these panels
# in two, across the rows of Uᵀ, and add the two products. The more rows r has, the more such parts
# are needed.

# %%
show(draw_panel_layout(), "14_panel_layout")


# %% tags=["plain"]
WIDTH = 64          # columns of a panel


def in_panels(M):
    """M (K, P · 64) → (P, K, 64), one contiguous panel after the other."""
    return aligned(M.reshape(len(M), -1, WIDTH).transpose(1, 0, 2))


class Panels:
    """M (K, C), laid out for products r @ Panels(M, B) with r (B, K)."""

    # NumPy would try r @ panels by itself and fail. None makes Python call __rmatmul__ instead.
    __array_ufunc__ = None

    def __init__(self, M, rows):
        K, self.columns = M.shape
        self.whole = self.columns // WIDTH * WIDTH          # how many columns are in panels
        parts = math.ceil(rows * K * WIDTH / SMALL)         # enough to make every product small
        self.inner = math.ceil(K / parts)                   # how many rows of M a part has
        self.parts = [in_panels(M[start:start + self.inner, :self.whole])
                      for start in range(0, K, self.inner)]
        self.rest = aligned(M[:, self.whole:])              # the last columns

    def __rmatmul__(self, r):
        """Python calls this for r @ panels."""
        y = np.empty((len(r), self.columns), r.dtype)
        np.matmul(r, self.rest, out=y[:, self.whole:])      # computes the last columns of y
        # The other columns of y as panels (P, B, 64). This is a view: `out=panels` writes to y.
        panels = y[:, :self.whole].reshape(len(r), -1, WIDTH).transpose(1, 0, 2)
        np.matmul(r[:, :self.inner], self.parts[0], out=panels)         # r times each panel
        for n, part in enumerate(self.parts[1:], 1):                    # adds the other parts
            panels += np.matmul(r[:, n * self.inner:(n + 1) * self.inner], part)
        return y


# %% [markdown]
# `r @ Panels(M, B)` must equal `r @ M`. Check this for U and its transpose `U.T`, and then measure.
# The panels are made before the clock starts.

# %%
FEW = (1, 5, 10, 20, 50, 200)
for r, M in ((states, U), (slopes, U.T)):
    for n in FEW:
        y = r[:n] @ M
        assert np.abs(r[:n] @ Panels(M, n) - y).max() < 1e-5 * np.abs(y).max()
print(f"panels give the plain products; those of U.T have {len(Panels(U.T, B).parts)} parts at "
      f"{B} rows, and {len(Panels(U.T, 200).parts)} at 200")

# %%
seconds = with_and_without(U, states, slopes, FEW, Panels)
rates = panel_rates(U.size, seconds, FEW)
gains = [rates[f"{r} @ panels"][10] / rates[f"{r} @ {M}"][10]
         for r, M in (("h", "U"), ("da", "U.T"))]
title = f"Ten rows: with panels, h @ U is {gains[0]:.1f} and da @ U.T {gains[1]:.1f} times as fast"
show(draw_rates(rates, title, "rows of the product, log scale"), "14_panels")

# %% [markdown]
# Panels are faster from ten to 50 rows, and slower below and above. Below, BLAS does not pack, so
# there is nothing to save. At 200 rows, packing is a small part of a product's time. Panels are
# slower there, perhaps because they then have more parts, whose products must be added.
#
# Panels help most at ten rows, where the plain product is unusually slow. They help `U.T` more than
# U: `U.T` is a *view* whose rows are columns of U, so packing it may take longer.
#
# In the training step, change 7 is one line:


# %%
class UInPanels(OnePassUpdate):
    def laid_out(self, M, rows):
        return Panels(M, rows)


check_same(UInPanels, OnePassUpdate)
check_same(UInPanels, FirstWritten)         # seven small differences could have added up
print(check(UInPanels))

# %% tags=["training"]
time_change(UInPanels, OnePassUpdate)

# %% [markdown]
# However fast the products in the loops become, they have only a small part of all operations
# (question 3). So the training step gains little.
#
# ## The library, and the floor
#
# The library's `LanguageModel` has all seven changes, with panels only if NumPy's BLAS has section
# 7's small-matrix kernels. We give it our weights:


# %%
def by_our_names(model):
    """{name: array} of a model of the library, or of its gradient."""
    cell = model.cells.cells[0]
    return {"W": cell.W, "U": cell.U, "b": cell.b, "E": model.embedding.E,
            "d": model.output.b, "S": model.output.words.E}


library = LanguageModel.create(np.random.default_rng(0), V, H, layers=1)
library.vector                                          # puts its arrays into one, for the update
for name, array in by_our_names(library).items():
    array[...] = getattr(created(FirstWritten, V, H), name)

# %%
batch = TextBatch(inputs, targets, np.arange(B))
theirs = library.zeros_like()
loss, _ = library.loss_and_grad(batch, None, 1 / B, theirs)
found = parts_after_a_step(UInPanels)
assert np.allclose(loss, found["loss"], rtol=1e-6)
for name, gradient in by_our_names(theirs).items():
    ours = found[f"d{name}"]
    assert np.allclose(gradient, ours, rtol=0, atol=1e-5 * np.abs(ours).max()), name
print("the library's model gives the same loss and gradients")

# %% [markdown]
# Which products make up the floor? Each product y = r M of the forward pass needs two more in the
# backward pass, dr = dy Mᵀ and dM = rᵀ dy. Inside the loop, the floor uses panels, as version 7
# does. If panels are slower on your machine, the true floor is a little lower.


# %%
def shapes_of_products(B):
    """The products of a training step as (rows, inner, columns)."""
    N = T * B
    once = [(N, H, 4 * H), (N, 4 * H, H), (H, N, 4 * H)]            # x W and its two gradients
    once += [(H, N, 4 * H)]                                         # ∂L/∂U
    once += [(N, H, V), (N, V, H), (V, N, H)]                       # h Sᵀ and its two gradients
    return once + T * [(B, H, 4 * H), (B, 4 * H, H)]                # h U, da Uᵀ: for every t


def products(B):
    """A function that computes all of these products."""
    normal = np.random.default_rng(8).standard_normal
    once = []
    for rows, inner, columns in shapes_of_products(B)[:7]:
        once.append((normal((rows, inner), np.float32), normal((inner, columns), np.float32),
                     np.empty((rows, columns), np.float32)))
    in_loop = T * [(states[:B], Panels(U, B)), (slopes[:B], Panels(U.T, B))]
    return lambda: ([np.matmul(x, y, out=found) for x, y, found in once]
                    + [r @ M for r, M in in_loop])


# %% [markdown]
# ## The waterfall
#
# Now time our eight versions, the library's model and the floor, all in the same rounds. Each line
# compares a version with the one above.


# %%
VERSIONS = (FirstWritten, InputsAtOnce, WeightsAtOnce, WordsAtOnce, CompiledGates, OnePassSoftmax,
            OnePassUpdate, UInPanels)


# %% tags=["training"]
def run_of_library():
    """As `run_of`, with the library's model and optimizer."""
    grads = library.zeros_like()
    optimizer = SGD(RATE)

    def run():
        library.loss_and_grad(batch, None, 1 / B, grads)
        norm = np.sqrt(grads.vector @ grads.vector)
        optimizer.update(library.vector, grads.vector, {}, 1, factor=min(1, CLIP / norm))
    return run


# %% tags=["training"]
names = [kind.__name__ for kind in VERSIONS]
runs = {kind.__name__: run_of(kind) for kind in VERSIONS} | {"the library": run_of_library()}
weights = created(UInPanels, V, H).vector
kernels = kernels_of(lstm, cross_entropy, sgd, T, B, H, V, weights)
parts = {"products": products(B)} | kernels
seconds = in_turns(runs | parts, 35, np.random.default_rng(10))
print_savings(seconds, list(runs))
ms = medians(seconds)
floor = ms["products"]
print(f"the floor      {floor:5.1f} ms")

# %% tags=["training"]
first = ms["FirstWritten"]
last = ms["UInPanels"]
check_parts_add_up(first, [*falls(ms, names).values(), last])
print_distance(ms)
print_ranking(seconds, names)
best = ranked(seconds, names)[0]
title = f"From {first / floor:.1f} to {last / floor:.2f} times the floor; largest gain: {best}"
show(draw_waterfall(seconds, names, ms["the library"], floor, title), "14_waterfall")

# %% [markdown]
# *Your first guess.* The line `closest first guess` names the best one. On the recorded machine, it
# is three times. Your run may say twice: the slower a machine's products are, the less the rest of
# the step matters. NumPy's products were fast from the start, so even the first version is not ten
# times as slow as the floor.
#
# *Your second guess.* On the recorded machine, change 3 gains most, with five lines of NumPy. The
# first profile suggested it: `predict` took more than half of the time. Change 1 gains least. The
# ranking is by ratio: a millisecond that is saved late, from a shorter time, counts for more.
#
# The library, which also handles padding and layers, is about as fast as version 7.
#
# Compare the recorded machine. Its list ends with section 7's numbers.

# %%
print_recorded()

# %% [markdown]
# The savings depend on the processor, on the model (question 5), and on the order of the changes: a
# loop that is gone cannot be made faster (question 1).
#
# ## What is left
#
# How much could still be saved? At most everything except the products. Compute the products' share
# of version 7's time from the output above. We timed the kernels on their own, in the same rounds.


# %% tags=["training"]
shares = shares_of(ms, parts)
check_parts_add_up(1, shares.values())
print_shares("UInPanels", shares)
print_rest(shares)

# %% [markdown]
# *The rest* is rows of E, sums over rows, new arrays, making the panels, and Python between the
# calls. Inside a training step, the products are also a little slower than on their own, because
# less of their data is in the cache. This loss is part of the rest, too. If the rest is larger than
# the three kernels together, profile it next: time each of its parts inside the training step.
#
# The larger the products' share is, the less you can still save with better code *around* the
# products. What helps then is faster products, as in change 7, or a model with fewer or smaller
# ones.

# %% [markdown]
# ## Where you are now
#
# This is the end of the course. It began with six words and a pencil: scores, weights, an average.
# You have derived the gradients of these three steps, and of everything around them, and checked
# each one. You have seen what heatmaps show and what they do not, built the Transformer from its
# parts, and measured your own ideas against controls. And you know where the time goes. Now read
# the papers again, and then the code of this library.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | all words at once | one large matrix product (GEMM) instead of many |
# | the floor | lower bound; GEMM-only time |
# | panels | packed or blocked weights |
# | gates in one loop | kernel fusion |
# | how often a number is used after it has been fetched | arithmetic intensity |
#
# (The [glossary](../docs/site/glossary.md) has the terms of the other lessons.)
#
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |
# | `aligned` | a copy that begins at a multiple of 64 bytes in memory |
# | `as_rows` | (T, B, …) as (T · B, …) |
# | `gradcheck` | compares a backward pass with central differences |
# | `randomize` | gives every parameter random values |
# | `elementary` | e^x, tanh and σ of one number, maximum and sum of a row, for use in a kernel |
# | `lstm_backward`, compiled | the backward pass of all gates of a time step |
# | `LanguageModel` | the library's model |
# | `SGD` | its optimizer |
# | `TextBatch` | a window of text, as the library's models read it |
# | `keep_freed_memory` | keeps freed memory for new arrays |
# | `plotting` | diagrams, colours, pictures as files |

# %% [markdown]
# ## Questions
#
# 1. Make change 5 in the first version, inside the loop, with 20 rows per call. Does it save more
#    there than after change 4, or less? Why?
# 2. Why can h_{t−1} U never be computed for all t at once, although a Transformer's products can?
#    Which products of lesson 06's decoder have to stay in its loop?
# 3. Count the operations of a training step from `shapes_of_products`. What share of them is in the
#    output layer, and what share in the loop? For which V are the two equal?
# 4. What does version 7 keep in memory for its backward pass? Which of these arrays grow with T,
#    and which with V? With 10,000 words and T = 500, what would you make smaller first?
# 5. Take V = 200: letters, not words. Predict first: how far is the first version from the floor,
#    and which change saves most? Then take V = 3,000 again and H = 1,024. How much do the panels
#    save, with 20 texts and with ten?
# 6. Name a mistake that `check_same` misses, and one that it finds but a gradient check misses.
# 7. BLAS does not pack for a product of one row. Why is such a product still slower, per row, than
#    a product of 1,000 rows? Compute from the table of times in section 7: for a model that writes
#    1, 5, 10 or 20 texts word by word, how much time does a word of one text take?
# 8. Suppose you also take all `da @ U_T` out of the loop. What does `check_same` report, and why?
# 9. After how many products have panels saved the time of making them? Measure `Panels(U, 10)`, and
#    a product of ten rows with and without panels, also for H = 1,024.
