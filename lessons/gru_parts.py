"""Helpers of lesson 04: recall, marked texts, pictures, comparisons, the training of one unit."""

import numpy as np
from matplotlib import pyplot as plt
from recurrent_parts import QUESTION, bits

from numpy_attention import plotting
from numpy_attention.data.batching import TextBatches
from numpy_attention.data.datasets.corpora import load_text
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.trainer import Trainer

OPENING = "“"
CLOSING = "”"
# of 20 runs, those that learnt 16 and 32 symbols of noise, measured before (code: lesson 04, answer
# 6, and lesson 03, answer 5), with seeds 8 to 27 and a small U
RUNS_THAT_LEARNT = {
    "GRU, b_z = 0": (14, 7),
    "GRU, b_z = 3": (18, 12),
    "GRU, b_z = 5": (13, 7),
    "LSTM, b_f = 0": (0, 0),
    "LSTM, b_f = 5": (20, 17),
}


def recall_gru(n, b_z, seed=8):
    """A GRU of 32 units for lesson 02's task, and the Generator that it was drawn with.

    b_z: its start, one number for all units or one for each. U is drawn from (-0.1, 0.1).
    """
    rng = np.random.default_rng([seed, n])
    model = LanguageModel.create(rng, QUESTION + 1, hidden=32, layers=1, cell="gru", embedding=16)
    model.embedding.E *= 10             # as in lesson 02: U(−1, 1), so that symbols differ enough
    model.cells.cells[0].b[32:64] = b_z
    return model, rng


def verses(split, letters):
    """The first letters of a split of the Bible, one verse per line."""
    return "\n".join(map(" ".join, load_text("bible-en", split)))[:letters]


def last_marks(text):
    """+1 where the last quotation mark so far is an opening one, else −1 → (T,)."""
    last = -1.0
    marks = []
    for letter in text:
        last = {OPENING: 1.0, CLOSING: -1.0}.get(letter, last)
        marks.append(last)
    return np.array(marks)


def quoted(text):
    """Whether each letter is inside a quotation; only verses that close what they open count.

    → +1 inside a quotation, −1 outside (T,); whether the letter's verse counts (T,)
    """
    inside = []
    counts = []
    for verse in text.splitlines(keepends=True):
        marks = "".join(letter for letter in verse if letter in OPENING + CLOSING)
        is_closed = marks != "" and marks == (OPENING + CLOSING) * (len(marks) // 2)
        inside.append(last_marks(verse))
        counts.append(np.full(len(verse), is_closed))
    return np.concatenate(inside), np.concatenate(counts)


def train(model, ids, windows, held_out, rate=8e-3):
    """Train on 16 streams of this many windows of 100 letters; → bits per held-out letter."""
    batches = TextBatches(ids[:16 * 100 * windows + 1], batch_size=16, steps=100)
    trainer = Trainer(model, Adam(rate), batches, rng=np.random.default_rng(8), average="token",
                      clip=1.0, threads=1, progress=False)
    trainer.fit(epochs=1)
    return bits(model, held_out, carried=True)


def short_verse(text, scored):
    """The slice of the first verse that has 80 to 100 letters, all of them scored."""
    begin = 0
    for verse in text.splitlines(keepends=True):
        here = slice(begin, begin + len(verse))
        if 80 <= len(verse) <= 100 and scored[here].all():
            return here
        begin += len(verse)
    raise ValueError("no verse of 80 to 100 letters is scored")


def watch(model, ids):
    """The states and update gates (T, H) of a language model's GRU while it reads ids."""
    cell = model.cells.cells[0]
    x, _ = model.embedding.forward(np.array(ids)[:, None])
    hs, _, cache = cell.forward(x)
    H = hs.shape[2]
    return hs[:, 0], cache.steps.gates[:, 0, H:2 * H]


def draw_unit(text, states, gates, title, label="h"):
    """A unit's state and update gate (T,), letter by letter of a text."""
    figure, (above, below) = plt.subplots(2, 1, figsize=(12, 4), sharex=True, layout="constrained")
    for place in (n for n, letter in enumerate(text) if letter in OPENING + CLOSING):
        for ax in (above, below):
            ax.axvline(place, color="0.85", linewidth=6, zorder=0)
    above.plot(states, color=plotting.COLOURS[0], marker="o", markersize=3)
    above.axhline(0, color="0.7", linewidth=1)
    above.set(ylabel=label, ylim=(-1.1, 1.1), title=title)
    below.plot(gates, color=plotting.COLOURS[1], marker="s", markersize=3)
    below.set(ylabel="z: 1 keeps, 0 takes", xlabel="letter read", ylim=(-0.05, 1.05))
    below.set_xticks(range(len(text)), list(text.replace(" ", "␣").replace("\n", "⏎")),
                     fontsize=min(13, 1150 / len(text)), family="monospace")
    below.tick_params(axis="x", length=0)
    return figure


def one_hot(text):
    """Each letter as one of three: opening mark, closing mark, any other → (T, 1, 3)."""
    kinds = [[letter == OPENING, letter == CLOSING, letter not in OPENING + CLOSING]
             for letter in text]
    return np.array(kinds, float)[:, None]


def hold_unit(kind, u):
    """Lesson 04's hold unit as a GRU of this kind, with the weight u from its state to its gate.

    Its candidates are tanh(3) and tanh(−3), not quite +1 and −1. It reads `one_hot`.
    """
    W = np.array([[0.0, -6.0, 3.0],             # columns r, z, n
                  [0.0, -6.0, -3.0],
                  [0.0, 6.0, 0.0]])
    U = np.array([[0.0, u, 0.0]])
    return kind(W, U, np.zeros(3), np.zeros(1))


def window_gradient(cell, xs, wanted, h):
    """→ the mean of (h_t − wanted_t)² over a window, its gradient as a model, the last state."""
    hs, last, cache = cell.forward(xs, h)
    difference = hs - wanted[:, None, None]
    grads = cell.zeros_like()
    cell.backward(2 * difference / len(xs), np.zeros_like(h), cache, grads)
    return (difference**2).mean(), grads, last


def learn(cell, text, optimizer, window=100):
    """Train a cell of one unit to output `last_marks`; the state is carried over the windows.

    → the mean loss of the last fifty windows
    """
    xs = one_hot(text)
    wanted = last_marks(text)
    vectors = {name: np.zeros_like(cell.vector) for name in optimizer.slots}
    h = np.zeros((1, 1))
    losses = []
    for step, start in enumerate(range(0, len(text), window), 1):
        here = slice(start, start + window)
        loss, grads, h = window_gradient(cell, xs[here], wanted[here], h)
        optimizer.update(cell.vector, grads.vector, vectors, step)
        losses.append(loss)
    return np.mean(losses[-50:])


def check_same(plain, library, xs, first, mask, rng):
    """Compare two cells, forward and backward, from the same random gradients.

    mask: None for cells that are called without one.
    AssertionError: the states, a gradient of an input or one of a parameter differs.
    """
    T, B, _ = xs.shape
    dys = rng.standard_normal((T, B, plain.U.shape[0]))
    dlast = rng.standard_normal(first.shape)
    results = []
    for cell in (plain, library):
        ys, last, cache = cell.forward(xs, first, *([] if mask is None else [mask]))
        grads = cell.zeros_like()
        dxs, dfirst = cell.backward(dys, dlast, cache, grads)
        results.append([ys, last, dxs, dfirst, *(array for _, array in grads.named_parameters())])
    for number, (ours, theirs) in enumerate(zip(*results, strict=True)):
        assert np.allclose(ours, theirs, rtol=1e-10, atol=1e-12), f"result {number} differs"
