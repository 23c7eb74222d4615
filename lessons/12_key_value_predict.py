# %% [markdown]
# # Lesson 12: key, value, predict
#
# **You will be able to** split one state into a key, a value and a predict part, and test whether
# the gradients of these roles work against each other.
#
# **Needs:** lesson 11. **Time:** 55 minutes to read, about 5 of them for the optional part B; about
# a minute to run.
#
# In lesson 11, one vector h_t had four roles. At its own step it *asked* the memory and *predicted*
# the next word. At later steps, as part of the memory, it was *found* and *fetched*. Is that too
# much for one vector? Daniluk, Rocktäschel, Welbl & Riedel (2017) think so, and cut it into a key,
# a value and a predict part.
#
# You will train their models on a small task, with controls. Then you will ask twice which roles
# disturb each other: first you compare their gradients, then you cut the state in two, in every
# possible way. Will the two answers agree?

# %%
print("Lesson 12: key, value, predict", flush=True)

from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from course import caught, show
from roles_parts import (GUESSING, LONGER, Pairs, answered, check_same, draw_answers, draw_cosines,
                         draw_cuts, draw_readable, draw_recorded, draw_wikitext, last_cosines,
                         letters_in, print_answers, print_cosines, print_pairs, print_recorded,
                         print_wikitext, terms_of, text_of, train_pairs)

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
# Let h_t be the LSTM's state after word t. The paper's models cut this vector into *parts* of n
# numbers each, for example h_t = [k_t; v_t; p_t]. Nothing in the LSTM says what belongs in which
# part. k_t is a key only because the score reads these n numbers.
#
# A state has four *roles*, and each role reads one part. The paper has models with one part
# (*attention*), two (*key-value*) and three (*key-value-predict*). The table says which part each
# role reads. (In brackets: the paper's equations.)
#
# | role | its name | symbol | one part (2–6) | two (7–9) | three (10–12) |
# |---|---|---|---|---|---|
# | h_t asks | query | k_t | first | first | first |
# | h_i, before t, is found | key | k_i | first | first | first |
# | h_i is fetched | value | v_i | first | second | second |
# | h_t predicts | predict | p_t | first | second | third |
#
# In all three models, query and key share a part, so a state asks with its own key, k_t. The
# equations are those of *combined* in lesson 11, without the bias, but each role reads only its
# part. Some symbols change:
#
# | lesson 11 | h_s | key h_s W_s | query h_t W_q | v | K |
# |---|---|---|---|---|---|
# | here | h_i | key k_i, a part of h_i | query k_t, a part of h_t | w | O |
#
# The letters v and K now mean values and keys.
#
# | symbol | shape | what it is | the paper |
# |---|---|---|---|
# | h_t = [k_t; v_t; p_t] | (3n,) | state after t, in parts of n numbers | h_t |
# | S, window | | step t sees the S = min(window, t − 1) states h_i before it | L |
# | K, V | (S, n) | the keys k_i and values v_i of these states | Y_t |
# | x | (S, n) | rows x_i = tanh(k_i W_s + k_t W_q): hidden layer of the score | M_t |
# | e = x w, α | (S,) | scores, weights | α_t |
# | c = α V | (n,) | context vector: what was fetched | r_t |
# | y | (O,) | tanh(c W_r + p_t W_x), which the output layer reads | h*_t |
# | W_s, W_q, w | (n, n), (n, n), (n,) | parameters of the score | W^Y, W^h, w |
# | W_r, W_x | (n, O), (n, O) | parameters of the last layer | W^r, W^x |
#
# The figure shows one step of the model with three parts. It leaves out the parts that this step
# does not read.

# %%
boxes = {
    "hi": ("hᵢ, before t", 0, 2.8),
    "vi": ("vᵢ", 1.5, 3.2, 2),
    "ki": ("kᵢ", 1.5, 2.4, 0),
    "ht": ("hₜ", 0, 0.4),
    "kt": ("kₜ", 1.5, 0.8, 0),
    "pt": ("pₜ", 1.5, 0, 1),
    "x": ("xᵢ = tanh(kᵢ Wₛ + kₜ W_q)", 5.1, 1.6),
    "a": ("α = softmax(x w)", 7.8, 1.6),
    "c": ("c = Σ αᵢ vᵢ", 9.6, 3.2, 2),
    "y": ("y = tanh(c Wᵣ + pₜ Wₓ)", 9.6, 0, 1),
    "P": ("P(next word)", 12.1, 0),
}

# %%
arrows = [("hi", "vi"), ("hi", "ki"), ("ht", "kt"), ("ht", "pt"), ("ki", "x", "is found"),
          ("kt", "x", "asks"), ("x", "a"), ("a", "c"), ("vi", "c", "is fetched"), ("c", "y"),
          ("pt", "y", "predicts"), ("y", "P")]
show(plotting.diagram(boxes, arrows, title="Four roles, three parts: a state asks with its key "
                      "and is found by it"), "12_architecture")

