# %% [markdown]
# # Lesson 01: gradients by hand
#
# **You will be able to** derive a backward pass line by line, check it against central differences,
# and say what such a check proves and what it cannot detect.
#
# **Needs:** NumPy, the chain rule and Taylor series. **Time:** 45 minutes to read, about a minute
# to run.
#
# Every model in this course learns from gradients that somebody derived on paper and typed in. In
# this lesson, that somebody is you. *How do you know that such a gradient is right?* The model is
# one of the smallest language models, a *bigram* model: it guesses the next letter from the letter
# before it, in about five lines forward and five backward.
#
# You will check each gradient by nudging numbers, and then plant bugs, to see what they look like
# and where they can hide. Finally, the model learns from a text. Counting tells us in advance the
# best possible result, and the model comes close.
#
# (From `course.py` in the same folder, `show` saves a figure, and `caught` prints the report of a
# check that is meant to fail.)

# %%
print("Lesson 01: gradients by hand", flush=True)

from dataclasses import dataclass

import numpy as np
from course import caught, show
from matplotlib import pyplot as plt

from numpy_attention import plotting
from numpy_attention.data.datasets.corpora import load_text
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.gradcheck import gradcheck, numeric_gradient, randomize, relative_errors
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.output import Output
from numpy_attention.module import Array, Module

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# ## Forward
#
# How does the model guess? We begin with *one* pair of letters, from an alphabet of five: after a
# "b" came a "d". The model describes each letter by three numbers, which are one row of the matrix
# E (in later lessons, its *embedding*). From the row of the letter that it has read, it computes a
# score for every letter that may follow, and turns the scores into probabilities.
#
#     h = E[x]                (3,)   the row of the letter x
#     z = W h + b             (5,)   a score for each letter
#     p = softmax(z)          (5,)   p_v = exp(z_v) / Σ_k exp(z_k), so they add up to 1
#     L = −log p_y            ()     how surprised the model is by the letter y
#
# The last line is the loss, called the cross-entropy. It is 0 if the model was sure of y, and it
# grows as p_y falls. In the code, a letter is its position in the alphabet, its *id*. We draw
# random parameters, and look at every value.

# %%
alphabet = "abcde"
rng = np.random.default_rng(0)
E = rng.standard_normal((5, 3))
W = rng.standard_normal((5, 3))
b = rng.standard_normal(5)
x = alphabet.index("b")
y = alphabet.index("d")

# %%
h = E[x]
z = W @ h + b
p = np.exp(z) / np.exp(z).sum()
L = -np.log(p[y])
print("h =", h)
print("z =", z)
for letter, share in zip(alphabet, p):
    print(f"  after b, the model expects {letter} with p = {share:.3f}")
print(f"L = −log p(d) = {L:.3f}")

# %%
boxes = {
    "x": ("x", 0, 0), "E": ("E", 1.2, 1.2, 1), "h": ("h = E[x]", 1.2, 0),
    "W": ("W, b", 3.4, 1.2, 1), "z": ("z = W h + b", 3.4, 0),
    "p": ("p = softmax(z)", 5.8, 0), "y": ("y", 8, 1.2), "L": ("L = −log p[y]", 8, 0, 2),
}
arrows = [("x", "h"), ("E", "h"), ("h", "z"), ("W", "z"), ("z", "p"), ("p", "L"), ("y", "L")]
show(plotting.diagram(boxes, arrows, title="forward along the arrows, backward against them"),
     "01_diagram")

# %% [markdown]
# ## Backward
#
# How does L change with each parameter? The backward pass takes the four lines in reverse, against
# the arrows of the diagram. At each line we ask: *given the gradient of the line's result, what are
# the gradients of the arrays on its right-hand side?* We write dX for ∂L/∂X, which always has the
# shape of X.
#
# We believe no gradient until we have measured it. A central difference moves a number a little up
# and a little down, and divides the change of L by the distance between the two positions, as in
# lesson 00. The library's `numeric_gradient` does this for each number of an array, but at four
# positions instead of two, which is more exact (see *Which ε?*).


# %%
def check_gradient(name, ours, loss, array):
    """Print the first five numbers of our gradient and the measured one; loss() reads the array."""
    measured = numeric_gradient(loss, array)
    print(f"{name:>3} by hand  {ours.ravel()[:5]}")
    print(f"    measured {measured.ravel()[:5]}")
    assert np.allclose(ours, measured, atol=1e-8)


