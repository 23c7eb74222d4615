# %% [markdown]
# # Lesson 05: the encoder-decoder and its fixed vector
#
# **You will be able to** derive the encoder-decoder with its backward pass, find the line in each
# pass that everything goes through, and measure at what length a fixed vector fails, and how.
#
# **Needs:** lesson 04. **Time:** 55 minutes to read, 1 minute to run.
#
# How can a network write a sentence that is longer or shorter than the one it has read? With two
# recurrent networks (Cho et al. 2014; Sutskever, Vinyals & Le 2014). The **encoder** reads the
# source sentence and ends in a state. From this state, the **decoder** writes the translation, word
# by word. There is a catch. Everything that the source says must pass through *one vector*, the
# **fixed vector**, which has the same size for three words and for thirty.
#
# You will derive the model, and train it on a task of pure memory: it reads a sequence of symbols
# and writes the same sequence again. You will measure how much of the gradient gets back to the
# first symbol, and at what length the copies fail. There are 20 different symbols, and the fixed
# vector has 64 numbers. Guess now: how long must a sequence be before most copies are wrong?

# %%
print("Lesson 05: the encoder-decoder and its fixed vector", flush=True)

from functools import partial

import numpy as np
from course import caught, show
from matplotlib import pyplot as plt
from translator_parts import (CELL, GradientWatch, draw_gradients, right_when_fed,
                              trained_translator)

from numpy_attention import plotting
from numpy_attention.data.batching import pair_batch
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.data.vocabulary import BOS, EOS
from numpy_attention.gradcheck import gradcheck, numeric_gradient, randomize
from numpy_attention.models.encoder_decoder import EncoderDecoder

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## One vector
#
# The source is x_1 … x_S and the target is y_1 … y_T. Both end with `</s>`. Before its first word,
# the decoder reads `<s>`, which we call y_0. In the diagram below, follow the arrows from the
# source to the target: every path leads through c (orange).
#
# | symbol | shape | what it is |
# |---|---|---|
# | x_j, y_i | ids | words of the source and of the target |
# | h_j | (H,) | the encoder's state after word j |
# | c | (H,) | the fixed vector, c = h_S |
# | s_i | (H,) | the decoder's state when it writes word i |
# | L | () | the loss, −Σ_i log P(y_i) |

# %%
boxes = {
    "x1": ("x₁", 0, 0), "x2": ("x₂", 1.4, 0), "xS": ("</s>", 2.8, 0),
    "h1": ("h₁", 0, 1.3), "h2": ("h₂", 1.4, 1.3), "hS": ("hₛ", 2.8, 1.3),
    "c": ("c = hₛ", 4.3, 1.3, 1), "every": ("c, at every step", 8.4, 2.6, 1),
    "s0": ("s₀", 5.8, 1.3), "s1": ("s₁", 7.2, 1.3), "s2": ("s₂", 9.6, 1.3),
    "y0": ("<s>", 7.2, 0), "y1": ("y₁", 9.6, 0),
    "P1": ("P(y₁)", 7.2, 3.9), "P2": ("P(y₂)", 9.6, 3.9),
}

# %%
arrows = [("x1", "h1"), ("x2", "h2"), ("xS", "hS"), ("h1", "h2"), ("h2", "hS"), ("hS", "c"),
          ("c", "s0"), ("c", "every"), ("s0", "s1"), ("s1", "s2"), ("y0", "s1"), ("y1", "s2"),
          ("s1", "P1"), ("s2", "P2"), ("every", "s1"), ("every", "s2"), ("every", "P1"),
          ("every", "P2")]
show(plotting.diagram(boxes, arrows, title="Everything that the source says goes through c"),
     "05_architecture")

# %% [markdown]
# ## Forward
#
# We begin with a version that is small enough for a pencil. Every state is *one* number, and both
# networks have Elman's cell (lesson 02), with the recurrent weights u and v. The source has three
# words, each already turned into a number x_j. The decoder writes two words, and for now it does
# not read the word before. The weight w brings c into s_0. As in Cho's model, each later step reads
# c again, through the weight k. The loss is g_1 s_1 + g_2 s_2, with two given numbers g_1 and g_2.
#
#     h_j = tanh(x_j + u h_{j−1})         h_0 = 0
#     c   = h_3
#     s_0 = tanh(w c)
#     s_i = tanh(v s_{i−1} + k c)         i = 1, 2
#     L   = g_1 s_1 + g_2 s_2

# %%
x = np.array([0.5, -1.0, 0.8])
g = np.array([1.0, -2.0])
u = 0.5
w = 0.8
v = 0.6
k = 0.4


def small(h1=0, h2=0, c=0, s0=0, s1=0):
    """→ h (3,), s (3,), L; each argument is added to the number of that name."""
    first = np.tanh(x[0]) + h1
    second = np.tanh(x[1] + u * first) + h2
    last = np.tanh(x[2] + u * second) + c           # h_3, which is c
    s = [np.tanh(w * last) + s0]
    s.append(np.tanh(v * s[0] + k * last) + s1)
    s.append(np.tanh(v * s[1] + k * last))
    return np.array([first, second, last]), np.array(s), g[0] * s[1] + g[1] * s[2]


# %%
h, s, L = small()
c = h[2]
print("  h_1, h_2, h_3 =", h)
print("  s_0, s_1, s_2 =", s)
print(f"  c = {c:.3f}   L = {L:.3f}")

