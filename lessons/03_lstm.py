# %% [markdown]
# # Lesson 03: long short-term memory
#
# In lesson 02 the gradient had to pass through a product of Jacobians, one for each step, and little of it arrived. The
# LSTM (Hochreiter & Schmidhuber 1997) gives the state a second part, the cell c, that is *added to* instead of rewritten;
# what enters it, what stays and what is shown is decided by gates. We derive it line by line, check it, see the gradient
# arrive, let it recall what Elman's network forgot, and train a model of words with dropout where it does no harm.

# %%
print("Lesson 03: long short-term memory", flush=True)

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

from numpy_attention import plotting
from numpy_attention.cells.lstm import LSTM
from numpy_attention.cells.rnn import RNN
from numpy_attention.cells.stacked import Stacked
from numpy_attention.data.batching import TextBatch, TextBatches
from numpy_attention.data.corpora import load_text
from numpy_attention.data.vocabulary import EOS, Vocabulary
from numpy_attention.gradcheck import GradientError, gradcheck, randomize
from numpy_attention.initializers import orthogonal
from numpy_attention.layers.dropout import Dropout
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.module import Array, Module
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.trainer import Trainer

OUTPUTS = (Path(__file__).resolve().parent if "__file__" in globals() else Path()) / "outputs"
OUTPUTS.mkdir(exist_ok=True)

# %% [markdown]
# ## Forward
#
# One step, from x_t (B, I) and the state before, the pair h_{t−1}, c_{t−1} (B, H) each. W (I, 4H), U (H, 4H) and b (4H,)
# hold four blocks of columns side by side, i f g o; σ(a) = 1 / (1 + e^{−a}), ∘ is the elementwise product.
#
#     a   = x_t W + h_{t−1} U + b
#     i   = σ(a_i)                   input gate: how much of the candidate to add
#     f   = σ(a_f)                   forget gate: how much of the cell to keep
#     g   = tanh(a_g)                candidate
#     o   = σ(a_o)                   output gate: how much of the cell to show
#     c_t = f ∘ c_{t−1} + i ∘ g
#     h_t = o ∘ tanh(c_t)
#
# The equations are those of Zaremba et al. 2014, section 3. In 1997 there was no f: c_t = c_{t−1} + i ∘ g. A cell that
# only adds grows without bound over a long text, and the forget gate (Gers et al. 2000) lets it start anew. Some variants
# let the gates see c too (peepholes); this one does not, nor does PyTorch's.
#
# ## Backward
#
# Given ∂L/∂h_t and ∂L/∂c_t as the step after and the layer above hand them in, walk the lines in reverse. c_t is used
# twice, in h_t and in c_{t+1}, so dc collects two terms.
#
#     h_t = o ∘ tanh(c_t)            do  = dh ∘ tanh(c_t)
#                                    dc += dh ∘ o ∘ (1 − tanh²(c_t))
#     c_t = f ∘ c_{t−1} + i ∘ g      df  = dc ∘ c_{t−1},      di = dc ∘ g,      dg = dc ∘ i
#                                    dc_{t−1} = dc ∘ f                                           (1)
#     o = σ(a_o), likewise i, f      da_o = do ∘ o ∘ (1 − o)
#     g = tanh(a_g)                  da_g = dg ∘ (1 − g²)
#     a = x_t W + h_{t−1} U + b      dW += x_tᵀ da,      dU += h_{t−1}ᵀ da,      db += Σ_batch da
#                                    dx_t = da Wᵀ,       dh_{t−1} = da Uᵀ                        (2)
#
# (2) is Elman's way back, a product with a matrix at every step. (1) is the new one: along c nothing is multiplied but f.
# With f = 1 the gradient goes round unchanged for ever, which is why its inventors called it the *constant error carousel*.


# %%
@dataclass(eq=False)
class PlainLSTM(Module):
    """The equations above, one statement a line; fields as in numpy_attention.cells.lstm.LSTM."""

    W: Array  # (I, 4H)
    U: Array  # (H, 4H)
    b: Array  # (4H,)

    def forward(self, xs, state):
        """xs (T, B, I), state (h, c), each (B, H) → all h (T, B, H), the last state, cache."""
        (h, c), hs, kept = state, [], []
        for x in xs:
            a_i, a_f, a_g, a_o = np.split(x @ self.W + h @ self.U + self.b, 4, axis=1)
            i, f, g, o = sigmoid(a_i), sigmoid(a_f), np.tanh(a_g), sigmoid(a_o)
            kept.append((h, c, i, f, g, o))
            c = f * c + i * g
            h = o * np.tanh(c)
            hs.append(h)
        return np.stack(hs), (h, c), (xs, kept, c)

    def backward(self, dys, dstate, cache, grad):
        """From ∂L/∂(all h) and ∂L/∂(last state) to ∂L/∂xs and ∂L/∂(first state)."""
        (xs, kept, c_t), (dh, dc), dxs = cache, dstate, np.empty_like(cache[0])
        for t in reversed(range(len(xs))):
            h, c, i, f, g, o = kept[t]
            dh = dh + dys[t]                                # from the step after, and from above
            do = dh * np.tanh(c_t)
            dc = dc + dh * o * (1 - np.tanh(c_t)**2)
            df, di, dg = dc * c, dc * g, dc * i
            dc = dc * f                                     # (1)
            da = np.concatenate([di * i * (1 - i), df * f * (1 - f), dg * (1 - g**2), do * o * (1 - o)], 1)
            grad.W += xs[t].T @ da
            grad.U += h.T @ da
            grad.b += da.sum(0)
            dxs[t] = da @ self.W.T
            dh = da @ self.U.T                              # (2)
            c_t = c
        return dxs, (dh, dc)


