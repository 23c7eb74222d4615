# %% [markdown]
# # Lesson 06: additive attention
#
# Lesson 05 pressed a whole sentence into one vector and saw it fail on long ones. Bahdanau, Cho & Bengio (2015) keep a
# vector for *every* source word, and let the decoder look again at all of them before each word that it writes. Where
# it looks is computed, differentiable, and learnt from nothing but translations. In this lesson you will
#
# 1. derive the score, the softmax and the weighted sum, forward and backward, one dX for every X;
# 2. hold your own forty lines equal to the library's, put them into a real translator, and see a planted bug caught;
# 3. learn on a toy task why attention may point beside the right word and still be right;
# 4. train an English–Spanish translator in about a minute, and see where it looks beside the gold word alignment.

# %%
print("Lesson 06: additive attention", flush=True)

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from numpy_attention import metrics, plotting
from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.attention.memory import Memory
from numpy_attention.data.batching import pair_batch
from numpy_attention.data.corpora import load_parallel
from numpy_attention.gradcheck import GradientError, gradcheck, numeric_gradient, protocol
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.module import Array, Module
from numpy_attention.runs.trained import CHECKPOINT
from numpy_attention.runs.translator import Translator, TranslatorTraining
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.schedules import LinearDecay
from numpy_attention.training.trainer import Trainer

HERE = Path(__file__).resolve().parent if "__file__" in globals() else Path.cwd()
OUTPUTS = HERE / "outputs"
OUTPUTS.mkdir(exist_ok=True)

# %% [markdown]
# ## Forward
#
# The encoder has read a sentence of S words into annotations h_1 … h_S (D numbers each; a bidirectional GRU, so that
# h_j knows what stands before and after word j). The decoder is about to write a word; its state is the query q (Q).
#
#     a_j = W_aᵀ q + U_aᵀ h_j     (A,)   query and annotation meet in one hidden layer: they are *added*, hence the name
#     x_j = tanh(a_j)             (A,)
#     e_j = v_a · x_j             ()     the score: how well does word j serve what is to be written now?
#     α   = softmax(e)            (S,)   α_j = exp(e_j) / Σ_k exp(e_k): positive, they add up to 1
#     c   = Σ_j α_j h_j           (D,)   the context: an average of annotations, close to one of them where α is sharp
#
# W_a (Q, A), U_a (D, A) and v_a (A,) are learnt. In code a vector is a row, so W_aᵀ q is `q @ W_a`.
#
# ## Backward
#
# Given dc = ∂L/∂c, walk the lines in reverse.
#
# **c = Σ_j α_j h_j.** Two factors, two gradients: dα_j = dc · h_j, and the first half of dh_j = α_j dc. So a word that
# was hardly looked at hardly learns: α_j scales all that flows back to it this way.
#
# **α = softmax(e).** Every score moves every weight, so the derivative is a matrix:
#
#     ∂α_j/∂e_k = α_j (1[j = k] − α_k)          Jacobian J = diag(α) − α αᵀ
#     de_k = Σ_j dα_j ∂α_j/∂e_k = α_k (dα_k − Σ_j α_j dα_j)
#
# Read the last line aloud: a score falls if a look at that word raises the loss by *more than the average* look does.
# No S × S matrix is ever built, one dot product replaces it. And Σ_k de_k = 0, since a common shift changes nothing.
#
# **e_j = v_a · x_j.** dv_a = Σ_j de_j x_j, and dx_j = de_j v_a.
#
# **x_j = tanh(a_j).** da_j = dx_j ∘ (1 − x_j²).
#
# **a_j = W_aᵀ q + U_aᵀ h_j.** Here q is used S times, once for each word, so its gradients add up over j:
# dq = W_a Σ_j da_j and dW_a = q (Σ_j da_j)ᵀ. Each h_j was used a second time, as a key: dh_j += U_a da_j, and
# dU_a = Σ_j h_j da_jᵀ. That makes h_j learn on two paths, *what to say* (the value) and *when to be found* (the key).

