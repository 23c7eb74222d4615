# %% [markdown]
# # Lesson 14: how fast can it be?
#
# **You will be able to** find out where a training step spends its time, and make it faster without
# changing what it computes.
#
# **Needs:** lesson 03 and numba; question 2 also needs 06 and 09. **Time:** 50 minutes to read,
# about a minute to run.
#
# Written directly from its equations, one time step after the other, the training step of an LSTM
# language model is correct, and slow. How slow? Every version has to do the same multiplications,
# and nearly all of them are inside matrix products. The time of these products alone, each as fast
# as we can make it, is the **floor**.
#
# How close to the floor can a training step come? You will write the obvious version first, and
# then make seven changes. After each, you check that the results stay the same, and measure how
# much time it saves. Write down a guess now: does the first version take twice, three times, five
# or ten times as long as the floor?
#
# Times depend on the machine. The output shows those of one run: yours, if you run the script. The
# table at the end also has those of one core of an AMD EPYC.

# %%
print("Lesson 14: how fast can it be?", flush=True)

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from course import caught, show
from speed_parts import (blas_in_use, draw_columns, draw_waterfall, in_turns, mark_loops, medians,
                         print_change, print_profile, print_table, products_of, rate, time_sums)

from numpy_attention import plotting
from numpy_attention.gradcheck import gradcheck, randomize
from numpy_attention.kernels import elementary
from numpy_attention.kernels.gates import lstm_backward
from numpy_attention.module import Array, Module
from numpy_attention.products import aligned
from numpy_attention.validation.arrays import as_rows
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
# The texts are random words, because the time of a product does not depend on the values in it.

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
    "x": ("xₜ = E[word]", 0, 1), "a": ("xₜ W + b", 2.4, 2, 0), "h": ("gates: cₜ, hₜ", 2.4, 1),
    "u": ("hₜ₋₁ U", 2.4, 0, 0), "z": ("hₜ Sᵀ + d", 5.1, 2, 0), "L": ("softmax, loss", 5.1, 1),
    "dz": ("dzₜ S,  dzₜᵀ hₜ", 5.1, 0, 0), "dh": ("gates, backward: daₜ", 8.4, 1),
    "du": ("daₜ Uᵀ", 8.4, 0, 0), "da": ("daₜ Wᵀ,  xₜᵀ daₜ,  hₜ₋₁ᵀ daₜ", 8.4, 2, 0),
    "w": ("update", 11.2, 1),
}
arrows = [("x", "a"), ("a", "h"), ("u", "h", "", -0.3, True), ("h", "u", "", -0.3, True),
          ("h", "z"), ("z", "L"), ("L", "dz"), ("dz", "dh"), ("dh", "du", "", -0.3, True),
          ("du", "dh", "", -0.3, True), ("dh", "da"), ("da", "w")]
title = ("The first version has all nine matrix products (blue) in its three loops (frames); "
         "dashed: from step to step")
show(mark_loops(plotting.diagram(boxes, arrows, title=title)), "14_diagram")

# %% [markdown]
# ## Forward
#
# The obvious version has one line per gate, derived in lesson 03.


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
# - Before the recurrence, each word becomes its row of E.
# - After it, the *output layer* turns each state into a probability p for each of the V words. The
#   loss is −log p of the word that came next. `scale` = 1/B makes the gradients those of the loss
#   *per text*.
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
# a `forward` and a `backward`. Our model computes both in one call, so `check` makes it twice.


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
# ## Where does the time go?
#
# A **profile** gives the share of each part of the step: the recurrence (`forward` and `backward`),
# the output layer (`predict`), the rows of E, and the update. (`keep_freed_memory` lets NumPy use
# freed memory again.)

# %% tags=["training"]
keep_freed_memory()
print_profile(created(FirstWritten, V, H), inputs, targets, 15)

