# %% [markdown]
# # Lesson 09: the Transformer
#
# **You will be able to** write an encoder layer forward and backward, and explain what the mask,
# the positional encodings, the residual connections and the norm are for.
#
# **Needs:** lesson 08. **Time:** 60 minutes to read, about a minute to run.
#
# Vaswani et al. (2017) built a translator without recurrence, so that in training no word has to
# wait for the word before it. But recurrence does four jobs:
#
# 1. It connects the words: its state carries earlier words to later ones.
# 2. It keeps the order: it reads the words one after another.
# 3. It hides the words to come: the decoder has not read them yet.
# 4. It makes the next word cheap: one step from the last state is enough.
#
# A Transformer gives each job to a different part, and we test that the part does it.
#
# Guess now: how could a decoder pass every gradient check, and still read the answer (the word that
# it has to predict) during training?

# %%
print("Lesson 09: the Transformer", flush=True)

from dataclasses import dataclass

import numpy as np
from course import caught, show
from transformer_parts import (check_same_decoder, check_same_encoder, divisors_held, head_picture,
                               largest_on, mark_repeated, positions_picture, trained,
                               weights_of_heads)

from numpy_attention import metrics, plotting
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.gradcheck import gradcheck, numeric_gradient, randomize
from numpy_attention.layers.positional import positional_encoding
from numpy_attention.module import Array, Module
from numpy_attention.training.schedules import Warmup

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## The plan: a stream and its parts
#
# A Transformer has no recurrent state. Instead, a matrix x (T, **d_model**), the stream, flows
# through it, with one row per word. Each part f of the Transformer reads the stream and *adds* its
# result to it: x + f(x). This addition is a **residual connection** (or **skip connection**). There
# are two kinds of parts:
#
# - *Heads* carry information from word to word. In **self-attention**, all words of a sentence
#   attend to each other.
# - *Feed-forward* parts compute with one word at a time. Heads only mix words, by weighted sums.
#   With max(0, …), a feed-forward part computes what no weighted sum can.
#
# An encoder layer has two parts, and a decoder layer has three. Encoder and decoder are stacks of
# **N** layers each.
#
# | symbol | shape | what it is |
# |---|---|---|
# | x | (T, d_model) | input of a layer: the output of the one below; for the first, see job 2 |
# | y, z, out | (T, d_model) | the stream after a layer's first part, its second and its third |
# | heads(x, m) | (T, d_model) | attention: queries from x; keys and values from m (S, d_model) |
# | FF(x) | (T, d_model) | max(0, x W_1 + b_1) W_2 + b_2; its hidden layer: d_ff numbers per word |
# | M | (S, d_model) | the encoder's output for S source words; each decoder layer reads it |
# | j, t | | positions in the source and in the target, from 0 (j ≤ t: job 3) |
#
# The figure is arranged like Figure 1 of the paper. Each orange box adds the result of a part to
# the stream and normalizes the sum.

# %%
boxes = {
    "words": ("source words", 0, 0), "x": ("Embedding + Positional\nEncoding: x", 0, 1.3, 0),
    "heads": ("Multi-Head Attention\nheads(x, x)", 0, 2.6), "y": ("Add & Norm: y", 0, 3.9, 1),
    "FF": ("Feed Forward\nFF(y)", 0, 5.2), "z": ("Add & Norm: z", 0, 6.5, 1),
    "M": ("M", 0, 7.8, 2), "words so far": ("target words so far", 4.9, 0),
    "x'": ("Embedding + Positional\nEncoding: x", 4.9, 1.3, 0),
    "heads'": ("Masked Multi-Head Attention\nheads(x, x), j ≤ t", 4.9, 2.6),
    "y'": ("Add & Norm: y", 4.9, 3.9, 1),
    "asks": ("Multi-Head Attention\nheads(y, M)", 4.9, 5.2),
    "z'": ("Add & Norm: z", 4.9, 6.5, 1), "FF'": ("Feed Forward\nFF(z)", 4.9, 7.8),
    "out": ("Add & Norm: out", 4.9, 9.1, 1),
    "P": ("Linear, Softmax\nP(word) = softmax(out Eᵀ + b)", 4.9, 10.4),
}

# %%
arrows = [("words", "x"), ("x", "heads"), ("heads", "y"), ("y", "FF"), ("FF", "z"), ("z", "M"),
          ("words so far", "x'"), ("x'", "heads'"), ("heads'", "y'"), ("y'", "asks"),
          ("asks", "z'"), ("z'", "FF'"), ("FF'", "out"), ("out", "P"), ("M", "asks", "", 0.15)]
