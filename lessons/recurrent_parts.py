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
    ax.bar(range(len(verse)), share, color="tab:blue")
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


def train_recall(model, n, rng, steps=400, optimizer=None):
    """Train; → the share of new sequences for which the model answers with the right symbol."""
    test = Recall(n, 1, rng, size=1000).batch(0)
    trainer = Trainer(model, optimizer or Adam(3e-3), Recall(n, steps, rng), rng=rng,
                      average="token", clip=1.0, progress=False)
    trainer.fit(epochs=1)
    h, _, _ = model.forward(test)
    said = model.output.logits(h[-1]).argmax(1)
    return (said == test.targets[-1]).mean()


def watch_recall(share_of, gain, n=8, seeds=(8, 11, 12), every=200, most=4000):
    """Train a network with U small, and print what happens until nearly all answers are right.

    share_of(model, n): the share of the gradient that arrives, estimated and measured; for each
    step back, rms(1 − h²) and the factor of the tanh. Which networks learn depends on the
    processor. If one does not, the next seed follows.
    """
    for seed in seeds:
        model, rng = recall_model(n, is_orthogonal=False, seed=seed)
        trainer = Trainer(model, Adam(3e-3), Recall(n, every, rng), rng=rng, average="token",
                          clip=1.0, progress=False)
        print("training  share of gradient    tanh, per step        Uᵀ, per step    right")
        print("  step  estimated  measured  rms(1 − h²)  measured     g  measured  answers")
        rows = [report_recall(trainer, share_of, gain, n)]
        while rows[-1][-1] < 0.9 and trainer.step < most:
            trainer.train = Recall(n, every, rng)           # new sequences
            trainer.fit(epochs=trainer.step // every + 1)
            rows.append(report_recall(trainer, share_of, gain, n))
        _, step, slopes, by_tanh, _ = min(rows, key=lambda row: row[0])
        print(f"training step {step:,}, at the question mark: rms(1 − h²) is {slopes[0]:.2f}, and "
              f"the tanh leaves {by_tanh[0]:.2f}")
        if rows[-1][-1] >= 0.9:
            return
        print(f"on this processor, the network of seed {seed} is still asleep")
    print("the next figure shows recorded networks, some of which wake up")


def report_recall(trainer, share_of, gain, n):
    """Print one line of `watch_recall`; → share, step, rms(1 − h²), factors of tanh, answers."""
    model = trainer.model
    test = Recall(n, 1, np.random.default_rng(11), size=200).batch(0)
    h, _, _ = model.forward(test)
    right = (model.output.logits(h[-1]).argmax(1) == test.targets[-1]).mean()
    estimate, share, slopes, by_tanh = share_of(model, n)
    g = gain(model.cells.cells[0].U)
    estimated, measured, tanh = np.power((estimate, share, by_tanh.prod()), 1 / (n + 1))
    print(f"{trainer.step:>6,} {estimate:>10.1e} {share:>9.1e} {estimated / g:>12.2f} "
          f"{tanh:>9.2f} {g:>6.2f} {measured / tanh:>9.2f} {right:>8.2f}", flush=True)
    return share, trainer.step, slopes, by_tanh, right


def draw_recall(learnt, arrived):
    """Plot how many of 20 networks learn n = 4, 8, 16 and 32, with the share at each point.

    learnt: {start of U: counts}. arrived: {start of U: {n: share before training}}. → Figure
    """
    figure, ax = plt.subplots(figsize=(6.5, 4), layout="constrained")
    distances = (4, 8, 16, 32)
    for place, (start, counts) in enumerate(learnt.items()):
        ax.plot(distances, counts, label=start, **plotting.base.curve_style(place))
        for n, count in zip(distances, counts):
            share = arrived[start][n]
            ax.annotate(f"{share:.2f}" if share > 0.05 else f"{share:.1g}", (n, count),
                        (7, -14 if place == 0 and n == 32 else 4), textcoords="offset points",
                        color=plotting.COLOURS[place], fontsize=9)
    ax.set_xscale("log", base=2)
    ax.set_xticks(distances, distances)
    ax.set(xlabel="n, number of symbols of noise (log scale)", xlim=(3.7, 43), ylim=(-2, 22),
           ylabel="networks (of 20) that learn in 400 training steps", yticks=range(0, 21, 5),
           title=f"{learnt['U orthogonal'][1]} of 20 networks learn n = 8 with U orthogonal, "
                 f"and {learnt['U small'][1]} with U small")
    ax.legend(title="at the points, in one network\n(seed 8): share of the gradient\n"
                    "that arrives before training")
    return figure


# n = 8, U small, five seeds: before training and after every 200 steps, the share of the
# gradient that arrives at the first symbol, and the share of right answers (code: answer 6)
SHARES = {
    8: (3.9e-5, 4.0e-6, 4.5e-6, 2.3e-6, 1.2e-6, 2.4e-5, 2.4e-2, 1.1e-2),
    10: (3.6e-5, 7.8e-8, 6.4e-8, 2.0e-7, 6.6e-7, 1.5e-6, 2.0e-6, 2.6e-3, 1.7e-4, 5.5e-5, 4.1e-5,
        6.8e-5, 3.0e-5, 1.3e-5, 6.0e-6, 2.5e-5, 3.7e-5, 2.6e-6, 1.6e-5, 2.8e-6, 1.7e-5),
    11: (2.7e-5, 3.8e-9, 2.0e-9, 1.5e-9, 4.2e-9, 6.2e-9, 5.8e-9, 3.3e-9, 1.9e-8, 3.5e-8, 1.7e-7,
        2.5e-7, 7.2e-7, 9.3e-7, 7.1e-6, 1.4e-5, 6.5e-3, 5.9e-3),
    12: (4.6e-5, 1.1e-7, 1.9e-7, 4.4e-7, 1.2e-6, 8.9e-7, 1.6e-5, 2.0e-4, 1.4e-2, 8.5e-3),
    13: (4.0e-5, 1.7e-6, 5.9e-6, 4.9e-7, 5.7e-7, 5.4e-6, 2.5e-6, 3.0e-5, 2.7e-4, 3.2e-7, 1.9e-7,
        3.2e-7, 2.2e-7, 2.7e-7, 2.1e-7, 1.1e-6, 8.2e-7, 2.6e-7, 6.4e-7, 2.1e-7, 8.1e-7),
}
RIGHT = {
    8: (0.00, 0.23, 0.23, 0.23, 0.27, 0.28, 1.00, 1.00),
    10: (0.19, 0.23, 0.27, 0.18, 0.28, 0.28, 0.27, 0.77, 0.77, 0.78, 0.77, 0.78, 0.78, 0.78,
        0.78, 0.77, 0.77, 0.78, 0.78, 0.77, 0.77),
    11: (0.06, 0.22, 0.23, 0.22, 0.28, 0.25, 0.28, 0.23, 0.22, 0.27, 0.28, 0.22, 0.27, 0.23,
        0.23, 0.28, 1.00, 1.00),
    12: (0.08, 0.28, 0.28, 0.23, 0.28, 0.22, 0.22, 0.23, 1.00, 1.00),
    13: (0.00, 0.23, 0.22, 0.27, 0.27, 0.23, 0.22, 0.28, 0.23, 0.51, 0.50, 0.51, 0.50, 0.51,
        0.51, 0.51, 0.50, 0.55, 0.55, 0.50, 0.50),
}
# the same networks, measured after every 10 steps: the first step with more than a third of the
# answers right, and the step before; (share of the gradient, share of right answers) at both
RISE = {8: (1130, (0.0010, 0.28), (0.021, 0.39)), 10: (1370, (0.0036, 0.27), (0.25, 0.50)),
        11: (3140, (0.11, 0.27), (0.56, 0.85)), 12: (1490, (0.0061, 0.28), (0.22, 0.55)),
        13: (1670, (0.0054, 0.25), (0.059, 0.34))}      # code: answer 6


def draw_wait(outcomes):
    """Plot SHARES and RIGHT over the training steps; outcomes: {seed: how it ends}; → Figure."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(9, 5), layout="constrained", sharex=True)
    for place, (seed, outcome) in enumerate(outcomes.items()):
        step, (share, right), _ = RISE[seed]
        k = step // 200 + 1                         # where this measurement belongs in the curves
        steps = np.insert(200 * np.arange(len(SHARES[seed])), k, step - 10)
        style = plotting.base.curve_style(place)
        hollow = style | {"linestyle": "", "markerfacecolor": "white", "zorder": 3}
        above.semilogy(steps, np.insert(SHARES[seed], k, share), label=f"seed {seed}: {outcome}",
                       **style)
        below.plot(steps, np.insert(RIGHT[seed], k, right), **style)
        above.plot(step - 10, share, **hollow)
        below.plot(step - 10, right, **hollow)
    above.plot([], [], "o", color="grey", markerfacecolor="white",
               label="hollow: last measurement\nbefore the answers improve")
    above.axhline(4e-5, color="grey", linestyle=":", zorder=0, label="about the share at step 0")
    below.axhline(0.25, color="grey", linestyle="--", zorder=0, label="guessing")
    above.set(ylabel="share of the gradient\nthat arrives (log scale)",
              title="In both networks, the gradient comes back first")
    below.set(xlabel="training steps", ylabel="right answers (1: all)", ylim=(-0.04, 1.04))
    figure.legend(loc="outside right upper")
    return figure