def sigmoid(a):
    return 1 / (1 + np.exp(-a))


# %% [markdown]
# ## Check
#
# Central differences (lesson 01) for every weight, every input and both halves of the first state; then the library's
# LSTM, whose step is one product and one compiled loop over all four gates.

# %%
T, B, I, H = 4, 3, 2, 5
rng = np.random.default_rng(2)
xs, dys = rng.standard_normal((T, B, I)), rng.standard_normal((T, B, H))
h, c, dh, dc = rng.standard_normal((4, B, H))


def create(kind, inputs=I):
    """A cell in float64 with random weights, the same for every kind."""
    return randomize(kind(np.empty((inputs, 4 * H)), np.empty((H, 4 * H)), np.empty(4 * H)), np.random.default_rng(3))


def run(cell):
    """Forward and backward → all h, the last state, dxs, ∂L/∂(first state), all weights' gradients as one vector."""
    ys, last, cache = cell.forward(xs, (h, c))
    grad = cell.zeros_like()
    dxs, dfirst = cell.backward(dys, (dh, dc), cache, grad)
    return ys, *last, dxs, *dfirst, grad.vector


print(f"\n{gradcheck(create(PlainLSTM), xs, (h, c), rng=rng)}")
for ours, theirs in zip(run(create(PlainLSTM)), run(create(LSTM))):
    assert np.allclose(ours, theirs, rtol=0, atol=1e-12)
print("the library's LSTM gives the same outputs and gradients")


# %% [markdown]
# ## A bug
#
# Let us pair the forward pass of 2000 with the backward pass of 1997, which knows of no forget gate.

# %%
class HalfModernised(PlainLSTM):
    def backward(self, dys, dstate, cache, grad):                    # takes every f for 1
        xs, kept, last = cache
        return super().backward(dys, dstate, (xs, [(h, c, i, np.ones_like(f), g, o) for h, c, i, f, g, o in kept], last), grad)


try:
    gradcheck(create(HalfModernised), xs, (h, c), rng=np.random.default_rng(4))
except GradientError as error:
    print("\n" + "\n".join(str(error).split("\n")[:4]))
else:
    raise AssertionError("the check should have failed")

# %% [markdown]
# ## The constant error carousel
#
# First the carousel alone. With U = 0 the matrix's way (2) is closed, and what comes back along c must be what went in,
# times the forget gates of the steps between, to the last digit.

# %%
cell = create(LSTM)
cell.U[...] = 0
steps = cell.begin(cell.project(xs), (h, c))
for t in range(T):
    cell.step(t, steps)
dsteps, dstate, nothing = cell.begin_backward(steps), (np.zeros((B, H)), dc), np.zeros((B, H))
for t in reversed(range(T)):
    dstate = cell.step_backward(t, nothing, dstate, steps, dsteps)
assert np.allclose(dstate[1], dc * steps.gates[:, :, H:2 * H].prod(0), rtol=1e-12), "∂L/∂c_0 = ∂L/∂c_T ∘ Π f"
print("\nwith U = 0, ∂L/∂c_0 is ∂L/∂c_T times the product of the forget gates")

# %% [markdown]
# Now all ways together, as in lesson 02: a loss on h_T alone, a random gradient, random inputs, the library's own initial
# weights (U orthogonal), 60 steps. Elman's network against LSTMs whose forget gate starts with bias 0, 1 and 5. ∂L/∂h_t and
# ∂L/∂c_t are what the steps after t hand back.


# %%
def flow(cell, xs, dlast):
    """∂L/∂h_T (B, H) → ‖∂L/∂h_{T−d}‖, ‖∂L/∂c_{T−d}‖ (2, T + 1) for d = 0 … T, means over the batch; mean of the gates."""
    steps = cell.begin(cell.project(xs))
    for t in range(len(xs)):
        cell.step(t, steps)
    nothing, dsteps = np.zeros_like(dlast), cell.begin_backward(steps)
    dstates = [(dlast, nothing) if isinstance(cell, LSTM) else dlast]
    for t in reversed(range(len(xs))):
        dstates.append(cell.step_backward(t, nothing, dstates[-1], steps, dsteps))
    norms = np.linalg.norm([d if isinstance(d, tuple) else (d, nothing) for d in dstates], axis=3).mean(2).T
    return norms, steps.gates[:, :, len(cell.U):2 * len(cell.U)].mean() if isinstance(cell, LSTM) else None


