# %% [markdown]
# # Lesson 09: the Transformer
#
# Lesson 08 ended with heads side by side. Vaswani et al. (2017) asked what else a translator needs,
# and answered: no recurrence at all. Every word looks at every other, and no step waits for the
# one before. What recurrence did in passing, knowing who came first, not seeing what comes later,
# must now be done by parts of their own, and each of them is small.
#
# You will write a whole layer, forward and backward, for one sentence, and find it equal to the
# library's. Then guess: the same norm can stand before or after each part. One of the two places
# makes a deep model hard to train, and it is said that its gradient vanishes on the way down. Does
# it? And which bug lets a model read the answer, while every gradient check passes?
#
# | from the package | what it is |
# |---|---|
# | `metrics` | how many translations are right, and whether attention points at the right word |
# | `plotting` | diagrams, colours, heatmaps |
# | `load_parallel` | draws sentence pairs of a corpus |
# | `gradcheck` | compares a backward pass with central differences |
# | `numeric_gradient` | the central differences of one array |
# | `randomize` | gives all parameters of a module random values |
# | `Embedding` | a table of word vectors, for comparison |
# | `Output` | the library's output layer, for comparison |
# | `positional_encoding` | its positions, for comparison |
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |
# | `Constant` | a learning rate that stays |
# | `Warmup` | one that rises first |

# %%
print("Lesson 09: the Transformer", flush=True)

from dataclasses import dataclass

import numpy as np
from course import caught, show
from matplotlib import pyplot as plt
from transformer_parts import (expect_same_decoder, expect_same_encoder, perplexity_of_counts,
                               trained, weights_of_heads)

from numpy_attention import metrics, plotting
from numpy_attention.data.corpora import load_parallel
from numpy_attention.gradcheck import gradcheck, numeric_gradient, randomize
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.output import Output
from numpy_attention.layers.positional import positional_encoding
from numpy_attention.module import Array, Module
from numpy_attention.training.schedules import Constant, Warmup

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## A stream with parts beside it
#
# A sentence is a matrix x (T, D), a row of D numbers for each word, from the first line of the
# model to its last. A part f reads it and *adds* something: x + f(x), a residual connection. The
# encoder's layer has two parts, the decoder's three:
#
# | symbol | shape | what it is |
# |---|---|---|
# | x, y, z | (T, D) | the stream: before a layer, between its parts, after it |
# | LN(x) = g ∘ x̂ + b | (T, D) | layer normalisation, each word by itself; g, b (D,) are learnt |
# | heads(x, m) | (T, D) | lesson 08: words of x ask, words of m (S, D) are asked |
# | FF(x) = max(0, x W_1 + b_1) W_2 + b_2 | (T, D) | feed-forward; W_1 (D, F), W_2 (F, D) |
# | M | (S, D) | the encoder's output for S source words; the decoder asks it |
# | PE(p) | (D,) | what tells a word that it stands at place p |

# %%
boxes = {
    "x": ("x + PE", 0, 2.2, 0),
    "a": ("heads(x, x)", 1.7, 2.2),
    "n1": ("LN(x + …)", 3.5, 2.2, 1),
    "f": ("FF(y)", 5.1, 2.2),
    "n2": ("LN(y + …)", 6.7, 2.2, 1),
    "M": ("M", 8.1, 2.2, 2),
    "y": ("x + PE", 0, 0, 0),
    "b": ("heads(x, x), s ≤ t", 1.9, 0),
    "n3": ("LN(x + …)", 4.0, 0, 1),
    "c": ("heads(y, M)", 5.8, 0),
    "n4": ("LN(y + …)", 7.6, 0, 1),
    "g": ("FF(z)", 9.2, 0),
    "n5": ("LN(z + …)", 10.8, 0, 1),
}

# %%
arrows = [("x", "a"), ("a", "n1"), ("n1", "f"), ("f", "n2"), ("n2", "M"), ("y", "b"), ("b", "n3"),
          ("n3", "c"), ("c", "n4"), ("n4", "g"), ("g", "n5"), ("M", "c", "is asked"),
          ("x", "n1", "past", -0.3), ("n1", "n2", "past", -0.3), ("y", "n3", "past", -0.25),
          ("n3", "n4", "past", 0.28), ("n4", "n5", "past", -0.3)]
