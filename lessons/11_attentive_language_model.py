# %% [markdown]
# # Lesson 11: a language model that looks back
#
# A recurrent language model carries all that it knows of a text in one vector, h_t, and writes over it at every word. But
# h_1 … h_{t−1} were computed, and are thrown away only because nothing asks for them. Salton, Ross & Kelleher (2017)
# ask: before each prediction, a softmax over *all earlier states* decides which of them to read again. In this lesson you
# will derive that for all words of a text at once, forward and backward, see a bug that no gradient check can see,
# train it beside an LSTM with the same number of parameters, and look at where it looks.

# %%
print("Lesson 11: a language model that looks back", flush=True)

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from numpy_attention import analysis, plotting
from numpy_attention.attention.combined import Combined
from numpy_attention.attention.key_value import KeyValueReader
from numpy_attention.attention.single import Single
from numpy_attention.data.batching import DocumentBatches, TextBatch
from numpy_attention.data.running_text import load
from numpy_attention.data.vocabulary import PAD, UNK, Vocabulary
from numpy_attention.gradcheck import GradientError, gradcheck
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.budget import within_budget
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.module import Array, Module
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.schedules import LinearDecay
from numpy_attention.training.trainer import Trainer

OUTPUTS = (Path(__file__).parent if "__file__" in globals() else Path()) / "outputs"
OUTPUTS.mkdir(exist_ok=True)

# %% [markdown]
# ## Forward
#
# h_t (H) is the LSTM's state after word t. The memory of step t holds h_1 … h_{t−1}: the step's own state is not in it,
# since it goes to the prediction anyway. At the first word the memory is empty and gives 0. Vectors are rows:
#
#     e_ts = v · tanh(h_s W_s)                     score `single`: how much state s has to say, whoever asks
#     e_ts = v · tanh(h_s W_s + h_t W_q)           score `combined`: … to one who is at h_t
#     α_t  = softmax of e_ts over s < t            c_t = Σ_s α_ts h_s,   c_1 = 0
#     y_t  = tanh(h_t W_x + c_t W_r + b)           the paper's tanh(W_c [h; c] + b), W_c cut into its two halves
#     p(word t + 1) = softmax(y_t Eᵀ + b')         E: the table of embeddings, used twice (tied weights)
#
# **Why there is no loop over t.** A translator (lesson 06) asks a question that depends on what its last look brought,
# so it must ask one question after another. Here c_t goes into y_t, and from there to the softmax, *never back into the
# LSTM*. So when the LSTM has read the text, all states are there: all questions and all that may be found. The questions
# t are rows of one matrix, the places s its columns, and "only what came before" is a triangle of ones, a **causal mask**
# visible_ts = (s < t), times whether s holds a word at all.
#
# ## Backward
#
# Given dy (and dα, where a loss reads the weights), walk the lines in reverse. h is used in four places, in four roles,
# and its gradient is the sum of what comes back from each:
#
#     y_t = tanh(a_t)                    da_t = dy_t ∘ (1 − y_t²),  db += Σ_t da_t
#     a_t = h_t W_x + c_t W_r + b        dW_x += h_tᵀ da_t,  dW_r += c_tᵀ da_t,  dc_t = da_t W_rᵀ
#                                        dh_t += da_t W_xᵀ                                    (1) it predicts
#     c_t = Σ_s α_ts h_s                 dα_ts += dc_t · h_s
#                                        dh_s += Σ_t α_ts dc_t                                (2) it is a value
#     α_t = softmax(e_t)                 de_ts = α_ts (dα_ts − Σ_r α_tr dα_tr)    as ∂α_tr/∂e_ts = α_tr (1[r = s] − α_ts)
#     e_ts = v · x_ts                    dv += Σ de_ts x_ts,  dx_ts = de_ts v
#     x_ts = tanh(k_s + q_t)             dz_ts = dx_ts ∘ (1 − x_ts²),  dk_s = Σ_t dz_ts,  dq_t = Σ_s dz_ts
#     k_s = h_s W_s                      dW_s += h_sᵀ dk_s,   dh_s += dk_s W_sᵀ               (3) it is a key
#     q_t = h_t W_q                      dW_q += h_tᵀ dq_t,   dh_t += dq_t W_qᵀ               (4) it is a query
#
# Sums over t run over the *later* steps: where the mask is 0, α is 0, and so is everything that is multiplied by it. Term
# (2) is the one to remember: from the loss at t straight to h_s in **one** step, however far apart they are, where the
# LSTM's own gradient has to pass t − s steps. At the end of the lesson we measure both ways.


