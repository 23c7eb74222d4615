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
    figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
    distances = (4, 8, 16, 32)
    for place, (start, counts) in enumerate(learnt.items()):
        ax.plot(distances, counts, **plotting.base.curve_style(place))
        ax.annotate(start, (8, counts[1]), (9, 5), textcoords="offset points",
                    color=plotting.COLOURS[place])
    ax.set_xscale("log", base=2)
    ax.set_xticks(distances, distances)
    ax.set(xlabel="n, number of symbols of noise (log scale)", ylim=(-1, 21.5),
           ylabel="networks (of 20) that learn in 400 training steps", yticks=range(0, 21, 5),
           title=f"{learnt['U orthogonal'][1]} of 20 networks learn n = 8 with U orthogonal, "
                 f"and {learnt['U small'][1]} with U small")
    return figure


# n = 8, U small, two seeds: log10 of the share of the gradient that arrives at the first symbol,
# and right answers in % (from step 10 on; code: answer 5). Of the measurements, one every 10 steps,
# all are here up to step 50 and within 200 steps of the hollow point, otherwise one in five.
LOG_SHARES = {
    11: (-4.6, -3.5, -3.2, -6.0, -7.4, -8.1, -8.3, -8.4, -8.4, -8.4, -8.5, -8.7, -8.7, -8.8,
         -9.0, -9.0, -8.8, -8.7, -8.6, -8.6, -8.4, -8.1, -8.4, -8.2, -8.2, -8.1, -8.2, -8.1, -8.2,
         -8.2, -8.4, -8.4, -8.5, -8.4, -8.3, -7.7, -7.7, -7.6, -8.0, -7.6, -7.5, -7.4, -7.1, -7.2,
         -6.8, -6.7, -6.6, -6.5, -6.6, -6.8, -6.4, -5.9, -6.1, -6.2, -6.3, -6.3, -6.0, -6.0, -5.4,
         -5.6, -5.1, -5.1, -5.6, -4.9, -4.9, -5.2, -5.5, -5.7, -5.1, -4.9, -4.9, -4.8, -4.6, -4.6,
         -4.5, -4.4, -4.5, -5.0, -5.0, -4.6, -3.8, -0.9, -3.8, -0.9, -0.3, -0.6, -1.7, -2.6, -2.9,
         -3.0, -3.0, -3.1, -3.2, -3.2, -3.3, -3.3, -3.3, -3.3, -3.3, -3.3, -3.3, -3.3, -3.3, -3.3,
         -3.3, -3.4, -3.4, -3.4, -3.4, -3.4, -3.4, -3.4, -3.4, -3.4, -3.5, -3.5, -3.5, -3.6),
    13: (-4.4, -2.8, -3.2, -5.5, -5.8, -5.8, -6.0, -6.1, -5.8, -6.1, -5.8, -6.2, -5.2, -5.7,
         -5.7, -5.6, -6.3, -6.2, -6.0, -6.4, -6.2, -6.4, -5.9, -6.3, -5.3, -5.8, -5.6, -5.7, -5.6,
         -5.1, -5.3, -5.3, -4.5, -4.9, -5.0, -5.0, -4.8, -4.8, -4.9, -4.8, -4.7, -4.4, -4.6, -4.6,
         -4.2, -3.1, -2.6, -3.4, -3.6, -3.4, -3.4, -3.6, -3.6, -3.2, -2.3, -1.2, -2.2, -4.6, -5.7,
         -6.0, -6.4, -6.5, -6.5, -6.4, -6.4, -6.4, -6.4, -6.4, -6.3, -6.3, -6.3, -6.3, -6.4, -6.3,
         -6.2, -6.4, -6.6, -6.6, -6.6, -6.5, -6.4, -6.4, -6.5, -6.5, -6.2, -6.5, -6.2, -6.0, -6.1,
         -6.4, -6.3, -5.9, -6.3, -6.5, -5.8, -6.0, -5.7, -5.8, -6.0, -6.3, -6.2, -6.1, -6.1, -6.2,
         -6.3, -6.6, -6.7, -6.8, -6.7, -6.5, -7.2, -6.5, -6.1, -6.7, -6.6, -6.7, -6.5, -6.2),
}
RIGHT = {
    11: (22, 27, 22, 22, 27, 28, 22, 22, 22, 23, 27, 23, 28, 22, 27, 22, 27, 23, 23, 28, 28,
         22, 22, 25, 22, 22, 22, 28, 22, 23, 28, 23, 23, 28, 28, 22, 22, 23, 27, 27, 22, 23, 28, 28,
         23, 27, 28, 22, 25, 28, 23, 27, 27, 28, 27, 23, 22, 28, 22, 23, 22, 27, 27, 23, 23, 23, 22,
         22, 28, 28, 28, 28, 28, 23, 22, 22, 28, 23, 22, 22, 27, 27, 27, 85, 100, 100, 100, 100,
         100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100,
         100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 100),
    13: (28, 22, 28, 27, 23, 27, 22, 23, 28, 27, 27, 22, 23, 23, 28, 27, 27, 23, 22, 27, 22,
         28, 23, 23, 28, 22, 22, 22, 28, 28, 23, 28, 22, 23, 28, 23, 27, 28, 28, 23, 27, 22, 28, 23,
         28, 22, 29, 23, 22, 26, 28, 28, 22, 24, 34, 50, 50, 51, 50, 50, 55, 50, 51, 51, 51, 51, 50,
         51, 51, 50, 50, 50, 55, 55, 55, 51, 50, 55, 50, 51, 51, 55, 51, 50, 50, 55, 55, 51, 51, 56,
         55, 55, 51, 50, 51, 51, 51, 51, 55, 51, 50, 55, 50, 51, 55, 51, 50, 56, 55, 51, 55, 50, 50,
         50, 51, 55, 50),
}
# five seeds, measured after every 10 steps: the last step with at most a third of the answers
# right; the share before training and at this step; right answers and loss at this step; the last
# step before it with a share below the first (code: answer 5)
WAKING = {8: (1120, 3.9e-5, 0.0010, 0.28, 1.39, 1050), 10: (1360, 3.6e-5, 0.0036, 0.27, 1.39, 1320),
          11: (3130, 2.7e-5, 0.11, 0.27, 1.36, 3090), 12: (1480, 4.6e-5, 0.0061, 0.28, 1.38, 1380),
          13: (1660, 4.0e-5, 0.0054, 0.25, 1.40, 1550)}