# %% [markdown]
# The seven changes, each explained below:
#
# | change | version | part | what is new |
# |---|---|---|---|
# | 1 | `InputsAtOnce` | forward | one product for the inputs of all time steps |
# | 2 | `WeightsAtOnce` | backward | one product for each weight gradient, after the loop |
# | 3 | `WordsAtOnce` | predict | products, softmax and loss of all time steps at once |
# | 4 | `CompiledGates` | forward, backward | all gates of a time step in one compiled loop |
# | 5 | `OnePassSoftmax` | predict | softmax, loss and gradient in one pass, in place |
# | 6 | `OnePassUpdate` | update | one pass once the norm is known |
# | 7 | `UInPanels` | forward, backward | the recurrent weights in panels, groups of columns |
#
# A change can hardly save more than its part takes. A second guess: which change will save most,
# and which least?
#
# From here on, one check per version is enough: **each version must give what the previous version
# gave**, up to the rounding of float32. We compare the loss, every gradient, and the weights after
# two updates, because one update would not reveal a gradient that is never reset to 0.


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
        assert off < 1e-4, f"{kind.__name__}: {name} differs by {off:.1g} of its largest number"
        largest = max(largest, off)
    print(f"{kind.__name__} agrees with {before.__name__} to within {largest:.0e}", flush=True)


# %% [markdown]
# To time a change, `in_turns` runs both versions once per round, in a random order. If the machine
# is busy for a while, it slows both alike. **BLAS**, the library that computes NumPy's products,
# has one thread here, and we measure the CPU time of this thread. Each round gives a saved time and
# a ratio, and we print the medians. The brackets have the ratios' range without the lowest and
# highest tenth. If this range is above 1, the verdict is `faster`; if below, `slower`; otherwise,
# `too close to tell`. Compare milliseconds only within a cell, because the machine's speed may
# change. Ratios change less.


# %%
def run_of(kind):
    """A function that runs a training step of a new model of that kind."""
    model = created(kind, V, H)
    grads = model.zeros_like()
    return lambda: model.train_step(inputs, targets, grads)


def time_change(kind, before):
    """Time both versions in the same rounds, and print what the change saves."""
    runs = {each.__name__: run_of(each) for each in (before, kind)}
    print_change(in_turns(runs, 15, np.random.default_rng(9)), *runs)


# %% [markdown]
# ## 1. The input products do not need the state
#
# Which product in the loop waits for nothing? x_t W does not depend on the state. So all T · B rows
# of x can go through W in one product, before the first time step. Only h_{t−1} U has to wait.


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
print(f"W takes {4 * H * 4 * H / 1e3:.0f} KB")
# six of the nine products are as large as x W, and three as large as h Sᵀ
share = 4 * H / (6 * 4 * H + 3 * V)
print(f"the products x W have {100 * share:.0f}% of the multiplications in matrix products")

# %% [markdown]
# What is there to gain? A product of 20 rows fetches W and uses each of its numbers 20 times, but a
# product of 400 rows uses it 400 times. Expect little all the same, because the products x W have
# only 6% of the multiplications. And a core has a small, fast memory, often of one or two
# megabytes: a **cache**, unrelated to the `cache` of a backward pass. W fits into it, so fetching W
# again is cheap.


# %% tags=["training"]
def time_products(M, name):
    """Print the times of T products of B rows with M, and of one product of T · B rows."""
    rows = np.random.default_rng(8).standard_normal((T * B, len(M)), np.float32)
    ms = medians(in_turns({"small": lambda: [x @ M for x in np.split(rows, T)],
                           "large": lambda: rows @ M}, 35, np.random.default_rng(9)))
    print(f"{name}: {T} products of {B} rows {ms['small']:.1f} ms, one of {T * B} rows "
          f"{ms['large']:.1f} ms")


W = np.random.default_rng(7).standard_normal((H, 4 * H), np.float32)
time_products(W, "x W")
time_change(InputsAtOnce, FirstWritten)

