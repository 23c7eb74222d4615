# %% [markdown]
# # Lesson 05: the encoder–decoder and its fixed vector
#
# Two recurrent networks translate (Cho et al. 2014; Sutskever, Vinyals & Le 2014): the first reads the source sentence
# and ends in a state, the second starts from that state and writes the target. Whatever the sentence says must pass
# through one vector whose size does not depend on the sentence's length. In this lesson you will
#
# 1. write that model for one sentence in plain NumPy, forward and backward, and hold it equal to the library's;
# 2. find the one line of the backward pass that everything the encoder learns has to go through;
# 3. train it on a task that is nothing but remembering, and measure how it fails with length, beside a model that has
#    as many parameters and attention (lesson 06).

# %%
print("Lesson 05: the encoder-decoder and its fixed vector", flush=True)

from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from numpy_attention import metrics, plotting
from numpy_attention.data.batching import pair_batch
from numpy_attention.data.corpora import load_parallel
from numpy_attention.data.vocabulary import BOS, EOS
from numpy_attention.gradcheck import GradientError, gradcheck, randomize
from numpy_attention.models.encoder_decoder import EncoderDecoder
from numpy_attention.models.rnnsearch import RNNSearch
from numpy_attention.runs.translator import Translator
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.schedules import LinearDecay
from numpy_attention.training.trainer import Trainer

OUTPUTS = (Path(__file__).resolve().parent if "__file__" in globals() else Path()) / "outputs"
OUTPUTS.mkdir(exist_ok=True)

# %% [markdown]
# ## Forward
#
# Source ids x_1 … x_S, target ids y_1 … y_T, both ending in `</s>`; y_0 is `<s>`. One sentence, so all are plain vectors,
# written as rows. E, F and O are tables with a row for each word; GRU is lesson 04's.
#
#     h_j = GRU(E[x_j]; h_{j−1})                     the encoder reads from left to right, h_0 = 0
#     c   = h_S                                      the fixed vector: all that the decoder will ever know
#     s_0 = tanh(c W_s + b_s)
#     s_i = GRU(F[y_{i−1}], c; s_{i−1})              c enters both gates and the candidate, through C (H, 3H)
#     o_i = s_i U_o + F[y_{i−1}] V_o + c C_o + b     (2l,)  state, previous word and c meet
#     t_i = max of each pair of o_i                  (l,)   maxout
#     p_i = softmax(t_i Oᵀ + b_O)                    (V,)   probabilities of the next word
#     L   = −Σ_i log p_i[y_i]
#
# In training step i reads the true y_{i−1}, whatever the model would have written: *teacher forcing*.
#
# The GRU's step, apart from the product of its input, a = x W + b (+ c C in the decoder), all three gates side by side:


# %%
def sigmoid(a):
    return 1 / (1 + np.exp(-a))


def gru(a, h, cell):
    """One step from the input's part a (3H,) and the state h (H,) → the next state, cache."""
    H = len(h)
    u = h @ cell.U
    r, z = sigmoid(a[:H] + u[:H]), sigmoid(a[H:2 * H] + u[H:2 * H])
    m = u[2 * H:] + cell.b_n
    n = np.tanh(a[2 * H:] + r * m)
    return (1 - z) * n + z * h, (h, r, z, m, n)


def forward(source, target, model):
    """ids of both sentences, each with its </s> → L, cache."""
    h, reads, writes, L = np.zeros(len(model.W_s)), [], [], 0.0
    for x in source:
        h, cache = gru(model.source_embedding.E[x] @ model.encoder.W + model.encoder.b, h, model.encoder)
        reads.append((x, cache))
    c, deep = h, model.deep_output
    s_0 = s = np.tanh(c @ model.W_s + model.b_s)
    for before, y in zip([BOS, *target], target):
        word = model.target_embedding.E[before]
        s, cache = gru(word @ model.decoder.W + model.decoder.b + c @ model.C, s, model.decoder)
        o = s @ deep.U_o + word @ deep.V_o + c @ deep.C_o + deep.b
        t = np.maximum(o[::2], o[1::2])
        scores = t @ model.output.words.E.T + model.output.b
        p = np.exp(scores - scores.max())
        p /= p.sum()
        L -= np.log(p[y])
        writes.append((before, y, cache, s, o, t, p))
    return L, (reads, c, s_0, writes)


