# %% [markdown]
# # Lesson 01: gradients by hand
#
# **You will be able to** derive a backward pass line by line, check it against central differences,
# and say what such a check proves and what hides from it.
#
# **Needs:** NumPy and the chain rule. **Time:** 40 minutes to read, about a minute to run.
#
# Every model of this course learns by gradients that a person derived on paper and typed in. Here
# you do it for the smallest language model there is: one that guesses the next letter from the
# letter before. Five lines forward, five lines backward, and for every X a dX.
#
# You will measure each gradient as soon as it is derived, by nudging and looking. Then you plant
# bugs, to see how they look and where they hide. In the end the model learns, down to a floor that
# mere counting gives us.
#
# (From `course.py` beside the lessons: `show` saves a figure, and `caught` prints the report of a
# check that must fail.)

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
# We begin with *one* pair of letters, of an alphabet of five: after a "b" came a "d". The model
# describes each letter by three numbers, a row of the table E. From the row of the letter that was
# read it makes a score for every letter that may follow, and from the scores probabilities.
#
#     h = E[x]                (3,)   the row of the letter x
#     z = W h + b             (5,)   a score for each letter
#     p = softmax(z)          (5,)   p_v = exp(z_v) / Σ_k exp(z_k), so they add up to 1
#     L = −log p_y            ()     how surprised the model is by the letter y
#
# L is 0 if the model was sure of y, and the larger, the less it expected y. We give it random
# numbers, and look at every value.

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
# We want to know how L changes with each parameter. Read the forward from its last line to its
# first, and ask at each line: *given the gradient of what it made, what is the gradient of what it
# used?* We write dX for ∂L/∂X; it always has the shape of X.
#
# And we believe nothing that we have not measured. Move one number by a little up and down, look at
# L both times: that is the slope. `numeric_gradient` does it for each number of an array.


# %%
def check_gradient(name, ours, loss, array):
    """Print the first five numbers of our gradient, and as measured; loss() reads the array."""
    measured = numeric_gradient(loss, array)
    print(f"{name:>3} by hand  {ours.ravel()[:5]}")
    print(f"    measured {measured.ravel()[:5]}")
    assert np.allclose(ours, measured, atol=1e-8)


# %% [markdown]
# **p and L in one step.** Put p_y = exp(z_y) / Σ_k exp(z_k) into L = −log p_y:
#
#     L = log Σ_k exp(z_k) − z_y
#
# The first term has the derivative exp(z_v) / Σ_k exp(z_k), which is p_v; the second −1, for v = y
# alone:
#
#     dz_v = p_v − [v = y]
#
# where [v = y] is 1 for v = y and 0 for every other v: the *one-hot* vector of y. The prediction
# minus the truth. Nothing divides by p, so nothing blows up: this is why the two
# lines are derived together. Guess the signs before you look: which scores should fall?

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
ax.set_title(f"d came: its score is pulled up by {-dz[y]:.2f}, all others down")
show(figure, "01_pull")

# %% [markdown]
# All scores should fall but that of "d". (To *lower* L we go against the gradient: the bars show
# −dz.) The more the model had expected a wrong letter, the harder it is pulled down.
#
# **z = W h + b.** In indices z_v = Σ_d W_vd h_d + b_v. Each z_v pulls on what made it; sum over all
# pulls:
#
#     db_v  = dz_v
#     dW_vd = dz_v h_d            a table: one row for each score, one column for each number of h
#     dh_d  = Σ_v dz_v W_vd       every score used h_d, so every score sends something back

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
# **h = E[x].** Only the row x was read, so only that row has a gradient. Nudge all fifteen numbers
# of E, and see whether the others do nothing:

# %%
dE = np.zeros_like(E)
dE[x] = dh
measured = numeric_gradient(lambda: loss_of(E[x]), E)
for letter, row in zip(alphabet, measured):
    print(f"measured dE, row of {letter}: {row}")
assert np.allclose(dE, measured, atol=1e-8)

