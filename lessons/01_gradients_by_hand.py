# %% [markdown]
# # Lesson 01: gradients by hand
#
# Every model of this library learns by gradients that a person derived on paper and typed in. This lesson does it for
# the smallest language model there is, one that guesses the next letter from the letter before: five lines forward,
# five backward, one `dX` for every `X`. Then we measure each gradient by nudging the parameters, plant bugs to see how
# they look and where they hide, and train with `parameter -= rate * gradient` down to a floor that counting gives us.

# %%
print("Lesson 01: gradients by hand", flush=True)

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from threadpoolctl import threadpool_limits

from numpy_attention import plotting
from numpy_attention.data.corpora import load_text
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.gradcheck import GradientError, gradcheck, numeric_gradient, randomize, relative_errors
from numpy_attention.layers.embedding import Embedding
from numpy_attention.layers.output import Output
from numpy_attention.module import Array, Module

OUTPUTS = (Path(__file__).parent if "__file__" in globals() else Path()) / "outputs"
OUTPUTS.mkdir(exist_ok=True)
threadpool_limits(1, user_api="blas")           # such small products are faster in one thread than in several

# %% [markdown]
# ## The text: `bible-en`, which ships with the library, in small letters, one verse a line

# %%
text = "\n".join(" ".join(verse) for verse in load_text("bible-en", "train"))
vocabulary = Vocabulary.build([text])           # a string is a sequence of characters
ids = np.array(vocabulary.encode(text))
V = len(vocabulary)
print(f"{len(text):,} characters, {V} ids (4 of them special). It begins:\n{text[:131]}")

# %% [markdown]
# ## Forward
#
# Given the letter x, predict the letter y that follows it. N pairs at once; V letters; D numbers describe a letter.
#
#     h = E[x]                    (N, D)   a row of the table E (V, D) for each letter
#     z = h Wᵀ + b                (N, V)   a score for every possible next letter; W (V, D), b (V,)
#     p = softmax(z)              (N, V)   p_nv = e^{z_nv} / Σ_k e^{z_nk}
#     L = −1/N Σ_n log p_n,y_n    ()       cross-entropy: how surprised the model is, in nats a letter
#
# e^z overflows for large z. A constant added to a row of z does not change p, so we first subtract the row's largest.
# exp(L) is the *perplexity*: the model hesitates as if between that many equally likely letters.
#
# ## Backward
#
# Read the forward from its last line to its first, and at each line ask: *given ∂L/∂(what it made), what is
# ∂L/∂(what it used)?* We write dX for ∂L/∂X, which always has the shape of X.
#
# **L and p, in one step.** For one row with target y, −log p_y = log Σ_k e^{z_k} − z_y, so
#
#     ∂(−log p_y)/∂z_v = e^{z_v} / Σ_k e^{z_k} − [v = y] = p_v − [v = y]
#     dz = (p − onehot(y)) / N                      (N, V)
#
# The prediction minus the truth. Nothing divides by p, so nothing blows up: this is why the two are derived together.
#
# **z = h Wᵀ + b.** In indices z_nv = Σ_d h_nd W_vd + b_v. Each z_nv pulls on what made it; sum over all pulls:
#
#     db_v  = Σ_n dz_nv                 db = Σ_n dz_n     b went to every row, so every row sends a gradient back
#     dW_vd = Σ_n dz_nv h_nd            dW = dzᵀ h        (V, N)(N, D): no other choice fits where V, N, D differ
#     dh_nd = Σ_v dz_nv W_vd            dh = dz W
#
# **h = E[x].** Picking row x_n is the product onehot(x) E, so dE = onehot(x)ᵀ dh: each dh_n is *added* to the row
# that it came from. Added, because a letter may occur many times.
#
# ## The model is a dataclass, and so is its gradient
#
# `Module` makes array fields parameters, and `model.zeros_like()` the *gradient twin*, a `Bigram` whose W is ∂L/∂W.
# `backward` takes dloss = ∂(whatever follows)/∂L, which is 1 when L is the end, and *adds* to the twin: a model may be
# used twice.


