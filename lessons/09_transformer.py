# %% [markdown]
# # Lesson 09: the Transformer
#
# Lesson 08 ended with many small attentions side by side. Vaswani et al. (2017) asked what else a translator needs, and
# answered: no recurrence. Every word looks at every other in one matrix product, with no loop over time. What recurrence did
# in passing must now be done by parts of their own. You will derive layer normalisation and residual blocks; tell the model
# where a word stands; forbid it to see the future, and meet a bug that every gradient check lets pass; smooth labels, warm
# up, decode with kept keys; train a small Transformer and look at each of its heads.

# %%
print("Lesson 09: the Transformer", flush=True)

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from matplotlib.patches import Rectangle

from numpy_attention import metrics, plotting
from numpy_attention.data.batching import PairBatch, pair_batch
from numpy_attention.data.corpora import load_parallel
from numpy_attention.gradcheck import GradientError, gradcheck, numeric_gradient, randomize
from numpy_attention.layers.dropout import Dropout
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.feed_forward import FeedForward
from numpy_attention.layers.layer_norm import LayerNorm
from numpy_attention.layers.output import Output
from numpy_attention.layers.positional import positional_encoding
from numpy_attention.layers.residual import Residual
from numpy_attention.models.transformer import Transformer
from numpy_attention.models.transformer_layers import EncoderLayer
from numpy_attention.module import Array, Module
from numpy_attention.runs.translator import Translator, TranslatorTraining
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.schedules import Warmup
from numpy_attention.training.trainer import Trainer

OUTPUTS = (Path(__file__).parent if "__file__" in globals() else Path()) / "outputs"
OUTPUTS.mkdir(exist_ok=True)

# %% [markdown]
# ## Forward
#
# Each encoder layer is two blocks, self-attention and *feed-forward*, f(x) = max(0, x W_1 + b_1) W_2 + b_2 at every position.
# Each decoder layer is three: attention to the words written so far, attention to the encoder's output, and feed-forward.
# A block takes one vector x (D) for each word and adds something to it. Around its f stands, in two orders,
#
#     y = LN(x + f(x))        "post": the paper's. Each block ends at variance 1
#     y = x + f(LN(x))        "pre" (Xiong et al. 2020): blocks only ever add, so one more LN stands after the last of them
#
# *x +*, the residual connection, gives the gradient a way past f. *Layer normalisation* (Ba et al. 2016) brings the numbers
# of each word to mean 0 and variance 1, then scales and shifts them:
#
#     μ = mean(x),   s = √(mean((x − μ)²) + ε),   x̂ = (x − μ) / s,   LN(x) = g ∘ x̂ + b         over the D numbers of a word
#
# ## Backward
#
# **LN(x) = g ∘ x̂ + b.** dg = Σ dy ∘ x̂ and db = Σ dy over all words; dx̂ = g ∘ dy.
#
# **x̂ = (x − μ) / s.** Each x_i moves μ and s, and through them all x̂_j. With ∂μ/∂x_i = 1 / D and
# ∂s/∂x_i = (x_i − μ) / (D s) = x̂_i / D (the way through μ adds up to 0):
#
#     ∂x̂_j/∂x_i = (1[i = j] − 1 / D) / s − (x_j − μ) / s² · x̂_i / D = (1[i = j] − 1 / D − x̂_j x̂_i / D) / s
#     dx_i = Σ_j dx̂_j ∂x̂_j/∂x_i = (dx̂_i − mean(dx̂) − x̂_i mean(dx̂ ∘ x̂)) / s
#
# Read it aloud: what the gradient has along the ones and along x̂ is taken out, the shifts and stretches to which LN is blind
# (but for ε). And **x + f(x)** hands dy to both: dx = dy + what comes back through f.


# %%
@dataclass(eq=False)
class PlainNorm(Module):
    """LN(x) = g ∘ x̂ + b.   x (B, T, D)."""

    g: Array  # (D,)
    b: Array  # (D,)

    def forward(self, x):
        s = np.sqrt(x.var(-1, keepdims=True) + 1e-5)
        normal = (x - x.mean(-1, keepdims=True)) / s
        return self.g * normal + self.b, (normal, s)

    def backward(self, dy, cache, grad):
        normal, s = cache
        grad.g += (dy * normal).sum((0, 1))                                             # y = g x̂ + b
        grad.b += dy.sum((0, 1))
        return self.through(dy * self.g, normal, s)                                     # x̂ = (x − μ) / s

    def through(self, dnormal, normal, s):
        return (dnormal - dnormal.mean(-1, keepdims=True) - normal * (dnormal * normal).mean(-1, keepdims=True)) / s


