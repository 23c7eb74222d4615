"""Helpers of lesson 11: the copying task, verses in batches, comparisons."""

from typing import NamedTuple

import numpy as np
from matplotlib import pyplot as plt

from numpy_attention import plotting
from numpy_attention.attention.softmax import masked_softmax
from numpy_attention.experiments import analysis
from numpy_attention.data.batching import DocumentBatches, TextBatch
from numpy_attention.data.running_text import load
from numpy_attention.data.vocabulary import PAD, Vocabulary
from numpy_attention.gradcheck import numeric_gradient
from numpy_attention.models.attentive_language_model import AttentiveLanguageModel
from numpy_attention.models.budget import within_budget
from numpy_attention.models.language_model import LanguageModel
from numpy_attention.module import Array
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.schedules import LinearDecay
from numpy_attention.training.trainer import Trainer

LETTERS = np.arange(4, 12)      # ids; those below 4 are special
DOT = 12
GO = 13
SYMBOLS = dict(enumerate("abcdefgh·→", 4))
COPY_VOCABULARY = 14
CHANGES = ("no context", "mean context", "equal weights", "hard")


def check_gradient(name, ours, loss, array, printed=True):
    """Compare our gradient with the central difference of loss(), which reads the array."""
    numeric = numeric_gradient(loss, array)
    assert np.allclose(ours, numeric, rtol=1e-7, atol=1e-9), name
    if not printed:
        return
    if ours.ndim == 2:                          # all of it is compared, and one row printed
        name += "[1]"
        ours = ours[1]
        numeric = numeric[1]
    print(f"  {name:<8} {ours}   central difference: {numeric}")


class Copying:
    """Batches of the task: n letters, a gap of dots, an arrow; then the model repeats the letters.

    There it reads the correct letter before it predicts the next one. Nothing else is predicted.
    """

    def __init__(self, batches, rng, size=32, n=10, gap=20):
        letters = rng.choice(LETTERS, (batches, n, size))
        dots = np.full((batches, gap, size), DOT)
        go = np.full((batches, 1, size), GO)
        self.letters = letters
        self.inputs = np.concatenate([letters, dots, go, letters[:, :-1]], 1)

    def __len__(self):
        return len(self.inputs)

    def order(self, rng=None):
        return range(len(self))

    def batch(self, i):
        targets = np.full_like(self.inputs[i], PAD)
        targets[-len(self.letters[i]):] = self.letters[i]
        return TextBatch(self.inputs[i], targets, np.arange(targets.shape[1]))

    def carried(self, position):
        return False


def letters_right(model, batch):
    """The share of sequences in which the letter is right, at each position of the copy, (n,)."""
    asked = (batch.targets != PAD).all(1)
    y, _, _ = model.forward(batch)
    said = [model.output.logits(row).argmax(1) for row in y[asked]]
    return (np.array(said) == batch.targets[asked]).mean(1)


def without_own_state(model, batch):
    """letters_right, if the weight of the state that read the letter to predict is 0, (n,)."""
    right = []
    for n in range(10):                                         # letter n was read at step n
        def others(scores, visible, n=n):
            visible = visible.copy()
            visible[..., n] = False
            return masked_softmax(scores, visible)
        other = model.copy()
        vars(other.reader.attention)["attention_weights"] = others
        right.append(letters_right(other, batch)[n])
    return np.array(right)


def after_other_letters(model, batch):
    """letters_right, if the model reads another sequence's letters after the arrow, (n,)."""
    inputs = batch.inputs.copy()
    inputs[-9:] = np.roll(inputs[-9:], 1, axis=1)               # 9 of the 10 letters are read
    return letters_right(model, TextBatch(inputs, batch.targets, batch.rows))


def symbols(ids):
    """Ids as letters, dots and arrows."""
    return [SYMBOLS[one] for one in ids]