# %%
@dataclass(eq=False)
class Bigram(Module):
    """p(y | x) = softmax(E[x] Wᵀ + b)."""

    E: Array  # (V, D)
    W: Array  # (V, D)
    b: Array  # (V,)

    def forward(self, x, y):
        h = self.E[x]                                       # (N, D)
        z = h @ self.W.T + self.b                           # (N, V)
        e = np.exp(z - z.max(1, keepdims=True))
        p = e / e.sum(1, keepdims=True)                     # (N, V)
        L = -np.log(p[np.arange(len(y)), y]).mean()
        return L, (x, y, h, p)

    def backward(self, dloss, cache, grad):
        x, y, h, p = cache
        # L = −1/N Σ log p_y, p = softmax(z)
        dz = (p - onehot(y, p)) * (dloss / len(y))
        # z = h Wᵀ + b
        grad.b += dz.sum(0)
        grad.W += dz.T @ h
        dh = dz @ self.W
        # h = E[x]
        grad.E += onehot(x, p).T @ dh


def onehot(ids, like):
    return np.eye(like.shape[1], dtype=like.dtype)[ids]     # (N, V)


def create(rng, V, D):
    return randomize(Bigram(np.empty((V, D)), np.empty((V, D)), np.empty(V)), rng)      # N(0, 0.5²)


# %% [markdown]
# ## Check: nudge and see
#
# The definition of a derivative is a recipe to measure it. Move one parameter by ±ε and look at L:
#
#     ∂L/∂w = (L(w + ε) − L(w − ε)) / 2ε + O(ε²)
#
# The *central* difference errs by O(ε²), since the even terms of Taylor's series cancel; (L(w + ε) − L(w)) / ε would
# err by O(ε). Two forward passes for each single number are hopeless for training and perfect for checking: they know
# nothing of the backward pass. Five letters, three numbers each, seven pairs: all different, so that a transpose has
# nowhere to hide.

# %%
rng = np.random.default_rng(1)
tiny = create(rng, V=5, D=3)
x, y = rng.integers(5, size=7), rng.integers(5, size=7)


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


L, cache = tiny.forward(x, y)
tiny.backward(1.0, cache, grad := tiny.zeros_like())
print("\nour own check, largest relative error of each gradient:")
for name, array in tiny.named_parameters():
    numeric = central(lambda: tiny.forward(x, y)[0], array, 1e-5)
    error = relative_errors(getattr(grad, name), numeric).max()
    print(f"  d{name} {array.shape}: {error:.1e}")
    assert error < 1e-6

# %%
# The library's gradcheck does the same for any Module: with a difference of four points, whose error is O(ε⁴), with a
# random gradient from above, and for inputs that are floats as well. Every layer here must pass it below 1e-6.
print("\n", gradcheck(tiny, x, y, rng=rng), sep="")

# the same three lines as the library's layers: Embedding looks up, Output scores and takes the cross-entropy
embedding, output = Embedding(tiny.E), Output(Embedding(tiny.W), tiny.b)
embedding_grad, output_grad = embedding.zeros_like(), output.zeros_like()
h, rows = embedding.forward(x)
total, dh = output.loss_and_grad(h, y, 1 / len(y), output_grad)      # the sum of −log p; 1/N is the gradient's scale
embedding.backward(dh, rows, embedding_grad)
assert np.isclose(total / len(y), L, rtol=1e-12)
for ours, theirs in ((grad.E, embedding_grad.E), (grad.W, output_grad.words.E), (grad.b, output_grad.b)):
    assert np.allclose(ours, theirs, rtol=1e-10, atol=1e-14)
print("the library's Embedding and Output give the same loss and the same gradients")

# %% [markdown]
# ## How a bug looks
#
# Three classics in `backward`, and one in `forward`. `gradcheck` raises a `GradientError` that says which gradients are
# wrong and which are right, the first line that goes wrong, what is wrong with it, and how far off an element is.


# %%
class LastWins(Bigram):
    """`E[x] += dh` looks right, but NumPy writes each repeated row once: the last occurrence of a letter wins."""

    def backward(self, dloss, cache, grad):
        x, y, h, p = cache
        dz = (p - onehot(y, p)) * (dloss / len(y))
        grad.b += dz.sum(0)
        grad.W += dz.T @ h
        grad.E[x] += dz @ self.W


class Exchanged(Bigram):
    """dh = dz Wᵀ for dh = dz W, as if W stood transposed."""

    def backward(self, dloss, cache, grad):
        Bigram(self.E, self.W.T, self.b).backward(dloss, cache, grad)


class NotAveraged(Bigram):
    """The forward takes the mean of N losses, this backward their sum."""

    def backward(self, dloss, cache, grad):
        super().backward(dloss * len(cache[1]), cache, grad)


