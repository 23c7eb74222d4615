# %% [markdown]
# # Lesson 12: key, value, predict
#
# **You will be able to** split one state into key, value and prediction, and test a suspicion about
# the gradients that meet in it.
#
# **Needs:** lesson 11. **Time:** 40 minutes to read, about a minute to run.
#
# In lesson 11 one vector h_t had four roles. It *asked* the memory and *predicted* the next word,
# and later, as part of the memory, it was *found* and *fetched*. Is that too much for one vector?
# Daniluk, Rocktäschel, Welbl & Riedel (2017) think so, and cut it into parts: a key, a value and a
# predict part.
#
# You will derive their models and try them on a task. Although separate parts learn it much faster
# than one small vector, a control overturns the obvious explanation. Then you split the gradient of
# h_t by its roles. Guess now: which two of the four roles disagree most?

# %%
print("Lesson 12: key, value, predict", flush=True)

from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from course import caught, show
from matplotlib import pyplot as plt
from roles_parts import (Pairs, answered, check_same, draw_cosines, terms_of, text_of,
                         train_pairs)

from numpy_attention import plotting
from numpy_attention.attention.combined import Combined
from numpy_attention.attention.key_value import KeyValueReadout
from numpy_attention.attention.ngram import NGramReadout
from numpy_attention.gradcheck import gradcheck, numeric_gradient
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.module import Array, Module

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## One state in parts
#
# h_t is the LSTM's state after word t: one vector, cut into *parts* of n numbers, h_t = [k_t; v_t;
# p_t]. The LSTM is free to put anything anywhere, so k_t is a key only because the score reads
# these columns, and no others. The state has four *roles*, and the paper's models differ in which
# part (a, b or c) has which role:
#
# | role | its name | reads | attention, [a] | key-value, [a; b] | key-value-predict, [a; b; c] |
# |---|---|---|---|---|---|
# | h_t asks | query | k_t | a | a | a |
# | h_i, before t, is found | key | k_i | a | a | a |
# | h_i is fetched | value | v_i | a | b | b |
# | h_t predicts | predict | p_t | a | b | c |
# | the paper's equations | | | 2 to 6 | 7 to 9 | 10 to 12 |
#
# So in all three models the same part is query and key. (In code, `roles` = number of parts.)
#
# | symbol | shape | what it is |
# |---|---|---|
# | h_t = [k_t; v_t; p_t] | (H,), H = 3n | state after word t: key, value, predict part |
# | K, V | (L, n) | keys and values of the states before, i = t − L … t − 1 |
# | M | (L, n) | tanh(K W_Y + k_t W_h): the asking key meets each key |
# | e = M w, α | (L,) | scores, weights |
# | r = α V | (n,) | what was fetched |
# | y | (O,) | tanh(r W_r + p_t W_x); goes to the softmax over words |
# | W_Y, W_h, w | (n, n), (n, n), (n,) | parameters of the score |
# | W_r, W_x | (n, O), (n, O) | parameters of the last layer |
#
# Lesson 11's W_s, W_q, v and c are W_Y, W_h, w and r here, as in this paper. There is no bias b.

# %%
boxes = {
    "hi": ("hᵢ, before t", 0, 2.6),
    "ki": ("kᵢ", 1.7, 3.2, 0),
    "vi": ("vᵢ", 1.7, 2.4, 2),
    "ht": ("hₜ", 0, 0.4),
    "kt": ("kₜ", 1.7, 0.9, 0),
    "pt": ("pₜ", 1.7, 0, 1),
    "M": ("Mᵢ = tanh(kᵢ W_Y + kₜ W_h)", 4.9, 3.2),
    "a": ("α = softmax(M w)", 7.9, 3.2),
    "r": ("r = Σ αᵢ vᵢ", 7.9, 1.7, 2),
    "y": ("y = tanh(r W_r + pₜ W_x)", 7.9, 0, 1),
    "P": ("P(next word)", 10.6, 0),
}

# %%
arrows = [("hi", "ki"), ("hi", "vi"), ("ht", "kt"), ("ht", "pt"), ("ki", "M", "is found"),
          ("kt", "M", "asks"), ("M", "a"), ("a", "r"), ("vi", "r", "is fetched"), ("r", "y"),
          ("pt", "y", "predicts"), ("y", "P")]
