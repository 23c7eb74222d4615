# %% [markdown]
# # Lesson 12: key, value, predict
#
# In lesson 11 one vector h_t did everything: it predicted the next word, it was the question to the memory, it was what
# later questions were compared with, and it was what they brought back. Daniluk, Rocktäschel, Welbl & Riedel (2017) give
# each role a vector of its own, and then look where attention falls: on the last few words, hardly further. So they drop
# attention altogether, let the last three states speak for themselves, and lose next to nothing. You will derive all four
# models, check them, train them at equal size beside an LSTM, and measure how far back they look.

# %%
print("Lesson 12: key, value, predict", flush=True)

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from numpy_attention import analysis, plotting
from numpy_attention.attention.combined import Combined
from numpy_attention.attention.key_value import KeyValueReader
from numpy_attention.attention.ngram import NGramReader
from numpy_attention.data.batching import TextBatches
from numpy_attention.data.running_text import load
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.gradcheck import GradientError, gradcheck
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.budget import within_budget
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.module import Array, Module
from numpy_attention.training.evaluation import evaluate
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.schedules import LinearDecay
from numpy_attention.training.trainer import Trainer

OUTPUTS = (Path(__file__).parent if "__file__" in globals() else Path()) / "outputs"
OUTPUTS.mkdir(exist_ok=True)

# %% [markdown]
# ## Forward
#
# h_t (H) is the LSTM's state after word t; the memory of step t are the L states before it, h_{t−L} … h_{t−1}, or as many
# as there are. A state is cut into parts of n numbers, and each part has a role:
#
#     attention           h = [a],        k = v = p = a    section 2.1, equations 2 to 6
#     key-value           h = [a; b],     k = a, v = p = b             2.2, 7 to 9
#     key-value-predict   h = [a; b; c],  k = a, v = b, p = c          2.3, 10 to 12
#
# From there all three are one model (vectors are rows, i runs over t − L … t − 1):
#
#     M_ti = tanh(k_i W_Y + k_t W_h)       the *key* is what is compared, on both sides
#     e_ti = M_ti · w
#     α_t  = softmax of e_ti over i        nothing to see: r_t = 0
#     r_t  = Σ_i α_ti v_i                  the *value* is what is brought back
#     y_t  = tanh(r_t W_r + p_t W_x)       the *predict* part goes to the softmax, y_t Eᵀ + b'
#
# With one role and no window this is `combined` of lesson 11 without its b. The fourth model has no attention. It cuts h
# into N − 1 parts by *when* they speak, not by role (section 2.4, equation 13); here N = 4:
#
#     y_t = tanh(h¹_t W¹ + h²_{t−1} W² + h³_{t−2} W³)      parts from before the beginning are 0
#
# ## Backward
#
#     y_t  = tanh(a_t)                     da_t = dy_t ∘ (1 − y_t²)
#     a_t  = r_t W_r + p_t W_x             dW_r += r_tᵀ da_t,  dW_x += p_tᵀ da_t,  dr_t = da_t W_rᵀ,  dp_t += da_t W_xᵀ
#     r_t  = Σ_i α_ti v_i                  dα_ti += dr_t · v_i,  dv_i += α_ti dr_t
#     α_t  = softmax(e_t)                  de_ti = α_ti (dα_ti − Σ_j α_tj dα_tj)
#     e_ti = M_ti · w                      dw += Σ_i de_ti M_ti,  dM_ti = de_ti w
#     M_ti = tanh(z_ti)                    dz_ti = dM_ti ∘ (1 − M_ti²)
#     z_ti = k_i W_Y + k_t W_h             dW_Y += Σ_i k_iᵀ dz_ti,  dk_i += dz_ti W_Yᵀ
#                                          dW_h += k_tᵀ Σ_i dz_ti,  dk_t += Σ_i dz_ti W_hᵀ
#     a_t  = Σ_j h^j_{t−j+1} W^j           dW^j += Σ_t h^j_{t−j+1}ᵀ da_t,  dh^j_s += da_{s+j−1} W^jᵀ      (the 4-gram)
#
# dk, dv and dp are *views* of dh: the parts of it where k, v and p were cut from h. With one role all three are the same
# numbers, and += adds them up. What the paper says in words, that one vector is pulled to and fro by its roles, stands
# here as a sum; to give each role its own part is to take the sum apart.


