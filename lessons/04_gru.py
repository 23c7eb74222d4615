# %% [markdown]
# # Lesson 04: the gated recurrent unit
#
# A recurrent network reads a text one symbol at a time and carries what it knows in a vector h, its state. Elman's
# network (1990) writes all of h anew at every step, h_t = tanh(x_t W + h_{t−1} U + b), so the gradient that travels back
# from h_T to h_t is multiplied by diag(1 − h²) Uᵀ once a step: after fifty steps it has usually vanished, or exploded.
# The gated recurrent unit (Cho et al. 2014) lets each unit *choose*: keep the number you hold, or take a new one. While
# it keeps, the factor is 1. We derive the cell line by line in all four conventions, check it, and let it write.

# %%
print("Lesson 04: the gated recurrent unit", flush=True)

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from numpy_attention import plotting
from numpy_attention.cells.gru import GRU
from numpy_attention.data.batching import TextBatches
from numpy_attention.data.corpora import load_text
from numpy_attention.data.vocabulary import EOS, Vocabulary
from numpy_attention.gradcheck import GradientError, gradcheck, randomize
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.module import Array, Module
from numpy_attention.training.evaluation import evaluate
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.trainer import Trainer

OUTPUTS = (Path(__file__).parent if "__file__" in globals() else Path()) / "outputs"
OUTPUTS.mkdir(exist_ok=True)

# %% [markdown]
# ## Forward
#
# One step, from x (B, I) and the state before, h (B, H), to the state after, h'. ∘ is the elementwise product,
# σ(a) = 1 / (1 + e^{−a}). W (I, 3H), U (H, 3H) and b (3H,) hold three blocks of columns side by side, r z n.
#
#     a_r a_z a_n = x W + b               the input's part of all three, one product
#     r = σ(a_r + h U_r)                  reset gate: how much of the past the candidate may see
#     z = σ(a_z + h U_z)                  update gate: how much of the past to keep
#     n = tanh(a_n + r ∘ (h U_n + b_n))   candidate
#     h' = (1 − z) ∘ n + z ∘ h            keep where z is 1, replace where it is 0
#
# Two of these lines differ from paper to paper.
#
# - *Reset.* The gate may scale h **before** the product, n = tanh(a_n + (r ∘ h) U_n), or the product **after** it, as
#   above. After is faster, since h U is then one product for all three gates; it has a bias b_n of its own, which r
#   scales too.
# - *Update.* z may weigh the **old** state, as above, or the **new** one, h' = z ∘ n + (1 − z) ∘ h.
#
# | who                                             | reset  | z weighs |
# |-------------------------------------------------|--------|----------|
# | Cho et al. 2014, equations 5 to 8 (version 3)   | before | old      |
# | Bahdanau et al. 2015, A.1.1                     | before | new      |
# | cuDNN, PyTorch; Keras with `reset_after=True`   | after  | old      |
# | the fourth combination, for completeness        | after  | new      |
#
# A *mask* (B,) says which sequences of the batch are still running. Where it is False, h' = h: padding changes nothing.
#
# ## Backward
#
# Given dh' = ∂L/∂h', walk the lines in reverse. h is used in several places, so dh collects several terms: that is where
# most mistakes are made. Where the mask is False, dh' goes to dh as it is and nowhere else. Else, with z on the old state:
#
#     h' = (1 − z) ∘ n + z ∘ h      dz   = dh' ∘ (h − n)         new: dz = dh' ∘ (n − h)
#                                   dn   = dh' ∘ (1 − z)         new: dn = dh' ∘ z
#                                   dh   = dh' ∘ z               new: dh = dh' ∘ (1 − z)          (1)
#     n = tanh(·)                   da_n = dn ∘ (1 − n²)
#     after:  · = a_n + r ∘ s,      dr   = da_n ∘ s
#             s = h U_n + b_n       ds   = da_n ∘ r,   dU_n += hᵀ ds,   db_n += Σ ds
#                                   dh  += ds U_nᵀ                                                (2)
#     before: · = a_n + s U_n,      ds   = da_n U_nᵀ,  dU_n += sᵀ da_n
#             s = r ∘ h             dr   = ds ∘ h
#                                   dh  += ds ∘ r                                                 (2)
#     r = σ(a_r + h U_r)            da_r = dr ∘ r ∘ (1 − r),   dU_r += hᵀ da_r
#     z = σ(a_z + h U_z)            da_z = dz ∘ z ∘ (1 − z),   dU_z += hᵀ da_z
#                                   dh  += da_r U_rᵀ + da_z U_zᵀ                                  (3)
#     a = x W + b                   dW  += xᵀ da,  db += Σ da,  dx = da Wᵀ
#
# since tanh' = 1 − tanh² and σ' = σ (1 − σ). Term (1) is what the cell was invented for: a path through time on which
# nothing is multiplied but z. Over a sequence, dh of step t + 1 is added to the gradient that enters h_t from above.