show(plotting.diagram(boxes, arrows, title="Four roles, three parts: a state asks with its key "
                      "and is found by it"), "12_architecture")

# %% [markdown]
# ## Forward
#
# Take one step by hand. The text is *c k f a c*, two pairs of letters, and at the second *c* the
# model needs the letter that followed the first. So a key should contain the letter *before*, by
# which the state is found, and the letter read *now*, with which it asks. We write c = 1, f = −1,
# and 0 for k, a or nothing; the third number of each key is always 1, as a bias.

# %%
letters = ["c", "k", "f", "a"]
K = np.array([[0., 1, 1],           # c: nothing before, now c
              [1, 0, 1],            # k: before was c
              [0, -1, 1],           # f
              [-1, 0, 1]])          # a: before was f
V = np.array([[0., 0, 1],           # the value of c: a first letter
              [1, 0, 0],            # k
              [0, 0, 1],            # f
              [0, 1, 0]])           # a
k_t = np.array([0., 1, 1])          # the second c: now c
p_t = np.array([0.5, -0.2, 0.3])

# %% [markdown]
# How can tanh detect that two numbers are *equal*? W_Y reads *before* from k_i, W_h reads *now*
# from k_t, and each unit adds the two: s = before + now, which is 2 or −2 where the two agree, and
# 0 where they are opposite. As tanh(s − 1) + tanh(−s − 1) is largest where they agree, two units
# are enough (so here M has two columns, not n). Which state will get the largest weight?

# %%
for s in (-2, -1, 0, 1, 2):
    print(f"  s = {s:2}   tanh(s − 1) + tanh(−s − 1) = {np.tanh(s - 1) + np.tanh(-s - 1):.2f}")
W_Y = np.array([[1., -1], [0, 0], [-0.5, -0.5]])    # reads before
W_h = np.array([[0., 0], [1, -1], [-0.5, -0.5]])    # reads now
w = np.array([2., 2])
W_r = np.array([[2., -1], [-1, 2], [0, 0.5]])
W_x = np.array([[0.3, 0], [0, 0.3], [0.1, -0.2]])


def softmax(e):
    """Along the last axis; −∞ gets weight 0, and where all is −∞ all weights are 0."""
    top = np.maximum(e.max(-1, keepdims=True, initial=-np.inf), -1e30)
    exps = np.exp(e - top)
    return exps / np.maximum(exps.sum(-1, keepdims=True), 1e-30)


# %%
M = np.tanh(K @ W_Y + k_t @ W_h)            # (L, 2)
e = M @ w                                   # (L,)
alpha = softmax(e)                          # (L,)
r = alpha @ V                               # (n,)
y = np.tanh(r @ W_r + p_t @ W_x)            # (O,)
for letter, one_e, one_alpha in zip(letters, e, alpha):
    print(f"  {letter}   e = {one_e:5.2f}   α = {one_alpha:.2f}")
print("  r =", r, "  y =", y)
assert letters[alpha.argmax()] == "k"

# %% [markdown]
# It is *k*, the letter after *c*. It was *found* by "c was before me", whereas what was *fetched*
# is "I am k". A single vector would have to encode both.
#
# ## Backward
#
# As in lesson 11, the gradients are on the right, but now each role's gradient goes to its part of
# the state. The loss is L = u · y.
#
#     y = tanh(a)              da = dy ∘ (1 − y²)
#     a = r W_r + p W_x        dr = da W_rᵀ        dp_t = da W_xᵀ                it predicts
#     r = α V                  dα = V dr           dv_i = α_i dr                 it is fetched
#     α = softmax(e)           de = α ∘ (dα − α · dα)
#     e = M w                  dM = de wᵀ
#     M = tanh(Z)              dZ = dM ∘ (1 − M²)
#     Z = K W_Y + k_t W_h      dk_i = dz_i W_Yᵀ                                  it is found
#                              dk_t = Σ_i dz_i W_hᵀ                              it asks

# %%
u = np.array([-1.0, 0.5])


def L():
    """u · y, from the states as they are now."""
    weights = softmax(np.tanh(K @ W_Y + k_t @ W_h) @ w)
    return u @ np.tanh(weights @ V @ W_r + p_t @ W_x)