# %% [markdown]
# All that the decoder knows about the three words is one number, c = 0.444.
#
# ## Backward
#
# We go from the last word to the first, and each use of a state adds one term to its gradient. s_2
# is used once, in the loss, and s_1 twice, in the loss and in s_2. But c is used *three* times, in
# s_2, s_1 and s_0. Let da_i = ds_i (1 − s_i²), the gradient of the number inside s_i's tanh.
#
#     ds_2 = g_2
#     ds_1 = g_1 + v da_2
#     ds_0 = v da_1
#     dc   = k da_2 + k da_1 + w da_0         a sum, one term for each use
#
# We check ds_1, ds_0 and dc with central differences: `small(s1=d)` computes the same model with d
# added to s_1.


# %%
def check_intermediate(name, ours):
    """Compare our gradient of an intermediate with the central difference of L."""
    by = np.zeros(1)

    def loss():
        _, _, L = small(**{name: by[0]})
        return L
    numeric, = numeric_gradient(loss, by)
    assert np.isclose(ours, numeric, rtol=1e-7), name
    print(f"  d{name:<3} {ours:+.4f}   as measured: {numeric:+.4f}")


# %%
da_2 = g[1] * (1 - s[2]**2)
ds_1 = g[0] + v * da_2
check_intermediate("s1", ds_1)
da_1 = ds_1 * (1 - s[1]**2)
ds_0 = v * da_1
check_intermediate("s0", ds_0)
da_0 = ds_0 * (1 - s[0]**2)
dc = k * da_2 + k * da_1 + w * da_0
check_intermediate("c", dc)

# %% [markdown]
# Now the encoder. c is h_3, so dh_3 is dc. Each step further back multiplies the gradient by the
# slope of the tanh and by u:
#
#     dh_3 = dc
#     dh_2 = dh_3 (1 − h_3²) u
#     dh_1 = dh_2 (1 − h_2²) u
#
# The gradients of both target words arrive as *one* dc at the last step of the encoder, and go back
# from there step by step. What share of dc will reach h_1? Estimate it with h_2 and h_3 from above.

# %%
dh_2 = dc * (1 - h[2]**2) * u
check_intermediate("h2", dh_2)
dh_1 = dh_2 * (1 - h[1]**2) * u
check_intermediate("h1", dh_1)
print(f"  {dh_2 / dc:.0%} of dc reaches h_2, {dh_1 / dc:.0%} reaches h_1")

# %% [markdown]
# Two steps back, 12 % of dc is left. How much is left after twelve steps, in a real model?
#
# ## The whole model
#
# Now the numbers become vectors and matrices. The cell is lesson 04's GRU, and the decoder also
# reads the previous word. A softmax predicts each word. Before it, there is one more layer, the
# **deep output**, which combines the decoder's state, the previous word, and c. So c gets a third
# kind of use. The layer ends in **maxout**, which keeps the larger number of each pair. Like tanh,
# maxout makes the layer nonlinear, but it passes the whole gradient to the number that it keeps.
#
#     h_j = GRU(E[x_j]; h_{j−1})                      h_0 = 0
#     c   = h_S
#     s_0 = tanh(c W_s + b_s)
#     s_i = GRU(F[y_{i−1}], c; s_{i−1})               gates and candidate read c, through C
#     o_i = s_i U_o + F[y_{i−1}] V_o + c C_o + b      deep output
#     t_i = the larger of each pair in o_i            maxout
#     p_i = softmax(t_i Oᵀ + b_O)
#     L   = −Σ_i log p_i[y_i]
#
# | symbol | shape | what it is |
# |---|---|---|
# | E, F, O | (V, ·) | tables with a row for each of V words: source, target, output |
# | W_s, C, C_o | (H, H), (H, 3H), (H, 2d) | bring c into s_0, into each s_i and into each o_i |
# | o_i | (2d,) | the deep output before maxout: 2d numbers in d pairs |
# | t_i | (d,) | the larger number of each pair |
#
# The numbers that enter the softmax, t_i Oᵀ + b_O, are the **logits**. In training, step i reads
# the true y_{i−1}, even if the model would have written another word. This is **teacher forcing**.
#
# > **Exercise.** Before you read on, write the backward pass of a small decoder with all three
# > uses of c: `numpy-attention exercise start fixed-vector`.
#
# In code, our two passes take one source sentence and one target sentence, and use the parameters
# of `model`, the library's `EncoderDecoder`:
#
# - The first argument of `gru`, `a`, is what the input adds to the gates and the candidate:
#   E[x_j] W + b in the encoder, and F[y_{i−1}] W + b + c C in the decoder.
# - `gru_backward` is lesson 04's. Lesson 04's s is named m, because s is the decoder's state.
# - E and F are `source_embedding.E` and `target_embedding.E`. U_o, V_o, C_o and the b of o_i are in
#   `deep_output`. O and b_O are `words.E` and `b` in `output`.


# %%
def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def gru(a, h, cell):
    """One step from the input's term a (3H,) and the state h (H,) → next state, cache."""
    a_r, a_z, a_n = np.split(a, 3)
    u_r, u_z, u_n = np.split(h @ cell.U, 3)
    r = sigmoid(a_r + u_r)
    z = sigmoid(a_z + u_z)
    m = u_n + cell.b_n
    n = np.tanh(a_n + r * m)
    return (1 - z) * n + z * h, (h, r, z, m, n)


