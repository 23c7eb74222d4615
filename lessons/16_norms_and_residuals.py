# %% [markdown]
# # Lesson 16: norms and residual connections
#
# **You will be able to** write a pre-norm layer forward and backward, and show what goes wrong in a
# Transformer without residual connections, without norms, or with the norm in another place.
#
# **Needs:** lesson 09. Optional. **Time:** 30 minutes to read, less than a minute to run.
#
# In lesson 09, heads and feed-forward parts do the work, but around each part f the layer computes
#
#     LN(x + f(x))
#
# What is "x +" for, the residual connection? And what is LN for, the norm? To find out, we take
# each of them away and see what breaks. Then we move the norm. In lesson 09 it comes after the sum,
# which is called **post-norm**, but most later models are **pre-norm**: x + f(LN(x)).

# %%
print("Lesson 16: norms and residual connections", flush=True)

from dataclasses import dataclass

import numpy as np
from course import caught, show
from norms_parts import (depth_picture, layers_compared, library_layer, norms_removed,
                         perplexity_of_counts, residuals_removed)
from transformer_parts import trained

from numpy_attention import plotting
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.gradcheck import gradcheck, randomize
from numpy_attention.layers.feed_forward import FeedForward
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.models.transformer_layers import EncoderLayer
from numpy_attention.module import Module
from numpy_attention.training.schedules import Constant, Warmup

# %% [markdown]
# ## Without residual connections
#
# What breaks if a layer computes LN(f(x)) instead of LN(x + f(x))?
#
# We send twenty random words through six untrained layers. (The parts are the library's, so x is a
# batch of one sentence.) After each layer, we measure how different the words still are:
#
#     share = mean((x − x̄)²) / mean(x²)          x̄: the mean of the twenty rows
#
# The share is 0 if all words have the same row. As a control, we also leave out the heads, so that
# no word sees another. All four stacks in the table have feed-forward parts and norms.
#
# Without residual connections, after how many layers will the share be below one in a billion?
# Write down your guess.


# %%
def attend(part, queries, keys, values):
    """Multi-head attention, with queries, keys and values from rows (1, 20, 32) of their own.

    → the output, and the largest weight of a query, as a mean over queries and heads.
    """
    k = part.keys_and_values(keys)[:, :, :32]
    v = part.keys_and_values(values)[:, :, 32:]
    everything = np.ones((1, 20, 20), bool)
    y, _, cache = part.attend(queries, np.concatenate([k, v], axis=2), everything)
    return y, cache.attended.weights.max(-1).mean()


def untrained_layer(rng, x, looked_at, residual=1, heads=True, norms=True):
    """One encoder layer. looked_at: rows of queries and keys; residual 0: without "x +"."""
    attention = MultiHeadAttention.create(rng, 32, 32, heads=4, dtype=np.float64)
    feed_forward = FeedForward.create(rng, 32, 128, dtype=np.float64)
    norm = LayerNorm.create(32, np.float64)
    found, largest = attend(attention, looked_at, looked_at, x)
    y = residual * x + (found if heads else x)
    y = norm.forward(y)[0] if norms else y
    z = residual * y + feed_forward.forward(y)[0]
    return norm.forward(z)[0] if norms else z, largest


# %%
def streams(seed, look_at_first=False, **parts):
    """→ the stream and the largest weight for each of six layers."""
    rng = np.random.default_rng(seed)
    first = rng.standard_normal((1, 20, 32))
    x = first
    results = []
    for _ in range(6):
        x, largest = untrained_layer(rng, x, first if look_at_first else x, **parts)
        results.append((x, largest))
    return results


def difference(x):
    return np.square(x - x.mean(1)).mean() / np.square(x).mean()


def shares_of_difference(name, **settings):
    """Print the shares of seed 0; → those of seeds 0 to 2 (seeds, layers)."""
    runs = np.array([[difference(x) for x, _ in streams(seed, **settings)] for seed in range(3)])
    print(f"{name:<44}" + "".join(f"{share:9.2g}" for share in runs[0, [0, 1, 2, 3, 5]]))
    return runs


# %%
print("share that differs between words             layer 1  layer 2  layer 3  layer 4  layer 6")
kept = shares_of_difference("with residual connections")
kept_alone = shares_of_difference("with residual connections, without heads", heads=False)
collapsed = shares_of_difference("without residual connections", residual=0)
alone = shares_of_difference("without residual connections, without heads", residual=0,
                             heads=False)
