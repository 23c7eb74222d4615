# %% [markdown]
# # Lesson 08: scaled dot-product attention, and many heads
#
# Luong's scores (lesson 07) asked with the decoder's state and used each annotation twice, to be found and to be said.
# Vaswani et al. (2017) give each role a projection of its own, queries, keys and values, score by a dot product divided
# by √d_k, and run several such attentions side by side. You will measure why q · k must be divided, and what exactly
# vanishes if it is not; derive attention over (Q, K, V) for all queries at once, then many heads; meet a bug that no
# gradient check can see; and train one small translator with and without the division, and look at its heads.

# %%
print("Lesson 08: scaled dot-product attention", flush=True)

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from numpy_attention import metrics, plotting
from numpy_attention.attention.general import GeneralAttention
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.attention.scaled_dot import ScaledDotProductAttention
from numpy_attention.data.corpora import load_parallel
from numpy_attention.data.grammar import phenomena
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.gradcheck import GradientError, gradcheck, randomize
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.module import Array, Module
from numpy_attention.runs.translator import Translator, TranslatorTraining
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.schedules import LinearDecay
from numpy_attention.training.trainer import Trainer

OUTPUTS = (Path(__file__).parent if "__file__" in globals() else Path()) / "outputs"
OUTPUTS.mkdir(exist_ok=True)

# %% [markdown]
# ## Why divide by √d_k
#
# Let the d_k components of q and k be independent, with mean 0 and variance 1. Each product q_i k_i has mean
# E[q_i] E[k_i] = 0 and variance E[q_i²] E[k_i²] = 1. The products are independent, so their variances add up:
# Var(q · k) = d_k, standard deviation √d_k, and Var(q · k / √d_k) = 1. Scores that far apart saturate a softmax: the largest
# takes all. And a saturated softmax has no slope: its Jacobian J = diag(α) − α αᵀ (lesson 06) is 0 where α is one-hot. What
# reaches the query through it is J K (/ √d_k if scaled). We measure all of that: 2,000 random queries, ten keys each.


# %%
def softmax(e):
    a = np.exp(e - e.max(-1, keepdims=True))
    return a / a.sum(-1, keepdims=True)


rng, SIZES, medians = np.random.default_rng(0), (1, 4, 16, 64, 256, 1024), {False: [], True: []}
print("\n            without the division:                            divided by √d_k:\n"
      "   d_k   Var(q·k)  largest α  ‖J‖    ‖JK‖ mean  median     largest α  ‖J‖    ‖JK‖ mean  median")
for d_k in SIZES:
    q, k = rng.standard_normal((2_000, 1, d_k), np.float32), rng.standard_normal((2_000, 10, d_k), np.float32)
    e, line = (q @ k.transpose(0, 2, 1))[:, 0].astype(float), ""
    assert abs(e.var() / d_k - 1) < 0.2
    for scaled in (False, True):
        alpha = softmax(e / (scale := d_k**0.5 if scaled else 1))
        J = alpha[:, :, None] * (np.eye(10) - alpha[:, None])
        norms = np.linalg.norm(J @ k / scale, axis=(1, 2))
        medians[scaled].append(np.median(norms))
        line += (f"  {alpha.max(1).mean():9.2f}  {np.linalg.norm(J, axis=(1, 2)).mean():.3f}  {norms.mean():9.2f}  "
                 f"{medians[scaled][-1]:<8.2g} ")
    print(f"  {d_k:4}  {e.var():9.1f}{line}")
assert medians[False][-1] < 0.01 and 0.2 < min(medians[True]) and max(medians[True]) < 0.5

# %% [markdown]
# The variance is d_k; divided, everything stays where it is. Without the division ‖J‖ falls: the gradient vanishes, the text
# books say. The last columns say it more precisely. J K has the keys in it, which are √d_k long, so the *mean* gradient does
# not vanish: the few queries that hesitate between two keys get very large ones. It is the *median* query that gets none,
# and only beyond d_k = 64; before, it gets more than its share.