# %%
@dataclass(eq=False)
class PlainGRU(Module):
    """The equations above, one statement a line; fields as in numpy_attention.cells.gru.GRU."""

    W: Array                   # (I, 3H)
    U: Array                   # (H, 3H)
    b: Array                   # (3H,)
    b_n: Array | None = None   # (H,)
    reset: str = "after"
    update: str = "old"

    def forward(self, xs, h, mask):
        """xs (T, B, I), h (B, H), mask (T, B) → all states (T, B, H), the last one, cache."""
        H, hs, kept = len(self.U), [h], []
        for x, m in zip(xs, mask[:, :, None]):
            h = hs[-1]
            a = x @ self.W + self.b
            r = sigmoid(a[:, :H] + h @ self.U[:, :H])
            z = sigmoid(a[:, H:2 * H] + h @ self.U[:, H:2 * H])
            if self.reset == "after":
                s = h @ self.U[:, 2 * H:] + self.b_n
                n = np.tanh(a[:, 2 * H:] + r * s)
            else:
                s = r * h
                n = np.tanh(a[:, 2 * H:] + s @ self.U[:, 2 * H:])
            after = (1 - z) * n + z * h if self.update == "old" else z * n + (1 - z) * h
            hs.append(np.where(m, after, h))
            kept.append((m, r, z, s, n))
        return np.stack(hs[1:]), hs[-1], (xs, hs, kept)

    def backward(self, dys, dlast, cache, grad):
        """From ∂L/∂(all states) and ∂L/∂(last state) to ∂L/∂xs and ∂L/∂(first state)."""
        xs, hs, kept = cache
        H, dxs, dh = len(self.U), np.empty_like(xs), dlast
        for t in reversed(range(len(xs))):
            h, (m, r, z, s, n) = hs[t], kept[t]
            dh = dh + dys[t]                                    # from the steps after, and from above
            passed, dh = np.where(m, 0, dh), np.where(m, dh, 0)
            # h' = (1 − z) ∘ n + z ∘ h
            if self.update == "old":
                dz, dn, dh = dh * (h - n), dh * (1 - z), dh * z
            else:
                dz, dn, dh = dh * (n - h), dh * z, dh * (1 - z)
            # n = tanh(·)
            da_n = dn * (1 - n**2)
            if self.reset == "after":
                dr, ds = da_n * s, da_n * r
                grad.U[:, 2 * H:] += h.T @ ds
                grad.b_n += ds.sum(0)
                dh = dh + ds @ self.U[:, 2 * H:].T
            else:
                ds = da_n @ self.U[:, 2 * H:].T
                grad.U[:, 2 * H:] += s.T @ da_n
                dr, dh = ds * h, dh + ds * r
            # r, z = σ(a + h U)
            da_rz = np.concatenate([dr * r * (1 - r), dz * z * (1 - z)], 1)
            grad.U[:, :2 * H] += h.T @ da_rz
            dh = dh + da_rz @ self.U[:, :2 * H].T
            # a = x W + b
            da = np.concatenate([da_rz, da_n], 1)
            grad.W += xs[t].T @ da
            grad.b += da.sum(0)
            dxs[t] = da @ self.W.T
            dh = dh + passed
        return dxs, dh


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


# %% [markdown]
# ## Check
#
# Three sequences of 4, 2 and 3 steps in a batch of 4 steps, all sizes different, in every convention: `gradcheck` first
# (lesson 01), then the library's GRU. That one hoists x W out of the loop, waits with dW and dU for one product over
# all steps, and fuses each step's gates in a compiled kernel; it computes nothing else.

# %%
T, B, I, H = 4, 3, 2, 5
rng = np.random.default_rng(4)
xs, first = rng.standard_normal((T, B, I)), rng.standard_normal((B, H))
mask = np.arange(T)[:, None] < np.array([4, 2, 3])
dys, dlast = rng.standard_normal((T, B, H)), rng.standard_normal((B, H))


def create(kind, reset, update):
    """A cell in float64 with random weights, the same for every kind and update."""
    cell = kind(np.empty((I, 3 * H)), np.empty((H, 3 * H)), np.empty(3 * H), np.empty(H) if reset == "after" else None,
                reset, update)
    return randomize(cell, np.random.default_rng(5))