da = u * (1 - y**2)                         # (O,)
dr = da @ W_r.T                             # (n,)
dalpha = V @ dr                             # (L,)
de = alpha * (dalpha - alpha @ dalpha)      # (L,)
dZ = np.outer(de, w) * (1 - M**2)           # (L, 2)

# %%
gradients = {
    "it predicts: dp_t": (da @ W_x.T, p_t),             # (n,)
    "it asks: dk_t": (dZ.sum(0) @ W_h.T, k_t),          # (n,)
    "they are fetched: dV": (np.outer(alpha, dr), V),   # (L, n)
    "they are found: dK": (dZ @ W_Y.T, K),              # (L, n)
}
for name, (ours, array) in gradients.items():
    numeric = numeric_gradient(L, array)
    assert np.allclose(ours, numeric, rtol=1e-7, atol=1e-9), name
    print(f"  {name:<20}", str(ours).replace("\n", ""))
print("all four are what the central difference measures")

# %% [markdown]
# Over a whole text every state asks once, predicts once, and is found and fetched by all later
# steps. If k, v and p are the same numbers, the four terms are *added*:
#
#     dh_s =   Σ_i dz_si W_hᵀ    query: it asks, at step s
#            + Σ_t dz_ts W_Yᵀ    key: later steps t find it
#            + Σ_t α_ts dr_t     value: they fetch it
#            + da_s W_xᵀ         predict: at step s
#
# The paper calls a vector with all four terms *overloaded*. Cutting the state separates the terms.
#
# ## All words at once
#
# As in lesson 11, a step becomes a row: row t may see column i if 0 < t − i ≤ window. The first row
# sees nothing, so its r is 0. In the code, `parts` returns *views*, so whatever is added to dk is
# added to dh.
#
# > **Exercise.** Write it yourself: `numpy-attention exercise start key-value-predict`.


# %% tags=["plain"]
@dataclass(eq=False)
class PlainReader(Module):
    """One text: states h (T, H) → y (T, O), weights (T, T)."""

    W_Y: Array  # (n, n)
    W_h: Array  # (n, n)
    w: Array    # (n,)
    W_r: Array  # (n, O)
    W_x: Array  # (n, O)
    roles: int = 1
    window: int = 10

    def parts(self, h):
        """Views k, v, p of h: the columns that each role reads."""
        n = len(self.w)
        last = n * (self.roles - 1)
        middle = min(n, last)
        return h[:, :n], h[:, middle:middle + n], h[:, last:last + n]

    def forward(self, h):
        k, v, p = self.parts(h)
        back = np.subtract.outer(range(len(h)), range(len(h)))          # t − i
        visible = (back > 0) & (back <= self.window)                    # (T, T)
        M = np.tanh(k @ self.W_Y + (k @ self.W_h)[:, None])             # (T, T, n)
        alpha = softmax(np.where(visible, M @ self.w, -np.inf))         # (T, T)
        r = alpha @ v                                                   # (T, n)
        y = np.tanh(r @ self.W_r + p @ self.W_x)                        # (T, O)
        return y, alpha, (h, M, alpha, r, y)

    def terms(self, dy, dalpha, cache, grads):
        """→ the four terms of dh, each (T, n): query, key, value, predict."""
        h, M, alpha, r, y = cache
        k, v, p = self.parts(h)
        # y = tanh(r W_r + p W_x)
        da = dy * (1 - y**2)
        grads.W_r += r.T @ da
        grads.W_x += p.T @ da
        dr = da @ self.W_r.T
        # r = α V,  α = softmax(e)
        dalpha = dalpha + dr @ v.T
        de = alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))
        # e = M w,  M = tanh(Z)
        grads.w += np.tensordot(de, M, 2)
        dZ = de[:, :, None] * self.w * (1 - M**2)                       # (T, T, n)
        # Z_ti = k_i W_Y + k_t W_h
        grads.W_Y += k.T @ dZ.sum(0)
        grads.W_h += k.T @ dZ.sum(1)
        return dZ.sum(1) @ self.W_h.T, dZ.sum(0) @ self.W_Y.T, alpha.T @ dr, da @ self.W_x.T

    def backward(self, dy, dalpha, cache, grads):
        query, key, value, predict = self.terms(dy, dalpha, cache, grads)
        dh = np.zeros_like(cache[0])
        dk, dv, dp = self.parts(dh)
        dk += query + key
        dv += value
        dp += predict
        return dh


