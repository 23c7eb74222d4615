# %% [markdown]
# # Lesson 00: attention on paper
#
# **You will be able to** compute attention with a pencil (the scores, the weights and the context
# of one query over six words), and predict how the weights change when the query moves or becomes
# longer.
#
# **Needs:** multiplication and exp; NumPy for the code. **Time:** 30 minutes to read, about a
# minute to run.
#
# Suppose you want to know *where* the cat sat. You will not read all six words of "the cat sat on
# the mat" with the same care: your eye goes to "mat". Attention does the same with arithmetic. It
# takes a question, gives each word a score, and averages the words so that those with high scores
# count most.
#
# You will do this once with a pencil, in ten minutes, on six words of three numbers each. Nothing
# is trained in this lesson. Yet every attention in this course, up to the Transformer, takes the
# same three steps: scores, weights, average. In the later lessons, the vectors are longer, the
# numbers are learnt, and some scores are computed in another way. Bahdanau, Cho & Bengio (2015)
# first used the idea for translation (lesson 06).

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
# How does a sentence become something that we can calculate with? We describe each word by three
# numbers, and we choose what they mean: how much the word says about **who**, about what is
# **done**, and about **where**. A real model learns hundreds of numbers for each word, and nobody
# knows what each of them means. Because we chose our three ourselves, we can follow every step.

# %%
words = ["the", "cat", "sat", "on", "the", "mat"]
X = np.array([
    # who  done  where
    [0.0, 0.0, 0.0],        # the: nothing about any of the three
    [2.0, 0.0, 0.0],        # cat: much about who
    [0.0, 2.0, 0.0],        # sat: much about what is done
    [0.0, 0.0, 1.0],        # on: a little about where
    [0.0, 0.0, 0.0],        # the: the same word, so the same numbers
    [1.0, 0.0, 2.0],        # mat: much about where; it is a thing, so a little about who
])
for word, x in zip(words, X):
    print(f"{word:>5}  {x}")

# %% [markdown]
# Each row of the matrix X is a word. The two rows of "the" are equal.
#
# ## Forward: one question, three steps
#
# Which words answer the question "where?", and what answer do they give together? The question is
# also a vector of three numbers, called the **query**. Ours asks only about where:

# %%
q = np.array([0.0, 0.0, 1.0])

# %% [markdown]
# **Step 1: scores.** How well does a word answer the question? Multiply each number of the query by
# the word's number for the same thing (who, done or where), and add up the three products. The
# result is the dot product of the two vectors, and we use it as the word's score. The papers write
# e_j for the score of word j. Before you look at the output, compute the score of "mat" with your
# pencil: 0·1 + 0·0 + 1·2.

# %%
scores = np.array([x @ q for x in X])
for j, (word, score) in enumerate(zip(words, scores), 1):
    print(f"{word:>5}  e_{j} = {score:g}")

# %% [markdown]
# "mat" has the highest score, 2, and "on" comes next with 1. The scores of "cat" and "sat" are 0
# because these words answer other questions. Each "the" scores 0 because it answers none.
#
# **Step 2: weights.** To average the words we need weights that are positive and add up to 1, but
# scores can be any numbers, even negative ones. So we first replace each score by exp(e_j). This
# power is always positive, and it becomes 2.72 times as large if the score rises by 1. Then we
# divide each of the six powers by their sum. The two operations together are the *softmax*:
#
#     α_j = exp(e_j) / Σ_k exp(e_k)
#
# Your pencil needs only three powers: exp(0) = 1, exp(1) = 2.72 and exp(2) = 7.39. Four words have
# the score 0, so the sum is 4 + 2.72 + 7.39 = 14.11. What weight does "mat" get?

# %%
powers = np.exp(scores)
weights = powers / powers.sum()
print(f"sum of the powers: {powers.sum():.2f}")
for word, power, weight in zip(words, powers, weights):
    print(f"{word:>5}  exp(e_j) = {power:.2f}   α_j = {weight:.2f}")
