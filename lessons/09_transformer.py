# %% [markdown]
# # Lesson 09: the Transformer
#
# **You will be able to** write an encoder layer forward and backward, and say what the mask, the
# positions, the residual connections and the norm are for.
#
# **Needs:** lesson 08. **Time:** 50 minutes to read, about a minute to run.
#
# Vaswani et al. (2017) asked what a translator needs besides the heads of lesson 08, and answered:
# no recurrence at all. Every word attends to every other (**self-attention**), and no step waits
# for the one before. Small parts do what recurrence did in passing: know the order of the words,
# and hide what comes later.
#
# Which bug lets a decoder read the answer, while every gradient check passes? And the norm can come
# before or after each part: one of the two makes a deep model hard to train. Which?
#
# (`transformer_parts.py`, next to the lessons, has comparisons, pictures and training.)

# %%
print("Lesson 09: the Transformer", flush=True)

from dataclasses import dataclass

import numpy as np
from course import caught, show
from transformer_parts import (curves_picture, check_same_decoder, check_same_encoder,
                               heads_picture, largest_on, perplexity_of_counts,
                               positions_picture, trained, weights_of_heads)

from numpy_attention import metrics, plotting
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.data.datasets.grammar import phenomena
from numpy_attention.gradcheck import gradcheck, numeric_gradient, randomize
from numpy_attention.layers.positional import positional_encoding
from numpy_attention.module import Array, Module
from numpy_attention.training.schedules import Constant, Warmup

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# At the end a small Transformer translates. Here is a sentence that it will not have seen in
# training, and what it should write:

# %%
pairs = load_parallel("grammar-en-fr", "train", np.random.default_rng(3), 8_000)
test = load_parallel("grammar-en-fr", "test", np.random.default_rng(4), 300)
shown = next(n for n, pair in enumerate(test) if phenomena(pair)["swapped adjective"]
             and phenomena(pair)["negation"] and len(pair.target) < 10)
print(*test[shown].source, "→", *test[shown].target)

# %% [markdown]
# Words change their order, so a word must know its position. In training the decoder is fed the
# whole French sentence (**teacher forcing**): the position that predicts *portez* must not see it.
#
# ## A stream with parts beside it
#
# A sentence is a matrix x (T, d_model), one row per word, from the first line of the model to its
# last. A part f reads it and *adds* something: x + f(x), a **residual connection** (or **skip
# connection**). What is there already need not be repeated, and the gradient has a path down past
# f. Two kinds of parts take turns:
#
# - *Heads* carry numbers from word to word. What arrives is a weighted sum.
# - *Feed-forward* reads one word at a time. With its max(0, …) it can compute *and*: for a and b
#   that are 0 or 1, max(0, a + b − 1) is 1 only if both are. No weighted sum of a and b does that.
#
# The encoder's layer has two parts, the decoder's three. The names are those of the paper; N layers
# (in code `layers`) are stacked, with h heads each:
#
# | symbol | shape | what it is |
# |---|---|---|
# | x | (T, d_model) | input of a layer; the first one gets √d_model E[word] + PE(p) |
# | y, z | (T, d_model) | the stream between a layer's parts, and after them |
# | LN(x) = g ∘ x̂ + b | (T, d_model) | **layer normalization** of each row; g, b (d_model,) |
# | heads(x, m) | (T, d_model) | lesson 08: queries from x, keys and values from m (S, d_model) |
# | FF(x) | (T, d_model) | max(0, x W_1 + b_1) W_2 + b_2; W_1 (d_model, d_ff), W_2 (d_ff, d_model) |
# | M | (S, d_model) | the encoder's output for S source words; each decoder layer reads it |
# | q, k, v | (T or S, d_k) | query, key and value vectors of one head; d_k = d_model / h |
# | e, A | (T, S) | a head's scores and weights |
# | E | (V, d_model) | the embedding table, a row for each of V words |
# | PE(p) | (d_model,) | **positional encoding** of position p |
#
# (∘ multiplies two arrays element by element.)

# %%
boxes = {
    "words": ("source words", 0, 0), "x": ("Embedding + Positional\nEncoding: x", 0, 1.3, 0),
    "heads": ("Multi-Head Attention\nheads(x, x)", 0, 2.6), "y": ("Add & Norm: y", 0, 3.9, 1),
    "FF": ("Feed Forward\nFF(y)", 0, 5.2), "z": ("Add & Norm: z", 0, 6.5, 1),
    "M": ("M", 2.8, 6.5, 2), "words so far": ("target words so far", 5.8, 0),
    "x'": ("Embedding + Positional\nEncoding: x", 5.8, 1.3, 0),
    "heads'": ("Masked Multi-Head Attention\nheads(x, x), s ≤ t", 5.8, 2.6),
    "y'": ("Add & Norm: y", 5.8, 3.9, 1),
    "asks": ("Multi-Head Attention\nheads(y, M)", 5.8, 5.2),
    "z'": ("Add & Norm: z", 5.8, 6.5, 1), "FF'": ("Feed Forward\nFF(z)", 5.8, 7.8),
    "out": ("Add & Norm: out", 5.8, 9.1, 1),
    "P": ("Linear, Softmax\nP(word) = softmax(out Eᵀ + b)", 5.8, 10.4),
}