arrows += [(*past, "", -1.35) for past in (("x", "y"), ("y", "z"))]
arrows += [(*past, "", -1.85) for past in (("x'", "y'"), ("y'", "z'"), ("z'", "out"))]
axes = plotting.diagram(boxes, arrows, title="Curved arrows: residual connections")
mark_repeated(axes, left=-1.2, right=1.7, low=1.95, high=7.05)
mark_repeated(axes, left=3.4, right=6.7, low=1.95, high=9.65)
show(axes, "09_architecture")

# %% [markdown]
# The last encoder layer returns M. The output layer has no matrix of its own: it reuses E (V,
# d_model), the decoder's embedding table with a row for each of V words (**weight tying**).
#
# ## Job 1: connect the words
#
# Heads do this job. How do several of them add to one stream? Lesson 08 put their outputs, Y_0,
# Y_1, …, side by side and multiplied the result by W_o. Cut W_o into blocks of rows, one block per
# head. The output Y_i of head i meets only block i, so the product is a *sum*:
#
#     [Y_0, Y_1, …] W_o  =  Y_0 W_o^0 + Y_1 W_o^1 + …          W_o^i: block i of W_o, not a power
#
# So each head adds its own term to the stream. A layer has **h** heads. Each head has queries q,
# keys k and values v, with d_k = d_model / h numbers per word.
#
# `attend` and `attend_backward` repeat lesson 08 for one head and one sentence, so you may skim
# them. `visible` (T, S) is True where a query may see a key.


# %%
@dataclass(eq=False)
class PlainHead(Module):
    """The parameters of one head, for `attend` and `attend_backward`."""

    W_q: Array  # (d_model, d_k)
    b_q: Array  # (d_k,)
    W_k: Array  # (d_model, d_k)
    W_v: Array  # (d_model, d_k)
    b_v: Array  # (d_k,)
    W_o: Array  # (d_k, d_model)


def softmax(e):
    """The softmax of each row; a score of −∞ gets the weight 0."""
    A = np.exp(e - e.max(-1, keepdims=True))
    return A / A.sum(-1, keepdims=True)


# %%
def attend(head, x, m, visible):
    """Queries from x (T, d_model), keys, values from m (S, d_model) → (T, d_model), cache."""
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
        results = [attend(head, x, m, visible) for head in self.heads]
        return self.b_o + sum(term for term, _ in results), [cache for _, cache in results]

    def backward(self, dout, caches, grads):
        """→ dx (T, d_model), dm (S, d_model)."""
        grads.b_o += dout.sum(0)
        dinputs = [attend_backward(dout, *one) for one in zip(self.heads, caches, grads.heads)]
        return sum(dx for dx, _ in dinputs), sum(dm for _, dm in dinputs)


# %% [markdown]
# We check two heads. The queries come from our sentence, *my wolf eats your cow*: for now, each of
# its words has a row of random numbers in x.


# %%
def matrix(rng, rows, columns):
    """Random numbers with the variance that Glorot & Bengio (2010) recommend."""
    return rng.standard_normal((rows, columns)) * np.sqrt(2 / (rows + columns))


def new_heads(rng, d_model, h):
    d_k = d_model // h
    heads = [PlainHead(matrix(rng, d_model, d_k), np.zeros(d_k), matrix(rng, d_model, d_k),
                       matrix(rng, d_model, d_k), np.zeros(d_k), matrix(rng, d_k, d_model))
             for _ in range(h)]
    return PlainHeads(heads, np.zeros(d_model))


# %%
rng = np.random.default_rng(0)
sentence = np.array("my wolf eats your cow".split())
T = len(sentence)
S = 3
d_model = 6
x = rng.standard_normal((T, d_model))                    # (T, d_model)
m = rng.standard_normal((S, d_model))                    # (S, d_model)


def check(part, *inputs):
    """The report of a gradient check."""
    return gradcheck(part, *inputs, rng=np.random.default_rng(1))


heads = randomize(new_heads(rng, d_model, h=2), rng)
visible = rng.random((T, S)) < [1, 0.5, 0.5]       # all queries see the first key
print(str(check(heads, x, m, visible)).splitlines()[0])

# %% [markdown]
# Now the sentence attends to itself, without a mask. We change one word j at a time and see which
# outputs move.


# %%
def moved_by(forward):
    """(T, T): whether output t (the row) moves when word j (the column) changes."""
    before, _ = forward(x)
    moves = np.zeros((T, T), int)
    for j in range(T):
        changed = x.copy()
        changed[j, 0] += 1
        after, _ = forward(changed)
        moves[:, j] = np.abs(after - before).max(1) > 1e-12
    return moves


moves = moved_by(lambda x: heads.forward(x, x, True))
print(f"a word moves an output in {moves.sum()} of {T * T} pairs")

