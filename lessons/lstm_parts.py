"""Helpers of lesson 03: networks for the recall task, pictures, a text in words."""

from dataclasses import dataclass, field
from itertools import chain

import numpy as np
from matplotlib import pyplot as plt
from recurrent_parts import QUESTION, Recall

from numpy_attention import plotting
from numpy_attention.cells.cell import Cache
from numpy_attention.cells.lstm import LSTM
from numpy_attention.cells.rnn import RNN
from numpy_attention.data.batching import TextBatches
from numpy_attention.data.datasets.corpora import load_text
from numpy_attention.data.vocabulary import EOS, PAD, SPECIAL_TOKENS, UNK, Vocabulary
from numpy_attention.initializers import orthogonal
from numpy_attention.kernels import gates as kernels
from numpy_attention.layers.dropout import Dropout
from numpy_attention.models.language_model import LanguageModel

# the diagram of a step: {name: (text, x, y, colour)}, (from, to, text, …)
BOXES = {
    "c0": ("cₜ₋₁", 0, 3.1, 0), "h0": ("hₜ₋₁", 0, 1.3), "x": ("xₜ", 0, 0.3),
    "a": ("a = xₜ W + hₜ₋₁ U + b", 1.8, 0.8),
    "f": ("f = σ(a_f)", 3.9, 2.15, 2), "i": ("i = σ(a_i)", 3.9, 1.3, 2),
    "g": ("g = tanh(a_g)", 4.3, 0.45), "o": ("o = σ(a_o)", 3.9, -0.4, 2),
    "c": ("cₜ = f ∘ cₜ₋₁ + i ∘ g", 5.9, 3.1, 0), "h": ("hₜ = o ∘ tanh(cₜ)", 6.2, 0.2),
    "c2": ("cₜ₊₁", 8.2, 3.1, 0), "h2": ("step t + 1", 8.2, 0.2),
}
ARROWS = [("c0", "c", "∘ f"), ("h0", "a"), ("x", "a"), ("a", "f"), ("a", "i"), ("a", "g"),
          ("a", "o"), ("f", "c"), ("i", "c"), ("g", "c"), ("o", "h"), ("c", "h", "tanh"),
          ("c", "c2", "∘ fₜ₊₁", 0, True), ("h", "h2", "U", 0, True)]


@dataclass(eq=False)
class CutLSTM(LSTM):
    """An LSTM whose backward pass omits path (1) or path (2)."""

    path: int = 1

    def _step_backward(self, t, dy, dstate, steps, dsteps):
        dh, dc = super()._step_backward(t, dy, dstate, steps, dsteps)
        return (dh, np.zeros_like(dc)) if self.path == 1 else (np.zeros_like(dh), dc)


class WithoutBackward:
    """A cell that stays as it was drawn, because its backward pass returns only zeros."""

    def backward(self, dys, dstate, cache, grads):
        xs, _ = cache
        return np.zeros_like(xs), self.zero_state(xs.shape[1])


class UntrainedLSTM(WithoutBackward, LSTM):
    pass


class UntrainedRNN(WithoutBackward, RNN):
    pass


