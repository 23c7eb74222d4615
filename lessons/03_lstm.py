# %% [markdown]
# # Lesson 03: long short-term memory
#
# Lesson 02's network could not say, after 32 symbols of noise, which symbol had come first. The way
# back in time was a product of matrices, and little came through it. The LSTM (Hochreiter &
# Schmidhuber 1997) gives the state a second part, a *cell* that is added to and not rewritten.
# Gates decide what enters it, what stays and what is shown. It is famous for the cure.
#
# So guess now. We take its equations as they stand in the textbook, start all biases at 0, and give
# it the same task with the same training. Will it do better than lesson 02's network, or worse?
#
# On the way you will follow one step with a pencil, derive both ways back, build a memory with your
# own hands, and measure the gradient. In the end a model of words learns a text by heart, which is
# not what we wanted, and dropout helps, if it is put in the right places.
#
# | from the package | what it is |
# |---|---|
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |
# | `gradcheck` | compares a backward pass with central differences |
# | `numeric_gradient` | the central differences of one array |
# | `randomize` | gives every parameter random values |
# | `LSTM` | the library's cell, for comparison |
# | `Stacked` | cells on top of each other, with dropout in between |
# | `Dropout` | sets values to 0 at random |
# | `LanguageModel` | embedding, cells and softmax in one |
# | `Adam` | the optimizer (lesson 02) |
# | `Trainer` | the training loop |
# | `evaluate` | loss and perplexity of a model on a text |
# | `plotting` | diagrams, colours, pictures as files |

# %%
print("Lesson 03: long short-term memory", flush=True)

from dataclasses import dataclass
from functools import partial

import numpy as np
from course import caught, show
from lstm_parts import (bible_words, in_words, known_words, recall_network, share_right,
                        table_picture)
from matplotlib import pyplot as plt
from recurrent_parts import Recall, train_recall

from numpy_attention import plotting
from numpy_attention.cells.lstm import LSTM
from numpy_attention.cells.stacked import Stacked
from numpy_attention.gradcheck import gradcheck, numeric_gradient, randomize
from numpy_attention.layers.dropout import Dropout
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.module import Array, Module
from numpy_attention.training.evaluation import evaluate
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.trainer import Trainer

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## Forward
#
# One step reads x_t and the state before, which is now a pair: h_{t−1}, what the network shows, and
# c_{t−1}, what it keeps. σ(a) = 1 / (1 + e^{−a}) lies between 0 and 1, ∘ multiplies number by number.
#
#     a   = x_t W + h_{t−1} U + b         four blocks side by side: a_i, a_f, a_g, a_o
#     i   = σ(a_i)                        input gate: how much of the candidate to add
#     f   = σ(a_f)                        forget gate: how much of the cell to keep
#     g   = tanh(a_g)                     candidate: what could be added
#     o   = σ(a_o)                        output gate: how much of the cell to show
#     c_t = f ∘ c_{t−1} + i ∘ g
#     h_t = o ∘ tanh(c_t)
#
# | symbol | shape | what it is |
# |---|---|---|
# | x_t | (I,) | what is read at step t |
# | h_t | (H,) | what is shown after step t, to the layer above and to the next step |
# | c_t | (H,) | the cell: what is kept, one number a unit |
# | i, f, g, o | (H,) | three gates and a candidate; each unit has its own |
# | W, U, b | (I, 4H), (H, 4H), (4H,) | parameters, the same at every step |
#
# So it stands in Zaremba et al. 2014, section 3. In 1997 there was no f: c_t = c_{t−1} + i ∘ g. A
# cell that only adds grows over a long text, and never starts anew; the forget gate (Gers et al.
# 2000) lets it.