# %% [markdown]
# Every word moves every output: the heads do job 1.
#
# *The jobs: connect ✓, order, hide, cheap.*
#
# ## Before job 2: the layer around the heads
#
# Besides the heads, an encoder layer has a feed-forward part, two residual connections and two
# norms. As in the paper, the norm comes *after* each sum (**post-norm**). We derive the norm, build
# the layer, and then see what its residual connections and norms are for.
#
# ## Forward: layer normalization
#
# Every part adds to the stream, so the stream's numbers would grow from layer to layer. **Layer
# normalization** (Ba, Kiros & Hinton 2016) prevents this. In this section and the next, x is only
# one row of the stream. The norm subtracts the row's mean and divides by its standard deviation s:
#
#     μ = mean(x)      s = √(mean((x − μ)²) + ε)      x̂ = (x − μ) / s
#
# (ε = 10⁻⁵ keeps s above 0.) The row in the next cell has five numbers, with μ = 2 and s ≈ 2. So
# x_1 = 5 becomes x̂_1 = (5 − 2) / 2 = 1.5. If x_1 rises by a small δ, does x̂_1 rise by δ / 2?

# %%
row = np.array([5.0, -1.0, 3.0, 1.0, 2.0])


def x_hat_of(x):
    return (x - x.mean()) / np.sqrt(x.var() + 1e-5)


print("x̂ =", x_hat_of(row))

# %% [markdown]
# ## Backward: layer normalization
#
# No: x̂_1 does not rise by δ / 2, because μ and s change with x_1, too. The derivative of the mean
# is ∂μ/∂x_i = 1 / d_model. For s, differentiate both sides of s² = mean((x − μ)²) + ε. ([i = j] is
# 1 if i = j, and otherwise 0.)
#
#     2 s ∂s/∂x_i = mean over j of 2 (x_j − μ) ([i = j] − 1 / d_model) = 2 (x_i − μ) / d_model
#     ∂s/∂x_i     = x̂_i / d_model
#
# In the first line, −1 / d_model contributes 0, because Σ_j (x_j − μ) = 0. Now apply the quotient
# rule to x̂_j = (x_j − μ) / s:
#
#     ∂x̂_j/∂x_i = ([i = j] − 1 / d_model) / s − (x_j − μ) / s² · x̂_i / d_model
#               = ([i = j] − 1 / d_model − x̂_j x̂_i / d_model) / s
#
# The three terms are the three paths from x_i to x̂_j: directly, through μ, and through s. Multiply
# by the upstream gradient dx̂_j and sum over j.
#
#     dx_i = Σ_j dx̂_j ∂x̂_j/∂x_i = (dx̂_i − mean(dx̂) − x̂_i mean(dx̂ ∘ x̂)) / s
#
# We can test this formula, because two changes of x leave x̂ as it is. One adds a constant to all
# of x: a step along the vector of ones. The other stretches x around its mean: a step in the
# direction of x̂. So dx should have no component along these two directions (except for the effect
# of ε).
#
# > **Exercise.** Write this backward pass: `numpy-attention exercise start layer-norm`.

# %%
dx_hat = np.array([1.0, 0.0, 0.0, 0.0, 0.0])       # the loss is x̂_1 itself
s = np.sqrt(row.var() + 1e-5)
x_hat = x_hat_of(row)
along = (dx_hat * x_hat).mean()
dx = (dx_hat - dx_hat.mean() - x_hat * along) / s
numeric = numeric_gradient(lambda: x_hat_of(row)[0], row)
assert np.allclose(dx, numeric, atol=1e-9)
print("dx =", dx, "  by central differences:", numeric)
print(f"dx has the component {dx.sum():.4f} along the ones, and {dx @ x_hat:.4f} along x̂")

# %% [markdown]
# As dx_1 shows, x̂_1 rises by only 0.175 δ.
#
# Each row of a sentence is normalized separately. Then two learnt vectors, g and b, rescale and
# shift the columns: LN(x) = g ∘ x̂ + b.


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
norm = randomize(PlainNorm(np.ones(d_model), np.zeros(d_model)), rng)
print(check(norm, x))

# %% [markdown]
# ### What a bug looks like
#
# The usual mistake is to treat s as a constant, which drops the third path. Which of the three
# gradients dx, dg and db will be wrong?


# %%
class Stiff(PlainNorm):
    """PlainNorm with a planted bug."""

    def backward(self, dy, cache, grads):
        x_hat, s = cache
        grads.g += (dy * x_hat).sum(0)
        grads.b += dy.sum(0)
        dx_hat = dy * self.g
        return (dx_hat - dx_hat.mean(1, keepdims=True)) / s


report = caught(check, Stiff(norm.g, norm.b), x)