# %% [markdown]
# **The lines of p and L, in one step.** Put p_y = exp(z_y) / Σ_k exp(z_k) into L = −log p_y:
#
#     L = log Σ_k exp(z_k) − z_y
#
# The derivative of the first term with respect to z_v is exp(z_v) / Σ_k exp(z_k), which is p_v. The
# derivative of the second term is −1 for v = y, and 0 otherwise:
#
#     dz_v = p_v − [v = y]
#
# The bracket [v = y] is 1 for v = y and 0 for every other v. Its five values form the *one-hot*
# vector of y. So dz is p minus this vector: the prediction minus the truth.
#
# Guess before you look: which scores should fall to make L smaller?

# %%
truth = np.eye(5)[y]                    # the one-hot vector of y
dz = p - truth
check_gradient("dz", dz, lambda: np.log(np.exp(z).sum()) - z[y], z)

# %%
figure, ax = plt.subplots(figsize=(6.5, 2.6), layout="constrained")
ax.bar(list(alphabet), -dz, color=plotting.COLOURS[0])
ax.axhline(0, color="black", linewidth=1)
ax.set_xlabel("letter that may follow b")
ax.set_ylabel("−dz")
ax.set_title(f"d followed: its score is pushed up by {-dz[y]:.2f}, all others down")
show(figure, "01_pull")

# %% [markdown]
# All scores should fall except that of "d", the letter that came. The bars show −dz, because we go
# *against* the gradient to make L smaller. The more probable a wrong letter was, the harder its
# score is pushed down.
#
# **The line z = W h + b.** With indices, it is z_v = Σ_j W_vj h_j + b_v. What is the gradient of
# one number on the right-hand side: h_j, W_vj or b_v? Ask which scores use it. Each such score z_v
# contributes dz_v times its derivative with respect to the number, and the contributions add up.
# Only one score uses b_v, and only one uses W_vj, but all scores use h_j:
#
#     db_v  = dz_v
#     dW_vj = dz_v h_j            a matrix: one row for each score, one column for each number of h
#     dh_j  = Σ_v dz_v W_vj       a sum over all scores

# %%
db = dz
dW = np.outer(dz, h)
dh = W.T @ dz


def loss_of(h):
    z = W @ h + b
    return np.log(np.exp(z).sum()) - z[y]


check_gradient("db", db, lambda: loss_of(h), b)
check_gradient("dW", dW, lambda: loss_of(h), W)
check_gradient("dh", dh, lambda: loss_of(h), h)

# %% [markdown]
# **The line h = E[x].** The forward pass read only row x of E, so dh is the gradient of this row,
# and the gradients of the other rows are 0. To see this, we nudge all fifteen numbers of E:

# %%
dE = np.zeros_like(E)
dE[x] = dh
measured = numeric_gradient(lambda: loss_of(E[x]), E)
for letter, row in zip(alphabet, measured):
    print(f"measured dE, row of {letter}: {row}")
assert np.allclose(dE, measured, atol=1e-8)

# %% [markdown]
# Only the row of "b" has a gradient, dh, and the backward pass for one pair is complete.
#
# ## Many pairs at once
#
# What changes if we take N pairs of a text together? x and y become arrays (N,). The arrays h, z
# and p get one row for each pair, and L becomes the mean over the pairs. With V letters in the
# alphabet, and D numbers for each letter:
#
#     h = E[x]                   (N, D)
#     z = h Wᵀ + b               (N, V)
#     p = softmax(z), by rows    (N, V)
#     L = −1/N Σ_n log p_n,y_n   ()
#
# A score of 800 would make exp(z) overflow. But p does not change if we add the same constant to
# all scores of a row. So we first subtract the row's largest score, and no exponential is larger
# than e⁰ = 1.
#
# What is the gradient of z now? Each exercise is a file with a gap, as in lesson 00:
#
# > **Exercise.** Write dz yourself: `numpy-attention exercise start cross-entropy`.
#
# Each row is as before, but the mean divides every dz by N:
#
#     dz = (p − onehot(y)) / N   row n of onehot(y) is the one-hot vector of y_n
#
# All N pairs use the same E, W and b, so each of the three receives a gradient from every pair, and
# these gradients **add up**. With this rule, you can write the rest: h = E[x], and z = h Wᵀ + b, a
# *linear layer*.
#
# > **Exercise.** Write both backward passes: `numpy-attention exercise start embedding`, then
# > `numpy-attention exercise start linear`.
#
# The result:
#
#     db = Σ_n dz_n              every pair used b
#     dW = dzᵀ h                 every pair used W: Σ_n dz_n h_nᵀ as a product (V, N)(N, D)
#     dh = dz W                  (N, V)(V, D)
#     dE[x_n] += dh_n            a letter that occurs twice adds twice
#
# The last line is a product, too: E[x] is onehot(x) E, so dE is onehot(x)ᵀ dh.
#
# Here is the whole model in plain NumPy. Its base class `Module` turns the array fields into
# parameters. `forward` also returns a *cache* with the arrays that `backward` needs. If L is only a
# part of a larger loss, `dloss` is the gradient of that loss with respect to L. Otherwise it is 1.