assert np.isclose(weights.sum(), 1)

# %% [markdown]
# "mat" gets a little more than half of the total weight. But no word gets exactly nothing, because
# exp of any number is more than 0. Each "the" gets as much as "cat". The softmax prefers; it
# does not choose.
#
# **Step 3: the context.** The result of attention is the weighted average of the six vectors,
# called the **context**:
#
#     c = Σ_j α_j x_j
#
# Only "cat" and "mat" contribute to the first number of c, because every other word has 0 there.
# With rounded weights, the first number is 0.07 · 2 + 0.52 · 1. Compute it, and then the other two
# numbers. (The rounding may change them by one hundredth.)

# %%
context = np.zeros(3)
for word, weight, x in zip(words, weights, X):
    context = context + weight * x
    print(f"{word:>5}  + {weight:.2f} · {x}   so far {context.round(2)}")
print(f"the context: who {context[0]:.2f}, done {context[1]:.2f}, where {context[2]:.2f}")

# %% [markdown]
# So the answer to "where?" is mostly "mat", and the largest number of the context is the one for
# where. The number for who is about half as large, mostly because the mat is also a thing. Little
# is left of what is done. The weights and the context as bars:

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
# ## A word that must not be seen
#
# How do we hide a word from attention? When a model reads several sentences as one array, the
# shorter ones are filled up with *padding*, dummy words that must not be read. And a model that has
# to predict the later words of a text must not see them. We set the *score* of such a word to −∞.
# Because exp(−∞) is 0, its weight becomes exactly 0, and the other words (at least one must be
# left) share the weight that it had. Do not set its *weight* to 0 after the softmax: the other
# weights would then add up to less than 1.
#
# With your pencil, hide "mat": the sum of the powers is now 4 + 2.72. What weight does "on" get?
#
# ## The same in four lines
#
# Can we do without the loops? With S words of D numbers each, X has the shape (S, D). From now on,
# we write the shape of an array in parentheses after its name. A *mask* (S,) is False where a word
# must not be seen.
#
# > **Exercise.** Write all of attention yourself before you read on:
# > `numpy-attention exercise start attend`. This command comes with the library. It writes
# > `exercises/attend.py`, a file with a gap that you fill in.
# > `numpy-attention exercise check attend` then reports what is wrong with your version.
#
# Now ours. Each row of X is a word, so the matrix product X q holds all six scores at once, and α X
# is the weighted average. All of attention then takes four lines.


# %%
def attend(q, X, mask=True):
    """One query (D,), words (S, D), mask (S,) → the context (D,) and the weights (S,)."""
    scores = np.where(mask, X @ q, -np.inf)
    powers = np.exp(scores)
    weights = powers / powers.sum()
    return weights @ X, weights


c, alpha = attend(q, X)                     # without a mask, every word is read
assert np.allclose(c, context)
assert np.allclose(alpha, weights)
print("the four lines give the same context:", c.round(2))

# %%
without_mat = np.array([True, True, True, True, True, False])
_, alpha_hidden = attend(q, X, without_mat)
for word, before, after in zip(words, weights, alpha_hidden):
    print(f"{word:>5}  weight {before:.2f} → {after:.2f} with mat hidden")
assert alpha_hidden[5] == 0
assert np.isclose(alpha_hidden.sum(), 1)

# %% [markdown]
# With "mat" hidden, "on" gets 0.40. All other weights have grown by the same factor, and they add
# up to 1 again. Here is the whole calculation as a diagram:

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
show(plotting.diagram(boxes, arrows, title="each word is used twice: compared, then averaged"),
     "00_diagram")

# %% [markdown]
# Two arrows leave the words in the diagram, because each word is used *twice*: it is compared with
# the query, and it is averaged. The vector that is compared is called the word's **key**, and the
# vector that is averaged is called its **value**. For our six words, one vector serves as both. In
# the dictionary below and in some later lessons, the two differ.
#
# ## Move the question
#
# How do the weights change when the question changes a little? We move the query in a straight line
# from "who?", (1, 0, 0), to "where?", (0, 0, 1). On the way, the query is (1 − t, 0, t), and t
# grows from 0 to 1. We multiply this vector by 3 to make the differences easier to see. Guess
# first: which word has the largest weight halfway, at t = 1/2?

