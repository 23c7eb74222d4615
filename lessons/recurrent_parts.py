"""Helpers of lesson 02: texts in windows, and the recall task."""

import numpy as np
from matplotlib import pyplot as plt

from numpy_attention import plotting
from numpy_attention.data.batching import TextBatch, TextBatches
from numpy_attention.data.datasets.corpora import load_text
from numpy_attention.data.vocabulary import Vocabulary
from numpy_attention.initializers import orthogonal
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.training.evaluation import evaluate
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.trainer import Trainer

KEYS = np.arange(4, 8)          # ids; those below 4 are special
NOISE = np.arange(8, 12)
QUESTION = 12


def letters():
    """The Bible in letters → vocabulary, ids to learn from, ids held out."""
    train, valid = ("\n".join(map(" ".join, load_text("bible-en", split)))
                    for split in ("train", "valid"))
    vocabulary = Vocabulary.build([train])
    return vocabulary, np.array(vocabulary.encode(train)), np.array(vocabulary.encode(valid))


def bigram_bits(ids, held_out, V):
    """Bits per letter of the held-out text, by counted pairs of letters."""
    pairs = np.bincount(ids[:-1] * V + ids[1:], minlength=V * V).reshape(V, V) + 0.1
    shares = pairs / pairs.sum(1, keepdims=True)
    return -np.log2(shares[held_out[:-1], held_out[1:]]).mean()


def bits(model, held_out, carried=True):
    """Bits per letter in windows of 20; carried: whether the state goes from one to the next."""
    batches = TextBatches(held_out, batch_size=50, steps=20)
    if not carried:
        batches.carried = lambda position: False
    return np.log2(evaluate(model, batches).perplexity)


def write(model, vocabulary, begin, length, rng, temperature=1.0):
    """Continue a text letter by letter, drawn from p^(1 / temperature)."""
    written = vocabulary.encode(begin)
    state = None
    for letter in written[:-1]:
        _, _, state = model.next(np.array([letter]), state)
    for _ in range(length):
        log_p, _, state = model.next(np.array(written[-1:]), state)
        p = np.exp(log_p[0].astype(float) / temperature)
        p[:4] = 0                               # ids below 4 are special, not letters
        written.append(int(rng.choice(len(p), p=p / p.sum())))
    return "".join(vocabulary.decode(written)).replace("\n", " / ")


def draw_letters(verse, share):
    """A bar for each letter of verse: the share of the gradient that reaches it."""
    figure, ax = plt.subplots(figsize=(7, 2.6), layout="constrained")
    ax.bar(range(len(verse)), share, color=plotting.COLOURS[0])
    ax.set_xticks(range(len(verse)), verse.replace("\n", "/").replace(" ", "␣"), fontsize=13)
    ax.tick_params(axis="x", length=0)
    reached = int((share > 0.1).sum())
    ax.set(ylabel="share of the gradient", xlim=(-0.6, len(verse) - 0.4),
           title=f"Beyond the last {reached} letters, less than a tenth of the gradient is left")
    return figure


class Recall:
    """Batches of the task: a symbol, n symbols of noise, a question; the answer is the symbol."""

    def __init__(self, n, batches, rng, size=32):
        self.keys = rng.choice(KEYS, (batches, size))
        noise = rng.choice(NOISE, (batches, n, size))
        question = np.full((batches, 1, size), QUESTION)
        self.inputs = np.concatenate([self.keys[:, None], noise, question], 1)

    def order(self, rng=None):
        return range(len(self.inputs))

    def batch(self, i):
        targets = np.zeros_like(self.inputs[i])         # <pad>: nothing to predict
        targets[-1] = self.keys[i]
        return TextBatch(self.inputs[i], targets, np.arange(targets.shape[1]))

    def carried(self, position):
        return False


def recall_model(n, is_orthogonal, seed=8):
    """A network of 32 units, and the Generator that drew its parameters."""
    rng = np.random.default_rng([seed, n])
    model = LanguageModel.create(rng, QUESTION + 1, hidden=32, layers=1, cell="rnn", embedding=16)
    model.embedding.E *= 10             # U(−1, 1): large enough to move the state
    cell = model.cells.cells[0]
    if is_orthogonal:
        cell.U[...] = orthogonal(rng, cell.U.shape)
    return model, rng