# %% [markdown]
# ## Forward
#
# What must a key say, and what a value? Take one step with small numbers. The text is *d u g s d*:
# two pairs of letters, *d u* and *g s*, and then the first letter of one pair again. After this
# second *d*, the model should predict *u*, the letter that followed the first *d*.
#
# How can it find the *u*? It has just read a *d*, so it looks for an earlier state that had a *d*
# just before it. Think of each state as knowing two letters: *now*, the one that it has just read,
# and *before*, the one before that. To be found, a state must show *before* in its key. To ask, it
# must show *now* in its query. Query and key share a part, so this part must have a place for each
# of the two letters.
#
# We code a letter as a number: d is 1, and g is −1. u and s are 0, because no question asks about
# them. If there is no letter before, *before* is 0, too. A key has n = 3 numbers: *before*, *now*,
# and a constant 1, which serves as a bias:
#
# | state | before | now | key part: (before, now, 1) | value: what a later step needs to know |
# |---|---|---|---|---|
# | d | | d | (0, 1, 1) | I am the first of a pair |
# | u | d | u | (1, 0, 1) | I am u |
# | g | u | g | (0, −1, 1) | I am the first of a pair |
# | s | g | s | (−1, 0, 1) | I am s |
# | d, the question | s | d | (0, 1, 1) | |
#
# A value has three numbers, 1 for yes and 0 for no: is my letter u, is it s, is it the first of a
# pair? K and V have a row for each of the S = 4 earlier states. y has O = 2 numbers: one votes for
# u, the other for s.

# %%
letters = ["d", "u", "g", "s"]
K = np.array([[0., 1, 1],           # the key of d: (before, now, 1)
              [1, 0, 1],            # u
              [0, -1, 1],           # g
              [-1, 0, 1]])          # s
V = np.array([[0., 0, 1],           # the value of d: (u?, s?, first of a pair?)
              [1, 0, 0],            # u
              [0, 0, 1],            # g
              [0, 1, 0]])           # s
k_t = np.array([0., 1, 1])          # the key of the second d
p_t = np.array([0.5, -0.2, 0.3])    # the predict part: arbitrary, since the answer comes with c

# %% [markdown]
# The score compares *before* in the earlier key k_i with *now* in the present key k_t. It must be
# large where both are 1, or both are −1. Inside the tanh, the two numbers are added. Their sum is 2
# or −2 there, and lies between otherwise. So the score must be higher at both ends than in the
# middle.
#
# Two tanh units do this: tanh(sum − 1) is high when the sum is 2, and tanh(−sum − 1) is high when
# it is −2. Their total is negative everywhere, but the softmax looks only at differences:

# %%
for both in (-2, -1, 0, 1, 2):
    units = np.tanh([both - 1, -both - 1])
    print(f"  sum = {both:2}   the two units add up to {units.sum():.2f}")

# %% [markdown]
# In the code, each unit is one column of W_s and one of W_q. The example needs only two units, so
# both matrices are (n, 2) instead of (n, n). W_s reads *before*, and W_q reads *now*. The last rows
# multiply the constant 1 of the keys: together they supply the −1.

# %%
W_s = np.array([[1., -1], [0, 0], [-0.5, -0.5]])    # reads "before"
W_q = np.array([[0., 0], [1, -1], [-0.5, -0.5]])    # reads "now"
w = np.array([2., 2])
W_r = np.array([[2., -1], [-1, 2], [0, 0]])
W_x = np.array([[0.3, 0], [0, 0.3], [0.1, -0.2]])


def softmax(e):
    """Softmax along the last axis. If all scores are −∞ (nothing is visible), all weights are 0."""
    top = np.maximum(e.max(-1, keepdims=True, initial=-np.inf), -1e30)  # −∞ − (−∞) would be nan
    exps = np.exp(e - top)
    return exps / np.maximum(exps.sum(-1, keepdims=True), 1e-30)


# %%
x = np.tanh(K @ W_s + k_t @ W_q)            # (S, 2)
e = x @ w                                   # (S,)
alpha = softmax(e)                          # (S,)
c = alpha @ V                               # (n,)
y = np.tanh(c @ W_r + p_t @ W_x)            # (O,)
for letter, one_e, one_alpha in zip(letters, e, alpha):
    print(f"  {letter}   e = {one_e:5.2f}   α = {one_alpha:.2f}")
print("  c =", c, "  y =", y)
assert letters[alpha.argmax()] == "u"

# %% [markdown]
# The state of *u* gets the largest weight. The smallest is on *s*: its sum is −1 + 1 = 0, where
# both units are low. The state of *u* was *found* by its key, which says "the letter before me was
# d". What was *fetched* is mostly its value, which says "I am u". So c says: u with 0.65, s with
# 0.05, and *d* or *g* with 0.30. W_r turns "u" into (2, −1) and "s" into (−1, 2). Therefore y =
# (0.892, −0.586) votes for *u* and against *s*.
#
# Only the value says "I am u". The key of *u* does not: its *now* is 0, because no question asks
# about u. Suppose that the key were also the value. Then the key of *u* would have to say two
# things: *before* is d, to be found, and *now* is u, to be useful when fetched. In this example,
# three numbers are enough for both, because there are so few letters. The task below has fifty
# letters. Can 8 numbers say both?
#
# ## Backward
#
# As in lesson 11, the lines of the forward pass are on the left, the last one first, and their
# gradients on the right. One thing is new: each role's gradient goes only to the part that this
# role reads. The example's loss is dy · y with dy = (−1, 0.5). It falls when y votes more for u and
# less for s.
#
#     y = tanh(a)              da = dy ∘ (1 − y²)
#     a = c W_r + p_t W_x      dc = da W_rᵀ        dp_t = da W_xᵀ                h_t predicts
#     c = α V                  dα = V dc           dv_i = α_i dc                 h_i is fetched
#     α = softmax(e)           de = α ∘ (dα − α · dα)
#     e = x w                  dx = de wᵀ
#     x = tanh(z)              dz = dx ∘ (1 − x²)
#     z = K W_s + k_t W_q      dk_i = dz_i W_sᵀ                                  h_i is found
#                              dk_t = Σ_i dz_i W_qᵀ                              h_t asks
#
# The gradients of the matrices are as in lesson 11: input times gradient of the output.