# %% [markdown]
# One large product is faster than twenty small ones (section 7 shows why). But the difference is
# about a hundredth of the step, so we cannot even be sure that change 1 saves anything.
#
# ## 2. The weight gradients can wait
#
# Which products of the backward loop are not needed by another time step? Step t − 1 needs only one
# product of step t: da_t Uᵀ. If we keep every da_t, the others can be computed after the loop:
#
#     ∂L/∂W = Σ_t x_tᵀ da_t = Xᵀ dA          X (T · B, H), dA (T · B, 4H): all t, row under row
#     ∂L/∂U = Σ_t h_{t−1}ᵀ da_t
#     ∂L/∂b = Σ_t da_t                       dX = dA Wᵀ
#
# Stack the rows of all time steps, and one product sums over texts and time steps together. In the
# loop, each `grads.W += …` made four passes over an array as large as W: it wrote the product, read
# it again, read `grads.W`, and wrote the sum.
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
# 4 bytes · T steps · 4 passes over W and U
print(f"inside the loop, the sums moved {4 * T * 4 * 2 * H * 4 * H / 1e6:.0f} MB per training step")

# %% [markdown]
# 102 MB sound expensive, but change 2 also replaces small products with large ones. Which of the
# two saves more? We time the products x_tᵀ da_t with and without their sum, and da_t Wᵀ.

# %% tags=["training"]
time_sums(T, B, H, 4 * H, "xᵀ da")
time_products(W.T, "da Wᵀ")
time_change(WeightsAtOnce, InputsAtOnce)

# %% [markdown]
# The sum for W costs the difference of the first two times. Twice that, for W and U, is little. The
# products da_t Wᵀ need no sum, yet making twenty instead of one costs more.
#
# The array hs has T + 1 states, and da has T steps. Which T states does the gradient of U need?
# This is an easy mistake:


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
# it, so the gradient needs hs[:-1]. The report names the line, but does not try hs[:-1] there.
#
# ## 3. All words at once
#
# Must the output layer be in the loop? No state depends on h_t Sᵀ, and in the backward pass, the
# output layer needs nothing from the recurrence. So it can take all T · B states at once.
#
# > **Exercise.** Write this version before you look at the next cell. Only `predict` is new: a
# > subclass of `WeightsAtOnce`, in five lines and without a loop. You need `as_rows(hs)`, which is
# > hs as (T · B, H), and `self.softmax_loss`, which takes any number of rows. Test it with
# > `check_same`.


# %%
class WordsAtOnce(WeightsAtOnce):
    def predict(self, hs, targets, scale, grads):
        x = as_rows(hs)                                        # (T · B, H)
        loss, dz = self.softmax_loss(x @ self.S.T, targets.ravel(), scale)
        grads.S += dz.T @ x
        grads.d += dz.sum(0)
        return loss, (dz @ self.S).reshape(hs.shape)


check_same(WordsAtOnce, WeightsAtOnce)
# 4 bytes · T steps · 4 passes over S
moved = 4 * T * 4 * V * H
print(f"S takes {4 * V * H / 1e6:.1f} MB; inside the loop, the sums moved {moved / 1e6:.0f} MB")
millions = T * B * V / 1e6
print(f"z has {millions:.1f} million numbers, which take {4 * millions:.1f} MB")

# %% [markdown]
# S is almost four times as large as W or U. Which costs more in the loop, the sums dz_tᵀ h_t, which
# moved 192 MB, or the small products h_t Sᵀ and dz_t S? (The price of having no loop: z exists for
# all time steps at once, see question 4.)

# %% tags=["training"]
S = np.random.default_rng(7).standard_normal((V, H), np.float32)
time_sums(T, B, V, H, "dzᵀ h")
time_products(S.T, "h Sᵀ")
time_products(S, "dz S")
time_change(WordsAtOnce, WeightsAtOnce)