# %% [markdown]
# ## Many pairs at once
#
# A text has many pairs. Take N of them together: x and y become arrays (N,), each line gets a row
# for each pair, and L becomes the mean.
#
#     h = E[x]                   (N, D)
#     z = h Wᵀ + b               (N, V)
#     p = softmax(z), by rows    (N, V)
#     L = −1/N Σ_n log p_n,y_n   ()
#
# The parameters are still *one* E, *one* W, *one* b, used N times. Whatever is used many times
# receives many gradients, and they **add up**:
#
#     dz = (p − onehot(y)) / N
#     db = Σ_n dz_n              W and b were used by every row
#     dW = dzᵀ h                 Σ_n dz_n h_nᵀ, as one product: (V, N)(N, D)
#     dh = dz W                  (N, V)(V, D)
#     dE[x_n] += dh_n            a letter that occurs twice adds twice
#
# The last line is a product too: picking row x_n is onehot(x) E, so dE = onehot(x)ᵀ dh.
#
# One more thing. exp(z) overflows for a z of 800. A constant that is added to all scores of a row
# changes no p, so we take the row's largest away first; then the largest power is e⁰ = 1.
#
# Four exercises belong here, before you see these lines in NumPy. Each is a file in which one
# backward pass is left to you, and a check says what is wrong with yours. Three ask for what you
# have just derived:
#
# > **Exercise.** Write it yourself: `numpy-attention exercise start cross-entropy`.
#
# > **Exercise.** Write it yourself: `numpy-attention exercise start embedding`.
#
# > **Exercise.** Write it yourself: `numpy-attention exercise start linear`.
#
# The fourth asks for a softmax without a loss after it, because attention will need one. Write
# p_j = u_j / Z with u_j = exp(z_j) and Z = Σ_j u_j. Each z_k moves only u_k and Z, with the slope
# u_k, so the quotient rule gives
#
#     ∂p_j/∂z_k = [j = k] u_j / Z − u_j u_k / Z² = p_j ([j = k] − p_k)
#
# Every p_j depends on every z_k, so dz_k is a sum over all j. Simplify it until no table is left.
#
# > **Exercise.** Write it yourself: `numpy-attention exercise start softmax`.
#
# Here is the model whole, in a cell marked `plain`: from now on every lesson has one that holds its
# mechanism from end to end. `Module` makes its array fields parameters, and `model.zeros_like()`
# its *gradient model*: another Bigram, whose W is ∂L/∂W. `backward` is given dloss, which is
# ∂(whatever comes after)/∂L, and 1 when L is the end. It *adds* to `grads`, since a model may be
# used twice.


# %% tags=["plain"]
@dataclass(eq=False)
class Bigram(Module):
    """p(y | x) = softmax(E[x] Wᵀ + b)."""

    E: Array  # (V, D)
    W: Array  # (V, D)
    b: Array  # (V,)

    def forward(self, x, y):
        """Letters x (N,) and those that follow y (N,) → L, cache."""
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
# ## Check: nudge and see
#
# What `numeric_gradient` does is short enough to be your own:
#
#     ∂L/∂w = (L(w + ε) − L(w − ε)) / 2ε + O(ε²)
#
# The *central* difference errs by O(ε²), since the even terms of Taylor's series cancel; with (L(w
# + ε) − L(w)) / ε the error is O(ε). Two forward passes for each single number are hopeless for
# training and perfect for checking: they know nothing of the backward pass.


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
# Five letters, three numbers each, seven pairs: all different, so that a transpose has nowhere to
# hide. And some letters twice.


# %%
def create(rng, V, D):
    """A model with parameters from N(0, 0.5²)."""
    return randomize(Bigram(np.empty((V, D)), np.empty((V, D)), np.empty(V)), rng)


rng = np.random.default_rng(1)
tiny = create(rng, V=5, D=3)
xs = rng.integers(5, size=7)
ys = rng.integers(5, size=7)
print("letters read:", xs, "letters that followed:", ys)

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
# The library's `gradcheck` does the same for any Module. Its difference has four points, and the
# error O(ε⁴). It draws the **upstream gradient**, the one that comes from above (here dloss), at
# random. (For a layer that gives an array, it draws one number for each element.) An error is
# relative to the element itself, or to a thousandth of the largest, if that is more. Every layer of
# this course must pass it below 1e-6.

# %%
print(gradcheck(tiny, xs, ys, rng=np.random.default_rng(2)))