# %%
dy = np.array([-1.0, 0.5])


def loss():
    """dy · y, from what K, V, k_t and p_t now contain (numeric_gradient changes them in place)."""
    weights = softmax(np.tanh(K @ W_s + k_t @ W_q) @ w)
    return dy @ np.tanh(weights @ V @ W_r + p_t @ W_x)


da = dy * (1 - y**2)                        # (O,)
dc = da @ W_r.T                             # (n,)
dalpha = V @ dc                             # (S,)
de = alpha * (dalpha - alpha @ dalpha)      # (S,)
dz = np.outer(de, w) * (1 - x**2)           # (S, 2)

# %%
gradients = {
    "h_t predicts: dp_t": (da @ W_x.T, p_t),             # (n,)
    "h_t asks: dk_t": (dz.sum(0) @ W_q.T, k_t),          # (n,)
    "h_i is fetched: dV": (np.outer(alpha, dc), V),      # (S, n)
    "h_i is found: dK": (dz @ W_s.T, K),                 # (S, n)
}
for name, (ours, array) in gradients.items():
    numeric = numeric_gradient(loss, array)
    assert np.allclose(ours, numeric, rtol=1e-7, atol=1e-9), name
    rows = str(ours).split("\n") if ours.ndim == 2 else [f" {ours}"]
    for row, letter in zip(rows, letters if ours.ndim == 2 else " "):
        print(f"  {name:<22} {letter} {row}")
        name = ""
print("all four equal their central differences")

# %% [markdown]
# Most zeros are where a matrix does not read: W_q does not read *before*, W_s does not read *now*,
# and W_r does not read "first of a pair". (In the row of *s* in dK, the two units cancel.) A step
# against dK raises *before* in the key of *u* and lowers it in those of *d* and *g*, so *u* becomes
# easier to find.
#
# Now follow one state, h_i, through a whole text. At its own step, it asks the states before it
# (each h_j), and it predicts. At later steps t, it is found and fetched. With one part, k_i, v_i
# and p_i are the same numbers, so the gradients of the four roles are *added*. In dz and α, the
# first index is the step that asks, and the second is the state that it sees:
#
#     dh_i =   Σ_j dz_ij W_qᵀ    query: at step i, it asks every state j that it sees
#            + Σ_t dz_ti W_sᵀ    key: at every later step t that sees it, it is found
#            + Σ_t α_ti dc_t     value: at the same steps t, it is fetched
#            + da_i W_xᵀ         predict: at step i, it predicts
#
# A vector that serves all four roles is what the paper calls *overloaded*. Three parts separate
# these terms, except the first two: query and key still share a part. A fifth term comes from the
# LSTM, which reads all of h_i at the next step.
#
# ## All words at once
#
# We call the layer that reads the states h and returns y a *reader*. As in lesson 11, the scores
# form a matrix, with a row for each step t and a column for each state i. Step t sees state i if 0
# < t − i ≤ window. The first step sees nothing, so its c is 0.
#
# `split` returns k, v and p as *views* of h, and `backward` splits dh in the same way. So `dk += …`
# changes dh itself. With one part, all four terms land in the same columns. As in lesson 11, a loss
# may read the weights α directly, so `backward` takes their upstream gradient, `dalpha`, too.
#
# > **Exercise.** Write it yourself: `numpy-attention exercise start key-value-predict`.


# %% tags=["plain"]
@dataclass(eq=False)
class PlainReader(Module):
    """One text: states h (T, H) → y (T, O), weights (T, T)."""

    W_s: Array  # (n, n)
    W_q: Array  # (n, n)
    w: Array    # (n,)
    W_r: Array  # (n, O)
    W_x: Array  # (n, O)
    parts: int = 1
    window: int = 10

    def split(self, h):
        """Views k, v, p of h: the columns that each role reads."""
        n = len(self.w)
        last = n * (self.parts - 1)
        middle = min(n, last)           # (middle, last): (0, 0), (n, n) or (n, 2n)
        return h[:, :n], h[:, middle:middle + n], h[:, last:last + n]

    def forward(self, h):
        k, v, p = self.split(h)
        back = np.subtract.outer(range(len(h)), range(len(h)))          # t − i
        visible = (back > 0) & (back <= self.window)                    # (T, T)
        x = np.tanh(k @ self.W_s + (k @ self.W_q)[:, None])             # (T, T, n)
        alpha = softmax(np.where(visible, x @ self.w, -np.inf))         # (T, T)
        c = alpha @ v                                                   # (T, n)
        y = np.tanh(c @ self.W_r + p @ self.W_x)                        # (T, O)
        return y, alpha, (h, x, alpha, c, y)

    def terms(self, dy, dalpha, cache, grads):
        """→ the four terms of dh, each (T, n): query, key, value, predict."""
        h, x, alpha, c, y = cache
        k, v, p = self.split(h)
        # y = tanh(c W_r + p W_x)
        da = dy * (1 - y**2)
        grads.W_r += c.T @ da
        grads.W_x += p.T @ da
        dc = da @ self.W_r.T
        # c = α V,  α = softmax(e)
        dalpha = dalpha + dc @ v.T
        de = alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))
        # e = x w,  x = tanh(z)
        grads.w += np.tensordot(de, x, 2)
        dz = de[:, :, None] * self.w * (1 - x**2)                       # (T, T, n)
        # z_ti = k_i W_s + k_t W_q
        grads.W_s += k.T @ dz.sum(0)
        grads.W_q += k.T @ dz.sum(1)
        return dz.sum(1) @ self.W_q.T, dz.sum(0) @ self.W_s.T, alpha.T @ dc, da @ self.W_x.T

    def backward(self, dy, dalpha, cache, grads):
        query, key, value, predict = self.terms(dy, dalpha, cache, grads)
        dh = np.zeros_like(cache[0])
        dk, dv, dp = self.split(dh)
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
states = {parts: rng.standard_normal((T, parts * n)) for parts in (1, 2, 3)}


