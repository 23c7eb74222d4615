# %% [markdown]
# # Lesson 06: additive attention
#
# **You will be able to** derive additive attention with its backward pass, train a translator with
# it, and explain what its heatmap shows and what it does not.
#
# **Needs:** lessons 01 and 05. If you come for attention only, lesson 01 is enough: treat a GRU as
# a box that takes an input and a state, and returns the next state. **Time:** 50 minutes to read,
# about a minute to run.
#
# How does the decoder know where to look? In lesson 05 it got a new average of the encoder's states
# at each step, and nearly every copy came out correct, but we did not say where the weights of this
# average come from. In RNNsearch, the model of Bahdanau, Cho & Bengio (2015), the decoder computes
# them itself. Before it writes a word, it **attends** to the source: it compares its own state with
# the vector of every source word, gives each vector a weight, and reads the weighted average. The
# weights have gradients, so the model learns where to look from pairs of sentences alone. No one
# has to mark the **alignment** of the two sentences, that is, which word translates which.
#
# You will derive attention by hand for three words, check each line, and train a translator on
# clauses from the Bible, from English to Spanish. Then you will ask what its heatmaps, the pictures
# of its weights, really show. Scholars have linked some of the words that translate each other, and
# the model never sees these links. Guess now: at a linked Spanish word, how often is the model's
# largest weight on its English word? A rule that knows no words, and points at the same relative
# position in the clause, is correct for a little more than half of the links.

# %%
print("Lesson 06: additive attention", flush=True)

from dataclasses import dataclass
from functools import partial

import numpy as np
from course import caught, show
from matplotlib import pyplot as plt
from translator_parts import (bible_clauses, check_same_translator, diagonal_place, expects,
                              shipped_translator, trained_translator)

from numpy_attention import plotting
from numpy_attention.attention.memory import Memory
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.gradcheck import gradcheck, numeric_gradient, protocol
from numpy_attention.module import Array, Module

np.set_printoptions(precision=3, suppress=True)

# %% [markdown]
# ## One target word
#
# The encoder has read a sentence of S words and left an **annotation** h_j for each. The encoder is
# **bidirectional**: one GRU reads from the left, another from the right, and h_j joins both states
# at word j, so it knows what comes before the word and what comes after it. When the decoder is
# about to write word t, its present state, the **query** q, determines which source words are
# wanted (section 3.1 and appendix A.1.2 of the paper):
#
#     a_j = q W_a + h_j U_a       (A,)   query and annotation are added, hence the name
#     x_j = tanh(a_j)             (A,)   a hidden layer
#     e_j = x_j · v_a             ()     the score: how useful is word j now?
#     α   = softmax(e)            (S,)   weights: positive, they add up to 1
#     c   = Σ_j α_j h_j           (D,)   the context vector, an average of annotations
#
# | symbol | shape | what it is |
# |---|---|---|
# | j = 1 … S, t = 1 … T | | positions in the source and in the target (i in lesson 05) |
# | s_t | (Q,) | the decoder's state after its step for word t |
# | q | (Q,) | the query: here s_{t−1}, the state *before* word t is written |
# | h, its rows h_j | (S, D) | annotations of the source words |
# | a, x, their rows a_j, x_j | (S, A) | hidden layer, before and after its tanh; x is not a word |
# | e, α | (S,) | **scores**, **attention weights** |
# | c | (D,) | **context vector** |
# | W_a, U_a, v_a | (Q, A), (D, A), (A,) | parameters of the score, the only ones of attention |
#
# The decoder's step reads c_t and makes s_t. Then s_t, c_t and y_{t−1} together predict the word
# y_t. Each annotation is used twice: as a **key**, when it is compared with the query (through
# k_j = h_j U_a), and as a **value**, in the average.

# %%
boxes = {
    "before": ("q = sₜ₋₁", 0, 0),
    "h": ("annotations h, rows hⱼ", 6.4, 2.9, 2),
    "a": ("aⱼ = q Wₐ + hⱼ Uₐ", 2.2, 1.3),
    "x": ("xⱼ = tanh(aⱼ)", 4.5, 1.3),
    "e": ("eⱼ = xⱼ · vₐ", 6.4, 1.3),
    "alpha": ("α = softmax(e)", 8.4, 1.3),
    "c": ("cₜ = Σ αⱼ hⱼ", 10.5, 1.3, 2),
    "y": ("yₜ₋₁", 8.4, -1),
    "after": ("sₜ", 10.5, 0),
    "next": ("P(yₜ)", 12.1, 0),
}