def draw_copy(model, batch, ax, title, vmax):
    """The weights of the first sequence, one row for each of the ten letters to predict."""
    weights, _ = model.weights(batch)                       # (T, B, S)
    plotting.history_heatmap(weights[-10:, 0], symbols(batch.inputs[:, 0]),
                             symbols(batch.targets[-10:, 0]), ax=ax, title=title, vmax=vmax)


class Verses:
    """The English Bible, each verse a text of its own, in batches.

    batches, held_out: DocumentBatches; log_frequencies (V,): of the words to be predicted.
    """

    def __init__(self, vocabulary, number, batch_size, rng):
        train = load("bible-en", "train")
        valid = load("bible-en", "valid")
        self.vocabulary = Vocabulary.build(train.sentences, vocabulary)
        documents = train.documents(self.vocabulary, "sentence")
        chosen = [documents[n] for n in rng.permutation(len(documents))[:number]]
        self.batches = DocumentBatches(chosen, batch_size)
        self.held_out = DocumentBatches(valid.documents(self.vocabulary, "sentence"), 100)
        words = np.concatenate([verse[1:] for verse in chosen])
        counts = np.bincount(words, minlength=vocabulary) + 0.5
        self.log_frequencies = np.log(counts / counts.sum())


def draw_verse(model, verses, number, title):
    """Weight × visible states in one held-out verse, so that equal weights are 1; → Axes.

    A row for each word to predict except the first, for which no state is visible.
    """
    batch = verses.held_out.batch(([number], 0))
    weights, _ = model.weights(batch)                       # (T, 1, S)
    visible = np.tri(batch.inputs.shape[0] - 1, dtype=bool)
    relative = weights[1:, 0, :-1] * visible.sum(1, keepdims=True)
    read, predicted = ([verses.vocabulary.token(int(id)) for id in ids[:, 0]]
                       for ids in (batch.inputs, batch.targets))
    _, ax = plt.subplots(figsize=(7.5, 5.6), layout="constrained")
    plotting.history_heatmap(relative, read[:-1], predicted[1:], visible, ax, title,
                             vmax=relative.max())
    ax.images[0].colorbar.set_label("weight × number of visible states (1 = equal weight)")
    return ax


def create(attention, seed, vocabulary, init, budget=None, units=None):
    """A model with this many units, or else the largest with at most `budget` parameters.

    attention: None, or its name. tied: input and output share one table of word vectors.
    """
    shared = {"layers": 1, "tied": True, "forget_bias": 1.0, "init": init}
    sizes = {"hidden": units, "embedding": units}
    if units is None:
        sizes, _ = within_budget(budget, vocabulary, attention, **shared)
    rng = np.random.default_rng(seed)
    if attention is None:
        return LanguageModel.create(rng, vocabulary, **sizes, **shared)
    return AttentiveLanguageModel.create(rng, vocabulary, attention, **sizes, **shared)


def train(model, batches, rate, seed):
    """One epoch with Adam, whose rate falls linearly."""
    trainer = Trainer(model, Adam(rate), batches, rng=np.random.default_rng(seed), clip=1.0,
                      average="token", threads=1, progress=False,
                      schedule=LinearDecay(len(batches), 0.05))
    trainer.fit(1)


def signed(more):
    """Format an Interval with signs."""
    return f"{more.mean:+.3f} ({more.low:+.3f} to {more.high:+.3f})"


def mean_context(model, batches):
    """A copy of a model in which c is always its mean over the words that have a past."""
    total = 0
    count = 0
    for place in batches.order():
        batch = batches.batch(place)
        h, _, _ = model.read(batch, None)                       # (T, B, H)
        weights, _ = model.weights(batch)                       # (T, B, S)
        counted = (batch.targets != PAD) & weights.any(2)       # (T, B)
        total = total + np.einsum("tbs,sbh->tbh", weights, h)[counted].sum(0, dtype=float)
        count += counted.sum()
    other = model.copy()
    attention = other.reader.attention
    forward = attention.forward

    def at_mean(queries, keys, values, visible):
        c, weights, cache = forward(queries, keys, values, visible)
        past = visible.any(2)[..., None]
        return np.where(past, total / count, 0).astype(c.dtype), weights, cache

    vars(attention)["forward"] = at_mean
    return other