# %%
rng = np.random.default_rng(3)
T = 9
n = 4
outputs = 5
shapes = [(n, n), (n, n), (n,), (n, outputs), (n, outputs)]
weights = [rng.standard_normal(shape) for shape in shapes]
states = {roles: rng.standard_normal((T, roles * n)) for roles in (1, 2, 3)}


def check(kind, roles):
    """A gradient check of a reader; no y may read a later state."""
    return gradcheck(kind(*weights, roles, 3), states[roles], rng=np.random.default_rng(2),
                     causal=0, title=f"{kind.__name__}, roles = {roles}")


for roles in (1, 2, 3):
    print(check(PlainReader, roles))

# %% [markdown]
# ### What a bug looks like
#
# Below, `terms` uses one wrong variable. Which of the three models will notice?


# %%
class Misfiled(PlainReader):
    """A reader with a planted bug."""

    def terms(self, dy, dalpha, cache, grads):
        h, M, alpha, r, y = cache
        k, v, p = self.parts(h)
        da = dy * (1 - y**2)
        grads.W_r += r.T @ da
        grads.W_x += p.T @ da
        dr = da @ self.W_r.T
        dalpha = dalpha + dr @ k.T
        de = alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))
        grads.w += np.tensordot(de, M, 2)
        dZ = de[:, :, None] * self.w * (1 - M**2)
        grads.W_Y += k.T @ dZ.sum(0)
        grads.W_h += k.T @ dZ.sum(1)
        return dZ.sum(1) @ self.W_h.T, dZ.sum(0) @ self.W_Y.T, alpha.T @ dr, da @ self.W_x.T


# %%
print(check(Misfiled, 1))
report = caught(check, Misfiled, 3)

# %% [markdown]
# With one part it is not a bug: k and v are the same numbers, and no check sees a difference that
# is not there. With three parts, W_r and W_x are right, so everything from y down to r is right,
# too, whereas all gradients that come through the score are wrong. The report names the line that
# joins both, and the variable: we *fetch* v, not k.
#
# ## Without attention: the last states speak for themselves
#
# The paper finds that attention falls on the last few words. So its fourth model (section 2.4,
# equation 13), an **N-gram** of states, has no score and no softmax. h_t is cut by *when* a part is
# read. For N = 4, h_t = [h¹; h²; h³], and
#
#     y_t = tanh(h¹_t W¹ + h²_{t−1} W² + h³_{t−2} W³)        before the beginning: 0
#     dW^j = Σ_t (h^j_{t−j+1})ᵀ da_t      dh^j_s = da_{s+j−1} (W^j)ᵀ
#
# h² is written one step before it is read, and h³ two steps. With N = 2 there is no past, only one
# tanh layer between state and words. This is our **control**, because what the layer adds must not
# be credited to attention.


# %% tags=["plain"]
@dataclass(eq=False)
class PlainNGram(Module):
    """One text: states h (T, H) → y (T, O)."""

    W: Array  # (H, O): W¹ … W^{N−1}, stacked
    order: int = 4

    def terms(self):
        """[(how many steps later it is read, its columns)] of each part."""
        n = len(self.W) // (self.order - 1)
        return [(late, slice(late * n, late * n + n)) for late in range(self.order - 1)]

    def forward(self, h):
        a = np.zeros((len(h), self.W.shape[1]), h.dtype)
        for late, part in self.terms():
            a[late:] += h[:len(h) - late, part] @ self.W[part]
        y = np.tanh(a)
        return y, (h, y)

    def backward(self, dy, cache, grads):
        h, y = cache
        da = dy * (1 - y**2)
        dh = np.zeros_like(h)
        for late, part in self.terms():
            grads.W[part] += h[:len(h) - late, part].T @ da[late:]
            dh[:len(h) - late, part] = da[late:] @ self.W[part].T
        return dh


W = rng.standard_normal((3 * n, outputs))
print(gradcheck(PlainNGram(W), states[3], rng=rng, causal=0))

# %% [markdown]
# ## The same as the library
#
# The library's layers take a batch of texts; `check_same` gives ours one text at a time.

# %%
W_Y, W_h, w, W_r, W_x = weights
for roles in (1, 2, 3):
    batch = rng.standard_normal((T, 3, roles * n))
    library = KeyValueReadout(Combined(W_Y, W_h, w), W_x, W_r, None, roles, window=3)
    check_same(PlainReader(*weights, roles, 3), library, batch)