# %%
def gru_backward(dnext, cache, cell, grads):
    """→ da (3H,), dh (H,); adds to grads.U and grads.b_n."""
    h, r, z, m, n = cache
    # h' = (1 − z) ∘ n + z ∘ h, n = tanh(a_n + r ∘ m)
    da_n = dnext * (1 - z) * (1 - n**2)
    dm = da_n * r
    # r and z are sigmoids
    da_r = da_n * m * r * (1 - r)
    da_z = dnext * (h - n) * z * (1 - z)
    # [u_r, u_z, u_n] = h U
    du = np.concatenate([da_r, da_z, dm])
    grads.U += np.outer(h, du)
    grads.b_n += dm
    return np.concatenate([da_r, da_z, da_n]), dnext * z + du @ cell.U.T


# %% [markdown]
# The next two functions lead from the decoder's state to the loss of one word, and back.


# %%
def read_out(s, word, c, y, model):
    """→ −log P(y), cache."""
    deep = model.deep_output
    o = s @ deep.U_o + word @ deep.V_o + c @ deep.C_o + deep.b          # (2d,)
    t = np.maximum(o[::2], o[1::2])                                     # (d,)
    logits = t @ model.output.words.E.T + model.output.b                # (V,)
    p = np.exp(logits - logits.max())
    p /= p.sum()
    return -np.log(p[y]), (s, word, c, y, o, t, p)


# %%
def read_out_backward(cache, model, grads):
    """→ ds, dword, dc; adds to the gradients of the output's parameters."""
    s, word, c, y, o, t, p = cache
    deep = model.deep_output
    # L = −log softmax(t Oᵀ + b_O)[y]
    dlogits = p - np.eye(len(p))[y]
    grads.output.words.E += np.outer(dlogits, t)
    grads.output.b += dlogits
    dt = dlogits @ model.output.words.E
    # t = the larger of each pair of neighbours
    do = np.repeat(dt, 2) * (o == np.repeat(t, 2))
    # o = s U_o + word V_o + c C_o + b
    grads.deep_output.U_o += np.outer(s, do)
    grads.deep_output.V_o += np.outer(word, do)
    grads.deep_output.C_o += np.outer(c, do)
    grads.deep_output.b += do
    return do @ deep.U_o.T, do @ deep.V_o.T, do @ deep.C_o.T


# %% [markdown]
# Now the two passes. Look for the three kinds of terms in dc: c enters the decoder through C_o and
# C at every word, and through W_s once. Then find the two lines where encoder and decoder meet:
# `c = h` forwards, and `dh = dc` backwards. These two lines are the **bottleneck**.
#
# `word_backward` is the backward pass of one target word. It adds the two terms of its word to dc,
# and `backward` passes the sum on to the word before.


# %% tags=["plain"]
def forward(source, target, model):
    """ids of both sentences, each with its </s> → L, cache."""
    h = np.zeros(len(model.W_s))
    reads = []
    for x in source:
        a = model.source_embedding.E[x] @ model.encoder.W + model.encoder.b
        h, step = gru(a, h, model.encoder)
        reads.append((x, step))
    c = h
    s_0 = np.tanh(c @ model.W_s + model.b_s)
    s = s_0
    L = 0.0
    writes = []
    for before, y in zip([BOS, *target], target):
        word = model.target_embedding.E[before]
        a = word @ model.decoder.W + model.decoder.b + c @ model.C
        s, step = gru(a, s, model.decoder)
        loss, read = read_out(s, word, c, y, model)
        L += loss
        writes.append((before, word, step, read))
    return L, (reads, c, s_0, writes)


def word_backward(ds, dc, write, c, model, grads):
    """One target word → ds of the state before it, and dc with the terms of this word added."""
    before, word, step, read = write
    ds_read, dword, dc_read = read_out_backward(read, model, grads)
    da, ds = gru_backward(ds + ds_read, step, model.decoder, grads.decoder)
    grads.decoder.W += np.outer(word, da)
    grads.decoder.b += da
    grads.C += np.outer(c, da)
    grads.target_embedding.E[before] += dword + da @ model.decoder.W.T
    return ds, dc + dc_read + da @ model.C.T


def backward(cache, model, grads, one_word=word_backward):
    """Adds ∂L/∂ of every parameter to grads; → dc, the encoder's only gradient."""
    reads, c, s_0, writes = cache
    ds, dc = np.zeros((2, len(c)))      # nothing comes after the last word
    for write in reversed(writes):
        ds, dc = one_word(ds, dc, write, c, model, grads)
    da = ds * (1 - s_0**2)
    grads.W_s += np.outer(c, da)
    grads.b_s += da
    dc = dc + da @ model.W_s.T
    dh = dc
    for x, step in reversed(reads):
        da, dh = gru_backward(dh, step, model.encoder, grads.encoder)
        grads.encoder.W += np.outer(model.source_embedding.E[x], da)
        grads.encoder.b += da
        grads.source_embedding.E[x] += da @ model.encoder.W.T
    return dc


# %% [markdown]
# We check the backward pass on a tiny model. The source and the target differ in length, and each
# contains one word twice, so the gradients of this word's two uses must add up. `CELL` makes the
# library's GRUs the same as lesson 04's.

# %%
model = EncoderDecoder.create(np.random.default_rng(0), 6, 8, embedding=2, hidden=3, maxout=2,
                              dtype=np.float64, **CELL)
