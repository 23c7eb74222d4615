"""Helpers of lesson 10: a model, figures, many draws."""

from dataclasses import replace

import numpy as np
from matplotlib import pyplot as plt

from numpy_attention import plotting
from numpy_attention.data.datasets.corpora import load_parallel
from numpy_attention.data.vocabulary import BOS, EOS, PAD
from numpy_attention.decoding.hypothesis import forbid
from numpy_attention.decoding.sampling import choose
from numpy_attention.experiments.runs.translator import Translator, TranslatorTraining
from numpy_attention.training.optimizers import Adam
from numpy_attention.training.schedules import LinearDecay
from numpy_attention.training.trainer import Trainer

CORPUS = {"name": "bible-en-es", "part": "clauses", "max_length": 7}
SIZES = {"embedding": 64, "hidden": 64, "dropout": 0.1, "init": "modern", "reset": "after",
         "update": "old", "readout": "current"}
SHOWN = 5, 12           # words in a panel, at least and at most
LONGEST = 24            # words of a translation that is drawn
LOOKS = {               # of a node of the tree: face, edge, line of the edge to it
    "kept": ("#CFE5F5", "#0072B2", "-"),
    "ended": ("#B8E0D0", "#009E73", "-"),
    "left": ("white", "0.6", ":"),
    "cut": ("0.9", "0.6", ":"),
}


def clause_translator(seed, epochs=3):
    """Train RNNsearch on the clauses of CORPUS; → Translator, test pairs without unknown words."""
    pairs = load_parallel(split="train", **CORPUS)
    training = TranslatorTraining(epochs, min_count=6, seed=seed)
    translator = Translator.create(pairs, "rnnsearch", SIZES, training, CORPUS)
    batches = translator.batches(pairs)
    trainer = Trainer(translator.model, Adam(6e-3), batches, rng=np.random.default_rng(seed),
                      clip=1.0, threads=1, schedule=LinearDecay(epochs * len(batches), 0.02),
                      progress=False)
    trainer.fit(epochs)
    test = load_parallel(split="test", **CORPUS)
    return translator, [pair for pair in test if translator.knows(pair)]


# ---- one search as a tree ------------------------------------------------------------------------


