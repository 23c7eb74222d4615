# %% [markdown]
# # Lesson 14: how fast can it be?
#
# **You will be able to** find out where a training step spends its time, and make it faster without
# changing what it computes.
#
# **Needs:** lesson 03 and numba; question 2 also needs 06 and 09. **Time:** 45 minutes to read,
# about a minute to run.
#
# Write the training step of an LSTM language model directly from its equations, one time step after
# the other. It is correct, and slow. How slow? Nearly all of its multiplications are inside matrix
# products, and every version has to do them. The time of these products alone, each as fast as we
# can make it, is the **floor**.
#
# How close to the floor can we come? This lesson writes the obvious version first, and then makes
# five changes that save time and keep the results. Write down a guess now: does the first version
# take twice, three times, five or ten times as long as the floor?
#
# Times depend on the machine. The last table also has those of an AMD EPYC.

# %%
print("Lesson 14: how fast can it be?", flush=True)

import math
from dataclasses import dataclass

import numpy as np
from numba import njit
from course import caught, show
from speed_parts import (ARROWS, BOXES, blas_in_use, draw_columns, draw_waterfall, in_turns,
                         mark_loops, medians, print_change, print_profile, print_table, products_of,
                         rate, time_products, time_sums)

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
# (2014), but with one layer and a smaller vocabulary. A *training step* reads T words of each of B
# texts. A *time step* t reads one word of each text.
#
# The texts are random words, because the time of a product does not depend on the values in it.

# %%
V = 3000            # words in the vocabulary
H = 200             # numbers in a word's input vector, and in a state
T = 20              # time steps
B = 20              # texts in a batch
RATE = 1.0          # the learning rate
CLIP = 5.0          # the gradient's largest norm
rng = np.random.default_rng(1)
inputs = rng.integers(4, V, (T, B))
targets = rng.integers(4, V, (T, B))

# %%
title = ("The first version has all nine matrix products (blue) in its three loops (frames); "
         "dashed: from step to step")
show(mark_loops(plotting.diagram(BOXES, ARROWS, title=title)), "14_diagram")

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

    W: Array  # (H, 4H): input weights
    U: Array  # (H, 4H): recurrent weights
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
print(str(gradcheck(small, xs, rng=np.random.default_rng(6))).splitlines()[0])

# %% [markdown]
# The training step adds three things. Before the recurrence, each word becomes its row of E. After
# it, the *output layer* turns each state into a probability p for each of the V words; the loss is
# −log p of the word that came next. (`scale` = 1/B makes the gradients those of the loss *per
# text*.) The *update* clips the gradient's norm, as in lesson 02, and takes a step of SGD.


# %% tags=["plain"]
@dataclass(eq=False)
class FirstWritten(Recurrence):
    """The whole training step, as you would first write it."""

    E: Array  # (V, H): a row for each input word
    d: Array  # (V,): bias of the output layer
    S: Array  # (V, H): a row for each word that may come next

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
# `gradcheck` needs a `forward` and a `backward`. Our model computes both in one call, so `check`
# makes this call twice. Again, the sizes are tiny, and all different.


# %%
def created(kind, V, H, dtype=np.float32):
    """A model with random weights, the same for every kind."""
    shapes = [(H, 4 * H), (H, 4 * H), (4 * H,), (V, H), (V,), (V, H)]
    model = kind(*(np.empty(shape) for shape in shapes))
    return randomize(model, np.random.default_rng(2), 0.2).astype(dtype)


# %%
def check(kind):
    """The report of a gradient check with T = 4, B = 3, H = 2, V = 7."""
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
# A **profile** gives the time of the step and the share of each of its parts: the recurrence
# (`forward` and `backward`), the output layer (`predict`), the rows of E, and the update.
# (`keep_freed_memory` keeps freed memory for the next arrays, because getting it back from the
# system takes time.)

# %% tags=["training"]
keep_freed_memory()
print_profile(created(FirstWritten, V, H), inputs, targets, 15)