# %% tags=["plain"]
@dataclass(eq=False)
class Bigram(Module):
    """p(y | x) = softmax(E[x] Wᵀ + b)."""

    E: Array  # (V, D)
    W: Array  # (V, D)
    b: Array  # (V,)

    def forward(self, x, y):
        """Letters x (N,) and the letters y (N,) that follow them → L, cache."""
        h = self.E[x]                                       # (N, D)
        z = h @ self.W.T + self.b                           # (N, V)
        e = np.exp(z - z.max(1, keepdims=True))
        p = e / e.sum(1, keepdims=True)                     # (N, V)
        L = -np.log(p[np.arange(len(y)), y]).mean()
        return L, (x, y, h, p)

    def backward(self, dloss, cache, grads):
        x, y, h, p = cache
        # L = −1/N Σ log p_y, p = softmax(z)
        dz = (p - onehot(y, p)) * (dloss / len(y))
        # z = h Wᵀ + b
        grads.b += dz.sum(0)
        grads.W += dz.T @ h
        dh = dz @ self.W
        # h = E[x]
        grads.E += onehot(x, p).T @ dh


def onehot(ids, like):
    return np.eye(like.shape[1], dtype=like.dtype)[ids]     # (N, V)


# %% [markdown]
# `grads` is a *gradient model*, another Bigram, whose W holds ∂L/∂W. `zeros_like` creates it, full
# of zeros, and `backward` *adds* to it, because a loss may use the same model many times, as in a
# recurrent network. For our first pair:

# %%
pair = Bigram(E, W, b)
loss, cache = pair.forward(np.array([x]), np.array([y]))
grads = pair.zeros_like()
pair.backward(1.0, cache, grads)
print(f"L = {loss:.3f}, db = {grads.b}")
assert np.isclose(loss, L)
assert np.allclose(grads.b, db)
assert np.allclose(grads.W, dW)
assert np.allclose(grads.E, dE)

# %% [markdown]
# ## Check: nudge and see
#
# Is this backward pass right for many pairs, too? To find out, we write our own central difference.
# The Taylor series tells us how exact it is. Let w be one number of a parameter, and move it by ε
# in both directions:
#
#     L(w ± ε) = L ± ε L' + ε² L''/2 ± ε³ L'''/6 + …              Taylor series
#     (L(w + ε) − L(w − ε)) / (2ε) = L' + ε² L'''/6 + …
#
# In the difference, the terms with an even power of ε cancel. So in general, the error of this
# *central* difference shrinks like ε², but that of the one-sided difference, (L(w + ε) − L(w)) / ε,
# only like ε.
#
# For training, two forward passes for every number of every parameter would be hopelessly slow. For
# checking they are perfect, because they use no line of the backward pass.


# %%
def central(loss, array, epsilon):
    """∂loss/∂array, one element at a time; loss() reads the array."""
    numeric = np.empty_like(array)
    for at in np.ndindex(array.shape):
        kept = array[at]
        array[at] = kept + epsilon
        above = loss()
        array[at] = kept - epsilon
        below = loss()
        array[at] = kept
        numeric[at] = (above - below) / (2 * epsilon)
    return numeric


# %% [markdown]
# We check a tiny model, with V = 5 and D = 3, on N = 7 pairs. These sizes all differ, and one
# letter is read more than once. Both will turn out to matter.


# %%
def create(rng, V, D):
    """A model with parameters from N(0, 0.5²)."""
    return randomize(Bigram(np.empty((V, D)), np.empty((V, D)), np.empty(V)), rng)