assert (collapsed[:, 3] < 1e-9).all() and (collapsed[:, 2] > 1e-9).all()
assert min(kept.min(), kept_alone.min(), alone.min()) > 0.01

# %% [markdown]
# Four! This is **rank collapse** (Dong, Cordonnier & Loukas 2021). It needs the heads: without
# them, the words grow alike only slowly. And residual connections delay it, so that after six
# layers the share is still 0.09.
#
# ## Why so fast?
#
# Averages of the same values differ less than the values themselves, so heads must make words
# alike. But look at the exponents. From the second layer on, they about triple with each layer, so
# each share is about the *cube* of the one before: 0.013³ is about two in a million. Where does the
# cube come from?
#
# The outputs of two words differ only if their weights differ. Different weights need different
# queries, but also different keys: if all keys were equal, every query would spread its weights
# evenly. And different weights matter only if the values differ. So if the differences are small,
#
#     difference of outputs ≈ constant × (difference of queries) × (of keys) × (of values)
#
# All three come from the same rows x, so if the rows differ a tenth as much, the outputs should
# differ a thousandth as much. To test this, we give all words one shared row plus small
# differences, and make the differences ten times smaller: for the values alone, for values and
# queries, and for all three.

# %%
rng = np.random.default_rng(0)
shared = rng.standard_normal((1, 1, 32))
wide = shared + rng.standard_normal((1, 20, 32))
narrow = shared + (wide - shared) / 10
narrower = shared + (wide - shared) / 100
attention = MultiHeadAttention.create(rng, 32, 32, heads=4, dtype=np.float64)


def spread(queries, keys, values):
    y, _ = attend(attention, queries, keys, values)
    return np.sqrt(np.square(y - y.mean(1)).mean())


before = spread(narrow, narrow, narrow)
print("ten times smaller                 the outputs differ")
for name, rows in (("values", (narrow, narrow, narrower)),
                   ("values and queries", (narrower, narrow, narrower)),
                   ("values, queries and keys", (narrower, narrower, narrower))):
    print(f"  {name:<30}{before / spread(*rows):8.1f} times less")

# %% [markdown]
# Ten, a hundred, a thousand: a factor of ten for each of the three. (Dong et al. prove an upper
# bound with the same cube.) If this is why the exponents triple, they should no longer do so when
# only the values collapse. So we run the stack again, but in each layer, queries and keys come from
# the *first* rows, which stay different, and only the values from the stream.

# %%
print("without residual connections                 layer 1  layer 2  layer 3  layer 4  layer 6")
slower = shares_of_difference("queries and keys from the first rows", residual=0,
                              look_at_first=True)
assert slower.min() > 1e-7 and collapsed[:, 5].max() < 1e-29

# %% [markdown]
# The share still falls, here to about a fourteenth with each layer, but the exponents no longer
# triple. So averaging alone makes words alike step by step. The collapse is so fast because the
# queries and keys collapse too: the more alike the words are, the less a head can tell them apart.
#
# ## Without norms
#
# In lesson 09, a stream without norms grew to about ten times its size in six layers. What does
# that do to the heads? We print the size of the stream (root mean square) after each layer, and the
# largest of a query's twenty weights, as a mean over all queries and heads of the layer.

# %%
for name, norms in (("with norms", True), ("without norms", False)):
    results = streams(0, norms=norms)
    sizes = [np.sqrt(np.square(x).mean()) for x, _ in results]
    print(f"{name:<14} size after layers 1 to 6:     ", *(f"{size:5.1f}" for size in sizes))
    largest_weights = [largest for _, largest in results]
    print(f"{'':<14} largest weight, layers 1 to 6:", *(f"{one:5.2f}" for one in largest_weights))

# %% [markdown]
# Without norms, layer 6 reads rows that are about six times as large. A score is the product of a
# query and a key, so the scores, the **logits** of this softmax, are about 36 times as large, and
# the softmax puts nearly everything on one word: the largest weight is 0.94 before the model has
# learnt anything. With norms, every layer reads numbers of size 1, and its heads spread their
# weights over many words.
#
# ## Can they still learn?
#
# So far, nothing was trained. Can a Transformer learn without residual connections, or without
# norms? We train three, with six layers on each side, on 800 pairs of lesson 09's `grammar-en-fr`.
# The optimizer is Adam, and in a **warm-up** of 150 steps, the learning rate rises from 0 to 0.003.
# We stop after 200 steps. That is only a beginning, so the perplexities show which models start to
# learn, not how good they become. For comparison, we also predict each word by its count alone,
# without looking at the source sentence.

