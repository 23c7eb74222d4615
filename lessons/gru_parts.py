"""Helpers of lesson 04: marked texts, comparisons, the training loop of one unit."""

import numpy as np

from numpy_attention.data.datasets.corpora import load_text

OPENING = "“"
CLOSING = "”"


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
    """Where a text quotes, verse by verse; only verses that close what they open count.

    → +1 inside of a quotation, else −1 (T,); whether the letter's verse counts (T,)
    """
    inside = []
    counts = []
    for verse in text.splitlines(keepends=True):
        marks = "".join(letter for letter in verse if letter in OPENING + CLOSING)
        is_closed = marks != "" and marks == (OPENING + CLOSING) * (len(marks) // 2)
        inside.append(last_marks(verse))
        counts.append(np.full(len(verse), is_closed))
    return np.concatenate(inside), np.concatenate(counts)


def one_hot(text):
    """Which of three each letter is: opening mark, closing mark, any other → (T, 1, 3)."""
    kinds = [[letter == OPENING, letter == CLOSING, letter not in OPENING + CLOSING]
             for letter in text]
    return np.array(kinds, float)[:, None]


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

    AssertionError: the states, a gradient of an input or one of a parameter differs.
    """
    T, B, _ = xs.shape
    dys = rng.standard_normal((T, B, plain.U.shape[0]))
    dlast = rng.standard_normal(first.shape)
    results = []
    for cell in (plain, library):
        ys, last, cache = cell.forward(xs, first, mask)
        grads = cell.zeros_like()
        dxs, dfirst = cell.backward(dys, dlast, cache, grads)
        results.append([ys, last, dxs, dfirst, *(array for _, array in grads.named_parameters())])
    for number, (ours, theirs) in enumerate(zip(*results, strict=True)):
        assert np.allclose(ours, theirs, rtol=1e-10, atol=1e-12), f"result {number} differs"