# %%
arrows = [("words", "x"), ("x", "heads"), ("heads", "y"), ("y", "FF"), ("FF", "z"), ("z", "M"),
          ("words so far", "x'"), ("x'", "heads'"), ("heads'", "y'"), ("y'", "asks"),
          ("asks", "z'"), ("z'", "FF'"), ("FF'", "out"), ("out", "P"), ("M", "asks")]
arrows += [(*past, "", -1.35) for past in (("x", "y"), ("y", "z"))]
arrows += [(*past, "", -1.85) for past in (("x'", "y'"), ("y'", "z'"), ("z'", "out"))]
show(plotting.diagram(boxes, arrows, title="One encoder and one decoder layer, each N×. Curved "
                      "arrows: residual connections"), "09_architecture")

# %% [markdown]
# This is Figure 1 of the paper, with its names and our letters. The next layer's x is z, or out.
#
# ## Forward
#
# Only **layer normalization** (Ba, Kiros & Hinton 2016) is new. It subtracts the mean of a word's
# d_model numbers and divides by their spread:
#
#     μ = mean(x)      s = √(mean((x − μ)²) + ε)      x̂ = (x − μ) / s
#
# (ε = 10⁻⁵ keeps s from 0.) Here is a word of five numbers with mean 2 and spread 2. Guess before
# you read on: x_1 = 5 gives x̂_1 = 1.5. If x_1 rises a little, by δ, does x̂_1 rise by δ / 2?

# %%
x = np.array([5.0, -1.0, 3.0, 1.0, 2.0])


def x_hat_of(x):
    return (x - x.mean()) / np.sqrt(x.var() + 1e-5)


moved = x.copy()
moved[0] += 0.001
rise = (x_hat_of(moved) - x_hat_of(x))[0] / 0.001
print("x̂ =", x_hat_of(x), f"  x̂_1 rises by {rise:.3f} δ")

# %% [markdown]
# ## Backward
#
# No: x_1 moves the mean, too, and the spread. The mean has the slope ∂μ/∂x_i = 1 / d_model. For the
# spread, take the derivative of its square (the path through μ adds up to 0 there):
#
#     s² = mean((x − μ)²) + ε
#     2 s ∂s/∂x_i = 2 (x_i − μ) / d_model     so ∂s/∂x_i = x̂_i / d_model
#
# Now the quotient rule for x̂_j = (x_j − μ) / s. x_i reaches x̂_j along three paths, one term each:
# it is x_j itself, if i = j; it moves the mean; it moves the spread:
#
#     ∂x̂_j/∂x_i = (1[i = j] − 1 / d_model) / s − (x_j − μ) / s² · x̂_i / d_model
#               = (1[i = j] − 1 / d_model − x̂_j x̂_i / d_model) / s
#     dx_i = Σ_j dx̂_j ∂x̂_j/∂x_i = (dx̂_i − mean(dx̂) − x̂_i mean(dx̂ ∘ x̂)) / s
#
# In words: the gradient's components along the all-ones vector and along x̂ are projected out.
# Those are the shift and the stretch, to which LN is blind (except for ε).

# %%
dx_hat = np.array([1.0, 0.0, 0.0, 0.0, 0.0])       # the loss is x̂_1 itself
s = np.sqrt(x.var() + 1e-5)
x_hat = (x - x.mean()) / s
alike = dx_hat.mean()
along = (dx_hat * x_hat).mean()
dx = (dx_hat - alike - x_hat * along) / s
numeric = numeric_gradient(lambda: x_hat_of(x)[0], x)
assert np.allclose(dx, numeric, atol=1e-9)
print("dx =", dx, "  as measured:", numeric)
print(f"along the ones it has {dx.sum():.4f}, along x̂ {dx @ x_hat:.4f}")

# %% [markdown]
# The same for a sentence, row by row. With g and b the model can undo what it likes:
#
# > **Exercise.** Write its backward pass: `numpy-attention exercise start layer-norm`.


# %%
@dataclass(eq=False)
class PlainNorm(Module):
    """LN(x) = g ∘ x̂ + b.   x (T, d_model) → (T, d_model)."""

    g: Array  # (d_model,)
    b: Array  # (d_model,)

    def forward(self, x):
        s = np.sqrt(x.var(1, keepdims=True) + 1e-5)             # (T, 1)
        x_hat = (x - x.mean(1, keepdims=True)) / s              # (T, d_model)
        return self.g * x_hat + self.b, (x_hat, s)

    def backward(self, dy, cache, grads):
        x_hat, s = cache
        grads.g += (dy * x_hat).sum(0)
        grads.b += dy.sum(0)
        dx_hat = dy * self.g
        along = (dx_hat * x_hat).mean(1, keepdims=True)
        return (dx_hat - dx_hat.mean(1, keepdims=True) - x_hat * along) / s