check_same(PlainNGram(W), NGramReadout(W), batch)
print("three readers and the 4-gram: outputs and all gradients are the library's")

# %% [markdown]
# ## The task: pairs of letters
#
# The task is that of the example. A sequence contains five pairs of letters, all ten different, out
# of 50. Then, three times, it repeats the first letter of a pair, and the model must predict the
# second. Nothing else is predicted, and since the pairs are always new, nothing can be memorized.

# %%
questions = Pairs(np.random.default_rng(99), 1, size=500)
test = questions.batch(0)
for row in range(3):
    text = text_of(test.inputs[:, row])
    print("  pairs:", " ".join(text[:10]), "  asked:", text[10], text[12], text[14],
          "  answers:", *text_of(test.targets[10::2, row]))

# %% [markdown]
# Every model is an LSTM with such a layer on top, its *reader*. First the paper's comparison:
# *every part has 8 numbers*, so one part means a state of 8, two parts 16, three parts 24. A bar in
# a name separates parts: in *query, key | value, predict* the first 8 numbers serve as query and
# key, the others as value and prediction.
#
# But the states then differ in size, so there is a second control: *one vector of 16 numbers* for
# all four roles, with the same LSTM as two parts. Guess before you run: how many answers will it
# get right? (Guessing one of the five second letters at random is right 20 % of the time.)

# %% tags=["training"]
SEEDS = (1, 2, 3)
MODELS = {
    "no past": ("projection", 24),
    "4-gram": ("ngram", 24),
    "one vector of 8": ("attention", 8),
    "query, key | value, predict": ("key-value", 16),
    "query, key | value | predict": ("key-value-predict", 24),
    "one vector of 16": ("attention", 16),
}


def create(reader, hidden, seed):
    """An untrained model for the letters: 50, and four ids that the library keeps for itself."""
    return AttentiveLanguageModel.create(np.random.default_rng(seed), 54, reader, hidden=hidden,
                                         embedding=16, layers=1, init=0.5)


# %% tags=["training"]
models = {}
right = {}


def answers_of(name, create_one):
    """Train one model per seed, and print the share of the 1,500 questions it answers right."""
    models[name] = [create_one(seed) for seed in SEEDS]
    for model, seed in zip(models[name], SEEDS):
        train_pairs(model, seed)
    right[name] = np.array([answered(model, test) for model in models[name]])
    print(f"  {name:<28} {models[name][0].size:,} parameters: "
          + ", ".join(f"{share:.0%}" for share in right[name]), flush=True)


print(f"\nright answers after 800 steps, seeds {SEEDS} (by chance: {1 / 5:.0%})")
for name, sizes in MODELS.items():
    answers_of(name, partial(create, *sizes))

# %% tags=["training"]
small = right["one vector of 8"]
assert (right["query, key | value, predict"] > small).all()
assert (right["query, key | value | predict"] > small).all()
assert right["one vector of 16"].min() >= right["query, key | value, predict"].max()
print("with every seed, separate parts of 8 beat one vector of 8; one of 16 beats two parts")

# %% tags=["training"]
figure, ax = plt.subplots(figsize=(10, 4.2), layout="constrained")
for place, shares in enumerate(right.values()):
    ax.plot([place] * len(SEEDS), 100 * shares, "o", color=plotting.COLOURS[0], alpha=0.7)
ax.set_xticks(range(len(right)), [name.replace(" | ", "\n| ") for name in right])
ax.axhline(20, color="grey", linestyle="--", label="chance: one of the five second letters")
ax.legend(loc="upper left")
ax.set(ylabel="right answers in %, one dot per seed", ylim=(0, 104),
       title=f"Separate parts of 8 beat one vector of 8 ({100 * small.mean():.0f} %), "
             f"one vector of 16 beats them ({100 * right['one vector of 16'].mean():.0f} %)")
show(ax, "12_roles_or_room")