# %%
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
for (scaled, values), colour, marker in zip(medians.items(), plotting.COLOURS, plotting.MARKERS):
    ax.loglog(SIZES, values, color=colour, marker=marker, label="q · k / √d_k" if scaled else "q · k")
ax.set(xlabel="d_k", ylabel="median ‖J K‖, divided ‖J K‖ / √d_k", title="the gradient that reaches a query")
ax.legend()
print("saved", plotting.save(figure, OUTPUTS / "08_gradient.png").name)

# %% [markdown]
# ## Forward
#
# X (T, N) asks, M (S, D) is asked; in a translator decoder states and annotations, in self-attention the same matrix.
#
#     Q = X W_q + b_q   (T, d)      K = M W_k   (S, d)      V = M W_v + b_v   (S, d_v)
#     E = Q Kᵀ / √d                 (T, S)   every query with every key
#     A = softmax(E), row by row    (T, S)   0 where a query must not look
#     Y = A V                       (T, d_v)
#
# This is Luong's *general* in a new shape: (x W_q) · (m W_k) = x (W_q W_kᵀ) mᵀ, so W_a = W_q W_kᵀ, of rank d at most. New is
# that the value is no longer the key, and that nothing depends on the step before: all T queries go at once. Keys have no
# bias: q · b_k would be added to all scores of a query, and a softmax takes out what is common.
#
# ## Backward
#
# Given dY, in reverse, one dX for every X:
#
#     Y = A V             dV = Aᵀ dY,  dA = dY Vᵀ
#     A = softmax(E)      dE = A ∘ (dA − rowsum(A ∘ dA))            lesson 06, a row a query
#     E = Q Kᵀ / √d       dQ = dE K / √d,  dK = dEᵀ Q / √d
#     Q = X W_q + b_q     dW_q = Xᵀ dQ,  db_q = Σ_t dQ_t,  dX = dQ W_qᵀ
#     K = M W_k           dW_k = Mᵀ dK,  dM = dK W_kᵀ
#     V = M W_v + b_v     dW_v = Mᵀ dV,  db_v = Σ_s dV_s,  dM += dV W_vᵀ
#
# ## Many heads
#
# One softmax can look at one thing at a time, or at an average of two. So cut Q, K and V into h blocks of columns, d/h
# wide, attend in each block by itself (dividing by √(d/h), a block's width), put the h results side by side again and mix
# them: Y = [head_1 … head_h] W_o + b_o. In code, with a batch of B sentences, *splitting* is
#
#     (B, T, d)  reshape→  (B, T, h, d/h)  transpose→  (B, h, T, d/h)        head before time: then one matmul does all
#
# and *joining* the way back. Both only move numbers about, so the backward of one is the other.


# %%
def attention(q, k, v, visible, scale):
    """q (…, T, d), k (…, S, d), v (…, S, d_v), visible broadcasts to (…, T, S) → (…, T, d_v), weights, cache."""
    weights = softmax(np.where(visible, q @ k.swapaxes(-1, -2) * scale, -np.inf))
    return weights @ v, weights, (q, k, v, weights, scale)


def attention_backward(dy, dweights, cache):
    """→ dq, dk, dv."""
    q, k, v, weights, scale = cache
    dA = dy @ v.swapaxes(-1, -2) + dweights
    dE = weights * (dA - (weights * dA).sum(-1, keepdims=True)) * scale
    return dE @ k, dE.swapaxes(-1, -2) @ q, weights.swapaxes(-1, -2) @ dy