T, B, I, H, places = 60, 50, 32, 128, [1, 5, 10, 20, 40, 60]
rng = np.random.default_rng(5)
xs, dlast = rng.standard_normal((T, B, I)), rng.standard_normal((B, H))
dlast /= np.linalg.norm(dlast, axis=1, keepdims=True)
cells = {"RNN": RNN.create(rng, I, H, dtype=float)}
cells = {f"LSTM, b_f = {bias}": LSTM.create(rng, I, H, forget_bias=bias, dtype=float) for bias in (0, 1, 5)} | cells
curves_h, curves_c = {}, {}
print(f"\n{'':14}   mean f            norm of the gradient for d = {places}")
for name, cell in cells.items():
    (curves_h[name], along_c), f = flow(cell, xs, dlast)
    print(f"{name:<14} {'' if f is None else f'{f:8.2f}':8}   ∂L/∂h", *(f"{norm:9.1e}" for norm in curves_h[name][places]))
    if f is not None:
        curves_c[name] = along_c
        print(f"{'':26}∂L/∂c", *(f"{norm:9.1e}" for norm in along_c[places]))
far = [curve[40] for curve in curves_h.values()]
assert far[3] < 1e-4 and far[0] < far[1] < far[2] and far[1] > 100 * far[3]

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.5), sharey=True, layout="constrained")
plotting.gradient_flow(curves_h, ax=left, title="what comes back to h")
plotting.gradient_flow(curves_c, ax=right, title="what comes back to c")
right.set_ylabel(r"$\Vert\,\partial L_T\, /\, \partial c_{T-d}\,\Vert$")
print("saved", plotting.save(figure, OUTPUTS / "03_gradient_flow.png").name)

# %% [markdown]
# The bias is the point. With b_f = 0 a gate is about one half open, and one half to the power of 60 is nothing: the gate
# that was to help the cell forget has made it forget the gradient. A positive bias, Gers et al.'s own advice, opens it: with 1
# far more arrives, though much of that through (2), as σ(1)^60 is nothing either; with 5 the carousel hardly slows, and (2)
# even makes the gradient grow. Recall asks which of them is enough.
#
# ## Recall
#
# Lesson 02's task: one of four symbols, n symbols of noise, then the question which it was; 32 units, 400 training steps
# for each n, guessing gives 0.25. The RNN has the better of its two starts, U orthogonal; in lesson 02, from other random
# numbers, the same RNN still managed n = 16. At the edge of what a network can learn, luck decides.


# %%
class Recall(list):
    def __init__(self, n, batches, rng, size=32):
        for _ in range(batches):
            key, noise = rng.integers(4, 8, (1, size)), rng.integers(8, 12, (n, size))
            inputs = np.concatenate([key, noise, np.full((1, size), 12)])                  # 12 is the question
            targets = np.concatenate([np.zeros((n + 1, size), int), key])                  # 0 is <pad>: no target
            self.append(TextBatch(inputs, targets, np.arange(size)))

    def order(self, rng=None):
        return range(len(self))

    def batch(self, i):
        return self[i]

    def carried(self, position):
        return False


def recall(n, name):
    """Train a network on distance n → accuracy on new sequences."""
    rng = np.random.default_rng([8, n])
    model = LanguageModel.create(rng, 13, hidden=32, layers=1, cell=name[:4].strip().lower(), embedding=16)
    model.embedding.E *= 10                                                                # U(−1, 1)
    if name == "RNN":
        model.cells.cells[0].U[...] = orthogonal(rng, (32, 32))
    else:
        model.cells.cells[0].b[32:64] = float(name.split()[-1])
    Trainer(model, Adam(3e-3), Recall(n, 400, rng), rng=rng, average="token", clip=1.0, progress=False).fit(epochs=1)
    test = Recall(n, 1, rng, size=1000)[0]
    h, _, _ = model.forward(test)
    return (model.output.logits(h[-1]).argmax(1) == test.targets[-1]).mean()


DISTANCES = (2, 4, 8, 16, 32)
accuracy = {name: [] for name in cells}
print(f"\naccuracy of recall for n = {DISTANCES}")
for name in cells:
    accuracy[name] = np.array([recall(n, name) for n in DISTANCES])
    print(f"  {name:<14}", *(f"{value:5.2f}" for value in accuracy[name]), flush=True)