rng = np.random.default_rng(1)
tiny = create(rng, V=5, D=3)
xs = rng.integers(5, size=7)
ys = rng.integers(5, size=7)
print("letters read:", xs, " letters that followed:", ys)

# %%
loss, cache = tiny.forward(xs, ys)
grads = tiny.zeros_like()
tiny.backward(1.0, cache, grads)
for name, array in tiny.named_parameters():
    numeric = central(lambda: tiny.forward(xs, ys)[0], array, 1e-5)
    error = relative_errors(getattr(grads, name), numeric).max()
    print(f"d{name} {array.shape}: largest relative error {error:.1e}")
    assert error < 1e-6

# %% [markdown]
# All three gradients are right. The library's `gradcheck` does the same for any Module, with two
# differences. It measures at four positions, as `numeric_gradient` does. And instead of dloss = 1,
# it draws a random **upstream gradient**, which in a larger model arrives from later layers. A
# check passes if all relative errors are below 1e-6.

# %%
print(gradcheck(tiny, xs, ys, rng=np.random.default_rng(2)))

# %% [markdown]
# The library's own layers give the same loss and gradients. (`Output` sums the losses, hence 1/7.)

# %%
embedding = Embedding(tiny.E)
output = Output(Embedding(tiny.W), tiny.b)
embedding_grad = embedding.zeros_like()
output_grad = output.zeros_like()
rows_read, embedding_cache = embedding.forward(xs)
total, drows = output.loss_and_grad(rows_read, ys, 1 / 7, output_grad)
embedding.backward(drows, embedding_cache, embedding_grad)
assert np.isclose(total / 7, loss, rtol=1e-12)
assert np.allclose(grads.E, embedding_grad.E, rtol=1e-10)
assert np.allclose(grads.W, output_grad.words.E, rtol=1e-10)
assert np.allclose(grads.b, output_grad.b, rtol=1e-10)

# %% [markdown]
# ## What a bug looks like
#
# What does the check report if a backward pass is wrong? We plant two bugs. The first is easy to
# write: `grads.E[x] += dh` looks right, but if a letter occurs several times, NumPy adds only the
# last of its rows of dh.


# %%
class LastWins(Bigram):
    def backward(self, dloss, cache, grads):
        x, y, h, p = cache
        dz = (p - onehot(y, p)) * (dloss / len(y))
        grads.b += dz.sum(0)
        grads.W += dz.T @ h
        grads.E[x] += dz @ self.W


def check(model, x, y):
    return gradcheck(model, x, y, rng=np.random.default_rng(2))


print("letters read:", xs)
report = caught(check, LastWins(tiny.E, tiny.W, tiny.b), xs, ys)
assert "grads.E[x] += dz @ self.W" in str(report)

# %% [markdown]
# Read the report line by line. Only E is wrong. db and dW, which are computed from dz, are right,
# so dz is almost certainly right, too. That leaves the last line of `backward`. The report quotes
# this line and names its mistake. (To find it, gradcheck tries small edits of the line until one
# makes all gradients right.) It also shows one wrong element, [2, 1], computed with the random
# dloss: letter 2 was read three times, and only the last of the three was added.
#
# The second bug forgets to divide dz by N.


# %%
class NotAveraged(Bigram):
    def backward(self, dloss, cache, grads):
        x, y, h, p = cache
        dz = (p - onehot(y, p)) * dloss
        grads.b += dz.sum(0)
        grads.W += dz.T @ h
        grads.E += onehot(x, p).T @ (dz @ self.W)


summing = NotAveraged(tiny.E, tiny.W, tiny.b)
report = caught(check, summing, xs, ys)
wrong = summing.zeros_like()
summing.backward(1.0, cache, wrong)
ratios = wrong.vector / grads.vector
print(f"wrong ÷ right: from {ratios.min():.6f} to {ratios.max():.6f}")

# %% [markdown]
# All gradients are wrong, and all by the same factor: 7, the number of pairs. The report finds this
# factor first in dz. With both bugs, the first clue was which gradients are wrong and which are
# right. And whenever you find a factor (2, 1/2, −1, N, the length of something), ask where it could
# come from.
#
# ## What a check cannot see
#
# A check compares numbers at *one* point: for one input and one value of the parameters. If a wrong
# backward pass happens to give the right gradient there, the bug stays hidden. For example, give
# LastWins letters that are all different:


