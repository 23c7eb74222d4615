"""Helpers of lesson 08: translators, comparisons, the report of a check, figures."""

from contextlib import redirect_stdout
from io import StringIO

import numpy as np
from course import caught
from matplotlib import pyplot as plt

from numpy_attention import plotting
from numpy_attention.attention.multi_head import MultiHeadAttention
from numpy_attention.attention.scaled_dot import ScaledDotProductAttention
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.schedules import LinearDecay
from numpy_attention.training.trainer import Trainer

SIZES = dict(layers=1, cell="gru", bidirectional=True, input_feeding=False)
EPOCHS = 3
MODELS = {
    "divided, variance 1": dict(divided=True, variance=1),
    "divided, variance 16": dict(divided=True, variance=16),
    "not divided, variance 1": dict(divided=False, variance=1),
    "not divided, variance 16": dict(divided=False, variance=16),
}


# ---- translators ---------------------------------------------------------------------------------


def create(pairs, seed, size=16, heads=1, divided=True, variance=1):
    """An untrained Translator with scores of this variance; size: the columns of all heads."""
    translator = Translator.create(pairs, "luong", SIZES | dict(embedding=64, hidden=64, init=0.25),
                                   TranslatorTraining(seed=seed))
    layer = MultiHeadAttention.create(np.random.default_rng(seed), 64, 64, size, heads=heads,
                                      scaled=divided)
    translator.model.attention = layer
    X, M, of_targets, of_sources = states(translator, pairs[:500])
    # wanted: the variance of q · k / √d_k. For this, q and k each get the variance √wanted.
    wanted = variance if divided else variance / (size // heads)
    layer.W_q *= wanted**0.25 / (X[of_targets] @ layer.W_q).std()
    layer.W_k *= wanted**0.25 / (M[of_sources] @ layer.W_k).std()
    return translator


def states(translator, pairs):
    """The decoder's states and the encoder's annotations, with teacher forcing.

    → states (B, T, H), annotations (B, S, D), and the masks of both, (B, T) and (B, S).
    """
    batch = translator.batches(pairs, len(pairs)).batch(range(len(pairs)))
    state = translator.model.start(batch.source, batch.source_mask)
    found = []
    for words in batch.target_in:
        _, _, state = translator.model.next(words, state)
        found.append(state.cells[0])
    return np.stack(found, 1), state.memory.values, batch.target_mask.T, batch.source_mask.T


def variance_of_scores(translator, pairs):
    """The variance of one head's scores between all target words and all words of their sources."""
    layer = translator.model.attention
    X, M, of_targets, of_sources = states(translator, pairs[:500])
    scale = 1 / np.sqrt(layer.W_q.shape[1]) if layer.attention.scaled else 1
    E = X @ layer.W_q @ (M @ layer.W_k).swapaxes(1, 2) * scale
    return E[of_targets[:, :, None] & of_sources[:, None]].var()


def largest(translator, pairs):
    """The mean of the largest weights of all target words."""
    return np.concatenate([rows.max(1) for rows in translator.attend(pairs)]).mean()


def train(translator, pairs, seed, optimizer=Adam(8e-3)):
    """Train for three epochs; → the training perplexity of each."""
    batches = translator.batches(pairs)
    trainer = Trainer(translator.model, optimizer, batches, rng=np.random.default_rng(seed),
                      clip=1.0, threads=1, progress=False,
                      schedule=LinearDecay(EPOCHS * len(batches), 0.05))
    return [epoch["train_perplexity"] for epoch in trainer.fit(EPOCHS)]


def print_header(pairs):
    print(f"\n{len(pairs):,} sentence pairs, {EPOCHS} epochs. Largest α: mean over target words.\n"
          f"{'':33}{' before training ':-^19}{'':4}{' after training ':-^21}\n"
          f"{'':27}seed  variance  largest α    largest α  perplexity")


def trained_curve(name, d_k, seed, pairs, test):
    """Train one of the MODELS and print a row of the table; → the perplexity of each epoch."""
    translator = create(pairs, seed, d_k, **MODELS[name])
    start = f"{variance_of_scores(translator, pairs):10.1f} {largest(translator, test):10.2f}"
    curve = train(translator, pairs, seed)
    print(f"  {name:<24} {seed:>4}{start} {largest(translator, test):12.2f} {curve[-1]:12.2f}",
          flush=True)
    return curve


def predicted(translator, pairs, words):
    """→ {word: in which share of its places it is the most probable word}, with teacher forcing."""
    batch = translator.batches(pairs, len(pairs)).batch(range(len(pairs)))
    state = translator.model.start(batch.source, batch.source_mask)
    hits = {word: [] for word in words}
    for t, ids in enumerate(batch.target_in):
        log_p, _, state = translator.model.next(ids, state)
        for pair, best in zip(pairs, log_p.argmax(1)):
            if t < len(pair.target) and pair.target[t] in hits:
                word = translator.target_vocabulary.token(best)
                hits[pair.target[t]].append(word == pair.target[t])
    return {word: np.mean(found) for word, found in hits.items()}


# ---- checks --------------------------------------------------------------------------------------


def silently_caught(check, *arguments):
    """`caught`, which prints nothing here: the lines of the report of a check that must fail."""
    with redirect_stdout(StringIO()):
        return str(caught(check, *arguments)).splitlines()


def check_same_attention(forward, backward, q, k, v, visible):
    """Compare a lesson's attention with the library's: output, weights, gradients.

    AssertionError: one of them differs.
    """
    rng = np.random.default_rng(8)
    library = ScaledDotProductAttention()
    Y, A, cache = forward(q, k, v, visible)
    known_Y, known_A, known = library.forward(q, k, v, visible)
    upstream = rng.standard_normal(Y.shape), rng.standard_normal(A.shape)
    ours = Y, A, *backward(*upstream, cache)
    theirs = known_Y, known_A, *library.backward(*upstream, known)
    for number, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        assert np.allclose(one, other, rtol=1e-10, atol=1e-12), f"result {number} differs"


def check_same(mine, library, X, M, visible):
    """Compare two layers on (X, M, visible): outputs, weights, all gradients.

    AssertionError: one of them differs.
    """
    results = []
    for layer in (mine, library):
        rng = np.random.default_rng(9)
        y, weights, cache = layer.forward(X, M, visible)
        grads = layer.zeros_like()
        dX, dM = layer.backward(rng.standard_normal(y.shape), rng.standard_normal(weights.shape),
                                cache, grads)
        results.append([y, weights, dX, dM, *(array for _, array in grads.named_parameters())])
    for number, (ours, theirs) in enumerate(zip(*results, strict=True)):
        assert np.allclose(ours, theirs, rtol=1e-10, atol=1e-12), f"result {number} differs"


# ---- the figure of one attention -----------------------------------------------------------------


def attention_picture(q, k, v, E, A, Y, targets, sources):
    """All numbers of one attention, with arrows from the words to what each query finds; → Figure.

    targets, sources: the words of the rows of q and of k.
    """
    figure, ax = plt.subplots(figsize=(11.5, 4.6), layout="constrained")
    _words(ax, "X", targets, 0, 5.9, plotting.COLOURS[0])
    _words(ax, "M", sources, 0, 1.6, plotting.COLOURS[2])
    _matrix(ax, q, 3.5, 5.9, "queries q", rows=targets)
    _matrix(ax, k, 3.5, 3.0, "keys k", rows=sources)
    _matrix(ax, v, 3.5, 0.2, "values v", rows=sources)
    _matrix(ax, E, 8.3, 4.75, "scores E", columns=sources)
    _matrix(ax, A, 13.1, 4.75, "weights A", columns=sources)
    _matrix(ax, Y, 17.9, 2.6, "Y: what each finds", rows=targets)
    _arrow(ax, (0.95, 5.9), (2.2, 5.9), "W_q, b_q")
    _arrow(ax, (0.95, 1.9), (2.2, 2.8), "W_k", -0.3)
    _arrow(ax, (0.95, 1.3), (2.2, 0.4), "W_v, b_v", -0.5, -0.55)
    _arrow(ax, (5.65, 5.8), (6.25, 5.1))
    _arrow(ax, (5.65, 3.2), (6.25, 4.4))
    _arrow(ax, (6.95, 4.75), (8.1, 4.75), "/ √d_k")
    _arrow(ax, (11.55, 4.75), (12.9, 4.75), "softmax")
    _arrow(ax, (15.0, 4.0), (15.3, 2.95))
    _arrow(ax, (6.75, 0.2), (14.9, 2.35))
    _arrow(ax, (15.75, 2.6), (16.6, 2.6))
    for text, x, y in (("q × kᵀ", 6.6, 4.75), ("A × v", 15.35, 2.6)):
        ax.text(x, y, text, ha="center", va="center",
                bbox=dict(boxstyle="round,pad=0.25", facecolor="0.92"))
    ax.set(xlim=(-1, 21.3), ylim=(-1.1, 7.4))
    ax.axis("off")
    return figure


def _words(ax, name, words, x, y, colour):
    ax.text(x, y, "\n".join([name, *words]), ha="center", va="center", linespacing=1.5,
            bbox=dict(boxstyle="round,pad=0.4", facecolor=colour, edgecolor=colour, alpha=0.3))


def _matrix(ax, array, left, middle, title, rows=(), columns=()):
    """Coloured cells with the numbers of an array (N, M), and the words of its rows and columns."""
    height = 0.6
    top = middle + height * len(array) / 2
    for (row, column), value in np.ndenumerate(array):
        ax.add_patch(plt.Rectangle((left + column * 1.05, top - (row + 1) * height), 1.05, height,
                                   facecolor=plt.cm.RdBu_r(0.5 + value / 6), edgecolor="0.3"))
        ax.text(left + (column + 0.5) * 1.05, top - (row + 0.5) * height, f"{value:.2f}",
                ha="center", va="center", fontsize=9)
    for row, word in enumerate(rows):
        ax.text(left - 0.1, top - (row + 0.5) * height, word, ha="right", va="center", fontsize=9)
    for column, word in enumerate(columns):
        ax.text(left + (column + 0.5) * 1.05, top + 0.08, word, ha="center", va="bottom",
                fontsize=9)
    ax.text(left + len(array[0]) * 1.05 / 2, top + (0.55 if columns else 0.15), title,
            ha="center", va="bottom", fontweight="bold")


def _arrow(ax, start, end, text="", shift=0, rise=0.12):
    ax.annotate("", end, start, arrowprops=dict(arrowstyle="-|>", color="0.25", shrinkA=0,
                                                shrinkB=0))
    ax.text((start[0] + end[0]) / 2 + shift, (start[1] + end[1]) / 2 + rise, text, ha="center",
            va="bottom", fontsize=9)


# ---- other figures -------------------------------------------------------------------------------


def draw_curves(panels):
    """Training curves, one panel for each d_k; → Figure.

    panels: {title: {name of a model: perplexities (seeds, epochs)}}.
    """
    figure, axes = plt.subplots(1, len(panels), figsize=(9.5, 4), sharey=True, layout="constrained")
    for (title, curves), ax in zip(panels.items(), axes):
        for name, curve in curves.items():
            division, start = name.split(", ")
            number = int(division == "not divided")
            ax.semilogy([1, 2, 3], curve.mean(0), "s--" if number else "o-", label=division,
                        color=plotting.COLOURS[number], markersize=9 - 4 * number,
                        alpha=1 if start == "variance 1" else 0.4)
        ax.set(xlabel="epoch", xticks=[1, 2, 3], title=title)
    axes[0].set_yticks([1.2, 1.5, 2, 3, 5, 10, 20], ["1.2", "1.5", "2", "3", "5", "10", "20"])
    axes[0].minorticks_off()
    axes[0].set_ylabel("training perplexity, mean of two seeds")
    axes[0].text(2, 6.5, "scores start with variance 16")
    for ax in axes:
        ax.text(1.05, 1.3, "scores start with variance 1")
    axes[-1].legend()
    figure.suptitle("With small scores at the start, the division matters only at d_k = 256")
    return figure


def draw_split(of_layers):
    """Where the heads' numbers come from, with and without the transpose; → Figure.

    of_layers: two arrays (heads, T, d_k) of numbers whose digits are their word and their column.
    """
    titles = ("with the transpose: a head has two columns",
              "without: a head has four consecutive numbers")
    figure, axes = plt.subplots(1, 2, figsize=(9, 2.2), layout="constrained")
    for heads, title, ax in zip(of_layers, titles, axes):
        for number, taken in enumerate(heads):
            for value in taken.ravel():
                word, column = divmod(value, 10)
                ax.text(column, -word, f"{value}\nhead {number}", ha="center", va="center",
                        bbox=dict(facecolor=plotting.COLOURS[number], alpha=0.35, pad=6))
        ax.set(xlim=(-0.6, 5.6), ylim=(-2.6, -0.4), xlabel="column", title=title)
        ax.set_yticks([-1, -2], ["word 1", "word 2"])
    return figure
