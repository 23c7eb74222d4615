# %% [markdown]
# # Lesson 14: how fast can it be?
#
# **You will be able to** find where the time of a training step goes, and remove it without
# changing what is computed.
#
# **Needs:** lesson 03. **Time:** 70 minutes to read, about a minute to run.
#
# Write a training step of an LSTM language model as you read it, one time step after the other,
# and it is right, and slow. Where does the time go? And how fast *could* it be?
#
# The second question has an answer. The matrix products must be made, whoever makes them. Made
# alone, on arrays of the right shapes, they take a time that no rewriting of the rest can beat: a
# *floor*. You will write the step as one would first write it, then change one thing at a time,
# hold each version equal to the one before, and see how far each falls.
#
# Guess now. How many times as long as its products does the first version take: one and a half,
# two, five, ten times? And there will be seven changes:
#
# | change | what it is |
# |---|---|
# | 1 | the input products of all steps in one |
# | 2 | the weights' gradients in one product, after the loop |
# | 3 | the softmax over all words at once |
# | 4 | U and Uᵀ in panels, laid out once for all steps |
# | 5 | all gates of a step in one compiled loop |
# | 6 | softmax, loss and gradient in one pass, in place |
# | 7 | the update in one pass |
#
# Which one is worth most, and which least? Write it down.
#
# (`course.py` and `speed_parts.py` in the same folder have a clock, its statistics and the plots.)

# %%
print("Lesson 14: how fast can it be?", flush=True)

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from course import caught, show
from speed_parts import (blas_in_use, draw_panels, draw_rates, draw_waterfall, check_parts_add_up,
                         falls, in_turns, medians, ratio, rest_of, verdict)

from numpy_attention import plotting
from numpy_attention.data.batching.text_batches import TextBatch
from numpy_attention.gradcheck import gradcheck, randomize
from numpy_attention.kernels.gates import lstm, lstm_backward
from numpy_attention.kernels.softmax import cross_entropy
from numpy_attention.kernels.updates import sgd, squared_norm
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.module import Array, Module
from numpy_attention.validation.arrays import as_rows
from numpy_attention.training.optimizers import SGD
from numpy_attention.training.threads import keep_freed_memory

# %% [markdown]
# ## The step
#
# The model is lesson 03's, with one layer; its sizes are those of Zaremba et al. (2014), the small
# one, with a smaller vocabulary. A step reads T words of each of B texts, and learns from them.
#
# | letter | here | what it is |
# |---|---|---|
# | V | 3,000 | words |
# | H | 200 | numbers in a word's row, and in a state |
# | T | 20 | time steps |
# | B | 20 | texts side by side |
#
# The words are drawn at random. Nothing is learnt here, and a product takes as long for words that
# make no sense.

# %%
V = 3000
H = 200
T = 20
B = 20
RATE = 1.0          # of the learning
CLIP = 5.0          # the gradient's largest norm
rng = np.random.default_rng(1)
inputs = rng.integers(4, V, (T, B))
targets = rng.integers(4, V, (T, B))

# %%
boxes = {
    "x": ("xₜ = E[word]", 0, 1), "a": ("xₜ W + b", 1.8, 1, 0), "u": ("hₜ₋₁ U", 3.6, 0, 0),
    "h": ("gates: cₜ, hₜ", 3.6, 1), "z": ("hₜ Sᵀ + d", 5.6, 1, 0),
    "L": ("softmax, loss", 7.5, 1), "w": ("update", 9.5, 1),
}
arrows = [("x", "a"), ("a", "h"), ("u", "h", "", -0.3), ("h", "u", "", -0.3, True), ("h", "z"),
          ("z", "L"), ("L", "w", "gradient")]
title = "Products are blue; only the dashed way, from h to the next h, must go in steps"
show(plotting.diagram(boxes, arrows, title=title), "14_diagram")

# %% [markdown]
# ## Forward
#
# As one would first write it. A step of the LSTM, its gates one line each, and the same lines
# backwards (lesson 03 derives them):


# %%
def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def gates(a, c):
    """a (B, 4H), the cell before c (B, H) → h, the cell after, what backward needs."""
    a_i, a_f, a_g, a_o = np.split(a, 4, axis=1)
    i = sigmoid(a_i)
    f = sigmoid(a_f)
    g = np.tanh(a_g)
    o = sigmoid(a_o)
    tanh_c = np.tanh(f * c + i * g)
    return o * tanh_c, f * c + i * g, (c, i, f, g, o, tanh_c)


# %%
def gates_backward(dh, dc, kept):
    """From ∂L/∂h and ∂L/∂(cell after) to da, ∂L/∂(cell before)."""
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
# The recurrence is a loop over time, and a loop back. Count its products: two a step forward, four
# a step backward, one for each factor.


# %% tags=["plain"]
@dataclass(eq=False)
class Recurrence(Module):
    """x_t → h_t, one step after the other."""

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
        """∂L/∂h of all steps (T, B, H) → ∂L/∂xs."""
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
# Checked by itself, tiny and in float64. (`numpy-attention step 14` shows every array of it.)

# %%
xs = np.random.default_rng(4).standard_normal((4, 3, 2))        # 4 steps, 3 texts, 2 numbers
small = Recurrence(np.empty((2, 8)), np.empty((2, 8)), np.empty(8))
randomize(small, np.random.default_rng(5))
print(gradcheck(small, xs, rng=np.random.default_rng(6)))

# %% [markdown]
# Around it, words become rows, and states become a softmax over all V words, with the loss −log p
# of the word that came. `scale` is what the loss is divided by, one over B. Then the update: the
# gradient's norm is clipped (lesson 02), and the weights go one step down.