# %%
@dataclass(eq=False)
class PlainReader(Module):
    """The equations above for one text: h (T, H) → y (T, K), and α (T, L), [0] the oldest that the window may hold."""

    W_Y: Array  # (n, n)
    W_h: Array  # (n, n)
    w: Array    # (n,)
    W_r: Array  # (n, K)
    W_x: Array  # (n, K)
    roles: int = 1
    window: int = 5

    def parts(self):
        """Where key, value and predict part stand in a state."""
        n, last = len(self.w), self.roles - 1
        return slice(n), slice(min(1, last) * n, (min(1, last) + 1) * n), slice(last * n, (last + 1) * n)

    def forward(self, h):
        key, value, predict = self.parts()
        y, alphas, kept = [], np.zeros((len(h), self.window)), []
        for t in range(len(h)):
            seen = slice(max(0, t - self.window), t)
            M = np.tanh(h[seen, key] @ self.W_Y + h[t, key] @ self.W_h)
            e = M @ self.w
            alpha = np.exp(e - e.max(initial=-np.inf))
            alpha /= alpha.sum()
            r = alpha @ h[seen, value]                                      # of nothing: 0
            y.append(np.tanh(r @ self.W_r + h[t, predict] @ self.W_x))
            alphas[t, self.window - len(alpha):] = alpha
            kept.append((seen, M, alpha, r, y[-1]))
        return np.stack(y), alphas, (h, self.parts(), kept)

    def backward(self, dy, dalphas, cache, grad):
        h, (key, value, predict), kept = cache
        dh = np.zeros_like(h)
        dk, dv, dp = dh[:, key], dh[:, value], dh[:, predict]               # views: with one role all the same
        for t, (seen, M, alpha, r, y) in enumerate(kept):
            # y = tanh(r W_r + p W_x)
            da = dy[t] * (1 - y**2)
            grad.W_r += np.outer(r, da)
            grad.W_x += np.outer(h[t, predict], da)
            dr = self.W_r @ da
            dp[t] += self.W_x @ da
            # r = Σ_i α_i v_i
            dalpha = dalphas[t, self.window - len(alpha):] + h[seen, value] @ dr
            dv[seen] += np.outer(alpha, dr)
            # α = softmax(e),  e = M · w,  M = tanh(z)
            de = alpha * (dalpha - alpha @ dalpha)
            grad.w += de @ M
            dz = np.outer(de, self.w) * (1 - M**2)
            # z_i = k_i W_Y + k_t W_h
            grad.W_Y += h[seen, key].T @ dz
            dk[seen] += dz @ self.W_Y.T
            grad.W_h += np.outer(h[t, key], dz.sum(0))
            dk[t] += self.W_h @ dz.sum(0)
        return dh


@dataclass(eq=False)
class PlainNGram(Module):
    """y_t = tanh(Σ_j h^j_{t−j+1} W^j) for one text (T, H); W holds W¹ … W^{N−1} one above the other."""

    W: Array  # (H, K)
    order: int = 4

    def terms(self, h):
        """(how many steps later it speaks, its rows) of each part."""
        n = h.shape[1] // (self.order - 1)
        return [(late, slice(late * n, (late + 1) * n)) for late in range(self.order - 1)]

    def forward(self, h):
        a = np.zeros((len(h), self.W.shape[1]))
        for late, part in self.terms(h):
            a[late:] += h[:len(h) - late, part] @ self.W[part]
        y = np.tanh(a)
        return y, (h, y)

    def backward(self, dy, cache, grad):
        h, y = cache
        da, dh = dy * (1 - y**2), np.zeros_like(h)
        for late, part in self.terms(h):
            grad.W[part] += h[:len(h) - late, part].T @ da[late:]
            dh[:len(h) - late, part] = da[late:] @ self.W[part].T
        return dh


# %% [markdown]
# ## Check
#
# Central differences, then the library's readers, which do all steps of a batch of texts at once: outputs, and the
# gradients of states and weights.

# %%
T, B, N, K, L = 9, 3, 4, 5, 3
rng = np.random.default_rng(3)
arrays = [rng.standard_normal(shape) for shape in ((N, N), (N, N), (N,), (N, K), (N, K))]
states, mask = {roles: rng.standard_normal((T, B, roles * N)) for roles in (1, 2, 3)}, np.ones((T, B), bool)


def both(plain, package, h):
    """gradcheck of the plain form, and its largest difference from the package's, over outputs and all gradients."""
    report = gradcheck(plain, h[:, 0], rng=rng)
    dy, ours, theirs = rng.standard_normal((T, B, K)), plain.zeros_like(), package.zeros_like()
    y, _, _, cache = package.forward(h, mask)
    pairs = [(package.backward(dy, None, cache, theirs), []), (y, [])]
    for column in range(B):
        *outputs, cache = plain.forward(h[:, column])
        upstream = [dy[:, column]] + [np.zeros_like(output) for output in outputs[1:]]
        pairs[0][1].append(plain.backward(*upstream, cache, ours))
        pairs[1][1].append(outputs[0])
    pairs = [(other, np.stack(mine, 1)) for other, mine in pairs]
    weights = {name.split(".")[-1]: array for name, array in theirs.named_parameters()}
    pairs += [(weights[{"W_Y": "W_s", "W_h": "W_q", "w": "v"}.get(name, name)], array)
              for name, array in ours.named_parameters()]
    for other, mine in pairs:
        assert np.allclose(mine, other, rtol=1e-10, atol=1e-12)
    return report.worst, max(np.abs(mine - other).max() for other, mine in pairs)