# %% [markdown]
# ## Backward
#
# First the GRU's step, its four lines in reverse: from dh' = ∂L/∂h' to da and dh.
#
#     h' = (1 − z) ∘ n + z ∘ h      dz = dh' ∘ (h − n),  dn = dh' ∘ (1 − z),  dh = dh' ∘ z
#     n  = tanh(a_n + r ∘ m)        da_n = dn ∘ (1 − n²),  dr = da_n ∘ m,  dm = da_n ∘ r
#     r, z = σ(…)                   da_r = dr ∘ r ∘ (1 − r),  da_z = dz ∘ z ∘ (1 − z)
#     u  = h U,  m = u_n + b_n      du = [da_r, da_z, dm],  dU += hᵀ du,  db_n += dm,  dh += du Uᵀ
#
# Then the whole model. Going back through the target from its last word, ds collects what flows into s_i from two sides,
# its own prediction and the step after it. And dc collects from *every* target word, twice each, as each used c twice:
#
#     p = softmax(t Oᵀ + b_O)       dscores = p − onehot(y)      dt = dscores O,  dO += dscoresᵀ t,  db_O += dscores
#     t = max of pairs              do: dt where the larger of the pair stands, 0 beside it
#     o = s U_o + w V_o + c C_o + b          ds += do U_oᵀ,  dw = do V_oᵀ,  **dc += do C_oᵀ**
#     a = w W + b + c C                      dw += da Wᵀ,  **dc += da Cᵀ**
#     w = F[y_{i−1}]                         dF[y_{i−1}] += dw
#     s_0 = tanh(c W_s + b_s)                dc += (ds_0 ∘ (1 − s_0²)) W_sᵀ
#     c = h_S                                dh_S = dc
#
# The last line is the bottleneck: *all* that the encoder learns arrives as one vector dc at its last step, and must
# travel from there back to x_1 through S steps of the GRU. No target word can tell x_j directly what it needed from it.


# %%
def gru_backward(dnext, cache, cell, grad):
    """→ da (3H,), dh (H,); adds to grad.U and grad.b_n."""
    h, r, z, m, n = cache
    dz, dn, dh = dnext * (h - n), dnext * (1 - z), dnext * z
    da_n = dn * (1 - n**2)
    dr, dm = da_n * m, da_n * r
    da_r, da_z = dr * r * (1 - r), dz * z * (1 - z)
    du = np.concatenate([da_r, da_z, dm])
    grad.U += np.outer(h, du)
    grad.b_n += dm
    return np.concatenate([da_r, da_z, da_n]), dh + du @ cell.U.T


def backward(cache, model, grad, forget=False):
    """Adds ∂L/∂ of every parameter to the twin; forget=True plants a bug: each word overwrites dc."""
    reads, c, s_0, writes = cache
    deep, decoder, encoder = model.deep_output, model.decoder, model.encoder
    ds, dc = np.zeros_like(s_0), np.zeros_like(c)
    for before, y, step, s, o, t, p in reversed(writes):
        word, dscores = model.target_embedding.E[before], p.copy()
        dscores[y] -= 1                                                     # L = −log softmax(scores)[y]
        grad.output.words.E += np.outer(dscores, t)                         # scores = t Oᵀ + b_O
        grad.output.b += dscores
        dt, do = dscores @ model.output.words.E, np.zeros_like(o)
        first = o[::2] >= o[1::2]                                           # t = max of pairs
        do[::2], do[1::2] = dt * first, dt * ~first
        for W, x in ((grad.deep_output.U_o, s), (grad.deep_output.V_o, word), (grad.deep_output.C_o, c)):
            W += np.outer(x, do)                                            # o = s U_o + word V_o + c C_o + b
        grad.deep_output.b += do
        da, ds = gru_backward(ds + do @ deep.U_o.T, step, decoder, grad.decoder)
        grad.decoder.W += np.outer(word, da)                                # a = word W + b + c C
        grad.decoder.b += da
        grad.C += np.outer(c, da)
        grad.target_embedding.E[before] += do @ deep.V_o.T + da @ decoder.W.T
        dc = (0 if forget else dc) + do @ deep.C_o.T + da @ model.C.T       # c is used by every word: a sum
    da = ds * (1 - s_0**2)                                                  # s_0 = tanh(c W_s + b_s)
    grad.W_s += np.outer(c, da)
    grad.b_s += da
    dh = dc + da @ model.W_s.T                                              # c = h_S: through this eye of a needle
    for x, step in reversed(reads):
        da, dh = gru_backward(dh, step, encoder, grad.encoder)
        grad.encoder.W += np.outer(model.source_embedding.E[x], da)
        grad.encoder.b += da
        grad.source_embedding.E[x] += da @ encoder.W.T