# %%
rng = np.random.default_rng(0)
T = 5
S = 3
d_model = 6
x = rng.standard_normal((T, d_model))                    # (T, d_model)
m = rng.standard_normal((S, d_model))                    # (S, d_model)


def check(part, *inputs):
    """The report of a gradient check."""
    return gradcheck(part, *inputs, rng=np.random.default_rng(1))


norm = randomize(PlainNorm(np.ones(d_model), np.zeros(d_model)), rng)
print(check(norm, x))

# %% [markdown]
# ### How a bug looks
#
# The usual mistake forgets the spread: s is taken for a constant. Which of dx, dg and db will be
# wrong?


# %%
class Stiff(PlainNorm):
    """The planted bug."""

    def backward(self, dy, cache, grads):
        x_hat, s = cache
        grads.g += (dy * x_hat).sum(0)
        grads.b += dy.sum(0)
        dx_hat = dy * self.g
        return (dx_hat - dx_hat.mean(1, keepdims=True)) / s


report = caught(check, Stiff(norm.g, norm.b), x)

# %% [markdown]
# g and b are right, so dy and x̂ are. *A part of the Jacobian* (the matrix of all ∂x̂_j/∂x_i): one
# of the three paths to x, which is `input[0]`, is missing.
#
# ## The heads again, one at a time
#
# Lesson 08 joined the heads' outputs and multiplied by W_o. A row of W_o meets one head only:
#
#     [Y_1, Y_2, …] W_o  =  Y_1 W_o^1 + Y_2 W_o^2 + …          W_o^i: the rows that meet head i
#
# So heads side by side are a *sum* of parts. Here is one head, for one sentence; `visible` (T, S)
# says which keys each query may see.


# %%
@dataclass(eq=False)
class PlainHead(Module):
    """The parameters of one head; what it does with them is `look`, below."""

    W_q: Array  # (d_model, d_k)
    b_q: Array  # (d_k,)
    W_k: Array  # (d_model, d_k)
    W_v: Array  # (d_model, d_k)
    b_v: Array  # (d_k,)
    W_o: Array  # (d_k, d_model)


def softmax(e):
    """Of each row; −∞ gets weight 0."""
    A = np.exp(e - e.max(-1, keepdims=True))
    return A / A.sum(-1, keepdims=True)


# %%
def look(head, x, m, visible):
    """Words x (T, d_model) ask words m (S, d_model) → what is added to x (T, d_model), cache."""
    q = x @ head.W_q + head.b_q                                 # (T, d_k)
    k = m @ head.W_k                                            # (S, d_k)
    v = m @ head.W_v + head.b_v                                 # (S, d_k)
    e = np.where(visible, q @ k.T / k.shape[1] ** 0.5, -np.inf)
    A = softmax(e)                                              # (T, S)
    Y = A @ v                                                   # (T, d_k)
    return Y @ head.W_o, (x, m, q, k, v, A, Y)


# %%
def attend_backward(dout, head, cache, grads):
    """dout (T, d_model) → dx (T, d_model), dm (S, d_model)."""
    x, m, q, k, v, A, Y = cache
    grads.W_o += Y.T @ dout
    dY = dout @ head.W_o.T
    dA = dY @ v.T
    de = A * (dA - (A * dA).sum(1, keepdims=True)) / k.shape[1] ** 0.5
    dq = de @ k
    dk = de.T @ q
    dv = A.T @ dY
    grads.W_q += x.T @ dq
    grads.b_q += dq.sum(0)
    grads.W_k += m.T @ dk
    grads.W_v += m.T @ dv
    grads.b_v += dv.sum(0)
    return dq @ head.W_q.T, dk @ head.W_k.T + dv @ head.W_v.T


# %%
@dataclass(eq=False)
class PlainHeads(Module):
    heads: list     # of PlainHead
    b_o: Array      # (d_model,)

    def forward(self, x, m, visible):
        looks = [look(head, x, m, visible) for head in self.heads]
        return self.b_o + sum(found for found, _ in looks), [cache for _, cache in looks]

    def backward(self, dout, caches, grads):
        """→ dx (T, d_model), dm (S, d_model)."""
        grads.b_o += dout.sum(0)
        back = [attend_backward(dout, *one) for one in zip(self.heads, caches, grads.heads)]
        return sum(dx for dx, _ in back), sum(dm for _, dm in back)


# %%
def matrix(rng, rows, columns):
    """Random numbers of the size that Glorot & Bengio (2010) recommend."""
    return rng.standard_normal((rows, columns)) * np.sqrt(2 / (rows + columns))