# %% [markdown]
# Only dx, called `input[0]`, is wrong. The report points to the line that returns dx: it computes
# only a part of the Jacobian (the matrix of all ∂x̂_j/∂x_i), two terms of three.
#
# ## A whole encoder layer
#
# In the backward pass of the layer, only two things are new. A sum x + f(x) passes its gradient,
# `dsum`, to both x and f(x). And max(0, a) passes its gradient on only where a > 0.
#
# When you read `forward`, count how many times x is used. How many gradients of x must `backward`
# add up?
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
        dx_q, dx_kv = self.attention.backward(dsum, looked, grads.attention)
        return dsum + dx_q + dx_kv


# %%
def new_layer(kind, rng, d_model, d_ff, h, *more):
    """An untrained layer of this kind. `more` holds the extra fields of a decoder layer."""
    norms = [PlainNorm(np.ones(d_model), np.zeros(d_model)) for _ in range(2)]
    feed_forward = PlainFeedForward(matrix(rng, d_model, d_ff), np.zeros(d_ff),
                                    matrix(rng, d_ff, d_model), np.zeros(d_model))
    return kind(new_heads(rng, d_model, h), norms[0], feed_forward, norms[1], *more)


layer = randomize(new_layer(PlainEncoderLayer, rng, d_model, d_ff=8, h=2), rng)
print(str(check(layer, x)).splitlines()[0])
check_same_encoder(layer, x)
print("one layer: its output, dx and the gradients of all its parameters equal the library's")

# %% [markdown]
# `backward` adds up three gradients of x: dsum from the residual connection, dx_q from the queries,
# and dx_kv from the keys and values. (`numpy-attention step 9` shows every array of this layer,
# line by line.)
#
# ### What the residual connection is for
#
# What goes wrong without residual connections, where y = LN(heads(x, x)) and z = LN(FF(y))? We send
# twenty random words through six untrained layers. After each layer, we measure how much of the
# stream x is *difference between words*: mean((x − x̄)²) / mean(x²), where x̄ is the mean row. This
# share is 0 if all rows are equal, and 1 if the mean row is zero.
#
# Guess: after how many layers without residual connections is the share below one in a million? (As
# controls, two runs leave the heads out.)