print("\nlargest relative error of the plain form, and its largest difference from the library's:")
for reset in ("after", "before"):
    for update in ("old", "new"):
        plain, cell = create(PlainGRU, reset, update), create(GRU, reset, update)
        report = gradcheck(plain, xs, first, mask, rng=rng)
        results = []
        for layer in (plain, cell):
            ys, last, cache = layer.forward(xs, first, mask)
            grad = layer.zeros_like()
            dxs, dfirst = layer.backward(dys, dlast, cache, grad)
            results.append((ys, last, dxs, dfirst, grad.vector))
        difference = max(np.abs(ours - theirs).max() for ours, theirs in zip(*results))
        print(f"  reset={reset:<6} update={update}: {report.worst:.1e}, {difference:.1e}", flush=True)
        assert difference < 1e-12

# %% [markdown]
# **Old or new z is one sign.** 1 − σ(a) = σ(−a), so a cell whose z weighs the new state, with z's weights and bias
# negated, *is* the cell whose z weighs the old one. No kernel of its own is needed, and weights can be converted.

# %%
old, new = create(GRU, "before", "old"), create(GRU, "before", "new")
for array in (new.W, new.U, new.b):
    array[..., H:2 * H] *= -1
assert np.allclose(old.forward(xs, first, mask)[0], new.forward(xs, first, mask)[0], rtol=0, atol=1e-14)
a = rng.standard_normal(9)
assert np.allclose(sigmoid(-a), 1 - sigmoid(a), rtol=1e-12)
print("\nz of update='new' is 1 − z of update='old' with negated weights")


# %% [markdown]
# ## A bug
#
# The classic: term (3) is forgotten, that r and z looked at h too. Nothing crashes, the loss falls, only less well.

# %%
class Forgetful(PlainGRU):
    """Its backward sees no path through the gates: U_r and U_z are 0 there."""

    def backward(self, dys, dlast, cache, grad):
        U = self.U.copy()
        U[:, :2 * H] = 0
        return PlainGRU(self.W, U, self.b, self.b_n, self.reset, self.update).backward(dys, dlast, cache, grad)


def weights_only(cell, steps):
    """Check only the weights' gradients, from a state of zeros, over so many steps."""
    gradcheck(cell, rng=np.random.default_rng(6), forward=lambda: cell.forward(xs[:steps], np.zeros((B, H)), mask[:steps]),
              backward=lambda *arguments: (cell.backward(*arguments), ())[1])


bug = create(Forgetful, "after", "old")
try:
    gradcheck(bug, xs, first, mask, rng=np.random.default_rng(6))
    raise SystemExit("the check should have failed")
except GradientError as error:
    print("\n" + "\n".join(str(error).split("\n")[:4]))
weights_only(bug, steps=1)
print("checked over a single step, and the weights alone, the same bug passes")
try:
    weights_only(bug, steps=2)
    raise SystemExit("the check should have failed")
except GradientError:
    print("two steps catch it: term (3) first matters to the step before")

# %% [markdown]
# ## A character model
#
# Embedding, GRU, softmax, all with hand-written gradients: `LanguageModel`. It reads `bible-en` as characters, 16 streams
# side by side, 64 steps at a time; the state is carried on, the gradient stops at the window's first step (truncated
# backpropagation through time). Its loss in *bits per character* is log2 of the perplexity. Lesson 01's best bigram,
# measured on the same held-out text, is the bar to clear.

# %%
train, valid = ("\n".join(" ".join(verse) for verse in load_text("bible-en", split)) for split in ("train", "valid"))
vocabulary = Vocabulary.build([train])
V, ids, held_out = len(vocabulary), np.array(vocabulary.encode(train)), np.array(vocabulary.encode(valid[:50_000]))

counts = np.bincount(ids[:-1] * V + ids[1:], minlength=V * V).reshape(V, V) + 0.1
bigram = -np.log2(counts / counts.sum(1, keepdims=True))[held_out[:-1], held_out[1:]].mean()

model = LanguageModel.create(np.random.default_rng(7), V, hidden=128, layers=1, cell="gru", embedding=32)
settings = {"average": "token", "clip": 1.0, "progress": False}
print(f"\n{model}\ncompiling the kernels in float32 ...", flush=True)
Trainer(model.copy(), Adam(), TextBatches(ids[:17], 16, 1), rng=np.random.default_rng(0), **settings).fit(epochs=1)
print("training for 25 seconds ...", flush=True)
trainer = Trainer(model, Adam(4e-3), TextBatches(ids, batch_size=16, steps=64), rng=np.random.default_rng(8), **settings)
history = trainer.fit(epochs=1, minutes=25 / 60)
result = evaluate(model, TextBatches(held_out, batch_size=50, steps=100))
bits = np.log2(result.perplexity)
print(f"{trainer.step} steps, {history[-1]['tokens_per_second']:,} characters/s; bits per character on held-out text: "
      f"{bits:.2f}, the best bigram model {bigram:.2f}")