@dataclass(eq=False)
class PlainMultiHead(Module):
    """The equations above; fields as in numpy_attention.attention.multi_head.MultiHeadAttention."""

    W_q: Array  # (Q, d)
    b_q: Array  # (d,)
    W_k: Array  # (D, d)
    W_v: Array  # (D, d)
    b_v: Array  # (d,)
    W_o: Array  # (d, O)
    b_o: Array  # (O,)
    heads: int

    def split(self, x):
        return x.reshape(*x.shape[:2], self.heads, -1).transpose(0, 2, 1, 3)

    def join(self, x):
        x = x.transpose(0, 2, 1, 3)
        return x.reshape(*x.shape[:2], -1)

    def look(self, X, M, visible):
        """→ the heads' outputs (B, h, T, d/h), weights (B, h, T, S), cache."""
        q, k, v = map(self.split, (X @ self.W_q + self.b_q, M @ self.W_k, M @ self.W_v + self.b_v))
        return attention(q, k, v, visible[:, None], 1 / np.sqrt(q.shape[-1]))

    def forward(self, X, M, visible):
        """X (B, T, N), M (B, S, D), visible (B, T, S) → (B, T, O), the heads' mean weights (B, T, S), cache."""
        y, weights, cache = self.look(X, M, visible)
        joined = self.join(y)
        return joined @ self.W_o + self.b_o, weights.mean(1), (X, M, joined, cache)

    def backward(self, dy, dweights, cache, grad):
        """→ dX (B, T, Q), dM (B, S, D)."""
        X, M, joined, cache = cache
        grad.W_o += np.tensordot(joined, dy, ((0, 1), (0, 1)))
        grad.b_o += dy.sum((0, 1))
        parts = attention_backward(self.split(dy @ self.W_o.T), dweights[:, None] / self.heads, cache)
        dq, dk, dv = map(self.join, parts)
        for W, x, d in ((grad.W_q, X, dq), (grad.W_k, M, dk), (grad.W_v, M, dv)):
            W += np.tensordot(x, d, ((0, 1), (0, 1)))
        grad.b_q += dq.sum((0, 1))
        grad.b_v += dv.sum((0, 1))
        return dq @ self.W_q.T, dk @ self.W_k.T + dv @ self.W_v.T


# %% [markdown]
# ## Check
#
# The function, then three heads; each against the library, and the heads against a loop with slices, without transposes.

# %%
rng, (B, T, S, Q, D, d, O, heads) = np.random.default_rng(1), (2, 4, 5, 3, 7, 6, 8, 3)
X, M, visible = rng.standard_normal((B, T, Q)), rng.standard_normal((B, S, D)), rng.random((B, T, S)) < 0.7
visible[:, :, 0] = True                                  # every query sees something
q, k, v, dy, dweights = (rng.standard_normal((B, *shape)) for shape in ((T, d), (S, d), (S, D), (T, D), (T, S)))
print("", gradcheck(None, q, k, v, rng=rng, forward=lambda q, k, v: attention(q, k, v, visible, d**-0.5), title="attention",
                    backward=lambda dy, dweights, cache, grad: attention_backward(dy, dweights, cache)), sep="\n")
(*ours, cache), (*theirs, known) = attention(q, k, v, visible, d**-0.5), ScaledDotProductAttention().forward(q, k, v, visible)
ours += attention_backward(dy, dweights, cache)
theirs += ScaledDotProductAttention().backward(dy, dweights, known)
assert all(np.allclose(a, b, rtol=1e-10, atol=1e-12) for a, b in zip(ours, theirs))
assert np.allclose(attention(q, k + rng.standard_normal(d), v, visible, 1)[1], attention(q, k, v, visible, 1)[1])
W_q, W_k = rng.standard_normal((Q, 2)), rng.standard_normal((D, 2))
general = GeneralAttention(W_q @ W_k.T)
assert np.allclose(general.step(X[:, 0], general.read(M, np.ones((B, S), bool)), 0)[1],
                   softmax(np.einsum("bd,bsd->bs", X[:, 0] @ W_q, M @ W_k)))

package = randomize(MultiHeadAttention.create(rng, Q, D, d, O, heads, dtype=np.float64), rng)
arrays = [array for _, array in package.named_parameters()]
plain = PlainMultiHead(*arrays, heads)


def check(layer):
    return gradcheck(layer, X, M, rng=np.random.default_rng(2), forward=lambda X, M: layer.forward(X, M, visible),
                     backward=layer.backward)


print(check(plain))
results, dy = [], rng.standard_normal((B, T, O))
for layer in (plain, package):
    y, weights, cache = layer.forward(X, M, visible)
    grad = layer.zeros_like()
    results.append((y, weights, *layer.backward(dy, dweights, cache, grad), grad.vector))