# %%
@dataclass(eq=False)
class PlainReader(Module):
    """The equations above, one statement a line, for a batch: h (T, B, H), mask (T, B) → y (T, B, K), α (T, B, T)."""

    W_s: Array          # (H, A)
    W_q: Array | None   # (H, A); None: single
    v: Array            # (A,)
    W_x: Array          # (H, K)
    W_r: Array          # (H, K)
    b: Array            # (K,)

    def visible(self, mask):
        return np.tri(len(mask), k=-1, dtype=bool)[:, None, :] & mask.T     # (T, B, T): t, row, s < t

    def forward(self, h, mask):
        visible = self.visible(mask)
        z = (h @ self.W_s).transpose(1, 0, 2)[None]                         # (1, B, s, A)
        if self.W_q is not None:
            z = z + (h @ self.W_q)[:, :, None]                              # (t, B, s, A)
        x = np.tanh(z)
        e = np.where(visible, x @ self.v, -1e30)                            # (t, B, s)
        alpha = np.where(visible, np.exp(e - e.max(2, keepdims=True)), 0)
        alpha /= np.maximum(alpha.sum(2, keepdims=True), 1e-30)             # an empty memory: 0 / tiny = 0
        c = np.einsum("tbs,sbh->tbh", alpha, h)
        y = np.tanh(h @ self.W_x + c @ self.W_r + self.b)
        return y, alpha, (h, x, alpha, c, y)

    def backward(self, dy, dalpha, cache, grad):
        h, x, alpha, c, y = cache
        # y = tanh(h W_x + c W_r + b)
        da = dy * (1 - y**2)
        grad.b += da.sum((0, 1))
        grad.W_x += np.einsum("tbh,tbk->hk", h, da)
        grad.W_r += np.einsum("tbh,tbk->hk", c, da)
        dc = da @ self.W_r.T
        dh = da @ self.W_x.T                                                                # (1) it predicts
        # c_t = Σ_s α_ts h_s
        dalpha = dalpha + np.einsum("tbh,sbh->tbs", dc, h)
        dh += np.einsum("tbs,tbh->sbh", alpha, dc)                                          # (2) it is a value
        # α = softmax(e),  e = v · x,  x = tanh(z)
        de = alpha * (dalpha - (alpha * dalpha).sum(2, keepdims=True))
        grad.v += np.einsum("tbs,tbsa->a", de, np.broadcast_to(x, de.shape + self.v.shape))
        dz = de[..., None] * self.v * (1 - x**2)
        # z_ts = h_s W_s + h_t W_q
        dk, dq = dz.sum(0).transpose(1, 0, 2), dz.sum(2)
        grad.W_s += np.einsum("sbh,sba->ha", h, dk)
        dh += self.key_backward(dk)                                                         # (3) it is a key
        if self.W_q is not None:
            grad.W_q += np.einsum("tbh,tba->ha", h, dq)
            dh += dq @ self.W_q.T                                                           # (4) it is a query
        return dh

    def key_backward(self, dk):
        return dk @ self.W_s.T


# %% [markdown]
# ## Check
#
# First against the equations taken literally: a loop that visits word after word and appends each state to a list. Then
# `gradcheck`, then the library's reader, outputs and all gradients. That one never builds x (T, B, T, A): its kernel
# computes the tanh row by row, and once more on the way back instead of keeping it.

# %%
T, B, H, A, K = 6, 3, 4, 5, 7                       # all sizes differ, so that no transpose can hide
rng = np.random.default_rng(5)
h, mask = rng.standard_normal((T, B, H)), np.arange(T)[:, None] < np.array([6, 3, 5])
arrays = {name: rng.standard_normal(shape) for name, shape in
          dict(W_s=(H, A), W_q=(H, A), v=(A,), W_x=(H, K), W_r=(H, K), b=(K,)).items()}