randomize(model, np.random.default_rng(2), 0.8)
source = [4, 4, EOS]
target = [5, 7, 5, EOS]


# %%
def check(one_word):
    """The report of a gradient check."""
    def loss():
        L, cache = forward(source, target, model)
        return np.array(L), cache

    def back(dL, cache, grads):
        one = model.zeros_like()
        backward(cache, model, one, one_word)
        grads.vector[...] += dL * one.vector
        return ()
    return gradcheck(model, rng=np.random.default_rng(2), forward=loss, backward=back,
                     title="the plain encoder-decoder")


print(check(word_backward))

# %% [markdown]
# ## The same as the library
#
# The library works on batches, with compiled kernels, and treats the fixed vector as an attention
# that always attends to the last word. Its loss and its gradients must still equal ours.

# %%
L, cache = forward(source, target, model)
ours = model.zeros_like()
backward(cache, model, ours)
theirs = model.zeros_like()
batch = pair_batch([source[:-1]], [target[:-1]])        # it adds </s> itself
loss, _ = model.loss_and_grad(batch, None, 1.0, theirs)
assert np.isclose(L, loss, rtol=1e-10)
assert np.allclose(ours.vector, theirs.vector, rtol=1e-8, atol=1e-10)
print(f"the library's loss {loss:.10f}, ours {L:.10f}; "
      f"all {model.size} numbers of the gradients equal")

# %% [markdown]
# ## How a bug looks
#
# Every word uses c, so dc is a sum over the words. A common mistake is to forget the old value:
# `dc = dc_read + …` instead of `dc = dc + dc_read + …`. Then each word *sets* dc and erases what
# was there. The loop ends at the first target word, so only this word's two terms survive (and the
# W_s term, added after the loop). Which gradients will be correct all the same?


# %%
def overwriting(ds, dc, write, c, model, grads):
    """word_backward with a planted bug: dc is set instead of added to."""
    before, word, step, read = write
    ds_read, dword, dc_read = read_out_backward(read, model, grads)
    da, ds = gru_backward(ds + ds_read, step, model.decoder, grads.decoder)
    grads.decoder.W += np.outer(word, da)
    grads.decoder.b += da
    grads.C += np.outer(c, da)
    grads.target_embedding.E[before] += dword + da @ model.decoder.W.T
    dc = dc_read + da @ model.C.T
    return ds, dc


report = caught(check, overwriting)

# %% [markdown]
# The gradients of the decoder's parameters are all correct, including W_s and b_s, because none of
# them is computed from dc. The gradients of the encoder's parameters are all computed from dc, and
# all wrong. So the mistake is in dc, and that is where the report points.
#
# Without the check, you might never notice. Nothing crashes, and every shape is right. Even the
# gradients of the later words reach the encoder, by a detour: along the decoder's states to s_1 and
# s_0, whose terms survive. The model would just look like a mediocre idea.
#
# ## What reaches the first symbol, before training
#
# Now we can ask again: how much of dc is left after twelve steps, in a GRU that has not learnt
# anything? We derive by what factor a single step back shrinks the gradient, and then multiply
# twelve such factors.
#
# In lesson 04, the gradient dh before a step is computed from dh', the gradient after it:
#
#     dh = dh' ∘ z                                    (1) the state is kept
#        + (dh' ∘ (1 − z) ∘ (1 − n²) ∘ r) U_nᵀ        (2) the candidate reads it
#        + …                                          (3) the gates read it
#
# Before training, the sigmoids and the tanh read small numbers. So z and r are about 1/2, and n is
# about 0. Term (3) is about 0, too: its factors h − n (for z) and m (for r) are small, because h
# starts at 0 and stays small. What is left is
#
#     dh = ½ dh' + ¼ dh' U_nᵀ
#
# U_n starts orthogonal (lesson 02): it turns vectors and keeps their lengths. It does so plane by
# plane, in each plane by an angle θ of its own, and these angles are spread from almost 0° to
# almost 180°. In each plane, a step back adds half of dh' and a quarter of dh' turned by θ. This
# multiplies the length by √(½² + ¼² + ¼ cos θ):
#
# - θ near 0°: both have almost the same direction, and the factor is almost ½ + ¼ = 0.75.
# - θ = 90°: the factor is √(½² + ¼²) = 0.56.
# - θ near 180°: the directions are almost opposite, and the factor is little more than 0.25.
#
# In a random gradient, the parts in all planes have about the same size. Averaged over the planes,
# cos θ is about 0, so the factor of the first step is 0.56. But the parts that are hardly turned
# shrink most slowly. Their share grows with every step, so the factor should creep up from 0.56
# towards 0.75. What percentage of the gradient do twelve such steps leave?

# %%
rng = np.random.default_rng(6)
rotation, _ = np.linalg.qr(rng.standard_normal((64, 64)))
sent = rng.standard_normal(64)
computed = []
for _ in range(12):
    before = sent
    sent = sent / 2 + rotation @ sent / 4
    computed.append(np.linalg.norm(sent) / np.linalg.norm(before))
print("derived: at right angles × %.2f, at best × %.2f" % (np.hypot(0.5, 0.25), 0.5 + 0.25))
print("computed, twelve steps: ×", np.array(computed))
print(f"left after twelve steps: {np.prod(computed):.1%}, at best it would be {0.75**12:.1%}")

