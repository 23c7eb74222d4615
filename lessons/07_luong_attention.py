# %% [markdown]
# # Lesson 07: Luong's family of attentions
#
# Bahdanau's attention (lesson 06) asks *before* the decoder's step, with s_{i−1}, and its answer enters the recurrent
# cell. Luong, Pham & Manning (2015) turn it round: first the step, then the new state h_t asks, and the answer meets it
# in one more layer, h̃_t. So the parts can be exchanged: four scores, three windows, and a wire from h̃_t back into the
# next step, input feeding. You will derive the whole family at once, for one sentence; hold every member equal to the
# library's; see what a window's edge does, and what input feeding costs; and train three members: all three translate.

# %%
print("Lesson 07: Luong's family of attentions", flush=True)

from itertools import product
from pathlib import Path
from timeit import repeat

import numpy as np
from matplotlib import pyplot as plt

from numpy_attention import metrics, plotting
from numpy_attention.attention.additive import AdditiveAttention
from numpy_attention.attention.general import GeneralAttention
from numpy_attention.attention.local import LocalMonotonic, LocalPredictive
from numpy_attention.attention.location import LocationAttention
from numpy_attention.data.batching import pair_batch
from numpy_attention.data.corpora import load_parallel
from numpy_attention.data.grammar import phenomena
from numpy_attention.data.vocabulary import BOS, EOS, Vocabulary
from numpy_attention.gradcheck import GradientError, gradcheck, randomize
from numpy_attention.models.luong import LuongTranslator
from numpy_attention.names import WINDOWS
from numpy_attention.runs.translator import Translator, TranslatorTraining
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.schedules import LinearDecay
from numpy_attention.training.trainer import Trainer

OUTPUTS = (Path(__file__).parent if "__file__" in globals() else Path()) / "outputs"
OUTPUTS.mkdir(exist_ok=True)

# %% [markdown]
# ## Forward
#
# The encoder has left annotations m_1 … m_S, the rows of M (S, N). Target word t:
#
#     h  = tanh(y W + h' U + b + f F)   the decoder's step: y the embedded word before, h' the state before (an Elman cell
#                                       here, GRU or LSTM in earnest); f = h̃_{t−1} with *input feeding*, else no f F
#     a  = softmax(e), e = score(h, M)  (S,)   the query is h, the state *after* the step; over the window's positions
#     α  = a ∘ g                        (S,)   g = 1, except in local-p
#     c  = α M                          (N,)   the context
#     h̃  = tanh(c C + h W_h)            (K,)   the paper's tanh(W_c [c; h]), with W_c in two parts
#     P(y) = softmax(h̃ Oᵀ + b_o)        (V,)
#
#     score dot      e_j = h · m_j          no parameters: both sides must learn to use the same coordinates
#           general  e_j = (h W_a) · m_j    a matrix translates the query into the annotations' coordinates
#           concat   e_j = v_a · tanh([h; m_j] W) = v_a · tanh(h W_a + m_j U_a), W cut in two: lesson 06's additive score
#           location e_j = (h W_a)_j        a column of W_a for each place: it does not look at the words at all
#
#     window global  the whole source
#            local-m the positions within D of p = t (monotonic)
#            local-p those within D of a place that the state predicts, p = S sigmoid(x · v_p), x = tanh(h W_p), and
#                    the weights fade with a Gaussian around it, g_s = exp(−(s − p)² / 2σ²), σ = D / 2. Nothing is normalised
#                    again: Σ α ≤ 1, and a window that stands badly gives a small context
#
# ## Backward
#
# Given dh̃, in reverse. h was used three times, so dh is a sum of three, (1) to (3); in local-p of four.
#
#     h̃ = tanh(u), u = c C + h W_h   du = dh̃ ∘ (1 − h̃²),  dC = cᵀ du,  dW_h = hᵀ du,  dc = du Cᵀ,  dh = du W_hᵀ   (1)
#     c = α M                        dα_s = m_s · dc,  dM = αᵀ dc
#     α = a ∘ g                      da = dα ∘ g,  dg = dα ∘ a,  and since ∂g_s/∂p = g_s (s − p) / σ² and a_s g_s = α_s:
#                                    dp = Σ_s dα_s α_s (s − p) / σ²
#     p = S sigmoid(z), z = x · v_p  dz = dp · p (1 − p/S)  (sigmoid' = sigmoid (1 − sigmoid)),  dv_p = dz x,  dx = dz v_p
#     x = tanh(h W_p)                dW_p = hᵀ (dx ∘ (1 − x²)),  dh += (dx ∘ (1 − x²)) W_pᵀ                        (4)
#     a = softmax(e)                 de = a ∘ (da − a · da)                                               lesson 06
#     dot                            dh += de M (2),  dM += deᵀ h
#     general, q = h W_a             dq = de M,  dM += deᵀ q,  dW_a = hᵀ dq,  dh += dq W_aᵀ                        (2)
#     concat                         lesson 06's, with h for its query                                              (2)
#     location                       dW_a = hᵀ de,  dh += de W_aᵀ                                                  (2)
#     h = tanh(k), k = y W + … + f F dk = dh ∘ (1 − h²),  dh' = dk Uᵀ (3),  df = dk Fᵀ, the rest as in lesson 02
#
# Read dp aloud: a word that lowers the loss (dα_s < 0) draws p towards itself, by its weight and its distance; one outside
# of the window has α_s = 0 and cannot call at all. And df is added to dh̃_{t−1}: with input feeding h̃ learns from two
# sides, the word that it predicts and all words to come.