# %% [markdown]
# The library has no Bigram, but it has its three lines: `Embedding` looks up, `Output` scores and
# takes the cross-entropy. Its table W it holds as an Embedding too, `words`, so that a model may
# use one table at both ends (question 5). It gives loss and gradient in one call, so that the table
# of all scores need not be kept: the sum of all −log p, and the gradient of it times a number, 1/N.

# %%
embedding = Embedding(tiny.E)
output = Output(Embedding(tiny.W), tiny.b)
embedding_grad = embedding.zeros_like()
output_grad = output.zeros_like()
rows_read, embedding_cache = embedding.forward(xs)
total, drows = output.loss_and_grad(rows_read, ys, 1 / 7, output_grad)
embedding.backward(drows, embedding_cache, embedding_grad)

# %%
assert np.isclose(total / 7, loss, rtol=1e-12)
assert np.allclose(grads.E, embedding_grad.E, rtol=1e-10)
assert np.allclose(grads.W, output_grad.words.E, rtol=1e-10)
assert np.allclose(grads.b, output_grad.b, rtol=1e-10)
print("the library's Embedding and Output give the same loss and the same gradients")

# %% [markdown]
# ## How a bug looks
#
# The most popular bug of this model: `E[x] += dh` looks right, but NumPy writes each repeated row
# once. The last occurrence of a letter wins, all others are lost.


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
# Read it line by line. First: which gradients are wrong, and which are right. E alone is wrong, so
# dz, from which db and dW are made, is right; that clears every line but the last. Then the line
# itself, and what is wrong with it: an id that occurs twice is added once. And an element, found
# and right, to follow with a pencil. Compare it with the letters read: its row is a letter that
# occurs more than once.
#
# The second bug: the forward takes the *mean* of N losses; this backward forgets to divide by N.


# %%
class NotAveraged(Bigram):
    def backward(self, dloss, cache, grads):
        _, y, *_ = cache
        super().backward(dloss * len(y), cache, grads)


summing = NotAveraged(tiny.E, tiny.W, tiny.b)
report = caught(check, summing, xs, ys)
wrong = summing.zeros_like()
summing.backward(1.0, cache, wrong)
print("db, each element divided by the right one:", wrong.b / grads.b)

# %% [markdown]
# Everything is wrong, and by the same factor, which happens to be the number of pairs. Factors are
# worth a thought: 2, 1/2, −1, N, the length of something.
#
# ## What a check cannot see
#
# A check compares numbers at *one* point. What makes a wrong gradient right at that point hides the
# bug. LastWins, read letters that are all distinct:


# %%
def verdict(model, x, y):
    """"PASSES", or the first line of the report."""
    try:
        check(model, x, y)
    except (AssertionError, ValueError) as error:
        first, *_ = str(error).splitlines()
        return first.partition(": Input operand")[0]        # NumPy says more than we need
    return "PASSES"


distinct = np.arange(5)
said = verdict(LastWins(tiny.E, tiny.W, tiny.b), distinct, ys[:5])
print("LastWins, where no letter occurs twice:", said)
assert said == "PASSES"

# %% [markdown]
# So: **check with ids that occur twice**, with masks, with more than one step.
#
# Next, a product with W the wrong way round, dh = dz Wᵀ for dh = dz W:


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
# With D = 3 NumPy refuses the product at once. With D = V only the numbers tell, and where W = Wᵀ
# not even they. So **choose sizes that all differ.** With W = 0 the right dh is 0 and so is the
# wrong one; and zeros are popular initial values. So **check at random parameters, biases too**;
# `randomize` does that.
#
# The last one is the deepest. There is no slip in this backward at all: the *forward* predicts x,
# the letter that it has just read.


# %%
class WrongModel(Bigram):
    def forward(self, x, y):
        return super().forward(x, x)


said = verdict(WrongModel(tiny.E, tiny.W, tiny.b), xs, ys)
print("a model that predicts what it has just read:", said)
assert said == "PASSES"