plain = {"single": PlainReader(**arrays | {"W_q": None}), "combined": PlainReader(**arrays)}
W_s, W_q, v, *rest = arrays.values()
package = {"single": KeyValueReader(Single(W_s, v), *rest), "combined": KeyValueReader(Combined(W_s, W_q, v), *rest)}


def one_by_one(reader, states):
    """y for the states of one text (T, H), one word at a time, with a memory that grows."""
    memory, ys = [], []
    for now in states:
        c = np.zeros(H)
        if memory:
            question = 0 if reader.W_q is None else now @ reader.W_q
            e = np.array([np.tanh(then @ reader.W_s + question) @ reader.v for then in memory])
            c = np.exp(e) / np.exp(e).sum() @ np.array(memory)
        ys.append(np.tanh(now @ reader.W_x + c @ reader.W_r + reader.b))
        memory.append(now)
    return np.array(ys)


dy, dalpha = rng.standard_normal((T, B, K)), rng.standard_normal((T, B, T))
print("\nlargest relative error of the plain form, and its largest difference from the library's:")
for name, reader in plain.items():
    y, alpha, cache = reader.forward(h, mask)
    assert np.allclose(y[:, 0], one_by_one(reader, h[:, 0]), rtol=0, atol=1e-14)
    assert (alpha[0] == 0).all() and np.allclose(alpha[1:].sum(2), 1)
    report = gradcheck(reader, h, mask, rng=rng)
    ours, theirs = reader.zeros_like(), package[name].zeros_like()
    dh = reader.backward(dy, dalpha, cache, ours)
    y_too, _, alpha_too, cache = package[name].forward(h, mask)
    dh_too = package[name].backward(dy, dalpha, cache, theirs)
    pairs = [(y, y_too), (alpha, alpha_too), (dh, dh_too)]
    pairs += [(getattr(ours, n), getattr(theirs.attention if n in ("W_s", "W_q", "v") else theirs, n))
              for n in arrays if getattr(reader, n) is not None]
    assert all(np.allclose(mine, other, rtol=1e-10, atol=1e-12) for mine, other in pairs)
    print(f"  {name:<8}  {report.worst:.1e}, {max(np.abs(mine - other).max() for mine, other in pairs):.1e}")

# %% [markdown]
# `single` scores a state without knowing who asks. So its weights need no matrix: exp(e_s) is one number a state, and c_t =
# Σ_{s<t} exp(e_s) h_s / Σ_{s<t} exp(e_s) is a running mean in which each word has chosen its importance once and for all.

# %%
weight = np.exp(np.tanh(h @ arrays["W_s"]) @ arrays["v"])[:, 0, None]       # exp(e_s) of the first text, (T, 1)
running = np.cumsum(weight * h[:, 0], 0)[:-1] / np.cumsum(weight, 0)[:-1]
assert np.allclose(running, (plain["single"].forward(h, mask)[1] @ h.transpose(1, 0, 2)[None, 0])[1:, 0])
print("single: the causal softmax is a ratio of two running sums")


# %% [markdown]
# ## Two bugs
#
# The first forgets term (3), that a state is also a key. The gradient check says where to look.

# %%
class Forgetful(PlainReader):
    def key_backward(self, dk):
        return 0


try:
    gradcheck(Forgetful(**arrays), h, mask, rng=rng)
except GradientError as error:
    print("\n" + "\n".join(str(error).split("\n")[:4]))
else:
    raise AssertionError("the check should have failed")


# %% [markdown]
# The second forgets the triangle: every step sees the whole text, also the words that it is to predict. Its backward is
# right for what its forward computes, so **the gradient check passes**; in training the loss would be wonderfully low.
# What catches it is another test: change the state at s, and no output before s may move.

# %%
class Clairvoyant(PlainReader):
    def visible(self, mask):
        return np.broadcast_to(mask.T, (len(mask),) + mask.T.shape)


def earliest_change(reader, s):
    """The first step whose output moves when the state of step s does."""
    moved = h.copy()
    moved[s] += 1
    return int((reader.forward(moved, mask)[0] != reader.forward(h, mask)[0]).any((1, 2)).argmax())


gradcheck(Clairvoyant(**arrays), h, mask, rng=rng)
print("without the triangle: the gradient check passes; the state at 2 changes the output from step "
      f"{earliest_change(Clairvoyant(**arrays), 2)} on")