# %% [markdown]
# Again, small products cost more than sums. Together, their extra times are more than two thirds of
# what change 3 saves, and h_t Sᵀ alone is about half.
#
# ## 4. One compiled loop for all gates
#
# Each of the two loops now contains one product and the gates. The gates of a time step make some
# fifty NumPy calls, and nearly every call makes a new array. That is a thousand calls per training
# step. Guess how many per cent of the time you save without them.
#
# Here we leave pure NumPy: numba compiles a Python loop to machine code. Such a compiled inner loop
# is a **kernel**. This one computes everything for one number before it goes on to the next, so
# intermediate results need no arrays.


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
# The library's `lstm_backward` does the same for the lines of `gates_backward`. The new version
# makes the arrays for all time steps before the loop, and step t writes its part of them. The
# method `times` returns the function that multiplies by U, which change 7 will replace.


# %% tags=["plain"]
class CompiledGates(WordsAtOnce):
    def forward(self, xs):
        a = (as_rows(xs) @ self.W + self.b).reshape(*xs.shape[:2], -1)         # (T, B, 4H)
        hs = np.zeros((len(xs) + 1, *xs[0].shape), xs.dtype)
        cs = np.zeros_like(hs)
        times_U = self.times(self.U, xs.shape[1])
        for t in range(len(xs)):
            a[t] += times_U(hs[t])
            lstm(a[t], cs[t], hs[t + 1], cs[t + 1])
        return hs[1:], (xs, hs, cs, a)                      # a has become i f g o of all t

    def back_in_time(self, dhs, cache):
        xs, hs, cs, kept = cache
        times_U_T = self.times(self.U.T, xs.shape[1])
        da = np.empty_like(kept)
        dh = np.zeros_like(xs[0])
        dc = np.zeros_like(xs[0])
        for t in reversed(range(len(xs))):
            dc_before = np.empty_like(dc)
            lstm_backward(dhs[t], dh, dc, kept[t], cs[t], cs[t + 1], da[t], dc_before)
            dh = times_U_T(da[t])
            dc = dc_before
        return da

    def times(self, M, rows):
        """A function r → r M, where r has this many rows: here, NumPy's product."""
        return lambda r: r @ M


check_same(CompiledGates, WordsAtOnce)

# %% [markdown]
# ## 5 and 6. One pass over large arrays
#
# The arrays of the gates take 16 KB each, so they stay in the cache. The arrays outside the loops
# are too large for it: z has 1.2 million numbers, and the update goes over 1.5 million weights. So
# the next two changes make fewer passes over them. Before we time all three changes:
#
# - Count the reads and writes per number of z in `softmax_loss`. (`z + d` reads each number and
#   writes a new one, which makes two, and `max` makes one.)
# - Count those per weight in `train_step`, without `loss_and_grad`.
# - Predict whether change 5 or 6 saves more.
#
# Change 5: a single row of z takes only 12 KB. So this kernel does everything to one row while the
# row is in the cache, and overwrites it with its gradient.


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

# %% [markdown]
# Change 6: the norm needs no new array, because `g @ g` is the sum of the squares. Once the norm is
# known, one pass is enough for the rest: instead of clipping the gradient, we lower the rate.


# %%
@njit
def sgd(w, g, rate):
    """w −= rate · g, then g = 0."""
    for k in range(len(w)):
        w[k] -= rate * g[k]
        g[k] = 0


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
time_change(CompiledGates, WordsAtOnce)
time_change(OnePassSoftmax, CompiledGates)
time_change(OnePassUpdate, OnePassSoftmax)