assert accuracy["LSTM, b_f = 5"].min() > 0.9 and accuracy["RNN"][-1] < 0.35

figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
for (name, curve), colour, marker in zip(accuracy.items(), plotting.COLOURS, plotting.MARKERS):
    ax.semilogx(DISTANCES, curve, base=2, color=colour, marker=marker, label=name)
ax.axhline(0.25, color="grey", linestyle=":", label="guessing")
ax.set_xticks(DISTANCES, DISTANCES)
ax.set(xlabel="n, symbols of noise in between", ylabel="accuracy", ylim=(0, 1.05), title="Recall of the first symbol")
ax.legend()
print("saved", plotting.save(figure, OUTPUTS / "03_recall.png").name)

# %% [markdown]
# ## Dropout, but not along time
#
# Dropout sets each value to 0 with probability p and divides the others by 1 − p. On h_{t−1} U it would hit what the cell
# remembers at every step. Zaremba et al. 2014 put it on the *non-recurrent* connections alone: between the embedding
# and the first layer, between layers, and before the softmax,
#
#     layer l reads D(h_t^{l−1}) and its own h_{t−1}^l, whole       (section 3.2)
#
# so what a word leaves behind passes D as often as there are connections upwards, however long ago it was read.

# %%
p, layers = 0.5, 2
print(f"\nundropped n steps later, p = {p}, {layers} layers: {(1 - p) ** (layers + 1):.3f} for every n; along time, too, "
      + ", ".join(f"{(1 - p) ** (layers + 1 + n):.0e} for n = {n}" for n in (1, 10, 30)))
T, B, I, H = 4, 3, 2, 5
xs, dropout, below, above = rng.standard_normal((T, B, I)), Dropout(p), create(LSTM, I), create(LSTM, H)
ys, _, _ = Stacked([below, above], dropout).forward(xs, rng=np.random.default_rng(6))
plain_below, plain_above = (PlainLSTM(cell.W, cell.U, cell.b) for cell in (below, above))
zeros = np.zeros((B, H)), np.zeros((B, H))
mask, _ = dropout.forward(np.ones((T, B, H)), np.random.default_rng(6))                    # 0 or 1 / (1 − p)
assert np.allclose(ys, plain_above.forward(mask * plain_below.forward(xs, zeros)[0], zeros)[0], rtol=0, atol=1e-12)
print("the library's stack of two cells is ours with D in between")

# %% [markdown]
# A model of words needs it: a small text is soon known by heart. Two layers of 100 units read 15,000 words of `bible-en`,
# ten times over, once without dropout and once with p = 0.5.

# %%
words = {split: [word for verse in load_text("bible-en", split) for word in verse + ["</s>"]][:size]
         for split, size in (("train", 15_000), ("valid", 8_000))}
vocabulary = Vocabulary.build([words["train"]], min_count=2)
train, valid = (TextBatches([EOS if word == "</s>" else vocabulary.encode([word])[0] for word in words[split]], 20, 20)
                for split in words)
figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
last = {}
for rate, ax in zip((0.0, 0.5), axes):
    model = LanguageModel.create(np.random.default_rng(7), len(vocabulary), hidden=100, dropout=rate)
    trainer = Trainer(model, Adam(5e-3), train, valid, rng=np.random.default_rng(8), average="token", progress=False)
    history = trainer.fit(epochs=10)
    last[rate], best = history[-1]["valid_perplexity"], min(line["valid_perplexity"] for line in history)
    print(f"dropout {rate}: {model.size:,} parameters, last epoch's perplexity {history[-1]['train_perplexity']:.0f} on the "
          f"training words, {last[rate]:.1f} on others; best epoch {best:.1f}", flush=True)
    plotting.learning_curves(history, ax=ax).set_title(f"dropout {rate}")
print("saved", plotting.save(figure, OUTPUTS / "03_dropout.png").name)
assert last[0.5] < last[0.0]

# %% [markdown]
# The training curve with dropout is the handicapped model's, measured while values are dropped; validation uses all.
#
# ## Questions
#
# 1. Set f = 1 in PlainLSTM, as in 1997: which lines of backward vanish? `recall(n, "LSTM, b_f = 100")` does it: still solved?
# 2. What does h_t = o ∘ tanh(c_t) do to the gradient when c is large? Plot how large c becomes with b_f = 5 over 60 steps.
# 3. Lesson 04's GRU has h' = (1 − z) ∘ n + z ∘ h. Where is its carousel, and what plays b_f's part?
# 4. In the gradient-flow figure, scale U of the LSTM with b_f = 5 by 0.5 and by 2. Which of (1) and (2) makes it grow?
# 5. Put the dropout along time after all: multiply h by a fresh mask at every step of PlainLSTM, forward and backward, and
#    check it. How much of a loss on h_T is left after 60 steps? And with one mask for all (Gal & Ghahramani 2016)?