# %%
arrows = [("before", "a", "query"), ("h", "a", "as keys"), ("a", "x"), ("x", "e"), ("e", "alpha"),
          ("alpha", "c"), ("h", "c", "as values"), ("c", "after"), ("y", "after"),
          ("before", "after", "the GRU's step"), ("after", "next"), ("c", "next"), ("y", "next")]
title = "RNNsearch: the old state is the query, and what it finds goes into the new state"
show(plotting.diagram(boxes, arrows, title=title), "06_architecture")

# %% [markdown]
# ## Forward
#
# Let us watch the five lines on *the white house*. Each annotation has three numbers: how much the
# word is a *thing*, a *quality*, or only *grammar*. The query has two: how much a thing is wanted,
# and how much a quality.

# %%
words = ["the", "white", "house"]
h = np.array([
    # thing  quality  grammar
    [0.0, 0.0, 1.0],    # the
    [0.2, 1.0, 0.0],    # white
    [1.0, 0.1, 0.0],    # house
])
W_a = np.array([[-1.0, -3.0], [-3.0, -1.0]])                # (Q, A)
U_a = np.array([[2.0, 0.0], [0.0, 2.0], [-1.0, -1.0]])      # (D, A)
v_a = np.array([2.0, 2.0])                                  # (A,)

# %% [markdown]
# The Spanish is *la casa blanca*. Before *casa* is written, a thing is wanted: q = (1, 0). The
# first hidden unit is for things, the second for qualities. All of W_a is negative, so the query
# pushes both units down: the first by 1, the second by 3. Only a word that fits can lift a unit
# above 0. Compute a_j for "house" by hand: q W_a is the first row of W_a, and h_j U_a is the first
# row of U_a plus a tenth of the second. Which unit is above 0?