# %%
boxes = {
    "c0": ("cₜ₋₁", 0, 3.1, 0), "h0": ("hₜ₋₁", 0, 1.3), "x": ("xₜ", 0, 0.3),
    "a": ("a = xₜ W + hₜ₋₁ U + b", 2.2, 0.8),
    "f": ("f = σ(a_f)", 4.9, 2.15, 2), "i": ("i = σ(aᵢ)", 4.9, 1.3, 2),
    "g": ("g = tanh(a_g)", 4.9, 0.45), "o": ("o = σ(aₒ)", 4.9, -0.4, 2),
    "c": ("cₜ = f ∘ cₜ₋₁ + i ∘ g", 7.3, 3.1, 0), "h": ("hₜ = o ∘ tanh(cₜ)", 7.6, 0.2),
    "c2": ("cₜ₊₁", 10, 3.1, 0), "h2": ("step t + 1", 10, 0.2),
}
arrows = [("c0", "c", "∘ f"), ("h0", "a"), ("x", "a"), ("a", "f"), ("a", "i"), ("a", "g"),
          ("a", "o"), ("f", "c"), ("i", "c"), ("g", "c"), ("o", "h"), ("c", "h", "tanh"),
          ("c", "c2", "∘ f", 0, True), ("h", "h2", "U", 0, True)]
show(plotting.diagram(boxes, arrows, title="Along c, on top, nothing is multiplied but f"),
     "03_diagram")

# %% [markdown]
# One step with a pencil: one input, two units. The numbers are chosen so that unit 1 keeps what it
# has and unit 2 takes in something new. Compute a by eye, column by column, before you read on.

# %%
#              i         f         g         o
W = np.array([[-2., 1.,  1., -2.,  1., 1.,  0., 1.]])
U = np.array([[0., 2.,   2., 0.,   0., 0.,  1., 0.],
              [0., 0.,   0., 2.,   0., 0.,  1., 0.]])
b = np.array([0., 0.,    1., 0.,   0., 0.,  0., 0.])
x = np.array([1.0])
h0 = np.array([0.5, -0.5])
c0 = np.array([2.0, -1.0])


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


# %%
a = x @ W + h0 @ U + b                          # (4H,)
a_i, a_f, a_g, a_o = np.split(a, 4)             # (H,) each
i = sigmoid(a_i)
f = sigmoid(a_f)
g = np.tanh(a_g)
o = sigmoid(a_o)
c1 = f * c0 + i * g
h1 = o * np.tanh(c1)
print("input gate  i = σ", a_i, "=", i)
print("forget gate f = σ", a_f, "=", f)
print("candidate   g = tanh", a_g, "=", g)
print("output gate o = σ", a_o, "=", o)
print("c_1 = f ∘ c_0 + i ∘ g =", f * c0, "+", i * g, "=", c1)
print("h_1 =", h1)

# %% [markdown]
# Unit 1: f is nearly 1, i nearly 0, and its 2 is still a 2. Unit 2: the other way round, its −1 is
# gone. And o shows one half of the first, for σ(0) = 1/2.
#
# ## Backward
#
# Who reads the new state? The layer above and the next step read h_1; the next step's cell reads
# c_1. So both get a gradient from outside. Let it be r for h_1 and s for c_1, as if the loss were
# L = r · h_1 + s · c_1. `L(i=…)` is the loss with that much added to i, as in lesson 02.

# %%
r = np.array([1.0, -2.0])
s = np.array([0.5, -1.0])


def L(i=0, f=0, g=0, o=0, c=0, a=0):
    """r · h_1 + s · c_1, where each of the intermediates has been moved by what is given."""
    a_i, a_f, a_g, a_o = np.split(x @ W + h0 @ U + b + a, 4)
    kept = (sigmoid(a_f) + f) * c0
    added = (sigmoid(a_i) + i) * (np.tanh(a_g) + g)
    c1 = kept + added + c
    h1 = (sigmoid(a_o) + o) * np.tanh(c1)
    return r @ h1 + s @ c1


# %%
def compare(name, ours, loss, array):
    """Hold our gradient against the central difference of loss, which reads the array."""
    numeric = numeric_gradient(loss, array)
    print(f"{name:>5} by hand  {ours.ravel()[:8]}")
    print(f"      measured {numeric.ravel()[:8]}")
    assert np.allclose(ours, numeric, rtol=1e-7, atol=1e-9), name