show(plotting.diagram(boxes, arrows, title="A layer of the encoder (above) and of the decoder: "
                                           "each part has a way past it"), "09_architecture")

# %% [markdown]
# ## Forward
#
# The only part that is new is *layer normalisation* (Ba, Kiros & Hinton 2016). It looks at the D
# numbers of one word, takes out their mean and divides by their spread:
#
#     μ = mean(x)      s = √(mean((x − μ)²) + ε)      x̂ = (x − μ) / s
#
# (ε = 10⁻⁵ keeps s from 0.) Here is a word of five numbers with mean 2 and spread 2. Guess before
# you read on: x_1 = 5 gives x̂_1 = 1.5. If x_1 rises a little, by h, does x̂_1 rise by h / 2?

# %%
x = np.array([5.0, -1.0, 3.0, 1.0, 2.0])


def x_hat_of(x):
    return (x - x.mean()) / np.sqrt(x.var() + 1e-5)


moved = x.copy()
moved[0] += 0.001
rise = (x_hat_of(moved) - x_hat_of(x))[0] / 0.001
print("x̂ =", x_hat_of(x), f"  x̂_1 rises by {rise:.3f} h")

# %% [markdown]
# ## Backward
#
# No: x_1 takes the mean with it, and the spread. So x_i reaches every x̂_j on three ways. With
# ∂μ/∂x_i = 1 / D and ∂s/∂x_i = x̂_i / D (the way through μ adds up to 0 there):
#
#     ∂x̂_j/∂x_i = (1[i = j] − 1 / D − x̂_j x̂_i / D) / s
#     dx_i = Σ_j dx̂_j ∂x̂_j/∂x_i = (dx̂_i − mean(dx̂) − x̂_i mean(dx̂ ∘ x̂)) / s
#
# Say it in words: out of the gradient goes what it has along the ones, and what it has along x̂.
# Those are the shift and the stretch, to which LN is blind (but for ε).

# %%
dx_hat = np.array([1.0, 0.0, 0.0, 0.0, 0.0])       # the loss is x̂_1 itself
s = np.sqrt(x.var() + 1e-5)
x_hat = (x - x.mean()) / s
alike = dx_hat.mean()
along = (dx_hat * x_hat).mean()
dx = (dx_hat - alike - x_hat * along) / s
numeric = numeric_gradient(lambda: dx_hat @ x_hat_of(x), x)
assert np.allclose(dx, numeric, atol=1e-9)
print(f"mean(dx̂) = {alike:.2f}, mean(dx̂ ∘ x̂) = {along:.2f}")
print("dx =", dx, "  as measured:", numeric)
print(f"along the ones it has {dx.sum():.4f}, along x̂ {dx @ x_hat:.4f}")

# %% [markdown]
# For a sentence the same, a row a word. And g and b, which let the model undo what it likes:


# %%
@dataclass(eq=False)
class PlainNorm(Module):
    """LN(x) = g ∘ x̂ + b.   x (T, D) → (T, D)."""

    g: Array  # (D,)
    b: Array  # (D,)

    def forward(self, x):
        s = np.sqrt(x.var(1, keepdims=True) + 1e-5)             # (T, 1)
        x_hat = (x - x.mean(1, keepdims=True)) / s              # (T, D)
        return self.g * x_hat + self.b, (x_hat, s)

    def backward(self, dy, cache, grad):
        x_hat, s = cache
        grad.g += (dy * x_hat).sum(0)
        grad.b += dy.sum(0)
        dx_hat = dy * self.g
        along = (dx_hat * x_hat).mean(1, keepdims=True)
        return (dx_hat - dx_hat.mean(1, keepdims=True) - x_hat * along) / s


# %%
rng = np.random.default_rng(0)
T = 5
S = 3
D = 6
x = rng.standard_normal((T, D))                    # (T, D)
m = rng.standard_normal((S, D))                    # (S, D)