assert earliest_change(Clairvoyant(**arrays), 2) == 0
assert all(earliest_change(reader, s) == s for reader in plain.values() for s in range(3)), "with it: from step s on"

# %% [markdown]
# ## Three models of one size
#
# An LSTM with tied weights, and the same with either score. Attention brings weights of its own, so at equal hidden sizes
# it would win or lose as the larger model. `within_budget` finds the sizes at which all three have as many parameters.
# Each verse of `bible-en` is a text of its own: state and memory are empty at its start, </s> stands before its first
# word, and every word is predicted, the first and the final </s> too. All read the same verses in the same order.
#
# **A start that lets them learn.** First of all a language model learns how frequent each word is. If b' begins at 0, it
# is largely y that is bent to say so, into a vector which hardly depends on the text, with entries driven to where the
# tanh is flat and 1 − y² ≈ 0: nothing below learns any more. So we give b' what it would have to learn, the logarithm of
# the words' frequencies; to the LSTM too. The first lines below show 60 steps without it and with it.

# %%
V, VERSES, BATCH, INIT, RATE = 2000, 12_800, 64, 0.1, 0.02
train, valid = load("bible-en", "train"), load("bible-en", "valid")
vocabulary = Vocabulary.build(train.sentences, V)
verses, held_out = train.documents(vocabulary, "sentence"), valid.documents(vocabulary, "sentence")
verses = [verses[n] for n in np.random.default_rng(6).permutation(len(verses))[:VERSES]]
valid_batches = DocumentBatches(held_out, 100)
counts = np.bincount(np.concatenate([verse[1:] for verse in verses]), minlength=V) + 0.5
SHARED = dict(layers=1, tied=True, forget_bias=1.0, init=INIT)


def create(attention, start=np.log(counts / counts.sum())):
    """The largest model of at most 200,000 parameters; attention: None, "single" or "combined"."""
    sizes, _ = within_budget(200_000, V, attention, **SHARED)
    kind, name = (AttentiveLanguageModel, {"attention": attention}) if attention else (LanguageModel, {})
    model = kind.create(np.random.default_rng(7), V, **name, **sizes, **SHARED)
    model.output.b[...] = start
    return model


def fit(model, verses):
    batches = DocumentBatches(verses, BATCH)
    Trainer(model, Adam(RATE), batches, rng=np.random.default_rng(8), average="token", clip=1.0, progress=False,
            schedule=LinearDecay(len(batches), 0.05)).fit(1)


def read(model, batch):
    """What the output layer reads (T, B, K), and −log p of each target (T, B), 0 for padding."""
    y = model.forward(batch)[0]
    log_p = np.concatenate([model.output.log_probabilities(row)[None] for row in y])
    losses = -np.take_along_axis(log_p, batch.targets[..., None], 2)[..., 0].astype(np.float64)
    return y, np.where(batch.targets == PAD, 0, losses)


some = valid_batches.batch(valid_batches.order()[5])
print(f"\n{len(train.sentences):,} verses, of which we take {VERSES:,}; vocabulary {V:,}; held out {len(held_out):,} verses, "
      f"{vocabulary.unknown_share(valid.sentences):.1%} of whose words are <unk>")
for start, name in ((0.0, "b' = 0"), (np.log(counts / counts.sum()), "b' = log frequency")):
    model = create("combined", start)
    fit(model, verses[:60 * BATCH])
    y, losses = read(model, some)
    print(f"  combined, 60 steps, {name:<18}: {(abs(y) > 0.99).mean():4.0%} of y beyond ±0.99, held-out perplexity "
          f"{np.exp(losses.sum() / some.tokens):.0f}", flush=True)

# %% [markdown]
# **Every word counts.** Code that was released with the paper counts the first word of each sentence but never predicts it:
# a flattering figure, and we compute how flattering. It has no tanh around W_c. And its cell is traced once, by a framework's
# loop, when the list of earlier states is one vector of zeros: in training c_t = 0 at every step, and what learns is a tied
# LSTM with one linear layer. Code that runs is no proof that its equations do.

