# %% [markdown]
# # Lesson 02: the recurrent network
#
# Lesson 01's model knew one symbol of the past. A recurrent network (Elman 1990) knows, in principle, all of it: it reads
# a text one symbol at a time and keeps what it has seen in a vector h, its state. The gradient must then travel back
# through time. We derive that way (back-propagation through time), cut it (truncation), measure how much of the gradient
# arrives (it vanishes, or it explodes), and see what a network cannot learn for it.

# %%
print("Lesson 02: the recurrent network", flush=True)

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from numpy_attention import plotting
from numpy_attention.cells.rnn import RNN
from numpy_attention.data.batching import TextBatch, TextBatches
from numpy_attention.data.corpora import load_text
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.gradcheck import GradientError, gradcheck, randomize
from numpy_attention.initializers import orthogonal
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.module import Array, Module
from numpy_attention.training.evaluation import evaluate
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.trainer import Trainer

OUTPUTS = (Path(__file__).resolve().parent if "__file__" in globals() else Path()) / "outputs"
OUTPUTS.mkdir(exist_ok=True)

# %% [markdown]
# ## Forward
#
# One step, from x_t (B, I) and the state before, h_{t−1} (B, H). W (I, H), U (H, H) and b (H,) are the same in every step;
# h_0 is given, zeros at the start of a text. The loss L looks at every state: each h_t predicts the next symbol.
#
#     a_t = x_t W + h_{t−1} U + b
#     h_t = tanh(a_t)
#
# ## Backward
#
# *Unfold* the loop: T copies of the step, copy t with weights W_t, U_t, b_t of its own that happen to be equal. Now it is
# an ordinary deep network. dh_t, ∂L/∂h_t by *all* ways, has two parts: h_t is looked at from above, which gives dy_t, and
# the step after reads it, which gives da_{t+1} Uᵀ. So, from the last step to the first, with da_{T+1} = 0:
#
#     h_t read by step t + 1, and from above   dh_t = dy_t + da_{t+1} Uᵀ                 (1)
#     h_t = tanh(a_t)                          da_t = dh_t ∘ (1 − h_t²)                  (2)
#     a_t = x_t W_t + h_{t−1} U_t + b_t        dW_t = x_tᵀ da_t,      dx_t = da_t Wᵀ
#                                              dU_t = h_{t−1}ᵀ da_t
#                                              db_t = Σ_batch da_t
#
# In truth W_t = W for all t: L depends on W through each of the copies, and the chain rule adds them up.
#
#     dW = Σ_t dW_t       dU = Σ_t dU_t       db = Σ_t db_t                              (3)
#
# That is all of *back-propagation through time* (Werbos 1990). *Truncated*, it stops somewhere: a long text is read in
# windows, the state is carried from one into the next, but at a window's first step da Uᵀ is thrown away. The forward pass
# remembers more than the backward pass may blame.


# %%
@dataclass(eq=False)
class PlainRNN(Module):
    """The equations above, one statement a line; fields as in numpy_attention.cells.rnn.RNN."""

    W: Array  # (I, H)
    U: Array  # (H, H)
    b: Array  # (H,)

    def forward(self, xs, h):
        """xs (T, B, I), h_0 (B, H) → all states (T, B, H), the last one, cache."""
        hs = [h]
        for x in xs:
            hs.append(np.tanh(x @ self.W + hs[-1] @ self.U + self.b))
        hs = np.stack(hs)
        return hs[1:], hs[-1], (xs, hs[:-1], hs[1:])                    # states before and after

    def backward(self, dys, dlast, cache, grad):
        """From ∂L/∂(all states) and ∂L/∂(last state) to ∂L/∂xs and ∂L/∂h_0."""
        xs, before, after = cache
        dxs, dh = np.empty_like(xs), dlast
        for t in reversed(range(len(xs))):
            dh = dh + dys[t]                                            # (1), and whoever reads the last state
            da = dh * (1 - after[t]**2)                                 # (2)
            grad.W += xs[t].T @ da                                      # (3): one term of each sum
            grad.U += before[t].T @ da
            grad.b += da.sum(0)
            dxs[t] = da @ self.W.T
            dh = da @ self.U.T
        return dxs, dh