# %%
def softmax(e, near=True):
    a = np.where(near, np.exp(e - e.max(-1, keepdims=True, initial=-np.inf, where=near)), 0)
    return a / a.sum(-1, keepdims=True)


def score(h, M, attention):
    """e (S,); the fields of `attention` are those of the library's classes."""
    if isinstance(attention, AdditiveAttention):
        return np.tanh(h @ attention.W_a + M @ attention.U_a) @ attention.v_a
    if isinstance(attention, LocationAttention):
        return h @ attention.W_a[:, :len(M)]
    return M @ (h @ attention.W_a if isinstance(attention, GeneralAttention) else h)


def score_backward(de, h, M, attention, grad):
    """→ dh (H,), dM (S, N)."""
    if isinstance(attention, AdditiveAttention):
        x = np.tanh(h @ attention.W_a + M @ attention.U_a)
        grad.v_a += de @ x
        dx = np.outer(de, attention.v_a) * (1 - x**2)
        grad.W_a += np.outer(h, dx.sum(0))
        grad.U_a += M.T @ dx
        return dx.sum(0) @ attention.W_a.T, dx @ attention.U_a.T
    if isinstance(attention, LocationAttention):
        grad.W_a[:, :len(M)] += np.outer(h, de)
        return attention.W_a[:, :len(M)] @ de, 0
    if isinstance(attention, GeneralAttention):
        grad.W_a += np.outer(h, de @ M)
        return de @ M @ attention.W_a.T, np.outer(de, h @ attention.W_a)
    return de @ M, np.outer(de, h)


def look(t, h, M, attention):
    """Target word t asks: h (H,), M (S, N) → context (N,), weights (S,), cache."""
    S, s = len(M), np.arange(len(M))
    near, g, x, p, inner = s >= 0, np.ones(S), None, None, getattr(attention, "attention", attention)
    if isinstance(attention, LocalMonotonic):
        near = abs(s - min(t, S - 1)) <= attention.width
    elif isinstance(attention, LocalPredictive):
        x = np.tanh(h @ attention.W_p)
        p = S / (1 + np.exp(-x @ attention.v_p))
        near, g = abs(s - p) <= attention.width, np.exp(-2 * ((s - p) / attention.width) ** 2)
    a = softmax(score(h, M, inner), near)
    return a * g @ M, a * g, (h, M, a, g, x, p, inner)


def look_backward(dc, cache, attention, grad):
    """→ dh (H,), dM (S, N)."""
    h, M, a, g, x, p, inner = cache
    dalpha, dM, s = M @ dc, np.outer(a * g, dc), np.arange(len(M))
    da = dalpha * g
    dh, dM_score = score_backward(a * (da - a @ da), h, M, inner, grad if inner is attention else grad.attention)
    if p is not None:
        dz = dalpha * a * g @ (s - p) * 4 / attention.width**2 * p * (1 - p / len(M))
        grad.v_p += dz * x
        dy = dz * attention.v_p * (1 - x**2)
        grad.W_p += np.outer(h, dy)
        dh = dh + dy @ attention.W_p.T
    return dh, dM + dM_score