# %%
def streams(seed, residual=1, heads=True, norms=True):
    """The stream after each of six layers; residual: 1 with residual connections, 0 without."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((20, 32))
    results = []
    for _ in range(6):
        layer = new_layer(PlainEncoderLayer, rng, d_model=32, d_ff=128, h=4)
        found = layer.attention.forward(x, x, True)[0] if heads else x
        y = residual * x + found
        y = layer.norm_1.forward(y)[0] if norms else y
        x = residual * y + layer.feed_forward.forward(y)[0]
        x = layer.norm_2.forward(x)[0] if norms else x
        results.append(x)
    return results


def difference(x):
    return np.square(x - x.mean(0)).mean() / np.square(x).mean()


# %%
cases = {"residual connections and heads": (1, True), "heads only": (0, True),
         "residual connections only": (1, False), "neither": (0, False)}
shares = {name: np.array([[difference(x) for x in streams(seed, *case)] for seed in range(3)])
          for name, case in cases.items()}              # (seeds, layers)
print("share that differs between words      layer 2   layer 3   layer 4   layer 6")
for name, runs in shares.items():                       # the first seed is printed
    print(f"  {name:<33}" + "".join(f"{share:10.2g}" for share in runs[0, [1, 2, 3, 5]]))

# %%
for name, runs in shares.items():
    assert ((runs[:, 3] < 1e-6) == (name == "heads only")).all()

# %% [markdown]
# With heads only, the share is below one in a million after four layers, with each of three seeds.
# This is **rank collapse** (Dong, Cordonnier & Loukas 2021). Every output of a head is an average
# of the same twenty values, and averages differ less than the values that they average. In the next
# layer, similar words have similar queries, so their averages differ even less. Residual
# connections do not prevent the collapse in this untrained stack, but they slow it down: after six
# layers, the share is still 0.0094. Without heads, there is no collapse.
#
# How large is the stream (its root mean square) after six layers, with the norm and without it?

# %%
for name, norms in (("with the norm", True), ("without", False)):
    sizes = [np.sqrt(np.square(streams(seed, norms=norms)[-1]).mean()) for seed in range(3)]
    print(f"after six layers, three seeds, {name}:", *(f"{size:.1f}" for size in sizes))

# %% [markdown]
# The random numbers start at size 1, but without the norm, six layers make the stream more than
# forty times as large. The norm gives every layer numbers of the same size.
#
# ### Post-norm, pre-norm and the warm-up
#
# Later models are mostly **pre-norm**: they compute x + f(LN(x)), and can be trained without a
# **warm-up**, during which the learning rate rises from 0 (question 3). Xiong et al. (2020) explain
# this by the gradient of the last layer before training. The more layers a pre-norm stack has, the
# smaller this gradient is. In a post-norm stack it stays large, so the first steps may be too
# large.
#
# ## Job 2: keep the order
#
# We return to the jobs: a recurrent network keeps the order of the words. Does our layer know this
# order? We shuffle our sentence. Guess: which outputs change?

# %%
order = np.array([3, 4, 2, 0, 1])
straight, _ = layer.forward(x)
shuffled, _ = layer.forward(x[order])
changes = np.abs(shuffled - straight[order]).max(1)
print("largest change in a word's output:",
      ", ".join(f"{word} {change:.3f}" for word, change in zip(sentence[order], changes)))

# %%
assert changes.max() < 1e-12

# %% [markdown]
# None! The layer cannot tell who eats whom. A head computes a sum over words, which does not depend
# on the order of its terms, and all other parts see only one word at a time. So each word has to
# bring its position p along. The paper adds a **positional encoding** of p to the word's embedding:
#
#     x = √d_model E[word] + PE(p)
#
# (The factor brings the numbers of E to the size of PE.) PE(p) (d_model,) is a list of pairs, each
# a sine and a cosine. Pair i = 0, 1, … has its own frequency ω_i, from 1 for the first pair down
# towards 1 / 10000 for the last:
#
#     ω_i = 10000^(−2i / d_model)
#     PE(p)_{2i} = sin(ω_i p)
#     PE(p)_{2i+1} = cos(ω_i p)
#
# Why sines and cosines? Each pair is the hand of a clock. From position p to position p + offset,
# the hand turns by the angle ω_i · offset, *whatever p is*. So one matrix R turns the pair at p
# into the pair at p + offset. With a = ω_i p and b = ω_i · offset:
#
#     [sin(a + b), cos(a + b)] = [sin a, cos a] R         R = [cos b, −sin b; sin b, cos b]
#
# > **Exercise.** Write PE and R: `numpy-attention exercise start positional-encoding`.


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
    print(f"  first pair of PE({p}), turned: {PE[p, :2] @ R}   "
          f"of PE({p + offset}): {PE[p + offset, :2]}")
    assert np.allclose(PE[p, :2] @ R, PE[p + offset, :2])

# %% [markdown]
# The same R turned the first pair of PE(2) and that of PE(50). So a head can ask for "the word
# three before me". Let its W_q turn every pair back by three positions, from PE(p) to PE(p − 3),
# and let its W_k keep the key's PE(p′). Their score, before the division by √d_k, is
#
#     PE(p − 3) · PE(p′) = Σ_i cos(ω_i (p − 3 − p′))
#
# All these cosines are 1 only if p′ = p − 3, so the score is largest there. Does the head now read
# only this word?

# %%
print("query at position 50, which asks for 47; keys at 44 to 49")
print("  scores before the division: ", PE[50 - offset] @ PE[44:50].T)
for d_k in (64, 16):            # d_k = 16: the eight fastest pairs
    scores = PE[50 - offset, :d_k] @ PE[:, :d_k].T / np.sqrt(d_k)   # (60,)
    for size in (1, 10):
        print(f"  weights, {d_k // 2:2} pairs, W_q × {size:2}:", softmax(size * scores)[44:50])

# %% [markdown]
# No: its weight is only 0.06. For a sharp peak, W_q must also be large: with ten times this W_q,
# the weight is 0.651. A head with d_k = 16 can turn only eight of the 32 pairs, but that is enough.
#
# In the figure, which shows the faster half of PE, each column is a position. The fast clocks tell
# neighbours apart, but soon repeat. The slowest clock shown makes an eighth of a turn in all 60
# positions.

# %%
show(positions_picture(PE), "09_positions")

# %% [markdown]
# We add PE to x and shuffle again. All words move except *eats*. Does the output of *eats* change?

# %%
straight, _ = layer.forward(x + positions(T, d_model))
shuffled, _ = layer.forward(x[order] + positions(T, d_model))
changes = np.abs(shuffled - straight[order]).max(1)
print("largest change in a word's output:",
      ", ".join(f"{word} {change:.3f}" for word, change in zip(sentence[order], changes)))

# %%
assert changes.min() > 1e-3

# %% [markdown]
# It does, although its own position is still the same: the words that it attends to have moved. The
# sines and cosines take over job 2.
#
# *The jobs: connect ✓, order ✓, hide, cheap.*
#
# ## Job 3: hide the words to come
#
# In training, a decoder reads the reference translation, not its own output (**teacher forcing**),
# and a Transformer's decoder gets the whole reference at once. The output at position t has to
# predict word t + 1. What keeps the query at t from attending to this word? The **causal mask**, a
# triangle of ones, lets it see only the positions j ≤ t.
#
# > **Exercise.** Write the masked softmax: `numpy-attention exercise start causal-mask`.
#
# ### A whole decoder layer
#
# A decoder layer also reads the source, through one more part in the middle: heads whose queries
# come from the target, and whose keys and values come from M (**cross-attention**). When you read
# `decode`, count the uses of x, y, z and M. How many gradients must be added up for each?


# %%
@dataclass(eq=False)
class PlainDecoderLayer(Module):
    """An encoder layer's fields, and those of cross-attention."""

    attention: PlainHeads
    norm_1: PlainNorm
    feed_forward: PlainFeedForward
    norm_2: PlainNorm
    cross_attention: PlainHeads
    norm_cross: PlainNorm