# %% [markdown]
# ## Check
#
# Against central differences, every element of every parameter; then against the library, whose backward works on
# whole batches, with kernels, through the attention protocol: a fixed vector is an attention that always looks at the
# last word (`attention/fixed.py`).

# %%
CELL = dict(readout="current", reset="after", update="old", init="modern")
model = EncoderDecoder.create(np.random.default_rng(0), 8, 9, embedding=3, hidden=4, maxout=2, dtype=np.float64, **CELL)
randomize(model, np.random.default_rng(1), 0.8)
source, target = [4, 6, 5, 6], [5, 8, 7, 5, 4]                              # words that repeat, lengths that differ


def check(forget=False):
    def both():
        L, cache = forward(source + [EOS], target + [EOS], model)
        return np.array(L), cache

    def back(dL, cache, grad):
        one = model.zeros_like()
        backward(cache, model, one, forget)
        grad.vector[...] += dL * one.vector
        return ()
    return gradcheck(model, rng=np.random.default_rng(2), forward=both, backward=back, title="plain encoder-decoder")


print()
print(check())
L, cache = forward(source + [EOS], target + [EOS], model)
ours, theirs = model.zeros_like(), model.zeros_like()
backward(cache, model, ours)
loss, _ = model.loss_and_grad(pair_batch([source], [target]), None, 1.0, theirs)
assert np.isclose(L, loss, rtol=1e-10) and np.allclose(ours.vector, theirs.vector, atol=1e-10)
print(f"the library's loss {loss:.10f}, ours {L:.10f}; all {model.size} gradients equal")

try:
    check(forget=True)
except GradientError as error:
    print("\nplanted bug, dc overwritten instead of summed:", str(error).split("\n")[0])
else:
    raise AssertionError("the planted bug went unnoticed")

# %% [markdown]
# Note *where* it was found: W_s, b_s and C were checked before it and passed, and so would the decoder's own parameters.
# Only the encoder learnt from the first target word instead of all. Such a model trains, after a fashion; without a
# check it would pass for a mediocre idea.
#
# ## What reaches the first word
#
# A sequence whose words are all different has one row of the embedding's gradient for each position: its norm says how
# strongly the loss speaks to that word. We compare, untrained, 15 words long, the fixed vector and RNNsearch (lesson 06),
# where each target word has a way of its own to each source word (and ←h_1 starts the decoder). Sizes are
# chosen for equal parameter counts.

# %%
TASK, LONGEST = "copy", 15
SIZES = {"encoder-decoder": 64, "rnnsearch": 47}                            # hidden units
rng = np.random.default_rng(3)
models = {name: create(rng, 24, 24, embedding=32, hidden=SIZES[name], **CELL)
          for name, create in (("encoder-decoder", EncoderDecoder.create), ("rnnsearch", RNNSearch.create))}
norms = {name: np.zeros(LONGEST) for name in models}
for _ in range(50):
    words = (4 + rng.permutation(20)[:LONGEST]).tolist()
    for name, model in models.items():
        grad = model.zeros_like()
        model.loss_and_grad(pair_batch([words], [words]), None, 1.0, grad)
        norms[name] += np.linalg.norm(grad.source_embedding.E[words], axis=1) / 50
print("\ngradient that reaches the source word at position 1, 8 and 15, before training:")
for name, norm in norms.items():
    print(f"  {name:<16} {norm[0]:.4f}  {norm[7]:.4f}  {norm[14]:.4f}   first : last = 1 : {norm[14] / norm[0]:.0f}")

# %% [markdown]
# ## Failing with length
#
# The task: copy a sequence of 3 to 15 symbols out of 20. There is nothing to understand, only to remember. Both models
# see the same 20,000 sequences the same number of times, with the same optimizer. Test sequences are new; some of them are
# longer than any seen in training. BLEU (0 to 100) counts the words, pairs, triples and fours of words that a copy shares
# with the original (lesson 06); `beam=1` writes the likeliest word each time (lesson 10).