def check(part, *inputs):
    """The report of a gradient check."""
    return gradcheck(part, *inputs, rng=np.random.default_rng(1))


norm = randomize(PlainNorm(np.ones(D), np.zeros(D)), rng)
print(check(norm, x))

# %% [markdown]
# ### How a bug looks
#
# The usual mistake takes μ and s for constants: divide by s, done. Which of dx, dg and db will be
# wrong?


# %%
class Frozen(PlainNorm):
    """The planted bug."""

    def backward(self, dy, cache, grad):
        x_hat, s = cache
        grad.g += (dy * x_hat).sum(0)
        grad.b += dy.sum(0)
        dx_hat = dy * self.g
        return dx_hat / s


report = caught(check, Frozen(norm.g, norm.b), x)

# %% [markdown]
# TODO-REPORT
#
# ## The heads again, one at a time
#
# Lesson 08 joined what the heads found and multiplied it by W_o. A row of W_o meets one head only:
#
#     [Y_1, Y_2, …] W_o  =  Y_1 W_o^1 + Y_2 W_o^2 + …          W_o^i: the rows that meet head i
#
# So a head with its own rows of W_o is a part by itself, and heads side by side are a *sum*. Here
# is one, for one sentence. w = D / h is its width; `visible` (T, S) says who may look where.


# %%
@dataclass(eq=False)
class PlainHead(Module):
    W_q: Array  # (D, w)
    b_q: Array  # (w,)
    W_k: Array  # (D, w)
    W_v: Array  # (D, w)
    b_v: Array  # (w,)
    W_o: Array  # (w, D)


def softmax(E):
    """Of each row; −∞ gets weight 0."""
    A = np.exp(E - E.max(-1, keepdims=True))
    return A / A.sum(-1, keepdims=True)


# %%
def look(head, x, m, visible):
    """Words x (T, D) ask words m (S, D) → what is added to x (T, D), cache."""
    q = x @ head.W_q + head.b_q                                 # (T, w)
    k = m @ head.W_k                                            # (S, w)
    v = m @ head.W_v + head.b_v                                 # (S, w)
    E = np.where(visible, q @ k.T / np.sqrt(k.shape[1]), -np.inf)
    A = softmax(E)                                              # (T, S)
    Y = A @ v                                                   # (T, w)
    return Y @ head.W_o, (x, m, q, k, v, A, Y)


# %%
def look_backward(dout, head, cache, grad):
    """dout (T, D) → dx (T, D), dm (S, D)."""
    x, m, q, k, v, A, Y = cache
    grad.W_o += Y.T @ dout
    dY = dout @ head.W_o.T
    dA = dY @ v.T
    dE = A * (dA - (A * dA).sum(1, keepdims=True)) / np.sqrt(k.shape[1])
    dq = dE @ k
    dk = dE.T @ q
    dv = A.T @ dY
    grad.W_q += x.T @ dq
    grad.b_q += dq.sum(0)
    grad.W_k += m.T @ dk
    grad.W_v += m.T @ dv
    grad.b_v += dv.sum(0)
    return dq @ head.W_q.T, dk @ head.W_k.T + dv @ head.W_v.T


# %%
@dataclass(eq=False)
class PlainHeads(Module):
    heads: list     # of PlainHead
    b_o: Array      # (D,)

    def forward(self, x, m, visible):
        looks = [look(head, x, m, visible) for head in self.heads]
        return self.b_o + sum(found for found, _ in looks), [cache for _, cache in looks]

    def backward(self, dout, caches, grad):
        """→ dx (T, D), dm (S, D)."""
        grad.b_o += dout.sum(0)
        back = [look_backward(dout, *one) for one in zip(self.heads, caches, grad.heads)]
        return sum(dx for dx, _ in back), sum(dm for _, dm in back)


# %%
def matrix(rng, rows, columns):
    """Random numbers of the size that Glorot & Bengio (2010) recommend."""
    return rng.standard_normal((rows, columns)) * np.sqrt(2 / (rows + columns))