# %% [markdown]
# A change can barely save more than its part takes. So `predict` is where most can be saved. But we
# begin with the recurrence: what we learn from its products will serve for `predict` as well.
#
# The first version has passed its gradient check. So **each version must give what the previous one
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
# To time a change, `in_turns` runs both versions once per round, in a random order. So a machine
# that is busy for a while slows both alike. We print the median of the saved times and of the
# ratios. The brackets give the 10th and the 90th percentile of the ratios. If both are above 1, the
# verdict is `faster`; if both are below, `slower`; otherwise, `too close to tell`.


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
# ## 1. Which products can leave the loops?
#
# The recurrence makes six products per time step. Look at the diagram: which of them need a result
# of another time step?
#
# Only the two dashed ones, h_{t−1} U and da_t Uᵀ. The inputs are known from the start, so all x_t W
# can be computed before the forward loop. The other three need da_t. If we keep every da_t, they
# can be computed after the backward loop:
#
#     ∂L/∂W = Σ_t x_tᵀ da_t = Xᵀ dA          X (T · B, H), dA (T · B, 4H): all t, row under row
#     ∂L/∂U = Σ_t h_{t−1}ᵀ da_t
#     ∂L/∂b = Σ_t da_t                       dX = dA Wᵀ
#
# Stack the rows of all time steps, and one product sums over texts and time steps together.
#
# > **Exercise.** Write these products first: `numpy-attention exercise start weights-at-once`.


# %% tags=["plain"]
class WeightsAtOnce(FirstWritten):
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


check_same(WeightsAtOnce, FirstWritten)

# %% [markdown]
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
report = caught(lambda: gradcheck(wrong, xs, rng=np.random.default_rng(6)))

# %% [markdown]
# All shapes are right, yet the gradient of U is wrong. Each step multiplied U by the state *before*
# it, so the gradient needs hs[:-1]. The report names the line, but does not try this slice.
#
# One product of 400 rows has as many multiplications as twenty products of 20 rows. Does it save
# time all the same?

# %% tags=["training"]
W = np.random.default_rng(7).standard_normal((H, 4 * H), np.float32)
time_products(T, B, W, "x W")
time_products(T, B, W.T, "da Wᵀ")
time_change(WeightsAtOnce, FirstWritten)

# %% [markdown]
# The large products are faster. For x W, this is only about a hundredth of the step. But why is
# there a difference at all? And does da Wᵀ lose more on your machine, too? Section 5 finds out.
#
# ## 2. All words at once
#
# Must the output layer be in the loop? No state depends on h_t Sᵀ, and in the backward pass, the
# output layer needs nothing from the recurrence. So it can take all T · B states at once.
#
# > **Exercise.** Write this version before you look at the next cell: a subclass of
# > `WeightsAtOnce` with a new `predict`, in five lines and without a loop. `as_rows(hs)` is hs as
# > (T · B, H), and `self.softmax_loss` takes any number of rows. Test it with `check_same`.


# %%
class WordsAtOnce(WeightsAtOnce):
    def predict(self, hs, targets, scale, grads):
        x = as_rows(hs)                                        # (T · B, H)
        loss, dz = self.softmax_loss(x @ self.S.T, targets.ravel(), scale)
        grads.S += dz.T @ x
        grads.d += dz.sum(0)
        return loss, (dz @ self.S).reshape(hs.shape)


check_same(WordsAtOnce, WeightsAtOnce)
millions = T * B * V / 1e6
print(f"z has {millions:.1f} million numbers, which take {4 * millions:.1f} MB")
# 4 bytes · T steps · 3 passes over S
print(f"inside the loop, the sums moved {4 * T * 3 * V * H / 1e6:.0f} MB")

# %% [markdown]
# The price is memory: z exists for all time steps at once (question 4).
#
# What was slow in the loop? There are two suspects. After its product, each `grads.S += …` made
# three more passes over arrays as large as S: it read the product again, read `grads.S`, and wrote
# the sum. In a training step, this moved 144 MB. The other suspect is the small products. Which
# costs more?

# %% tags=["training"]
S = np.random.default_rng(7).standard_normal((V, H), np.float32)
time_sums(T, B, V, H, "dzᵀ h")
time_products(T, B, S.T, "h Sᵀ")
time_products(T, B, S, "dz S")
time_change(WordsAtOnce, WeightsAtOnce)

# %% [markdown]
# The sums cost less. Most was lost in the small products, above all in h_t Sᵀ.
#
# ## 3 and 4. One pass
#
# What is slow apart from the products? NumPy makes a pass over its arrays for each operation. Three
# parts of the step have many operations:
#
# - **The gates** make some fifty NumPy calls per time step, a thousand per training step.
# - **The softmax and its loss** go over z, which has 1.2 million numbers.
# - **The update** goes over 1.5 million weights.
#
# How much can a single pass save? For the gates, guess how many per cent. For the other two, count
# reads and writes. `z + d` reads each number of z and writes a new one, which makes two, and `max`
# makes one. Count the rest of `softmax_loss`, and then `train_step` per weight, without
# `loss_and_grad`. Which of the two will save more?
#
# Here we leave pure NumPy: numba compiles a Python loop to machine code, a **kernel**. This one
# computes all gates of one number before it goes on to the next.


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
# The library's `lstm_backward` does the same for `gates_backward`. Change 5 will replace the method
# `times`.


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

