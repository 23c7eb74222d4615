# %% [markdown]
# # Lesson 14: how fast can it be?
#
# Write a training step of an LSTM language model as you read it, one time step after the other,
# and it is right, and slow. Where does the time go? And how fast *could* it be?
#
# The second question has an answer. The matrix products must be made, whoever makes them. Made
# alone, on arrays of the right shapes, they take a time that no rewriting of the rest gets below: a
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
# | 4 | a copy of Uᵀ in place of the view |
# | 5 | all gates of a step in one compiled loop |
# | 6 | softmax, loss and gradient in one pass, in place |
# | 7 | the update in one pass |
#
# Which one is worth most, and which least? Write it down.
#
# | from the package | what it is |
# |---|---|
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |
# | `as_rows` | (T, B, …) as (T · B, …) |
# | `gradcheck` | compares a backward pass with central differences |
# | `randomize` | gives every parameter random values |
# | `lstm` | all gates of a step, compiled |
# | `lstm_backward` | their way back, compiled |
# | `cross_entropy` | bias, softmax, loss and its gradient in one pass, compiled |
# | `squared_norm` | Σ g², compiled |
# | `sgd` | w −= rate · g, then g = 0, compiled |
# | `LanguageModel` | the library's model, for comparison |
# | `SGD` | its optimizer |
# | `TextBatch` | a window of text, as its models read it |
# | `keep_freed_memory` | asks the C library not to hand freed memory back |
# | `plotting` | diagrams, colours, pictures as files |
#
# (Beside the lessons lie `course.py` and `speed_parts.py`: a clock, what it says, two pictures.)

# %%
print("Lesson 14: how fast can it be?", flush=True)

from dataclasses import dataclass

import numpy as np
from course import caught, show
from speed_parts import (draw_rates, draw_waterfall, check_parts_add_up, falls, in_turns, medians,
                         ratio, rest_of, verdict)

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
# Predict before you run: how many times as fast is a row among 400 as a row among 20? And on the
# way back, `da @ U.T`: does it matter that U.T is a *view*, U read across its rows, and no array of
# its own?

# %%
ROWS = (1, 5, 10, 20, 40, 100, 400)
numbers = np.random.default_rng(5)
U = numbers.standard_normal((H, 4 * H), np.float32)
U_T = np.ascontiguousarray(U.T)                     # (4H, H)
states = numbers.standard_normal((max(ROWS), H), np.float32)
slopes = numbers.standard_normal((max(ROWS), 4 * H), np.float32)
KINDS = {"h @ U": (states, U), "da @ U.T, a view": (slopes, U.T), "da @ U_T, a copy": (slopes, U_T)}


def products_of(rows, x, y):
    """Ten times the product of so many rows of x with y, into an array that is there already."""
    found = np.empty((rows, y.shape[1]), np.float32)
    return lambda: [np.matmul(x[:rows], y, out=found) for _ in range(10)]


# %% [markdown]
# `in_turns` runs all of them side by side, round after round, in an order drawn anew each round, so
# that a machine that is busy for a while takes from all alike. It counts the processor's time, in
# one thread. A product of n rows is 2 n · H · 4H operations: one multiplication and one addition
# for each number of U.

# %%
sides = {(name, rows): products_of(rows, x, y) for name, (x, y) in KINDS.items() for rows in ROWS}
seconds = in_turns(sides, 9, np.random.default_rng(6))
operations = 10 * 2 * H * 4 * H                     # of one row
rates = {}
for name in KINDS:
    rates[name] = [operations * n / np.median(seconds[name, n]) / 1e9 for n in ROWS]
    told = [f"{n}: {rate:.0f}" for n, rate in zip(ROWS, rates[name])]
    print(f"{name}, rows: GFLOP/s   ", "   ".join(told))
show(draw_rates(rates, ROWS, "How fast a product is depends on its rows"), "14_rows")

# %%
at_20 = {name: curve[ROWS.index(20)] for name, curve in rates.items()}
print(f"a row among 400 goes {rates['h @ U'][-1] / at_20['h @ U']:.1f} times as fast as among 20")
print(f"at 20 rows the copy is {at_20['da @ U_T, a copy'] / at_20['da @ U.T, a view']:.1f} times "
      "as fast as the view")
print(f"U has {U.nbytes / 1e3:.0f} KB, S will have {4 * V * H / 1e6:.1f} MB")

# %% [markdown]
# If you guessed twenty times, look at the size of U. Where it fits into a core's own cache, it is
# fetched from there and not from memory, and there is much less to win. So expect little from this
# change. S is larger: keep that in
# mind for change 3. The view is change 4. A product that reads its second factor across the rows
# first copies it, piece by piece, into an order that it can use; with few rows that copying is a
# good part of the work.
#
# Now the change itself. One line leaves the loop:


# %%
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