# %%
def verdict(model, x, y):
    """"PASSES", or the first line of the report."""
    try:
        check(model, x, y)
    except (AssertionError, ValueError) as error:
        first, *_ = str(error).splitlines()
        return first.partition(": matmul")[0]               # NumPy's own message is long
    return "PASSES"


distinct = np.arange(5)
said = verdict(LastWins(tiny.E, tiny.W, tiny.b), distinct, ys[:5])
print("LastWins, where no letter occurs twice:", said)
assert said == "PASSES"

# %% [markdown]
# These letters do not reveal the bug. So **check with ids that occur twice**, and in later lessons
# with masks and with several time steps.
#
# The next bug is a matrix transposed by mistake, dh = dz Wᵀ instead of dh = dz W. We check it four
# times: with D = 3, and three times with D = V = 5, where W is random, then symmetric, then 0.
# Guess: how many of the four checks find it?


# %%
class Exchanged(Bigram):
    def backward(self, dloss, cache, grads):
        x, y, h, p = cache
        dz = (p - onehot(y, p)) * (dloss / len(y))
        grads.b += dz.sum(0)
        grads.W += dz.T @ h
        grads.E += onehot(x, p).T @ (dz @ self.W.T)


square = create(rng, V=5, D=5)
symmetric = square.W + square.W.T
print("V = 5, D = 3:      ", verdict(Exchanged(tiny.E, tiny.W, tiny.b), xs, ys))
print("V = D = 5:         ", verdict(Exchanged(square.E, square.W, square.b), xs, ys))
print("…and W symmetric:  ", verdict(Exchanged(square.E, symmetric, square.b), xs, ys))
print("…and W = 0:        ", verdict(Exchanged(square.E, 0 * square.W, square.b), xs, ys))

# %% [markdown]
# Two of the four checks find the bug. With D = 3, the shapes do not fit, and NumPy raises an error
# at once. With D = V = 5 they fit, so only the numbers can reveal the bug, and with a random W they
# do. If W is symmetric, Wᵀ is W, and the bug is invisible. So **choose sizes that all differ**:
# then no matrix is square, and none can be symmetric. The bug is invisible again if W is 0, because
# both versions of dh are then 0. So **check at random parameters, including the biases** (some
# models start with a bias of 0). `randomize` draws them.
#
# The last bug is the deepest, because its backward pass contains no mistake at all. The *forward
# pass* is wrong: it predicts x, the letter just read, instead of y. What does it learn?


# %%
class WrongModel(Bigram):
    def forward(self, x, y):
        return super().forward(x, x)


said = verdict(WrongModel(tiny.E, tiny.W, tiny.b), xs, ys)
print("a model that predicts what it has just read:", said)
assert said == "PASSES"

# %%
parrot = WrongModel(tiny.E.copy(), tiny.W.copy(), tiny.b.copy())
for _ in range(1000):
    said_loss, parrot_cache = parrot.forward(xs, ys)
    change = parrot.zeros_like()
    parrot.backward(1.0, parrot_cache, change)
    parrot.vector[...] -= change.vector
expected = parrot_cache[3].argmax(1)
print(f"trained: loss {said_loss:.4f}")
print("letters read:", xs, " letters that it expects:", expected)

# %% [markdown]
# This model passes, because a check shows only that `backward` is the derivative of `forward` at
# one point, not that `forward` is what you meant. Training reaches a loss of almost 0, because the
# model repeats what it reads. So compare your results with known ones, and suspect a result that is
# too good.
#
# ## Which ε?
#
# (You may skip this section, except for its last sentence, in bold.) How far should we move a
# number? Two errors compete. The remainder of the Taylor series, about ε² L'''/6, grows with ε. The
# rounding error grows as ε shrinks, because a computer knows L only to a relative precision δ of
# about 1e-16, and the rounding error δ L is divided by 2ε. So the total error, about
#
#     ε² L'''/6 + δ L / (2ε)
#
# is smallest somewhere in between. The library measures at four positions:
#
#     L' ≈ (8 (L(w + ε) − L(w − ε)) − (L(w + 2ε) − L(w − 2ε))) / (12ε)
#
# Here the ε² terms cancel, too, so the best ε is larger than before, and the error there is
# smaller.
#
# We measure the error of dW for many ε. In float32, δ is about 6e-8. Guess the smallest error that
# any ε can give there: is it below a millionth, as gradcheck demands?