# %% tags=["training"]
time_change(CompiledGates, WordsAtOnce)

# %% [markdown]
# A thousand calls fewer, but only a few per cent of the time. Change 4 starts with the softmax. A
# core has a small, fast memory, which is also called a **cache**. It may be too small for the 4.8
# MB of z, but not for the 12 KB of a row. So this kernel does everything to one row before it goes
# on to the next, and overwrites it with its gradient.


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


# %% [markdown]
# In the update, `g @ g` is the sum of the squares. Once the norm is known, one pass is enough:
# instead of clipping the gradient, we lower the rate.


# %%
@njit
def sgd(w, g, rate):
    """w −= rate · g, then g = 0."""
    for k in range(len(w)):
        w[k] -= rate * g[k]
        g[k] = 0


# %%
class OnePass(OnePassSoftmax):
    def train_step(self, inputs, targets, grads):
        """grads must be 0 before the step, and is 0 after it."""
        loss = self.loss_and_grad(inputs, targets, grads)
        norm = np.sqrt(grads.vector @ grads.vector)
        sgd(self.vector, grads.vector, self.dtype.type(RATE * min(1, CLIP / norm)))
        return loss


check_same(OnePass, CompiledGates)
print(f"the update changes {created(OnePass, V, H).size / 1e6:.1f} million weights")

# %% tags=["training"]
time_change(OnePassSoftmax, CompiledGates)
time_change(OnePass, OnePassSoftmax)

# %% [markdown]
# For the two parts of change 4, these are the reads and writes, in the order of the lines:
#
# | per | first version | one pass |
# |---|---|---|
# | number of z | 2 + 1 + 2 + 2 + 1 + 2 + 2 + 2 = 14 | 2 |
# | weight | 1 + 3 + 2 + 2 + 3 = 11 | 1 + 4 = 5 |
#
# The softmax avoids 12 for each of 1.2 million numbers, the update 6 for each of 1.5 million: 14
# million against 9 million. So the softmax should save more. Does it, on your machine?
#
# ## 5. Few rows at full speed
#
# Why is one large product faster than twenty small ones?
#
# NumPy leaves its products to a library, **BLAS**. Before BLAS multiplies by a matrix, it copies
# the matrix into the order in which its inner loop reads it. This **packing** takes as long for 20
# rows as for 400. Twenty small products pack the matrix twenty times, and the loops still do this
# with U and Uᵀ.
#
# Can one multiply without packing? The NumPy that pip installs on Linux uses OpenBLAS. On
# processors with AVX-512, OpenBLAS does not pack for products of at most 10⁶ multiplications.
#
# Can you see this limit? Multiply ten rows by a matrix of 200 rows with more and more columns. At
# how many columns must the speed drop?