# %% [markdown]
# After twelve steps, 1.3 % of the gradient is left. Even at best it would be only 3.2 %. Can a
# model learn from so little what the first symbols are?
#
# ## What reaches the first symbol, measured
#
# Does the derivation hold in a real model, and does it still hold once the model has learnt? We
# train three models to copy: with a fixed vector of 64 numbers, with one of 32, and with lesson
# 06's attention. For now, attention is a box for comparison: at each step, its decoder reads a new
# mixture of all h_j instead of h_S, so each target symbol has a direct path to each source symbol.
# All three encoders read forwards only. The sizes of a state (`hidden`) and of a symbol's vector
# (`embedding`) are chosen to give nearly equal numbers of parameters:
#
# | model | `hidden` | `embedding` | parameters |
# |---|---|---|---|
# | fixed vector, 64 | 64 | 32 | 66,456 |
# | fixed vector, 32 | 32 | 196 | 66,328 |
# | attention | 60 | 32 | 66,780 |
#
# `GradientWatch` looks at sequences of twelve symbols, before training and after one epoch. After
# x_12 comes `</s>`, so c is h_13, twelve steps after h_1. For each symbol, it measures the norm of
# ∂L/∂(embedded symbol), the symbol's gradient.

# %% tags=["training"]
SHORTEST = 3
LONGEST = 14
PLACES = 12
EPOCHS = 4
train = load_parallel("copy", "train", np.random.default_rng(3), 12_000, SHORTEST, LONGEST)
test = load_parallel("copy", "test", np.random.default_rng(4), 900, SHORTEST, LONGEST + 3)
SETTINGS = {
    "fixed vector, 64": {"embedding": 32, "hidden": 64},
    "fixed vector, 32": {"embedding": 196, "hidden": 32},
    "attention": {"embedding": 32, "hidden": 60, "bidirectional": False},
}
watch = GradientWatch(train, PLACES, "fixed vector, 64", (forward, backward, gru_backward))

# %% [markdown]
# We derived the gradient of the *states*. Before training, every symbol enters its state with about
# the same weight, so the gradients of the *symbols* should shrink alike. Draw all twelve for the
# 64-number vector. Then draw your guess: what will one epoch do to this curve?

# %% tags=["training"]
print(f"copying {SHORTEST} to {LONGEST} symbols out of 20: {len(train):,} sequences, {EPOCHS} "
      "epochs each")
copiers = {}
for name, settings in SETTINGS.items():
    kind = "rnnsearch" if name == "attention" else "encoder-decoder"
    copiers[name] = trained_translator(train, kind, settings, EPOCHS, rate=6e-3,
                                       look=partial(watch, name))
    print(f"  {name:<17} {copiers[name].model.size:,} parameters, perplexity "
          f"{copiers[name].history[-1]['train_perplexity']:.2f} in the last epoch", flush=True)
show(draw_gradients(watch.norms, {"fixed vector, 64": 0, "attention": 2}), "05_gradient")

# %% tags=["training"]
before = watch.norms["fixed vector, 64", "before training"]
after = watch.norms["fixed vector, 64", "after one epoch"]
factors = before[:-1] / before[1:]
print("fixed vector, 64: the first symbol's gradient, compared with the last one's")
print(f"before training: 1 to {before[-1] / before[0]:.0f}, or {before[0] / before[-1]:.1%} "
      f"(computed: {np.prod(computed[1:]):.1%}); each step × {factors.min():.2f} to "
      f"× {factors.max():.2f}")
print(f"after one epoch: {after[0] / after[-1]:.1f} to 1")
# the seeds 0 to 3, after one epoch, on one machine: 3.3, 2.4, 3.3, 2.9 to 1
assert 0.55 < factors.min() and factors.max() < 0.76
assert after[0] > after[-1]

# %% [markdown]
# Each curve shows how the gradient is shared among the twelve symbols, with the 64-number vector
# (blue) and with attention (green). Before training (left), all symbols have nearly the same share
# with attention. With the fixed vector, the derivation holds: each step towards the first symbol
# multiplies the gradient by 0.65 to 0.73, within the range that we derived. The first symbol's
# gradient is 1/39, or 2.6 %, of the last one's. From h_12 back to h_1, there are eleven steps. The
# last eleven of our computed factors multiply to 2.2 %.
#
# But one epoch reverses the blue curve (right)! Now the first symbol's gradient is 3.3 times the
# last one's. What has the model learnt? Perhaps less is lost in the backward pass. So we measure
# which share of dc reaches h_1, and which share would arrive through term (1) alone, where each
# step only multiplies by z. The update gate was invented for this path. Is it the path that the
# gradient takes?

# %% tags=["training"]
# watch.ways: z at the first and the last symbol; shares of dc at h_12, at h_1, at h_1 by z alone
for when, (_, _, _, share, by_z) in watch.ways.items():
    print(f"{when}: {100 * share:.2g}% of dc reaches h_1 (through z alone: {100 * by_z:.2g}%)")
# the seeds 0 to 3, after one epoch, on one machine: 54, 42, 49, 51 %, through z alone 7, 9, 7, 9 %
assert 0.3 < share < 1

# %% [markdown]
# Mostly not! Before training, 1.3 % of dc reaches h_1, as computed. After one epoch it is 54 %, but
# only 6.7 % would arrive through z alone. So most of it must have taken path (2) or (3) at some
# steps (question 8).
#
# But 54 % is less than all, so the gradient of the *state* still falls towards the first symbol.
# How can the gradient of the *symbol* rise? One path from the state h_j back to its symbol leads
# through the candidate:
#
#     dh_j → (dh_j ∘ (1 − z) ∘ (1 − n²)) W_nᵀ        W_n: the part of the encoder's W for n
#
# The factor 1 − z is the weight with which a new symbol enters the state. At which symbol do you
# expect the larger z after one epoch, the first or the last?