print("\nlargest relative error of the plain form, and its largest difference from the library's:")
for roles, name in ((1, "attention"), (2, "key-value"), (3, "key-value-predict")):
    W_Y, W_h, w, W_r, W_x = arrays
    worst = both(PlainReader(*arrays, roles, L), KeyValueReader(Combined(W_Y, W_h, w), W_x, W_r, None, roles, L),
                 states[roles])
    print("  {:<17}  {:.1e}, {:.1e}".format(name, *worst))
W = rng.standard_normal((3 * N, K))
print("  {:<17}  {:.1e}, {:.1e}".format("4-gram", *both(PlainNGram(W), NGramReader(W), states[3])))


# %% [markdown]
# ## A bug
#
# Take the value part for the key part on the way back. With one role that is no bug at all, and the check passes: it can
# only see what the sizes and roles of its example tell apart. With three it must fail.

# %%
class Misfiled(PlainReader):
    def backward(self, dy, dalphas, cache, grad):
        h, (key, value, predict), kept = cache
        return super().backward(dy, dalphas, (h, (key, key, predict), kept), grad)


gradcheck(Misfiled(*arrays, 1, L), states[1][:, 0], rng=rng)
try:
    gradcheck(Misfiled(*arrays, 3, L), states[3][:, 0], rng=rng)
except GradientError as error:
    print("\n" + "\n".join(str(error).split("\n")[:4]))
else:
    raise AssertionError("the check should have failed")

# %% [markdown]
# ## Five models of one size
#
# 150,000 parameters each, tied weights, b' begun at the logarithm of the words' frequencies (lesson 11). A state with
# three roles is three times as long as its parts, and the LSTM's matrices grow with the square of it: `within_budget` pays
# for roles with smaller parts and embeddings. The whole of `bible-en` is one text here: 64 streams, 20 steps at a time. The
# LSTM's state is carried on from chunk to chunk, the memory is not, so the first words of a chunk find it short; this holds
# in evaluation too. That chunking is part of the figures.
#
# Two seeds each. In the paper the gains over the LSTM are 3 to 9 of perplexity, after training to the end. Before you
# read a difference between two models below, read the difference between a model's two seeds.

# %%
V, BUDGET, STEPS, WINDOW, SEEDS = 1500, 150_000, 150, 10, (7, 8)
MODELS = {"LSTM": None, "attention": "attention", "key-value": "key-value", "key-value-predict": "key-value-predict",
          "4-gram": "ngram"}
train, valid = load("bible-en", "train"), load("bible-en", "valid")
vocabulary = Vocabulary.build(train.sentences, V)
ids = train.stream(vocabulary)[:64 * 20 * STEPS + 1]
batches, held_out = TextBatches(ids, 64, 20), TextBatches(valid.stream(vocabulary)[:30_001], 50, 20)
frequency = np.bincount(ids[1:], minlength=V) + 0.5
SHARED = dict(layers=1, tied=True, forget_bias=1.0, init=0.1)


def trained(attention, seed):
    """A model of at most BUDGET parameters that has read the text once, and its perplexity on held-out text."""
    sizes, _ = within_budget(BUDGET, V, attention, layers=1, tied=True)
    if attention is None:
        model = LanguageModel.create(np.random.default_rng(seed), V, **sizes, **SHARED)
    else:
        window = {} if attention == "ngram" else {"window": WINDOW}
        model = AttentiveLanguageModel.create(np.random.default_rng(seed), V, attention, **sizes, **SHARED, **window)
    model.output.b[...] = np.log(frequency / frequency.sum())
    Trainer(model, Adam(0.02), batches, rng=np.random.default_rng(seed), average="token", clip=1.0, progress=False,
            schedule=LinearDecay(len(batches), 0.05)).fit(1)
    return model, evaluate(model, held_out).perplexity