# %% tags=["training"]
pairs = load_parallel("grammar-en-fr", "train", np.random.default_rng(3), 8_000)
test = load_parallel("grammar-en-fr", "test", np.random.default_rng(4), 300)


def trained_briefly(schedule, pre_norm=False):
    """→ the Translator after 200 steps, its perplexity on held-out sentences."""
    translator, epochs = trained(pairs[:800], test, seed=0, epochs=4, rate=0.003,
                                 schedule=schedule, batch_size=16, size=32, layers=6, heads=4,
                                 pre_norm=pre_norm, smoothing=0.0)
    return translator, epochs[-1]["valid_perplexity"]


# %% tags=["training"]
translator, complete = trained_briefly(Warmup(150))
by_counts = perplexity_of_counts(translator, pairs[:800], test)
print(f"perplexity by word counts alone: {by_counts:.1f}")
print(f"with norms and residual connections: {complete:.1f}", flush=True)
with residuals_removed():
    _, no_residuals = trained_briefly(Warmup(150))
print(f"without residual connections: {no_residuals:.1f}", flush=True)
with norms_removed():
    _, no_norms = trained_briefly(Warmup(150))
print(f"without norms: {no_norms:.0e}", flush=True)

# %% tags=["training"]
assert complete < 0.7 * by_counts and no_residuals > 0.9 * by_counts
assert no_norms > 1e20

# %% [markdown]
# Without residual connections, the model has learnt no more than how frequent each word is: 125.7
# against 122.1. Without norms, training diverges. (The same happens with two other seeds, and at a
# third of the learning rate: answer 2.)
#
# ## Before or after?
#
# Where should the norm be? With post-norm, LN(x + f(x)), the whole stream goes through every norm.
# With pre-norm, x + f(LN(x)), only the input of f is normalized.

# %%
title = "Post-norm (left) and pre-norm (right)"
show(plotting.diagram(*layers_compared(), title=title), "16_layers")

# %% [markdown]
# On the right, a path leads from x to z without any norm. But then z is not normalized, so a
# pre-norm stack needs one more norm after its last layer.
#
# ## Forward: a pre-norm layer
#
#     y = x + heads(LN(x), LN(x))
#     z = y + FF(LN(y))
#
# ## Backward: a pre-norm layer
#
# Each sum passes its gradient on twice: unchanged along the stream, and through the part and its
# norm. With da for the gradient of LN(y), and dq and dm for those of the queries and of the keys
# and values:
#
#     da = FF.backward(dz)            dy = dz + LN.backward(da)
#     dq, dm = heads.backward(dy)     dx = dy + LN.backward(dq + dm)
#
# So dz reaches dx unchanged, with other terms added. In post-norm, the sum itself goes back through
# LN.


# %% tags=["plain"]
@dataclass(eq=False)
class PreNormLayer(Module):
    """y = x + heads(LN(x), LN(x)),  z = y + FF(LN(y)).   x (B, T, D) → z (B, T, D)."""

    attention: MultiHeadAttention
    norm_1: LayerNorm
    feed_forward: FeedForward
    norm_2: LayerNorm

    def forward(self, x, visible):
        inside, normed_1 = self.norm_1.forward(x)
        found, _, looked = self.attention.forward(inside, inside, visible)
        y = x + found
        inside, normed_2 = self.norm_2.forward(y)
        added, fed = self.feed_forward.forward(inside)
        return y + added, (normed_1, looked, normed_2, fed)

    def backward(self, dz, cache, grads):
        normed_1, looked, normed_2, fed = cache
        da = self.feed_forward.backward(dz, fed, grads.feed_forward)
        dy = dz + self.norm_2.backward(da, normed_2, grads.norm_2)
        dq, dm = self.attention.backward(dy, None, looked, grads.attention)
        return dy + self.norm_1.backward(dq + dm, normed_1, grads.norm_1)


# %%
rng = np.random.default_rng(0)
B = 2
T = 5
D = 8
x = rng.standard_normal((B, T, D))          # (B, T, D)
visible = np.ones((B, T, T), bool)          # (B, T, T)
parts = [MultiHeadAttention.create(rng, D, D, heads=2, dtype=np.float64),
         LayerNorm.create(D, np.float64), FeedForward.create(rng, D, 12, dtype=np.float64),
         LayerNorm.create(D, np.float64)]