# %% tags=["training"]
for when, (z_first, z_last, share_last, _, _) in watch.ways.items():
    print(f"{when}: z is {z_first:.2f} at the first symbol, {z_last:.2f} at the last")
taken_in = (1 - z_first) / (1 - z_last)
estimate = taken_in * share / share_last
print(f"{share:.0%} of dc reaches h_1, {share_last:.0%} reaches h_12; "
      f"1 − z is {taken_in:.1f} times as large at the first symbol")
print(f"estimate {estimate:.1f} to 1, measured {after[0] / after[-1]:.1f} to 1, "
      f"{after[0] / after[-1] / estimate:.2f} times as large")
# the seeds 0 to 3: z from 0.52, 0.52, 0.51, 0.52 to 0.87, 0.88, 0.88, 0.88
assert z_last > z_first + 0.2

# %% [markdown]
# At the last. The encoder has learnt to take in the first symbol, when its state is still empty,
# and to keep later what it has. Less of dc reaches h_1 than h_12, 54 % compared with 97 %, but the
# first symbol enters with 3.7 times the weight. These factors alone make its gradient 2.0 times the
# last one's, enough to reverse the curve. The measured ratio is 1.6 times as large. The estimate
# leaves out 1 − n², W_n and the paths through the gates.
#
# So here (copying, one epoch, four seeds), "the gradient does not reach the first symbols" is true
# of a model that has not learnt yet, but not of one that has.
#
# ## Failing with length
#
# If the gradient reaches all symbols, are the copies right? After four epochs, we let the models
# copy the first test sequence of 4, of 8 and of 12 symbols, and take the most likely symbol each
# time (**greedy search**). Where do they go wrong?

# %% tags=["training"]
for length in (4, 8, 12):
    pair = next(pair for pair in test if len(pair.source) == length)
    print(f"  {'to copy':<17}", *[f"{symbol:>3}" for symbol in pair.source])
    for name, translator in copiers.items():
        found, = translator.translate([pair.source], beam=1)
        print(f"  {name:<17}", *[f"{symbol:>3}" for symbol in found.target])

# %% [markdown]
# Attention makes no mistake here. Both fixed vectors copy four symbols. At eight symbols, both go
# wrong after five. At twelve, the copy from the 64-number vector begins correctly again, but the
# copy from the 32-number vector is wrong from the first symbol.
#
# These are only three sequences. How often is a *whole* copy right? We feed the model the true
# symbols, and check at every step whether it gives the true next symbol the highest probability. If
# it always does, greedy search writes a perfect copy. Remember your first guess: from which length
# on are most copies wrong?

# %% tags=["training"]
lengths = np.array([len(pair.source) for pair in test])
fed = {name: right_when_fed(translator, test) for name, translator in copiers.items()}
first_lost = {}
for name in SETTINGS:
    whole = np.array([all(one) for one in fed[name]])
    lost = [n for n in range(SHORTEST, LONGEST + 1) if whole[lengths == n].mean() < 0.5]
    first_lost[name] = min(lost, default=LONGEST + 1)
    since = f"wrong from {min(lost)} symbols on" if lost else f"right up to {LONGEST} symbols"
    print(f"{name}: most copies are {since}")
# seeds 0, 1, 2, on one machine: most copies are wrong from 8, 8, 8 symbols on with 64 numbers, from
# 6, 6, 6 with 32. With 64 numbers, 53, 56, 55 % of the copies of 6 to 8 symbols are right, and
# 87, 90, 89 % after eight epochs (question 3).
assert first_lost["fixed vector, 32"] < first_lost["fixed vector, 64"] < first_lost["attention"]

# %% [markdown]
# With 64 numbers, most copies are wrong from 8 symbols on. But a single wrong symbol spoils a whole
# copy. Suppose that every symbol is right with probability q, independently of its neighbours. Then
# n symbols and the `</s>` are all right with probability q^(n+1), so even a small share of wrong
# symbols ruins long copies. To test this, we sort the sequences into buckets by length. In each
# bucket, we measure q, the share of symbols that are right (including each `</s>`), and compare
# q^(n+1) with the share of whole copies that are right. Will the two agree?

# %% tags=["training"]
# buckets of three lengths; the last is longer than in training
EDGES = np.arange(SHORTEST, LONGEST + 4, 3)
curves = {}
for name in SETTINGS:
    print(f"{name}:")
    curves[name] = []
    for low in EDGES:
        rows = [one for one, n in zip(fed[name], lengths) if low <= n < low + 3]
        q = np.concatenate(rows).mean()
        predicted = np.mean([q**len(one) for one in rows])
        exact = np.mean([all(one) for one in rows])
        curves[name].append(exact)
        print(f"  {low:>2} to {low + 2:>2} symbols, {len(rows)} sequences: q = {q:6.1%}, "
              f"q^(n+1) = {predicted:6.1%}, whole copies right {exact:6.1%}")
        assert name == "attention" or abs(predicted - exact) < 0.05

# %% tags=["training"]
assert curves["fixed vector, 64"][0] > 0.9
assert max(curves[f"fixed vector, {size}"][3] for size in (64, 32)) < 0.05
assert min(curves["attention"][:4]) > 0.9
assert curves["attention"][4] < curves["attention"][3]