# %%
rng = np.random.default_rng(0)
e, dalpha = rng.standard_normal(5), rng.standard_normal(5)
alpha = np.exp(e) / np.exp(e).sum()
by_matrix, in_one_line = dalpha @ (np.diag(alpha) - np.outer(alpha, alpha)), alpha * (dalpha - alpha @ dalpha)
numeric = numeric_gradient(lambda: dalpha @ np.exp(e) / np.exp(e).sum(), e)
assert np.allclose(by_matrix, in_one_line) and np.allclose(numeric, in_one_line)
print("\nde of a softmax: by its Jacobian, in one line, by central differences", by_matrix, in_one_line, numeric, sep="\n  ")

# %% [markdown]
# ## A batch of sentences, and many target words
#
# Two things change in practice. Sentences have different lengths, so a mask (B, S) says which places hold a word; the
# others get weight exactly 0. And U_a h_j does not depend on the query, so it is computed once a sentence, not once a
# target word. Hence the protocol of this library, two methods forward and two backward:
#
#     read            once a sentence: the keys k_j = h_j U_a
#     step            once a target word: score, softmax, sum
#     step_backward   adds ∂L/∂h and ∂L/∂k of this target word to dmemory
#     read_backward   once a sentence: what all target words left in dmemory goes through U_a
#
# A module is a dataclass of arrays; its gradient `grad` has the same fields, and every use adds to them.


# %%
@dataclass(eq=False)
class PlainAttention(Module):
    """Additive attention in plain NumPy: query (B, Q), values (B, S, D), mask (B, S) → context (B, D), α (B, S)."""

    W_a: Array  # (Q, A)
    U_a: Array  # (D, A)
    v_a: Array  # (A,)

    def read(self, values, mask):
        return Memory(values, values @ self.U_a, mask)                                  # keys (B, S, A)

    def step(self, query, memory, t):
        x = np.tanh((query @ self.W_a)[:, None] + memory.keys)                          # (B, S, A)
        e = np.where(memory.mask, x @ self.v_a, -np.inf)                                # (B, S): exp(−∞) = 0
        weights = np.exp(e - e.max(1, keepdims=True))
        weights /= weights.sum(1, keepdims=True)
        context = (weights[:, :, None] * memory.values).sum(1)                          # (B, D)
        return context, weights, (memory, query, x, weights)

    def step_backward(self, dcontext, dweights, cache, dmemory, grad):
        memory, query, x, weights = cache
        dalpha = (memory.values * dcontext[:, None]).sum(2)                             # c = Σ α_j h_j
        dmemory.values += weights[:, :, None] * dcontext[:, None]
        dalpha += 0 if dweights is None else dweights                                   # where the loss reads α itself
        de = self.softmax_backward(dalpha, weights)                                     # α = softmax(e)
        grad.v_a += np.tensordot(de, x, 2)                                              # e = x v_a
        da = de[:, :, None] * self.v_a * (1 - x**2)                                     # x = tanh(a)
        dmemory.keys += da                                                              # a = q W_a + k
        total = da.sum(1)
        grad.W_a += query.T @ total
        return total @ self.W_a.T                                                       # dq (B, Q)

    def softmax_backward(self, dalpha, alpha):
        return alpha * (dalpha - (alpha * dalpha).sum(1, keepdims=True))

    def read_backward(self, memory, dmemory, grad):
        grad.U_a += np.tensordot(memory.values, dmemory.keys, ((0, 1), (0, 1)))         # k = h U_a
        return dmemory.values + dmemory.keys @ self.U_a.T                               # dh (B, S, D)


B, S, T, Q, D, A = 2, 5, 7, 3, 4, 6                     # a transpose cannot hide behind equal sizes
mask = np.array([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], bool)                               # the second sentence is shorter
queries, values = rng.standard_normal((T, B, Q)), rng.standard_normal((B, S, D))
arrays = [rng.standard_normal(shape) for shape in ((Q, A), (D, A), (A,))]
plain, package = PlainAttention(*arrays), AdditiveAttention(*arrays)


def check(attention):
    forward, backward = protocol(attention, mask)       # T queries in turn; the loss reads contexts and weights
    return gradcheck(attention, queries, values, rng=np.random.default_rng(1), forward=forward, backward=backward)