# %% tags=["plain"]
@dataclass(eq=False)
class FirstWritten(Recurrence):
    """The whole training step."""

    E: Array  # (V, H)      a row for each word that is read
    d: Array  # (V,)
    S: Array  # (V, H)      a row for each word that is said

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
        np.add.at(grads.E, inputs, dxs)              # a word may stand there twice
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
# Tiny sizes in float64, all of them different, and every gradient. This must be right before
# anything is made fast.


# %%
def created(kind, V, H, dtype=np.float32):
    """A model with random weights, the same for every kind."""
    shapes = [(H, 4 * H), (H, 4 * H), (4 * H,), (V, H), (V,), (V, H)]
    model = kind(*(np.empty(shape) for shape in shapes))
    return randomize(model, np.random.default_rng(2), 0.2).astype(dtype)


# %%
def check(kind):
    """The report of a gradient check: T = 4 steps, B = 3 texts, H = 2, V = 7."""
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
# From here on one check a version is enough: **it must give what the version before gave**, the
# loss, every gradient, and the weights after two steps. (One step would not show a gradient that is
# never set back to 0.) In float32, which trains, "the same" means to rounding: sums in another
# order differ in the last digits.


# %%
def parts_after_a_step(kind):
    """The loss, every gradient, and the weights after two steps, from the same weights."""
    model = created(kind, V, H)
    grads = model.zeros_like()
    loss = model.loss_and_grad(inputs, targets, grads)
    found = {"loss": np.array(loss)}
    found |= {f"d{name}": array.copy() for name, array in grads.named_parameters()}
    grads.vector[...] = 0
    for _ in range(2):
        model.train_step(inputs, targets, grads)
    return found | {"the weights after two steps": model.vector}


# %%
def check_same(kind, before):
    """AssertionError: a part that differs by more than rounding, with its name."""
    largest = 0.0
    theirs = parts_after_a_step(before)
    for name, ours in parts_after_a_step(kind).items():
        off = np.abs(ours - theirs[name]).max() / np.abs(theirs[name]).max()
        assert off < 1e-5, f"{kind.__name__}: {name} differs by {off:.1g} of its largest"
        largest = max(largest, off)
    print(f"{kind.__name__} gives what {before.__name__} gave, to {largest:.0e}", flush=True)


# %% [markdown]
# ## 1. What does not wait: the input products
#
# x_t W needs no state. So it need not stand in the loop: all T · B rows of x go through W in one
# product, before the first step. Only h_{t−1} U must wait, for h_{t−1}.
#
# The multiplications are as many as before. Then what is there to win? A product of 20 rows fetches
# all of W, and uses each number 20 times before the next one comes. One of 400 rows fetches it
# hardly more often, and uses it 400 times.
#
# Predict before you run: how many times as fast is a row among 1,000 as a row among 20? And in the
# backward pass, `da @ U.T`: does it matter that U.T is a *view*, U read across its rows, and not an
# array with its own memory?

# %%
ROWS = (1, 5, 10, 20, 50, 200, 1000)
numbers = np.random.default_rng(5)
U = numbers.standard_normal((H, 4 * H), np.float32)
U_T = np.ascontiguousarray(U.T)                     # (4H, H)
states = numbers.standard_normal((max(ROWS), H), np.float32)
slopes = numbers.standard_normal((max(ROWS), 4 * H), np.float32)
KINDS = {"h @ U": (states, U), "da @ U.T, a view": (slopes, U.T), "da @ U_T, a copy": (slopes, U_T)}