# %% [markdown]
# Nearly: for the fixed vectors, the two differ by less than 5 percentage points in every bucket. So
# the power turns a gentle slope of q into a cliff. With 64 numbers, three of four symbols are still
# right at 9 to 11 symbols, but hardly any whole copy is.
#
# When a copy fails, which part of it survives, the beginning or the end? The *last* symbol read is
# the nearest to c in time. Place your bet, and then look at sequences of twelve symbols (right). On
# the left is the cliff.

# %% tags=["training"]
counts = [np.sum((lengths >= low) & (lengths < low + 3)) for low in EDGES]
labels = [f"{low}–{low + 2}\n({count})" for low, count in zip(EDGES, counts)]
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.8), layout="constrained")
for place, (name, shares) in enumerate(curves.items()):
    left.plot(range(5), shares, label=name, **plotting.base.curve_style(place))
left.axvline(3.5, color="black", linestyle=":", linewidth=1)
left.set_xticks(range(5), labels)
left.set_xlabel("symbols (number of sequences); right of the line: longer than in training")
left.set_ylabel("share of whole copies that are right")
at_6, at_9 = curves["fixed vector, 64"][1:3]
left.set_title(f"With 64 numbers, long copies fail:\n{at_6:.0%} of whole copies are right "
               f"at 6–8 symbols, {at_9:.0%} at 9–11")

# %% tags=["training"]
for place, name in enumerate(SETTINGS):
    rows = [one[:PLACES] for one, n in zip(fed[name], lengths) if n == PLACES]
    shares = np.mean(rows, axis=0)
    right.plot(np.arange(1, PLACES + 1), shares, label=name, **plotting.base.curve_style(place))
    ends = f"first three symbols {shares[:3].mean():.0%}, last three {shares[-3:].mean():.0%}"
    print(f"  {name:<17} of {len(rows)} sequences of {PLACES}: {ends}")
    if name == "fixed vector, 64":
        right.set_title(f"Position by position, with 64 numbers:\n{ends}")
right.set_xlabel(f"position in a sequence of {PLACES} symbols ({len(rows)} sequences)")
right.set_ylabel("share of symbols right, when fed the true ones")
right.set_ylim(-0.03, 1.03)
figure.legend(*right.get_legend_handles_labels(), loc="outside lower center", ncols=3)
show(figure, "05_by_length")

# %% [markdown]
# It is the beginning that survives best. (So our assumption of the same q at every position is
# false, but the prediction is good all the same.)
#
# ## Read first, or written first?
#
# Why does the beginning survive best? Its symbols are read first, and also *written* first. To
# separate the two, we train the 64-number vector on `reverse`, a task in which the first symbol
# written is the last one read. Which should survive better there, the first three written or the
# last three?

# %% tags=["training"]
reverse = load_parallel("reverse", "train", np.random.default_rng(3), 12_000, SHORTEST, LONGEST)
others = load_parallel("reverse", "test", np.random.default_rng(4), 900, SHORTEST, LONGEST + 3)
reverser = trained_translator(reverse, "encoder-decoder", SETTINGS["fixed vector, 64"], EPOCHS,
                              rate=6e-3)
found = {"copy": fed["fixed vector, 64"], "reverse": right_when_fed(reverser, others)}
gaps = {}
for task, right in found.items():
    shares = np.mean([one[:PLACES] for one in right if len(one) == PLACES + 1], axis=0)
    print(f"{task + ':':<9}first three symbols written {shares[:3].mean():.0%}, "
          f"last three {shares[-3:].mean():.0%}")
    gaps[task] = shares[:3].mean() - shares[-3:].mean()
# reverse with the seeds 0, 1, 2: 72, 75, 79 % and 71, 71, 75 %; with another processor's BLAS
# kernels 73, 76, 80 % and 71, 68, 72 %
assert gaps["copy"] > 0.1 and abs(gaps["reverse"]) < gaps["copy"] / 2

# %% [markdown]
# Hardly any difference! With each of three seeds, the first three are ahead by only 1 to 8 points.
# If only the order of writing mattered, they would win clearly. If only the order of reading
# mattered, the last three would, because they were read first. So both seem to help: they add up in
# copying, and nearly cancel in `reverse`. Being read first may help for a reason that we have seen:
# after one epoch, the first symbol enters the state with a larger weight than the last.
#
# ## What the copies show
#
# **Claim.** With nearly equal numbers of parameters, equal numbers of training steps, and encoders
# that read in one direction, the fixed vector fails at shorter lengths than attention does, and it
# fails more often the longer the sequence is.
#
# **Evidence** (the last figure). With the 64-number vector (blue), most copies are wrong from 8
# symbols on, with each of three seeds. With the 32-number vector (orange), they are wrong from 6
# on, so smaller states seem to fail earlier. (But this model also has larger embeddings. And
# `hidden` is the size of h_j, c and s_i alike, so c alone may not be to blame.) Longer training
# helps: after eight epochs instead of four, the 64-number vector gets about nine in ten copies of
# 6 to 8 symbols right, instead of about half.
#
# Attention (green) makes almost no errors at any length that it was trained on. Bahdanau et al.
# (2015, figure 2) found the same for sentences. At longer lengths (right of the dotted line), our
# model with attention makes errors, too. How many depends on the seed and even on the processor
# (question 7). Its decoder computes from its state where to attend next, and may get lost because
# it never had to count that far.
#
# **Conjecture**, which no experiment in this lesson tests. Why does the fixed vector lose symbols?
# Not for lack of room: fourteen symbols, each one of 20 kinds, carry 14 · log₂ 20, or about 61
# bits, less than one bit for each of the 64 numbers. But the vector must store all symbols in the
# same numbers without mixing them up, and the decoder must find each one again when its turn comes.
# With attention, a symbol stays where it was read, and the decoder only has to point at it.
#
# ## Attention, or a second direction?
#
# Copying is a task of pure memory. Does attention help in translation, too? Bahdanau et al. found
# that it does, but their comparison changed two things at once. The encoder of their model with
# attention also reads backwards: two GRUs, one for each direction, put their states side by side.
# There is also a cheaper trick. Sutskever et al. (2014) read the source in *reverse*, so that its
# first words are the nearest to c, and their model gained from it.
#
# The package has recorded these combinations (`results/claims.md`). The models have 3 million
# parameters and were trained for six epochs to translate English clauses of at most 12 tokens into
# Spanish. Each score is the mean BLEU of three seeds (100 is best). Guess: how many points is the
# second direction worth, and how many is attention?