@dataclass(eq=False)
class PlainBlock(Module):
    """A residual connection with layer normalisation around f, the library's feed-forward network.   x (B, T, D)."""

    norm: PlainNorm
    f: FeedForward
    pre_norm: bool  # True: "pre", False: "post"

    def forward(self, x):
        inside, normed = self.norm.forward(x) if self.pre_norm else (x, None)
        found, cache = self.f.forward(inside)
        y = x + found
        if not self.pre_norm:
            y, normed = self.norm.forward(y)
        return y, (normed, cache)

    def backward(self, dy, cache, grad):
        normed, cache = cache
        dsum = dy if self.pre_norm else self.norm.backward(dy, normed, grad.norm)
        dinside = self.f.backward(dsum, cache, grad.f)                                  # x + f: both get dsum
        return dsum + (self.norm.backward(dinside, normed, grad.norm) if self.pre_norm else dinside)


B, T, D, F, rng = 2, 5, 4, 6, np.random.default_rng(0)
x, dy = rng.standard_normal((2, B, T, D))
for pre_norm in (False, True):
    f, name = randomize(FeedForward.create(rng, D, F, dtype=np.float64), rng), "pre" if pre_norm else "post"
    g, b = rng.standard_normal((2, D))
    plain, around = PlainBlock(PlainNorm(g, b), f, pre_norm), Residual(LayerNorm(g, b), Dropout(0.0), pre_norm)
    print("", gradcheck(plain, x, rng=np.random.default_rng(1), title=f"block, {name}-norm"), sep="\n")
    ours, theirs, df = plain.zeros_like(), around.zeros_like(), f.zeros_like()
    y, cache = plain.forward(x)
    results = [y, plain.backward(dy, cache, ours), ours.vector]
    inside, entered = around.enter(x)                                                   # the same from the library's parts
    found, cache = f.forward(inside)
    y, left = around.leave(x, found)
    past, dfound = around.leave_backward(dy, left, theirs)
    dx = around.enter_backward(f.backward(dfound, cache, df), past, entered, theirs)
    assert all(map(np.allclose, results, (y, dx, np.concatenate([theirs.vector, df.vector]))))
    deep, norm = rng.standard_normal((1, 100, 64)), PlainNorm(np.ones(64), np.zeros(64))
    for _ in range(12):
        deep, _ = PlainBlock(norm, FeedForward.create(rng, 64, 256, dtype=np.float64), pre_norm).forward(deep)
    print(f"output, dx and all parameter gradients equal the library's; variance after 12 untrained blocks: {deep.var():.2f}")
    assert deep.var() > 2 if pre_norm else np.isclose(deep.var(), 1, atol=1e-3)


class Frozen(PlainNorm):
    """The planted bug: μ and s taken for constants."""

    def through(self, dnormal, normal, s):
        return dnormal / s


try:
    gradcheck(Frozen(g, b), x, rng=np.random.default_rng(1))
except GradientError as error:
    print("\nplanted bug, caught:", str(error).split("\n")[0])
else:
    raise AssertionError("the planted bug went unnoticed")

# %% [markdown]
# ## Where does a word stand?
#
# Attention is a sum over places, and a sum has no order: shuffled words give the same outputs, shuffled alike. So positions
# must be written into the vectors: the first x is √D E[word] + PE(p), with a sine and cosine of each ω_i = 10000^(−2i / D):
#
#     PE(p)_2i = sin(ω_i p),   PE(p)_2i+1 = cos(ω_i p),   so   PE(p) · PE(q) = Σ_i cos(ω_i (p − q))
#
# A step of k places turns each pair by the angle ω_i k, wherever it starts, and the product depends on the *distance* alone.
# These are the bare vectors; the learnt W_q and W_k lie between them, and may weigh the frequencies as they like.