class WrongModel(Bigram):
    """No slip in `backward`: the forward predicts x, the letter it has just read."""

    def forward(self, x, y):
        return super().forward(x, x)


def verdict(bug, model, x, y):
    """What gradcheck says of this model's parameters in a model with the bug."""
    try:
        report = gradcheck(bug(model.E.copy(), model.W.copy(), model.b.copy()), x, y, rng=np.random.default_rng(2))
        return f"PASSES, largest relative error {report.worst:.0e}"
    except (GradientError, ValueError) as error:
        return f"caught: {error}"


print("\nthe letters read:", x, "\n--- the whole report of LastWins ---\n" + verdict(LastWins, tiny, x, y))
print("\n--- the first lines of NotAveraged ---\n" + "\n".join(verdict(NotAveraged, tiny, x, y).split("\n")[:4]))

# %% [markdown]
# Read the report from its second line: where, the statement, and what is wrong with it. LastWins has wrong rows only
# where a letter occurs more than once. NotAveraged has every element 7 times too large, and there are 7 pairs.
#
# ## What a check cannot see
#
# A check compares numbers at *one* point. What makes a wrong gradient right at that point hides the bug:

# %%
square = create(rng, V=5, D=5)
print("\nthe same bugs, checked at other points:")
for name, bug, model, first, hidden in (
        ("LastWins, letters repeat", LastWins, tiny, x, False),
        ("LastWins, all letters distinct", LastWins, tiny, np.arange(5), True),
        ("Exchanged, V = 5, D = 3", Exchanged, tiny, x, False),
        ("Exchanged, V = D = 5", Exchanged, square, x, False),
        ("Exchanged, V = D = 5, W symmetric", Exchanged, Bigram(square.E, np.eye(5), square.b), x, True),
        ("Exchanged, V = D = 5, W = 0", Exchanged, Bigram(square.E, np.zeros((5, 5)), square.b), x, True),
        ("WrongModel: predicts its input", WrongModel, tiny, x, True)):
    said = verdict(bug, model, first, y[:len(first)])
    print(f"  {name:<34} {said.splitlines()[0][:84]}")
    assert said.startswith("PASSES") == hidden

# %% [markdown]
# - With distinct letters nothing repeats. **Check with ids that occur twice**, with masks, with more than one step.
# - With V ≠ D NumPy refuses the exchanged product at once; with V = D only the numbers tell, and with W = Wᵀ not even
#   these. **Choose sizes that all differ.**
# - With W = 0 the right dh is 0, and so is the wrong one. Zeros are popular initial values. **Check at random
#   parameters, biases too** (`randomize` does that).
# - The last is the deepest. A check proves that `backward` is the derivative of `forward`, at this point; not that the
#   forward is the model you meant. This one would train to perplexity 1 and have learnt nothing. Against that help
#   known results (a floor, a paper, another implementation), and suspicion of whatever is too good.
#
# ## Which ε?
#
# Too large, and Taylor's remainder, about ε² L'''/6, dominates; too small, and the rounding of L, some u = 1e-16 of
# it, is divided by 2ε. Their sum is smallest near ε ≈ u^(1/3) ≈ 5e-6; for the four-point difference near u^(1/5) ≈
# 6e-4, and it reaches further down. (Up to factors: L is rather straight here, so both minima lie further right.) In
# float32 u = 6e-8, and no ε gives a millionth: a correct backward fails there. Train in float32, check in float64.

# %%
epsilons = 10.0 ** np.arange(-11, 0.1, 0.5)
figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for name, difference, model, colour in (("2 points, float64", central, tiny, plotting.COLOURS[0]),
                                        ("4 points, float64", numeric_gradient, tiny, plotting.COLOURS[1]),
                                        ("2 points, float32", central, tiny.astype(np.float32), plotting.COLOURS[2])):
    curve = []
    for epsilon in epsilons.astype(model.dtype):
        numeric = difference(lambda: model.forward(x, y)[0], model.W, epsilon)
        curve.append(np.abs(numeric - grad.W).max() / np.abs(grad.W).max())
    ax.loglog(epsilons, curve, color=colour, marker="o", markersize=4, label=name)
    best = int(np.argmin(curve))
    print(f"{name}: smallest error {curve[best]:.0e} of the largest element, at ε = {epsilons[best]:.0e}")