def new_heads(rng, D, h):
    w = D // h
    heads = [PlainHead(matrix(rng, D, w), np.zeros(w), matrix(rng, D, w), matrix(rng, D, w),
                       np.zeros(w), matrix(rng, w, D)) for _ in range(h)]
    return PlainHeads(heads, np.zeros(D))


heads = randomize(new_heads(rng, D, h=2), rng)
print(check(heads, x, m, rng.random((T, S)) < [1, 0.5, 0.5]))

# %% [markdown]
# ## One layer, whole
#
# Now the feed-forward part and the layer, in the paper's order, the norm *after* each sum. Read
# `backward` beside `forward`, from below: a sum x + f(x) hands its gradient to both, so what comes
# back through f is added to what went past it. In self-attention x asks and is asked, so two
# gradients come back from the heads.


# %% tags=["plain"]
@dataclass(eq=False)
class PlainFeedForward(Module):
    """FF(x) = max(0, x W_1 + b_1) W_2 + b_2.   x (T, D) → (T, D)."""

    W_1: Array  # (D, F)
    b_1: Array  # (F,)
    W_2: Array  # (F, D)
    b_2: Array  # (D,)

    def forward(self, x):
        hidden = np.maximum(0, x @ self.W_1 + self.b_1)         # (T, F)
        return hidden @ self.W_2 + self.b_2, (x, hidden)

    def backward(self, dy, cache, grad):
        x, hidden = cache
        grad.W_2 += hidden.T @ dy
        grad.b_2 += dy.sum(0)
        da = dy @ self.W_2.T * (hidden > 0)
        grad.W_1 += x.T @ da
        grad.b_1 += da.sum(0)
        return da @ self.W_1.T


@dataclass(eq=False)
class PlainEncoderLayer(Module):
    """y = LN(x + heads(x, x)),  z = LN(y + FF(y)).   x (T, D) → z (T, D)."""

    attention: PlainHeads
    norm_1: PlainNorm
    feed_forward: PlainFeedForward
    norm_2: PlainNorm

    def forward(self, x, visible=True):
        found, looked = self.attention.forward(x, x, visible)
        y, normed_1 = self.norm_1.forward(x + found)
        added, fed = self.feed_forward.forward(y)
        z, normed_2 = self.norm_2.forward(y + added)
        return z, (looked, normed_1, fed, normed_2)

    def backward(self, dz, cache, grad):
        looked, normed_1, fed, normed_2 = cache
        dsum = self.norm_2.backward(dz, normed_2, grad.norm_2)
        dy = dsum + self.feed_forward.backward(dsum, fed, grad.feed_forward)
        dsum = self.norm_1.backward(dy, normed_1, grad.norm_1)
        dasking, dasked = self.attention.backward(dsum, looked, grad.attention)
        return dsum + dasking + dasked


# %%
def new_layer(kind, rng, D, F, h, *more):
    """An encoder layer as training would start with it; more: fields of a larger kind."""
    norms = [PlainNorm(np.ones(D), np.zeros(D)) for _ in range(2)]
    feed_forward = PlainFeedForward(matrix(rng, D, F), np.zeros(F), matrix(rng, F, D), np.zeros(D))
    return kind(new_heads(rng, D, h), norms[0], feed_forward, norms[1], *more)


layer = randomize(new_layer(PlainEncoderLayer, rng, D, F=8, h=2), rng)
print(check(layer, x))
expect_same_encoder(layer, x)
print("one layer: the output, dx and the gradients of all its parameters are the library's")

# %% [markdown]
# That is a Transformer's layer: `EncoderLayer` of the library does the same for a batch, and an
# encoder is a list of them. (`expect_same_encoder` is in `transformer_parts.py`, with the plumbing
# of the experiments; it holds no idea, you may skip it.)
#
# ## Before or after?
#
# The paper has LN(x + f(x)), "post-norm". Xiong et al. (2020) put it *into* the part, x + f(LN(x)),
# "pre-norm". Then nothing stands in the way past: the stream is a plain sum, from first layer to
# last. (One more LN comes after the last layer, since a sum of many parts is large.)