def moved(name, ours):
    """The same for an intermediate."""
    by = np.zeros_like(ours)
    compare("d" + name, ours, partial(L, **{name: by}), by)


# %% [markdown]
# From the last line to the first. h_1 = o ∘ tanh(c_1) has two factors. c_1 is used twice, in h_1
# and by whoever handed us s, so dc has two terms:
#
#     do = dh ∘ tanh(c_t)
#     dc = (from outside)  +  dh ∘ o ∘ (1 − tanh²(c_t))

# %%
dh = r
do = dh * np.tanh(c1)
dc = s + dh * o * (1 - np.tanh(c1)**2)
moved("o", do)
moved("c", dc)

# %% [markdown]
# c_t = f ∘ c_{t−1} + i ∘ g is a sum of two products. Each factor gets dc times the other one:
#
#     df = dc ∘ c_{t−1}      di = dc ∘ g      dg = dc ∘ i
#     dc_{t−1} = dc ∘ f                                           (1)

# %%
df = dc * c0
di = dc * g
dg = dc * i
dc0 = dc * f
moved("f", df)
moved("i", di)
moved("g", dg)
compare("dc_0", dc0, L, c0)

# %% [markdown]
# Look at dc_0 beside dc. Unit 1, which kept its number, passes nearly all of its gradient on to
# it; unit 2, which overwrote it, next to nothing. That is as it should be, and it is one and the
# same f: **who keeps the value keeps the gradient.**
#
# Then through the gates. σ has the slope σ (1 − σ), tanh has 1 − tanh²:
#
#     da_i = di ∘ i ∘ (1 − i), likewise f and o          da_g = dg ∘ (1 − g²)
#
# and a is the linear layer of lesson 02, with its way back to h_{t−1}:
#
#     dW = x_tᵀ da      dU = h_{t−1}ᵀ da      db = da
#     dx_t = da Wᵀ      dh_{t−1} = da Uᵀ                          (2)

# %%
da = np.concatenate([di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o)])
moved("a", da)
compare("dW", np.outer(x, da), L, W)
compare("dU", np.outer(h0, da), L, U)
compare("db", da, L, b)
compare("dx", da @ W.T, L, x)
compare("dh_0", da @ U.T, L, h0)

# %% [markdown]
# So there are **two ways back in time**. (2) is Elman's, through a matrix and the slopes of σ and
# tanh. (1) is new: along c nothing is multiplied but f. Where f = 1 the gradient goes round
# unchanged for ever, and so its inventors called it the *constant error carousel*.
#
# ## Many steps
#
# For T steps nothing new is needed. A step is the lines above for a batch of B sequences; forward
# takes them in order, backward in reverse, and passes dh and dc on. dys holds what comes from above
# for every h_t; dstate what comes for the last state.


# %% tags=["plain"]
@dataclass(eq=False)
class PlainLSTM(Module):
    """The equations above, one a line."""

    W: Array  # (I, 4H)
    U: Array  # (H, 4H)
    b: Array  # (4H,)

    def step(self, x, h, c):
        """x (B, I), the state before h, c (B, H) → the state after, what backward needs."""
        a_i, a_f, a_g, a_o = np.split(x @ self.W + h @ self.U + self.b, 4, axis=1)
        i = sigmoid(a_i)
        f = sigmoid(a_f)
        g = np.tanh(a_g)
        o = sigmoid(a_o)
        tanh_c = np.tanh(f * c + i * g)
        return o * tanh_c, f * c + i * g, (x, h, c, i, f, g, o, tanh_c)

    def step_backward(self, dh, dc, kept, grad):
        """From the gradient of the state after to dx, and that of the state before."""
        x, h, c, i, f, g, o, tanh_c = kept
        do = dh * tanh_c
        dc = dc + dh * o * (1 - tanh_c**2)
        da_i = dc * g * i * (1 - i)
        da_f = dc * c * f * (1 - f)
        da_g = dc * i * (1 - g**2)
        da_o = do * o * (1 - o)
        da = np.concatenate([da_i, da_f, da_g, da_o], axis=1)
        grad.W += x.T @ da
        grad.U += h.T @ da
        grad.b += da.sum(0)
        dc_before = dc * f                                      # (1)
        return da @ self.W.T, da @ self.U.T, dc_before          # dx, (2)

    def forward(self, xs, state):
        """xs (T, B, I), state (h, c) → all h (T, B, H), the last state, cache."""
        h, c = state
        hs = []
        cache = []
        for x in xs:
            h, c, kept = self.step(x, h, c)
            hs.append(h)
            cache.append(kept)
        return np.stack(hs), (h, c), cache

    def backward(self, dys, dstate, cache, grad):
        """From ∂L/∂(all h) and ∂L/∂(last state) to ∂L/∂xs and ∂L/∂(first state)."""
        dh, dc = dstate
        dxs = []
        for dy, kept in zip(dys[::-1], cache[::-1]):
            dx, dh, dc = self.step_backward(dh + dy, dc, kept, grad)
            dxs.append(dx)
        return np.stack(dxs[::-1]), (dh, dc)