# %% [markdown]
# The paper's idea works: after 800 steps the models with parts are far ahead of one vector of 8.
# (The first two models stay below 20 %, because most answers are further back than the 4-gram can
# see, and the LSTM has not even learned to remember the five second letters.)
#
# But look at the last column. *One* vector of 16, all roles mixed, is better than two parts of 8,
# and even than three. Since a state with parts is a longer state, what helped was **room**. A long
# vector loses nothing by mixing the roles, because each matrix can read the directions that it
# needs (question 1 proves it). Is it room to *hold* answers, or to *learn* the task fast? (Question
# 4 has a surprise.)
#
# ## Do the roles pull against each other?
#
# Now measure the gradients that meet in h. `terms_of` runs the library's backward pass on the 500
# sequences and returns the four terms of dh from above, one row per state. We take the **cosine**
# between two terms, averaged over the states that have both: 1 if both want the same change of a
# state, −1 if they want opposite ones.

# %% tags=["training"]
ROLES = ("query", "key", "value", "predict")
PAIRS = tuple(combinations(ROLES, 2))                   # all six


def cosine_of(one, other):
    """The mean cosine of two roles' gradients (T · B, n), where neither is 0."""
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    there = lengths > 0
    return ((one * other).sum(1)[there] / lengths[there]).mean()


def look(model):
    """→ {pair of roles: cosine}"""
    terms = terms_of(model, test)
    return {(one, other): cosine_of(terms[one], terms[other]) for one, other in PAIRS}


# %% [markdown]
# The two models with *one* vector are trained once more and measured every 100 steps. Which pair
# did you guess?

# %% tags=["training"]
seen = {}
for name in ("one vector of 8", "one vector of 16"):
    seen[name] = [train_pairs(create(*MODELS[name], seed), seed, look=look) for seed in SEEDS]
at_the_end = [run[-1][1] for run in seen["one vector of 8"]]
print("\nin 8 numbers: cosines at the end, one per seed")
for pair in PAIRS:
    print(f"  {' · '.join(pair):<16}", ", ".join(f"{cosines[pair]:5.2f}" for cosines in at_the_end))
accused = ("query", "predict")
worst = np.mean([cosines[accused] for cosines in at_the_end])
title = f"One pair of six pulls apart: query and predict (−{-worst:.2f} at the end in 8 numbers)"
show(draw_cosines(seen, accused, title), "12_conflict")

# %% [markdown]
# One pair of six disagrees: query and predict, with −0.30, −0.28 and −0.22 at the end, whereas key
# and value, the pair that seemed most likely to disagree, are nearly at right angles. In 16 numbers
# the disagreement ends once the task is solved.
#
# So the cosines accuse query and predict. This suspicion can be tested: cut a state of 16 in two,
# and either separate the accused or leave them together. Two of the next three cuts separate them,
# so if the cosines are right, the third must be the worst.


# %% tags=["training"]
def cut(name, seed):
    """An untrained model with two parts, its roles divided at the | in the name."""
    behind = name.split(" | ")[1].split(", ")

    class Cut(KeyValueReadout):
        read_by = {role: int(role in behind) for role in ROLES}

    model = create("key-value", 16, seed)
    reader = model.reader
    model.reader = Cut(reader.attention, reader.W_x, reader.W_r, None, 2)
    return model


# %% tags=["training"]
separated = ["query, key, value | predict", "key, value, predict | query"]
together = "query, key, predict | value"
print("\ntwo parts of 8, cut at another place: right answers")
for name in (*separated, together):
    answers_of(name, partial(cut, name))
assert all((right[name] < right[together]).all() for name in separated)

# %% [markdown]
# The suspicion is refuted: the third is the best of the three, with every seed. With a separate
# query, the result depends on the seed, and a separate predict part does not help within 800 steps.
# (With these seeds it is behind even one vector of 8. We do not know why.) A negative cosine says
# that two roles disagree about the next small step, not that a vector has no room for both in the
# end.
#
# How could we have known which roles need separate parts? Ask what each must *read* in the state.
# Query and value both need the letter that is read *now*, and the key needs the one *before*,
# whereas predict needs nothing, since the answer comes with r. If that is the reason, a cut by
# content must be the best of all: query and value in one part, key and predict in the other. Guess
# before you run how many answers it gets right.

# %% tags=["training"]
others = np.array([shares for name, shares in right.items() if " | " in name])
by_content = "query, value | key, predict"
answers_of(by_content, partial(cut, by_content))
assert (right[by_content] > others.max(0)).all()
print("with every seed, this cut answers more than any other above")