def check(kind, parts):
    """Check a reader's gradients. causal=0: no y may depend on a later state (axis 0 is time)."""
    return gradcheck(kind(*weights, parts, 3), states[parts], rng=np.random.default_rng(2),
                     causal=0, title=f"{kind.__name__}, parts = {parts}")


for parts in (1, 2, 3):
    print(str(check(PlainReader, parts)).splitlines()[0])

# %% [markdown]
# ### What a bug looks like
#
# In the class below, one line of `terms` uses the wrong variable. Can you find it? Does the
# gradient check notice it with one part? With three? (`caught` runs a check that must fail, and
# prints its report.)


# %%
class Misfiled(PlainReader):
    """A reader with a planted bug."""

    def terms(self, dy, dalpha, cache, grads):
        h, x, alpha, c, y = cache
        k, v, p = self.split(h)
        da = dy * (1 - y**2)
        grads.W_r += c.T @ da
        grads.W_x += p.T @ da
        dc = da @ self.W_r.T
        dalpha = dalpha + dc @ k.T
        de = alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))
        grads.w += np.tensordot(de, x, 2)
        dz = de[:, :, None] * self.w * (1 - x**2)
        grads.W_s += k.T @ dz.sum(0)
        grads.W_q += k.T @ dz.sum(1)
        return dz.sum(1) @ self.W_q.T, dz.sum(0) @ self.W_s.T, alpha.T @ dc, da @ self.W_x.T


# %%
print(str(check(Misfiled, 1)).splitlines()[0])
report = caught(check, Misfiled, 3)

# %% [markdown]
# With one part, the check passes, and rightly so: k and v are the same numbers. With three parts,
# the report names the line: dc is multiplied by k instead of v. W_r and W_x are right, because
# their gradients are computed before this line. (`input[0]` is h.)

# %% [markdown]
# ## The same as the library
#
# The library's reader is `KeyValueReadout`. It takes a batch of texts, so `check_same` gives our
# class one text at a time.

# %%
W_s, W_q, w, W_r, W_x = weights
for parts in (1, 2, 3):
    batch = rng.standard_normal((T, 3, parts * n))
    library = KeyValueReadout(Combined(W_s, W_q, w), W_x, W_r, None, parts, window=3)
    check_same(PlainReader(*weights, parts, 3), library, batch)
print("one, two and three parts: outputs and gradients equal the library's")

# %% [markdown]
# ## The task: pairs of letters
#
# The task is that of the example above, but longer. A sequence begins with five pairs of letters:
# ten different letters out of 50 (*G* and *g* are two letters). Then come three questions, about
# three different pairs. Each question repeats the first letter of a pair, and the model must
# predict the second. The model reads the right answer before the next question.
#
# Only these three predictions count. Every sequence has new pairs. We train each model with Adam
# for 800 steps of 32 sequences.

# %%
questions = Pairs(np.random.default_rng(99), 1, size=500)
test = questions.batch(0)
for row in range(3):
    text = text_of(test.inputs[:, row])         # 15 letters: the last is the third question
    print("  pairs:", " ".join(text[:10]), "  asked:", text[10], text[12], text[14],
          "  answers:", *text_of(test.targets[10::2, row]))

# %% [markdown]
# On top of its LSTM, every model has a reader. Attention has no window here: it sees all earlier
# states. In our versions of the paper's models, every part has 8 numbers. We abbreviate the roles
# by their initials, and a bar separates the parts. In `q k | v p`, query and key read the first
# part, and value and predict the second.
#
# | model | in the paper | numbers in its state |
# |---|---|---|
# | tanh layer | | 24 |
# | one vector of 8 | attention | 8 |
# | `q k \| v p` | key-value | 2 · 8 = 16 |
# | `q k \| v \| p` | key-value-predict | 3 · 8 = 24 |
# | one vector of 16 | | 16 |
#
# The tanh layer and the vector of 16 are our controls. The tanh layer is lesson 11's, without the
# bias: y = tanh(h W). It reads only the present state, and has 24 numbers so that it has about as
# many parameters as the model with three parts. Word vectors and y have 16 numbers in all models.
#
# What does guessing achieve? A model that picks one of the five second letters at random, but never
# an earlier answer, is right with probability 1/5, 1/4 and 1/3: 26 % on average.
#
# Guess before you run: what share of the questions will one vector of 16 answer right?