ax.axhline(1e-6, color="grey", linestyle=":", label="allowed by gradcheck")
ax.set(xlabel="ε", ylabel="error ÷ largest element of dW", title="Left: rounding. Right: Taylor's remainder")
ax.legend()
print("saved", plotting.save(ax, OUTPUTS / "01_epsilon.png").name)

# %% [markdown]
# ## Train
#
# Stochastic gradient descent: take some pairs at random, and move every parameter against its gradient. That is all.
# How low can L go? No bigram model beats the shares p(y | x) = count(x, y) / count(x), which maximise the likelihood of
# the training text: there Σ dz = 0 for each x, prediction and truth agree on average. Counting gives us the floor.

# %%
counts = np.bincount(ids[:-1] * V + ids[1:], minlength=V * V).reshape(V, V).astype(float)


def perplexity(p):
    """exp of the mean −log p(y | x) over all pairs of the text, p (V, V): the counts are all that it depends on."""
    return np.exp(-(counts * np.log(np.maximum(p, 1e-300))).sum() / counts.sum())


floor = perplexity(counts / np.maximum(counts.sum(1, keepdims=True), 1))
unigram = perplexity(np.broadcast_to(counts.sum(0) / counts.sum(), (V, V)))

STEPS, PAIRS, RATE = 6000, 500, 5.0
rng = np.random.default_rng(3)
model = create(rng, V, D=24).astype(np.float32)
grad = model.zeros_like()
curve = {}                                      # step: perplexity
print(f"\nperplexity of letter frequencies {unigram:.2f}, of the best bigram {floor:.3f}; now {STEPS} steps of SGD:")
for step in range(STEPS + 1):
    if step in (0, 1, 2, 5, 10, 20, 50, 100, 200, 500) or step % 1000 == 0:
        L, (x, y, h, p) = model.forward(np.arange(V), np.arange(V))          # p after every letter, all at once
        curve[step] = perplexity(p)
        print(f"  step {step:>5}: perplexity {curve[step]:.3f}", flush=True)
    at = rng.integers(len(ids) - 1, size=PAIRS)
    L, cache = model.forward(ids[at], ids[at + 1])
    grad.vector[...] = 0
    model.backward(1.0, cache, grad)
    model.vector[...] -= RATE * (1 - step / (STEPS + 1)) * grad.vector       # all parameters are views of one vector
print(f"that is {100 * (curve[STEPS] / floor - 1):.1f} % above the floor")
assert floor < curve[STEPS] < 1.01 * floor

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
ax.plot(list(curve), list(curve.values()), color=plotting.COLOURS[0], marker="o", markersize=4, label="SGD by hand")
ax.axhline(unigram, color=plotting.COLOURS[1], linestyle="--", label=f"letter frequencies: {unigram:.2f}")
ax.axhline(floor, color=plotting.COLOURS[2], linestyle="--", label=f"bigram counts: {floor:.2f}")
ax.set(xlabel="step", ylabel="perplexity of the training text", title="SGD reaches the floor that counting gives",
       xscale="symlog", xlim=(-0.2, 1.3 * STEPS), yscale="log")
ax.set_yticks([10, 20, 50, 100], ["10", "20", "50", "100"])
ax.legend()
print("saved", plotting.save(ax, OUTPUTS / "01_training.png").name)

# %%
letters = [vocabulary.encode("t")[0]]           # what does it know? Draw letters from p(y | x), one after the other
for _ in range(120):
    z = model.E[letters[-1]] @ model.W.T + model.b
    p = np.exp(z - z.max(), dtype=np.float64)
    letters.append(int(rng.choice(V, p=p / p.sum())))
print("\nit writes:", "".join(vocabulary.decode(letters)).replace("\n", " / "))

# %% [markdown]
# ## Questions
#
# 1. Sum dz over v, by hand. What does the result say about db, and about adding one constant to all of b?
# 2. D = 24 and V = 47, so E Wᵀ has rank at most 24. Try D = 2, 4, 8. Where does perplexity stop falling, and why?
# 3. Set RATE to 20. What happens, which number overflows first, and what would clipping the gradient's norm change?
# 4. Write the exact gradient over the whole text from `counts` alone, check it, and descend along it.
# 5. Share one table: W = E. Which line of `backward` changes, and what would the gradient be with `=` for `+=`?
# 6. gradcheck weighs outputs with random numbers before it sums them. Why is a softmax's plain sum a bad loss to check?