# %%
def softmax(e):
    """Along the last axis; −∞ gets weight 0."""
    powers = np.exp(e - e.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def attend(q):
    """→ x (S, A), α (S,), c (D,), all printed."""
    a = q @ W_a + h @ U_a           # (S, A)
    x = np.tanh(a)                  # (S, A)
    e = x @ v_a                     # (S,)
    alpha = softmax(e)              # (S,)
    for j, word in enumerate(words):
        print(f"  {word:<6} a = {a[j]}  x = {x[j]}  e = {e[j]:.2f}  α = {alpha[j]:.2f}")
    return x, alpha, alpha @ h


# %%
q = np.array([1.0, 0.0])
x, alpha, c = attend(q)
print("  c =", c, " most of it from", words[alpha.argmax()])

# %% [markdown]
# Only at "house" is the first unit positive: a thing is wanted, and here is one. But "white" is
# just as clearly a quality, so why does it lose? Because the query has pushed the second unit far
# down, onto the flat part of the tanh, where the key can barely move it: x stays between −0.999 and
# −0.762. The first unit lies on the steep part, from −0.964 to 0.762, so there the key decides.
#
# Before *blanca* a quality is wanted: q = (0, 1). Only the query changes, and the two units swap
# their parts:

# %%
_, alpha_then, c_then = attend(np.array([0.0, 1.0]))
print("  c =", c_then, " most of it from", words[alpha_then.argmax()])

# %% [markdown]
# The decoder looked at *house* first, then at *white*: Spanish order from English words, and
# nothing was moved. Without the tanh, the query's push would be the same number for all words, and
# the softmax would not notice it (question 3).
#
# ## Backward
#
# We walk the five lines in reverse, and start with the **upstream gradient** dc = ∂L/∂c. In a model
# it comes from the decoder. Here we choose three numbers w and the loss L = w · c, so dc = w. After
# each line, central differences check the new gradient. To measure dα, `L(alpha=d)` adds a small
# array d to α itself, in the middle of the forward pass.

# %%
w = np.array([1.0, -2.0, 0.5])


def L(a=0, x=0, e=0, alpha=0):
    """w · c; each argument is added to the array of that name."""
    hidden = np.tanh(q @ W_a + h @ U_a + a) + x
    weights = softmax(hidden @ v_a + e) + alpha
    return w @ (weights @ h)


# %%
def check_gradient(name, ours, loss, array):
    """Compare our gradient with the central differences of loss() in array, and return these."""
    numeric = numeric_gradient(loss, array)
    assert np.allclose(ours, numeric, rtol=1e-7, atol=1e-9), name
    return numeric


def check_intermediate(name, ours):
    """The same for an intermediate result: change only this array."""
    by = np.zeros_like(ours)
    return check_gradient("d" + name, ours, partial(L, **{name: by}), by)


# %% [markdown]
# **c = Σ_j α_j h_j.** Each product has two factors, so there are two gradients:
#
#     dα_j = h_j · dc
#     dh_j = α_j dc               its first term; h_j was used in the score too

# %%
dc = w
dalpha = h @ dc                     # (S,)
dh_as_value = np.outer(alpha, dc)   # (S, D)
print("  dα", dalpha, "  as measured:", check_intermediate("alpha", dalpha))

# %% [markdown]
# **α = softmax(e).** Every score moves every weight, so the derivative is a matrix, the
# **Jacobian** J. Lesson 01 derived its elements with the quotient rule. ([j = k] is 1 for j = k,
# otherwise 0.)
#
#     ∂α_j/∂e_k = α_j ([j = k] − α_k)          J = diag(α) − α αᵀ
#     de_k = Σ_j dα_j ∂α_j/∂e_k = α_k (dα_k − Σ_j α_j dα_j)
#
# The last line needs no S × S matrix. Its sum Σ_j α_j dα_j is the average of dα, weighted by α. So
# an update lowers the scores with a dα_k *above the average*, and raises the others. Guess before
# you run the cell: what must Σ_k de_k be?

# %%
J = np.diag(alpha) - np.outer(alpha, alpha)
de = alpha * (dalpha - alpha @ dalpha)          # (S,)
print("  J =", J[0], J[1], J[2], sep="\n      ")
print(f"  dα J = {dalpha @ J}   Σ de = {abs(de.sum()):.3f}")
assert np.allclose(dalpha @ J, de)
print("  de", de, "  as measured:", check_intermediate("e", de))

# %% [markdown]
# The de_k add up to 0, as they must: adding the same number to all scores changes no weight.
#
# **e_j = x_j · v_a** and **x_j = tanh(a_j)**. The slope of the tanh is 1 − x². Every word used v_a,
# so dv_a is a sum over the words (∘ multiplies element by element):
#
#     dx_j = de_j v_a         dv_a = Σ_j de_j x_j         da_j = dx_j ∘ (1 − x_j²)

# %%
dx = np.outer(de, v_a)              # (S, A)
dv_a = de @ x                       # (A,)
da = dx * (1 - x**2)                # (S, A)
check_intermediate("x", dx)
check_gradient("dv_a", dv_a, L, v_a)
check_intermediate("a", da)
print("  dx, dv_a and da agree with the central differences")

# %% [markdown]
# **a_j = q W_a + h_j U_a.** The query, W_a and U_a were used S times, once with each word, so their
# gradients are sums over the words. And h_j gets its second term:
#
#     dq = (Σ_j da_j) W_aᵀ        dW_a = qᵀ (Σ_j da_j)        dU_a = Σ_j h_jᵀ da_j
#     dh_j = α_j dc + da_j U_aᵀ
#
# The two terms teach h_j two things: as a value *what to say*, and as a key *when to be found*.

# %%
total = da.sum(0)                   # (A,)
dq = total @ W_a.T                  # (Q,)
dW_a = np.outer(q, total)           # (Q, A)
dU_a = h.T @ da                     # (D, A)
dh = dh_as_value + da @ U_a.T       # (S, D)
check_gradient("dq", dq, L, q)
check_gradient("dW_a", dW_a, L, W_a)
check_gradient("dU_a", dU_a, L, U_a)
for j in range(3):
    check_gradient(f"dh_{j + 1}", dh[j], L, h[j])
print("  dq, dW_a, dU_a and dh agree as well: one target word is done")

# %% [markdown]
# ## Many words, many sentences
#
# A real batch has B sentences, and each of T target words has its own query. Sentences differ in
# length, so a mask (B, S) says which positions hold a word. The others get the score −∞, so their
# weight is exactly 0. The keys k_j = h_j U_a do not depend on the query, so they are computed once
# per sentence, and their gradients are summed over all target words. So every attention in this
# course has four methods:
#
#     read            once per sentence: the keys
#     step            once per target word: score, softmax, sum
#     step_backward   adds ∂L/∂h and ∂L/∂k of this target word to dmemory
#     read_backward   once per sentence: the summed gradient of the keys goes through U_a
#
# `read` returns a `memory` of values, keys and mask. Its gradient, `dmemory`, begins as zeros.
#
# > **Exercise.** Before you read on, write the backward pass of additive attention:
# > `numpy-attention exercise start additive`.


# %% tags=["plain"]
@dataclass(eq=False)
class PlainAttention(Module):
    """Queries (B, Q), values h (B, S, D), mask (B, S) → contexts (B, D), weights (B, S)."""

    W_a: Array  # (Q, A)
    U_a: Array  # (D, A)
    v_a: Array  # (A,)

    def read(self, values, mask):
        keys = values @ self.U_a                                            # (B, S, A)
        return Memory(values, keys, mask)

    def step(self, query, memory, t):       # t: the target position, which only lesson 07 needs
        x = np.tanh((query @ self.W_a)[:, None] + memory.keys)              # (B, S, A)
        e = np.where(memory.mask, x @ self.v_a, -np.inf)                    # (B, S)
        alpha = softmax(e)
        context = (alpha[:, :, None] * memory.values).sum(1)                # (B, D)
        return context, alpha, (memory, query, x, alpha)

    def step_backward(self, dcontext, dweights, cache, dmemory, grads):
        memory, query, x, alpha = cache
        # c = Σ α_j h_j
        dalpha = (memory.values * dcontext[:, None]).sum(2)                 # (B, S)
        dmemory.values += alpha[:, :, None] * dcontext[:, None]
        if dweights is not None:            # from a loss that also reads α, as the check does
            dalpha = dalpha + dweights
        # α = softmax(e)
        de = self.softmax_backward(dalpha, alpha)
        # e = x v_a, x = tanh(a)
        grads.v_a += np.tensordot(de, x, 2)
        da = de[:, :, None] * self.v_a * (1 - x**2)                         # (B, S, A)
        # a_j = q W_a + k_j
        dmemory.keys += da
        total = da.sum(1)
        grads.W_a += query.T @ total
        return total @ self.W_a.T                                           # dq (B, Q)

    def softmax_backward(self, dalpha, alpha):
        return alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))

    def read_backward(self, memory, dmemory, grads):
        # k_j = h_j U_a
        grads.U_a += np.tensordot(memory.values, dmemory.keys, ((0, 1), (0, 1)))
        return dmemory.values + dmemory.keys @ self.U_a.T                   # dh (B, S, D)


