"""Helpers of lesson 03: networks for the recall task, pictures, a text in words."""

from itertools import chain

import numpy as np
from matplotlib import pyplot as plt
from recurrent_parts import QUESTION

from numpy_attention import plotting
from numpy_attention.data.batching import TextBatches
from numpy_attention.data.datasets.corpora import load_text
from numpy_attention.data.vocabulary import EOS, PAD, SPECIAL_TOKENS, UNK, Vocabulary
from numpy_attention.initializers import orthogonal
from numpy_attention.models.language_model import LanguageModel


def recall_network(n, forget_bias, seed=8, is_orthogonal=False):
    """A network of 32 units for lesson 02's task, and the Generator that it was drawn with.

    forget_bias: an LSTM's; None: an Elman network. is_orthogonal: U, or each of the LSTM's four
    blocks of U, starts orthogonal; otherwise U is drawn from (-0.1, 0.1).
    """
    rng = np.random.default_rng([seed, n])
    kind = {"cell": "rnn"} if forget_bias is None else {"cell": "lstm", "forget_bias": forget_bias}
    model = LanguageModel.create(rng, QUESTION + 1, hidden=32, layers=1, embedding=16, **kind)
    model.embedding.E *= 10             # as in lesson 02: U(−1, 1), so that symbols differ enough
    if is_orthogonal:
        U = model.cells.cells[0].U      # (H, H), or (H, 4H)
        for block in np.split(U, U.shape[1] // 32, axis=1):
            block[...] = orthogonal(rng, block.shape)
    return model, rng


def way_back(cell, xs, dlast):
    """xs (T, B, I), ∂L/∂(last state) → ∂L/∂(the state 0, 1, … T steps earlier)."""
    state = None
    caches = []
    for x in xs:
        _, state, cache = cell.forward(x[None], state)
        caches.append(cache)
    dstates = [dlast]
    dy = np.zeros((1, *xs[0].shape[:-1], len(cell.U)))
    for cache in caches[::-1]:
        _, dbefore = cell.backward(dy, dstates[-1], cache, cell.zeros_like())
        dstates.append(dbefore)
    return dstates


def table_picture(shares, below, rows, columns, xlabel, title):
    """Shares from 0 to 1 as a coloured table (rows, columns), with a text below each; → Axes."""
    _, ax = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    ax.imshow(shares, cmap="cividis", vmin=0, vmax=1, aspect="auto")
    for (row, column), share in np.ndenumerate(shares):
        ax.text(column, row, f"{share:.2f}\n{below[row][column]}", ha="center", va="center",
                color="black" if share > 0.5 else "white")
    ax.set_xticks(range(len(columns)), columns)
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(length=0)
    ax.set(xlabel=xlabel, title=title)
    return ax


def memory_picture(values, flags, curves, title):
    """What a unit reads, as bars, and what it keeps, {name: c_0, c_1, …}, as lines; → Axes."""
    _, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
    steps = 1 + np.arange(len(values))
    ax.bar(steps, np.tanh(values), color="0.85", label="tanh(value), flag 0")
    ax.bar(steps[flags == 1], np.tanh(values[flags == 1]), color="black", label="flag 1")
    for place, (name, c) in enumerate(curves.items()):
        ax.plot(c, label=name, **{**plotting.base.curve_style(place), "markersize": 4})
    ax.set(xlabel="step t", ylabel="value", title=title)
    ax.legend(loc="center left", bbox_to_anchor=(1, 0.5))
    return ax


def bible_words(read, held_out):
    """The first `read` words of the Bible as a training text, and `held_out` words of other parts.

    → the vocabulary of the words that occur at least twice in the training text, both texts as ids.
    """
    texts = [list(_words(split))[:size] for split, size in (("train", read), ("valid", held_out))]
    vocabulary = Vocabulary.build([texts[0]], min_count=2)
    ids = [[EOS if word == "</s>" else vocabulary.encode([word])[0] for word in text]
           for text in texts]
    return vocabulary, *map(np.array, ids)


def _words(split):
    return chain.from_iterable(verse + ["</s>"] for verse in load_text("bible-en", split))


def known_words(ids):
    """Batches of a text, 20 streams in windows of 20, in which `<unk>` is read, not predicted."""
    batches = TextBatches(ids, batch_size=20, steps=20)
    batches.targets[batches.targets == UNK] = PAD
    return batches


def share_right(model, batches):
    """The share of next words that the model predicts: they get the largest probability."""
    state = None
    hits = []
    for place in batches.order():
        batch = batches.batch(place)
        h, state, _ = model.forward(batch, state)
        said = model.output.logits(h.reshape(-1, h.shape[-1])).argmax(1)
        wanted = batch.targets.ravel()
        hits.append((said == wanted)[wanted != PAD])
    return np.concatenate(hits).mean()


def in_words(vocabulary, ids):
    """Ids as one line of text, `/` for the end of a verse."""
    names = [*SPECIAL_TOKENS, *vocabulary.tokens]
    return " ".join("/" if number == EOS else names[number] for number in ids)


def recite(model, vocabulary, given, length):
    """The `length` words that continue the given ids, each the most likely one, in one line."""
    state = None
    said = list(given)
    for place in range(len(given) + length - 1):
        logits, _, state = model.next(np.array(said[place:place + 1]), state)
        if place + 1 >= len(given):
            said.append(int(logits[0].argmax()))
    return in_words(vocabulary, said[len(given):])


def words_until_error(model, text, given):
    """Read the first `given` ids; → how many of the next ids are predicted before a wrong one."""
    state = None
    for place in range(len(text) - 1):
        logits, _, state = model.next(text[place:place + 1], state)
        if place + 1 >= given and logits[0].argmax() != text[place + 1]:
            return place + 1 - given
    return len(text) - given
