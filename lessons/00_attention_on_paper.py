# %% [markdown]
# # Lesson 00: attention on paper
#
# **You will be able to** attend with a pencil: scores, weights and context of one query over six
# words, and say what happens to the weights when the query or its length changes.
#
# **Needs:** nothing but multiplication and exp. **Time:** 25 minutes to read, about a minute to
# run.
#
# A reader who wants to know *where* the cat sat does not read all six words of "the cat sat on the
# mat" with the same care. Attention is that, in arithmetic: a question, a score for each word, and
# an average of the words in which those with high scores count most.
#
# In ten minutes you will do it once with a pencil, on six words of three numbers. Nothing is learnt
# here and nothing is derived. All that follows in this course, up to the Transformer, is this
# calculation with larger vectors, and with numbers that are learnt in place of ours. The idea was
# first used for translation by Bahdanau, Cho & Bengio (2015), whom lesson 06 covers.

# %%
print("Lesson 00: attention on paper", flush=True)

import numpy as np
from course import show
from matplotlib import pyplot as plt

from numpy_attention import plotting

# %% [markdown]
# (`show`, from the file `course.py` beside the lessons, saves a figure in `lessons/outputs`.)
#
# ## Six words
#
# A computer has no words, it has numbers. We give each word three of them, and choose what they
# mean: how much the word says about **who**, about what is **done**, about **where**. A real model
# has hundreds, learns them, and does not tell us what they mean; three that we chose can be
# followed.