# %% [markdown]
# To check this class, we choose sizes that all differ, so that a wrong transpose is noticed, and
# one shorter sentence, which tests the mask. `protocol` runs T queries in turn. In the report,
# `input[0]` is the queries and `input[1]` the annotations.

# %%
rng = np.random.default_rng(0)
B = 2
S = 5
T = 7
Q = 3
D = 4
A = 6
mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool)
queries = rng.standard_normal((T, B, Q))
values = rng.standard_normal((B, S, D))
parameters = [rng.standard_normal(shape) for shape in ((Q, A), (D, A), (A,))]


# %%
def check(attention):
    """The report of a gradient check."""
    forward, backward = protocol(attention, mask)
    return gradcheck(attention, queries, values, rng=np.random.default_rng(1), forward=forward,
                     backward=backward)


plain = PlainAttention(*parameters)
print(check(plain))

# %% [markdown]
# ### What a bug looks like
#
# The usual mistake keeps only the first term of the Jacobian J = diag(α) − α αᵀ, so the average is
# not subtracted. All shapes are correct. Before you read the report: which gradients must be wrong?


# %%
class Forgetful(PlainAttention):
    def softmax_backward(self, dalpha, alpha):
        return alpha * dalpha


report = caught(check, Forgetful(*parameters))

# %% [markdown]
# All five are wrong, because each is computed from de. The report names the line and calls it "a
# part of the Jacobian": − α αᵀ is missing.
#
# ## Into the translator
#
# The whole translator is the paper's RNNsearch (`models/rnnsearch.py`). Its encoder provides the
# annotations h_j. Then, for each target word t, its decoder computes:
#
#     c_t  = attention(s_{t−1}; h)               this lesson
#     s_t  = GRU(y_{t−1}, c_t; s_{t−1})          lesson 04; c_t enters both gates and the candidate
#     P(y_t) = softmax(maxout(s_t, y_{t−1}, c_t) O)       lesson 05's readout; O: its last weights
#
# > **Exercise.** Write the last line, in which maxout keeps the larger number of each pair:
# > `numpy-attention exercise start deep-output`.
#
# What does the query know? Step t reads y_{t−1} and produces s_t, so the query s_{t−1} has read
# words only up to y_{t−2}. When attention looks for *blanca*, the query has not even read *casa*:
# that a quality is wanted now is only an expectation.
#
# > **If you know the paper:** ours has larger initial weights, r after the product and z on the old
# > state in the GRU (lesson 04), a readout from s_t instead of s_{t−1}, Adam and dropout.
#
# In the whole model, dq also flows back through all earlier steps of the decoder. Does every
# gradient agree with the library's?

# %%
losses = check_same_translator(PlainAttention, np.random.default_rng(2))
print(f"loss {losses[0]:.5f} with the library's attention, {losses[1]:.5f} with ours; "
      "all gradients equal")