def new_heads(rng, d_model, h):
    d_k = d_model // h
    heads = [PlainHead(matrix(rng, d_model, d_k), np.zeros(d_k), matrix(rng, d_model, d_k),
                       matrix(rng, d_model, d_k), np.zeros(d_k), matrix(rng, d_k, d_model))
             for _ in range(h)]
    return PlainHeads(heads, np.zeros(d_model))


heads = randomize(new_heads(rng, d_model, h=2), rng)
visible = rng.random((T, S)) < [1, 0.5, 0.5]       # the first word is always seen
print(str(check(heads, x, m, visible)).splitlines()[0])

# %% [markdown]
# ## One layer, whole
#
# Now the feed-forward part and the layer in the paper's order, the norm *after* each sum. Read
# `backward` next to `forward`, from below: a sum x + f(x) hands its gradient to both terms. In
# self-attention x gives queries, keys and values, so the heads return two gradients.
#
# > **Exercise.** Write the layer: `numpy-attention exercise start encoder-layer`.


# %% tags=["plain"]
@dataclass(eq=False)
class PlainFeedForward(Module):
    """FF(x) = max(0, x W_1 + b_1) W_2 + b_2.   x (T, d_model) → (T, d_model)."""

    W_1: Array  # (d_model, d_ff)
    b_1: Array  # (d_ff,)
    W_2: Array  # (d_ff, d_model)
    b_2: Array  # (d_model,)

    def forward(self, x):
        hidden = np.maximum(0, x @ self.W_1 + self.b_1)         # (T, d_ff)
        return hidden @ self.W_2 + self.b_2, (x, hidden)

    def backward(self, dy, cache, grads):
        x, hidden = cache
        grads.W_2 += hidden.T @ dy
        grads.b_2 += dy.sum(0)
        da = dy @ self.W_2.T * (hidden > 0)
        grads.W_1 += x.T @ da
        grads.b_1 += da.sum(0)
        return da @ self.W_1.T


@dataclass(eq=False)
class PlainEncoderLayer(Module):
    """y = LN(x + heads(x, x)),  z = LN(y + FF(y)).   x (T, d_model) → z (T, d_model)."""

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

    def backward(self, dz, cache, grads):
        looked, normed_1, fed, normed_2 = cache
        dsum = self.norm_2.backward(dz, normed_2, grads.norm_2)
        dy = dsum + self.feed_forward.backward(dsum, fed, grads.feed_forward)
        dsum = self.norm_1.backward(dy, normed_1, grads.norm_1)
        dasking, dasked = self.attention.backward(dsum, looked, grads.attention)
        return dsum + dasking + dasked


# %%
def new_layer(kind, rng, d_model, d_ff, h, *more):
    """An encoder layer as training would start with it; more: fields of a larger kind."""
    norms = [PlainNorm(np.ones(d_model), np.zeros(d_model)) for _ in range(2)]
    feed_forward = PlainFeedForward(matrix(rng, d_model, d_ff), np.zeros(d_ff),
                                    matrix(rng, d_ff, d_model), np.zeros(d_model))
    return kind(new_heads(rng, d_model, h), norms[0], feed_forward, norms[1], *more)


layer = randomize(new_layer(PlainEncoderLayer, rng, d_model, d_ff=8, h=2), rng)
print(str(check(layer, x)).splitlines()[0])
check_same_encoder(layer, x)
print("one layer: the output, dx and the gradients of all its parameters are the library's")

# %% [markdown]
# `numpy-attention step 9` goes through it line by line and shows every array.
#
# ### What the residual connection is for
#
# Cut it out: y = LN(heads(x, x)), z = LN(FF(y)). Twenty random words go through six untrained
# layers. After each we measure the share of the mean square that is *variance between words*: 1 if
# they have nothing in common, 0 if all twenty are the same. Guess what happens to it.


# %%
class Blocked(PlainEncoderLayer):
    """A layer without residual connections."""

    def forward(self, x, visible=True):
        found, _ = self.attention.forward(x, x, visible)
        y, _ = self.norm_1.forward(found)
        added, _ = self.feed_forward.forward(y)
        z, _ = self.norm_2.forward(added)
        return z, None