layer = randomize(PreNormLayer(*parts), rng)


def check(layer):
    return gradcheck(layer, x, visible, rng=np.random.default_rng(1))


print(str(check(layer)).splitlines()[0])

# %%
library = library_layer(*parts)
z, cache = layer.forward(x, visible)
known_z, _, known = library.forward(x, visible)
dz = rng.standard_normal(z.shape)
dx = layer.backward(dz, cache, layer.zeros_like())
known_dx = library.backward(dz, known, library.zeros_like())
assert np.allclose(z, known_z) and np.allclose(dx, known_dx)
print("a pre-norm layer: its output and dx equal the library's")

# %% [markdown]
# ### What a bug looks like
#
# It is easy to keep a habit of post-norm: first add up all gradients, then send the sum back
# through the norm. `Habit` does this with norm_1. Which gradients will be wrong?


# %%
class Habit(PreNormLayer):
    """PreNormLayer with a planted bug."""

    def backward(self, dz, cache, grads):
        normed_1, looked, normed_2, fed = cache
        da = self.feed_forward.backward(dz, fed, grads.feed_forward)
        dy = dz + self.norm_2.backward(da, normed_2, grads.norm_2)
        dq, dm = self.attention.backward(dy, None, looked, grads.attention)
        return self.norm_1.backward(dy + dq + dm, normed_1, grads.norm_1)


report = caught(check, Habit(*parts))

# %% [markdown]
# Three: dx and the two gradients of norm_1, which now get dy as well. All others are computed
# before the wrong line. The report reads the bug the other way round, and is correct: this backward
# pass fits another forward pass, y = LN(x) + found, where the residual connection starts *after*
# the norm.
#
# ## What changes in a deep stack?
#
# Xiong et al. (2020) look at the gradient of the last layer before training. They prove an upper
# bound, which falls with the number of layers L like 1 / √L for pre-norm, but not for post-norm.
# Does the gradient itself behave like this? We measure the size of the last layer's dW_2, the root
# of its sum of squares. If it falls like the bound, how many times smaller is it with 16 layers
# than with 2?


# %%
def last_gradient(pre_norm, L, seed):
    """The size of dW_2 in the last of L untrained layers, for a random gradient of the output."""
    rng = np.random.default_rng(seed)
    layers = [EncoderLayer.create(rng, 32, 4, 128, pre_norm=pre_norm, dtype=np.float64)
              for _ in range(L)]
    norm = LayerNorm.create(32, np.float64)     # after the last layer (no effect on post-norm)
    x = rng.standard_normal((1, 20, 32))
    for one in layers:
        x, _, cache = one.forward(x, np.ones((1, 20, 20), bool))
    x, normed = norm.forward(x)
    dx = rng.standard_normal(x.shape) / np.sqrt(x.size)
    dx = norm.backward(dx, normed, norm.zeros_like())
    grads = layers[-1].zeros_like()
    layers[-1].backward(dx, cache, grads)
    return np.linalg.norm(grads.feed_forward.outer.W)


# %%
depths = (2, 4, 8, 16)
sizes = {name: np.array([[last_gradient(pre_norm, L, seed) for seed in range(24)] for L in depths])
         for name, pre_norm in (("post-norm", False), ("pre-norm", True))}      # (depths, seeds)
for name, runs in sizes.items():
    means = np.exp(np.log(runs).mean(1))
    print(f"{name:<9} with 16 layers, {means[0] / means[-1]:.1f} times smaller than with 2")
print(f"like 1 / √L: √8 = {8 ** 0.5:.1f} times smaller")
show(depth_picture(depths, sizes), "16_depth")

# %%
assert (sizes["post-norm"][-1] > 1.9 * sizes["pre-norm"][-1]).all()
assert (sizes["pre-norm"][0] > 1.9 * sizes["pre-norm"][-1]).all()

# %% [markdown]
# With pre-norm it is 2.9 times smaller, close to √8 ≈ 2.8. With post-norm, it barely changes.
#
# ## Who needs the warm-up?
#
# Xiong et al. argue that with post-norm, this gradient is too large for the first steps of
# training. That would explain why post-norm models are trained with a warm-up. So we train four
# models, post-norm and pre-norm, each with the warm-up and without it, for 200 steps as before.
# Which of them learns least in this time, and which learns most?