# %% [markdown]
# ## Watch it learn
#
# Can attention learn where to look if no one shows it? We begin with a task whose alignment we
# know: read three to eight digits, and write them in reverse. A heatmap has a row for each digit
# written and a column for each digit read, so the correct weights run from top right to bottom
# left. `pair.sure` lists their cells as (j, t), digit read and digit written. Both sequences end
# with `</s>`, which S now includes. Where will the largest weights be before they are all correct?
#
# > **Exercise.** Write the measure of how often the largest weight is on the correct word:
# > `numpy-attention exercise start pointing`.

# %% tags=["training"]
DIGITS = dict(vocabulary_size=10, min_length=3, max_length=8)
pairs = load_parallel("reverse", "train", np.random.default_rng(3), 3_200, **DIGITS)
test = load_parallel("reverse", "test", np.random.default_rng(3), 200, **DIGITS)
longest = max(range(len(test)), key=lambda n: len(test[n].source))
seen = []


# %% tags=["training"]
def watch(translator, step):
    """Print where the largest weights are."""
    weights = translator.attend(test)
    cells = [(n, j, t) for n, pair in enumerate(test) for j, t in pair.sure]
    off = np.array([weights[n][t].argmax() - j for n, j, t in cells])
    seen.append((step, np.mean(off == 0), weights[longest]))
    print(f"  {step:4}  ", *(f"{np.mean(off == places):7.1%}" for places in (-1, 0, 1)), flush=True)


# %% tags=["training"]
print("        the largest weight is\n  step  1 left  correct  1 right")
reversing = trained_translator(pairs, "rnnsearch", {"embedding": 32, "hidden": 32}, epochs=8,
                               rate=8e-3, look=watch)

# %% tags=["training"]
shown = [row for row in seen if row[0] in (0, 50, 100, 150, 400)]
digits = [*test[longest].source, "</s>"]
reverse = [*test[longest].target, "</s>"]
figure, axes = plt.subplots(1, 5, figsize=(15, 3.9), layout="constrained")
for (step, points, weights), ax in zip(shown, axes):
    plotting.attention_heatmap(weights, source_tokens=digits, target_tokens=reverse,
                               gold=test[longest].sure, ax=ax, bar=False,
                               title=f"step {step}: {points:.1%}")
    ax.set_xlabel("digits read")
axes[0].set_ylabel("digits written")
figure.colorbar(axes[0].images[0], ax=axes, label="attention weight", shrink=0.8)
figure.suptitle("How many largest weights are on the correct digit (white frames)?\n")
show(figure, "06_reverse")

# %% [markdown]
# Nothing in the loss mentions the white frames, and yet, from step 300 on, every largest weight is
# on the correct digit. On the way, many are one digit too far to the right. A neighbour's
# annotation may know the digit too (question 6), but why the neighbour on the right, we do not
# know.
#
# ## Does it attend to the correct word?
#
# What about real sentences? The corpus `bible-en-es` pairs the King James Version with the Spanish
# Reina-Valera of 1909. Scholars have marked some words of both with the number of the Hebrew or
# Greek word behind them (Strong's numbers). Two words of a clause with the same number form a
# **gold link** (`pair.sure`). We take clauses of at most eight tokens, all of which occur at least
# 15 times. They have about one link each.

# %% tags=["training"]
train, held_out = bible_clauses()
links = [(n, j, t) for n, pair in enumerate(held_out) for j, t in pair.sure]
print(f"{len(train):,} clauses to train on, {len(held_out)} held out with {len(links)} gold links:")
for pair in [pair for pair in held_out if len(pair.sure) > 3][:2]:
    print(f"  {' '.join(pair.source)}  →  {' '.join(pair.target)}")
    print("     ", ", ".join(f"{pair.source[j]}–{pair.target[t]}" for j, t in sorted(pair.sure)))

# %% [markdown]
# Your model trains for four epochs. The *shipped model*, of the same size, was trained for forty,
# and its results are the same on every machine.

# %% tags=["training"]
yours = trained_translator(train, "rnnsearch", {"embedding": 48, "hidden": 64, "dropout": 0.1},
                           epochs=4, rate=8e-3)
shipped = shipped_translator("lesson-06")
pair = held_out[12]
print(f"  {' '.join(pair.source)}\n    reference: {' '.join(pair.target)}")
for name, translator in (("yours", yours), ("shipped", shipped)):
    found, = translator.translate([pair.source])
    print(f"    {name + ':':<10} {' '.join(found.target)}")

# %% [markdown]
# Now for your guess. The decoder is fed the words of the **reference translation** instead of its
# own (teacher forcing), so its weights have one row for each of these words. A link counts as
# correct if the largest weight in the row of its Spanish word is on its English word. *The
# diagonal* is the rule that points at the same relative position.
#
# With only 456 links, how far could chance move such a share? Draw as many clauses as there are,
# with replacement, and compute the share for their links. The standard deviation of 1,000 such
# shares estimates the **standard error** (a **bootstrap**). It is printed after ±.