assert bits < bigram or trainer.step < 300, "300 steps are enough to beat the bigram model"

# %% [markdown]
# `model.next` takes one character and the state, and returns log p of the next one. Dividing log p by a temperature
# below 1 sharpens it. The generator is seeded, the same model writes the same text again.


# %%
def write(start, length, rng, temperature=0.6):
    letters, state = vocabulary.encode(start), None
    for letter in letters:
        log_p, _, state = model.next(np.array([letter]), state)
    for _ in range(length):
        p = np.exp(log_p[0].astype(np.float64) / temperature)
        p[:EOS + 2] = 0                                         # the four special ids are not text
        letters.append(int(rng.choice(V, p=p / p.sum())))
        log_p, _, state = model.next(np.array(letters[-1:]), state)
    return "".join(vocabulary.decode(letters))


print("\n" + write("in the beginning ", 400, np.random.default_rng(9)) + "\n")

# %% [markdown]
# ## What the gates do
#
# One row a unit, one column a character: z_t, computed while this character is read. Yellow keeps, blue replaces. The
# verse is read with what comes before it, since a state of zeros is one that the model has hardly ever seen: after the
# first window of its training, the state was always carried on.

# %%
verse = next(verse for verse in valid[500:].split("\n")[1:] if 50 <= len(verse) <= 70)
cell = model.cells.cells[0]


def update_gates(text):
    """z (characters, H) while the model reads this text."""
    x, _ = model.embedding.forward(np.array(vocabulary.encode(text))[:, None])
    _, _, (_, steps) = cell.forward(x)
    return steps.gates[:, 0, cell.hidden_size:2 * cell.hidden_size]


z, place = update_gates(valid[:20_000]), [0]
for character in valid[1:20_000]:
    place.append(place[-1] + 1 if character.isalpha() else 0)           # the n-th letter of its word, 0 between words
print("mean update gate between words and at a word's first, second, ... letter:",
      " ".join(f"{z[np.array(place) == n].mean():.2f}" for n in range(8)))
units = np.argsort(z.mean(0))
fast, slow = z.mean(0)[units[[0, -1]]]
print(f"of single units from {fast:.2f} to {slow:.2f}; at z = {slow:.2f} half of what a unit holds is left after "
      f"log 0.5 / log z = {np.log(0.5) / np.log(slow):.0f} characters")

end = valid.index(verse) + len(verse)
z = update_gates(valid[:end])[-len(verse):]
figure, (above, below) = plt.subplots(2, 1, figsize=(12, 6), height_ratios=(1, 3), sharex=True, layout="constrained")
above.plot(z.mean(1), color=plotting.COLOURS[0], marker="o", markersize=3)
above.set(ylabel="mean z", title="Update gate of a GRU while it reads a verse")
above.grid(alpha=0.3)
image = below.imshow(z[:, units].T, aspect="auto", cmap="cividis", vmin=0, vmax=1, interpolation="nearest")
below.set(ylabel="units, sorted by mean z", xlabel="character read")
below.set_xticks(range(len(verse)), [character.replace(" ", "␣") for character in verse])
figure.colorbar(image, ax=below, label="z: 1 keeps, 0 replaces")
print("saved", plotting.save(figure, OUTPUTS / "04_update_gate.png").name)

# %% [markdown]
# ## Questions
#
# 1. The units differ widely in how long they remember. Follow one at the top of the picture, one at the bottom, and, if
#    there is one, one that switches at every character: what could each be good for in English spelling?
# 2. Set b_z to 2 at the start (update="old"), as is done for an LSTM's forget gate. Do the first 200 steps learn faster?
# 3. Term (1) is the path without a product. Which setting of z makes the cell Elman's network, up to r?
# 4. In reset="after", set r = 1 everywhere. Is the cell then the same as reset="before" with r = 1? Up to what?
# 5. Delete `+ passed` in PlainGRU. Which gradients go wrong, of which sequences, and which of our sizes makes sure that
#    the check sees it?
# 6. Train with `cell="rnn"` and `cell="lstm"` for the same time, then for the same steps. Which comparison is fair?