# %%
SMALL = 10**6       # a product is small up to this many multiplications
COLUMNS = (128, 256, 384, 448, 496, 512, 576, 640, 800)
normal = np.random.default_rng(5).standard_normal
# `aligned` starts an array at a multiple of 64 bytes, so no AVX-512 load crosses a cache line
ten = aligned(normal((10, H), np.float32))
sides = {n: products_of(ten, aligned(normal((H, n), np.float32))) for n in COLUMNS}
seconds = in_turns(sides, 15, np.random.default_rng(7))
print(blas_in_use())
rates = {n: rate(seconds[n], 10, H * n) for n in COLUMNS}
show(draw_columns(rates, SMALL // (10 * H)), "14_columns")

# %% [markdown]
# 10 · 200 · 500 is 10⁶. If your speed does not drop there, your BLAS has no such limit, and change
# 5 may save nothing.
#
# Our h_{t−1} U has 20 · 200 · 800 = 3,200,000 multiplications: too many. But each column of r M
# depends on only one column of M. So we can cut M into groups of columns, the **panels**. By hand,
# with two panels M₁ and M₂:
#
#     r = [1 2]    M = [1 2 | 3 4]    r M₁ = [11 14]    r M₂ = [17 20]
#                      [5 6 | 7 8]    r M = [r M₁, r M₂] = [11 14 17 20]
#
# With four panels of U, each product has 800,000 multiplications, and BLAS packs nothing. One call
# of `np.matmul` computes all four, because the panels are stacked in one array.


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
r = normal((B, H), np.float32)
M = normal((H, 4 * H), np.float32)
panels = Panels(M, B)
assert np.allclose(panels.times(r), r @ M, atol=1e-3)
print(f"M {M.shape} in panels {panels.panels.shape} gives the same product")

# %% [markdown]
# Back to the small products. Wᵀ and Sᵀ are transposed views, so the numbers of a row are far apart
# in memory. Copy them once, row by row, and packing should take less time. Cut them into panels,
# and it should take none.

# %% tags=["training"]
W_T = W.T.copy()
S_T = S.T.copy()
time_products(T, B, W.T, "da Wᵀ",
              {"copied": lambda x: x @ W_T, "in panels": Panels(W.T, B).times})
time_products(T, B, S.T, "h Sᵀ",
              {"copied": lambda x: x @ S_T, "in panels": Panels(S.T, B).times})

# %% [markdown]
# If your BLAS has the limit, the panels take little more time than the large product. So the lost
# time went into packing, most of it into packing a *transposed* matrix. Do panels of U and Uᵀ help
# in the loops?


# %%
class UInPanels(OnePass):
    def times(self, M, rows):
        return Panels(M, rows).times


check_same(UInPanels, OnePass)
check_same(UInPanels, FirstWritten)         # five small differences could have added up
print(check(UInPanels))

# %% tags=["training"]
time_change(UInPanels, OnePass)

# %% [markdown]
# ## How close did we come?
#
# The floor has all nine products and nothing else, with panels in the loop.


# %%
U = normal((H, 4 * H), np.float32)


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
# Now time all six versions and the floor in the same rounds. The last column was recorded earlier.
# (A grey bar in the figure means too close to tell.)

# %%
VERSIONS = (FirstWritten, WeightsAtOnce, WordsAtOnce, CompiledGates, OnePass, UInPanels)

# %% tags=["training"]
names = [kind.__name__ for kind in VERSIONS]
runs = {kind.__name__: run_of(kind) for kind in VERSIONS} | {"the floor": products(B)}
seconds = in_turns(runs, 35, np.random.default_rng(10))
print_table(seconds, names)
ms = medians(seconds)
floor = ms["the floor"]
title = f"From {ms[names[0]] / floor:.2f} to {ms[names[-1]] / floor:.2f} times the floor"
show(draw_waterfall(seconds, names, title), "14_waterfall")

# %% [markdown]
# How do your guesses compare with this table? On the EPYC, and probably on your machine, the first
# version takes about twice as long as the floor. Change 2 saves most, as the profile suggested.
# (The lines above come from other rounds, so they differ a little from this table. And each saving
# holds only for this order of the changes: question 1.)
#
# On the EPYC, the last version takes about 1.2 times as long as the floor. What takes this fifth?

# %% tags=["training"]
print_profile(created(UInPanels, V, H), inputs, targets, 15)

# %% [markdown]
# `predict` still takes the most, but nearly all of its time is in its three large products: add up
# their times in section 2. The rows of E and the update have no products at all, and `forward` and
# `backward` also contain the gates. To go below the floor, you need faster, smaller or fewer
# products.

# %% [markdown]
# ## Where you are now
#
# This is the end of the course, except for two optional lessons: 15, on local attention, and 16, on
# norms and residual connections. It began with six words and a pencil: scores, weights, an
# average. You have derived and checked the gradients of these three steps, and of everything around
# them. And again and again, a measurement contradicted what seemed obvious:
#
# - A fixed vector failed at 8 symbols, but not because its gradient vanished.
# - A score that read no source word translated.
# - Scrambled heads passed the gradient check, and a broken beam search beat greedy search in BLEU.
# - Adding up twenty gradients cost less than reading a matrix in the wrong order.
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
# | one pass | kernel fusion |
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
# | `elementary` | e^x, tanh and σ of a number, maximum and sum of a row, for kernels |
# | `lstm_backward` | compiled backward pass of a time step's gates |
# | `keep_freed_memory` | keeps freed memory for new arrays |
# | `plotting` | diagrams, colours, pictures |

# %% [markdown]
# ## Questions
#
# 1. Use `cross_entropy` in the first version, inside the loop, with 20 rows per call. Does it save
#    more there than after change 3, or less? Why?
# 2. Why can h_{t−1} U never be computed for all t at once, although a Transformer's products can?
#    Which products of lesson 06's decoder have to stay in its loop?
# 3. Count the operations of a training step from `shapes_of_products`. (A multiplication and its
#    addition are two.) What share of them is in the output layer, and what share in the loop? For
#    which V are the two equal?
# 4. What does version 5 keep in memory for its backward pass? Which of these arrays grow with T,
#    and which with V? With 10,000 words and T = 500, what would you make smaller first?
# 5. Take V = 200: letters, not words. Predict first: how far is the first version from the floor,
#    and which change saves most?
# 6. Name a mistake that `check_same` misses, and one that it finds but a gradient check misses.
# 7. The library's `LanguageModel` has all five changes, and it also handles padding and layers.
#    Give it the weights of `UInPanels`, compare loss and gradients, and time both. What does the
#    generality cost?