# %% tags=["training"]
def correct(matrices, links=links):
    """For each link, whether the largest number of its row is on its source word."""
    return np.array([matrices[n][t, :-1].argmax() == j for n, j, t in links])   # without </s>


def correct_diagonal(pairs, links=links):
    """For each link, whether the diagonal points at its source word."""
    return np.array([diagonal_place(pairs[n], t) == j for n, j, t in links])


def standard_error(statistic, links=links, draws=1_000):
    """The bootstrap's spread of statistic(chosen), where chosen are indices into links."""
    rng = np.random.default_rng(8)
    clause = np.array([n for n, _, _ in links])
    links_of = [np.flatnonzero(clause == n) for n in np.unique(clause)]
    N = len(links_of)
    drawn = [statistic(np.concatenate([links_of[i] for i in rng.integers(N, size=N)]))
             for _ in range(draws)]
    return np.std(drawn, axis=0)


# %% tags=["training"]
def percent(values, links=links):
    """The mean of one number per link, and its standard error."""
    error = standard_error(lambda chosen: values[chosen].mean(), links)
    return f"{values.mean():6.1%} ± {100 * error:.1f}"


prior = shipped.attend(held_out)
ours = correct(prior)
diagonal = correct_diagonal(held_out)
print("share of gold links that are correct")
print("  the diagonal                     ", percent(diagonal))
print("  your model                       ", percent(correct(yours.attend(held_out))))
print("  the shipped model                ", percent(ours))
print("  the shipped model − the diagonal ", percent(ours - 1.0 * diagonal))

# %% [markdown]
# The shipped model finds about three links in five, only 7.2 ± 2.6 points more than a rule that
# knows no words. Ten times the training adds little, because your model does nearly as well after
# four epochs. (Other seeds find 53 to 59 in 100: answer 7.) Perhaps the model *cannot know*.
#
# When α_t is computed from the query s_{t−1}, the word y_t is *not yet chosen*. Take the clause
# *pilate therefore said unto him*. In Spanish it may begin with *entonces* ("therefore"), with
# *pilato*, or with *díjole* ("said to him"). The decoder can only bet.
#
# ## Is it because the word is a surprise?
#
# If that is the reason, α_t should be correct more often where the model expects the reference
# word. So we sort the links by P(y_t), the probability of the reference word, and cut them into
# four quarters, from surprising to expected.
#
# A test needs **controls**: methods that should fail it. Ours know nothing about the words. One
# points at a random position, the other along the diagonal. A control reads only the position j
# that it points at, so we sort its links by P(y_t | c_t = h_j), the probability of the word if h_j
# is all that the decoder sees. To compute it, `given_word` makes S copies of the decoder's state
# for each target word (`state.take`). Copy j has a mask that hides every position except j.


# %%
def given_word(translator, pair):
    """P(y_t | c_t = h_j) for each given word y_t of a pair, and for </s>: (T + 1, S)."""
    model = translator.model
    batch = translator.batches([pair]).batch([0])
    S = len(batch.source)
    state = model.start(batch.source, batch.source_mask)            # the memory and s_0
    rows = []
    for previous, word in zip(batch.target_in, batch.target_out):   # y_{t−1}, y_t
        copies = state.take(np.zeros(S, int))           # row 0, S times
        copies.memory.mask = np.eye(S, dtype=bool)      # copy j sees position j only
        log_p, _, _ = model.next(np.repeat(previous, S), copies)    # log P of every next word
        rows.append(np.exp(log_p[:, word[0]]))          # (S,)
        _, _, state = model.next(previous, state)       # α_t as usual → the next state
    return np.array(rows)


# %% [markdown]
# Guess: whose share of correct links will rise from the first quarter to the last?

# %% tags=["training"]
alone = [given_word(shipped, pair) for pair in held_out]
draw = np.random.default_rng(7)
P = []              # per link: P(y_t) for the model, at random, for the diagonal
random = []         # per link: is the random position correct?
mean = []           # per link: the mean of P(y_t | c_t = h_j) over all positions j
for n, j, t in links:
    log_p, ids = expects(shipped, held_out[n])
    likely = alone[n][t]
    drawn = draw.integers(len(likely))
    P.append([np.exp(log_p[t, ids[t]]), likely[drawn], likely[diagonal_place(held_out[n], t)]])
    random.append(drawn == j)
    mean.append(likely.mean())


# %% tags=["training"]
def quarters(order, values):
    """Sort values by order; → the mean of each quarter, in per cent."""
    parts = np.array_split(values[np.argsort(order, kind="stable")], 4)
    return np.array([100 * part.mean() for part in parts])