assert all(np.allclose(a, b, rtol=1e-10, atol=1e-12) for a, b in zip(*results))
loop = [attention(X @ plain.W_q[:, i:i + 2] + plain.b_q[i:i + 2], M @ plain.W_k[:, i:i + 2],
                  M @ plain.W_v[:, i:i + 2] + plain.b_v[i:i + 2], visible, 2**-0.5)[0] for i in (0, 2, 4)]
assert np.allclose(np.concatenate(loop, 2) @ plain.W_o + plain.b_o, results[0][0])
print("plain form, library and a loop over heads agree; a key's bias changes nothing; general is W_q W_kᵀ")

# %% [markdown]
# ### A bug that is caught, and one that is not
#
# Leave out the transpose: reshape (B, T, d) to (B, h, T, d/h) at once. Every shape fits. If only the *backward* pass does
# it, the check says so. If the forward pass does it too, they fit together again and the check passes: it cannot know what
# the forward was meant to compute. What catches it is a *law*: a word that no query may see changes nothing.


# %%
class JoinsWrong(PlainMultiHead):
    def backward(self, dy, dweights, cache, grad):
        return Scrambled(*arrays, heads).backward(dy, dweights, cache, grad)


class Scrambled(PlainMultiHead):
    def split(self, x):
        return x.reshape(len(x), self.heads, x.shape[1], -1)

    def join(self, x):
        return x.reshape(len(x), x.shape[2], -1)


def leak(layer):
    """How far the outputs move if the last word does, which no query may see."""
    hidden, changed = visible.copy(), M.copy()
    hidden[:, :, -1] = False
    changed[:, -1] += 1
    return np.abs(layer.forward(X, changed, hidden)[0] - layer.forward(X, M, hidden)[0]).max()


try:
    check(JoinsWrong(*arrays, heads))
except GradientError as error:
    print("\nplanted in the backward pass, caught:", str(error).split("\n")[0])
else:
    raise AssertionError("the planted bug went unnoticed")
check(scrambled := Scrambled(*arrays, heads))
print(f"planted in both passes, the gradient check passes; but a hidden word moves the outputs by {leak(scrambled):.2f}; "
      f"as it should be: {leak(plain):.0f}")
assert leak(plain) == 0 < 0.01 < leak(scrambled)

# %% [markdown]
# ## With and without the division
#
# Lesson 07's translator and task: GRU, bidirectional encoder, `grammar-en-fr`; the attention a `MultiHeadAttention` with d
# numbers in all. The argument above asks for q and k of variance 1, as layer norm (lesson 09) makes them in a Transformer.
# Here we rescale W_q and W_k before training, until they measure 1.

# %%
EPOCHS, MINUTES, SEED = 3, 0.7, 1
train = load_parallel("grammar-en-fr", "train", np.random.default_rng(3), 8_000)
test = load_parallel("grammar-en-fr", "test", np.random.default_rng(4), 300)
vocabularies = [Vocabulary.build(side) for side in ([p.source for p in train], [p.target for p in train])]
SETTINGS = dict(embedding=64, hidden=64, layers=1, cell="gru", bidirectional=True, input_feeding=False, init=0.25)


def ask(translator, pairs):
    """The decoder's states under teacher forcing (B, T, H), the annotations (B, S, H), and their masks."""
    batch = translator.batches(pairs, len(pairs)).batch(range(len(pairs)))
    state, queries = translator.model.start(batch.source, batch.source_mask), []
    for words in batch.target_in:
        _, _, state = translator.model.next(words, state)
        queries.append(state.cells[0])
    return np.stack(queries, 1), state.memory.values, batch.target_mask.T, batch.source_mask.T


def create(size, heads, scaled):
    model = LuongTranslator.create(np.random.default_rng(SEED), *map(len, vocabularies), **SETTINGS)
    model.attention = MultiHeadAttention.create(np.random.default_rng(SEED), 64, 64, size, heads=heads, scaled=scaled)
    translator = Translator(model, *vocabularies, "luong", SETTINGS, TranslatorTraining(seed=SEED))
    X, M, asking, words = ask(translator, train[:500])
    model.attention.W_q /= (X[asking] @ model.attention.W_q).std()
    model.attention.W_k /= (M[words] @ model.attention.W_k).std()
    return translator


