# %% [markdown]
# # Lesson 16: norms and residual connections
#
# **You will be able to** write a pre-norm layer forward and backward, and show what goes wrong in a
# Transformer without residual connections, without norms, or with the norm in another place.
#
# **Needs:** lesson 09. No lesson needs this one. **Time:** 25 minutes to read, less than a minute
# to run.
#
# In lesson 09, heads and feed-forward parts do the work. But around each part f, the layer computes
#
#     LN(x + f(x))
#
# What is "x +" for, the residual connection? And what is LN for, the norm? We take each of them
# away and see what breaks. This is **post-norm**: the norm comes after the sum. Most later models
# are **pre-norm**, x + f(LN(x)), so we also move the norm.
#
# Guess now: we will train four models with six layers on each side, post-norm or pre-norm, with a
# warm-up of the learning rate or without. One of them ends no better than a table of word counts.
# Which one?

# %%
print("Lesson 16: norms and residual connections", flush=True)

from dataclasses import dataclass

import numpy as np
from course import caught, show
from norms_parts import (depth_picture, divisors_held, heads_removed, layers_compared,
                         norms_removed, perplexity_of_counts, residuals_removed)
from transformer_parts import trained

from numpy_attention import plotting
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.gradcheck import gradcheck, randomize
from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.feed_forward import FeedForward
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.residual import Residual
from numpy_attention.models.transformer_layers import EncoderLayer
from numpy_attention.module import Module
from numpy_attention.training.schedules import Constant, Warmup

# %% [markdown]
# ## Without residual connections
#
# What breaks without "x +", if y = LN(heads(x, x)) and z = LN(FF(y))?
#
# We send twenty random words through six untrained layers. (The parts are the library's, so x is a
# batch of one sentence.) After each layer, we measure how different the words still are:
# mean((x − x̄)²) / mean(x²), where x̄ is the mean word. This share is 0 if all words have the same
# row.
#
# As controls, the last two rows of the table leave the heads out. Guess: after how many layers is
# the share below one in a billion?