# %%
def decode(layer, x, M):
    """Target words x (T, d_model), M (S, d_model) → out (T, d_model), cache."""
    triangle = np.tri(len(x), dtype=bool)                       # (T, T)
    found, looked = layer.attention.forward(x, x, triangle)
    y, normed_1 = layer.norm_1.forward(x + found)
    found, crossed = layer.cross_attention.forward(y, M, True)
    z, normed_cross = layer.norm_cross.forward(y + found)
    added, fed = layer.feed_forward.forward(z)
    out, normed_2 = layer.norm_2.forward(z + added)
    return out, (looked, normed_1, crossed, normed_cross, fed, normed_2)


# %%
more = [new_heads(rng, d_model, h=2), PlainNorm(np.ones(d_model), np.zeros(d_model))]
decoder = randomize(new_layer(PlainDecoderLayer, rng, d_model, 8, 2, *more), rng)
check_same_decoder(decoder, decode, x, m)           # with m as M
print("the decoder layer: its output equals the library's")

# %% [markdown]
# Each use of an array adds one term to the array's gradient:
#
#     array   used in                                      its gradient
#     x       first sum; queries; keys and values          dx = dsum_1 + dx_q + dx_kv
#     y       second sum; queries of cross-attention       dy = dsum_2 + dy_q
#     z       third sum; FF                                dz = dsum_3 + dz_FF
#     M       keys and values of cross-attention           dM
#
# All N decoder layers read the same M, so the encoder gets the sum of their N gradients dM.
# Question 1 asks for this backward pass.
#
# ### What no gradient check sees
#
# Suppose that the triangle is one place too wide, j ≤ t + 1, or that it is left out. Will the
# gradient check notice? As in lesson 08, we also test a *law*: no word may change an earlier
# output. Five words give 10 pairs of a word j and an earlier output t. `decode` has its mask built
# in, so we try the three masks on the encoder layer, which has the same self-attention. Then we
# test `decode`.

# %%
masks = {"j ≤ t": np.tri(T), "j ≤ t + 1": np.tri(T, k=1), "no mask": np.ones((T, T))}
for name, mask in masks.items():
    visible = mask.astype(bool)
    worst = check(layer, x, visible).worst
    moves = moved_by(lambda x: layer.forward(x, visible))
    print(f"{name}: largest error of the gradients {worst:.0e}; an earlier output moves in "
          f"{np.triu(moves, 1).sum()} of {T * (T - 1) // 2} pairs")
    print(f"  to predict {sentence[2]}, it reads:", *sentence[moves[1] == 1])

# %%
moves = moved_by(lambda x: decode(decoder, x, m))
assert (moves == np.tri(T)).all()
print(f"decode: an earlier output moves in {np.triu(moves, 1).sum()} pairs")

# %% [markdown]
# All three gradient checks pass! This is how a decoder can pass every check and still read the
# answer. With a triangle one place too wide, the layer reads *eats* to predict *eats*. When the
# model translates, this word does not exist yet. The backward pass is right, but it differentiates
# the wrong function. The law catches this bug, so test it for every decoder that you build. Our
# `decode` obeys it: the triangle takes over job 3.
#
# *The jobs: connect ✓, order ✓, hide ✓, cheap.*
#
# ## Job 4: make the next word cheap
#
# To translate, the decoder reads a start token, `<s>`, and the words that it has written so far.
# The last row of `out` predicts the next word. A recurrent decoder would take one step from its
# last state, but ours runs on all words again. After ten words, 1 + 2 + … + 10 = 55 rows have gone
# through each W_k of self-attention. How many are needed?
#
# Ten. By the law of job 3, a new word does not change any earlier output, so in each layer, the
# keys and values of the earlier words stay as they are. If we keep them (a **KV cache**), each new
# word sends only one row through each matrix. (Its query still meets all t keys.) The keys and
# values of cross-attention are computed only once, from M. No gradient check can test the cache,
# but a law can: the outputs computed word by word must equal those computed all at once.
#
# > **Exercise.** Write one step with a KV cache: `numpy-attention exercise start kv-cache`.


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
attention = decoder.attention
words = rng.standard_normal((10, d_model))
at_once, _ = attention.forward(words, words, np.tri(10, dtype=bool))
one_by_one = attention.b_o + sum(word_by_word(head, words) for head in attention.heads)
assert np.allclose(one_by_one, at_once)
print("self-attention of the decoder layer: word by word equals all at once")