# %% [markdown]
# Change 4 avoids a thousand calls but saves only a few per cent, probably because the arrays of
# these calls stay in the cache. For the other two, these are the reads and writes, in the order of
# the lines:
#
# | per | first version | one pass |
# |---|---|---|
# | number of z | 2 + 1 + 2 + 2 + 1 + 2 + 2 + 2 = 14 | 2 |
# | weight | 1 + 3 + 2 + 2 + 3 = 11 | 1 + 4 = 5 |
#
# Change 5 avoids 12 for each of 1.2 million numbers, and change 6 avoids 6 for each of 1.5 million:
# 14 million against 9 million. So change 5 should save more. How much more, the count cannot say,
# because it leaves out e^x.
#
# ## 7. Few rows at full speed
#
# Two products are left in the loops: h_{t−1} U and da_t Uᵀ. Are they as fast as they could be?
#
# BLAS does not read U where it is. It first copies U into the order in which its inner loop reads
# it. This **packing** takes the same time for any number of rows. With 400 rows it hardly matters,
# but twenty products of 20 rows pack U twenty times. (Before changes 1 to 3, they also packed W, Wᵀ
# and S twenty times.)
#
# The NumPy that pip installs on Linux uses OpenBLAS. For processors with AVX-512, instructions for
# sixteen float32 numbers at once, it has kernels that do not pack. It uses them for products of at
# most 10⁶ multiplications.
#
# To see this limit, multiply ten rows by a matrix of 200 rows with more and more columns. Each
# multiplication counts as two operations, because of its addition. A last guess: at how many
# columns must the speed drop?