# %% [markdown]
# A check proves that `backward` is the derivative of `forward`, at this point. It does not know
# which forward you meant. This one would train to a perplexity of 1, and have learnt nothing.
# Against that help known results (a floor, a paper, another implementation), and suspicion of
# whatever is too good.
#
# ## Which ε?
#
# Too large, and Taylor's remainder wins, about ε² L'''/6 with the third derivative L'''. Too small,
# and rounding wins: a computer knows L to a relative precision u of about 1e-16, and that is
# divided by 2ε. So the error is about
#
#     ε² L'''/6 + u L/2ε
#
# Its derivative with respect to ε, ε L'''/3 − u L/2ε², is 0 where ε³ = 3 u L / (2 L'''). If L and
# L''' are of one size, that is near u^(1/3), some millionths. The difference of four points has ε⁴
# for ε², and its best ε is near u^(1/5), some ten-thousandths, with a smaller error.
#
# Here each derivative by W brings one more factor of h, and h is small, so L''' is smaller than L:
# expect both best ε a little larger. float32 has u = 6e-8. Guess what error it reaches at its best
# ε: a millionth?


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
    "2 points, float32": curve_of(central, tiny.astype(np.float32)),
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
assert curves["2 points, float32"].min() > 1e-6 > curves["2 points, float64"].min()

# %% [markdown]
# No ε gives a millionth in float32: a correct backward fails there. **Train in float32, check in
# float64.** The flat piece on the left, at exactly 1, is where a float32 does not even move when ε
# is added to it: both losses are one number, their difference is 0, and all of dW is missing.
#
# ## Train
#
# The text is `bible-en`, a modern English Bible, in small letters, one verse a line. It
# ships with the library.

# %% tags=["training"]
text = "\n".join(" ".join(verse) for verse in load_text("bible-en", "train"))
vocabulary = Vocabulary.build([text])           # a string is a sequence of letters
ids = np.array(vocabulary.encode(text))
V = len(vocabulary)
print(f"{len(text):,} letters, {V} ids, 4 of them special. It begins:\n{text[:131]}")

# %% [markdown]
# Four ids are special (padding, begin, end, unknown); later lessons need them, and no pair of this
# text has one.
#
# exp(L) is the *perplexity*: the model hesitates as if between so many equally likely letters. How
# low can it go? Suppose that the scores z after a letter x could be chosen at will. Their gradient,
# added up over all pairs of the text that begin with x, is count(x) p(y | x) − count(x, y) for each
# y: the p − onehot from above. It is 0 where p(y | x) = count(x, y) / count(x), and L is convex in
# z, so nothing is better. Counting gives us the floor before we train.


# %% tags=["training"]
def perplexity(p):
    """exp of the mean −log p(y | x) over all pairs of the text, p (V, V)."""
    return np.exp(-(counts * np.log(np.maximum(p, 1e-300))).sum() / counts.sum())


counts = np.bincount(ids[:-1] * V + ids[1:], minlength=V * V).reshape(V, V).astype(float)
floor = perplexity(counts / np.maximum(counts.sum(1, keepdims=True), 1))
unigram = perplexity(np.broadcast_to(counts.sum(0) / counts.sum(), (V, V)))
print(f"perplexity of letter frequencies {unigram:.2f}, of the best bigram {floor:.3f}")

# %% [markdown]
# Stochastic gradient descent: draw some pairs, and move every parameter against its gradient. The
# rate falls to 0 in a straight line, so that the noise of the draws dies away. `vector` is all
# parameters as one array; those of `grads` are in the same order.

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
# Every tenth step from 900 to 1,100: mean 9.78 to 9.81, standard deviation 0.05 to 0.06 (seeds 3, 4
# and 5); around 5,000: mean 9.54, standard deviation 0.01.
above = 100 * (curve[STEPS] / floor - 1)
print(f"that is {above:.1f} % above the floor")
assert 0 < above < 1

# %% tags=["training"]
figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
ax.plot(list(curve), list(curve.values()), color=plotting.COLOURS[0], marker="o", markersize=4)
for level, place, name in ((unigram, 1, "letter frequencies"), (floor, 2, "counted pairs")):
    ax.axhline(level, color=plotting.COLOURS[place], linestyle="--")
    at = 40 if level == unigram else 0
    ax.text(at, level, f"{name}: {level:.2f}", va="bottom", color=plotting.COLOURS[place])