# %% [markdown]
# ## Check
#
# Six steps, three sequences: central differences first (lesson 01), then the library's RNN, which hoists x W out of the loop
# and adds up dU in one product over all steps, but computes nothing else.

# %%
T, B, I, H = 6, 3, 2, 5
rng = np.random.default_rng(2)
xs, dys = rng.standard_normal((T, B, I)), rng.standard_normal((T, B, H))
first, dlast = rng.standard_normal((2, B, H))


def create(kind):
    """A cell in float64 with random weights, the same for every kind."""
    return randomize(kind(np.empty((I, H)), np.empty((H, H)), np.empty(H)), np.random.default_rng(3))


def run(cell, xs, first, dys, dlast):
    """Forward and backward → ys, the last state, dxs, ∂L/∂h_0, all weights' gradients as one vector."""
    ys, last, cache = cell.forward(xs, first)
    grad = cell.zeros_like()
    return ys, last, *cell.backward(dys, dlast, cache, grad), grad.vector


plain = create(PlainRNN)
print(f"\n{gradcheck(plain, xs, first, rng=rng)}")
full = run(plain, xs, first, dys, dlast)
for ours, theirs in zip(full, run(create(RNN), xs, first, dys, dlast)):
    assert np.allclose(ours, theirs, rtol=0, atol=1e-12)
print("the library's RNN gives the same outputs and gradients")

# %% [markdown]
# Is (3) true? Unfold for real: the gradients of six cells, one step each, must add up. And truncation, exactly: windows of
# three steps lose what the first window would have made of the ∂L/∂h that the second one hands back.

# %%
cells, twins, caches, h, dh = [plain.copy() for _ in xs], [plain.zeros_like() for _ in xs], [], first, dlast
for cell, x in zip(cells, xs):
    _, h, cache = cell.forward(x[None], h)
    caches.append(cache)
for t in reversed(range(T)):
    _, dh = cells[t].backward(dys[t][None], dh, caches[t], twins[t])
assert np.allclose(sum(twin.vector for twin in twins), full[-1], rtol=0, atol=1e-12)
print("the gradients of six unfolded cells add up to the shared one's")

one = run(plain, xs[:3], first, dys[:3], np.zeros((B, H)))                       # the gradient stops at the border
two = run(plain, xs[3:], one[1], dys[3:], dlast)                                 # the state does not
crossed = run(plain, xs[:3], first, np.zeros_like(dys[:3]), two[3])
assert np.allclose(np.concatenate([one[0], two[0]]), full[0]), "carried state: the forward pass is the same"
assert np.allclose(one[-1] + two[-1] + crossed[-1], full[-1], rtol=0, atol=1e-12)
print(f"of a gradient of norm {np.linalg.norm(full[-1]):.2f}, truncation drops a part of norm "
      f"{np.linalg.norm(crossed[-1]):.2f}")


# %% [markdown]
# ## A bug
#
# The classic is an index: dU_t takes the state *before* step t. Take the one after, and nothing crashes; shapes agree.

# %%
class OffByOne(PlainRNN):
    """Its backward puts h_t where h_{t−1} belongs."""

    def backward(self, dys, dlast, cache, grad):
        xs, before, after = cache
        return super().backward(dys, dlast, (xs, after, after), grad)


try:
    gradcheck(create(OffByOne), xs, first, rng=np.random.default_rng(4))
except GradientError as error:
    print("\n" + "\n".join(str(error).split("\n")[:4]))
else:
    raise AssertionError("the check should have failed")