def train_recall(model, n, rng, steps=400):
    """Train; → the share of new sequences for which the model answers with the right symbol."""
    test = Recall(n, 1, rng, size=1000).batch(0)
    trainer = Trainer(model, Adam(3e-3), Recall(n, steps, rng), rng=rng, average="token",
                      clip=1.0, progress=False)
    trainer.fit(epochs=1)
    h, _, _ = model.forward(test)
    said = model.output.logits(h[-1]).argmax(1)
    return (said == test.targets[-1]).mean()


def parts_of_dU(model, n):
    """→ {step: norm of its part of dU, divided by the norm of dU}"""
    cell, xs, start, dh = recall_gradient(model, n)
    hs, _, _ = cell.forward(xs, start)
    parts = {}
    for t in range(n + 2, 1, -1):           # hs[t − 1] is h_t
        da = dh * (1 - hs[t - 1]**2)
        parts[t] = hs[t - 2].T @ da
        dh = da @ cell.U.T
    whole = np.linalg.norm(sum(parts.values()))
    return {t: np.linalg.norm(part) / whole for t, part in parts.items()}


def first_step(model, n, rng):
    """Train for one step; → the name, mean |gradient| and mean |movement| of two parameters.

    The movement is in learning rates.
    """
    task = Recall(n, 1, rng)
    grads = model.zeros_like()
    model.loss_and_grad(task.batch(0), None, 1 / 32, grads, None)
    before = model.astype(float)
    trainer = Trainer(model, Adam(3e-3), task, rng=rng, average="token", clip=1.0, progress=False)
    trainer.fit(epochs=1)

    def of(name, part):
        moved = np.abs(part(model) - part(before)).mean() / 3e-3
        return name, np.abs(part(grads)).mean(), moved

    return (of("U", lambda one: one.cells.cells[0].U),
            of("embeddings of A to D", lambda one: one.embedding.E[KEYS]))


def recall_gradient(model, n):
    """→ the cell in float64, and for 200 sequences its inputs xs, h_0 and ∂L/∂h_T."""
    model = model.astype(float)
    task = Recall(n, 1, np.random.default_rng(11), size=200).batch(0)
    xs, _ = model.embedding.forward(task.inputs)                # (n + 2, 200, 16)
    cell = model.cells.cells[0]
    start = np.zeros((200, 32))
    _, last, _ = cell.forward(xs, start)
    ignored = model.output.zeros_like()                         # ∂L/∂(the output's parameters)
    _, dlast = model.output.loss_and_grad(last, task.targets[-1], scale=1, grads=ignored)
    return cell, xs, start, dlast


def draw_back(curves):
    """Plot how much of the gradient is left after d steps. curves: {start: (share, estimate)}."""
    figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
    for place, (start, (share, factor)) in enumerate(curves.items()):
        style = plotting.base.curve_style(place)
        d = np.arange(len(share))
        ax.semilogy(d, share, **style | {"linestyle": "", "markersize": 4})
        ax.semilogy(d, factor**d, color=style["color"], linewidth=1)
        ax.annotate(start, (17, share[17]), (6, 8), textcoords="offset points",
                    color=style["color"])
    ax.set(xlabel="d, steps back (n + 1 to the first symbol)", xticks=(0, 5, 9, 17, 33),
           ylabel="share of the gradient that is left (log scale)",
           title="The gradient vanishes exponentially (points), as estimated (lines)")
    return figure


def draw_recall(learnt):
    """Plot how many of 20 networks learn n = 4, 8, 16 and 32. learnt: {start of U: counts}."""
    figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    distances = (4, 8, 16, 32)
    for place, (start, counts) in enumerate(learnt.items()):
        bars = ax.bar(np.arange(4) + 0.27 * (place - 1), counts, 0.25, label=start,
                      color=plotting.COLOURS[place])
        ax.bar_label(bars, fontsize="small")
    ax.set_xticks(range(4), distances)
    ax.legend()
    ax.set(xlabel="n, number of symbols of noise", ylim=(0, 22), yticks=range(0, 21, 5),
           ylabel="networks (of 20) that learn\nin 400 training steps",
           title=f"{learnt['U orthogonal'][1]} of 20 networks learn n = 8 with U orthogonal, "
                 f"{learnt['U small'][1]} with either other start")
    return figure