# %%
steps = np.linspace(0, 1, 101)
moved = np.zeros((101, 6))
for place, t in enumerate(steps):
    _, moved[place] = attend(3 * np.array([1 - t, 0, t]), X)

# %%
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for place, number, label in ((5, 0, "mat"), (1, 1, "cat"), (3, 2, "on"),
                             (0, 3, "the, sat (each)")):
    style = plotting.base.curve_style(number)
    ax.plot(steps, moved[:, place], label=label, markevery=20, **style)
ax.set_xlabel("t: from who? (0) to where? (1)")
ax.set_ylabel("weight")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
ax.set_title("no weight jumps while the query moves")
show(ax, "00_moving_query")

# %%
crossing = steps[np.argmax(moved[:, 5] > moved[:, 1])]
print(f"mat overtakes cat at t = {crossing:.2f}; at t = 1/2 mat has {moved[50, 5]:.2f}, "
      f"cat {moved[50, 1]:.2f}")
assert 0 < crossing < 1

# %% [markdown]
# Halfway, "mat" leads, because it answers both questions. It overtakes "cat" early, and a pencil
# finds the exact point. The score of "cat" is 3 · 2 (1 − t), and the score of "mat" is
# 3 · ((1 − t) + 2 t). The two are equal if 2 − 2 t = 1 + t, so t = 1/3. (The run prints 0.34
# because it moves t in steps of one hundredth.)
#
# No curve jumps. The weights are computed with exp and a division, and both are differentiable, so
# every weight has a derivative, and so has the context. That is why we use the softmax and do not
# simply take the best word: with a derivative, we can improve step by step. If we took the best
# word, the context would jump, and its derivative would be 0 between two jumps and undefined at a
# jump.
#
# And why does the factor of 3 make the differences easier to see? A longer query asks *louder*, so
# the best word is further ahead of the others. To see this, we ask "where?" with the query s q, and
# let the loudness s grow from 0 to 6.

# %%
loudness = np.linspace(0, 6, 61)
louder = np.zeros((61, 6))
for place, s in enumerate(loudness):
    _, louder[place] = attend(s * q, X)

# %%
figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
for place, number, label in ((5, 0, "mat"), (3, 2, "on"), (0, 3, "the, cat, sat (each)")):
    style = plotting.base.curve_style(number)
    ax.plot(loudness, louder[:, place], label=label, markevery=10, **style)
ax.set_xlabel("s, the loudness: the query is s q")
ax.set_ylabel("weight")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
ax.set_title(f"s = 0: every word has 1/6; s = 6: mat has {louder[-1, 5]:.3f}")
show(ax, "00_louder")
print(f"s = 0: every word {louder[0, 0]:.3f};  s = 6: mat {louder[-1, 5]:.3f}")

# %% [markdown]
# At s = 0 the query asks nothing: all scores are 0, and every word has the same weight. At s = 6
# almost all the weight is on "mat". So the direction of the query decides which word is first, and
# its length decides how far ahead that word is.
#
# ## Two of a kind, and no order
#
# Does attention notice where in the sentence a word is? The two copies of "the" share the same
# vector. So they always have the same weight, and attention cannot tell them apart. Nor can it tell
# "the cat sat on the mat" from "the mat sat on the cat". If we shuffle the words, each word keeps
# its weight, and the context does not change:

# %%
order = np.random.default_rng(0).permutation(6)
shuffled, weights_shuffled = attend(q, X[order])
print("shuffled:", " ".join(words[place] for place in order))
assert np.allclose(weights_shuffled, weights[order])
assert np.allclose(shuffled, context)
print("the context is the same:", shuffled.round(2))