# %%
def streams(seed, residual=1, heads=True, norms=True):
    """The stream after each of six layers; residual: 1 with residual connections, 0 without."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((1, 20, 32))
    everything = np.ones((1, 20, 20), bool)
    norm = LayerNorm.create(32, np.float64)
    results = []
    for _ in range(6):
        attention = MultiHeadAttention.create(rng, 32, 32, heads=4, dtype=np.float64)
        feed_forward = FeedForward.create(rng, 32, 128, dtype=np.float64)
        y = residual * x + (attention.forward(x, x, everything)[0] if heads else x)
        y = norm.forward(y)[0] if norms else y
        x = residual * y + feed_forward.forward(y)[0]
        x = norm.forward(x)[0] if norms else x
        results.append(x)
    return results


# %%
def difference(x):
    return np.square(x - x.mean(1)).mean() / np.square(x).mean()


cases = {"residual connections and heads": (1, True), "heads only": (0, True),
         "residual connections only": (1, False), "neither": (0, False)}
shares = {name: np.array([[difference(x) for x in streams(seed, *case)] for seed in range(3)])
          for name, case in cases.items()}              # (seeds, layers)
print("share that differs between words      layer 1   layer 2   layer 3   layer 4   layer 6")
for name, runs in shares.items():                       # the first seed is printed
    print(f"  {name:<33}" + "".join(f"{share:10.2g}" for share in runs[0, [0, 1, 2, 3, 5]]))

# %%
for name, runs in shares.items():
    assert ((runs[:, 3] < 1e-9) == (name == "heads only")).all() and (runs[:, 2] > 1e-9).all()

# %% [markdown]
# Four. From the second layer on, the exponent about triples with each layer, until only rounding
# errors are left. This is **rank collapse** (Dong, Cordonnier & Loukas 2021). Each output of a head
# is an average of the same twenty values, and averages differ less than the values that they
# average. In the next layer, similar words have similar queries and keys, so their averages differ
# even less. Without heads, the share falls only slowly.
#
# With residual connections, the words also grow more similar, but slowly: after six layers, the
# share is still 0.09. So residual connections delay the collapse.
#
# ## Without norms
#
# What breaks without LN? The stream begins with numbers of size 1 (their root mean square). Guess
# its size after six layers.

# %%
for name, norms in (("with norms", True), ("without norms", False)):
    sizes = [np.sqrt(np.square(x).mean()) for x in streams(0, norms=norms)]
    print(f"{name:<14} size after layers 1 to 6:", *(f"{size:5.1f}" for size in sizes))

# %% [markdown]
# Without norms, the stream grows faster and faster. With norms, every layer gets numbers of size 1.
#
# ## Can they still learn?
#
# So far, nothing was trained. Can a Transformer learn without residual connections, or without
# norms? We train three with six layers on each side, for 200 steps, on 800 pairs of lesson 09's
# `grammar-en-fr`. The optimizer is Adam. In a **warm-up** of 150 steps, the learning rate rises
# from 0 to 0.003. For comparison, we also predict each word by its count alone, without looking at
# the source sentence.

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
# Without residual connections, the model does about as well as word counts alone. Without norms,
# training diverges. (Both also happen with two other seeds, and at a third of the learning rate:
# answer 2.)
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
# So dz reaches dx unchanged, with other terms added. This is the whole difference from post-norm:
# there, the sum itself goes back through LN.


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
attention, norm_1, feed_forward, norm_2 = parts
library = EncoderLayer(attention, Residual(norm_1, Dropout(0.0), pre_norm=True),
                       feed_forward, Residual(norm_2, Dropout(0.0), pre_norm=True))
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
# Three: dx and the gradients of norm_1, which now get dy as well. All others are computed before
# the wrong line. The report reads the bug the other way round, and is right: this backward pass
# fits another forward pass, y = LN(x) + found, where the residual connection starts *after* the
# norm.
#
# ## What changes in a deep stack?
#
# Xiong et al. (2020) look at the gradient of the last layer before training. They prove an upper
# bound, which falls with the number of layers L like 1 / √L for pre-norm, but not for post-norm.
# Does the gradient itself behave like this? We measure the size of the last layer's dW_2, the root
# of its sum of squares. How many times smaller would it be with 16 layers than with 2?


# %%
def last_gradient(pre_norm, L, seed):
    """The size of dW_2 in the last of L untrained layers, for a random gradient of the output."""
    rng = np.random.default_rng(seed)
    layers = [EncoderLayer.create(rng, 32, 4, 128, pre_norm=pre_norm, dtype=np.float64)
              for _ in range(L)]
    norm = LayerNorm.create(32, np.float64)         # after the last layer
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
    print(f"{name:<9} with 2, 4, 8 and 16 layers:", *(f"{mean:.2f}" for mean in means),
          f"  2 layers / 16 layers: {means[0] / means[-1]:.1f}")
print(f"like 1 / √L: √8 = {8 ** 0.5:.1f} times smaller with 16 layers than with 2")
show(depth_picture(depths, sizes), "16_depth")

# %%
assert (sizes["post-norm"][-1] > 1.9 * sizes["pre-norm"][-1]).all()
assert (sizes["pre-norm"][0] > 1.9 * sizes["pre-norm"][-1]).all()

# %% [markdown]
# It would be √8 ≈ 2.8 times smaller, and is 2.9 times smaller. With post-norm, the gradient hardly
# changes.
#
# Xiong et al. argue that with post-norm, this gradient is too large for the first steps of
# training. That would explain why post-norm needs a warm-up, and pre-norm does not. We train both
# as before, with the warm-up and without it.

# %% tags=["training"]
final = {}
for place, pre_norm in (("post-norm", False), ("pre-norm", True)):
    for name, schedule in (("with warm-up", Warmup(150)), ("without", Constant())):
        _, final[place, name] = trained_briefly(schedule, pre_norm)
        print(f"{place:<9} {name:<12}: perplexity {final[place, name]:5.1f}", flush=True)
print("recorded, post-norm without warm-up, at a third of the learning rate: 66.3")

# %% tags=["training"]
assert final["post-norm", "without"] > by_counts
assert max(final["pre-norm", "with warm-up"], final["pre-norm", "without"]) < by_counts / 3

# %% [markdown]
# Post-norm without warm-up is even a little worse than the word counts. Pre-norm does not need the
# warm-up at all. (Question 2 has more seeds.)
#
# So is it the size of the gradient? Smaller steps help: at a third of the learning rate, post-norm
# needs no warm-up either, and 66.3 is even a little better than 69.8. But Adam divides each
# gradient by its typical size (lesson 02), so its steps do not depend on that size. The size alone
# cannot be the whole explanation.
#
# ## What a norm hides
#
# How much does one head do? It seems easy to measure: remove the head from a trained model, by
# setting its rows of W_o to 0, and see how the loss rises. We train the post-norm model of lesson
# 09, and remove one head of cross-attention in the decoder's layer 2 at a time.

# %% tags=["training"]
translator, _ = trained(pairs, test, seed=0, epochs=4, rate=(64 * 200) ** -0.5,
                        schedule=Warmup(200), size=64, layers=2, heads=4, smoothing=0.1)
batch = translator.batches(test, len(test)).batch(range(len(test)))
targets = batch.target_out[batch.target_mask]           # the right words of all sentences
cross = translator.model.decoder[1].source_attention


def loss_without(*numbers, part=cross):
    """The mean loss per target word without these heads of a part."""
    with heads_removed(part, numbers):
        out, _, _ = translator.model.forward(batch)     # (words, D)
    logits = translator.model.output.logits(out)        # (words, V)
    of_right = logits[np.arange(len(targets)), targets]
    return (np.log(np.exp(logits).sum(1)) - of_right).mean()        # the mean of −log p


# %% tags=["training"]
intact = loss_without()
one = np.array([loss_without(number) for number in range(4)]) - intact
print(f"loss with all heads: {intact:.3f}            head 0  head 1  head 2  head 3")
print("  without it, the loss rises by  " + "".join(f"{cost:8.3f}" for cost in one))

# %% [markdown]
# Without one head, the loss rises by half of its size, or more. Is that all that a head does? After
# the heads, two norms divide by s, that of cross-attention and that of the feed-forward part. If s
# is smaller without a head, the norm *stretches* what is left. `divisors_held` keeps the s of the
# intact model in both norms, so that nothing is stretched. Guess: how much does the loss rise now?

# %% tags=["training"]
with divisors_held(translator.model, batch):
    held = np.array([loss_without(number) for number in range(4)]) - intact
print("  with s held, it rises by       " + "".join(f"{cost:8.3f}" for cost in held))


def mean_s(*numbers):
    """The mean s of the first norm after the heads."""
    with heads_removed(cross, numbers):
        _, _, cache = translator.model.forward(batch)
    s = 1 / cache.layers[-1].source.post.normed.scale   # (B, T, 1)
    return s[batch.target_mask.T].mean()


print(f"s with all heads: {mean_s():.2f}; without one:   "
      + "".join(f"{mean_s(number):8.2f}" for number in range(4)))

# %% tags=["training"]
assert (held > 3 * one).all()
assert max(mean_s(number) for number in range(4)) < mean_s()

# %% [markdown]
# More than three times as much! Without a head, s falls from 1.99 to between 1.67 and 1.74, so what
# is left in the row becomes larger. The norms make up for a part of what is missing. So the cost of
# removing a head is not a measure of what the head does. (Nor is the cost with s held: the later
# parts then get rows of a size that they never saw in training.)
#
# To sum up: residual connections keep the words different, norms keep the stream from growing, and
# where the norm is decides how carefully training must begin.
#
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | residual connection | skip connection, shortcut |
# | the stream | residual stream |
# | post-norm, pre-norm | Post-LN, Pre-LN |
# | rank collapse | token uniformity, over-smoothing |
# | the scores before the softmax | **logits** |
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
# | `Dropout` | sets random numbers to 0; here it does nothing |
# | `FeedForward` | FF of lesson 09 |
# | `LayerNorm` | LN of lesson 09 |
# | `Residual` | a residual connection and its norm, before or after |
# | `EncoderLayer` | an encoder layer, post-norm or pre-norm |
# | `Module` | a class whose array fields are parameters |
# | `Constant` | a learning rate that stays as it is |
# | `Warmup` | a learning rate that rises first |

# %% [markdown]
# ## Questions
#
# 1. With a pencil: each part of a pre-norm stack reads numbers of size 1. Suppose that it adds
#    independent numbers of size 1 to a stream that begins with size 1. How large is the stream
#    after L layers, that is, after 2 L parts? The last norm divides by this size. So how does the
#    gradient of the last layer fall from 2 layers to 16?
# 2. Train the four models with the seeds 1 and 2, too. Then train post-norm without warm-up at a
#    third of the rate. What does it learn?
# 3. Remove each head of both decoder layers, with seeds 0 to 2. Does layer 1 need its heads of
#    cross-attention? Which head is needed most? And is it the head that points best at the right
#    words?