mean = np.array(mean)
ways = {"the model": ours, "at random": np.array(random), "the diagonal": diagonal}
print("share correct in each quarter, sorted by P(y_t), %")
for (way, is_correct), its_P in zip(ways.items(), np.transpose(P)):
    print(f"  {way:<13}", quarters(its_P, is_correct).round())

# %% [markdown]
# The model passes. But **the controls pass as well**, from 0 to 59 and from 8 to 99. How can a
# random position know what the model expects?
#
# It cannot. When a random position happens to be the linked one, that position makes the word
# likely, so the link is sorted into a late quarter. The model's own weights change P(y_t) in the
# same way. So the test sorts the links by the very result that it measures.
#
# A fair test sorts by a number that does not depend on α_t. We take the mean over all positions,
# Σ_j P(y_t | c_t = h_j) / S, so that each link is in the same quarter for all three ways. Late
# quarters may be easier for other reasons, so what counts is the model's lead over the diagonal.

# %% tags=["training"]
print("share correct in each quarter, sorted by the mean of P(y_t | c_t = h_j) over j, %")
for way, is_correct in ways.items():
    print(f"  {way:<13}", quarters(mean, is_correct).round())
lead = ours - 1.0 * diagonal
error = standard_error(lambda chosen: quarters(mean[chosen], lead[chosen]))
print("the model − the diagonal:  ",
      ", ".join(f"{x:.0f} ± {e:.0f}" for x, e in zip(quarters(mean, lead), error)))

# %% [markdown]
# The lead grows from 3 to 15 points and then falls back to 0, so our explanation stays plausible
# but unproven. Without its controls, the first test would have "proved" it.
#
# ## Once the word is known
#
# What we computed for the controls turns out to be useful. P(y_t | c_t = h_j) says how well
# position j explains the word, and unlike α_t it depends on the word. Does it find the links?
#
# Bayes' rule combines the two (Shankar & Sarawagi 2019). The **prior**, our belief before y_t is
# known, is α_tj. The **likelihood** is P(y_t | c_t = h_j). Their product, divided by its sum over
# j, is the **posterior**:
#
#     p(j | y_t)  ∝  α_tj · P(y_t | c_t = h_j)
#
# (RNNsearch reads an average, not one position, so this is an approximation.) With two positions:


# %%
def posterior(prior, likelihood):
    """p(j | y_t), along the last axis."""
    joint = prior * likelihood
    return joint / joint.sum(-1, keepdims=True)


# only the second position makes y_t likely
print("posterior:", posterior(np.array([0.9, 0.1]), np.array([0.01, 0.8])))

# %% [markdown]
# The prior finds 62 links in 100. How many will the likelihood find alone, and how many with it?

# %% tags=["training"]
both = [posterior(weights, likely) for weights, likely in zip(prior, alone)]
print("share of gold links that are correct")
for way, matrices in (("prior (α)", prior), ("likelihood", alone), ("posterior", both)):
    print(f"  {way:<10} {percent(correct(matrices))}")

# %% [markdown]
# **The likelihood alone finds more than four links in five, and α does not improve it.** So the
# model does know which words belong together. The S copies differ only in the context h_j, so this
# knowledge reaches the decoder through the *values*.
#
# It is easy to choose heatmaps that please, so here is the clause that is *worst* for the
# posterior, of those with at least four links. (Each row of likelihoods is divided by its sum.)


# %% tags=["training"]
def hits(matrix, pair):
    """The number of gold cells that are largest in their row."""
    return sum(matrix[t].argmax() == j for j, t in pair.sure)


many = [n for n, pair in enumerate(held_out) if len(pair.sure) >= 4]
shown = min(many, key=lambda n: hits(both[n], held_out[n]) / len(held_out[n].sure))
pair = held_out[shown]
matrices = {"prior (α)": prior[shown], "likelihood": posterior(1, alone[shown]),
            "posterior": both[shown]}
print(f"clause {shown}: {' '.join(pair.source)} → {' '.join(pair.target)}")

# %% tags=["training"]
figure, axes = plt.subplots(1, 3, figsize=(15, 5), layout="constrained")
for (way, matrix), ax in zip(matrices.items(), axes):
    plotting.attention_heatmap(
        matrix[:-1], source_tokens=[*pair.source, "</s>"], target_tokens=pair.target,
        gold=pair.sure, ax=ax, bar=False,
        title=f"{way}: {hits(matrix, pair)} of {len(pair.sure)} gold cells")
    ax.set_xlabel("English, read")