# %% [markdown]
# ## 2. What nobody waits for: the weights' gradients
#
# On the way back only da_t Uᵀ is waited for, by the step before. The other products can be made
# after the loop, if every da_t is kept:
#
#     ∂L/∂W = Σ_t x_tᵀ da_t = Xᵀ dA          X (T · B, H), dA (T · B, 4H): all steps, row under row
#     ∂L/∂U = Σ_t h_{t−1}ᵀ da_t
#     ∂L/∂b = Σ_t da_t                       dX = dA Wᵀ
#
# The sum over t disappears into the product. What disappears with it is traffic: `grads.W += …` in
# the loop makes an array as large as W, reads it again, reads grads.W, and writes it back, in each
# of the T steps.


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
        U_T = self.turned()
        dh = np.zeros_like(xs[0])
        dc = np.zeros_like(xs[0])
        das = []
        for t in reversed(range(len(xs))):
            da, dc = gates_backward(dhs[t] + dh, dc, kept[t])
            das.append(da)
            dh = da @ U_T
        return np.stack(das[::-1])

    def turned(self):
        return self.U.T


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


report = caught(check, OneOff)

# %% [markdown]
# Only U is wrong. A model trained with this learns, and learns worse; no shape is wrong and nothing
# crashes. Every change that is made for speed needs such a check.
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
# ## 4. A copy in place of a view
#
# The picture above has said it: with few rows, a product with the view U.T is slow. U does not
# change within a step of training. So turn it once, for all T products:


# %%
class CopyOfU(WordsAtOnce):
    def turned(self):
        return np.ascontiguousarray(self.U.T)


check_same(CopyOfU, WordsAtOnce)

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
class CompiledGates(CopyOfU):
    def forward(self, xs):
        a = (as_rows(xs) @ self.W + self.b).reshape(*xs.shape[:2], -1)         # (T, B, 4H)
        kept = np.empty_like(a)                             # i f g o of all steps
        hs = np.zeros((len(xs) + 1, *xs[0].shape), xs.dtype)
        cs = np.zeros_like(hs)
        for t in range(len(xs)):
            lstm(a[t], hs[t] @ self.U, cs[t], kept[t], hs[t + 1], cs[t + 1])
        return hs[1:], (xs, hs, cs, kept)

    def back_in_time(self, dhs, cache):
        xs, hs, cs, kept = cache
        U_T = self.turned()
        da = np.empty_like(kept)
        dh = np.zeros_like(xs[0])
        dc = np.zeros_like(xs[0])
        for t in reversed(range(len(xs))):
            dc_before = np.empty_like(dc)
            lstm_backward(dhs[t], dh, dc, kept[t], cs[t], cs[t + 1], da[t], dc_before)
            dh = da[t] @ U_T
            dc = dc_before
        return da


check_same(CompiledGates, CopyOfU)

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
# backward, dx = dy Wᵀ and dW = xᵀ dy. Every factor stands in memory as the product likes it best,
# and the result goes to an array that is there already.


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
    numbers = np.random.default_rng(8)
    ready = {}
    for rows, inner, columns in shapes_of_products(B):
        x = numbers.standard_normal((rows, inner), np.float32)
        y = numbers.standard_normal((inner, columns), np.float32)
        ready[rows, inner, columns] = (x, y, np.empty((rows, columns), np.float32))
    order = [ready[shape] for shape in shapes_of_products(B)]
    return lambda: [np.matmul(x, y, out=found) for x, y, found in order]


# %% [markdown]
# ## Memory that comes back
#
# One thing before we measure. A large array that is freed is handed back to the operating system,
# and the next one is fetched anew, page by page, each page set to 0 first. A step that makes and
# frees the same arrays every time pays for that every time. The C library on Linux can be asked to
# keep what is freed. (Elsewhere `keep_freed_memory` does nothing. And where large arrays have come
# and gone for a while, the library keeps some by itself. Then the two columns are alike.) Which of
# the three versions below has most to gain? Think of what each makes anew.


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
    "4 a copy of Uᵀ": CopyOfU,
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
# Compare with what you wrote down. On the machine where this was written, the first version took
# twice as long as its products. That is not ten times: most of the work was in BLAS from the start,
# and NumPy called in a loop is not a slow program. One change, the words at once, was worth about
# as much as all others together. The rest came in small pieces, a few per cent each. And each of
# those was small only because the output layer is large: the worth of a change is a share of *this*
# step. Question 5 asks for another one.
#
# The bars also depend on their order. A change that removes traffic is worth more while the rest is
# slow memory work, and a loop that is gone cannot be made faster any more (question 1).
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
# The products in the loop have few rows, and few rows are slow: the first picture. They are a good
# tenth of all operations (question 3). Could a product written for that very shape beat a library
# written for all? We tried: in numba, four rows by four or eight weights at a time. On an AMD EPYC
# of two cores, in one thread, at 12 rows of 200 × 800, it made 73 to 83 GFLOP/s, where OpenBLAS
# with a contiguous factor has 67 to 79. From 64 rows on OpenBLAS has 95 to 97, and ours 80. That is
# worth one or two per cent of a step, and costs a page of code that the next processor may not
# like. The library keeps BLAS.
#
# It is how most ideas about speed end. The cure is the same as in lesson 13: a floor, a version to
# compare with, and turns. Measure first, and stop when the floor is near.

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
# 4. What does version 7 keep in memory for its way back? Which of it grows with T, and which with
#    V? Where would you cut first, with 10,000 words and 500 steps?
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