# %%
def repeats(rows):
    """How often a product of few rows is made, so that the clock can measure it."""
    return max(1, 100 // rows)


def products_of(x, W):
    """A function that makes the product x W, several times if x has few rows."""
    def run():
        for _ in range(repeats(len(x))):
            x @ W
    return run


def rate(seconds, rows, entries):
    """GFLOP/s of products of some rows with a matrix of `entries` numbers."""
    return 2 * rows * entries * repeats(rows) / np.median(seconds) / 1e9


def listed(rates):
    """{rows or columns: GFLOP/s} in one line."""
    return "   ".join(f"{n}: {each:.0f}" for n, each in rates.items())


# %% [markdown]
# `in_turns` runs all of them round after round, in a new random order each round, so that a machine
# that is busy for a while slows all of them alike. It counts the processor's time, in one thread. A
# product of n rows is 2 n · H · 4H operations: one multiplication and one addition for each entry
# of U.
#
# The speed depends on the *BLAS*, the library that makes NumPy's products, and on its *kernels*,
# the inner loops written for one kind of processor. OpenBLAS looks at the processor and chooses.
# (Unless the variable OPENBLAS_CORETYPE forces kernels for another one. People set it and forget
# it.)

# %%
print(blas_in_use())
sides = {(name, n): products_of(x[:n], W) for name, (x, W) in KINDS.items() for n in ROWS}
seconds = in_turns(sides, 9, np.random.default_rng(6))
rates = {name: {n: rate(seconds[name, n], n, U.size) for n in ROWS} for name in KINDS}
for name in KINDS:
    print(f"{name}, rows: GFLOP/s   ", listed(rates[name]))
title = "How fast a product is depends on its rows"
show(draw_rates(rates, title, "rows of the product"), "14_rows")

# %%
of_h = rates["h @ U"]
at_20 = {name: curve[20] for name, curve in rates.items()}
print(f"a row among 1,000 goes {of_h[1000] / of_h[20]:.1f} times as fast as among 20, "
      f"and {of_h[1000] / of_h[10]:.1f} times as fast as among 10")
print(f"at 20 rows the copy is {at_20['da @ U_T, a copy'] / at_20['da @ U.T, a view']:.1f} times "
      "as fast as the view")
print(f"U has {U.nbytes / 1e3:.0f} KB, S will have {4 * V * H / 1e6:.1f} MB")

# %% [markdown]
# If you guessed twenty times, look at the size of U. Where it fits into a core's own cache, it is
# fetched from there and not from memory, and there is much less to win. So expect little from this
# change. S is larger: keep that in mind for change 3. Why few rows are slow at all, and the view
# slower than the copy, is a puzzle that change 4 will solve.
#
# Now the change itself. One line leaves the loop:


# %% tags=["plain"]
class InputsAtOnce(FirstWritten):
    def forward(self, xs):
        of_inputs = as_rows(xs) @ self.W + self.b              # (T · B, 4H)
        U = self.laid_out(self.U, xs.shape[1])
        h = np.zeros_like(xs[0])
        c = np.zeros_like(xs[0])
        hs = [h]
        kept = []
        for a in np.split(of_inputs, len(xs)):
            h, c, of_step = gates(a + h @ U, c)
            hs.append(h)
            kept.append(of_step)
        hs = np.stack(hs)                           # (T + 1, B, H): the first one is 0
        return hs[1:], (xs, hs, kept)

    def laid_out(self, W, rows):
        """W for products x W with this many rows; change 4 will do better than nothing."""
        return W


check_same(InputsAtOnce, FirstWritten)

# %% [markdown]
# ## 2. What nobody waits for: the weights' gradients
#
# In the backward pass, only da_t Uᵀ is waited for, by the step before. The other products can be
# made after the loop, if every da_t is kept:
#
#     ∂L/∂W = Σ_t x_tᵀ da_t = Xᵀ dA          X (T · B, H), dA (T · B, 4H): all steps, row under row
#     ∂L/∂U = Σ_t h_{t−1}ᵀ da_t
#     ∂L/∂b = Σ_t da_t                       dX = dA Wᵀ
#
# The sum over t disappears into the product. What disappears with it is traffic: `grads.W += …` in
# the loop makes an array as large as W, reads it again, reads grads.W, and writes it back, in each
# of the T steps.
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
        """∂L/∂h of all steps → da of all steps (T, B, 4H)."""
        xs, hs, kept = cache
        U_T = self.laid_out(self.U.T, xs.shape[1])
        dh = np.zeros_like(xs[0])
        dc = np.zeros_like(xs[0])
        das = []
        for t in reversed(range(len(xs))):
            da, dc = gates_backward(dhs[t] + dh, dc, kept[t])
            das.append(da)
            dh = da @ U_T
        return np.stack(das[::-1])


check_same(WeightsAtOnce, InputsAtOnce)

# %% [markdown]
# Here sits the bug that everyone writes once. In the loop `hs[t].T @ da` was easy to read: the
# state that step t began with. Taken out of the loop, which of the T + 1 states belong to the T
# rows of da? Someone takes the last T:


# %%
class OneOff(WeightsAtOnce):
    def backward(self, dhs, cache, grads):
        xs, hs, *_ = cache
        da = as_rows(self.back_in_time(dhs, cache))
        grads.W += as_rows(xs).T @ da
        grads.U += as_rows(hs[1:]).T @ da
        grads.b += da.sum(0)
        return (da @ self.W.T).reshape(xs.shape)


def check_recurrence(kind):
    """A gradient check of the recurrence alone, which the report can follow line by line."""
    return gradcheck(created(kind, 7, 2, np.float64), xs, rng=np.random.default_rng(6))


report = caught(check_recurrence, OneOff)

# %% [markdown]
# Only U is wrong, and the report names its line. A model trained with this learns, and learns
# worse; no shape is wrong and nothing crashes. Every change that is made for speed needs such a
# check.
#
# ## 3. All words at once
#
# h_t Sᵀ is waited for by nobody at all, neither forward nor backward. So the output layer can have
# all T · B states at once. S is the largest array that a product reads here, and its gradient is as
# large. In the loop, each of the T steps makes an array of that size and adds it to `grads.S`.


# %%
class WordsAtOnce(WeightsAtOnce):
    def predict(self, hs, targets, scale, grads):
        x = as_rows(hs)                                        # (T · B, H)
        loss, dz = self.softmax_loss(x @ self.S.T, targets.ravel(), scale)
        grads.S += dz.T @ x
        grads.d += dz.sum(0)
        return loss, (dz @ self.S).reshape(hs.shape)


check_same(WordsAtOnce, WeightsAtOnce)
moved = 4 * T * 4 * V * H       # a step writes dzᵀ h, reads it and grads.S, writes grads.S; 4 bytes
print(f"the sum over t alone moved {moved / 1e6:.0f} MB a training step")
print(f"z (T · B, V) has {4 * T * B * V / 1e6:.1f} MB")

# %% [markdown]
# It has a price: z of all steps is in memory at once. (With a large vocabulary that is the largest
# array of all; the library makes it in blocks of 512 rows.)
#
# ## 4. Few rows at full speed: U in panels
#
# The loop still multiplies only 20 rows at a time, forward by U and backward by Uᵀ. (If two threads
# shared the batch, each would have ten.) The first picture shows what that costs. Why does a
# product of ten rows run at a fraction of the speed of a thousand? The arithmetic of a row is the
# same, and so is U.
#
# Look at how a product is made. BLAS does not read U where it is. It first copies U, block by
# block, into the order in which its inner loop wants to read it. This is called *packing*. Packing
# moves each of the K · N entries of a matrix once. The product then uses each entry B times, once
# for each row. A thousand rows pay for the copy. Ten do not. And packing a view costs more, because
# it reads across the rows.
#
# If this is the reason, the time of a product is a straight line over its rows:
#
#     time = packing + B · time of one row
#
# Draw the line through two points, 20 rows and 1,000. Then let it predict the points between and
# below.

# %%
time_of = {n: np.median(seconds["h @ U", n]) / repeats(n) for n in ROWS}
of_row = (time_of[1000] - time_of[20]) / (1000 - 20)
packing = time_of[20] - 20 * of_row
print(f"a row takes {1e6 * of_row:.2f} µs, packing {1e6 * packing:.0f} µs, as much as "
      f"{packing / of_row:.0f} rows")
for n in (200, 50, 10, 5):
    predicted = 2 * n * U.size / (packing + n * of_row) / 1e9
    print(f"{n} rows: the line predicts {predicted:.0f} GFLOP/s, measured {of_h[n]:.0f}")

# %% [markdown]
# The line is crude, but it should get the fall from 200 rows to 10 roughly right. Now look at five
# rows. On the machine where this was written (AMD EPYC, OpenBLAS with its SkylakeX kernels), five
# rows were far *faster* than the line allows, and faster than ten. A product cannot beat its own
# packing. So somebody must have left the packing out.
#
# OpenBLAS does so on purpose. For processors with AVX-512 it has *small-matrix kernels*, which read
# a matrix where it is. It uses them when a product is small: rows × inner × columns of at most 10⁶.
# Five rows through U are 5 · 200 · 800 = 800,000 multiplications. Ten are 1,600,000.
#
# That is a claim, and a claim can be tested. Take ten rows, a matrix with 200 rows, and more and
# more columns. At how many columns must the speed drop?

# %%
WIDTH = 64          # columns of a panel, see below
SMALL = 10**6       # multiplications of the largest small product
COLUMNS = (64, 128, 256, 384, 448, 496, 512, 576, 640, 800)
sides = {n: products_of(states[:10], np.ascontiguousarray(U[:, :n])) for n in COLUMNS}
seconds = in_turns(sides, 15, np.random.default_rng(7))
print("ten rows, columns: GFLOP/s   ",
      listed({n: rate(seconds[n], 10, H * n) for n in COLUMNS}))
print(f"the limit is at {SMALL // (10 * H)} columns; per column, 496 are "
      f"{ratio(seconds[496] / 496, seconds[512] / 512)} times as fast as 512")

# %% [markdown]
# If the speed falls off a cliff at 500 columns, your BLAS has small-matrix kernels. If that last
# factor is near 1, it has none, or other limits. OpenBLAS's Haswell kernels, for example, pack
# every product. Then panels will not make your products faster, and may make them a little slower.
# A whole training step will hardly change either way. You will see it in your own figures.
#
# The cliff suggests a trick. Cut W into *panels* of 64 columns. The columns of a product do not
# depend on each other, so each panel gives its own columns of the result:
#
#     x W = x [W₁ W₂ … ] = [x W₁, x W₂, …]          W_p (K, 64)
#
# Each product x W_p is small: 20 · 200 · 64 is 256,000. Stack the panels into one array (P, K, 64),
# and one call of `np.matmul` makes all P products. Every panel is laid out contiguously, so that a
# small-matrix kernel reads it from end to end.
#
# Laying out the panels is a copy of W, too. It is packing by hand. But BLAS packs U for each of the
# T products, since it cannot know that U will be the same next time. We know: U does not change
# within a training step. So we pack it once.


# %%
def in_panels(W):
    """W (K, P · 64) → (P, K, 64), one contiguous panel after the other."""
    return np.ascontiguousarray(W.reshape(len(W), -1, WIDTH).transpose(1, 0, 2))


x = states[:B]
W = U[:, :768]                                      # 12 panels
y = np.matmul(x, in_panels(W))                      # 12 results (B, 64)
assert np.allclose(y.transpose(1, 0, 2).reshape(B, -1), x @ W, rtol=1e-4, atol=1e-4)

# %% [markdown]
# Two details are missing. U has 800 columns, twelve panels and a half, so the columns that are left
# over get a product of their own. And da Uᵀ has an inner dimension of 4H. Its panels need
# 20 · 800 · 64 = 1,024,000 multiplications, just too many. Cut such panels across as well, and add
# the products of the parts:
#
#     x W = [x₁ x₂] [W₁; W₂] = x₁ W₁ + x₂ W₂          W₁ above W₂


# %% tags=["plain"]
class Panels:
    """W (K, N), laid out for products x @ Panels(W, B) with x (B, K)."""

    __array_ufunc__ = None                          # NumPy then leaves x @ panels to __rmatmul__

    def __init__(self, W, rows):
        K, self.columns = W.shape
        self.whole = self.columns // WIDTH * WIDTH
        parts = math.ceil(rows * K * WIDTH / SMALL)
        self.inner = math.ceil(K / parts)
        self.parts = [in_panels(W[start:start + self.inner, :self.whole])
                      for start in range(0, K, self.inner)]
        self.rest = np.ascontiguousarray(W[:, self.whole:])

    def __rmatmul__(self, x):
        y = np.empty((len(x), self.columns), x.dtype)
        np.matmul(x, self.rest, out=y[:, self.whole:])
        # the other columns, seen as panels (P, B, 64): a view, so that no result is copied
        panels = y[:, :self.whole].reshape(len(x), -1, WIDTH).transpose(1, 0, 2)
        np.matmul(x[:, :self.inner], self.parts[0], out=panels)
        for n, part in enumerate(self.parts[1:], 1):
            panels += np.matmul(x[:, n * self.inner:(n + 1) * self.inner], part)
        return y


# %% [markdown]
# `x @ Panels(W, B)` must be `x @ W`, for U and for the view U.T, here and in a larger model with
# 1,024 numbers in a state:

# %%
LARGE = 1024
large = numbers.standard_normal((LARGE, 4 * LARGE), np.float32)
FEW = (1, 5, 10, 20, 50, 200)
inputs_of = {}                                      # {size: (U, states, slopes)}
for size, matrix in ((H, U), (LARGE, large)):
    inputs_of[size] = (matrix, numbers.standard_normal((max(FEW), size), np.float32),
                       numbers.standard_normal((max(FEW), 4 * size), np.float32))
    matrix, h, da = inputs_of[size]
    for x, W in ((h, matrix), (da, matrix.T)):
        for n in FEW:
            panels = Panels(W, n)
            y = x[:n] @ W
            assert np.abs(x[:n] @ panels - y).max() < 1e-5 * np.abs(y).max()
    print(f"H = {size}: panels give the plain products; at {B} rows U.T is cut into "
          f"{len(Panels(matrix.T, B).parts)} parts across")

# %% [markdown]
# Now measure again. The layout is made before the clock starts, because a training step makes it
# once and uses it T times. Predict the shape of the new curve before you look. And where should it
# cross the old one?

# %%
def with_and_without(matrix, h, da):
    """{(name, rows): seconds} of products with U and U.T as they are, and in panels."""
    sides = {}
    for n in FEW:
        sides["h @ U", n] = products_of(h[:n], matrix)
        sides["h @ panels", n] = products_of(h[:n], Panels(matrix, n))
        sides["da @ U.T", n] = products_of(da[:n], matrix.T)
        sides["da @ panels", n] = products_of(da[:n], Panels(matrix.T, n))
    return in_turns(sides, 5, np.random.default_rng(8))


# %%
curves = {}
for size, arrays in inputs_of.items():
    seconds = with_and_without(*arrays)
    curves[size] = {}
    for name in ("h @ U", "h @ panels", "da @ U.T", "da @ panels"):
        curves[size][name] = {n: rate(seconds[name, n], n, 4 * size**2) for n in FEW}
        print(f"H = {size}, {name}, rows: GFLOP/s   ", listed(curves[size][name]))
    for n in (10, 20):
        print(f"H = {size}, {n} rows: panels are",
              ratio(seconds["h @ panels", n], seconds["h @ U", n]), "times as fast for U,",
              ratio(seconds["da @ panels", n], seconds["da @ U.T", n]), "times for U.T")
show(draw_panels(curves), "14_panels")

# %% [markdown]
# With small-matrix kernels, ten rows should now come much closer to the speed of hundreds, and the
# larger matrix should gain more. Towards the right the advantage goes: many rows pay for their
# packing, and panels that are cut across into many parts cost a pass over the result for each part.
# One row has little to gain either, because BLAS does not pack for a product with a vector. Five
# rows of H = 200 make a small product without panels: 5 · 200 · 800 = 800,000. So a program has to
# choose by size. The library does this in `few_rows` (`numpy_attention/products.py`). Its `Panels`
# are the ones you just saw.
#
# The change itself is one line. How much will it bring? Count the products in the loop before you
# guess: with H = 200 they are little more than a tenth of all operations.


# %%
class UInPanels(WordsAtOnce):
    def laid_out(self, W, rows):
        return Panels(W, rows)


check_same(UInPanels, WordsAtOnce)

# %% [markdown]
# ## 5. One compiled loop for all gates
#
# Count what NumPy does for the gates of one step. σ alone is four calls: −a, its exponential, 1 + …
# and 1 / …. Each call is looked up by Python, makes a new array, and goes through memory once from
# end to end. Forward and backward it is some fifty calls a step, on arrays of B · H numbers, which
# is little work for so much asking.
#
# A compiled loop does all of it for one number, then for the next, and what lies between stays in
# the processor's registers. `lstm` in `numpy_attention/kernels/gates.py` is these lines, for row b:
#
#     for j in range(H):
#         i[j] = sigmoid(a_i[j] + u_i[j])
#         …                                               likewise f, g, o
#         c_next[j] = f[j] * c[j] + i[j] * g[j]
#         h_next[j] = o[j] * tanh(c_next[j])
#
# It is Python, made into machine code by numba. The arrays of all steps are made before the loop,
# and step t writes its places in them.


# %% tags=["plain"]
class CompiledGates(UInPanels):
    def forward(self, xs):
        a = (as_rows(xs) @ self.W + self.b).reshape(*xs.shape[:2], -1)         # (T, B, 4H)
        kept = np.empty_like(a)                             # i f g o of all steps
        hs = np.zeros((len(xs) + 1, *xs[0].shape), xs.dtype)
        cs = np.zeros_like(hs)
        U = self.laid_out(self.U, xs.shape[1])
        for t in range(len(xs)):
            lstm(a[t], hs[t] @ U, cs[t], kept[t], hs[t + 1], cs[t + 1])
        return hs[1:], (xs, hs, cs, kept)

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


check_same(CompiledGates, UInPanels)

# %% [markdown]
# (Could the new dc be written over the old one, and save an array? It would be right. But a
# processor takes eight or sixteen numbers at once only if what it writes is not among what it is
# still to read. The compiled loop looks whether its arrays overlap, and if they do, goes number by
# number: question 9.)
#
# ## 6. Softmax and loss in one pass
#
# `softmax_loss` goes through arrays as large as z again and again: z + d, its maximum, the
# difference, e, its sum, p, the copy, the product with scale. They are far larger than a core's own
# cache, so each goes out to memory and comes back. The kernel takes a row of z, which does fit,
# does all of it, and leaves the gradient where z was. No second array is ever made.


# %%
class OnePassSoftmax(CompiledGates):
    def softmax_loss(self, z, wanted, scale):
        losses = np.empty(len(z))
        cross_entropy(z, self.d, wanted, z.dtype.type(scale), losses)
        return losses.sum(), z                              # z is ∂(scale · loss)/∂z now


check_same(OnePassSoftmax, CompiledGates)

# %% [markdown]
# ## 7. One pass for the update
#
# The update of the first version sets g to 0, squares it into a new array, adds that up, makes a
# clipped copy, multiplies it by the rate into another one, and subtracts that. Two passes are
# enough. The first gives the norm. The second reads w and g once, writes w, and leaves 0 in g for
# the next step, where it has g at hand anyway. The clipping is a factor of the rate.


# %%
class OnePassUpdate(OnePassSoftmax):
    def train_step(self, inputs, targets, grads):
        """The gradient must be 0 before, and is 0 after."""
        loss = self.loss_and_grad(inputs, targets, grads)
        norm = np.sqrt(squared_norm(grads.vector))
        rate = RATE * min(1, CLIP / norm)
        sgd(self.vector, grads.vector, self.dtype.type(rate))
        return loss


check_same(OnePassUpdate, OnePassSoftmax)
check_same(OnePassUpdate, FirstWritten)
print(check(OnePassUpdate))

# %% [markdown]
# The last version is held to the first one, too: seven small differences could have added up. And
# its gradients are checked in float64 by themselves.
#
# ## The library, and the floor
#
# The library's `LanguageModel` makes the same changes. It has the same six arrays under other
# names, so that its weights can be ours:


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
found = parts_after_a_step(OnePassUpdate)
assert np.allclose(loss, found["loss"], rtol=1e-6)
for name, gradient in by_our_names(theirs).items():
    ours = found[f"d{name}"]
    assert np.allclose(gradient, ours, rtol=0, atol=1e-5 * np.abs(ours).max()), name
print("the library's model gives the same loss and gradients")

# %% [markdown]
# The floor: the products of a step, and nothing else. For each product y = x W there are two
# backward, dx = dy Wᵀ and dW = xᵀ dy. Every factor is laid out as the product likes it best, those
# of the loop in panels, and a large result goes to an array that exists already.


# %%
def shapes_of_products(B):
    """The products of a training step as (rows, inner, columns)."""
    N = T * B
    once = [(N, H, 4 * H), (N, 4 * H, H), (H, N, 4 * H)]            # x W and its two
    once += [(H, N, 4 * H)]                                         # ∂L/∂U
    once += [(N, H, V), (N, V, H), (V, N, H)]                       # h Sᵀ and its two
    return once + T * [(B, H, 4 * H), (B, 4 * H, H)]                # h U, da Uᵀ: every step


def products(B):
    """A function that makes them."""
    normal = np.random.default_rng(8).standard_normal
    once = []
    for rows, inner, columns in shapes_of_products(B)[:7]:
        once.append((normal((rows, inner), np.float32), normal((inner, columns), np.float32),
                     np.empty((rows, columns), np.float32)))
    in_loop = T * [(states[:B], Panels(U, B)), (slopes[:B], Panels(U.T, B))]
    return lambda: ([np.matmul(x, y, out=found) for x, y, found in once]
                    + [x @ W for x, W in in_loop])


# %% [markdown]
# ## Memory that comes back
#
# One thing before we measure. A large array that is freed is handed back to the operating system,
# and the next one is fetched anew, page by page, each page set to 0 first. A step that makes and
# frees the same arrays every time pays for that every time. The C library on Linux can be asked to
# keep what is freed. (Elsewhere `keep_freed_memory` does nothing. And where large arrays have come
# and gone for a while, the library keeps some by itself. Then both numbers agree.) Which of the
# three versions below has most to gain? Think of what each makes anew.


# %% tags=["training"]
def step_of(kind):
    """A function that makes a training step of a model of that kind."""
    model = created(kind, V, H)
    grads = model.zeros_like()
    return lambda: model.train_step(inputs, targets, grads)


three = {kind.__name__: step_of(kind) for kind in (FirstWritten, WordsAtOnce, OnePassUpdate)}
handed_back = medians(in_turns(three, 9, np.random.default_rng(9)))
keep_freed_memory()
kept_there = medians(in_turns(three, 9, np.random.default_rng(9)))
for name in three:
    print(f"{name}: memory handed back {handed_back[name]:.1f} ms, kept {kept_there[name]:.1f} ms")

# %% [markdown]
# Arrays that are never made need not be fetched. From here on all versions have their memory kept,
# the first one, too: what follows is the worth of the changes alone.
#
# ## The waterfall
#
# Nine versions and the floor, in turns. Beside each time stands how many times as fast it is as the
# version before: the middle round, and in brackets the middle half of the rounds. Where the
# brackets hold 1, this run cannot tell the two apart; such a bar is grey.


# %% tags=["training"]
def step_of_library():
    """The same with the library's model and optimizer."""
    grads = library.zeros_like()
    optimizer = SGD(RATE)

    def step():
        library.loss_and_grad(batch, None, 1 / B, grads)
        norm = np.sqrt(squared_norm(grads.vector))
        optimizer.update(library.vector, grads.vector, {}, 1, factor=min(1, CLIP / norm))
    return step


# %% tags=["training"]
LADDER = {
    "as first written": FirstWritten,
    "1 inputs at once": InputsAtOnce,
    "2 weights at once": WeightsAtOnce,
    "3 words at once": WordsAtOnce,
    "4 U in panels": UInPanels,
    "5 compiled gates": CompiledGates,
    "6 softmax in one pass": OnePassSoftmax,
    "7 update in one pass": OnePassUpdate,
}
steps = {name: step_of(kind) for name, kind in LADDER.items()}
steps["the library's own"] = step_of_library()
versions = list(steps)

# %% [markdown]
# What is left of the last version beside its products? Its kernels run alone in the same rounds,
# and the products of half of the rows, for a question about two threads.


# %% tags=["training"]
def all_gates():
    """The kernels of all T steps, forward and backward."""
    a, u, kept, da = np.zeros((4, B, 4 * H), np.float32)
    h, c, c_next, dh, dc, dc_before = np.zeros((6, B, H), np.float32)

    def run():
        for _ in range(T):
            lstm(a, u, c, kept, h, c_next)
            lstm_backward(h, dh, dc, kept, c, c_next, da, dc_before)
    return run


# %% tags=["training"]
def softmax():
    """The kernel for all words."""
    z = np.zeros((T * B, V), np.float32)
    losses = np.empty(T * B)
    d = np.zeros(V, np.float32)
    wanted = targets.ravel()
    return lambda: cross_entropy(z, d, wanted, np.float32(1 / B), losses)


def update():
    """The two passes."""
    w = created(FirstWritten, V, H).vector
    g = np.zeros_like(w)
    return lambda: sgd(w, g, np.float32(squared_norm(g)))


# %% tags=["training"]
parts = {"products": products(B), "softmax": softmax(), "update": update(), "gates": all_gates()}
sides = steps | parts | {"half of the rows": products(B // 2)}
seconds = in_turns(sides, 35, np.random.default_rng(10))
ms = medians(seconds)
before = None
for name in versions:
    told = f"{name:<22} {ms[name]:6.1f} ms"
    if before:
        told += f"   {ratio(seconds[name], seconds[before])} times as fast as the one before: "
        told += verdict(seconds[name], seconds[before])
    print(told)
    before = name
print(f"{'the products alone':<22} {ms['products']:6.1f} ms")

# %% tags=["training"]
first = ms[versions[0]]
last = ms[versions[-1]]
floor = ms["products"]
taken = falls(ms, versions)
check_parts_add_up(first, [*taken.values(), last])
best = max(taken, key=taken.get)
print(f"the first version takes {first / floor:.1f} times as long as its products, the library's "
      f"{last / floor:.2f} times")
print(f"worth most: {best}, {taken[best] / (first - last):.0%} of all that was taken off")
title = (f"From {first / floor:.1f} to {last / floor:.1f} times the time of the products; "
         f"worth most: {best}")
show(draw_waterfall(seconds, versions, floor, title), "14_waterfall")

# %% [markdown]
# Compare with what you wrote down. On the machine where this was written, with OpenBLAS's SkylakeX
# kernels, the first version took two and a half times as long as its products. That is not ten
# times: most of the work was in BLAS from the start, and NumPy called in a loop is not a slow
# program. One change, the words at once, was worth about as much as all others together. The rest
# came in small pieces, a few per cent each. And each of those was small only because the output
# layer is large: the worth of a change is a share of *this* step. Question 5 asks for another one.
#
# The bars also depend on their order. A change that removes traffic is worth more while the rest is
# slow memory work, and a loop that is gone cannot be made faster any more (question 1).
#
# ## Panels in a larger model
#
# Change 4 is a small bar, because the loop is a small part of this model. Zaremba's larger models
# have 650 and 1,500 numbers in a state. The operations in the loop grow with H², those of the
# output layer with H. And with small-matrix kernels, panels gain more on a larger matrix. So take
# H = 1,024, with all 20 texts, and with the ten that one of two threads would have. The version to
# compare with has a contiguous copy of Uᵀ, which is what a program without panels should have.


# %% tags=["training"]
class WithoutPanels(OnePassUpdate):
    def laid_out(self, W, rows):
        return np.ascontiguousarray(W)              # copies U.T, and returns U itself


check_same(WithoutPanels, OnePassUpdate)
sides = {}
for kind in (WithoutPanels, OnePassUpdate):
    model = created(kind, V, LARGE)
    grads = model.zeros_like()
    for texts in (B // 2, B):
        batch_of = inputs[:, :texts], targets[:, :texts]
        sides[kind.__name__, texts] = partial(model.train_step, *batch_of, grads)

# %% tags=["training"]
large_seconds = in_turns(sides, 9, np.random.default_rng(11))
large_ms = medians(large_seconds)
for texts in (B // 2, B):
    names = ("OnePassUpdate", texts), ("WithoutPanels", texts)
    one, other = (large_seconds[name] for name in names)
    print(f"H = {LARGE}, {texts} texts: {large_ms[names[1]]:.0f} ms without panels, "
          f"{large_ms[names[0]]:.0f} ms with panels: {ratio(one, other)} times as fast, "
          f"{verdict(one, other)}")

# %% [markdown]
# One page of NumPy, and no new kernel. But it depends on a limit inside OpenBLAS, which another
# BLAS need not have, and which the next version may move. Such a change has to be measured again on
# every machine that matters. It can never make a result wrong: it is held equal to the plain
# product, whatever its speed.
#
# ## What is left
#
# The last version less its products is what could be won at most, by whatever means:

# %% tags=["training"]
of_last = ms["7 update in one pass"]
shares = {name: ms[name] / of_last for name in parts}
shares["the rest"] = rest_of(shares)
check_parts_add_up(1, shares.values())
print("of version 7:", *(f"{name} {share:.1%}," for name, share in shares.items()), "in all 100 %")
print(f"if everything but the products took no time at all, it would be "
      f"{of_last / floor:.2f} times as fast")

# %% [markdown]
# *The rest* is what nobody has measured by itself: rows of E taken and added to, sums over rows,
# arrays made, Python between the calls; and products that find less in the cache than they do when
# they run alone. (In a noisy run it can be anything, for it is a difference.) The share of the
# products is the number to know about a program such as this. Once it is near 1, only fewer or
# smaller products help: another model, not another way to write it.
#
# ## Two threads
#
# A second core could take half of the texts: the loss is a sum over rows, and so is its gradient.
# Would two threads be twice as fast? Each still fetches all of U, W and S, for half as many rows.
# How long one thread takes for half of the rows can be measured with one thread:

# %% tags=["training"]
bound = ratio(seconds["half of the rows"], seconds["products"])
print(f"two threads, half of the rows each: the products at best {bound} times as fast")

# %% [markdown]
# That is the bound for products that get in nobody's way. Then each thread needs a gradient of its
# own, and the two must be added: one more pass over all parameters. They share memory, some of the
# cache, and Python's lock between two calls. Small steps lose by it, and so the library's `Trainer`
# chooses the number of threads by the size of a step. This lesson keeps to one, for a second reason
# as well: on two cores a second thread would measure whatever else the machine is doing.
#
# ## What did not pay
#
# Before the panels we tried something else: a product of our own, written for just this shape. It
# was a numba kernel that took four rows by four or eight columns at a time. On an AMD EPYC, in one
# thread, with 12 rows and a matrix of 200 × 800, it made 73 to 83 GFLOP/s, where OpenBLAS with its
# Haswell kernels and a contiguous matrix made 67 to 79. From 64 rows on OpenBLAS made 95 to 97, and
# ours 80. That was worth one or two per cent of a step, for a page of code that the next processor
# might not like. We threw it away.
#
# The panels came from a better question. Instead of "can we write a faster product?" we asked "why
# is this product slower than that one?". The answer was in the library all along.
#
# Most ideas about speed end as the first one did. The remedy is the same as in lesson 13: a floor,
# a version to compare with, and turns. Measure first, and stop when the floor is near.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | all words at once | batched matrix product |
# | the floor | roofline; the time of the matrix products alone |
# | panels | packed or blocked weights |
# | gates in one loop | kernel fusion |
# | two threads, half of the rows each | data parallelism |
# | a row among many | arithmetic intensity |
#
# All terms are in the [glossary](../docs/site/glossary.md).
#
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |
# | `as_rows` | (T, B, …) as (T · B, …) |
# | `gradcheck` | compares a backward pass with central differences |
# | `randomize` | gives every parameter random values |
# | `lstm` | all gates of a step, compiled |
# | `lstm_backward` | their backward pass, compiled |
# | `cross_entropy` | bias, softmax, loss and its gradient in one pass, compiled |
# | `squared_norm` | Σ g², compiled |
# | `sgd` | w −= rate · g, then g = 0, compiled |
# | `LanguageModel` | the library's model, for comparison |
# | `SGD` | its optimizer |
# | `TextBatch` | a window of text, as its models read it |
# | `keep_freed_memory` | asks the C library not to hand freed memory back |
# | `plotting` | diagrams, colours, pictures as files |

# %% [markdown]
# ## Questions
#
# 1. Make change 6 right after the first version, in the loop, with 20 rows a call. Is it worth more
#    or less there than at its place in the ladder? Why is "this change brings so much" no property
#    of a change?
# 2. Why can h_{t−1} U never be made for all steps at once, while a Transformer's products can? And
#    which of the products of lesson 06's decoder have to stay in its loop?
# 3. Count the operations of a training step from `shapes_of_products`. Which share has the output
#    layer, and which share stands in the loop? For which V are the two equal?
# 4. What does version 7 keep in memory for its backward pass? Which of it grows with T, and which
#    with V? Where would you cut first, with 10,000 words and 500 steps?
# 5. Take V = 200 in place of 3,000: letters, not words. Predict first: how far is the first version
#    from its floor now, and which change is worth most?
# 6. `check_same` passes for all seven changes. Name a mistake that it cannot see, and one that it
#    sees and a gradient check does not.
# 7. In the first picture, look at one row and at five. Is the copy faster than the view there, too?
#    What does a product of one row wait for?
# 8. Someone hoists boldly, and takes `da @ U_T` of all steps out of the loop as well. What does
#    `check_same` say, and why must it?
# 9. Let `lstm_backward` write its new dc over the old one. Are the gradients the same, to the last
#    digit? How long do the T steps of both kernels take then?
# 10. How many products must use a layout before it has paid for itself? Measure how long
#    `Panels(U, 10)` takes, and a product of ten rows with and without. Is the answer the same for
#    H = 1,024? And what does it say about writing a text one word at a time, where weights never
#    change?