ax.set_xscale("symlog")
ax.set_xlim(-0.2, 1.3 * STEPS)
ax.set_yscale("log")
ax.set_yticks([10, 20, 50, 100], ["10", "20", "50", "100"])
ax.set_xlabel("step (log scale)")
ax.set_ylabel("perplexity of the text (log scale)")
ax.set_title(f"gradients by hand reach the floor of counting, {above:.1f} % above it")
show(ax, "01_training")

# %% [markdown]
# It begins above V: a model of random parameters is sure of what is wrong; equal shares for all
# would be 47. And the curve does not fall all the way: 9.694 at step 1,000, 9.711 at step 2,000.
# That is the noise of the draws. While the rate is large, the perplexity goes up and down about a
# mean that falls, near 9.8 at step 1,000, where we happened to look at a low place. As the rate
# falls to 0, the trembling stops.
#
# What does it know? Guess what it expects after a "q".

# %% tags=["training"]
shown = vocabulary.encode(" abcdefghijklmnopqrstuvwxyz")
names = list("␣abcdefghijklmnopqrstuvwxyz")
counted = counts / np.maximum(counts.sum(1, keepdims=True), 1)
of_q = counts[vocabulary.encode("q")[0]].sum() / counts.sum()
print(f"q begins {of_q:.2%} of all pairs")

# %% tags=["training"]
figure, axes = plt.subplots(1, 2, figsize=(11, 5.2), sharey=True, layout="constrained")
for ax, told, table in zip(axes, ("counted", "learnt by gradients"), (counted, p_after)):
    ax.imshow(table[np.ix_(shown, shown)], cmap="cividis", vmin=0, vmax=1)
    ax.set_xticks(range(27), names)
    ax.set_yticks(range(27), names)
    ax.set_xlabel("letter that follows")
    u_after_q = table[vocabulary.encode("q")[0], vocabulary.encode("u")[0]]
    print(f"{told}: after q comes u with p = {u_after_q:.3f}")
    ax.set_title(f"{told}: after q comes u with p = {u_after_q:.2f}")
axes[0].set_ylabel("letter that was read")
show(figure, "01_table")

# %% [markdown]
# Nobody gave it the left table; it saw pairs, 500 at a time. Look for the bright column of spaces:
# many letters end a word. It is not quite there after "q", which begins 0.02 % of the pairs and so
# is seldom corrected.
#
# Now let it write: draw a letter from p(y | x), then one that follows it, and so on.

# %% tags=["training"]
letters = [vocabulary.encode("t")[0]]
for _ in range(120):
    z = (model.E[letters[-1]] @ model.W.T + model.b).astype(np.float64)
    p = np.exp(z - z.max())
    letters.append(int(rng.choice(V, p=p / p.sum())))
print("it writes:", "".join(vocabulary.decode(letters)).replace("\n", " / "))

# %% [markdown]
# Pairs that exist, words that do not. To do better it would have to remember more than one letter.
# That is lesson 02.

# %% [markdown]
# ## What others call it
#
# | here | elsewhere |
# |---|---|
# | what comes from above | upstream gradient, incoming gradient, cotangent |
# | scores z | logits |
# | central differences | numerical gradient, finite differences |
# | bigram model | a Markov chain of order 1 |
# | floor | entropy of the counts, the best loss that this model can have |
#
# All terms are in the [glossary](../docs/site/glossary.md).
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
# | `relative_errors` | how far two arrays are apart, element by element |
# | `Embedding` | the library's own first layer, for comparison |
# | `Output` | its last one: scores and cross-entropy |
# | `load_text` | a text that ships with the library |
# | `Vocabulary` | numbers for letters, and back |
# | `plotting` | diagrams, colours, pictures as files |

# %% [markdown]
# ## Questions
#
# 1. Sum dz over v, by hand. What does the result say about db, and about adding one constant to b?
# 2. D = 24, so E Wᵀ has rank 24 at most, of 47. Train with D = 2, 4, 8 and 16. Where does the
#    perplexity nearly stop falling, and why?
# 3. Set RATE to 20. What happens, and which number is the first that goes out of bounds?
# 4. Write the exact gradient over the whole text from `counts` alone, without drawing pairs.
# 5. Share one table, W = E. Which line of `backward` changes? What would `=` for `+=` do there?
# 6. gradcheck weighs outputs with random numbers before it sums them. Why is the plain sum of a
#    softmax a bad loss to check with?