# %% [markdown]
# The cache takes over job 4, with one drawback: it grows with every word, while a recurrent state
# keeps its size.
#
# *The jobs: connect ✓, order ✓, hide ✓, cheap ✓.*
#
# ## All four jobs: a small Transformer
#
# We train a Transformer with N = 2, h = 4 and d_model = 64 (in the paper, they are 6, 8 and 512) on
# 8,000 artificial sentence pairs, the `grammar-en-fr` of lessons 07 and 08. `trained` gives the
# library's Transformer 500 steps of Adam. As in the paper, the learning rate falls like 1 / √step
# after a warm-up, here of 200 steps. **Label smoothing** asks for slightly less than p = 1 on the
# right word (question 6).

# %% tags=["training"]
pairs = load_parallel("grammar-en-fr", "train", np.random.default_rng(3), 8_000)
test = load_parallel("grammar-en-fr", "test", np.random.default_rng(4), 300)
shown = next(n for n, pair in enumerate(test) if {"not", "blue", "tree"} <= {*pair.source})
translator, epochs = trained(pairs, test, seed=0, epochs=4, rate=(64 * 200) ** -0.5,
                             schedule=Warmup(200), size=64, layers=2, heads=4, smoothing=0.1)
for epoch in epochs:
    print(f"  epoch {epoch['epoch']}: perplexity {epoch['valid_perplexity']:.2f} on held-out "
          "sentences", flush=True)

# %% tags=["training"]
written = [one.target for one in translator.translate([pair.source for pair in test], beam=1)]
exact = metrics.exact_match(written, [pair.target for pair in test])
print(f"exactly right: {exact:.0%} of the held-out sentences")
print(*test[shown].source, "→", *written[shown], "  reference:", *test[shown].target)
steps = len(test[shown].source) + len(test[shown].target) + 2       # 2: the end of each sentence
layers = len(translator.model.encoder) + len(translator.model.decoder)
parts = 2 * len(translator.model.encoder) + 3 * len(translator.model.decoder)
print(f"one after another, in training on this pair: {steps} steps of a recurrent network, or\n  "
      f"{layers} layers ({parts} parts) of this Transformer")
print("recorded: 89% to 96% with this Transformer (270,822 parameters, 8 epochs, seeds 0 to 2)")
print("          about 99% with a GRU and the dot score (112,358 parameters, 5 epochs, seed 1)")

# %% [markdown]
# Most of the translations are exactly right, so the four jobs can be done without recurrence. But
# on these short sentences, a smaller GRU trained for 5 epochs translates better than even the
# Transformers trained for 8. What the Transformer gains is that its words need not wait for each
# other in training. A recurrent network takes 18 steps on the pair above, but this Transformer
# computes 4 layers (10 parts), however long the sentences are.
#
# ## Is the best pointer the head that is needed most?
#
# Cross-attention should point at the word that is being translated. For each head of the decoder's
# layer 2, we measure how often the largest weight is on the right source word. The figure shows the
# best pointer on the pair above, with white frames around the right words (*sure links*).

# %% tags=["training"]
weights, linked = weights_of_heads(translator, test)    # (B, h, T, S) per layer; linked: (B, T, S)
right = largest_on(linked, weights[1])                  # (h,)
best = right.argmax()
show(head_picture(weights[1][shown, best], test[shown],
                  f"Layer 2, head {best}: right for {right[best]:.0%} of the linked words"),
     "09_heads")

# %% [markdown]
# One of the eight framed rows is wrong: *perds* has its largest weight on *not*.
#
# Now we remove one head of this layer at a time, by setting its rows of W_o to 0, and measure the
# loss per target word. Guess: does removing the best pointer cost the most?


# %% tags=["training"]
batch = translator.batches(test, len(test)).batch(range(len(test)))
targets = batch.target_out[batch.target_mask]           # the right words of all sentences