# %% tags=["training"]
SEEDS = (1, 2, 3)
MODELS = {
    "tanh layer": ("projection", 24),           # no attention: y = tanh(h W)
    "one vector of 8": ("attention", 8),
    "q k | v p": ("key-value", 16),
    "q k | v | p": ("key-value-predict", 24),
    "one vector of 16": ("attention", 16),
}


def create(reader, hidden, seed):
    """An untrained model for 54 ids: 50 letters, and four that the library reserves.

    init: every weight is drawn between −0.5 and 0.5.
    """
    return AttentiveLanguageModel.create(np.random.default_rng(seed), 54, reader, hidden=hidden,
                                         embedding=16, layers=1, init=0.5)


# %% tags=["training"]
models = {}
right = {}


def answers_of(name, create_one):
    """Train one model per seed, and print its share of right answers to 1,500 questions."""
    models[name] = [create_one(seed) for seed in SEEDS]
    for model, seed in zip(models[name], SEEDS):
        train_pairs(model, seed)
    right[name] = np.array([answered(model, test) for model in models[name]])
    print(f"  {name:<16} {models[name][0].size:,} parameters: "
          + ", ".join(f"{share:.0%}" for share in right[name]), flush=True)


print(f"\nright answers after 800 steps, for the seeds {SEEDS} (guessing: {GUESSING:.0f}%):")
for name, sizes in MODELS.items():
    answers_of(name, partial(create, *sizes))

# %% tags=["training"]
small = right["one vector of 8"]
large = right["one vector of 16"]
cuts = [right[name] for name in MODELS if "|" in name]
both = (np.min(cuts, 0) > small).sum()
best = (large > np.max(cuts, 0)).sum()
title = (f"Both models with parts beat one vector of 8 (with {both} of {len(SEEDS)} seeds), "
         f"and one vector of 16 beats both ({best} of {len(SEEDS)})")
print(title)
assert large.mean() > small.mean() + 0.3 and 100 * right["tanh layer"].max() < GUESSING
show(draw_answers(right, title), "12_roles_or_room")

# %% [markdown]
# At first, the paper's idea seems to work: the two models with separate parts are far ahead of one
# vector of 8, which is hardly better than guessing. The tanh layer does worse than guessing:
# without attention, the LSTM would have to keep all five pairs. It is not even as good as a guess
# among all ten letters, first and second ones. (On another processor, single seeds may differ.)
#
# But *one* vector of 16 beats the separate parts. It has more parameters than two parts, but fewer
# than three. No cut was needed: each matrix can learn to read only the numbers that it needs
# (question 1).
#
# Did the parts help because they separate the roles, or only because the state has more numbers?
#
# ## Do the roles pull against each other?
#
# If the roles disturb each other in one vector, their gradients should point in opposite
# directions. For each pair of roles, we take the **cosine** of the angle between their terms of dh.
# It is 1 for the same direction, 0 for right angles, and −1 for opposite directions. `terms_of`
# returns the four terms, for all states of the test sequences.
#
# Only the predictions after a question have a loss. So query and predict have terms only at the
# three questions. Key and value have terms only before the last question. For each pair of roles,
# we average over the states that have both terms. One cosine of two random vectors of 8 numbers is
# often far from 0. The mean of a thousand or more such cosines is close to 0.

# %% tags=["training"]
ROLES = ("query", "key", "value", "predict")
ROLE_PAIRS = tuple(combinations(ROLES, 2))                   # all six


def cosines_of(one, other):
    """The cosines of two roles' gradients (T · B, n), one for each state where neither is 0."""
    lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    there = lengths > 0
    return (one * other).sum(1)[there] / lengths[there]


def look(model):
    """The mean cosines of a model, {pair of roles: cosine}, and its share of right answers."""
    terms = terms_of(model, test)
    return ({(one, other): cosines_of(terms[one], terms[other]).mean()
             for one, other in ROLE_PAIRS}, answered(model, test))


# %% [markdown]
# We train the two models with *one* vector again, and measure the cosines every 100 steps. Guess:
# which two roles' gradients disagree most?

# %% tags=["training"]
seen = {}
for name in ("one vector of 8", "one vector of 16"):
    seen[name] = [train_pairs(create(*MODELS[name], seed), seed, look=look) for seed in SEEDS]
at_the_end = {name: [last_cosines(run) for run in runs] for name, runs in seen.items()}
print_cosines(at_the_end)
print_answers("one vector of 16", seen["one vector of 16"], (300, 500))

# %% tags=["training"]
mean_of = {pair: np.mean([cosines[pair] for cosines in at_the_end["one vector of 8"]])
           for pair in ROLE_PAIRS}
most = min(ROLE_PAIRS, key=mean_of.get)
assert most == ("query", "predict") and mean_of[most] < -0.1
title = f"In the vector of 8, {most[0]} and {most[1]} disagree most"
show(draw_cosines(seen, (most, ("key", "value"), ("value", "predict")), title), "12_conflict")