# %% [markdown]
# ## Check
#
# Four steps, three sequences, all sizes different. `input[0]` is xs, `input[1]` the first state:
# h_0 and c_0.

# %%
rng = np.random.default_rng(2)
xs = rng.standard_normal((4, 3, 2))             # (T, B, I)
dys = rng.standard_normal((4, 3, 5))            # (T, B, H)
first = tuple(rng.standard_normal((2, 3, 5)))   # h_0, c_0
dlast = tuple(rng.standard_normal((2, 3, 5)))


def create(kind, inputs=2):
    """A cell of 5 units in float64 with random weights, the same for every kind."""
    cell = kind(np.empty((inputs, 20)), np.empty((5, 20)), np.empty(20))
    return randomize(cell, np.random.default_rng(3))


def check(cell, xs):
    return gradcheck(cell, xs, first, rng=np.random.default_rng(4))


print(check(create(PlainLSTM), xs))

# %% [markdown]
# The library's LSTM computes x W of all steps in one product, and all four gates of a step in one
# compiled loop. It must give the same.


# %%
def passes(cell, xs, first, dys, dlast):
    """→ all h, the last h, c, dxs, ∂L/∂h_0, ∂L/∂c_0, the gradient of all weights as one vector."""
    ys, last, cache = cell.forward(xs, first)
    grad = cell.zeros_like()
    dxs, dfirst = cell.backward(dys, dlast, cache, grad)
    return ys, *last, dxs, *dfirst, grad.vector


theirs = passes(create(LSTM), xs, first, dys, dlast)
for one, other in zip(passes(create(PlainLSTM), xs, first, dys, dlast), theirs, strict=True):
    assert np.allclose(one, other, rtol=0, atol=1e-12)
print("the library's LSTM gives the same states and gradients")

# %% [markdown]
# ## A bug
#
# Someone has read both papers, and pairs the forward pass of 2000 with the backward pass of 1997,
# which knew of no forget gate. One step first. Which gradients will be wrong?


# %%
class HalfModern(PlainLSTM):
    def step_backward(self, dh, dc, kept, grad):
        x, h, c, i, f, g, o, tanh_c = kept
        do = dh * tanh_c
        dc = dc + dh * o * (1 - tanh_c**2)
        da_i = dc * g * i * (1 - i)
        da_f = dc * c * f * (1 - f)
        da_g = dc * i * (1 - g**2)
        da_o = do * o * (1 - o)
        da = np.concatenate([da_i, da_f, da_g, da_o], axis=1)
        grad.W += x.T @ da
        grad.U += h.T @ da
        grad.b += da.sum(0)
        dc_before = dc
        return da @ self.W.T, da @ self.U.T, dc_before


one_step = caught(check, create(HalfModern), xs[:1])

# %%
four_steps = caught(check, create(HalfModern), xs)