# %% [markdown]
# ## A character model
#
# Embedding, RNN, softmax: `LanguageModel` reads `bible-en` as characters, 16 streams side by side, in windows of 50 steps.
# `TextBatches` hands the windows over in the text's order, so that the state can be carried on. *Bits per character* are
# log2 of the perplexity; the best bigram model by counting is the bar, as in lesson 01. The steps are *Adam*'s (Kingma & Ba
# 2015), w −= rate · m / (√v + ε), m and v running means of g and g²: each parameter moves on a scale of its own.

# %%
train, valid = ("\n".join(" ".join(verse) for verse in load_text("bible-en", split)) for split in ("train", "valid"))
vocabulary = Vocabulary.build([train])
V, ids, held_out = len(vocabulary), np.array(vocabulary.encode(train)), np.array(vocabulary.encode(valid[:50_000]))
counts = np.bincount(ids[:-1] * V + ids[1:], minlength=V * V).reshape(V, V) + 0.1
bigram = -np.log2(counts / counts.sum(1, keepdims=True))[held_out[:-1], held_out[1:]].mean()

text = ids[:16 * 50 * 1200 + 1]
model = LanguageModel.create(np.random.default_rng(5), V, hidden=128, layers=1, cell="rnn", embedding=32)
print(f"\n{model}\ntraining on {len(text):,} characters ...", flush=True)
trainer = Trainer(model, Adam(3e-3), TextBatches(text, batch_size=16, steps=50), rng=np.random.default_rng(6),
                  average="token", clip=1.0, progress=False)
history = trainer.fit(epochs=1)
carried, reset = (TextBatches(held_out, batch_size=50, steps=20) for _ in range(2))
reset.carried = lambda position: False                          # each window begins with a state of zeros
bits, blind = (np.log2(evaluate(model, batches).perplexity) for batches in (carried, reset))
print(f"{trainer.step} steps, {history[-1]['tokens_per_second']:,} characters/s; bits per character on held-out text: "
      f"{bits:.2f} with the state carried, {blind:.2f} with it reset every 20 characters, best bigram {bigram:.2f}")
assert bits < bigram and bits < blind

# %% [markdown]
# ## How much of the gradient arrives
#
# Put a loss on the last step only. Between h_t and h_T lie T − t steps, each of which multiplies by its Jacobian:
#
#     ∂L/∂h_t = ∂L/∂h_T · J_T · J_{T−1} … J_{t+1}        J_k = diag(1 − h_k²) Uᵀ
#
# A product of many matrices shrinks or grows exponentially (Hochreiter 1991; Bengio et al. 1994). As 1 − h² ≤ 1, no step
# lengthens the gradient by more than U's largest singular value s: ‖∂L/∂h_{T−d}‖ ≤ s^d ‖∂L/∂h_T‖, and s < 1 is enough to
# vanish (Pascanu et al. 2013). In the long run it is the spectral radius ρ that counts, U's largest eigenvalue in absolute
# value, together with what the tanh takes. We measure: random U scaled to ρ = 0.5, 1, 1.5 and 2.5, under small random
# inputs and a random ∂L/∂h_T; and the model just trained, under the true loss of the last character of 100 windows of
# held-out text. The loop is the library's cell protocol, one step at a time.


# %%
def flow(cell, xs, dlast):
    """xs (T, B, I), dlast (B, H) = ∂L/∂h_T → ‖∂L/∂h_{T−d}‖ for d = 0 … T, mean over the batch; dU_t (T, H, H)."""
    steps = cell.begin(cell.project(xs))
    for t in range(len(xs)):
        cell.step(t, steps)
    dsteps, dhs, nothing = cell.begin_backward(steps), [dlast], np.zeros_like(dlast)
    for t in reversed(range(len(xs))):
        dhs.append(cell.step_backward(t, nothing, dhs[-1], steps, dsteps))
    return np.linalg.norm(dhs, axis=2).mean(1), np.matmul(steps.hs[:-1].transpose(0, 2, 1), dsteps.a)