# %% tags=["training"]
recorded = {("post-norm", "with warm-up"): "73.6 and 61.1",
            ("post-norm", "without"): "125.9 and 128.1",
            ("pre-norm", "with warm-up"): "27.1 and 30.5", ("pre-norm", "without"): "21.5 and 26.4"}
final = {}
for place, pre_norm in (("post-norm", False), ("pre-norm", True)):
    for name, schedule in (("with warm-up", Warmup(150)), ("without", Constant())):
        _, final[place, name] = trained_briefly(schedule, pre_norm)
        print(f"{place:<9} {name:<12}: perplexity {final[place, name]:5.1f}   "
              f"(recorded, seeds 1 and 2: {recorded[place, name]})", flush=True)
print("recorded, post-norm without, at a third of the learning rate: 66.3, 65.2 and 62.9")
print("recorded, with warm-up, 1,500 steps on all 8,000 pairs: post-norm 10.0, 11.1 and 9.1\n"
      "                                                        pre-norm   1.2,  1.2 and 1.1")

# %% tags=["training"]
assert final["post-norm", "without"] > by_counts
assert max(final["pre-norm", "with warm-up"], final["pre-norm", "without"]) < by_counts / 3

# %% [markdown]
# With all three seeds, post-norm without warm-up is no better than the word counts, while pre-norm
# without warm-up learns most. Here, pre-norm does not need it at all.
#
# But among the models that learn, the largest difference in the table is another one. With warm-up,
# pre-norm is at 32.5 and post-norm at 69.8. After 200 steps at one rate, this is a difference in
# speed, and does not show where the two models would end. It does last for a while: after 1,500
# steps on all 8,000 pairs, pre-norm is at 1.2 and post-norm still at 10.0.
#
# Does the size of the gradient explain the warm-up, then? Smaller steps do help: at a third of the
# learning rate, post-norm learns without warm-up too. But Adam divides each gradient by its typical
# size (lesson 02), so its steps do not depend on that size, which cannot be the whole explanation.
# Liu et al. (2020, "Understanding the Difficulty of Training Transformers") look at the updates
# instead: in their view, post-norm layers depend so heavily on f(x) that even a small update of the
# parameters disturbs the model's output.
#
# To sum up: residual connections keep the words different, and norms keep the stream from growing.
# Where the norm is decides how fast our models learn at first, and how carefully they must begin.
#
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | residual connection | skip connection, shortcut |
# | the stream | residual stream |
# | post-norm, pre-norm | Post-LN, Pre-LN |
# | rank collapse | token uniformity, over-smoothing |
# | size (root mean square) | RMS |
#
# Most terms are in the [glossary](../docs/site/glossary.md).
#
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `plotting` | diagrams |
# | `MultiHeadAttention` | the heads of lesson 09, in one module |
# | `load_parallel` | draws sentence pairs of a corpus |
# | `gradcheck` | compares a backward pass with central differences |
# | `randomize` | gives all parameters of a module random values |
# | `FeedForward` | FF of lesson 09 |
# | `LayerNorm` | LN of lesson 09 |
# | `EncoderLayer` | an encoder layer, post-norm or pre-norm |
# | `Module` | a class whose array fields are parameters |
# | `Constant` | a learning rate that stays as it is |
# | `Warmup` | a learning rate that rises first |

# %% [markdown]
# ## Questions
#
# 1. By hand: each part of a pre-norm stack reads numbers of size 1. Suppose that it adds
#    independent numbers of size 1 to a stream that begins with size 1. How large is the stream
#    after L layers, that is, after 2 L parts? The last norm divides by this size. So how does the
#    gradient of the last layer fall from 2 layers to 16?
# 2. Is it the rate? Train post-norm and pre-norm without warm-up at a third of the rate, with seeds
#    0 to 2. At this rate, can a model learn without residual connections, or without norms?
# 3. What a norm hides: train lesson 09's model, and remove one head of cross-attention in the
#    decoder's layer 2, by setting its rows of W_o to 0 (`heads_removed`). How does the loss rise?
#    Two norms follow. How does it rise if they must divide by the s that they had with all heads
#    (`divisors_held`)?
# 4. Remove each head of both decoder layers, with seeds 0 to 2. Does layer 1 need its heads of
#    cross-attention? Which head is needed most? And is it the head that points best at the right
#    words?