# n = 8, U small, five seeds, measured after every 10 steps: the last step with at most a third of
# the answers right; the share of the gradient that arrives at the first symbol, before training,
# then the smallest up to this step, then at this step; the loss at this step; the last step before
# it with a smaller share than before training (code: answer 5)
WAKING = {
    8: (1780, 3.9e-5, 4.9e-8, 0.015, 1.38, 1620), 10: (1360, 3.6e-5, 7.5e-8, 0.0038, 1.39, 1240),
    11: (2240, 2.7e-5, 1.0e-8, 0.013, 1.40, 2100), 12: (2000, 4.6e-5, 7.0e-8, 0.025, 1.38, 1720),
    13: (2150, 4.0e-5, 4.0e-9, 0.030, 1.38, 1920)}
# log10 of the share, and right answers in %, from 150 steps before the first of these steps to 150
# after it
LOG_SHARES = {
    8: (-4.3, -4.2, -4.2, -4.1, -4.1, -4.0, -3.7, -3.5, -3.2, -3.4, -3.5, -3.6, -3.3, -3.2, -2.9,
         -1.8, -0.6, -0.1, -0.1, -0.3, -0.5, -0.7, -1.1, -1.3, -1.3, -1.3, -1.4, -1.4, -1.4, -1.4,
         -1.5),
    10: (-5.1, -5.0, -5.3, -4.8, -4.4, -4.2, -4.2, -4.0, -4.0, -3.9, -3.7, -3.5, -3.3, -3.3, -3.1,
         -2.4, -1.0, -0.4, -0.4, -0.7, -1.2, -1.4, -1.6, -1.7, -1.7, -1.9, -1.9, -2.0, -2.0, -2.0,
         -2.1),
    11: (-4.9, -4.7, -4.5, -4.4, -4.3, -4.2, -4.0, -3.8, -3.9, -3.7, -3.3, -2.6, -3.4, -3.4, -2.7,
         -1.9, -2.5, -4.0, -4.4, -4.3, -4.5, -4.8, -4.8, -4.8, -4.9, -4.9, -5.1, -4.9, -4.9, -5.0,
         -5.0),
    12: (-3.9, -3.7, -3.7, -3.6, -3.5, -3.6, -3.7, -3.8, -3.9, -3.8, -3.6, -3.4, -3.0, -2.7, -2.4,
         -1.6, -0.2, -0.1, -0.7, -1.1, -1.2, -1.2, -1.3, -1.4, -1.4, -1.4, -1.4, -1.2, -1.3, -1.4,
         -1.3),
    13: (-3.5, -3.4, -3.6, -3.7, -3.6, -3.5, -3.6, -3.6, -3.6, -3.4, -3.1, -2.8, -2.8, -2.5, -2.4,
         -1.5, -0.3, -0.6, -0.8, -1.2, -0.8, -1.4, -1.5, -1.5, -1.3, -1.7, -1.7, -1.8, -1.7, -1.7,
         -1.7),
}
RIGHT = {
    8: (28, 28, 28, 22, 22, 22, 22, 23, 23, 23, 27, 27, 23, 23, 28, 21, 62, 86, 100, 100, 100, 100,
         100, 100, 100, 100, 100, 100, 100, 100, 100),
    10: (23, 28, 22, 22, 23, 22, 28, 22, 28, 25, 23, 23, 28, 23, 23, 27, 50, 78, 82, 100, 100, 100,
         100, 100, 100, 100, 100, 100, 100, 100, 100),
    11: (23, 23, 22, 22, 28, 23, 23, 27, 22, 23, 21, 22, 23, 27, 22, 23, 51, 50, 50, 50, 51, 50, 51,
         49, 49, 51, 51, 50, 50, 50, 51),
    12: (23, 23, 23, 23, 27, 28, 28, 27, 27, 28, 28, 28, 34, 28, 28, 20, 86, 100, 100, 100, 100,
         100, 100, 100, 100, 100, 100, 100, 100, 100, 100),
    13: (28, 22, 27, 23, 28, 27, 23, 23, 28, 27, 23, 22, 27, 23, 28, 22, 78, 78, 98, 100, 100, 100,
         100, 100, 100, 100, 100, 100, 100, 100, 100),
}
# n = 32, U small, seed 12: log10 of the share and of its estimate, after every 50 steps up to 2,000
# (code: answer 5)
FAR_SHARES = (
    -16.7, -22.3, -21.3, -20.4, -19.4, -15.5, -13.8, -13.2, -12.2, -12.3, -12.1, -10.9, -9.7, -4.7,
    -10.0, -5.2, -12.4, -8.0, -9.4, -7.1, -5.9, -4.0, -4.5, 0.0, -0.1, -1.0, -1.2, -1.3, -1.3, -1.4,
    -1.4, -1.4, -1.4, -1.5, -1.5, -1.5, -1.5, -1.5, -1.5, -1.5, -1.5)