print(f"\n{len(ids) - 1:,} words in {len(batches)} steps, vocabulary {V:,}, held out 30,000 words; seeds {SEEDS}")
models, perplexity = {}, {}
for name, attention in MODELS.items():
    models[name], perplexity[name] = zip(*(trained(attention, seed) for seed in SEEDS))
    model = models[name][0]
    print(f"  {name:<17}  {model.size:,} parameters, state {model.cells.cells[0].U.shape[0]:>3}, embedding "
          f"{model.embedding.E.shape[1]}: perplexity " + ", ".join(f"{value:.2f}" for value in perplexity[name]), flush=True)
    assert 0.96 * BUDGET < model.size <= BUDGET
means = {name: np.mean(values) for name, values in perplexity.items()}
scatter = max(abs(np.subtract(*values)) for values in perplexity.values())
assert min(means, key=means.get) == "LSTM", "the text below says so"
print(f"best mean: {min(means, key=means.get)}; from best to worst mean {max(means.values()) - min(means.values()):.2f}, "
      f"between two seeds of one model up to {scatter:.2f}")

# %% [markdown]
# On the paper's Wikipedia corpus key-value-predict gained most over the LSTM, then key-value, then attention, and the 4-gram
# was only slightly worse than the best. A minute on a small text can neither confirm nor refute that. What it can show is
# the price: read the column of embeddings beside that of perplexities. A model which pays for roles, or for parts, with
# half of its embedding has to earn that back first, and in 150 steps, at this size, none does.
#
# ## How far back
#
# α at each distance, averaged over all steps that see a full window. If the places were all the same to a model, half of
# its attention would lie on the last five of ten. The second measurement asks what the far places are good for: the models
# stay as they are, and the window alone is cut. What is cut off loses its weight to those that remain.

# %%
spans, cuts = {}, (WINDOW, 5, 1)
print("\nshare of the attention on the last five of ten, both seeds; perplexity with the window cut, first seed")
for name in ("attention", "key-value", "key-value-predict"):
    both_spans = [analysis.attention_span(model, held_out) for model in models[name]]
    spans[name], reader, by_window = both_spans[0], models[name][0].reader, []
    for reader.window in cuts:
        by_window.append(evaluate(models[name][0], held_out).perplexity)
    reader.window = WINDOW
    assert np.isclose(by_window[0], perplexity[name][0]) and by_window[1] < 1.02 * by_window[0]
    assert np.allclose([span.sum() for span in both_spans], 1, atol=1e-4)
    print(f"  {name:<17}  " + ", ".join(f"{span[:5].sum():.2f}" for span in both_spans) + "; "
          + ", ".join(f"{value:.2f} (window {window})" for window, value in zip(cuts, by_window)), flush=True)

figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5), layout="constrained")
plotting.attention_span(spans, ax=left, title="where attention lies, window 10")
left.axhline(1 / WINDOW, color="grey", linestyle=":")
left.annotate("equal weights", (WINDOW, 1 / WINDOW), (0, -28), textcoords="offset points", color="grey", ha="right")
left.set_ylim(top=0.2)
for place, name in enumerate(MODELS):
    right.plot([place] * len(SEEDS), perplexity[name], linestyle="none", color=plotting.COLOURS[0], marker="o", alpha=0.7)
    right.plot(place, means[name], color=plotting.COLOURS[1], marker="_", markersize=24)
right.set_xticks(range(len(MODELS)), MODELS)
right.set(ylabel="perplexity, held out", title=f"{BUDGET:,} parameters each: two seeds (dots), their mean (bar)")
right.grid(axis="y", alpha=0.3)
print("saved", plotting.save(figure, OUTPUTS / "12_span_and_perplexity.png").name)

# %% [markdown]
# In the paper attention falls mainly on the previous five. Here, after so few steps, it lies almost as equal weights would
# (`numpy_attention.recipes` trains such models for longer). The far half of the window can be cut away, and next to nothing
# is lost: because the near words suffice, as in the paper, or because attention is not worth much yet? This minute cannot
# tell.
#
# ## Questions
#
# 1. With one role, dk, dv and dp are one array. Print the norms of the three terms that `+=` adds up there, and the cosines
#    between them, for a trained model. Do they pull in the same direction?
# 2. Why does the state of three roles cost more than three times the parameters of its readers? Where would you put the
#    split, so that the LSTM need not grow?
# 3. Give all five an embedding and parts of 48 numbers, whatever that costs in parameters. Who is ahead now? Train
#    key-value-predict with windows 1, 5 and 10, too: compare with the windows cut after training, above.
# 4. h² of the 4-gram is written one step before it is read. What could the LSTM write there that it could not keep in h¹?
# 5. Read 40 tokens at a time, `TextBatches(ids, 64, 40)`, or let the memory cross the chunks (`carried=10` in `create`).
#    Which words gain? Is it then the same comparison?
# 6. Draw the curve of a text whose answers lie far back: lesson 03's recall. Is the short span the model's or the language's?