# %%
layer = randomize(EncoderLayer.create(rng, D, 2, F, dtype=np.float64), rng)
shuffled, everywhere = np.array([3, 0, 4, 1, 2]), np.ones((B, T, T), bool)
assert np.allclose(layer.forward(x[:, shuffled], everywhere)[0], layer.forward(x, everywhere)[0][:, shuffled])
PE, omega = positional_encoding(100, 64, np.float64), 10000.0 ** (-np.arange(0, 64, 2) / 64)
distance = np.arange(100)[:, None] - np.arange(100)
assert np.allclose(PE @ PE.T, np.cos(distance[:, :, None] * omega).sum(-1))
pairs = PE[:, ::2] + 1j * PE[:, 1::2]                                                   # sin + i cos
assert np.allclose(pairs[:-7] * np.exp(-7j * omega), pairs[7:])
print("\nno positions: shuffled words give shuffled outputs. PE(p)·PE(q) depends on p − q alone; 7 places are one rotation\n")

# %% [markdown]
# ## No look into the future
#
# In training the decoder gets all target words at once, and predicts each from those before it. So word t may look at
# places up to t, and the mask of its self-attention is a triangle: visible_ts = (s ≤ t). Leave it out, and the model can read
# off the very word that it should predict, which in use is not there yet. **No gradient check can see that**: the gradient
# of the wrong function is right. What sees it is a test of dependence: change one word, and see which outputs move.


# %%
def moved(visible):
    """(T, T): does output t move when word s changes?"""
    ys = [layer.forward(x + (np.arange(T) == s)[:, None], visible)[0] for s in range(-1, T)]        # −1: none changes
    return np.stack([abs(y - ys[0]).max((0, 2)) > 1e-12 for y in ys[1:]], axis=1)


for name, triangle in (("s ≤ t", np.tri(T)), ("s ≤ t + 1, off by one", np.tri(T, k=1)), ("no mask", np.ones((T, T)))):
    visible = np.broadcast_to(triangle.astype(bool), (B, T, T))
    report = gradcheck(layer, x, rng=np.random.default_rng(2), forward=lambda x: layer.forward(x, visible)[::2])
    future = np.triu(moved(visible), 1).sum()
    print(f"{name:<22} gradient check passed, {report.worst:.0e}; outputs moved by a later word: {future} of 10 pairs")
    assert (future == 0) == (name == "s ≤ t") and np.diag(moved(visible)).all()

# %% [markdown]
# ## A target that is not quite sure
#
# *Label smoothing* (Szegedy et al. 2016): the target is no longer one word with probability 1, but q = 1 − ε on the word
# and ε / V on all V words alike. The loss is −Σ_v q_v log p_v, and since log p_v = z_v − log Σ exp z, dz = p Σ_v q_v − q =
# p − q, as ever, with a softer q. It is 0 at p = q, where the loss is the entropy of q: *not* 0. No logit needs to grow
# without end, and the training loss has a floor that says nothing about the model.

# %%
E, bias, h, targets = *(rng.standard_normal(shape) for shape in ((9, D), 9, (3, D))), np.array([4, 8, 4])
q = 0.9 * np.eye(9)[targets] + 0.1 / 9
log_p = lambda: h @ E.T + bias - np.log(np.exp(h @ E.T + bias).sum(1, keepdims=True))
output = Output(Embedding(E), bias)
loss, dh = output.loss_and_grad(h, targets, 1.0, output.zeros_like(), smoothing=0.1)
assert np.isclose(loss, -(q * log_p()).sum()) and np.allclose(dh, (np.exp(log_p()) - q) @ E)
assert np.allclose(dh, numeric_gradient(lambda: -(q * log_p()).sum(), h), atol=1e-8)
print("\nlabel smoothing: loss and gradient by hand, by central differences, and the library's agree")

# %% [markdown]
# ## Warm-up
#
# Adam divides by an estimate of each gradient's size, which after a few steps is a poor one. So the paper begins with tiny
# steps (equation 3): rate(t) = D^−½ · min(t^−½, t · w^−3⁄2), up in a straight line for w steps, then down with 1 / √t. Both
# meet at t = w, at (D w)^−½: that rate is given to the optimizer, and the library's `Warmup` is the shape with its top at 1.

# %%
steps = np.arange(1, 1201)
figure, (left, middle, right) = plt.subplots(1, 3, figsize=(15, 4), layout="constrained")
figure.colorbar(left.imshow(PE[:60].T, aspect="auto", cmap="RdBu_r", vmin=-1, vmax=1), ax=left)
left.set(xlabel="position p", ylabel="dimension", title="positional encoding, D = 64")
for p, style, colour in ((50, "-", plotting.COLOURS[0]), (20, "--", plotting.COLOURS[1])):
    middle.plot(distance[:, p], PE @ PE[p], style, color=colour, label=f"p = {p}")