print("", check(plain), check(package), sep="\n")
results = []
for attention in (plain, package):
    forward, backward = protocol(attention, mask)
    contexts, weights, cache = forward(queries, values)
    grad = attention.zeros_like()
    results.append((contexts, weights, *backward(contexts**2, weights**3, cache, grad),
                    *(array for _, array in grad.named_parameters())))
assert all(np.allclose(ours, theirs, rtol=1e-10) for ours, theirs in zip(*results))
assert (results[0][1][:, ~mask] == 0).all()
print("plain form and package agree to 1e-10, forward and backward; masked words got weight exactly 0")

# %% [markdown]
# ### How a bug looks
#
# The usual mistake: treat the softmax as if α_k depended on e_k alone, de = α ∘ dα. It has the right shape and often the
# right sign, and a model trained with it learns something. The check is not fooled.


# %%
class Forgetful(PlainAttention):
    def softmax_backward(self, dalpha, alpha):
        return alpha * dalpha


try:
    check(Forgetful(plain.W_a, plain.U_a, plain.v_a))
except GradientError as error:
    print("\nplanted bug, caught:", str(error).split("\n")[0])
else:
    raise AssertionError("the planted bug went unnoticed")

# %% [markdown]
# ## Into the translator
#
# The whole model, equations in `models/rnnsearch.py`: annotations from a bidirectional GRU; for each target word i the query
# s_{i−1} gives c_i, and a GRU that reads the previous word and c_i gives s_i. Unlike the paper, for small models: lesson 04's
# after/old GRU, p(y_i) read from s_i (its appendix: from s_{i−1}), Glorot's weights. With our plain form nothing changes:

# %%
model = RNNSearch.create(rng, 12, 12, embedding=8, hidden=8, reset="after", update="old", readout="current", init="modern")
batch = pair_batch([[4, 5, 6, 7], [8, 9]], [[7, 6, 5, 4], [9, 8]])
swapped = model.copy()
swapped.attention = PlainAttention(*(array.copy() for _, array in model.attention.named_parameters()))
grads = [m.zeros_like() for m in (model, swapped)]
losses = [m.loss_and_grad(batch, None, 1.0, g)[0] for m, g in zip((model, swapped), grads)]
assert np.allclose(losses[0], losses[1], rtol=1e-5) and np.allclose(grads[0].vector, grads[1].vector, atol=1e-5)
print(f"\na translator with the package's attention: loss {losses[0]:.5f}; with ours: {losses[1]:.5f}")

# %% [markdown]
# ## A toy: must the largest weight stand on the right word?
#
# Task: read digits, write them in reverse. Word i of the target *is* word S − 1 − i of the source, so the gold alignment
# is known. We train twice: with initial embeddings from N(0, 0.1²), and from N(0, 1), the default of some frameworks,
# at twice the learning rate.


# %%
def fit(translator, pairs, epochs, rate, valid=None, minutes=None, path=None, threads=None, progress=False):
    """Adam, its rate falling in a straight line to a twentieth; → the Trainer."""
    batches = translator.batches(pairs)
    trainer = Trainer(translator.model, Adam(rate), batches, translator.batches(valid) if valid else None,
                      rng=np.random.default_rng(translator.training.seed), clip=translator.training.clip, path=path,
                      schedule=LinearDecay(epochs * len(batches), 0.05), about=translator.configuration(),
                      threads=threads, progress=progress)
    trainer.fit(epochs, minutes)
    trainer.use_best()
    return trainer


def neighbours(translator, pairs):
    """How often a linear map reads digit j − 1, j and j + 1 off the annotation h_j (least squares, half held out)."""
    batch = translator.batches(pairs, len(pairs)).batch(range(len(pairs)))
    memory, *_ = translator.model.encode(batch.source, batch.source_mask)
    ids, inner = batch.source.T, (batch.source.T > 3)[:, 1:-1]                          # digits with two neighbours
    h, shares = memory.values[:, 1:-1][inner], []
    half = len(h) // 2
    for offset in (-1, 0, 1):
        digit = np.roll(ids, -offset, 1)[:, 1:-1][inner]
        solution = np.linalg.lstsq(h[:half], np.eye(14)[digit[:half]], rcond=None)[0]   # 10 digits, 4 special ids
        shares.append(((h[half:] @ solution).argmax(1) == digit[half:]).mean())
    return shares