# %% [markdown]
# So attention ignores the order. A model that needs the order must put it into the vectors. A
# recurrent network (lesson 02) does so by reading one word after another. A Transformer (lesson 09)
# adds numbers that depend on the word's position.
#
# ## Every word asks
#
# What if every word asks, with its own vector as the query? Six questions give six contexts, and we
# can compute them all at once. The product X Xᵀ holds all the scores, with one row for each word
# that asks, and the softmax is taken along each row. (`axis=1` adds up along a row. `keepdims`
# leaves the sums as a column (6, 1), so that each row is divided by its own sum.)
#
# In the picture, each row is a word that asks, and each column is a word that is read. Before you
# look, guess the row of "on". You have computed it already!

# %%
all_powers = np.exp(X @ X.T)                                                    # (6, 6)
A = all_powers / all_powers.sum(axis=1, keepdims=True)
contexts = A @ X
assert np.allclose(contexts[3], attend(X[3], X)[0])
print("each row adds up to 1:", A.sum(axis=1))
title = f"cat mostly reads itself, {A[1, 1]:.2f}; \"the\" reads all words equally"
ax = plotting.attention_heatmap(A, source_tokens=words, target_tokens=words, title=title)
for (i, j), weight in np.ndenumerate(A):
    ink = {"color": "k", "fontweight": "bold"} if weight > 0.5 else {"color": "w"}
    ax.text(j, i, f"{weight:.2f}", ha="center", va="center", **ink)
ax.set_xlabel("word that is read")
ax.xaxis.set_label_position("top")
ax.set_ylabel("word that asks")
show(ax, "00_every_word")

# %% [markdown]
# The vector of "on" is (0, 0, 1), the same as our query "where?". So the row of "on" holds the
# weights that you found with your pencil. "on" reads "mat" more than itself, because "mat" has more
# of where. "cat", "sat" and "mat" mostly read themselves: as the query equals their own key, the
# score is their squared length, and no other word scores as much. "the" reads all words equally.
#
# This is **self-attention**: the words of one sentence ask, and the same words answer. A
# Transformer also learns three matrices, which turn each word's vector into three: what it asks
# (its query), how it is found (its key), and what it says (its value).
#
# ## A dictionary that never raises a KeyError
#
# A Python dictionary also has keys and values. How far does the resemblance go? A dictionary
# returns the value of a key that it contains, and raises a KeyError for any other key. Attention
# has an answer for every query: it returns an average of all values, in which a value counts more
# if its key has a higher score.
#
# In this example, the keys are eight hours of a day, the values are the temperatures measured at
# these hours, and the query is the hour that we ask about. Any function of query and key can be the
# score. It only has to be high for the keys that we want, which here are the hours near the query.
# The dot product of two single numbers is just hour · key, so the largest key, 22, would win at any
# hour after midnight. Instead, we let the score fall with the square of the key's distance from the
# query. The width h decides which distances count as near. (The division by 2 makes h the standard
# deviation of a bell curve.)


# %%
def look_up(hour, hours, values, h):
    """The average of the values, weighted by how near their hours are to the given hour."""
    scores = -((hour - hours) / h) ** 2 / 2
    powers = np.exp(scores - scores.max())      # prevents overflow; the weights are the same
    weights = powers / powers.sum()
    return weights @ values


hours = np.array([2.0, 5.0, 8.0, 10.0, 13.0, 16.0, 19.0, 22.0])
temperatures = np.array([9.0, 7.0, 11.0, 15.0, 20.0, 21.0, 16.0, 12.0])
print(f"the mean of the eight measurements: {temperatures.mean():.1f} °C")

# %%
asked = np.linspace(0, 24, 1441)                # every minute
figure, ax = plt.subplots(figsize=(7.5, 3.8), layout="constrained")
for h, line, colour in ((0.3, "-", 0), (1.5, "--", 1), (24.0, "-.", 2)):
    found = np.array([look_up(hour, hours, temperatures, h) for hour in asked])
    ax.plot(asked, found, line, color=plotting.COLOURS[colour], label=f"h = {h:g} hours")
    print(f"h = {h:g} hours: answers from {found.min():.1f} to {found.max():.1f} °C")