radius_of = lambda U: np.abs(np.linalg.eigvals(U)).max()
T, B, I, H = 60, 100, 32, 128
rng = np.random.default_rng(7)
xs, dlast = rng.standard_normal((T, B, I)), rng.standard_normal((B, H))
networks, U = {}, rng.standard_normal((H, H)) / np.sqrt(H)
for radius in (0.5, 1.0, 1.5, 2.5):
    cell = RNN(0.05 * rng.standard_normal((I, H)), U * radius / radius_of(U), np.zeros(H))
    networks[f"random, ρ = {radius}"] = cell, xs, dlast
windows = held_out[:B * (T + 1)].reshape(B, T + 1).T
(x, _), cell = model.embedding.forward(windows[:-1]), model.cells.cells[0]
_, dtrue = model.output.loss_and_grad(cell.forward(x)[1], windows[-1], 1.0, model.output.zeros_like())
networks[f"trained, ρ = {radius_of(cell.U):.1f}"] = cell, x, dtrue

places = [1, 5, 10, 20, 40, 60]
print(f"\n{'':19} s   mean 1 − h²    ‖∂L/∂h_T−d‖ / ‖∂L/∂h_T‖ for d = {places}")
curves, slack = {}, {}
for name, (cell, inputs, dh) in networks.items():
    norms, s, slack[name] = flow(cell, inputs, dh)[0], np.linalg.norm(cell.U, 2), 1 - (cell.forward(inputs)[0]**2).mean()
    curves[name] = norms / norms[0]
    print(f"{name:<17} {s:.2f}     {slack[name]:.2f}     ", *(f"{share:9.1e}" for share in curves[name][places]))
    assert (curves[name] <= s ** np.arange(T + 1) * (1 + 1e-4)).all(), "the bound holds"
assert curves["random, ρ = 0.5"][20] < 1e-4 and curves["random, ρ = 2.5"][20] > 10
assert curves[name][20] < 0.01 and slack[name] < slack["random, ρ = 1.5"], "trained: ρ above 1, and yet it vanishes"
ax = plotting.gradient_flow(curves, title="Elman network: how much of the gradient arrives")
print("saved", plotting.save(ax, OUTPUTS / "02_gradient_flow.png").name)

# %% [markdown]
# ρ alone does not decide: training has made U large, but its units are nearly saturated, 1 − h² is small, and the gradient
# vanishes with ρ far above 1.
#
# ## What clipping can do, and what it cannot
#
# Clipping by the global norm (Pascanu et al. 2013) multiplies the *whole* gradient by min(1, limit / ‖gradient‖). An
# explosion is a step that is too long, and this shortens it. A gradient that has vanished is no short one: dU = Σ_t dU_t
# still has its near terms. What is missing are the far terms' shares, and one factor for all leaves shares as they are.

# %%
for name in ("random, ρ = 0.5", "random, ρ = 2.5"):
    terms = flow(*networks[name])[1] / B                                         # dU_t (T, H, H), mean over the batch
    norm = np.linalg.norm(terms.sum(0))
    clipped = terms * min(1, 5 / norm)
    far, far_clipped = (lengths[:-10].sum() / lengths.sum() for lengths in np.linalg.norm([terms, clipped], axis=(2, 3)))
    print(f"{name}: ‖dU‖ = {norm:.1e}, clipped {np.linalg.norm(clipped.sum(0)):.1e}; share of Σ ‖dU_t‖ from more than 10 "
          f"steps back {far:.1e}, clipped {far_clipped:.1e}")
    assert np.isclose(far, far_clipped)

# %% [markdown]
# ## What cannot be learnt for it
#
# Recall: the first symbol is one of four, then come n symbols of noise, then a question mark: say the first symbol again.
# Guessing gives 0.25. Each n gets a fresh network of 32 units and 400 training steps, from two starts: U from U(−0.1, 0.1),
# as above, and U orthogonal (Saxe et al. 2014), whose eigenvalues all have absolute value 1.

# %%
KEYS, NOISE, QUESTION = np.arange(4, 8), np.arange(8, 12), 12                    # ids; those below 4 are special
DISTANCES = (1, 2, 4, 8, 16, 32)