SETTINGS = {"init": "modern", "reset": "after", "update": "old", "readout": "current"}
digits = dict(vocabulary_size=10, min_length=3, max_length=8)
train = load_parallel("reverse", "train", np.random.default_rng(3), 16_000, **digits)
test = load_parallel("reverse", "test", np.random.default_rng(3), 500, **digits)
print("\nreverse, two trainings of some seconds each:")
for spread, rate in ((0.1, 4e-3), (1.0, 8e-3)):
    toy = Translator.create(train, "rnnsearch", {"hidden": 48, "embedding": 64, **SETTINGS})
    toy.model.source_embedding.E *= spread / 0.1
    toy.model.target_embedding.E *= spread / 0.1
    fit(toy, train, 3, rate, threads=1)
    right = metrics.exact_match([t.target for t in toy.translate([p.source for p in test], beam=1)],
                                [p.target for p in test])
    weights = toy.attend(test)
    before, itself, after = neighbours(toy, test)
    print(f"  embeddings N(0, {spread:g}²): {right:.1%} of 500 held-out sequences exactly right\n"
          f"    largest weight on the gold digit {metrics.pointing_accuracy(weights, test):.1%}, "
          f"at most one beside it {metrics.near_pointing(weights, test):.1%}\n"
          f"    read off h_j by a linear map: digit j − 1 {before:.0%}, digit j {itself:.0%}, digit j + 1 {after:.0%} "
          "(chance: 10 %)", flush=True)
aside = max(range(len(test)), key=lambda n: sum(weights[n][j].argmax() != i for i, j in test[n].sure))
ax = plotting.attention_heatmap(weights[aside], [*test[aside].source, "</s>"], [*test[aside].target, "</s>"],
                                gold=test[aside].sure, title="reverse, embeddings N(0, 1)")
print("saved", plotting.save(ax, OUTPUTS / "06_reverse.png").name)

# %% [markdown]
# Both models reverse; yet one of them now and then looks a place aside. Nothing in the loss asks for the gold cell: all
# that counts is that the digit can be read from the context. And it can be read from more than one place, as the linear
# maps show: h_j comes from two GRUs that passed by its neighbours a step before, so it carries them along. Which place
# wins is decided early, by chance, initial values and learning rate. So read weights as *where the model found it*, and
# measure "within one position" besides exact pointing. The figure shows where the second model looks aside most.
#
# ## Real text
#
# `bible-en-es` ships with the library: clauses of the King James Version and the Reina-Valera 1909 Bible, both tagged
# with Strong's numbers, one for each Hebrew or Greek word. So we know which words translate each other. The model never
# sees these links; they are kept for measuring. We take clauses of up to 7 tokens.

# %%
corpus = {"name": "bible-en-es", "part": "clauses", "max_length": 7}
train, valid, test = (load_parallel(split=split, **corpus) for split in ("train", "valid", "test"))
print(f"\nbible-en-es: {len(train):,} clauses to learn from, {len(valid)} to choose by, {len(test)} to test on, such as")
for pair in [pair for pair in test if len(pair.sure) > 2][:3]:
    print(f"  {' '.join(pair.source)}  →  {' '.join(pair.target)}  ",
          ", ".join(f"{pair.source[i]}–{pair.target[j]}" for i, j in sorted(pair.sure)))

# %%
EPOCHS, MINUTES = 4, 1.25
run = HERE.parent / "runs" / "lesson-06"
path = run / CHECKPOINT
path.unlink(missing_ok=True)                            # always from the start; a Trainer could also resume from it
translator = Translator.create(train, "rnnsearch", {"embedding": 128, "hidden": 128, "dropout": 0.2, **SETTINGS},
                               TranslatorTraining(EPOCHS, MINUTES, learning_rate=3e-3, min_count=3), corpus)
print(f"{translator.model.size:,} parameters; {len(translator.source_vocabulary):,} English and "
      f"{len(translator.target_vocabulary):,} Spanish words, those seen three times or more. Training:", flush=True)