def ablated(name, model, batches):
    """Print what each of the CHANGES costs; → {change: Interval}."""
    rng = np.random.default_rng(3)
    found = analysis.ablate(model, batches, rng, [one for one in CHANGES if one != "mean context"])
    costs = {one.change: one.more for one in found.costs if one.words == "all"}
    before = losses(model, batches)
    more = losses(mean_context(model, batches), batches).total - before.total
    costs["mean context"] = analysis.mean_interval(more, before.words, rng)
    print(f"  {name}: loss {found.loss:.3f} nats unchanged")
    for change in CHANGES:
        print(f"    {change:<14} {signed(costs[change])}")
    return costs


def draw_influence(found):
    """Plot which outputs change when a state does, {name of a layer: (T, T)}; → Figure."""
    figure, axes = plt.subplots(1, len(found), figsize=(9.5, 3.6), layout="constrained")
    figure.suptitle("Which output depends on which state: all three pass their gradient check")
    for ax, (name, moved) in zip(axes, found.items()):
        ax.imshow(moved, cmap="Blues", vmin=0, vmax=1.4)
        ax.set(title=name, xlabel="state i is changed", ylabel="output t changes (blue)")
        steps = range(len(moved))
        ax.set_xticks(steps, [t + 1 for t in steps])
        ax.set_yticks(steps, [t + 1 for t in steps])
    return figure


def print_longer(recorded):
    """Print {text: {name of a model: test perplexity}}, trained for longer."""
    sizes = {"Bible": ("2.0 million", 1), "Penn Treebank": ("2.7 to 2.8 million", 3)}
    print("\ntest perplexity with more training:")
    print("                 parameters          seeds    LSTM  tanh layer  combined  "
          "minus tanh layer")
    for text, found in recorded.items():
        size, seeds = sizes[text]
        print(f"  {text:<13}  {size:<18}  {seeds:>5}  {found['LSTM']:6.2f}  "
              f"{found['tanh layer']:10.2f}  {found['combined']:8.2f}  "
              f"{found['combined'] - found['tanh layer']:+16.2f}")
    print("  Penn Treebank, combined minus tanh layer with seeds 0, 1 and 2: "
          "+3.79, +3.58, +2.12")


class Losses(NamedTuple):
    """−log p on a held-out text, summed by verse."""

    total: Array    # (verses,)     of all words, </s> included
    first: Array    # (verses,)     of only the first word
    words: Array    # (verses,)     how many words


def losses(model, batches):
    """The Losses of a model, in the order of the batches."""
    found = []
    for place in batches.order():
        batch = batches.batch(place)
        nats, _ = model.losses(batch)                           # (T, B)
        found.append((nats.sum(0), nats[0], batch.row_tokens))
    return Losses(*(np.concatenate(part) for part in zip(*found)))


def check_same(plain, library, h, mask):
    """Compare lesson 11's PlainReader with a KeyValueReadout of the same weights.

    AssertionError: y, the weights, dh, or the gradient of a parameter of the library's differs.
    """
    rng = np.random.default_rng(9)
    y, alpha, cache = plain.forward(h, mask)
    known_y, _, known_alpha, known = library.forward(h, mask)
    dy = rng.standard_normal(y.shape)
    dalpha = rng.standard_normal(alpha.shape)
    ours = plain.zeros_like()
    theirs = library.zeros_like()
    pairs = [("y", y, known_y), ("α", alpha, known_alpha),
             ("dh", plain.backward(dy, dalpha, cache, ours),
              library.backward(dy, dalpha, known, theirs))]
    pairs += [(name, getattr(ours, name.rpartition(".")[2].replace("W_x", "W_h")), array)
              for name, array in theirs.named_parameters()]         # its W_x is our W_h
    for name, mine, other in pairs:
        assert np.allclose(mine, other, rtol=1e-10, atol=1e-12), f"{name} differs"