# %%
def curve_of(difference, model):
    """The error of dW, relative to its largest element, for each ε."""
    errors = []
    for epsilon in epsilons.astype(model.dtype):
        numeric = difference(lambda: model.forward(xs, ys)[0], model.W, epsilon)
        errors.append(np.abs(numeric - grads.W).max() / np.abs(grads.W).max())
    return np.array(errors)


epsilons = 10.0 ** np.arange(-11, 0.1, 0.5)
curves = {
    "2 points, float64": curve_of(central, tiny),
    "4 points, float64": curve_of(numeric_gradient, tiny),
    "4 points, float32": curve_of(numeric_gradient, tiny.astype(np.float32)),
}

# %%
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
for place, (name, errors) in enumerate(curves.items()):
    style = plotting.base.curve_style(place)
    ax.loglog(epsilons, errors, label=name, markersize=4, **style)
    best = errors.argmin()
    print(f"{name}: smallest error {errors[best]:.0e}, at ε = {epsilons[best]:.0e}")
ax.axhline(1e-6, color="grey", linewidth=1, label="allowed by gradcheck")
ax.set_xlabel("ε")
ax.set_ylabel("error ÷ largest element of dW")
ax.set_title("left: rounding; right: Taylor's remainder")
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
show(ax, "01_epsilon")

# %% [markdown]
# Each curve has a minimum, as predicted. In float32, no ε reaches a millionth, even with four
# positions, so a correct backward pass would fail the check. **Train in float32, check in
# float64.**

# %%
assert curves["4 points, float32"].min() > 1e-6
assert curves["2 points, float64"].min() < 1e-6

# %% [markdown]
# ## Train
#
# Can a model learn with these gradients? Our text, `bible-en`, comes with the library: a modern
# English Bible in lower case, with one verse per line.

# %% tags=["training"]
text = "\n".join(" ".join(verse) for verse in load_text("bible-en", "train"))
vocabulary = Vocabulary.build([text])           # a string is a sequence of letters
ids = np.array(vocabulary.encode(text))
V = len(vocabulary)
print(f"{len(text):,} letters, {V} ids, 4 of them special. It begins:\n{text[:131]}")

# %% [markdown]
# (Only later lessons need the four special ids.)
#
# How good can our model become? We measure it by the *perplexity*, exp(L). With a perplexity of 10,
# a model is as unsure as if 10 letters were equally likely.
#
# We can find the lowest possible perplexity, the *floor*, before we train. Suppose that we could
# choose the scores z after a letter x freely. At the best choice, their gradient is 0. Each pair
# (x, y) contributes p − onehot(y) to this gradient. Let count(x) be the number of pairs that begin
# with x, and count(x, y) the number of those in which y follows. Add up these gradients over all
# pairs that begin with x. For the score of y, the sum is
#
#     count(x) p(y | x) − count(x, y)
#
# This is 0 if p(y | x) = count(x, y) / count(x), so counting gives us the floor. (L is convex in z,
# so no other choice is better.) For comparison, we also compute the perplexity of a model that
# knows only how frequent each letter is.


# %% tags=["training"]
def perplexity(p):
    """exp of the mean −log p(y | x) over all pairs of the text, p (V, V)."""
    return np.exp(-(counts * np.log(np.maximum(p, 1e-300))).sum() / counts.sum())


counts = np.bincount(ids[:-1] * V + ids[1:], minlength=V * V).reshape(V, V).astype(float)
floor = perplexity(counts / np.maximum(counts.sum(1, keepdims=True), 1))
unigram = perplexity(np.broadcast_to(counts.sum(0) / counts.sum(), (V, V)))
print(f"perplexity of letter frequencies {unigram:.2f}, of the best bigram {floor:.3f}")

# %% [markdown]
# Each step of stochastic gradient descent draws some pairs at random, and moves every parameter
# against its gradient. The learning rate falls to 0 in a straight line, so that the noise of the
# draws dies away. `model.vector` is one array with all parameters, and `grads.vector` has their
# gradients in the same order.

# %% tags=["training"]
STEPS = 6000
PAIRS = 500
RATE = 5.0
SHOWN = [0, 1, 2, 5, 10, 20, 50, 100, 200, 500, *range(1000, STEPS + 1, 1000)]