# %% [markdown]
# In the vector of 8, only the cosine of query and predict is far below 0. Key and value come next,
# with −0.03 to −0.09, and value and predict even agree a little.
#
# In the vector of 16, query and predict disagree, too, but less, and only until about step 500. At
# step 300, this vector answers only 7 to 10 % of the questions, and at step 500 over 90 %. The
# conflict may be only a sign of a model that is still learning the task. So far, it is a charge,
# not a proof.
#
# ## Which pair should be separated?
#
# Three pairs of roles are suspects:
#
# | suspects | accused by | if they are guilty |
# |---|---|---|
# | query and predict | their cosine in the vector of 8 | cuts that separate them do best |
# | key and value | the key needs *before*, the value *now* | cuts that separate them do best |
# | query and key | 8 numbers for two codes | the same, and no part shows both letters |
#
# The third charge needs an explanation. All keys and queries are read from the same 8 numbers. In
# the state of a second letter, these must show *before*. In the state of a question, they must show
# *now*. Is there room for two codes of 50 letters? A cosine cannot tell, because it compares two
# gradients of one state, and here two different states compete.
#
# To find out, we cut a state of 16 into two parts of 8, in all seven ways. (There are 2⁴ / 2 = 8
# ways to divide four roles, and in one of them nobody reads the second part.) Unlike in the paper,
# query and key may now be apart. Everything up to the verdict is measured after 800 steps, so it
# compares how fast the models learn.
#
# In the figure, a dot means that the cut in this row separates the pair in this column. If one pair
# is to blame, the four cuts with a dot in its column should do best. Guess: which pair is guilty?

# %% tags=["training"]
show(draw_cuts(), "12_cuts")


# %% tags=["training"]
def cut(name, seed, size=8):
    """An untrained model with two parts of one size, its roles divided at the | in the name."""
    first, _ = name.split(" | ")                # initials of the roles that read the first part
    parts = {role: 0 if role[0] in first else 1 for role in ROLES}

    class Cut(KeyValueReadout):
        read_by = parts                         # {role: number of the part that it reads}

    model = create("key-value", 2 * size, seed)
    reader = model.reader
    model.reader = Cut(reader.attention, reader.W_x, reader.W_r, None, 2)    # no bias, two parts
    return model


# %% tags=["training"]
print("\nthe other six cuts into two parts of 8: right answers")
for name in ("k v p | q", "q v p | k", "q k p | v",
             "q k v | p", "q v | k p", "q p | k v"):
    answers_of(name, partial(cut, name))
print("the seventh, from above:\n  q k | v p        "
      + ", ".join(f"{share:.0%}" for share in right["q k | v p"]))

# %% [markdown]
# `q v | k p`, which separates all three suspected pairs, looks like the winner: 100, 99 and 100 %.
# But `q p | k v` answers 54, 20 and 99 %: three seeds cannot rank such cuts. So we have recorded
# forty seeds, on another processor. (The code is in answer 3.)
#
# We also add a fairer control. One vector of 16 has more parameters than two parts of 8, because
# its matrices read the whole vector. One vector of 13 is the longest with fewer parameters than two
# parts of 8 (3,245 against 3,422).
#
# The number after ± is the **standard error** of the mean: about how far luck alone moves it. A
# mean can hide that a cut has two kinds of seeds, so we also print the median, the seeds with at
# least 95 %, and those below 50 %.

# %% tags=["training"]
print(f"one vector of 13 has {create('attention', 13, 1).size:,} parameters")
print_recorded()
show(draw_recorded(), "12_all_cuts")

# %% [markdown]
# Two cuts have two kinds of seeds: with `q v | k p` and `q v p | k`, most are nearly perfect, but 6
# and 5 of the forty stay below 50 %. Which cut is best? By the median, it is `q v | k p`, as with
# three seeds. By the mean, that cut is only third, and the best is `q k p | v`, which takes out
# only the value. Three seeds showed how good `q v | k p` usually is. They did not show that it
# sometimes fails. Now the suspects.
#
# *Key and value.* Every cut that separates them has a higher mean than every cut that does not.
# **Guilty**, at least in parts of 8.
#
# This difference would drown any other. For the other two pairs, we use only the four two-part
# cuts that keep key and value apart. Two of these separate query and predict, and two do not. The
# same holds for query and key.

# %% tags=["training"]
print_pairs()

# %% [markdown]
# *Query and predict.* Apart or together, the mean is the same. (This comparison has a flaw: the two
# cuts that separate this pair give each part two roles, and the two that do not give one part
# three. A gain from one could hide a loss from the other.) Predict even seems to help the others:
# `q k v | p`, which takes only predict out of the shared vector, is the worst cut of all, far below
# the uncut vector of 8. (In question 4, one vector of 8 loses predict, and falls almost as low.)
# **Innocent**, as far as we can see.
#
# *Query and key.* The standard error of the difference is about 3 points, so on average, we cannot
# tell. But luck does not explain what happens seed by seed: if query and key are apart, more seeds
# are nearly perfect, and more fail. Separating them is a gamble. **Open.**
#
# The cosines accused a pair that seems innocent, and said little against the guilty one. A gradient
# says what a *small* change of h would do at this point of the training. It does not say whether a
# very different h would be better, or how long training takes to get there.
#
# ## What do the failing models lack?
#
# In the example, the key of a second letter shows *before*, and its value shows *now*. Do the
# trained models do the same? We use a **probe**: a simple classifier, trained on the states of a
# finished model (Alain & Bengio 2016). Ours sees only the key's part of the states of second
# letters. One probe reads *before*, and another *now*. For each letter, it keeps the mean of the
# states that show this letter. It names the letter whose mean is nearest, in units of the spread
# around the means. Half of the states of 3,000 new sequences give the means, and the other half are
# the test. By chance, a probe is right with one letter in 50, or 2 %.