axes[0].set_ylabel("Spanish, written")
figure.colorbar(axes[0].images[0], ax=axes, label="share of the row", shrink=0.7)
figure.suptitle("Which gold cells (white frames) have the largest number in their row?\n")
show(figure, "06_attention")

# %% [markdown]
# It is Pilate's clause, whose reference begins with *díjole*. The prior bets on *pilate* twice,
# then on *therefore*, and misses in every row. The posterior at least finds *entonces*. At *pilato*
# it points at the next word, *therefore*, whose annotation knows the name nearly as well.
#
# ## What about the model's own translation?
#
# So far the decoder was fed somebody else's words. The paper's heatmaps show words that the model
# chose *itself*, with the help of α_t. Is α_t a better guide to those?
#
# The shipped model translates each clause, always with its most probable next word. We keep the
# links whose Spanish word occurs once in the reference and once in the translation. Like the first
# test, this selects on the result, because a correct α_t helps the model to choose that word. So we
# also look at the same links with the reference fed.

# %% tags=["training"]
greedy = shipped.translate([pair.source for pair in held_out], beam=1)
written = [(found.source, found.target) for found in greedy]
kept = []
moved = []          # the same links in the model's own translation
for n, j, t in links:
    word = held_out[n].target[t]
    if held_out[n].target.count(word) == greedy[n].target.count(word) == 1:
        kept.append((n, j, t))
        moved.append((n, j, greedy[n].target.index(word)))
print(f"share correct of {len(kept)} gold links")

# %% tags=["training"]
print("                        reference    own translation")
its_alone = [given_word(shipped, pair) for pair in written]
columns = [(held_out, prior, alone, kept), (greedy, shipped.attend(written), its_alone, moved)]
table = []
for pairs, weights, likely, some in columns:
    on_diagonal = correct_diagonal(pairs, some)
    by_weight = correct(weights, some)
    rows = (on_diagonal, by_weight, by_weight - 1.0 * on_diagonal, correct(likely, some))
    table.append([percent(row, some) for row in rows])
for way, *shares in zip(("the diagonal", "α", "α − the diagonal", "likelihood"), *table):
    print(f"  {way:<17}", *shares, sep="   ")

# %% [markdown]
# A little better. In the model's own translation, the largest α is on the linked word for 77.3 % of
# these links instead of 69.3 %. But the diagonal gains nearly as much, because the model's own word
# order is closer to the English one. And selection alone, with the reference still fed, had already
# raised α's lead from 7.2 to 11.7 points.
#
# So a heatmap like the paper's is a fair guide to where a word came from, but only fair. In these
# short clauses, on words that the model got as in the reference, it finds about three links in
# four, a ruler almost two in three, and P(y_t | c_t = h_j), which depends on the word, more than
# nine in ten.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | attention weights α | soft alignment, alignment probabilities |
# | annotation h_j | encoder hidden state, memory; h̄_s in Luong et al. |
# | t, the target position; s_{t−1} | i and s_{i−1} in Bahdanau et al. |
# | additive attention | MLP attention; concat in Luong et al. |
# | gold links | the sure links of a word alignment (Och & Ney) |
# | scores | attention logits, energies |
#
# Most terms are in the [glossary](../docs/site/glossary.md).
#
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `plotting` | diagrams and heatmaps |
# | `Memory` | values, keys and a mask, in one place |
# | `load_parallel` | draws sentence pairs of a corpus |
# | `gradcheck` | compares a backward pass with central differences |
# | `numeric_gradient` | the central differences of one array |
# | `protocol` | drives an attention through many queries, for a check |
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |

# %% [markdown]
# ## Questions
#
# 1. Show from de = α ∘ (dα − Σ α dα) that scores hardly learn when the softmax is almost one-hot
#    (one weight near 1). How can attention get stuck?
# 2. In the paper v_a = 0 at the start. Which of dW_a, dU_a, dv_a and dq are zero in the first step?
# 3. Leave out the tanh. Show that the query then no longer changes where the model attends.
# 4. Find the mistake: a `read_backward` returns only `dmemory.values`. Which gradients does the
#    check call wrong? What will h_j never learn? (Try it in the exercise `additive`.)
# 5. A position has α = 0.001, but the posterior puts half of the weight there. How many times as
#    large must P(y_t | c_t = h_j) be here as elsewhere? Which links can Bayes' rule not correct?
# 6. Train on `reverse` with an encoder that reads from left to right only, `bidirectional=False`.
#    The largest weight may now be next to the correct digit. On which side of it?
# 7. Train for four epochs with seeds 0 to 4. By how many points does the posterior beat α? How
#    large is the lead of α over the diagonal, and how large if a neighbour of the linked word
#    counts as well? Does the lead rise from quarter to quarter of the fair test?