# %%
models, tokens, beside = {}, sum(len(verse) - 1 for verse in held_out), {}
for name in ("LSTM", "single", "combined"):
    models[name] = model = create(None if name == "LSTM" else name)
    fit(model, verses)
    losses = [read(model, valid_batches.batch(place))[1] for place in valid_batches.order()]
    beside[name] = np.concatenate([loss.sum(0) for loss in losses]) - beside.get("LSTM", 0)     # of each verse, in nats
    total, first = sum(loss.sum() for loss in losses), sum(loss[0].sum() for loss in losses)
    honest, without, trap = np.exp([total / tokens, (total - first) / (tokens - len(held_out)), (total - first) / tokens])
    gain, error = beside[name].sum() / tokens, beside[name].std() * len(held_out)**0.5 / tokens
    note = f"; {gain:+.3f} ± {error:.3f} nats a word beside the LSTM" if name != "LSTM" else ""
    print(f"  {name:<8}  {model.size:,} parameters, perplexity {honest:.2f}; first words left out {without:.2f}, counted but "
          f"not predicted {trap:.2f}{note}", flush=True)
    assert trap < honest and 195_000 < model.size <= 200_000

# %% [markdown]
# ± is the standard error over held-out verses. How another seed would come out is not in it, nor what more than one short
# pass over the text would do: so much, and no more, can be said of who is ahead.
#
# And of why. Both attentive models have a layer more than the LSTM, y_t = tanh(…), which parts the state from the tied word
# vectors. On the Penn Treebank, tied, with 165 units and four epochs, that layer alone, reading h_t and no past, gains nearly
# all that attention gains (`results/README.md`, the recipes `layer-*`). The control of a mechanism is the same model without
# the mechanism, not the model before it. Now where they look.

# %%
verse = next(verse for verse in held_out if 14 <= len(verse) <= 16 and UNK not in verse)
words, ids = [vocabulary.token(id) for id in verse], np.array(verse)[:, None]
figure, axes = plt.subplots(1, 2, figsize=(14, 7), layout="constrained")
for name, ax in zip(("single", "combined"), axes):
    weights = models[name].weights(TextBatch(ids[:-1], ids[1:], np.arange(1)))[0][:, 0]
    plotting.history_heatmap(weights, words[:-1], words[1:], ax=ax, title=name, vmax=0.5)
print("\nsaved", plotting.save(figure, OUTPUTS / "11_history.png").name)

even, far = create("single"), 20
even.reader.attention.v[...] = 0                                            # every score 0: equal weights
spans = {name: analysis.attention_span(model, valid_batches, far) for name, model in
         {**models, "equal weights": even}.items() if name != "LSTM"}
long = np.array([verse[:32] for verse in held_out if len(verse) >= 32][:100]).T
flows = {name: analysis.gradient_flow(model, TextBatch(long[:-1], long[1:], np.arange(long.shape[1])))
         for name, model in models.items()}
print("of the last twenty's attention on the last five:", {name: f"{s[:5].sum() / s.sum():.3f}" for name, s in spans.items()})
print("‖∂L_T/∂h_T−d‖ for d = 0, 10, 30:", {name: [f"{flow[d]:.3f}" for d in (0, 10, 30)] for name, flow in flows.items()})
assert min(flows["single"][30], flows["combined"][30]) > 2 * flows["LSTM"][30]
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
plotting.attention_span(spans, ax=left, title="where attention lies")
plotting.gradient_flow(flows, ax=right, title="what arrives of the last word's loss")
print("saved", plotting.save(figure, OUTPUTS / "11_span_and_flow.png").name)

# %% [markdown]
# By distance, attention lies almost as equal weights would: it picks words, not places. So early it is worth little, but the
# way is open: where the LSTM's gradient goes on fading, the others bend into a shelf. That is (2), one step at any distance.
#
# ## Questions
#
# 1. Put h_t into its own memory (s ≤ t; for training: `causal` in attention/history.py). Which test changes? Does perplexity?
# 2. Why can `single` not point at the word that agrees with *this* one? Why can no column of its heatmap brighten downwards?
# 3. Train "projection", the layer y = tanh(h W_x + b) and no past at all: how much of the gain here was the layer's? And
#    without its tanh, activation="linear"? (`numpy-attention reproduce layer-linear` asks on the Penn Treebank.)
# 4. Train with seeds 9 and 10. Is the difference between two seeds smaller than that between two models?