# %% tags=["training"]
new = Pairs(np.random.default_rng(7), 1, size=3000).batch(0)
known = {name: [letters_in(model, "key", new) for model in models[name]]
         for name in models if name != "tanh layer"}
print("\nread from the key's part (seed 1)  “before”  “now”")
for name in ("one vector of 8", "one vector of 16", "q k | v p", "q v | k p"):
    before, now = known[name][0]
    print(f"  {name:<32} {before:8.0%} {now:7.0%}")
before, now = (letters_in(models["q v | k p"][0], "value", new))
print("read from the value's part\n"
      f"  {'q v | k p':<32} {before:8.0%} {now:7.0%}")

# %% tags=["training"]
points = np.concatenate([known[name] for name in known])                    # (30, 2)
shares = np.concatenate([right[name] for name in known])
of_before, of_now = (np.corrcoef(shares, points[:, k])[0, 1] for k in (0, 1))
print(f"correlation of right answers with “before”: {of_before:.2f}, and with “now”: {of_now:.2f}")
assert of_before > 0.9 and abs(of_now) < 0.5
titles = ("The more of “before”, the more right answers", "“Now” says little about right answers")
show(draw_readable(known, right, titles), "12_probe")

# %% [markdown]
# The models that fail lack *before*. Over all thirty models, the more often the probe can read
# *before*, the more questions the model answers. The letter *now* matters less: `q v | k p` answers
# nearly everything with 12 % of *now* in its key's part, and one vector of 8 fails with 96 %.
# `q v | k p` has even found the keys and values of our example (seed 1): its key's part shows
# *before* and hardly *now*, and its value's part shows *now* and not *before*.
#
# Is there room in 8 numbers? The charge against query and key is about two *different* states: a
# second letter must show *before*, and a question *now*. The probe asks for more, because it reads
# both letters in *one* state. The key's part of `q k | v p` shows both there: *before* with 95 %,
# and *now* with 98 % (seed 1). So there is room, and lack of it explains neither charge. It seems
# to be hard to *learn* both letters while the same 8 numbers are also the value. Why it is hard
# stays open, and so does why separating query and key helps some seeds and breaks others.
#
# ## The verdict: separation, or more numbers?
#
# | suspects | accused by | cuts that separate them | probe | verdict |
# |---|---|---|---|---|
# | query and predict | the cosine | no better on average | | innocent |
# | key and value | the example | much better | failing models lack *before* | guilty |
# | query and key | lack of room | more perfect seeds, and more failures | there is room | open |
#
# Why did the paper's parts help? More numbers in the state are not enough. All seven cuts into two
# parts have 16, but the three with key and value together help less, or do harm. We see no gain
# from the paper's third part. It seemed to help with each of three seeds, but with forty,
# `q k | v | p` has a lower mean than `q k | v p`.
#
# But there is another remedy, which needs no cut: more numbers *for each role*. In one vector of
# 13, each role reads 13 numbers. Its mean is above that of every cut in the figure, with fewer
# parameters and a shorter state than two parts of 8. By the median, it only equals `q v | k p`,
# but it is reliable: 39 of its forty seeds have at least 95 %. On this task:
#
# 1. **No cut is needed.** One vector, if it is long enough, can serve all roles. If you cut a
#    state, compare it with an uncut vector that has as many parameters.
# 2. **If you cut, it matters where.** In 800 steps, key and value do not learn to share 8 numbers
#    well. (Question 4 asks how long a part must be before they can share it.) The cosines did not
#    tell us so.
#
# What happens with more time?

# %% tags=["training"]
print("recorded: one vector of 8 after 3,200 steps instead of 800, seeds 1 to 3:",
      ", ".join(f"{share}%" for share in LONGER))

# %% [markdown]
# After four times as many steps, one vector of 8 answers nearly everything with all three seeds,
# and even the worst cut gets much further (answer 4). So one vector can hold both letters well
# enough, even with 8 numbers. In a longer uncut vector, training gets there sooner.

# %% [markdown]
# ## Part B (optional): without attention, and on real text
#
# **You will be able to** replace attention by the last few states, and compare this with attention
# on real text. **Time:** about 5 minutes to read. Lesson 13 does not need this part.
#
# ### The last few states
#
# In the paper, most of the weight goes to the last few words. So its fourth model (section 2.4,
# equation 13), an **N-gram** of states, has no score and no softmax. It reads N − 1 states, the
# present one and those just before it, and predicts the N-th word. From each state, it reads a
# different part. States before the beginning count as 0. For N = 4, h_t = [h¹; h²; h³]:
#
#     y_t = tanh(h¹_t W¹ + h²_{t−1} W² + h³_{t−2} W³)
#     dW^j = Σ_t (h^j_{t−j+1})ᵀ da_t      dh^j_i = da_{i+j−1} (W^j)ᵀ
#
# As before, da = dy ∘ (1 − y²). Part j of state i is read j − 1 steps later, so its gradient comes
# from step i + j − 1. With N = 2, there is no past. That is the tanh layer, our control.