def draw_tree(steps, winner, greedy, words, title):
    """All prefixes that a beam kept, step by step, as a tree; → Axes.

    steps: the Prefixes of each step; winner: the Prefix that won, drawn with thick lines; greedy:
    the Prefix that greedy search writes, whose path is orange; words: of the ids. Prefixes of which
    nothing was kept in the next step are white. The first prefix of greedy's path that was not kept
    is grey, and has its total.
    """
    nodes = {prefix.ids: prefix for step in steps for prefix in step}
    root = winner.ids[:1]
    looks = {ids: _look_of(ids, nodes) for ids in nodes}
    cut = next((greedy.ids[:n] for n in range(2, len(greedy.ids) + 1)
                if greedy.ids[:n] not in nodes), None)
    if cut is not None:
        nodes[cut] = replace(greedy, ids=cut, terms=greedy.terms[:len(cut) - 1])
        looks[cut] = "cut"
    lines = _lines_of(nodes, root)
    ax = plt.figure(figsize=(1.75 * max(map(len, nodes)), 0.42 * (max(lines.values()) + 3)),
                    layout="constrained").add_subplot()
    _label(ax, 0, lines[root], words[BOS], "kept")
    for ids, prefix in nodes.items():
        column = len(ids) - 1
        line = lines[ids]
        above = lines[ids[:-1]]
        _, edge, style = LOOKS[looks[ids]]
        is_won = winner.ids[:len(ids)] == ids
        is_greedy = greedy.ids[:len(ids)] == ids and not is_won
        ax.plot([column - 1, column], [above, line], zorder=1,
                linestyle="-" if is_greedy else style,
                color=plotting.COLOURS[1] if is_greedy else edge,
                linewidth=4 if is_won or is_greedy else 1.2)
        back = 0.36 if column == 1 else 0.45
        ax.text(column - back, (1 - back) * line + back * above, _number(prefix.terms[-1]),
                ha="center", va="center", fontsize=9,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
        total = "  " + _number(prefix.total) if looks[ids] in ("ended", "cut") else ""
        _label(ax, column, line, words[ids[-1]] + total, looks[ids])
    ax.set(xlim=(-0.4, max(map(len, nodes)) - 0.3), ylim=(max(lines.values()) + 0.7, -0.7))
    ax.set_title(title)
    ax.axis("off")
    return ax


def _lines_of(nodes, root):
    """{ids: line}: each leaf gets a line, a parent is between its children."""
    lines = {}
    leaves = 0

    def lay(ids):
        nonlocal leaves
        children = [one for one in nodes if one[:-1] == ids]
        for child in children:
            lay(child)
        if children:
            lines[ids] = (lines[children[0]] + lines[children[-1]]) / 2
        else:
            lines[ids] = float(leaves)
            leaves += 1

    lay(root)
    return lines


def _number(log_p):
    return f"{round(log_p, 2) + 0.0:.2f}".replace("-", "−")


def _look_of(ids, nodes):
    if ids[-1] == EOS:
        return "ended"
    return "kept" if any(one[:-1] == ids for one in nodes) else "left"


def _label(ax, column, line, text, look):
    face, edge, _ = LOOKS[look]
    ax.text(column, line, text, ha="center", va="center", parse_math=False,
            color="0.35" if look in ("left", "cut") else "black",
            bbox={"facecolor": face, "edgecolor": edge, "boxstyle": "round,pad=0.25"})


# ---- draws ---------------------------------------------------------------------------------------


def draw_cuts(rows, words):
    """The most probable words: one row per prediction, one column per way to cut; → Figure.

    rows: {title: {way: q (V,)}}. The words are those of a row's first way, in its order; the other
    columns repeat their probabilities in grey. A row shows the words that its cuts leave, and the
    next one.
    """
    lefts = [[(q > 0).sum() for q in cuts.values()] for cuts in rows.values()]
    shown = np.clip([max(n + 1 for n in some if n < max(some)) for some in lefts], *SHOWN)
    figure, axes = plt.subplots(len(rows), len(next(iter(rows.values()))), figsize=(13, 5),
                                sharex=True, layout="constrained", height_ratios=shown)
    for line, (title, cuts), count in zip(axes, rows.items(), shown.tolist()):
        p = next(iter(cuts.values()))
        top = np.argsort(-p)[:count]
        for column, (ax, (way, q)) in enumerate(zip(line, cuts.items())):
            ax.barh(range(count), p[top], color="0.8", label="p")
            ax.barh(range(count), q[top], height=0.5, color=plotting.COLOURS[0], label="q")
            left = int((q > 0).sum())
            ax.set(title=f"{way}: {left:,} word{'s' * (left > 1)} left", ylim=(count - 0.4, -0.6))
            ax.set_yticks(range(count), [""] * count if column else [words[id] for id in top])
        line[0].set_ylabel(title)
    axes[0, 0].legend(loc="lower right")
    figure.supxlabel("probability")
    return figure


def draw_all(model, source, rng, never, **how):
    """Draw a translation of each sentence of source (S, B) → [ids], Σ log p of each (B,).

    how: for `choose`. The ids in never are not drawn.
    """
    state = model.start(source, source != PAD)
    tokens = np.full(source.shape[1], BOS)
    drawn = [[] for _ in tokens]
    totals = np.zeros(len(tokens))
    for _ in range(LONGEST):
        log_p, _, state = model.next(tokens, state)                         # (B, V)
        log_p = forbid(log_p, list(never), np.float64)
        for b, ids in enumerate(drawn):
            if EOS not in ids:
                ids.append(choose(log_p[b], rng, **how))
                totals[b] += log_p[b, ids[-1]]
        tokens = np.array([ids[-1] for ids in drawn])
    return drawn, totals