# %%
EPOCHS, MINUTES = 6, 0.75
train = load_parallel(TASK, "train", np.random.default_rng(3), 20_000, 3, LONGEST)
test = load_parallel(TASK, "test", np.random.default_rng(4), 1_800, 3, LONGEST + 3)
lengths = np.array([len(pair.source) for pair in test])
exact, bleu = {}, {}
print(f"\n{TASK}, {len(train):,} sequences, {EPOCHS} epochs each:")
for name, hidden in SIZES.items():
    translator = Translator.create(train, name, {"embedding": 32, "hidden": hidden, **CELL})
    batches = translator.batches(train)
    trainer = Trainer(translator.model, Adam(4e-3), batches, rng=np.random.default_rng(0), clip=1.0, threads=1,
                      schedule=LinearDecay(EPOCHS * len(batches), 0.02), progress=True)
    history = trainer.fit(EPOCHS, MINUTES)
    found = [translation.target for translation in translator.translate([pair.source for pair in test], beam=1)]
    gold = [list(pair.target) for pair in test]
    right = np.array([a == b for a, b in zip(found, gold)])
    exact[name] = [right[lengths == n].mean() for n in range(3, LONGEST + 4)]
    long = [n for n in range(len(test)) if lengths[n] >= 4]                 # BLEU needs four words
    bleu[name] = metrics.bleu_by_length([found[n] for n in long], [gold[n] for n in long], lengths[long],
                                        range(4, LONGEST + 6, 2))
    cut = "" if trainer.step == EPOCHS * len(batches) else f" (cut off after {MINUTES} minutes: a slow or busy machine)"
    print(f"  {name:<16} {translator.model.size:,} parameters, {history[-1]['seconds']:.0f} s{cut}, "
          f"training perplexity {history[-1]['train_perplexity']:.3f}")
    print("    exactly right by length: " + "  ".join(f"{n}: {exact[name][n - 3]:.0%}" for n in range(3, LONGEST + 4, 3)),
          flush=True)
    if not cut:
        assert exact[name][0] > 0.9, "both should copy three symbols"
        assert name == "encoder-decoder" or np.mean(exact[name][7:13]) > 0.2 + np.mean(exact["encoder-decoder"][7:13])

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.6), layout="constrained")
for (name, shares), colour, marker in zip(exact.items(), plotting.COLOURS, plotting.MARKERS):
    left.plot(range(3, LONGEST + 4), shares, color=colour, marker=marker, label=f"{name}, {SIZES[name]} hidden units")
left.set(xlabel=f"length (trained on 3 to {LONGEST})", ylabel="share of sequences exactly right", ylim=(-0.03, 1.03),
         title="copying: exact match")
left.axvline(LONGEST + 0.5, color="black", linestyle=":", linewidth=1)
left.grid(alpha=0.3)
left.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)
plotting.bleu_by_length_plot(bleu, right).set_title("copying: BLEU")
right.axvline((LONGEST - 4) // 2 + 0.5, color="black", linestyle=":", linewidth=1)
print("saved", plotting.save(figure, OUTPUTS / "05_by_length.png").name)

# %% [markdown]
# ## What the figure shows, and what it does not
#
# On short sequences both are perfect. With length the fixed vector falls: at ten symbols most copies have an error, at
# thirteen nearly all, while attention hardly errs at any length that it was trained on. Bahdanau et al. (2015, figure 2)
# found the same shape for sentences.
#
# But *room* is not what is lacking. Fifteen symbols out of twenty are 15 · log₂ 20 ≈ 65 bits, one bit for each of the
# 64 numbers of the state. What is lacking is training: a code for all sequences of that length must be found through
# a gradient that hardly reaches the first words. More epochs move the curve to the right (question 2). So the figure says:
# *at equal parameters and equal steps*, the fixed vector fails first, and fails with length.
#
# Right of the dotted line no model was trained. Attention goes on for a symbol or two, then it falters as well: where to
# look next is computed from the decoder's state, and nothing ever asked that state to keep count so far.
#
# ## Questions
#
# 1. Set `TASK = "reverse"`. The fixed vector does better: which word must it recall first, and how many steps back does
#    it lie? Sutskever et al. read the source backwards for this reason; for which language pairs would that help?
# 2. Double `EPOCHS` and `MINUTES`; then halve the hidden units. By how many symbols does the curve shift each time?
# 3. In `backward`, which lines would change if c entered the decoder through s_0 alone (Sutskever's model)? Delete C
#    and C_o, derive, and check again.
# 4. BLEU stays well above 0 where exact match is 0. Look at such outputs: which part of the sequence survives, and why?
# 5. Draw the norms of the gradient by position again for the trained models. What has training changed?