def forward(source, target, model):
    """Ids of a sentence pair, </s> included → Σ −log p(y_t), cache. The model holds F, C and W_h (called W) itself."""
    encoder, decoder, reads, writes, loss = model.encoder.cells[0], model.decoder.cells[0], [], [], 0.0
    h = fed = np.zeros(len(model.W))
    for x in source:
        reads.append((x, h))
        h = np.tanh(model.source_embedding.E[x] @ encoder.W + h @ encoder.U + encoder.b)
    M = np.stack([h for _, h in reads[1:]] + [h])
    for t, (before, y) in enumerate(zip([BOS] + target, target)):
        h_before, fed_before = h, fed
        h = model.target_embedding.E[before] @ decoder.W + h @ decoder.U + decoder.b
        h = np.tanh(h if model.F is None else h + fed @ model.F)
        c, alpha, looked = look(t, h, M, model.attention)
        fed = np.tanh(c @ model.C + h @ model.W)
        p = softmax(fed @ model.output.words.E.T + model.output.b)
        loss -= np.log(p[y])
        writes.append((before, y, h_before, fed_before, h, c, looked, fed, p))
    return loss, (reads, M, writes)


def backward(cache, model, grad, forget=False):
    """Adds ∂L/∂ of every parameter to the twin; forget=True plants a bug: nothing flows back through input feeding."""
    reads, M, writes = cache
    dM, dh, dfed = np.zeros_like(M), np.zeros(len(model.W)), np.zeros(len(model.W))
    for before, y, h_before, fed_before, h, c, looked, fed, p in reversed(writes):
        dscores = p - np.eye(len(p))[y]
        grad.output.words.E += np.outer(dscores, fed)
        grad.output.b += dscores
        du = (dfed + dscores @ model.output.words.E) * (1 - fed**2)         # used twice: for this word, and fed
        grad.C += np.outer(c, du)
        grad.W += np.outer(h, du)
        dquery, dannotations = look_backward(du @ model.C.T, looked, model.attention, grad.attention)
        dh = dh + du @ model.W.T + dquery                                   # used three times: next state, h̃, query
        dM += dannotations
        da = dh * (1 - h**2)
        dh = cell_backward(da, before, h_before, model.decoder, grad.decoder, model.target_embedding, grad.target_embedding)
        if model.F is not None:
            grad.F += np.outer(fed_before, da)
            dfed = da @ model.F.T * (not forget)
    for (x, h_before), h, dm in zip(reads[::-1], M[::-1], dM[::-1]):        # row j of M is the encoder's state j
        dh = cell_backward((dh + dm) * (1 - h**2), x, h_before, model.encoder, grad.encoder, model.source_embedding,
                           grad.source_embedding)


def cell_backward(da, x, h, stack, grad, embedding, dembedding):
    """a = E_x W + h U + b → dh."""
    grad.cells[0].W += np.outer(embedding.E[x], da)
    grad.cells[0].U += np.outer(h, da)
    grad.cells[0].b += da
    dembedding.E[x] += da @ stack.cells[0].W.T
    return da @ stack.cells[0].U.T


# %% [markdown]
# ## Check
#
# Six members against central differences; then all against the library, which works on whole batches, with kernels and a
# read/step protocol. In local-p no position may stand within 0.001 of its window's edge: there is no derivative (see below).

# %%
source, target = [4, 6, 5, 6, 7, EOS], [5, 8, 7, 5, 4, 6, EOS]


def create(score, window, feeding):
    model = LuongTranslator.create(np.random.default_rng(0), 8, 9, embedding=3, hidden=4, layers=1, cell="rnn", width=2,
                                   attention=score, window=window, input_feeding=feeding, alignment=5, dtype=np.float64)
    return randomize(model, np.random.default_rng(1), 0.7)


def check(model, target=target, forget=False):
    def loss():
        L, cache = forward(source, target, model)
        return np.array(L), cache

    def back(dL, cache, grad):
        backward(cache, model, one := model.zeros_like(), forget)
        grad.vector[...] += dL * one.vector
        return ()
    return gradcheck(model, rng=np.random.default_rng(2), forward=loss, backward=back, title="plain Luong translator")