# %% tags=["plain"]
@dataclass(eq=False)
class PlainNGram(Module):
    """One text: states h (T, H) → y (T, O)."""

    W: Array  # (H, O): W¹ … W^{N−1}, stacked
    order: int = 4

    def parts_by_delay(self):
        """[(how many steps later it is read, its columns)] for each part."""
        n = len(self.W) // (self.order - 1)
        return [(delay, slice(delay * n, delay * n + n)) for delay in range(self.order - 1)]

    def forward(self, h):
        a = np.zeros((len(h), self.W.shape[1]), h.dtype)
        for delay, part in self.parts_by_delay():
            a[delay:] += h[:len(h) - delay, part] @ self.W[part]
        y = np.tanh(a)
        return y, (h, y)

    def backward(self, dy, cache, grads):
        h, y = cache
        da = dy * (1 - y**2)
        dh = np.zeros_like(h)
        for delay, part in self.parts_by_delay():
            grads.W[part] += h[:len(h) - delay, part].T @ da[delay:]
            dh[:len(h) - delay, part] = da[delay:] @ self.W[part].T
        return dh


W = rng.standard_normal((3 * n, outputs))
print(gradcheck(PlainNGram(W), states[3], rng=rng, causal=0))
check_same(PlainNGram(W), NGramReadout(W), rng.standard_normal((T, 3, 3 * n)))
print("the 4-gram: outputs and gradients equal the library's")

# %% [markdown]
# On pairs, the 4-gram hardly has a chance: it reads only the present state and the last two, and
# the answer is nearly always further back (question 8).
#
# ### Real text
#
# We have repeated the paper's experiment on a smaller text from Wikipedia, WikiText-2, with a
# window of 5 (`numpy-attention reproduce wikitext-…`). The seven models are the LSTM alone, the
# readers of this lesson, and a linear layer, which is the tanh layer without the tanh. Each has 7
# million parameters, nearly all of them in the word vectors and the output layer. Word vectors and
# y are as long as one part, so the length of one part decides how many parameters a model has. So
# three parts of 97 cost about as much as one vector of 102, although their state has 291 numbers.
# Guess: do three parts beat the LSTM? And does the 4-gram, without attention, keep up with them?

# %% tags=["training"]
print_wikitext()
show(draw_wikitext(), "12_wikitext")

# %% [markdown]
# The three seeds of one model lie 11 to 30 points apart, so we also compare seed by seed. The LSTM
# alone wins on average, and it beats every attention model with each seed. In the paper, it loses
# to all of them. Is attention to blame? Compare one vector with the tanh layer, the same layer
# without attention: attention is better with two seeds, and worse with the third. The tanh costs
# more than that. The linear layer, which lacks it, is 15 to 24 points better, and every attention
# model has this tanh. Whether that is the whole reason, we do not know. The paper's models are
# about seven times as large, and its text is longer.
#
# Do three parts help? They are 11 to 20 points better than one vector, seed by seed. But their
# state is also almost three times as long. The fair control is the 4-gram: it has the same 291
# numbers and a tanh, but no attention. On average, it keeps up with three parts (213 against 211):
# it is better with two seeds, and 18 points worse with the third. So the gain need not come from
# attention.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | roles, parts | key, value, query and prediction vectors |
# | 4-gram of states | N-gram RNN (Daniluk et al.) |
# | window | context window |
#
# Key, value, query, window, control, probe and perplexity are in the
# [glossary](../docs/site/glossary.md).
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
# 1. Let h be a state of 3n numbers, cut into three parts of n. Prove that one vector of 3n numbers
#    can give the same y: which *rows* of its larger W_s, W_q, W_r and W_x do you set to 0? Does it
#    follow that training finds a solution as good?
# 2. Replace one vector of 8 by three parts of 8. By what factor does the number of parameters grow
#    in the reader, and in the LSTM? Then show that 13 is the longest vector with no more parameters
#    than two parts of 8.
# 3. The order of the parts in the state should not matter. Does it? With the seeds 1 and 2, train
#    `q p | k v` written as `k v | q p`. What does this say about differences of ten points between
#    cuts?
# 4. (a) The cut `q k v | p` answers fewer questions than one vector of 8, although it has 8 numbers
#    more. Why? Take predict away from one vector of 8 (`without_predict` in `roles_parts`), and
#    train the cut four times as long. (b) Cut states of 8 and of 26 numbers in half. How long must
#    a part be before key and value can share it?
# 5. Are strong conflicts of key and value hidden behind their mean cosine? Compare the mean *size*
#    of their cosines, without the signs, with that of two random directions.
# 6. Do two roles use the same directions of the state? Let D (T · B, n) be all gradients of a role,
#    one per row, and G = Dᵀ D. The *overlap* of two roles is ΣΣ G₁ ∘ G₂ / (‖G₁‖ ‖G₂‖), the cosine
#    of their matrices G. (a) With n = 2, two roles and two states, invent gradients whose mean
#    cosine is 0 but whose overlap is 1. (b) Measure the overlaps in the trained vectors. In the
#    vector of 16, which role shares hardly any direction with the others?
# 7. The planted bug passes with one part. Which gradients are wrong with two parts? Predict, then
#    run `caught(check, Misfiled, 2)`.
# 8. (Part B) With only one pair, a sequence is *d u d*, and after the second *d* the 4-gram must
#    predict *u*. It reads h¹, h² and h³ of three different states. Which of the three is part of
#    the state of *u*? And with five pairs, how many steps back can the answer be, at most?
# 9. (Part B) The Bible in a minute: train the tanh layer, the 4-gram, and attention with one, two
#    and three parts on 130 batches of it, with at most 130,000 parameters each. (`Bible` and
#    `largest_state` are in `roles_parts.py`.) Who wins? Which roles disagree?