def recall_network(n, forget_bias, seed=8, is_orthogonal=False, cut=None):
    """A network of 32 units for lesson 02's task, and the Generator that it was drawn with.

    forget_bias: an LSTM's; None: an Elman network. is_orthogonal: U, or each of the LSTM's four
    blocks of U, starts orthogonal; otherwise U is drawn from (-0.1, 0.1). cut: the path, 1 or 2,
    that an LSTM's backward pass omits; "all": nothing below the output layer learns.
    """
    rng = np.random.default_rng([seed, n])
    kind = {"cell": "rnn"} if forget_bias is None else {"cell": "lstm", "forget_bias": forget_bias}
    model = LanguageModel.create(rng, QUESTION + 1, hidden=32, layers=1, embedding=16, **kind)
    model.embedding.E *= 10             # as in lesson 02: U(−1, 1), so that symbols differ enough
    if is_orthogonal:
        U = model.cells.cells[0].U      # (H, H), or (H, 4H)
        for block in np.split(U, U.shape[1] // 32, axis=1):
            block[...] = orthogonal(rng, block.shape)
    cell = model.cells.cells[0]
    if cut == "all":
        kind = UntrainedRNN if forget_bias is None else UntrainedLSTM
        model.cells.cells[0] = kind(cell.W, cell.U, cell.b)
    elif cut:
        model.cells.cells[0] = CutLSTM(cell.W, cell.U, cell.b, cut)
    return model, rng


@dataclass(eq=False)
class DropoutInTime(LSTM):
    """An LSTM with D on the state that each step reads: on h_{t−1} or on c_{t−1}, the `place`."""

    place: str = "c"
    dropout: Dropout = field(default_factory=Dropout)

    def forward(self, xs, state=None, mask=None, rng=None, row_ids=None):
        """Draw a mask for each step, and run all steps; without rng there is no dropout."""
        steps = self.begin(self.project(xs), state, mask)
        steps.masks, _ = self.dropout.forward(np.ones_like(steps.hs[1:]), rng)
        for t in range(len(xs)):
            self.step(t, steps)
        return steps.hs[1:], self.state(steps, -1), Cache(xs, steps)

    def read(self, t, steps):
        """The state (h, c) before step t, one of the two after D."""
        h, c = self.state(steps, t)
        return self.drop(t, steps, h, c)

    def drop(self, t, steps, h, c):
        """Multiply h or c by the mask of step t."""
        if self.place == "h":
            return h * steps.masks[t], c
        return h, c * steps.masks[t]

    def _step(self, t, steps):
        h, c = self.read(t, steps)
        kernels.lstm(steps.a[t], h @ self.U, c, steps.gates[t], steps.hs[t + 1], steps.cs[t + 1])

    def _step_backward(self, t, dy, dstate, steps, dsteps):
        dh_next, dc_next = dstate
        _, c = self.read(t, steps)
        dc = np.empty_like(c)
        kernels.lstm_backward(dy, dh_next, dc_next, steps.gates[t], c, steps.cs[t + 1],
                              dsteps.a[t], dc)
        return self.drop(t, steps, dsteps.a[t] @ self.U.T, dc)

    def end_backward(self, steps, dsteps, grads):
        for t, da in enumerate(dsteps.a):
            h, _ = self.read(t, steps)
            grads.U += h.T @ da
        return dsteps.a


def dropout_network(n, place, p=0.5, seed=8):
    """The LSTM with b_f = 5 and an orthogonal U, with D "upwards", on "h" or on "c"."""
    model, rng = recall_network(n, 5.0, seed, is_orthogonal=True)
    if place == "upwards":
        return LanguageModel(model.embedding, model.cells, model.output, Dropout(p)), rng
    cell = model.cells.cells[0]
    cell = DropoutInTime(cell.W, cell.U, cell.b, place, Dropout(p))
    return LanguageModel(model.embedding, cell, model.output, Dropout()), rng


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


def share_that_arrives(model, n):
    """→ the share of the last h's gradient that arrives 0, 1, … n + 2 steps back, mean of a batch.

    The network reads the recall task. The gradient of an LSTM's state is that of h and c together.
    """
    upstream = np.random.default_rng(6).standard_normal((32, 32))       # (B, H)
    model = model.astype(float)
    inputs = Recall(n, 1, np.random.default_rng(7)).batch(0).inputs     # (n + 2, B)
    xs, _ = model.embedding.forward(inputs)
    cell = model.cells.cells[0]
    if isinstance(cell, LSTM):
        dlast = (upstream, np.zeros_like(upstream))                     # nothing starts at c
        dstates = [np.hstack(both) for both in way_back(cell, xs, dlast)]
    else:
        dstates = way_back(cell, xs, upstream)
    lengths = np.linalg.norm(dstates, axis=2).mean(1)
    return lengths / lengths[0]


def share_picture(curves, title):
    """{name: share that arrives 0, 1, … steps back}, each named at its end; → Axes."""
    _, ax = plt.subplots(figsize=(8, 5), layout="constrained")
    plotting.gradient_flow(curves, ax=ax, title=title)
    ax.get_legend().remove()
    for line, (name, shares) in zip(ax.get_lines(), curves.items()):
        last = len(shares) - 1
        ax.annotate(name, (last, shares[-1]), (8, 0), textcoords="offset points", va="center",
                    color=line.get_color())
    ax.set(xlabel=f"k steps back ({last}: the first symbol)", xlim=(-1, 1.25 * last),
           ylabel="share of the last h's gradient (log scale)", xticks=range(0, last + 1))
    return ax


def memory_picture(values, flags, curves, title):
    """What a unit reads, as bars, and what it keeps, {name: c_0, c_1, …}, as lines; → Axes."""
    _, ax = plt.subplots(figsize=(8, 3.8), layout="constrained")
    steps = 1 + np.arange(len(values))
    ax.bar(steps, np.tanh(values), 0.5, color="0.88", label="tanh(value), flag 0")
    ax.bar(steps[flags == 1], np.tanh(values[flags == 1]), 0.5, color="black",
           label="tanh(value), flag 1")
    for place, (name, c) in zip((2, 4), curves.items()):    # b_f = 1 and 5, as in share_picture
        style = plotting.base.curve_style(place)
        ax.plot(c, **{**style, "markersize": 4})
        ax.annotate(name, (len(c) - 1, c[-1]), (8, 0), textcoords="offset points", va="center",
                    color=style["color"])
    ax.set(xlabel="step t", ylabel="bars: tanh(value), lines: c", title=title,
           xlim=(-1, 1.2 * len(values)))
    ax.legend(loc="upper right")
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


def overfitting_picture(histories):
    """{dropout p: one dict per epoch}: the perplexity on both texts, side by side; → Figure."""
    figure, axes = plt.subplots(1, 2, figsize=(11, 4), sharey=True, layout="constrained")
    for ax, (p, history) in zip(axes, histories.items()):
        plotting.learning_curves(history, ax=ax)
        training_text, other_text, *_ = ax.get_lines()
        training_text.set_label("training text")
        other_text.set_label("held-out text")
        ax.legend()
        curve = [line["valid_perplexity"] for line in history]
        ax.set_title(f"p = {p}: held-out perplexity rises from {min(curve):.0f} "
                     f"at best to {curve[-1]:.0f}")
    return figure


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