middle.set(xlabel="distance q − p", ylabel="PE(p) · PE(q)", title="a product of positions knows their distance")
for (size, w), colour in zip(((64, 300), (64, 600), (256, 300)), plotting.COLOURS):
    equation = size**-0.5 * np.minimum(steps**-0.5, steps * w**-1.5)
    assert np.allclose(equation, [(size * w) ** -0.5 * Warmup(w)(step, 0) for step in steps.tolist()])
    right.plot(steps, equation, color=colour, label=f"D = {size}, w = {w}")
right.set(xlabel="step t", ylabel="learning rate", title="warm-up, then 1 / √t")
for ax in (middle, right):
    ax.grid(alpha=0.3)
    ax.legend()
print("saved", plotting.save(figure, OUTPUTS / "09_positions_and_warmup.png").name)

# %% [markdown]
# ## Writing word by word
#
# When it translates, the decoder cannot have all words at once. Computed anew for each further word, T words cost
# 1 + 2 + … + T = T (T + 1) / 2 positions in each layer. But thanks to the mask, what stands at place s depends on nothing
# after it, so its keys and values never change. Keep them, and each word costs *one* position. Both ways must agree.


# %%
class Counting(FeedForward):
    seen = 0    # positions that went through it

    def forward(self, x):
        Counting.seen += x[..., 0].size
        return super().forward(x)


def both_ways(forget=False, T=10):
    """The largest difference of log p; positions that pass the decoder's layer with kept keys, and computed anew."""
    model = Transformer.create(np.random.default_rng(3), 12, 12, size=16, layers=1, heads=4, dtype=np.float64)
    model.decoder[0].feed_forward = Counting(*vars(model.decoder[0].feed_forward).values())
    whole = pair_batch([[4, 9, 6, 5]], [[7, 4, 10, 11, 8, 5, 6, 9, 4]])
    state, difference, counts = model.start(whole.source, whole.source_mask), 0.0, np.zeros(2, int)
    for t in range(T):
        Counting.seen = 0
        log_p, _, state = model.next(whole.target_in[t], state)
        state.written = (state.written[0][:, forget * (t > 0):],)
        counts[0] += Counting.seen
        y, *_ = model.forward(PairBatch(whole.source, whole.target_in[:t + 1], whole.target_out[:t + 1], whole.rows))
        counts[1] += Counting.seen - 1                                                  # but for the one of `next`
        difference = max(difference, abs(log_p[0] - model.output.log_probabilities(y)[t]).max())
    return difference, *counts


(difference, kept, anew), (wrong, *_) = both_ways(), both_ways(forget=True)
assert difference < 1e-12 and (kept, anew) == (10, 55) and wrong > 1e-3
print(f"\n10 words: log p agree to {difference:.0e}; positions through a layer: {kept} with kept keys, {anew} anew\n"
      f"planted bug, caught: the oldest key is lost from word to word, log p off by up to {wrong:.2f}")

# %% [markdown]
# ## A small Transformer
#
# `grammar-en-fr` is made up by the library: adjectives change places, negation takes two words, ne … pas. The true links
# are known, the model never sees them. Two layers, four heads, 64 numbers a word, post-norm.

# %%
EPOCHS, MINUTES, WARMUP = 4, 0.9, 300
train, valid, test = (load_parallel("grammar-en-fr", split, np.random.default_rng(3), count)
                      for split, count in (("train", 12_000), ("valid", 500), ("test", 500)))
translator = Translator.create(train, "transformer", {"size": 64, "layers": 2, "heads": 4, "dropout": 0.1, "smoothing": 0.1},
                               TranslatorTraining(EPOCHS))
model, batches, V = translator.model, translator.batches(train), len(translator.target_vocabulary)
trainer = Trainer(model, Adam((64 * WARMUP) ** -0.5, 0.9, 0.98, 1e-9), batches, translator.batches(valid), clip=1.0,
                  rng=np.random.default_rng(0), average="token", schedule=Warmup(WARMUP), threads=1)