def step(model, grads, rate, rng):
    """Draw pairs of the text, and go against the gradient; → L."""
    at = rng.integers(len(ids) - 1, size=PAIRS)
    L, cache = model.forward(ids[at], ids[at + 1])
    grads.vector[...] = 0
    model.backward(1.0, cache, grads)
    model.vector[...] -= rate * grads.vector
    return L


# %% tags=["training"]
rng = np.random.default_rng(3)
model = create(rng, V, D=24).astype(np.float32)
grads = model.zeros_like()
every = np.arange(V)
curve = {}                                      # step: perplexity
for number in range(STEPS + 1):
    if number in SHOWN:
        _, cache = model.forward(every, every)
        *_, p_after = cache                     # p after every letter, (V, V)
        curve[number] = perplexity(p_after)
        print(f"  step {number:>5}: perplexity {curve[number]:.3f}", flush=True)
    step(model, grads, RATE * (1 - number / (STEPS + 1)), rng)
above = 100 * (curve[STEPS] / floor - 1)
print(f"the last perplexity is {above:.1f} % above the floor")
assert 0 < above < 1

# %% tags=["training"]
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
excess = {number: 100 * (one / floor - 1) for number, one in curve.items()}
ax.plot(list(excess), list(excess.values()), color=plotting.COLOURS[0], marker="o", markersize=4)
level = 100 * (unigram / floor - 1)
ax.axhline(level, color=plotting.COLOURS[1], linestyle="--")
ax.text(40, level, f"letter frequencies: {level:.0f} %", va="bottom", color=plotting.COLOURS[1])
ax.set_xscale("symlog")
ax.set_xlim(-0.2, 1.3 * STEPS)
ax.set_yscale("log")
ax.set_yticks([1, 10, 100, 1000], ["1 %", "10 %", "100 %", "1000 %"])
ax.set_xlabel("step (log scale)")
ax.set_ylabel("perplexity above the floor (log scale)")
ax.set_title(f"trained with these gradients, the model ends {above:.1f} % above the floor")
show(ax, "01_training")

# %% [markdown]
# The gradients work: the perplexity ends less than one percent above the floor. A blind guess among
# all ids has a perplexity of 47. The model begins above that, because its random parameters prefer
# some letters for no reason.
#
# What does the model know after training? In the text, only "u" follows a "q". Guess how sure the
# model is of that.

# %% tags=["training"]
shown = vocabulary.encode(" abcdefghijklmnopqrstuvwxyz")
pairs = np.ix_(shown, shown)
counted = counts / np.maximum(counts.sum(1, keepdims=True), 1)
q, u = vocabulary.encode("qu")
print(f"{counts[q].sum():,.0f} of {counts.sum():,.0f} pairs begin with q")
for told, table in (("counted", counted), ("learnt by gradients", p_after)):
    print(f"{told}: after q comes u with p = {table[q, u]:.3f}")

# %% tags=["training"]
NEVER = 3e-7                                    # where we draw a counted probability of 0
figure, ax = plt.subplots(figsize=(6.5, 4.5), layout="constrained")
ax.loglog(np.maximum(counted[pairs], NEVER).ravel(), p_after[pairs].ravel(), ".",
          color=plotting.COLOURS[0], alpha=0.5, label="after other letters")
ax.loglog(np.maximum(counted[q, shown], NEVER), p_after[q, shown], "D", markersize=5,
          color=plotting.COLOURS[1], label="after q")
ax.plot([2e-6, 1], [2e-6, 1], color="black", linewidth=1)
ax.axvspan(NEVER / 3, 3 * NEVER, color="lightgrey")
ax.set_xticks([NEVER, 1e-4, 1e-2, 1], ["never", "$10^{-4}$", "$10^{-2}$", "1"])
ax.set_xticks([], minor=True)
ax.set_xlabel("counted p(y | x)")
ax.set_ylabel("learnt p(y | x)")
ax.set_title(f"on the line, learnt = counted; after q, u has p = {p_after[q, u]:.2f}")
ax.legend()
show(figure, "01_table")