checked = [("dot", "global", True), ("general", "global", False), ("concat", "global", True),
           ("location", "global", True), ("dot", "local-m", True), ("general", "local-p", True)]
members = [member for member in product(("dot", "general", "concat", "location"), WINDOWS, (False, True))
           if member[0] != "location" or member[1] == "global"]    # it looks at no words that a window could choose from
print("\nlargest relative error against central differences:")
for combination in members:
    model = create(*combination)
    L, cache = forward(source, target, model)
    if combination in checked:
        places = [looked[5] for *_, looked, _, _ in cache[2] if looked[5] is not None]
        assert all(np.abs(np.abs(np.arange(len(source)) - p) - 2).min() > 1e-3 for p in places)
        print("  {:<8} {:<7} input feeding {!s:<5} ".format(*combination), f"{check(model).worst:.1e}", flush=True)
    ours, theirs = model.zeros_like(), model.zeros_like()
    backward(cache, model, ours)
    loss, _ = model.loss_and_grad(pair_batch([source[:-1]], [target[:-1]]), None, 1.0, theirs)
    assert np.isclose(L, loss, rtol=1e-10) and np.allclose(ours.vector, theirs.vector, rtol=0, atol=1e-10), combination
print(f"{len(members)} combinations of score, window and input feeding: loss and all gradients equal the library's")

# %% [markdown]
# ### How a bug looks
#
# Forget that h̃_t went into the next step. The shapes fit, training runs, and even a check passes if its sentence has a
# single target word: there is no next step to hear from.

# %%
model = create("dot", "global", True)
check(model, [EOS], forget=True)
try:
    check(model, forget=True)
except GradientError as error:
    print("\nplanted bug, unnoticed with one target word, caught with seven:", str(error).split("\n")[0])
else:
    raise AssertionError("the planted bug went unnoticed")

# %% [markdown]
# ## A window's edge
#
# Inside of its window local-p is differentiable. But as p moves on, positions enter on one side and leave on the other, and
# α jumps, which no gradient sees: at the edge g is still exp(−2) ≈ 0.135. We move p through ten words with fixed scores.

# %%
s, D, e = np.arange(10), 2, np.random.default_rng(5).standard_normal(10)
alphas = np.array([softmax(e, abs(s - p) <= D) * np.exp(-2 * ((s - p) / D) ** 2) for p in np.linspace(2.2, 6.8, 4601)])
jumps, sums = np.abs(np.diff(alphas, axis=0)).sum(1), alphas.sum(1)
print(f"\nlocal-p, p moves by 0.001: Σ|change of α| is {np.median(jumps):.4f} as a rule, at an edge up to {jumps.max():.2f}; "
      f"Σ α lies between {sums.min():.2f} and {sums.max():.2f}")
assert jumps.max() > 20 * np.median(jumps) and sums.max() <= 1

# %% [markdown]
# ## What input feeding costs
#
# Why feed h̃ back? A translator should not translate a word twice; h̃_{t−1} tells the next step what was looked at (earlier
# systems kept a *coverage* vector for that). The price: without it, h_1 … h_T depend on the target words alone, which are
# known in training, so all T queries can be stacked and asked at once; with it, h_{t+1} waits for α_t. For the attention
# alone, 32 sentences of 20 words, that is (the library's Luong decoder goes word by word in either case):

# %%
queries, M = (np.random.default_rng(n).standard_normal((32, 20, 128), np.float32) for n in (6, 7))
ways = {"at once": lambda: softmax(queries @ M.transpose(0, 2, 1)) @ M, "one after another": lambda: np.concatenate(
    [softmax(queries[:, t:t + 1] @ M.transpose(0, 2, 1)) @ M for t in range(20)], 1)}
assert np.allclose(*[way() for way in ways.values()], atol=1e-4)
for name, way in ways.items():
    print(f"{'20 queries, ' + name:<30} {1e3 * min(repeat(way, number=1, repeat=30)):.2f} ms")

# %% [markdown]
# ## Three of the family
#
# `grammar-en-fr`: made-up English sentences and their French translations, gold links known. French puts most adjectives
# after the noun and `ne … pas` around the verb. GRU, bidirectional encoder. One of the three does not look at words at all!