print(f"\ntraining {model.size:,} parameters on {len(train):,} sentences:", flush=True)
last, whole = trainer.fit(EPOCHS, MINUTES)[-1], trainer.step == EPOCHS * len(batches)
print(f"{trainer.step:,} of {EPOCHS * len(batches):,} steps within {MINUTES} minutes" + ": half-trained!" * (not whole))
q = np.eye(1, V) * 0.9 + 0.1 / V
print(f"perplexity: validation {last['valid_perplexity']:.2f}; of the smoothed training loss {last['train_perplexity']:.2f}, "
      f"which cannot fall below {np.exp(-(q * np.log(q)).sum()):.2f}")
figures = translator.measure(test)
print(f"held-out sentences: exactly right {figures['exact']:.1%} (greedy), BLEU {figures['bleu']:.1f} (beam 5)")

# %% [markdown]
# ## What each head looks at
#
# The library returns the mean over the last layer's heads; each head's own weights are in the cache. *Pointing accuracy*: how
# often is the largest weight of a target word, fed with the true words before it, on the word that its link names?

# %%
_, mean, cache = model.forward(translator.batches(test).batch(range(len(test))))
# the heads' weights of each layer (B, 4, T, ·), over the source and over the words written
look = [layer.source.part.looked.attended.weights for layer in cache.layers]
own = [layer.attention.part.looked.attended.weights for layer in cache.layers]
assert np.allclose(look[-1].mean(1), mean.transpose(1, 0, 2), atol=1e-6)
assert all((np.triu(weights, 1) == 0).all() for weights in own), "a head looks ahead"
print(f"\npointing accuracy (the diagonal: {figures['diagonal']:.3f})")
cut = lambda weights: [w[:len(pair.target), :len(pair.source)] for w, pair in zip(weights, test)]
shares = np.array([[metrics.pointing_accuracy(cut(weights), test) for weights in (*layer.swapaxes(0, 1), layer.mean(1))]
                   for layer in look])
for n, row in enumerate(shares):
    print(f"  layer {n + 1}: heads " + "  ".join(f"{share:.3f}" for share in row[:4]) + f";  their mean {row[4]:.3f}")
assert not whole or figures["exact"] > 0.8 and shares.max() > figures["diagonal"] + 0.1

crossings = [sum(i < k and j > m for i, j in pair.sure for k, m in pair.sure) for pair in test]
pair = test[n := max(range(len(test)), key=lambda n: crossings[n] * (len(test[n].target) < 11))]
source, written, target = [*pair.source, "</s>"], ["<s>", *pair.target], [*pair.target, "</s>"]
figure, axes = plt.subplots(3, 4, figsize=(15, 13), layout="constrained")
lines = ("layer 1, source", look[0], source), ("layer 2, source", look[1], source), ("layer 2, own words", own[1], written)
for line, (name, weights, seen) in zip(axes, lines):
    for head, ax in enumerate(line):
        image = ax.imshow(weights[n, head, :len(target), :len(seen)], cmap="cividis", vmin=0, vmax=1)
        ax.set_xticks(range(len(seen)), seen, rotation=90)
        ax.set_yticks(range(len(target)), target if head == 0 else [""] * len(target))
        ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False)
        ax.set_title(f"{name}, head {head + 1}")
        for i, j in pair.sure if seen is source else ():
            ax.add_patch(Rectangle((i - 0.45, j - 0.45), 0.9, 0.9, fill=False, edgecolor="white", linewidth=1.5))
figure.colorbar(image, ax=axes, shrink=0.4).set_label("attention weight")
print("saved", plotting.save(figure, OUTPUTS / "09_heads.png").name, "for:", " ".join(pair.source), "→", " ".join(pair.target))

# %% [markdown]
# A row is the word to be predicted; true links are framed; in the third line the mask shows as a triangle. Heads differ,
# and nothing told them to. One that points at no translation need not be idle (question 3).
#
# ## Questions
#
# 1. Show that LN(a x + c) = LN(x) for any a > 0 and c, but for ε. To what then is the sum before a post-norm blind?
# 2. Set `"pre_norm": True`; then exchange `Warmup` for `Constant` (training/schedules.py), too. Which can do without?
# 3. Set one head's columns of W_v and b_v to 0 after training, and measure `exact` again, head by head.
# 4. Train with the off-by-one mask (in `Transformer.forward`, `np.tri` with k=1): what do losses and translations say?
