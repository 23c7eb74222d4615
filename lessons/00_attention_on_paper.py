# %% [markdown]
# # Lesson 00: attention on paper
#
# **You will be able to** compute attention with a pencil (the scores, weights and context of one
# query over six words), and say what happens to the weights when the query or its length changes.
#
# **Needs:** nothing but multiplication and exp. **Time:** 25 minutes to read, about a minute to
# run.
#
# A reader who wants to know *where* the cat sat does not read all six words of "the cat sat on the
# mat" with the same care. Attention does the same in arithmetic: it takes a question, gives each
# word a score, and averages the words so that those with high scores count most.
#
# You will do it once with a pencil, in ten minutes, on six words of three numbers each. Nothing is
# learnt or derived here, but the rest of this course, up to the Transformer, is the same
# calculation with larger vectors and learnt numbers. Bahdanau, Cho & Bengio (2015) first used the
# idea for translation (lesson 06).

# %%
print("Lesson 00: attention on paper", flush=True)

import numpy as np
from course import show
from matplotlib import pyplot as plt

from numpy_attention import plotting

# %% [markdown]
# (`show`, from `course.py` in the same folder, saves a figure in `lessons/outputs`.)
#
# ## Six words
#
# Since a computer has no words, only numbers, we give each word three of them, and choose what they
# mean: how much the word says about **who**, about what is **done**, and about **where**. A real
# model learns hundreds of numbers for each word, and nobody knows what each of them means, but with
# three that we chose ourselves, we can follow every step.

# %%
words = ["the", "cat", "sat", "on", "the", "mat"]
X = np.array([
    # who  done  where
    [0.0, 0.0, 0.0],        # the: nothing about any of the three
    [2.0, 0.0, 0.0],        # cat: much about who
    [0.0, 2.0, 0.0],        # sat: much about what is done
    [0.0, 0.0, 1.0],        # on: a little about where
    [0.0, 0.0, 0.0],        # the: the same word, the same numbers
    [1.0, 0.0, 2.0],        # mat: much about where, and a thing, so a little about who
])
for word, x in zip(words, X):
    print(f"{word:>5}  {x}")

# %% [markdown]
# ## Forward: one question, three steps
#
# A question is also a vector of three numbers, called the **query**. Ours is "where?", and does not
# ask who or what:

# %%
q = np.array([0.0, 0.0, 1.0])

# %% [markdown]
# **Step 1: scores.** How well does a word answer the question? Multiply the two vectors number by
# number, and add up the products, which gives their dot product. The papers write e_j for the score
# of word j. Before you look, compute the score of "mat" with your pencil: 0·1 + 0·0 + 1·2.

# %%
scores = np.array([x @ q for x in X])
for j, (word, score) in enumerate(zip(words, scores), 1):
    print(f"{word:>5}  e_{j} = {score:g}")

# %% [markdown]
# "mat" has the highest score, and "on" is next. Because "cat" and "sat" answer other questions,
# they get 0, as does each "the", which answers none at all.
#
# **Step 2: weights.** Scores can be any numbers, even negative ones, whereas weights must be
# positive and add up to 1. So for each score we take exp(e_j), a power of Euler's number, which is
# always positive and grows with the score. Then we divide each power by the sum of all six, which
# completes the *softmax*.
#
#     α_j = exp(e_j) / Σ_k exp(e_k)
#
# All your pencil needs is exp(0) = 1, exp(1) = 2.72 and exp(2) = 7.39. Four words have the power 1,
# "on" has 2.72, and "mat" has 7.39, so the sum is 4 + 2.72 + 7.39 = 14.11. What weight does "mat"
# get?

# %%
powers = np.exp(scores)
weights = powers / powers.sum()
print(f"sum of the powers: {powers.sum():.2f}")
for word, power, weight in zip(words, powers, weights):
    print(f"{word:>5}  exp(e_j) = {power:.2f}   α_j = {weight:.2f}")
assert np.isclose(weights.sum(), 1)

# %% [markdown]
# A little more than half of the attention is on "mat", but no word gets exactly nothing, because
# exp of any number is more than 0. Each "the" gets as much as "cat". Softmax prefers; it does not
# choose.
#
# **Step 3: the context.** The result, called the **context**, is the weighted average of the six
# vectors:
#
#     c = Σ_j α_j x_j
#
# Only "cat" and "mat" contribute to the first number of c, because every other word has 0 there.
# With the rounded weights it is 0.07 · 2 + 0.52 · 1. Compute it, and then the other two numbers.
# (Rounding may make yours differ by one hundredth from those below.)