def without(part, *numbers):
    """→ loss and lead (see below) without these heads of a part; means over all target words."""
    kept = part.W_o.copy()                              # (d_model, d_model)
    for number in numbers:
        part.W_o[16 * number:16 * number + 16] = 0      # d_k = 16
    out, _, _ = translator.model.forward(batch)         # (words, d_model)
    part.W_o[...] = kept
    logits = translator.model.output.logits(out)        # (words, V)
    of_right = logits[np.arange(len(targets)), targets]
    losses = np.log(np.exp(logits).sum(1)) - of_right   # −log p
    return np.array([losses.mean(), (of_right - logits.mean(1)).mean()])


# %% tags=["training"]
cross = translator.model.decoder[1].source_attention
intact = without(cross)


def without_each():
    """→ the changes of loss and lead without each head (4, 2)."""
    return np.array([without(cross, number) for number in range(4)]) - intact


one = without_each()
print(f"loss with all heads: {intact[0]:.3f}            head 0  head 1  head 2  head 3")
print("  points at the right word       " + "".join(f"{share:8.0%}" for share in right))
print("  without it, the loss rises by  " + "".join(f"{cost:8.3f}" for cost in one[:, 0]))

# %% [markdown]
# All four heads point at the right word most of the time, but the best pointer is not needed most:
# in this run, it is even the cheapest to remove. Does it also do the least?
#
# The loss would mislead us, because it is convex in the **logits** (the scores before the softmax):
# if the right word's logit falls by two, the loss rises more than twice as much as for one. The
# *lead* of the right word, its logit minus the mean logit, is linear in the logits.

# %% tags=["training"]
print(f"lead with all heads: {intact[1]:.2f}             head 0  head 1  head 2  head 3")
print("  without it, the lead falls by  " + "".join(f"{-rise:8.2f}" for rise in one[:, 1]))

# %% [markdown]
# Each head seems to do little. But after the heads, two norms divide by s. If s is smaller without
# a head, a norm stretches what is left. As a control, `divisors_held` keeps the s of the intact
# model in both norms. Guess: how far does the lead fall now?

# %% tags=["training"]
with divisors_held(translator.model, batch):
    held = without_each()
print("  with s held, it falls by       " + "".join(f"{-rise:8.2f}" for rise in held[:, 1]))

# %% [markdown]
# By 1.67 to 2.15, four to six times as much: the norms stretch what is left, and so hide most of
# what each head does. The order changes, too: head 0 is now the cheapest. So the cost of removing
# one head does not tell how much that head does. (Question 4 has other seeds, and pairs of heads.)

# %% tags=["training"]
assert right.min() > 0.5
assert one[best, 0] < one[:, 0].max()
assert (held[:, 1] < 2 * one[:, 1]).all()

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | part of a layer | sub-layer |
# | the triangle j ≤ t | **causal mask**, look-ahead mask; masked self-attention |
# | KV cache | past key values |
# | heads(y, M) | **cross-attention**, encoder-decoder attention |
# | pre-norm, post-norm | Pre-LN, Post-LN |
#
# Most terms are in the [glossary](../docs/site/glossary.md).
#
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `metrics` | how many translations are right |
# | `plotting` | diagrams, colours, heatmaps |
# | `load_parallel` | draws sentence pairs of a corpus |
# | `gradcheck` | compares a backward pass with central differences |
# | `numeric_gradient` | the central differences of one array |
# | `randomize` | gives all parameters of a module random values |
# | `positional_encoding` | the library's PE, for comparison |
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |
# | `Warmup` | a learning rate that rises first |

# %% [markdown]
# ## Questions
#
# 1. Write the backward pass of `decode` and check it.
# 2. When the target grows by a word, the decoder keeps its earlier keys. Can an encoder do the same
#    when the source grows by a word?
# 3. Write `PreNormLayer`, forward and backward, and check it. Then train pre-norm and post-norm
#    models, with six layers on each side, each with warm-up and without. (Use `trained` and
#    `perplexity_of_counts` from `transformer_parts.py`.) Which of the four models learns only how
#    frequent each word is?
# 4. Remove each head of both decoder layers, with seeds 0 to 2. Does layer 1 need its heads of
#    cross-attention? Which head is needed most? If two heads stand in for each other, removing both
#    should cost more than the sum of their separate costs. Does the lead show this in layer 2, also
#    with s held?
# 5. Train with a triangle that is one place too wide. How good will the perplexity be, and how good
#    the translations?
# 6. The target of label smoothing (Szegedy et al. 2016) is the distribution ȳ, which gives
#    1 − ε to the right word and then spreads ε evenly over all V words, the right one included. The
#    loss is −Σ_v ȳ_v log p_v. Show that the gradient of the logits is p − ȳ. Then take four words:
#    the right one has the logit z, the others have 0. Which z is best without smoothing, and which
#    with ε = 0.1?