print(f"\ngrammar-en-fr, {len(train):,} sentences, {EPOCHS} epochs: largest α before training; perplexity of the last epoch;"
      f"\n{len(test)} held-out sentences: exactly right, and largest weight on the gold word")
results, complete = {}, True
for size, heads, scaled in [(8, 1, True), (8, 1, False), (256, 1, True), (256, 1, False), (64, 4, True)]:
    translator = create(size, heads, scaled)
    start = np.mean([matrix.max(1).mean() for matrix in translator.attend(test)])
    batches = translator.batches(train)
    trainer = Trainer(translator.model, Adam(8e-3), batches, rng=np.random.default_rng(SEED), clip=1.0, threads=1,
                      schedule=LinearDecay(EPOCHS * len(batches), 0.05), progress=False)
    perplexity = trainer.fit(EPOCHS, MINUTES)[-1]["train_perplexity"]
    words = [found.target for found in translator.translate([pair.source for pair in test], beam=1)]
    exact = metrics.exact_match(words, [pair.target for pair in test])
    pointing = metrics.pointing_accuracy(translator.attend(test), test)
    results[size, scaled], complete = perplexity, (whole := trainer.step == EPOCHS * len(batches)) and complete
    print(f"  heads {heads}, d_k {size // heads:<3} {'divided' if scaled else 'not divided':<11}  α {start:.2f}  "
          f"perplexity {perplexity:5.2f}  exact {exact:5.1%}  pointing {pointing:5.1%}"
          f"{'' if whole else '  (cut off: a slow or busy machine)'}", flush=True)
assert not complete or results[64, True] < results[256, True] < results[256, False] and results[8, True] < results[8, False]

# %% [markdown]
# Without the division the model is far behind, at d_k = 256 and, less expected, at d_k = 8: there too α starts near 0.6
# instead of 0.3. One reading: an attention that made up its mind before it learnt anything must unlearn that first. (Late or
# lost? Question 4.) And four heads of 16 numbers each do better than one of 256.
#
# ## What the heads of the last model look at
#
# Nothing asks a head to align: what counts is what all four fetch. Titles count the largest weights in all test sentences.

# %%
X, M, _, words = ask(translator, test)
plain = PlainMultiHead(*[array for _, array in translator.model.attention.named_parameters()], 4)
weights = plain.look(X, M, words[:, None])[1]                                                   # (B, h, T, S)
assert np.allclose(weights[:, :, 0].mean(1)[words], np.concatenate([rows[0] for rows in translator.attend(test)]), atol=1e-4)
n, pair = min(((n, pair) for n, pair in enumerate(test) if phenomena(pair)["swapped adjective"] and
               phenomena(pair)["negation"]), key=lambda item: len(item[1].target))
figure, axes = plt.subplots(2, 2, figsize=(11, 9.5), layout="constrained")
for i, ax in enumerate(axes.flat):
    head = [matrix[:len(pair.target) + 1, :len(pair.source) + 1] for matrix, pair in zip(weights[:, i], test)]
    plotting.attention_heatmap(head[n], [*pair.source, "</s>"], [*pair.target, "</s>"], pair.sure, ax=ax,
                               title=f"head {i + 1}: {metrics.pointing_accuracy(head, test):.0%} of all links")
print(f"saved {plotting.save(figure, OUTPUTS / '10_heads.png').name}: {' '.join(pair.source)} → {' '.join(pair.target)}")

# %% [markdown]
# ## Questions
#
# 1. q and k have variance 1, but all components of k share one mean μ. What is Var(q · k) over keys, for a given q?
# 2. `scaled=False` with W_q divided by √d_k at the start computes the same α. Does it train the same, with Adam's steps?
# 3. Move a *query* instead, in `leak`: why does that not give the scrambled form away? Does permuting the words?
# 4. Set EPOCHS to 8 and MINUTES to 2. Does the model without the division catch up, at d_k = 8, at 256?
# 5. W_q, W_k of two heads exchanged: what changes? Find changes of W_q and W_k that leave every output as it is.