# %%
context = np.zeros(3)
for word, weight, x in zip(words, weights, X):
    context = context + weight * x
    print(f"{word:>5}  + {weight:.2f} · {x}   so far {context.round(2)}")
print(f"the context: who {context[0]:.2f}, done {context[1]:.2f}, where {context[2]:.2f}")

# %% [markdown]
# The context is mostly about "where". It has about half as much of "who", because a mat is a thing
# and a little of the cat came with it, and hardly any of what is done.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
places = np.arange(6)
left.bar(places, weights, color=plotting.COLOURS[0])
left.set_xticks(places, words)
left.set_ylabel("weight α")
left.set_title(f"mat has {weights[5]:.2f} of the weight")
right.bar(["who", "done", "where"], context, color=plotting.COLOURS[2])
right.set_ylabel("the context c")
right.set_title(f"so c is mostly \"where\", {context[2]:.2f}")
show(figure, "00_one_query")

# %% [markdown]
# ## The same in three lines
#
# The loops above are matrix products: each row of X is a word, so X q is all six scores at once,
# and α X is the weighted sum. With S words of D numbers each, X has the shape (S, D), and from now
# on every array comes with its shape in brackets. Here is all of attention:


# %%
def attend(q, X):
    """One query (D,) and words (S, D) → the context (D,) and the weights (S,)."""
    powers = np.exp(X @ q)
    weights = powers / powers.sum()
    return weights @ X, weights


c, alpha = attend(q, X)
assert np.allclose(c, context)
assert np.allclose(alpha, weights)
print("in three lines, the same context:", c.round(2))

# %%
boxes = {
    "q": ("q, the query\nwhere?", 0, 2, 1),
    "e": ("eⱼ = q · xⱼ", 2.6, 2),
    "alpha": ("α = softmax(e)", 5.2, 2, 4),
    "c": ("c = Σⱼ αⱼ xⱼ", 7.8, 2, 2),
    "x": ("x₁ … x₆\nthe cat sat on the mat", 5.2, 0.4, 0),
}
arrows = [("q", "e"), ("e", "alpha"), ("alpha", "c"), ("x", "e", "compared with q"),
          ("x", "c", "averaged")]
show(plotting.diagram(boxes, arrows, title="each word is used twice: to be found, and to be read"),
     "00_diagram")

# %% [markdown]
# Look at the arrows of the diagram: each word is used *twice*, once to be compared with the query
# and once to be averaged. The vector that is compared is called the **key**, and the vector that is
# averaged the **value**. Nothing says that the same numbers must serve for both, and later they
# will not.
#
# ## Move the question
#
# Now ask something else. The mixtures (1 − t, 0, t) lead from "who?", (1, 0, 0), to "where?", (0,
# 0, 1). We multiply them by 3 to see the differences better. Guess first: which word has the
# largest weight in the middle, at t = 1/2?

# %%
steps = np.linspace(0, 1, 101)
moved = np.zeros((101, 6))
for place, t in enumerate(steps):
    _, moved[place] = attend(3 * np.array([1 - t, 0, t]), X)

# %%
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for place, label in ((1, "cat"), (5, "mat"), (3, "on"), (0, "the, sat")):
    style = plotting.base.curve_style(place)
    ax.plot(steps, moved[:, place], label=label, markevery=20, **style)
ax.set_xlabel("t: from who? (0) to where? (1)")
ax.set_ylabel("weight")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
ax.set_title(f"halfway, {words[moved[50].argmax()]} has the largest weight, {moved[50].max():.2f}")
show(ax, "00_moving_query")

# %%
crossing = steps[np.argmax(moved[:, 5] > moved[:, 1])]
print(f"mat overtakes cat at t = {crossing:.2f}; at t = 1/2 mat has {moved[50, 5]:.2f}, "
      f"cat {moved[50, 1]:.2f}")
assert 0 < crossing < 1

# %% [markdown]
# A pencil finds the crossing exactly: the score of "cat", 3 · 2 (1 − t), and that of "mat",
# 3 · ((1 − t) + 2 t), are equal if 2 − 2 t = 1 + t, so t = 1/3. (The run steps by hundredths.) In
# the middle "mat" leads, because it answers both questions.
#
# Nothing jumps. A small change of the question makes a small change in every weight, and so in the
# context. That is the whole reason for the softmax: what changes smoothly has a derivative, and
# what has a derivative can be learnt. The rule "take the best word" jumps, so its derivative is 0
# between jumps, and does not exist at a jump.
#
# And why the factor of 3? A longer query asks *louder*: its length decides how sharp the weights
# are.