trainer = fit(translator, train, EPOCHS, translator.training.learning_rate, valid, MINUTES, path, progress=True)
steps = EPOCHS * len(translator.batches(train))
if trainer.step < steps:
    print(f"  (the budget of {MINUTES} minutes ended it after {trainer.step:,} of {steps:,} steps: a slow or busy machine)")
print("saved", plotting.save(plotting.learning_curves(trainer.history), OUTPUTS / "06_learning.png").name, flush=True)

# %% [markdown]
# ## What it learnt
#
# BLEU counts the words, pairs, triples and fours of words that a translation shares with the one in the book.
# *Pointing accuracy*: fed with the words of the book, how often does a target word put its largest weight on the
# source word that its gold link names? The diagonal, always looking at the same relative place, is hard to beat on such
# short clauses, so look also at those in which links cross.

# %%
crossings = [sum(i < k and j > m for i, j in pair.sure for k, m in pair.sure) for pair in test]
figures = translator.measure(test)
weights = translator.attend(test)
crossed = np.flatnonzero(crossings)
some, gold = [weights[n] for n in crossed], [test[n] for n in crossed]
pointing, diagonal = metrics.pointing_accuracy(some, gold), metrics.diagonal_pointing(gold)
print("\nheld-out test clauses: BLEU {bleu:.1f} (beam 5), {bleu_greedy:.1f} (greedy); perplexity {perplexity:.2f}"
      .format(**figures))
print(f"pointing accuracy {figures['pointing']:.3f}, diagonal {figures['diagonal']:.3f}; in the {len(gold)} clauses whose "
      f"links cross {pointing:.3f}, diagonal {diagonal:.3f}")
assert trainer.step < steps or figures["bleu"] >= 18 and figures["pointing"] > figures["diagonal"] + 0.02

for pair, found in zip(test[:50:10], translator.translate([pair.source for pair in test[:50:10]])):
    print(f"  {' '.join(pair.source):<40} → {' '.join(found.target):<40} | book: {' '.join(pair.target)}")

# %% [markdown]
# ## Where it looks
#
# Of the test clauses with crossing links, at least four links and only known words, the one whose translation shares
# most words with the book: a kind choice, so look at others too. Gold links are outlined. Each row's weights were
# computed *before* its word was known.

# %%
known = [n for n in crossed if len(test[n].sure) > 3 and not translator.target_vocabulary.unknown_share([test[n].target])]
found = translator.translate([test[n].source for n in known])
shares = [len({*test[n].target} & {*t.target}) / len(test[n].target) for n, t in zip(known, found)]
n, pair = known[np.argmax(shares)], test[known[np.argmax(shares)]]
ax = plotting.attention_heatmap(weights[n], [*pair.source, "</s>"], [*pair.target, "</s>"], pair.sure, pair.possible)
picture = plotting.save(ax, OUTPUTS / "06_attention.png")
print(f"\nsaved {os.path.relpath(picture)}: {' '.join(pair.source)} → {' '.join(pair.target)}")
print(f"saved the run in {os.path.relpath(run)}; translate with it:\n\n"
      f'    numpy-attention translate {os.path.relpath(run)} "{" ".join(pair.source)}" --heatmap attention.png\n')

# %% [markdown]
# ## Questions
#
# 1. Show from de = α ∘ (dα − Σ α dα) that a softmax which is almost one-hot hardly learns. Why can attention get stuck?
# 2. With v_a = 0 at the start (as in the paper), which of dW_a, dU_a, dv_a, dq are zero in the first step?
# 3. Leave out the tanh. Show that the query then no longer changes where the model looks.
# 4. Write a bilinear attention, e_j = q W h_jᵀ, with the same four methods; check it, and train `reverse` with it.
# 5. Let the toy read from left to right: `toy.model.encoder = GRU.create(rng, 64, 96)`, and a `toy.model.W_s` of (96, 48).
#    To which side may the largest weight stray now, and what does `neighbours` say?
# 6. In the book, `the holy ghost came on them ;` is `vino sobre ellos el espíritu santo ;`. Draw it. Why is it hard?
# 7. A target word with two sure links can be right for one of them only: what is the best pointing accuracy possible?
