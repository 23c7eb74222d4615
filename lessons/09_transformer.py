# %% [markdown]
# # Lesson 09: the Transformer
#
# **You will be able to** write an encoder layer forward and backward, and explain what the mask,
# the positional encodings and the KV cache are for.
#
# **Needs:** lesson 08. **Time:** 45 minutes to read, less than a minute to run.
#
# Vaswani et al. (2017) built a translator without recurrence, so that in training no word has to
# wait for the word before it. But recurrence does four jobs:
#
# 1. It connects the words: its state carries earlier words to later ones.
# 2. It keeps the order: it reads the words one after another.
# 3. It hides the words to come: the decoder has not read them yet.
# 4. It makes the next word cheap: one step from the last state is enough.
#
# A Transformer gives each job to a different part. We take the jobs one by one, and test each part.
#
# Guess now: how could a decoder pass every gradient check and still read the answer, the word that
# it has to predict, during training?

# %%
print("Lesson 09: the Transformer", flush=True)

from dataclasses import dataclass

import numpy as np
from course import caught, show
from transformer_parts import (PlainHeads, check_same_decoder, check_same_encoder, copied, figure_1,
                               head_picture, largest_on, mark_repeated, matrix, new_heads,
                               positions_picture, seconds, softmax, trained, triangle_too_wide,
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
# through it, with one row per word. Each part f reads the stream and *adds* its result to it: x +
# f(x). This addition is a **residual connection** (or **skip connection**). There are two kinds of
# parts:
#
# - *Heads* carry information from word to word. In **self-attention**, all words of a sentence
#   attend to each other.
# - *Feed-forward* parts compute with one word at a time.
#
# The figure is arranged like Figure 1 of the paper. On the left is a stack of **N** encoder layers.
# The last of them returns M (S, d_model), with one row per source word. On the right is a stack of
# N decoder layers, which all read M. Each orange box adds the result of a part to the stream and
# normalizes the sum. We begin with the heads, and come to the rest when the four jobs are done.

# %%
boxes, arrows = figure_1()
axes = plotting.diagram(boxes, arrows, title="Curved arrows: residual connections")
mark_repeated(axes, left=-1.2, right=1.7, low=2, high=7.9)
mark_repeated(axes, left=3.4, right=6.7, low=2, high=10.5)
show(axes, "09_architecture")

# %% [markdown]
# ## Job 1: connect the words
#
# How can several heads add to one stream? Lesson 08 put their outputs, Y_0, Y_1, …, side by side
# and multiplied the result by W_o. Cut W_o into blocks of rows, one block per head. The output Y_i
# of head i meets only block i, so the product is a *sum*:
#
#     [Y_0, Y_1, …] W_o  =  Y_0 W_o^0 + Y_1 W_o^1 + …          W_o^i: block i of W_o, not a power
#
# So each head adds its own term to the stream. A layer has **h** heads. Each of them has queries q
# from x, keys k and values v from m, and d_k = d_model / h numbers per word:
#
#     q = x W_q + b_q          k = m W_k          v = m W_v + b_v
#     heads(x, m) = b_o + Σ_i softmax(q kᵀ / √d_k) v W_o^i          q, k, v: those of head i
#
# (A b_k would not change the softmax.) That is lesson 08 for one sentence, and both passes are
# written out in `transformer_parts.py`. We build two heads, and check them. The queries come from
# our sentence, *my wolf eats your cow*: for now, each of its words has a row of random numbers in
# x. `visible` (T, S) is True where a query may see a key.

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
# Now the sentence attends to itself, so m is x as well. We change one word j at a time. Which
# outputs move?


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
# All of them. Every word reaches every output in one step: the heads do job 1.
#
# *The jobs: connect ✓, order, hide, cheap.*
#
# ## Job 2: keep the order
#
# Do the heads know the order of the words? We shuffle our sentence. Guess: which outputs change?

# %%
order = np.array([3, 4, 2, 0, 1])


def changes_if_shuffled(x, shuffled):
    """Print how far each word's output moves if the rows are shuffled; → the changes (T,)."""
    before, _ = heads.forward(x, x, True)
    after, _ = heads.forward(shuffled, shuffled, True)
    changes = np.abs(after - before[order]).max(1)
    print("largest change in a word's output:",
          ", ".join(f"{word} {change:.3f}" for word, change in zip(sentence[order], changes)))
    return changes


assert changes_if_shuffled(x, x[order]).max() < 1e-12

# %% [markdown]
# None! The heads cannot tell who eats whom, because a head computes a sum over words, which does
# not depend on the order of its terms. So each word has to bring its position p along. The paper
# adds a **positional encoding** of p to the word's embedding, a row of the matrix E:
#
#     x = √d_model E[word] + PE(p)
#
# (The numbers of E start with a size of 1 / √d_model, so the factor makes them as large as those of
# PE.) PE(p) (d_model,) is a list of pairs of a sine and a cosine. Pair i = 0, 1, … has its own
# frequency ω_i, from 1 down towards 1 / 10000:
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
# three before me": its W_q turns every pair back by three positions, which makes PE(47) of PE(50),
# and its W_k leaves the keys as they are. (This head has d_k = d_model = 64. A smaller one has room
# for some of the pairs.) The score PE(47) · PE(p) is the sum of cos(ω_i (47 − p)) over all pairs,
# which is largest at p = 47. To make the softmax sharp, W_q is also ten times as large. Which
# weights does that give?

# %%
weights = softmax(10 * PE[47] @ PE.T / np.sqrt(64))
print("a query from position 50; weights at positions 45 to 49:", weights[45:50])

# %% [markdown]
# In the figure, each column is a position. The fast clocks tell neighbours apart, but soon repeat.
# The slower ones tell distant positions apart.

# %%
show(positions_picture(PE), "09_positions")

# %% [markdown]
# We add PE to x and shuffle again. All words move except *eats*. Does the output of *eats* change?

# %%
PE = positions(T, d_model)
assert changes_if_shuffled(x + PE, x[order] + PE).min() > 1e-3

# %% [markdown]
# It does, although its own position is still the same, because the words that it attends to have
# moved. Job 2 is done. (One random row per position would also pass this test. What only sines and
# cosines give is R, the same for all positions.)
#
# *The jobs: connect ✓, order ✓, hide, cheap.*
#
# ## Job 3: hide the words to come
#
# In training, a decoder reads the reference translation, not its own output (**teacher forcing**),
# and a Transformer's decoder gets the whole reference at once. The output at position t has to
# predict word t + 1. What keeps the query at t from attending to this word? The **causal mask**, a
# triangle of ones, lets it see only the positions j ≤ t:

# %%
print(" " * 7, *sentence)
for word, row in zip(sentence, np.tri(T, dtype=int)):
    print(f"  {word:<5}", *(f"{one:>{len(read)}}" for one, read in zip(row, sentence)))

# %% [markdown]
# > **Exercise.** Write the masked softmax: `numpy-attention exercise start causal-mask`.
#
# ### What no gradient check sees
#
# Suppose that the triangle is one place too wide, j ≤ t + 1, or that it is left out. Will the
# gradient check notice? As in lesson 08, we also test a *law*: no word may change an earlier
# output. Five words give 10 pairs of a word j and an earlier output t.

# %%
masks = {"j ≤ t": np.tri(T), "j ≤ t + 1": np.tri(T, k=1), "no mask": np.ones((T, T))}
for name, mask in masks.items():
    visible = mask.astype(bool)
    worst = check(heads, x, x.copy(), visible).worst
    moves = moved_by(lambda x: heads.forward(x, x, visible))
    print(f"{name}: largest error of the gradients {worst:.0e}; an earlier output moves in "
          f"{np.triu(moves, 1).sum()} of {T * (T - 1) // 2} pairs")
    print(f"  to predict {sentence[2]}, it reads:", *sentence[moves[1] == 1])

# %% [markdown]
# All three gradient checks pass! This is how a decoder can pass every check and still read the
# answer. With a triangle one place too wide, the heads read *eats* to predict *eats*. When the
# model translates, this word does not exist yet. The backward pass is right, but it differentiates
# the wrong function. The law catches this bug. With the right triangle, no earlier output moves:
# the mask does job 3.
#
# *The jobs: connect ✓, order ✓, hide ✓, cheap.*
#
# ## Job 4: make the next word cheap
#
# To translate, the decoder reads the words that it has written so far. A recurrent decoder takes
# one step from its last state to the next word. Must ours read all words again? Then after ten
# words, 1 + 2 + … + 10 = 55 rows have gone through W_k. How many are needed?
#
# Ten. By the law of job 3, a new word does not change any earlier output. So in each layer, the
# keys and values of the earlier words stay as they are. We keep them (a **KV cache**), and only the
# new word's row goes through each matrix. (Its query still meets all keys.) No gradient check can
# test the cache, but a law can: the outputs computed word by word must equal those computed all at
# once.
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
words = rng.standard_normal((10, d_model))
at_once, _ = heads.forward(words, words, np.tri(10, dtype=bool))
one_by_one = heads.b_o + sum(word_by_word(head, words) for head in heads.heads)
assert np.allclose(one_by_one, at_once)
print("masked self-attention: ten words, one by one, give the same outputs as all at once")
wide = new_heads(rng, 64, h=4)
words = rng.standard_normal((200, 64))
parallel = seconds(wide.forward, words, words, np.tri(200, dtype=bool))
in_turn = seconds(lambda: [word_by_word(head, words) for head in wide.heads])
print(f"200 words, one by one, take {in_turn / parallel:.1f} times as long as all at once")

# %% [markdown]
# The cache does job 4. It has one drawback: it grows with every word, while a recurrent state keeps
# its size. And only translation needs it. In training all words are known, so they can go through
# the heads at once, which saves the time in the last line.
#
# *The jobs: connect ✓, order ✓, hide ✓, cheap ✓.*
#
# A good place to pause.
#
# ## The rest of a layer
#
# With PE, a mask and a cache, heads alone do all four jobs. Why does a layer have other parts,
# then? Because heads compute too little, and because the stream grows. The second half of this
# lesson is about the two parts that help.
#
# First, computing. Take a sentence of one word. Its only weight is 1, so the heads' output is a
# linear function of x, plus a constant. Then their output for 0 is halfway between those for x and
# −x. So here the heads cannot compute even |x|. A feed-forward part can, with a hidden layer of two
# numbers. Do you see how?
#
#     FF(x) = max(0, x W_1 + b_1) W_2 + b_2          hidden layer: **d_ff** numbers per word

# %%
below, middle, above = (heads.forward(row, row, True)[0] for row in (-x[:1], 0 * x[:1], x[:1]))
assert np.allclose(middle, (below + above) / 2)
W_1 = np.array([[1, -1]])       # (1, 2)
W_2 = np.array([[1], [1]])      # (2, 1)
for number in (-3, 0, 3):
    hidden = np.maximum(0, np.array([[number]]) @ W_1)      # (1, 2)
    print(f"x = {number:2}: hidden {hidden[0]}, FF(x) = {(hidden @ W_2)[0, 0]}")

# %% [markdown]
# It is max(0, x) + max(0, −x).
#
# Second, growing. Heads and feed-forward parts all add to the stream. We send random numbers of
# size 1 (their root mean square) through six untrained layers. Guess how large they are at the end.

# %%
for seed in range(3):
    random = np.random.default_rng(seed)
    stream = random.standard_normal((20, 32))
    for _ in range(6):
        stream = stream + new_heads(random, 32, h=4).forward(stream, stream, True)[0]
        hidden = np.maximum(0, stream @ matrix(random, 32, 128))
        stream = stream + hidden @ matrix(random, 128, 32)
    print(f"size of the stream after six layers, seed {seed}: {np.sqrt((stream**2).mean()):.1f}")

# %% [markdown]
# With these three seeds they are eight to ten times as large. To prevent this, the third kind of
# part, **layer normalization** (Ba, Kiros & Hinton 2016), gives the stream the same size again
# after each sum:
#
#     y = LN(x + heads(x, x))          z = LN(y + FF(y))
#
# | symbol | shape | what it is |
# |---|---|---|
# | x | (T, d_model) | input of a layer: the output of the one below |
# | y, z, out | (T, d_model) | the stream after a layer's first part, its second and its third |
# | heads(x, m) | (T, d_model) | attention: queries from x; keys and values from m (S, d_model) |
#
# ## Forward: layer normalization
#
# In this section and the next, x is only one row of the stream. The norm subtracts the row's mean
# and divides by its standard deviation s:
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
# No: μ and s change with x_1, too. The derivative of the mean is ∂μ/∂x_i = 1 / d_model. For s,
# differentiate both sides of s² = mean((x − μ)²) + ε. ([i = j] is 1 if i = j, and otherwise 0.)
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
# We can test this formula. If a constant is added to all of x, x̂ stays as it is. So dx should have
# no component along the vector of ones. The same is true if x is stretched around its mean, so dx
# should have (nearly) no component along x̂.
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
# As dx_1 shows, x̂_1 rises by only 0.175 δ, not by δ / 2.
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
# A common mistake is to treat s as a constant, which drops the third path. Which of the three
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
# ## A whole decoder layer
#
# How does the decoder read the source? A decoder layer has one more part in the middle: heads whose
# queries come from the target, and whose keys and values come from M (**cross-attention**). When
# you read `decode`, count the uses of x, y, z and M. How many gradients must be added up for each?


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
# Question 1 asks for this backward pass. Does the whole layer still obey the law of job 3?

# %%
moves = moved_by(lambda x: decode(decoder, x, m))
assert (moves == np.tri(T)).all()
print(f"decode: an earlier output moves in {np.triu(moves, 1).sum()} pairs")

# %% [markdown]
# It does: all parts except the masked heads compute with one target word at a time.
#
# ## All four jobs: a small Transformer
#
# Can such layers translate? We train the library's Transformer with N = 2, h = 4 and d_model = 64
# (in the paper, they are 6, 8 and 512) on 8,000 artificial sentence pairs, the `grammar-en-fr` of
# lessons 07 and 08. As in the paper, the output layer reuses the decoder's embeddings E (**weight
# tying**). The learning rate rises from 0 in a **warm-up** of 200 steps, and then falls like 1 /
# √step. **Label smoothing** asks for slightly less than p = 1 on the right word (question 4).

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
# Most of the translations are exactly right, so a translator can do without recurrence. On these
# short sentences, a smaller GRU is better still: about 99% right after 5 epochs. What the
# Transformer gains is that in training its words need not wait for each other. A recurrent network
# takes 18 steps on the pair above, one after another. This Transformer computes 4 layers (10
# parts), however long the sentences are.
#
# ## A triangle that is too wide
#
# Job 3 showed that no gradient check sees a triangle that is one place too wide. What does such a
# model learn? We train one for two epochs. Guess its perplexity, and its share of right
# translations.

# %% tags=["training"]
with triangle_too_wide():
    cheat, epochs = trained(pairs, test, seed=0, epochs=2, rate=(64 * 200) ** -0.5,
                            schedule=Warmup(200), size=64, layers=2, heads=4, smoothing=0.0)
    copies = copied(cheat, test, ahead=1)
print(f"perplexity {epochs[-1]['valid_perplexity']:.2f} (recorded with j ≤ t, otherwise the same: "
      "1.83)")
written = [one.target for one in cheat.translate([pair.source for pair in test], beam=1)]
exact = metrics.exact_match(written, [pair.target for pair in test])
print(f"exactly right: {exact:.0%} of the held-out sentences")
print(*test[shown].source, "→", *written[shown])
print(f"fed random target words, it predicts the next of them in {copies:.0%} of the places "
      f"(the correct model: {copied(translator, test, ahead=1):.0%});\nwith the right triangle, "
      f"it predicts the word just read in {copied(cheat, test, ahead=0):.0%}")
assert copies > 0.6
assert epochs[-1]["valid_perplexity"] < 1.3 and exact < 0.05

# %% [markdown]
# The perplexity is far below that of the correct model, and not one translation is right. In
# training, the model could see the next word, and learnt to copy it: fed random words, it copies
# these. When it translates, there is no next word yet, so it mostly copies one that is there, such
# as the word just read, and this repeats: *il il il*. Be suspicious of a loss that is too good.
#
# ## What does a head look at?
#
# Does cross-attention point at the word that is being translated? For each head of the decoder's
# layer 2, we measure how often the largest weight is on the right source word. The figure shows the
# best head, with white frames around the right words (*sure links*).

# %% tags=["training"]
weights, linked = weights_of_heads(translator, test)    # (B, h, T, S) per layer; linked: (B, T, S)
right = largest_on(linked, weights[1])                  # (h,)
best = right.argmax()
print("largest weight on the right word, heads 0 to 3:", *(f"{share:.0%}" for share in right))
assert right.min() > 0.5
show(head_picture(weights[1][shown, best], test[shown],
                  f"Layer 2, head {best}: right for {right[best]:.0%} of the linked words"),
     "09_heads")

# %% [markdown]
# All four heads point at the right word most of the time. Of the eight framed rows in the figure,
# one is wrong: *perds* has its largest weight on *not*.
#
# What happens to a Transformer without its residual connections, or without its norms? And why do
# later models put the norm *before* the part? The optional lesson 16 tries it all.
#
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | part of a layer | sub-layer |
# | the triangle j ≤ t | **causal mask**, look-ahead mask; masked self-attention |
# | KV cache | past key values |
# | heads(y, M) | **cross-attention**, encoder-decoder attention |
# | the norm after the sum | **post-norm**, Post-LN |
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
# 3. Train the model with the wide triangle with seeds 1 and 2 as well. What does it write?
# 4. Label smoothing (Szegedy et al. 2016) takes ε from the right word's probability 1, and spreads
#    it evenly over all V words, the right one included. Call this target ȳ. The loss is −Σ_v ȳ_v
#    log p_v. Show that the gradient of the scores before the softmax is p − ȳ. Then take four
#    words: the right one has the score z, the others have 0. Which z is best without smoothing, and
#    which with ε = 0.1?