# %%
def differences(kind, seed):
    """The share of the words' squares in which they differ, after each of six layers."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((20, 32))
    shares = []
    for _ in range(6):
        x, _ = new_layer(kind, rng, d_model=32, d_ff=128, h=4).forward(x)
        shares.append(np.square(x - x.mean(0)).mean() / np.square(x).mean())
    return np.array(shares)


for name, kind in (("with", PlainEncoderLayer), ("without", Blocked)):
    for seed in range(3):
        shares = differences(kind, seed)
        print(f"  {name:<7} residual connections, seed {seed}, after layers 1 to 6: "
              + " ".join(f"{share:7.1g}" for share in shares))
        assert (shares[3] < 1e-4) == (kind is Blocked)

# %% [markdown]
# Without it, four layers turn twenty words into one: **rank collapse** (Dong, Cordonnier & Loukas
# 2021, "Attention is not all you need"). Averages of the same words are much alike, and words that
# are alike have the same queries. With it differences fade, too, but less.
#
# ## Positions
#
# A head is a sum over words, and a sum has no order. Let the five rows of x be five words, shuffle
# them, and see what the layer makes of it:

# %%
sentence = np.array("my wolf eats your cow".split())
order = np.array([3, 4, 2, 0, 1])
straight, _ = layer.forward(x)
shuffled, _ = layer.forward(x[order])
assert np.allclose(shuffled, straight[order])
print("each word has the same output in:", *sentence, "/", *sentence[order])

# %% [markdown]
# Who eats whom? The layer cannot tell. So the position is added to the words:
# x = √d_model E[word] + PE(p). (E is the output's table too, so its numbers are about 1 / √d_model;
# √d_model makes a word about as large as its position.) The paper takes sines and cosines, a pair
# for each frequency ω_i, from 1 to nearly 1 / 10000:
#
#     ω_i = 10000^(−2i / d_model)      PE(p)_2i = sin(ω_i p)      PE(p)_2i+1 = cos(ω_i p)
#
# Why? One pair is the hand of a clock. `offset` places later, it has turned by ω_i offset,
# *wherever it started*. With a = ω_i p and b = ω_i offset:
#
#     [sin(a + b), cos(a + b)] = [sin a, cos a] R         R = [cos b, −sin b; sin b, cos b]
#
# > **Exercise.** Write both: `numpy-attention exercise start positional-encoding`.


# %%
def positions(T, d_model):
    """PE (T, d_model)."""
    frequencies = 10000.0 ** (-np.arange(0, d_model, 2) / d_model)  # (d_model / 2,)
    angles = np.arange(T)[:, None] * frequencies                    # (T, d_model / 2)
    return np.stack([np.sin(angles), np.cos(angles)], 2).reshape(T, d_model)


PE = positions(60, 64)
assert np.allclose(PE, positional_encoding(60, 64, np.float64))
offset = 3
R = np.array([[np.cos(offset), -np.sin(offset)],
              [np.sin(offset), np.cos(offset)]])        # of the first pair, ω = 1
for p in (2, 50):
    assert np.allclose(PE[p, :2] @ R, PE[p + offset, :2])
    print(f"  PE({p}) {PE[p, :2]}   turned {PE[p, :2] @ R}   "
          f"PE({p + offset}) {PE[p + offset, :2]}")

# %% [markdown]
# One matrix R for all p: so "the word three before me" is a linear map, which W_q and W_k can
# learn. And PE(p) · PE(p + offset) = Σ_i cos(ω_i offset) depends on the distance alone, not even on
# which of the two comes first: cos is symmetric. W_q and W_k can tell before from after.

# %%
products = PE @ PE.T
assert np.allclose(products[1:, 1:], products[:-1, :-1])        # one place on, the same
show(positions_picture(PE), "09_positions")

# %% [markdown]
# ## The decoder's layer
#
# It differs in two ways. A second set of heads reads the encoder's output M: queries from the
# target, keys and values from the source, which is **cross-attention**. And in training all target
# words are there, while word t has to predict the next one: it may see places s ≤ t only, by the
# **causal mask**, a triangle.
#
# > **Exercise.** Write the masked softmax: `numpy-attention exercise start causal-mask`.


# %%
@dataclass(eq=False)
class PlainDecoderLayer(PlainEncoderLayer):
    source: PlainHeads
    norm_source: PlainNorm


def decode(layer, x, m):
    """Target words x (T, d_model), memory m (S, d_model) → out (T, d_model), cache."""
    triangle = np.tri(len(x), dtype=bool)                       # (T, T)
    found, looked = layer.attention.forward(x, x, triangle)
    y, normed_1 = layer.norm_1.forward(x + found)
    asked, source = layer.source.forward(y, m, True)
    z, normed_source = layer.norm_source.forward(y + asked)
    added, fed = layer.feed_forward.forward(z)
    out, normed_2 = layer.norm_2.forward(z + added)
    return out, (looked, normed_1, source, normed_source, fed, normed_2)


# %%
def decode_backward(dout, layer, cache, grads):
    """→ dx (T, d_model), dm (S, d_model)."""
    looked, normed_1, source, normed_source, fed, normed_2 = cache
    dsum = layer.norm_2.backward(dout, normed_2, grads.norm_2)
    dz = dsum + layer.feed_forward.backward(dsum, fed, grads.feed_forward)
    dsum = layer.norm_source.backward(dz, normed_source, grads.norm_source)
    dasking, dm = layer.source.backward(dsum, source, grads.source)
    dsum = layer.norm_1.backward(dsum + dasking, normed_1, grads.norm_1)
    dasking, dasked = layer.attention.backward(dsum, looked, grads.attention)
    return dsum + dasking + dasked, dm


# %%
asking_m = [new_heads(rng, d_model, h=2), PlainNorm(np.ones(d_model), np.zeros(d_model))]
decoder = randomize(new_layer(PlainDecoderLayer, rng, d_model, 8, 2, *asking_m), rng)
report = gradcheck(decoder, x, m, rng=np.random.default_rng(1),
                   forward=lambda x, m: decode(decoder, x, m),
                   backward=lambda dout, *more: decode_backward(dout, decoder, *more))
print(str(report).splitlines()[0])
check_same_decoder(decoder, decode, decode_backward, x, m)
print("the decoder's layer: outputs and all gradients are the library's")

# %% [markdown]
# ### What no gradient check sees
#
# Make the triangle one place too wide, s ≤ t + 1, or leave it out. The backward pass then is the
# correct one of the wrong function. What catches it is a *law*: what comes later changes nothing
# earlier. Change word s, and see which outputs move. Output t has to predict word t + 1.


# %%
def moved_by(visible):
    """(T, T): does output t move when word s changes?"""
    before, _ = layer.forward(x, visible)
    moves = np.zeros((T, T), int)
    for s in range(T):
        changed = x.copy()
        changed[s, 0] += 1
        after, _ = layer.forward(changed, visible)
        moves[:, s] = np.abs(after - before).max(1) > 1e-12
    return moves


# %%
masks = {"s ≤ t": np.tri(T), "s ≤ t + 1": np.tri(T, k=1), "no mask": np.ones((T, T))}
for name, mask in masks.items():
    visible = mask.astype(bool)
    worst = check(layer, x, visible).worst
    moves = moved_by(visible)
    early = np.triu(moves, 1).sum()
    print(f"{name}: gradient check passed, {worst:.0e}; an earlier output moves in {early} of "
          f"{T * (T - 1) // 2} cases")
    for t in range(T - 1):
        print(f"  to write {sentence[t + 1]:<4} it reads:", *sentence[moves[t] == 1])
    assert (early == 0) == (name == "s ≤ t") and np.diag(moves).all()

# %% [markdown]
# All three checks pass. One place too wide, and to write *cow* it reads *cow*, which is not there
# yet in use. Write this law as a test for every decoder that you build.
#
# ## Writing word by word
#
# In use there is no next word yet. The decoder writes one, appends it and goes on. Computed from
# the start each time, T words cost 1 + 2 + … + T rows in each product. But by the law above, keys
# and values of earlier words *stay*. Keep them (a **KV cache**), and each word costs one row.
# Decoding has no gradient, so the test is a law again: word by word equals all at once.
#
# > **Exercise.** Write one step of it: `numpy-attention exercise start kv-cache`.


# %%
def word_by_word(head, x):
    """The outputs for all words of x (T, d_model), one by one, with a KV cache."""
    d_k = len(head.b_q)
    keys = np.zeros((0, d_k))
    values = np.zeros((0, d_k))
    rows = []
    for word in x[:, None]:                                         # (1, d_model)
        keys = np.vstack([keys, word @ head.W_k])                   # (t + 1, d_k)
        values = np.vstack([values, word @ head.W_v + head.b_v])    # (t + 1, d_k)
        q = word @ head.W_q + head.b_q                              # (1, d_k)
        A = softmax(q @ keys.T / np.sqrt(d_k))                      # (1, t + 1)
        rows.append(A @ values @ head.W_o)
    return np.vstack(rows)


# %%
head = decoder.attention.heads[0]
words = rng.standard_normal((10, d_model))
at_once, _ = look(head, words, words, np.tri(10, dtype=bool))
assert np.allclose(word_by_word(head, words), at_once)
print("word by word is all at once; rows through W_k: 10, without a cache "
      f"{np.arange(1, 11).sum()}")

# %% [markdown]
# ## Before or after?
#
# One choice is left. The paper has LN(x + f(x)), **post-norm**. Others had put the norm *into* the
# part, x + f(LN(x)), **pre-norm**; Xiong et al. (2020) explain what it changes. The stream is then
# a plain sum, from the first layer to the last. (One more LN comes after the last layer, since a
# sum of many parts is large.)


# %%
class PreNormLayer(PlainEncoderLayer):
    def forward(self, x, visible=True):
        inside, normed_1 = self.norm_1.forward(x)
        found, looked = self.attention.forward(inside, inside, visible)
        y = x + found
        inside, normed_2 = self.norm_2.forward(y)
        added, fed = self.feed_forward.forward(inside)
        return y + added, (looked, normed_1, fed, normed_2)

    def backward(self, dz, cache, grads):
        looked, normed_1, fed, normed_2 = cache
        dinside = self.feed_forward.backward(dz, fed, grads.feed_forward)
        dy = dz + self.norm_2.backward(dinside, normed_2, grads.norm_2)
        dasking, dasked = self.attention.backward(dy, looked, grads.attention)
        return dy + self.norm_1.backward(dasking + dasked, normed_1, grads.norm_1)


# %%
pre = PreNormLayer(layer.attention, layer.norm_1, layer.feed_forward, layer.norm_2)
print(str(check(pre, x)).splitlines()[0])
check_same_encoder(pre, x, pre_norm=True)
print("pre-norm: the library's, too")

# %% [markdown]
# Xiong et al. show that in a post-norm stack the expected gradients near the output are large at
# the start, so that training needs small first steps (**warm-up**), and that a pre-norm stack can
# do without. In the paper's equation 3 the learning rate rises for w steps, then falls with 1 / √t,
#
#     rate(t) = d_model^−½ min(t^−½, t w^−3⁄2)
#
# The library's `Warmup(w)` is that curve with its top, at t = w, set to 1; here it is multiplied by
# 0.003.
#
# Now the 2 × 2 experiment: norm before or after, with warm-up or without, six layers in encoder and
# decoder, 50 steps an epoch. The baseline is a model that knows how frequent words are, and nothing
# else. Which of the four will be no better?

# %% tags=["training"]
few = pairs[:800]
SEED = 0


def curve(pre_norm, schedule):
    """→ the Translator, its perplexity on held-out sentences every 50 steps."""
    translator, lines = trained(few, test, SEED, epochs=4, rate=0.003, schedule=schedule,
                                batch_size=16, size=32, layers=6, heads=4, pre_norm=pre_norm,
                                smoothing=0.0)
    return translator, [line["valid_perplexity"] for line in lines]


# %% tags=["training"]
MODELS = {
    "post-norm, warm-up": (False, Warmup(150)),
    "post-norm, none": (False, Constant()),
    "pre-norm, warm-up": (True, Warmup(150)),
    "pre-norm, none": (True, Constant()),
}
curves = {}
for name, settings in MODELS.items():
    translator, curves[name] = curve(*settings)
    print(f"  {name:<19} perplexity every 50 steps: "
          + " ".join(f"{one:6.1f}" for one in curves[name]), flush=True)
counts = perplexity_of_counts(translator, few, test)
print(f"  knowing only how frequent words are: {counts:.1f}")
# post-norm without warm-up, at the constant rate 0.001: 66.3, 65.2 and 62.9 (seeds 0 to 2)

# %% tags=["training"]
title = (f"Without warm-up post-norm ends at {curves['post-norm, none'][-1]:.0f}, "
         f"pre-norm at {curves['pre-norm, none'][-1]:.0f}")
show(curves_picture(curves, counts, title), "09_warmup")

# %% [markdown]
# Post-norm without warm-up has learnt which words are frequent, and nothing of the source. Pre-norm
# does without (three seeds: question 5). Is it the size of the first steps? At a small *constant*
# rate, 0.001, post-norm gets away, too, a little ahead of warm-up (question 6). Or does the
# gradient vanish on its way down, as one hears? Question 9 measures that.
#
# ## A small Transformer
#
# Now `grammar-en-fr` with the paper's order: two layers, four heads, d_model = 64, post-norm with
# warm-up. With two layers the paper's own learning rate works.
#
# And the paper's **label smoothing** (Szegedy et al. 2016; here ε = 0.1): the target is no longer
# one word with probability 1, but ȳ, which gives 1 − ε to that word and spreads ε evenly over all
# V. The loss is −Σ_v ȳ_v log p_v. Its gradient for the **logits** (the scores before the softmax)
# is that of lesson 01 with a softer target: p − ȳ. The price: the loss has a floor, the entropy of
# ȳ, which says nothing about the model. (What is it good for? Question 11.)

# %% tags=["training"]
translator, epochs = trained(pairs, test, SEED, 4, (64 * 200) ** -0.5, Warmup(200), size=64,
                             layers=2, heads=4, smoothing=0.1)
V = len(translator.target_vocabulary)
y_bar = np.full(V, 0.1 / V)
y_bar[0] += 0.9
floor = np.exp(-y_bar @ np.log(y_bar))
for epoch in epochs:
    print(f"  epoch {epoch['epoch']}: perplexity {epoch['train_perplexity']:6.2f} in training, "
          f"smoothed, {epoch['valid_perplexity']:6.2f} on held-out sentences", flush=True)
print(f"The smoothed one cannot fall below {floor:.2f}.")

# %% tags=["training"]
written = [one.target for one in translator.translate([pair.source for pair in test], beam=1)]
exact = metrics.exact_match(written, [pair.target for pair in test])
print(f"exactly right: {exact:.0%} of the held-out sentences; that of the beginning, the first "
      "that is wrong:")
wrong = next(n for n, pair in enumerate(test) if list(written[n]) != list(pair.target))
for n in (shown, wrong):
    print("  ", *test[n].source, "→", *written[n])
# For comparison, the same task and pairs; exactly right of the held-out sentences:
#   a GRU with lesson 07's dot    99.5% after 5 epochs (seed 1)
#   this Transformer              80% to 87% after 4 epochs, 89% to 96% after 8 (seeds 0 to 2)

# %% [markdown]
# Why is perplexity higher in training than on new sentences? Targets are smoothed there: you see
# the floor. Lesson 07's recurrent network had 99.5% on this task: on 8,000 short pairs the
# Transformer is not ahead. What it has for certain is that in training no word waits for another.
#
# ## What each head looks at
#
# For how many target words does a head's largest weight lie on the right source word? What do you
# expect of the heads in layer 1, and of those in layer 2? Here is the sentence of the beginning.

# %% tags=["training"]
weights, kinds, words = weights_of_heads(translator, test)
READS = "the target reads the source"
linked = kinds[READS]["the right word"]             # (B, T, S)
right = [share for layer_of_it in weights[READS]    # (B, heads, T, S)
         for share in largest_on(linked, layer_of_it, words[READS])]
print("largest weight on the right word, layer 1, then layer 2: "
      + ", ".join(f"{one:.0%}" for one in right))
assert max(right[:4]) < min(right[4:])

# %% tags=["training"]
its_heads = [head for layer_of_it in weights[READS] for head in layer_of_it[shown]]
title = "The target reads the source: layer 1 looks elsewhere, too; layer 2 points"
show(heads_picture(its_heads, right, test[shown], title), "09_heads")

# %% [markdown]
# In layer 2 all four heads mostly read the word that is being translated, with a few errors. The
# heads of layer 1 look at the right word less than half of the time. (At what else? Question 10.)
# What a head looks at is not yet what it is *for*. For that, take it away (question 7).

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | residual connection | skip connection, Add in Add & Norm |
# | the triangle s ≤ t | **causal mask**, look-ahead mask; masked self-attention |
# | places, PE | **positional encoding**, sinusoidal |
# | KV cache | kept keys and values, past key values |
# | heads(y, M) | **cross-attention**, encoder-decoder attention |
# | d_model, d_ff, h, `layers` | the paper's 512, 2048, h = 8, N = 6 |
# | scores over the vocabulary | **logits** |
# | norm before or after | pre-norm, post-norm (Pre-LN, Post-LN) |
#
# All terms are in the [glossary](../docs/site/glossary.md).
#
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `metrics` | how many translations are right, and whether attention points at the right word |
# | `plotting` | diagrams, colours, heatmaps |
# | `load_parallel` | draws sentence pairs of a corpus |
# | `phenomena` | which links of a pair show a swapped adjective, a negation, … |
# | `gradcheck` | compares a backward pass with central differences |
# | `numeric_gradient` | the central differences of one array |
# | `randomize` | gives all parameters of a module random values |
# | `positional_encoding` | its positions, for comparison |
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |
# | `Constant` | a learning rate that stays |
# | `Warmup` | one that rises first |

# %% [markdown]
# ## Questions
#
# 1. Show that LN(a x + c) = LN(x) for a > 0 and any c, but for ε. What, then, does a pre-norm part
#    not know of the stream, and what does the stream still know?
# 2. In `PlainEncoderLayer.backward` leave out dasked. Which gradients will be wrong? And which, if
#    the residual connection past the feed-forward part is left out (dsum in the line of dy)?
# 3. With the triangle, let the loss read output t = 2 only. Which rows of dx are 0? Make a test of
#    the mask from that.
# 4. Can an encoder keep its keys when the source grows by a word, as the decoder does?
# 5. Train the four models of the 2 × 2 with the seeds 0 to 2. What holds for all?
# 6. Train post-norm without warm-up at the constant rates `0.003`, `0.001` and `0.0005`. Does it
#    get away from word counts?
# 7. After training, set one head's rows of W_o to 0 and measure the share of exactly right
#    sentences, head by head, in the decoder. Which head is needed? Is it one that points?
# 8. Train with the triangle one place too wide. What will perplexity say, and what will the
#    translations?
# 9. In a deep post-norm stack, one hears, the gradient vanishes on its way down. Measure that of
#    W_2 in the first and in the last of 2 to 16 untrained layers of either kind, with many seeds.
#    And how far do the outputs move if each parameter moves by 0.003, up or down by chance?
# 10. There are sixteen heads more: the source reads itself, the target reads itself. Guess where
#     the largest weights lie, and count. Where do you see the mask, from outside?
# 11. Four words; the right one has the logit z, the others 0. Which z is best, without label
#     smoothing and with ε = 0.1? Show that the gradient of the logits is p − ȳ.