# %%
loudness = np.linspace(0, 6, 61)
louder = np.zeros((61, 6))
for place, s in enumerate(loudness):
    _, louder[place] = attend(s * q, X)

# %%
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for place, label in ((5, "mat"), (3, "on"), (0, "the, cat, sat")):
    style = plotting.base.curve_style(place)
    ax.plot(loudness, louder[:, place], label=label, markevery=10, **style)
ax.set_xlabel("s, the loudness: the query is s q")
ax.set_ylabel("weight")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
ax.set_title(f"s = 0: every word has 1/6; s = 6: mat has {louder[-1, 5]:.3f}")
show(ax, "00_louder")
print(f"s = 0: every word {louder[0, 0]:.3f};  s = 6: mat {louder[-1, 5]:.3f}")

# %% [markdown]
# ## Two of a kind, and no order
#
# "the" occurs twice with the same numbers, so both have the same weight, whatever the question is.
# Attention alone cannot tell them apart, nor can it tell "the cat sat on the mat" from "the mat sat
# on the cat". If you shuffle the words, each word keeps its weight, and the context does not
# change.

# %%
order = np.random.default_rng(0).permutation(6)
shuffled, weights_shuffled = attend(q, X[order])
print("shuffled:", " ".join(words[place] for place in order))
assert np.allclose(weights_shuffled, weights[order])
assert np.allclose(shuffled, context)
print("the context is the same:", shuffled.round(2))

# %% [markdown]
# A model that needs the order must put it into the vectors. A recurrent network (lesson 02) does
# that by reading one word after another, whereas a Transformer (lesson 09) adds numbers for the
# position.
#
# ## A word that must not be seen
#
# Sometimes a word must not be read, because it is only padding, or because it comes later and the
# model has to guess it. So we set its *score* to −∞, and since exp(−∞) is 0, the other words share
# its weight. It would be wrong to set its *weight* to 0 after the softmax, because the other
# weights would then add up to less than 1.
#
# > **Exercise.** Write it yourself before you read on: `numpy-attention exercise start attend`.


# %%
def attend_masked(q, X, mask):
    """The same, but words where the mask (S,) is False are not read."""
    scores = np.where(mask, X @ q, -np.inf)
    powers = np.exp(scores)
    weights = powers / powers.sum()
    return weights @ X, weights


without_mat = np.array([True, True, True, True, True, False])
c_hidden, alpha_hidden = attend_masked(q, X, without_mat)
for word, before, after in zip(words, weights, alpha_hidden):
    print(f"{word:>5}  {before:.2f} → {after:.2f}")
assert alpha_hidden[5] == 0
assert np.isclose(alpha_hidden.sum(), 1)

# %% [markdown]
# ## Every word asks
#
# One question gives one context, so six questions give six, and we can ask them all at once: each
# word asks with its own vector as the query. Then X Xᵀ holds all scores, with one row for each word
# that asks, and the softmax is taken along each row. (`axis=1` adds up along a row, and `keepdims`
# leaves the sums as a column (6, 1), so that each row is divided by its own sum.)
#
# In the picture each row is a word that asks, and each column a word that is read. Guess the row of
# "on", which asks a quiet "where?", before you look.

# %%
all_powers = np.exp(X @ X.T)                                                    # (6, 6)
A = all_powers / all_powers.sum(axis=1, keepdims=True)
contexts = A @ X
assert np.allclose(contexts[3], attend(X[3], X)[0])
print("each row adds up to 1:", A.sum(axis=1))
title = f"cat reads itself, {A[1, 1]:.2f}; \"the\" asks nothing and reads all alike"
ax = plotting.attention_heatmap(A, words, words, title=title)
for (i, j), weight in np.ndenumerate(A):
    ax.text(j, i, f"{weight:.2f}", ha="center", va="center", color="k" if weight > 0.5 else "w")
ax.set_xlabel("word that is read")
ax.set_ylabel("word that asks")
show(ax, "00_every_word")

# %% [markdown]
# This is **self-attention**. A Transformer also learns what each word should ask (its query), how
# it is found (its key), and what it says (its value).
#
# ## A dictionary that never raises a KeyError
#
# There is another way to see all this. A Python dictionary returns the value of a key that it
# contains, and raises an error for any other, whereas attention answers every question, because it
# returns an average of all values, weighted by how near their keys are to the query. Here the keys
# are eight hours of a day, and the values are the temperatures written down at these hours. A key's
# score falls with the square of its distance from the query, and the width h decides what counts as
# near.