FAR_ESTIMATES = (
    -16.2, -17.8, -18.1, -18.2, -18.2, -17.7, -17.7, -17.5, -17.1, -17.0, -16.9, -16.3, -15.7,
    -13.7, -16.0, -14.0, -16.2, -15.0, -14.8, -13.5, -13.1, -12.7, -13.4, -13.1, -15.0, -15.3,
    -15.3, -15.3, -15.3, -15.3, -15.3, -15.3, -15.3, -15.3, -15.3, -15.2, -15.2, -15.2, -15.2,
    -15.2, -15.2)
FAR_AWAKE = 1160        # the first of the steps 0, 10, 20, … with more than a third right


def draw_wait():
    """Plot LOG_SHARES and RIGHT around the last measurement with the answers at guessing."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(7, 5), layout="constrained", sharex=True)
    steps = np.arange(-150, 151, 10)
    first = [values[1] for values in WAKING.values()]
    above.axhspan(min(first), max(first), color="0.85", zorder=0)
    above.annotate("before training", (148, max(first)), (0, 4), ha="right",
                   textcoords="offset points", color="0.35")
    for seed in WAKING:
        is_half = RIGHT[seed][-1] < 90
        style = {"color": plotting.COLOURS[int(is_half)], "linewidth": 1.4}
        if is_half:
            style["linestyle"] = "--"
        above.semilogy(steps, 10.0**np.array(LOG_SHARES[seed]), **style)
        below.plot(steps, np.array(RIGHT[seed]) / 100, **style)
        if is_half:
            below.annotate("one stops halfway", (148, RIGHT[seed][-1] / 100), (0, 8), ha="right",
                           textcoords="offset points", color=style["color"])
    below.annotate("four learn the task", (148, 1), (0, -16), ha="right",
                   textcoords="offset points", color=plotting.COLOURS[0])
    below.axhline(0.25, color="grey", linestyle=":", zorder=0)
    below.annotate("guessing", (148, 0.25), (0, -14), ha="right", textcoords="offset points",
                   color="grey")
    for ax in (above, below):
        ax.axvline(0, color="0.5", linewidth=0.8, zorder=0)
    above.set(ylabel="share of the gradient\nthat arrives (log scale)", xlim=(-150, 150),
              title="The share climbs first, then the answers improve")
    below.set(xlabel="training steps from the last measurement at guessing",
              ylabel="right answers (1: all)", ylim=(0, 1.06))
    return figure


def draw_far():
    """Plot the share at n = 32 and its estimate during training."""
    figure, ax = plt.subplots(figsize=(6.5, 3.6), layout="constrained")
    steps = np.arange(0, 2001, 50)
    for place, (name, values) in enumerate((("measured", FAR_SHARES),
                                            ("estimated", FAR_ESTIMATES))):
        style = plotting.base.curve_style(place) | {"marker": ""}
        ax.semilogy(steps, 10.0**np.array(values), **style)
        ax.annotate(name, (steps[-1], 10.0**values[-1]), (0, 8), ha="right",
                    textcoords="offset points", color=style["color"])
    ax.axvline(FAR_AWAKE, color="0.5", linewidth=0.8, zorder=0)
    ax.annotate("the answers\nimprove", (FAR_AWAKE, 1e-21), (6, 0), textcoords="offset points",
                color="0.35")
    ax.set(xlabel="training steps", ylabel="share of the gradient\nthat arrives (log scale)",
           title="n = 32: the share rises by 16 orders of magnitude, and the estimate misses it")
    return figure