# %%
words = ["the", "cat", "sat", "on", "the", "mat"]
X = np.array([
    # who  done  where
    [0.0, 0.0, 0.0],        # the: says nothing of the three
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
# A question is a vector of the same kind, called the **query**. Ours is "where?", with nothing
# about who or what:

# %%
q = np.array([0.0, 0.0, 1.0])

# %% [markdown]
# **Step 1: scores.** How well does a word answer the question? Multiply number by number, and add
# up: the dot product. The score of word j is called e_j, as in the papers. Take your pencil and do
# "mat" before you look: 0·1 + 0·0 + 1·2.

# %%
scores = np.array([x @ q for x in X])
for j, (word, score) in enumerate(zip(words, scores), 1):
    print(f"{word:>5}  e_{j} = {score:g}")

# %% [markdown]
# "mat" has the highest score, then "on". "cat" and "sat" answer other questions: they get 0, as
# the two "the" do, which answer none.
#
# **Step 2: weights.** Scores may be any numbers, negative too. We want shares: positive, adding up
# to 1. So we raise Euler's number to each score; it is also called e, but without an index, and to
# keep the two apart we write exp. Such a power is always positive, and grows with the score.
# Divided by the sum of all powers, it is a share. That is the *softmax*.
#
#     α_j = exp(e_j) / Σ_k exp(e_k)
#
# With a pencil all you need is exp(0) = 1, exp(1) = 2.72 and exp(2) = 7.39. Four words have 1, "on"
# has 2.72, "mat" has 7.39. Their sum is 4 + 2.72 + 7.39 = 14.11. What share does "mat" get?

# %%
powers = np.exp(scores)
weights = powers / powers.sum()
print(f"sum of the powers: {powers.sum():.2f}")
for word, power, weight in zip(words, powers, weights):
    print(f"{word:>5}  exp(e_j) = {power:.2f}   α_j = {weight:.2f}")
assert np.isclose(weights.sum(), 1)

# %% [markdown]
# A little more than half of the attention is on "mat", and no word got exactly nothing: exp of any
# number is more than 0. Each "the" keeps as much as "cat". Softmax prefers, it does not choose.
#
# **Step 3: the context.** What did we read? The average of the six vectors, each with its weight:
#
#     c = Σ_j α_j x_j
#
# The first number of c is made of "cat" and "mat" alone, the only words with something there. With
# the rounded weights: 0.07 · 2 + 0.52 · 1. Do it, and then the other two. Rounding may leave you
# one hundredth away from what follows.

# %%
context = np.zeros(3)
for word, weight, x in zip(words, weights, X):
    context = context + weight * x
    print(f"{word:>5}  + {weight:.2f} · {x}   so far {context.round(2)}")
print(f"the context: who {context[0]:.2f}, done {context[1]:.2f}, where {context[2]:.2f}")

# %% [markdown]
# The context says mostly "where", a bit of "who" (for the mat is a thing, and a little of the cat
# came with it), hardly anything of what is done. It answers the question, by an average.

# %%
figure, (left, right) = plt.subplots(1, 2, figsize=(8, 3), layout="constrained")
places = np.arange(6)
left.bar(places, weights, color=plotting.COLOURS[0])
left.set_xticks(places, words)
left.set_ylabel("weight α")
left.set_title(f"\"where?\": {weights[5]:.2f} of the weight is on mat")
right.bar(["who", "done", "where"], context, color=plotting.COLOURS[2])
right.set_ylabel("the context c")
right.set_title(f"so the context says where, {context[2]:.2f}")
show(figure, "00_one_query")

# %% [markdown]
# ## The same in three lines
#
# The loops above are products of matrices. X holds a word in each row, so X q are the six scores
# at once, and α X is the weighted sum. With S words of D numbers each, X has the shape (S, D): such
# letters in brackets stand beside the arrays from now on. Here is all of attention:


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
    "e": ("eⱼ = q · xⱼ", 2.4, 2),
    "alpha": ("α = softmax(e)", 4.6, 2, 4),
    "c": ("c = Σⱼ αⱼ xⱼ", 7, 2, 2),
}
for place, word in enumerate(words):
    boxes[f"x{place}"] = (word, 1.1 + place, 0.4, 0)
arrows = [("q", "e"), ("e", "alpha"), ("alpha", "c"), ("x5", "c", "each is summed, too", -0.2)]
arrows += [(f"x{place}", "e") for place in range(6)]
show(plotting.diagram(boxes, arrows, title="each word is used twice: to be found, and to be read"),
     "00_diagram")

# %% [markdown]
# Look at the arrows of the diagram: each word is used *twice*. Once it is compared with the query,
# and once it goes into the sum (of those six arrows one is drawn). Nothing says that the same
# numbers must serve for both, and later they will not: what is compared is called the *key*, what
# is summed up the *value*.
#
# ## Move the question
#
# Now ask something else. Between "who?" = (1, 0, 0) and "where?" = (0, 0, 1) lie all mixtures of
# the two, (1 − t, 0, t). We ask them three times as loud as before, 3 q, to see better. Guess
# first: which word has the most weight in the middle, at t = 1/2?

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
ax.set_title(f"half way, mat has {moved[50, 5]:.2f}: it answers both questions")
show(ax, "00_moving_query")

# %%
crossing = steps[np.argmax(moved[:, 5] > moved[:, 1])]
print(f"mat overtakes cat at t = {crossing:.2f}; at t = 1/2 mat has {moved[50, 5]:.2f}, "
      f"cat {moved[50, 1]:.2f}")
assert 0 < crossing < 0.5

# %% [markdown]
# With a pencil it is t = 1/3, and the run steps by hundredths: "cat" has the score 3 · 2 (1 − t),
# "mat" has 3 · ((1 − t) + 2 t), and 2 − 2 t = 1 + t there.
#
# Nothing jumps. A small change of the question is a small change of all weights, and so of the
# context. That is the whole reason for the softmax: something that moves smoothly has a derivative,
# and what has a derivative can be learnt. "Take the best word" stands still and then jumps: its
# derivative is 0, or there is none.
#
# And "three times as loud"? The length of the query decides how sharp the weights are.

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
ax.set_xlabel("s: the question is s · where?")
ax.set_ylabel("weight")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
ax.set_title(f"silent: 1/6 for each; s = 6: mat {louder[-1, 5]:.3f}")
show(ax, "00_louder")
print(f"s = 0: every word {louder[0, 0]:.3f};  s = 6: mat {louder[-1, 5]:.3f}")

# %% [markdown]
# ## Two of a kind, and no order
#
# "the" stands in the sentence twice, with the same numbers, so both have the same score and the
# same weight, whatever is asked. Attention as it stands cannot tell them apart. More than that: it
# cannot tell "the cat sat on the mat" from "the mat sat on the cat". Shuffle the words, and each
# takes its weight along; the context stays what it was.

# %%
order = np.random.default_rng(0).permutation(6)
shuffled, weights_shuffled = attend(q, X[order])
print("shuffled:", " ".join(words[place] for place in order))
assert np.allclose(weights_shuffled, weights[order])
assert np.allclose(shuffled, context)
print("the context is the same:", shuffled.round(2))

# %% [markdown]
# A model that is to know the order must put it into the vectors. A recurrent network (lesson 02)
# does, since it reads a word after the others; a Transformer (lesson 09) adds numbers for the
# position.
#
# ## A word that must not be seen
#
# Sometimes a word must not be read: it is only padding, or it comes later and is to be guessed.
# Its *score* becomes −∞, and exp(−∞) is 0. The others share what it had. Setting its
# *weight* to 0 after the softmax would not do: the rest would no longer add up to 1.
#
# > **Exercise.** Write it yourself before you read on: `numpy-attention exercise start attend`.


# %%
def attend_masked(q, X, mask):
    """The same; words where the mask (S,) is False are not seen."""
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
# One question gives one context. Six questions give six, and they can all be asked at once: let
# each word ask with its own vector. Then X Xᵀ has all scores, a row for each asking word, and the
# softmax goes along each row. (`axis=1` adds up along a row, and `keepdims` leaves the sums as a
# column (6, 1), so that each row is divided by its own.)
#
# In the picture a row is a word that asks, a column one that is read. Guess the row of "on", which
# asks a quiet "where?", before you look.

# %%
all_powers = np.exp(X @ X.T)                                                    # (6, 6)
A = all_powers / all_powers.sum(axis=1, keepdims=True)
contexts = A @ X
assert np.allclose(contexts[3], attend(X[3], X)[0])
print("each row adds up to 1:", A.sum(axis=1))
own = A[1, 1]
title = f"cat reads itself, {own:.2f}; \"the\" asks nothing and reads all alike"
show(plotting.attention_heatmap(A, words, words, title=title), "00_every_word")

# %% [markdown]
# This is *self-attention*. A Transformer is made of it, and of ways to learn what each word should
# ask, what it should be found by, and what it should say.
#
# ## A dictionary that answers what it does not hold
#
# There is another way to see all this. A dictionary gives the value of a key that it holds, and an
# error otherwise. Attention gives an average of all values, weighted by how near their keys are.
# So it answers any question. Here the keys are hours of a day and the values are temperatures that
# somebody wrote down at eight of them. The score of a key falls with the square of its distance
# from the question; h says what is near. There is still nothing that is learnt.


# %%
def look_up(hour, hours, values, h):
    """The average of the values, by how near their hours are to the one asked for."""
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
ax.set_title("h too small: steps; too large: nearly the mean; between: a curve")
show(ax, "00_dictionary")
noon = look_up(12.0, hours, temperatures, 1.5)
print(f"at 12 o'clock, which nobody wrote down: {noon:.1f} °C")

# %% [markdown]
# Statisticians know this as kernel regression (Nadaraya 1964, Watson 1964). 1 / h² multiplies
# every score here, as s did above: small h asks loudly, and it is a step from one neighbour to the
# next. Large h asks in a whisper: nearly the mean of all, whatever the hour. A translator does the
# same, with keys and questions that are learnt, so that *near* comes to mean "helps with the next
# word".
#
# ## One nudge
#
# How can it be learnt? By asking: if a score were a bit higher, how would the context change? We
# need no calculus for an answer, only two more runs: one with the score of "mat" a little higher,
# one with it a little lower. The difference of the two contexts, divided by how far apart the two
# scores were, is the slope. (It is called a *central difference*; the whole course leans on it.)


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
print("the context moves by", slope.round(3), "for each 1 that is added to the score of mat")
print("from the context to mat it is", (X[5] - context).round(3))
print("the weight of mat times that:", (weights[5] * (X[5] - context)).round(3))
assert np.allclose(slope, weights[5] * (X[5] - context), atol=1e-6)

# %% [markdown]
# A higher score draws the context towards its word, by as much of the way as the word has weight
# already. Why that is so, and how a loss at the far end of a model tells every score whether it
# should be higher or lower, is what this course derives, line by line, beginning with lesson 01.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | question, query | query |
# | word vectors x_j | keys and values, here the same |
# | context | context vector, attention output |
# | share, weight | attention weight |
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
# 1. Ask "who?", q = (1, 0, 0), with a pencil. Which word gets the most, and how much?
# 2. Add 5 to every score. What happens to the weights? So what do scores say, and what not?
# 3. Which query gives all six words the same weight? Is there only one?
# 4. Which weight would each of the two "mat" have in "the cat sat on the mat mat", asked where?
# 5. Can a query be found for which the context is exactly the vector of "mat"?
# 6. Replace the vector of "the" by (1, 1, 1). Does "where?" still find "mat"? And by (3, 3, 3)?
#    What does that say about vectors that are long?
# 7. Multiply q by 800, and look at the weights. Which line of `look_up` prevents that?