# %%
def look_up(hour, hours, values, h):
    """The average of the values, weighted by how near their hours are to the one asked for."""
    scores = -((hour - hours) / h) ** 2 / 2
    powers = np.exp(scores - scores.max())      # the softmax is the same, and nothing overflows
    weights = powers / powers.sum()
    return weights @ values


hours = np.array([2.0, 5.0, 8.0, 10.0, 13.0, 16.0, 19.0, 22.0])
temperatures = np.array([9.0, 7.0, 11.0, 15.0, 20.0, 21.0, 16.0, 12.0])
asked = np.linspace(0, 24, 1441)                # every minute
figure, ax = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
for h, line, colour in ((0.3, "-", 0), (1.5, "--", 1), (24.0, "-.", 2)):
    found = np.array([look_up(hour, hours, temperatures, h) for hour in asked])
    ax.plot(asked, found, line, color=plotting.COLOURS[colour], label=f"h = {h:g} hours")
    print(f"h = {h:g} hours: answers from {found.min():.1f} to {found.max():.1f} °C")
ax.plot(hours, temperatures, "ko", label="written down")
print(f"the mean of what is written down: {temperatures.mean():.1f} °C")

# %%
ax.set_xticks(range(0, 25, 3))
ax.set_xlabel("hour asked for")
ax.set_ylabel("temperature, °C")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
ax.set_title("a small h gives steps, a large h nearly the mean")
show(ax, "00_dictionary")
noon = look_up(12.0, hours, temperatures, 1.5)
print(f"at 12 o'clock, which nobody wrote down: {noon:.1f} °C")

# %% [markdown]
# Statisticians know this as kernel regression (Nadaraya 1964, Watson 1964). Since 1 / h² multiplies
# every score, as s did above, a small h asks loudly (the answer steps from one value to the next),
# whereas a large h whispers (the answer is nearly the mean, whatever the hour). A translator does
# the same with learnt keys and queries, so that *near* comes to mean "helps with the next word".
#
# ## One nudge
#
# How can any of this be learnt? By asking how the context would change if a score were a bit
# higher. To answer we need no calculus, only two more runs: one with the score of "mat" a little
# higher, and one with it a little lower. The difference of the two contexts, divided by the
# difference of the two scores, is the slope. (This is a *central difference*, and the whole course
# leans on it.)


# %%
def context_of(scores):
    """Steps 2 and 3, from the scores (S,)."""
    powers = np.exp(scores)
    weights = powers / powers.sum()
    return weights @ X


epsilon = 1e-4
nudge = np.zeros(6)
nudge[5] = epsilon
slope = (context_of(scores + nudge) - context_of(scores - nudge)) / (2 * epsilon)
print("slope of the context in the score of mat:", slope.round(3))
print("mat − context:                           ", (X[5] - context).round(3))
print("weight of mat · (mat − context):         ", (weights[5] * (X[5] - context)).round(3))
assert np.allclose(slope, weights[5] * (X[5] - context), atol=1e-6)

# %% [markdown]
# A higher score pulls the context towards its word: the slope is the word minus the context, times
# the weight that the word already has. Why is that so? And how does a loss at the far end of a
# model tell every score whether to go up or down? Beginning with lesson 01, the course derives
# both, line by line.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | question, query | query |
# | word vectors x_j | keys and values, here the same |
# | context | context vector, attention output |
# | weight | attention weight |
# | how loud the question is | (inverse) temperature, scale of the scores |
#
# All terms are in the [glossary](../docs/site/glossary.md).
#
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `plotting` | diagrams of boxes and arrows, heatmaps, pictures as files |

# %% [markdown]
# ## Questions
#
# 1. Ask "who?", q = (1, 0, 0), with a pencil. Which word gets the largest weight, and how large is
#    it?
# 2. Add 5 to every score. What happens to the weights? So what can scores tell us, or not tell?
# 3. Which query gives all six words the same weight? Is there only one?
# 4. Ask "where?" of "the cat sat on the mat mat". What weight does each "mat" get?
# 5. Is there a query for which the context is exactly the vector of "mat"?
# 6. Replace the vector of "the" by (1, 1, 1). Does "where?" still find "mat"? With (3, 3, 3)? What
#    does that tell you about long vectors?
# 7. Multiply q by 800, and look at the weights. Which line of `look_up` prevents that?