# %% [markdown]
# With one step all weights are right, and so is every line that leads to them. Only `input[1][1]`,
# which is c_0, is wrong, and one line makes it: dc_before. The report names it. With four steps
# everything is wrong, for what is wrong at one step is handed to the one before, through every
# line. If a report ever says "right: none", **shorten the sequence**: what a single step gets wrong
# can be found by hand. And check the first state's gradient, too. Had we left it out, one step
# would have passed.
#
# ## The carousel, alone
#
# How far does (1) reach? Close the other way: with U = 0 nothing comes back through (2). Then what
# comes back to c_0 must be what went in at c_T times the forget gates in between, to the last digit.

# %%
closed = create(PlainLSTM)
closed.U[...] = 0
states, _, cache = closed.forward(xs, first)
forget_gates = np.array([kept[4] for kept in cache])            # (T, B, H)
nothing = np.zeros_like(states[0])
_, (_, dc_first) = closed.backward(np.zeros_like(states), (nothing, dlast[1]), cache,
                                   closed.zeros_like())
assert np.allclose(dc_first, dlast[1] * forget_gates.prod(0), rtol=1e-12)
print("with U = 0, ∂L/∂c_0 is ∂L/∂c_T times all the forget gates")

# %% [markdown]
# A gate at rest, nothing coming in from x and h, stands at f = σ(b_f), with b_f its bias. So after
# k steps σ(b_f)^k is left, and half is left after ln ½ / ln σ(b_f) steps:

# %%
for bias in (0, 1, 3, 5):
    open_by = sigmoid(bias)
    half = np.log(0.5) / np.log(open_by)
    print(f"b_f = {bias}: f = {open_by:.3f}, half is left after {half:5.1f} steps")

# %% [markdown]
# Now you may want to change your guess of the beginning. At b_f = 0, the gate that was to help the
# cell forget halves its gradient at every step.
#
# ## A memory by hand
#
# The same f works forward. We need no training to build a memory: one unit, and weights that we
# choose. It reads pairs (value, flag). Where the flag is 1 it shall take in the value, and keep it
# over whatever comes with the flag 0, until the next flag:
#
#     a_i = 12 flag − 6           in at the flag, closed else
#     a_f = b_f − 12 flag         open to the past but at the flag
#     a_g = value                 the candidate, tanh(value)
#     a_o = 6                     always shown

# %%
rng = np.random.default_rng(5)
values = rng.uniform(-1, 1, 40)
flags = np.zeros(40)
flags[[3, 24]] = 1
values[3] = 1.2
values[24] = -0.8
pairs = np.stack([values, flags], axis=1)[:, None]              # (T, 1, 2)


def memory(b_f):
    """c_1 … c_T of the unit above."""
    W = np.array([[0, 0, 1, 0], [12, -12, 0, 0]])
    b = np.array([-6, b_f, 0, 6])
    unit = PlainLSTM(W.astype(float), np.zeros((1, 4)), b.astype(float))
    _, _, cache = unit.forward(pairs, (np.zeros((1, 1)), np.zeros((1, 1))))
    return np.array([kept[2].item() for kept in cache[1:]])


# %%
curves = {f"c with b_f = {b_f}": memory(b_f) for b_f in (1, 3, 6)}
figure, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
ax.bar(range(1, 41), np.tanh(values), color="0.85", label="tanh(value), flag 0")
ax.bar(1 + np.flatnonzero(flags), np.tanh(values[flags == 1]), color="black", label="flag 1")
for place, (name, c) in enumerate(curves.items()):
    style = plotting.base.curve_style(place)
    ax.plot(range(1, 40), c, label=name, markersize=4, **style)
    print(f"{name}: {c[3]:.2f} at the flag, {c[23]:.2f} twenty steps later")
ax.set(xlabel="step t", ylabel="value")
ax.set_title(f"b_f = 6 still holds {curves['c with b_f = 6'][23]:.2f} after 20 steps of noise, "
             f"b_f = 1 holds {curves['c with b_f = 1'][23]:.2f}")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
show(ax, "03_memory")