# %% [markdown]
# The model saw 500 pairs at a time, and never a table of counts. Yet the likely pairs of letters
# (or space) are near the line, where learnt and counted probabilities agree. Below 10⁻³ the points
# spread, mostly upwards. In the grey band are the pairs that never occur. The softmax never gives
# them exactly 0 (lesson 00), and only 829 pairs of the text begin with "q" (orange), so few steps
# push the probabilities of other letters down after it. The model is less sure of "u" than it
# should be.
#
# Now let the model write. We begin with a "t", and draw each next letter from p(y | x).

# %% tags=["training"]
letters = [vocabulary.encode("t")[0]]
for _ in range(120):
    z = (model.E[letters[-1]] @ model.W.T + model.b).astype(np.float64)
    p = np.exp(z - z.max())
    letters.append(int(rng.choice(V, p=p / p.sum())))
print("it writes:", "".join(vocabulary.decode(letters)).replace("\n", " / "))

# %% [markdown]
# Most pairs of letters look like English, but most of the words do not. To do better, a model must
# remember more than one letter, as the network of lesson 02 will.
#
# ## The softmax by itself
#
# The last exercise prepares for attention, which needs the softmax without the logarithm: given any
# dp, what is dz? Write p_j = u_j / Z with u_j = exp(z_j) and Z = Σ_i u_i. The score z_k occurs only
# in u_k and in Z, and the derivative of each with respect to z_k is u_k. So the quotient rule gives
#
#     ∂p_j/∂z_k = [j = k] u_j / Z − u_j u_k / Z² = p_j ([j = k] − p_k)
#
# Every p_j depends on every z_k, so dz_k = Σ_j dp_j ∂p_j/∂z_k. Simplify this sum until no matrix is
# left.
#
# > **Exercise.** Write it yourself: `numpy-attention exercise start softmax`.
#
# In the part with the bracket, only the term with j = k remains:
#
#     dz_k = Σ_j dp_j p_j ([j = k] − p_k) = p_k (dp_k − Σ_j p_j dp_j)
#
# With ∘ for the product element by element, this is dz = p ∘ (dp − p · dp):

# %%
z = rng.standard_normal(5)
dp = rng.standard_normal(5)


def softmax():
    return np.exp(z) / np.exp(z).sum()


p = softmax()
check_gradient("dz", p * (dp - p @ dp), lambda: dp @ softmax(), z)

# %% [markdown]
# This explains the nudge of lesson 00. In that lesson's notation, α is the softmax of the scores e,
# x_j is the vector of word j, and c is Σ_j α_j x_j. Take one component of c as the loss. Then dα_j
# is this component of x_j, and Σ_j α_j dα_j is this component of c. So our formula, with α for p
# and e for z, gives de_j = α_j (x_j − c) for this component: the slope that lesson 00 measured.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | upstream gradient | incoming gradient, cotangent |
# | scores z | logits |
# | central differences | numerical gradient, finite differences |
# | bigram model | a Markov chain of order 1 |
# | floor | exp of the conditional entropy of the counted pairs |
#
# Most terms are in the [glossary](../docs/site/glossary.md).
#
# ## From the package
#
# | from the package | what it is |
# |---|---|
# | `Array` | an array, in type hints |
# | `Module` | a class whose array fields are parameters |
# | `gradcheck` | compares a whole backward pass with central differences |
# | `numeric_gradient` | the central differences of one array |
# | `randomize` | gives every parameter random values |
# | `relative_errors` | the relative difference of two arrays, element by element |
# | `Embedding` | the library's first layer, for comparison |
# | `Output` | the library's last layer: scores and cross-entropy |
# | `load_text` | loads a text that the library includes |
# | `Vocabulary` | numbers for letters, and back |
# | `plotting` | draws diagrams, has colours, and saves figures |

# %% [markdown]
# ## Questions
#
# 1. Sum dz over v with a pencil. What does the result tell you about db? And what happens to p if
#    you add a constant to all of b?
# 2. The rank of E Wᵀ is at most D = 24, although the matrix has 47 rows and columns. Train with
#    D = 2, 4, 8 and 16. Where does the perplexity nearly stop falling, and why?
# 3. Set RATE to 20. What happens, and which number is the first to go out of bounds?
# 4. Compute the exact gradient over the whole text from `counts`, without drawing any pairs.
# 5. Use one matrix in both places, W = E. Which line of `backward` changes? What would happen if
#    the last line had `=` instead of `+=`?
# 6. gradcheck multiplies the outputs by random numbers before it sums them. Why is the plain sum of
#    a softmax a bad loss to check with?