ax.plot(hours, temperatures, "ko", label="measured")
ax.set_xticks(range(0, 25, 3))
ax.set_xlabel("hour asked for")
ax.set_ylabel("temperature, °C")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
ax.set_title("a small h gives steps, a large h nearly the mean")
show(ax, "00_dictionary")
noon = look_up(12.0, hours, temperatures, 1.5)
print(f"at 12 o'clock, when nobody measured: {noon:.1f} °C")

# %% [markdown]
# Statisticians know this as kernel regression (Nadaraya 1964, Watson 1964). In `look_up`, the score
# is −distance² / (2h²), so 1 / (2h²) does what the loudness s did before. A small h asks loudly,
# and the answer is nearly the value of the nearest key: the curve of h = 0.3 hours is a staircase.
# A large h whispers: with h = 24, even a distance of 24 hours lowers the score by only 1/2. All
# eight weights are then similar, and the answer is nearly the mean at every hour. In between,
# h = 1.5 hours gives a smooth curve, with a sensible answer even for 12 o'clock. Attention is a
# dictionary that blends its values.
#
# A translator with attention looks things up in the same way, but its keys and queries are learnt,
# so that "near" comes to mean "useful for the next word".
#
# ## One nudge
#
# How can any of this be learnt? We have to know how the context changes with a score. To find out,
# we compute the context of "where?" twice more: once with the score of "mat" a little higher, and
# once with this score a little lower. The difference of the two contexts, divided by the difference
# of the two scores, is the slope. (This is called a *central difference*. The whole course relies
# on it.)


# %%
def context_of(scores):
    """Steps 2 and 3: from scores (S,) to the context (D,)."""
    powers = np.exp(scores)
    weights = powers / powers.sum()
    return weights @ X


epsilon = 1e-4
nudge = np.zeros(6)
nudge[5] = epsilon
slope = (context_of(scores + nudge) - context_of(scores - nudge)) / (2 * epsilon)
print("measured slope of the context:           ", slope.round(3))
print("mat − context:                           ", (X[5] - context).round(3))
print("weight of mat · (mat − context):         ", (weights[5] * (X[5] - context)).round(3))
assert np.allclose(slope, weights[5] * (X[5] - context), atol=1e-6)

# %% [markdown]
# A higher score pulls the context towards its word. How hard does it pull? The first and the last
# printed line are equal: the slope is the difference between the word's vector and the context,
# times the weight that the word already has.
#
# Two questions remain. Why is that so? And how does a score learn whether to go up or down, if a
# model tells us only its *loss*, one number that says how wrong it is? Lesson 01 answers both
# questions. It ends with the gradient of the softmax, from which our slope, α_j (x_j − c), follows.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | word vectors x_j | keys and values, here the same |
# | context | context vector, attention output |
# | weight | attention weight |
# | loudness s of the query | inverse temperature, scale of the scores |
#
# Most terms are in the [glossary](../docs/site/glossary.md).
#
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `plotting` | draws diagrams and heatmaps, and saves figures |

# %% [markdown]
# ## Questions
#
# 1. With your pencil, ask "who?", q = (1, 0, 0). Which word gets the largest weight, and how large
#    is it?
# 2. Add 5 to every score. What happens to the weights? So what do scores tell us about a word, and
#    what do they not tell us?
# 3. Which query gives all six words the same weight? Is there only one?
# 4. Ask "where?" of "the cat sat on the mat mat". What weight does each "mat" get?
# 5. Is there a query for which the context is exactly the vector of "mat"?
# 6. Replace the vector of "the" by (1, 1, 1). Does "where?" still find "mat"? What if the vector is
#    (3, 3, 3)? What does that tell you about long vectors?
# 7. Multiply q by 800, and look at the weights. What went wrong, and which line of `look_up`
#    prevents it?