# %%
SMALL = 10**6       # a product is small up to this many multiplications
COLUMNS = (128, 256, 384, 448, 496, 512, 576, 640, 800)
normal = np.random.default_rng(5).standard_normal
# `aligned` starts an array at a multiple of 64 bytes (a cache line): no AVX-512 load needs two
ten = aligned(normal((10, H), np.float32))
sides = {n: products_of(ten, aligned(normal((H, n), np.float32))) for n in COLUMNS}
seconds = in_turns(sides, 15, np.random.default_rng(7))
print(blas_in_use())
rates = {n: rate(seconds[n], 10, H * n) for n in COLUMNS}
show(draw_columns(rates, SMALL // (10 * H)), "14_columns")

# %% [markdown]
# 10 · 200 · 500 is 10⁶. If your speed does not drop there, your BLAS has no such limit, and change
# 7 may save nothing.
#
# The products in our loops have 20 · 200 · 800 = 3,200,000 multiplications: too many. But a column
# of r M depends on only one column of M. So cut M, which is U or Uᵀ, into P groups of columns,
# the **panels**. By hand, with two panels M₁ and M₂:
#
#     r = [1 2]    M = [1 2 | 3 4]    r M₁ = [11 14]    r M₂ = [17 20]
#                      [5 6 | 7 8]    r M = [r M₁, r M₂] = [11 14 17 20]
#
# With four panels, each product has 800,000 multiplications, and BLAS packs nothing. The panels are
# stacked in one array, so one call of `np.matmul` computes all products.


# %% tags=["plain"]
class Panels:
    """M (K, C) in P panels, for products with r (rows, K)."""

    def __init__(self, M, rows):
        K, C = M.shape
        P = math.ceil(rows * K * C / SMALL)                 # enough to make every product small
        while C % P:                                        # all panels are equally wide
            P += 1
        self.panels = aligned(M.reshape(K, P, -1).transpose(1, 0, 2))           # (P, K, C / P)

    def times(self, r):
        """r (rows, K) → r M (rows, C)."""
        P, _, width = self.panels.shape
        y = np.empty((len(r), P, width), r.dtype)
        np.matmul(r, self.panels, out=y.transpose(1, 0, 2))         # r times each panel, into y
        return y.reshape(len(r), -1)


# %%
U = normal((H, 4 * H), np.float32)
for name, M in (("U", U), ("Uᵀ", U.T)):
    r = normal((B, len(M)), np.float32)
    panels = Panels(M, B)
    assert np.allclose(panels.times(r), r @ M, atol=1e-3)
    print(f"{name} {M.shape} in panels {panels.panels.shape} gives the same product")


# %%
class UInPanels(OnePassUpdate):
    def times(self, M, rows):
        return Panels(M, rows).times


check_same(UInPanels, OnePassUpdate)
check_same(UInPanels, FirstWritten)         # seven small differences could have added up
print(check(UInPanels))

# %% tags=["training"]
time_change(UInPanels, OnePassUpdate)

# %% [markdown]
# The products in the loops have only a small part of all operations (question 3), but packing made
# them expensive.
#
# ## How close did we come?
#
# Which products must every version compute? Each product y = r M of the forward pass needs two more
# in the backward pass, dr = dy Mᵀ and dM = rᵀ dy. The floor computes all of these and nothing else,
# with panels in the loop.


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
    once = []
    for rows, inner, columns in shapes_of_products(B)[:7]:
        once.append((normal((rows, inner), np.float32), normal((inner, columns), np.float32),
                     np.empty((rows, columns), np.float32)))
    in_loop = T * [(normal((B, len(M)), np.float32), Panels(M, B)) for M in (U, U.T)]
    return lambda: ([np.matmul(x, y, out=found) for x, y, found in once]
                    + [panels.times(r) for r, panels in in_loop])


# %% [markdown]
# Now time all eight versions and the floor in the same rounds. The last column is recorded.

# %%
VERSIONS = (FirstWritten, InputsAtOnce, WeightsAtOnce, WordsAtOnce, CompiledGates, OnePassSoftmax,
            OnePassUpdate, UInPanels)

# %% tags=["training"]
names = [kind.__name__ for kind in VERSIONS]
runs = {kind.__name__: run_of(kind) for kind in VERSIONS} | {"the floor": products(B)}
seconds = in_turns(runs, 35, np.random.default_rng(10))
print_table(seconds, names)
ms = medians(seconds)
floor = ms["the floor"]
title = (f"From {ms[names[0]] / floor:.2f} to {ms[names[-1]] / floor:.2f} times the floor "
         "(grey: too close to tell)")
show(draw_waterfall(seconds, names, title), "14_waterfall")

# %% [markdown]
# How do your guesses compare with this table? On the EPYC (last column), and probably on your
# machine, the first version takes about twice as long as the floor, change 1 saves nothing, and
# change 3 saves most, as the profile suggested: `predict` takes the largest share.
#
# The table and the lines above were measured minutes apart, so trust no difference of a few per
# cent: change 4 may be `faster` in its line and grey in the figure.
#
# *How close?* To about 1.2 times the floor on the EPYC. What is left above the floor is the
# softmax, the update, the gates, the rows of E, and Python between the calls. To save more than
# that, you need faster, smaller or fewer products.
#
# What each change saves depends on the model (question 5), and on the order of the changes: a loop
# that is gone cannot be made faster (question 1).

# %% [markdown]
# ## Where you are now
#
# This is the end of the course, except for the optional lesson 15, on local attention. It began
# with six words and a pencil: scores, weights, an average. You have derived and checked the
# gradients of these three steps, and of everything around them. And again and again, a measurement
# contradicted what seemed obvious:
#
# - An LSTM learnt nothing over 16 steps until its forget gate started open. A fixed vector failed
#   at 8 symbols, but not because its gradient vanished.
# - Before the word was known, a heatmap was little better than the diagonal. And a score that read
#   no source word translated.
# - Scrambled heads passed the gradient check. A broken beam search beat greedy search in BLEU.
# - On the Bible, a control without attention did about as well. An uncut state with fewer
#   parameters did better than the best cut. And sharp attention did not need distance.
#
# Now read the papers again, and then the code of this library.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | all words at once | one large matrix product (GEMM) instead of many |
# | the floor | lower bound; GEMM-only time |
# | panels | column blocks of the weights |
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
#    and which change saves most?
# 6. Name a mistake that `check_same` misses, and one that it finds but a gradient check misses.
# 7. The library's `LanguageModel` has all seven changes, and it also handles padding and layers.
#    Give it the weights of `UInPanels`, compare loss and gradients, and time both. What does the
#    generality cost?