# %% [markdown]
# A reason that predicts a result is worth more than one that explains it afterwards. The paper's
# idea is that a state must contain one thing as a key and another as a value, at the same time, and
# here it holds. (Three seeds are few. Question 3 has ten, and one of them is an exception.)
#
# ## Real text
#
# Does real text need a past? Like the paper, the recorded runs (recipes `wikitext-*`) read
# Wikipedia: 33,280 words, 7 million parameters each, a window of 5, three epochs. Guess the order
# of the six models.

# %% tags=["training"]
WIKITEXT = {    # test perplexity and its 95 % interval over the text: of seed 0, and of seed 1
    "LSTM": [(214.2, 210.8, 217.7), (193.2, 189.8, 196.5)],
    "4-gram": [(213.7, 210.2, 217.2), (198.0, 194.6, 201.2)],
    "tanh layer, no past": [(235.5, 231.7, 239.4)],
    "one part": [(231.6, 228.0, 235.4), (220.6, 217.0, 224.3)],
    "two parts": [(231.6, 228.1, 235.4), (217.8, 214.2, 221.4)],
    "three parts": [(220.2, 216.7, 223.8), (203.0, 199.4, 206.4)],
}
print("\nrecorded, WikiText-2: perplexity of seed 0, of seed 1 (95 % intervals over the test text)")
for name, seeds in WIKITEXT.items():
    print(f"  {name:<20}", *(f"{value} ({low} to {high})  " for value, low, high in seeds))

# %% [markdown]
# With both seeds, three parts are ahead of two and of one, as in the paper, but all three models
# are behind the LSTM and the 4-gram. A second seed shifts each model by more than its interval,
# which covers only the choice of test text. So compare only within a seed (`results/claims.md` has
# the reason, other windows, and a verdict).

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | roles, parts | key, value, query and prediction vectors |
# | 4-gram of states | N-gram RNN (Daniluk et al.) |
# | window | attention span, context window |
# | what a second seed shifts | run-to-run variance |
#
# All terms are in the [glossary](../docs/site/glossary.md).
#
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `plotting` | diagrams, colours, heatmaps, curves |
# | `Combined` | the library's score |
# | `KeyValueReadout` | its attention over the past, with states of one, two or three parts |
# | `NGramReadout` | its N-gram of states, without attention |
# | `gradcheck` | compares a backward pass with central differences |
# | `numeric_gradient` | the central differences of one array |
# | `AttentiveLanguageModel` | words → LSTM → reader → the next word |
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |

# %% [markdown]
# ## Questions
#
# 1. Let h be 3n numbers, cut into three parts of n. Prove that one vector of 3n can give the same
#    y: which *rows* of its larger W_Y, W_h, W_r and W_x do you set to 0?
# 2. Replace one vector of 8 by three parts of 8. How many times as many parameters does the reader
#    have now, and the LSTM? Then compare two parts of 8 with one vector at equal parameters. How
#    long may the vector be? Which model answers more questions after 800 steps?
# 3. Four roles can be cut in two in seven ways, and you have seen five. Which of the other two is
#    better, *query, value, predict | key* or *query, predict | key, value*? Say why before you try.
# 4. Train one vector of 8, and the cut that gives predict its own part, four times as long. Did the
#    vector of 8 have too few numbers, or was it only slow?
# 5. Do two roles use the same directions of the state? Let D (T · B, n) be all gradients of a role,
#    and G = Dᵀ D. The *overlap* of two roles is the cosine of their G. Show that their mean cosine
#    can be 0 and their overlap 1: invent gradients for both in two states of 2 numbers. Then
#    measure the trained vectors of 8 and 16. In 16 numbers, which role shares no directions?
# 6. The planted bug passes with one part. With two, which gradients are wrong? Predict, then run
#    `caught(check, Misfiled, 2)`.
# 7. With one pair, a sequence is *c k c*, and after the second *c* the 4-gram must predict *k*.
#    Which of h¹, h², h³ was written while *k* was read? How many steps back may the answer lie with
#    five pairs, at most?
# 8. The Bible in a minute: let models of at most 130,000 parameters read 130 steps of it (`Bible`
#    and `largest_state` in `roles_parts.py`): no past, 4-gram, one part, two, three. Who wins?
#    Where does attention look, what does a window of 1 cost the trained models, and which roles
#    disagree?