# %% tags=["training"]
# recipes: clauses-fixed, fixed-two-directions, additive-one-direction, clauses-additive
RECORDED = {
    "fixed vector": {"one direction": 20.8, "two directions": 21.9},
    "attention": {"one direction": 28.9, "two directions": 29.7},
}
REVERSED = 21.0         # recipe: fixed-reversed
# the second direction, seed by seed: fixed vector 1.5, 1.5, 0.2; attention 0.7, 1.1, 0.5
for name, by_encoder in RECORDED.items():
    print(f"recorded, BLEU, {name}: "
          + ", ".join(f"{encoder} {bleu}" for encoder, bleu in by_encoder.items()))
print(f"recorded, BLEU, fixed vector, one direction, in reverse: {REVERSED}")

# %% [markdown]
# A second direction is worth about one point of BLEU (0.2 to 1.5 for single seeds), with attention
# or without. Reading in reverse is worth next to nothing here. Attention is worth eight points,
# with either encoder. So it is attention that helps most on these clauses.
#
# But how does the decoder know where to look? Lesson 06 opens the box.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | encoder-decoder | sequence to sequence, seq2seq; RNNenc (Bahdanau et al.) |
# | fixed vector c | context vector (of the whole sentence), thought vector, summary c |
# | c = h, dh = dc | the bottleneck |
# | teacher forcing | training on the true prefix; the opposite is free running |
# | deep output, t_i | read-out layer, pre-softmax layer |
# | copy | copy task, sequence copying, memorization task |
# | whole copies right | exact match, sequence accuracy |
#
# Most terms are in the [glossary](../docs/site/glossary.md).
#
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `plotting` | diagrams, colours, pictures as files |
# | `EncoderDecoder` | the library's model: ours uses its parameters and is compared with it |
# | `BOS` | the id of `<s>`, which the decoder reads first |
# | `EOS` | the id of `</s>`, which ends a sentence |
# | `load_parallel` | draws sequence pairs of a corpus |
# | `pair_batch` | a batch from lists of ids |
# | `gradcheck` | compares a backward pass with central differences |
# | `numeric_gradient` | the central differences of one array |
# | `randomize` | gives every parameter random values |

# %% [markdown]
# | from `translator_parts.py` | what it is |
# |---|---|
# | `CELL` | settings: lesson 04's GRU, Glorot's initial weights |
# | `trained_translator` | trains a model with Adam for some epochs |
# | `GradientWatch` | gradients before training and after one epoch: of each symbol, and inside |
# | `draw_gradients` | the figure of the symbols' gradients |
# | `right_when_fed` | whether each symbol gets the highest probability, with the true ones fed |

# %% [markdown]
# ## Questions
#
# 1. Sutskever's decoder gets c only through s_0, without C and C_o. Which lines of `word_backward`
#    change, and how many terms does dc have then?
# 2. A fixed vector gets each symbol right with `q = 0.99`, whatever the length. From which length
#    on are most copies wrong? Which q is needed to get half of the copies of 50 symbols right?
# 3. Train the model with the 64-number vector for eight epochs, and one with a 128-number vector
#    for four. By how many symbols does the curve of whole copies move to the right in each case?
# 4. The check of `overwriting` calls W_s correct. Why does the gradient of W_s not depend on dc?
#    Which parameters do notice the bug? Could a bug in dc go unnoticed by *all* parameters?
# 5. Is `reverse` easier or harder than copying, for sequences of 6 to 8 symbols, and why? Train the
#    64-number vector on it with the seeds 0, 1 and 2.
# 6. Before training, the gradient shrinks by a factor from position to position. What would the
#    factor be with `z = 0.9` at the start, and U_n and r as before? Which bias sets z to 0.9, and
#    in which lesson did you see the same trick?
# 7. Train attention with the seeds 0, 1 and 2. What share of the copies of 15 to 17 symbols is
#    right, and what share does q^(n+1) predict? What does this tell you about the errors? Does a
#    second direction help (with `"hidden": 47` the model is as large)?
# 8. After one epoch, half of dc reaches h_1, but through z alone less than a tenth would arrive.
#    What carries the rest? Measure what would arrive through z and the candidate.