def draw_wait(outcomes):
    """Plot LOG_SHARES and RIGHT over the steps; outcomes: {seed: how it ends}; → Figure."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(7, 5), layout="constrained", sharex=True)
    for place, (seed, outcome) in enumerate(outcomes.items()):
        step, first, share, right, *_ = WAKING[seed]
        near = np.arange(step - 200, step + 201, 10)
        steps = np.union1d(near, np.union1d(np.arange(0, 50, 10), np.arange(0, 4001, 50)))
        style = plotting.base.curve_style(place) | {"marker": ""}
        hollow = plotting.base.curve_style(place) | {"linestyle": "", "markerfacecolor": "white",
                                                     "zorder": 3}
        above.axhline(first, color=style["color"], linestyle=":", linewidth=1, zorder=0)
        above.semilogy(steps, 10.0**np.array(LOG_SHARES[seed]), **style)
        below.plot(steps[1:], np.array(RIGHT[seed]) / 100, **style)
        above.plot(step, share, **hollow)
        below.plot(step, right, **hollow)
        for ax, end in ((above, 10.0**LOG_SHARES[seed][-1]), (below, RIGHT[seed][-1] / 100)):
            ax.annotate(outcome, (steps[-1], end), (8, 0), va="center", color=style["color"],
                        textcoords="offset points")
    below.axhline(0.25, color="grey", linestyle="--", zorder=0)
    below.annotate("guessing", (4000, 0.25), (8, 8), textcoords="offset points", color="grey")
    above.set(ylabel="share of the gradient\nthat arrives (log scale)", xlim=(-100, 5150),
              title="The share rises just before the answers improve, then falls again")
    below.set(xlabel="training steps", ylabel="right answers (1: all)", ylim=(0, 1.06),
              xticks=range(0, 4001, 1000))
    return figure