# %%
class PreNormLayer(PlainEncoderLayer):
    def forward(self, x, visible=True):
        inside, normed_1 = self.norm_1.forward(x)
        found, looked = self.attention.forward(inside, inside, visible)
        y = x + found
        inside, normed_2 = self.norm_2.forward(y)
        added, fed = self.feed_forward.forward(inside)
        return y + added, (looked, normed_1, fed, normed_2)

    def backward(self, dz, cache, grad):
        looked, normed_1, fed, normed_2 = cache
        dinside = self.feed_forward.backward(dz, fed, grad.feed_forward)
        dy = dz + self.norm_2.backward(dinside, normed_2, grad.norm_2)
        dasking, dasked = self.attention.backward(dy, looked, grad.attention)
        return dy + self.norm_1.backward(dasking + dasked, normed_1, grad.norm_1)


# %%
pre = PreNormLayer(layer.attention, layer.norm_1, layer.feed_forward, layer.norm_2)
print(check(pre, x))
expect_same_encoder(pre, x, pre_norm=True)
print("pre-norm: the library's, too")

# %% [markdown]
# What does the place of the norm do to a deep stack? Two measurements, before any training, on
# stacks of 2 to 16 layers. The first is the gradient that arrives at W_2 of the first layer and of
# the last. You may have read that in a post-norm stack it vanishes on the way down: each LN shrinks
# what comes back. Do you expect the first layer's or the last one's to depend on depth?


# %%
@dataclass(eq=False)
class Stack(Module):
    layers: list
    last: PlainNorm

    def forward(self, x):
        caches = []
        for layer in self.layers:
            x, cache = layer.forward(x)
            caches.append(cache)
        y, normed = self.last.forward(x)
        return y, (caches, normed)

    def backward(self, dy, cache, grad):
        caches, normed = cache
        dx = self.last.backward(dy, normed, grad.last)
        for layer, kept, part in zip(self.layers[::-1], caches[::-1], grad.layers[::-1]):
            dx = layer.backward(dx, kept, part)
        return dx


# %% [markdown]
# (For post-norm the LN after the last one changes next to nothing: what it gets is normal already.)
# The second measurement asks what *one step* does. Adam divides the size out of every gradient, so
# its first step moves each parameter by the learning rate, up or down. We move each by 0.003 up or
# down by chance, and see how far the outputs go.


# %%
def measured(kind, L, seed):
    """→ norms of dW_2 in the first and the last of L layers; how far a small step moves y."""
    rng = np.random.default_rng(seed)
    layers = [new_layer(kind, rng, D=32, F=128, h=4) for _ in range(L)]
    stack = Stack(layers, PlainNorm(np.ones(32), np.zeros(32)))
    x = rng.standard_normal((20, 32))
    y, cache = stack.forward(x)
    grad = stack.zeros_like()
    stack.backward(rng.standard_normal(y.shape) / np.sqrt(y.size), cache, grad)
    first, *_, last = [np.linalg.norm(one.feed_forward.W_2) for one in grad.layers]
    for _, array in stack.named_parameters():
        array += 0.003 * rng.choice([-1, 1], size=array.shape)
    after, _ = stack.forward(x)
    return first, last, np.sqrt(np.square(after - y).mean())


# %%
DEPTHS = (2, 4, 8, 16)
KINDS = {"post-norm": PlainEncoderLayer, "pre-norm": PreNormLayer}
found = {}
for name, kind in KINDS.items():
    # (depths, seeds, three measurements)
    found[name] = np.array([[measured(kind, L, seed) for seed in range(6)] for L in DEPTHS])
    for L, several in zip(DEPTHS, found[name]):
        first, last, shift = several.mean(0)
        low = several[:, 0].min()
        high = several[:, 0].max()
        print(f"  {name:<9} {L:>2} layers   ‖dW_2‖ of the last {last:.2f}, of the first "
              f"{first:.2f} ({low:.2f} to {high:.2f})   outputs move by {shift:.3f}")