# %%
EPOCHS, MINUTES, SEED = 5, 0.7, 1
train = load_parallel("grammar-en-fr", "train", np.random.default_rng(3), 8_000)
test = load_parallel("grammar-en-fr", "test", np.random.default_rng(4), 400)
SIZES = dict(embedding=64, hidden=64, layers=1, cell="gru", bidirectional=True, input_feeding=False, init=0.25)
FAMILY = {"dot": {}, "dot, input feeding": dict(input_feeding=True), "location": dict(attention="location", longest=24)}
vocabularies = [Vocabulary.build(side) for side in ([p.source for p in train], [p.target for p in train])]
print(f"\ngrammar-en-fr, {len(train):,} sentences, {EPOCHS} epochs each; {len(test)} held-out sentences:", flush=True)
found, pointed, complete = {}, {}, True
for name, settings in FAMILY.items():
    model = LuongTranslator.create(np.random.default_rng(SEED), *map(len, vocabularies), **SIZES | settings)
    translator = Translator(model, *vocabularies, "luong", SIZES | settings, TranslatorTraining(seed=SEED))
    batches = translator.batches(train)
    trainer = Trainer(model, Adam(8e-3), batches, rng=np.random.default_rng(SEED), clip=1.0, threads=1, progress=False,
                      schedule=LinearDecay(EPOCHS * len(batches), 0.05))
    trainer.fit(EPOCHS, MINUTES)
    whole = trainer.step == EPOCHS * len(batches)
    words = [t.target for t in translator.translate([p.source for p in test], beam=1)]
    exact, weights = metrics.exact_match(words, [p.target for p in test]), translator.attend(test)
    kinds = {kind: np.mean([rows[j, :-1].argmax() == i for rows, pair in zip(weights, test) for i, j in phenomena(pair)[kind]])
             for kind in ("swapped adjective", "negation")}
    found[name], pointed[name], complete = weights, metrics.pointing_accuracy(weights, test), complete and whole
    print(f"  {name:<18} {model.size:,} parameters{'' if whole else ' (cut off: a slow or busy machine)'}; exactly "
          f"right {exact:.1%}\n    largest weight on the gold word {pointed[name]:.1%}, at most one beside it "
          f"{metrics.near_pointing(weights, test):.1%}; "
          + ", ".join(f"{kind} {share:.0%}" for kind, share in kinds.items()), flush=True)
    assert exact > 0.8 or not whole
print(f"  (pointing along the diagonal: {metrics.diagonal_pointing(test):.1%})")
assert pointed["dot"] > pointed["location"] + 0.15 or not complete

# %%
both = [n for n in range(len(test)) if phenomena(test[n])["swapped adjective"] and phenomena(test[n])["negation"]]
pair = test[n := min(both, key=lambda n: len(test[n].target))]
figure, axes = plt.subplots(1, len(found), figsize=(15, 5), layout="constrained")
for ax, (name, weights) in zip(axes, found.items()):
    plotting.attention_heatmap(weights[n], [*pair.source, "</s>"], [*pair.target, "</s>"], pair.sure, pair.possible, ax, name)
print(f"saved {plotting.save(figure, OUTPUTS / '09_attention.png').name}: {' '.join(pair.source)} → {' '.join(pair.target)}")

# %% [markdown]
# On this task nothing is left for input feeding to gain; on WMT'14 the paper reports 1.3 BLEU for it. The surprise is
# location: it points hardly better than the diagonal, *past* swapped adjectives, and yet writes them in the right order.
# Almost always it looks at most one place aside, and that is near enough, since an annotation of a bidirectional encoder
# holds its neighbours too (lesson 06 measured that). So a heatmap that is wrong does not prove a bad translator, and a
# good translation does not prove that its heatmap may be read.
#
# ## Questions
#
# 1. Take the query as given (a framework's `detach`): which of the three parts of dh is lost? Which test finds that?
# 2. Train location with `bidirectional=False`. What happens to the translations, and to which of them first?
# 3. Add general with local-p, D = 2, to `FAMILY`. Where does p stand for *ne* and *pas*, and what is Σ α there?
# 4. Where does p start, before training? For which words is the right one outside of the window, and how can p get there?
# 5. Normalise α again after the Gaussian: derive da and dp, change `look` and `look_backward`, and check.
# 6. With dot, hold W_h at 0: h̃ then depends on h through α alone. Does `reverse` still train? Does `grammar-en-fr`?