class Recall:
    """Batches of the task, for the trainer: key, n symbols of noise, question; one target, at the question."""

    def __init__(self, n, batches, rng, size=32):
        self.keys, noise = rng.choice(KEYS, (batches, size)), rng.choice(NOISE, (batches, n, size))
        self.inputs = np.concatenate([self.keys[:, None], noise, np.full((batches, 1, size), QUESTION)], 1)

    def order(self, rng=None):
        return range(len(self.inputs))

    def batch(self, i):
        targets = np.zeros_like(self.inputs[i])                                  # <pad>: nothing to predict
        targets[-1] = self.keys[i]
        return TextBatch(self.inputs[i], targets, np.arange(targets.shape[1]))

    def carried(self, position):
        return False


def recall(n, start):
    """Train a network on distance n → accuracy on new sequences, share of the gradient that reached h_1 before."""
    rng = np.random.default_rng([8, n])
    model = LanguageModel.create(rng, QUESTION + 1, hidden=32, layers=1, cell="rnn", embedding=16)
    model.embedding.E *= 10                                                      # U(−1, 1): symbols to be heard
    cell, test = model.cells.cells[0], Recall(n, 1, rng, size=1000).batch(0)
    if start == "U orthogonal":
        cell.U[...] = orthogonal(rng, cell.U.shape)
    norms, _ = flow(cell, model.embedding.forward(test.inputs)[0], rng.standard_normal((1000, 32)).astype(np.float32))
    Trainer(model, Adam(3e-3), Recall(n, 400, rng), rng=rng, average="token", clip=1.0, progress=False).fit(epochs=1)
    h, _, _ = model.forward(test)
    return (model.output.logits(h[-1]).argmax(1) == test.targets[-1]).mean(), norms[n + 1] / norms[0]


accuracy = {"U from U(−0.1, 0.1)": [], "U orthogonal": []}
print("\naccuracy, and the share of ∂L/∂h_T that reaches h_1 before training")
for n in DISTANCES:
    for start in accuracy:
        right, share = recall(n, start)
        accuracy[start].append(right)
        print(f"  n = {n:<3} {start}: {right:.2f}, {share:.0e}", flush=True)
small, straight = (np.array(curve) for curve in accuracy.values())
assert small[0] > 0.9 and straight[0] > 0.9 and small[-1] < 0.35 and straight[-1] < 0.35, "near: learnt; far: guessed"
assert (straight > 0.9).sum() > (small > 0.9).sum(), "where the gradient reaches further, more is learnt"

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for (start, curve), colour, marker in zip(accuracy.items(), plotting.COLOURS, plotting.MARKERS):
    ax.semilogx(DISTANCES, curve, base=2, color=colour, marker=marker, label=start)
ax.axhline(0.25, color="grey", linestyle=":", label="guessing")
ax.set_xticks(DISTANCES, DISTANCES)
ax.set(xlabel="n, symbols of noise in between", ylabel="accuracy", ylim=(0, 1.05), title="Recall of the first symbol")
ax.legend()
print("saved", plotting.save(figure, OUTPUTS / "02_recall.png").name)

# %% [markdown]
# The same Jacobians carry the first symbol's trace *forward*: a change of h_t by δ moves h_T by δ J_{t+1}ᵀ … J_Tᵀ. What has
# vanished for the gradient is gone for the reader too. Lesson 03 builds a path on which nothing is multiplied away.
#
# ## Questions
#
# 1. Elman trained his network in 1990 with the gradient cut after a single step. Train the character model with
#    `TextBatches(..., steps=1)` on as many characters: how many bits does it lose, and what can it still learn?
# 2. In the random networks, make the inputs ten times larger. Which curves sink, and which of the two factors of J is it?
#    Why do some curves turn up at their far end, where the steps begin from h_0 = 0?
# 3. Let the recall model read its noise from the keys' alphabet. Why is it harder, though no gradient has changed?
# 4. Give the orthogonal start ten times as many steps at n = 32. Is what you see the gradient's fault alone?
