"""Helpers of lesson 10: bugs in one line, a model, figures, many draws."""

import inspect
import linecache

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
LONGEST = 24            # words of a translation that is drawn
LOOKS = {               # of a node of the tree: face, edge, line of the edge to it
    "kept": ("#CFE5F5", "#0072B2", "-"),
    "ended": ("#B8E0D0", "#009E73", "-"),
    "left": ("white", "0.6", ":"),
}


def with_bug(function, right, wrong):
    """The function with one piece of its source replaced; more can be replaced in turn.

    AssertionError: the piece does not occur, or occurs more than once.
    """
    text = inspect.getsource(function)
    assert text.count(right) == 1, f"{right!r} occurs in {function.__name__} {text.count(right)} ×"
    text = text.replace(right, wrong)
    file = f"<{function.__name__} with {wrong}>"
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names = dict(function.__globals__)
    exec(compile(text, file, "exec"), names)
    return names[function.__name__]


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
    the ids that greedy search writes, whose path is orange; words: of the ids. Prefixes of which
    nothing was kept in the next step are drawn with dotted lines.
    """
    nodes = {prefix.ids: prefix for step in steps for prefix in step}
    root = winner.ids[:1]
    lines = _lines_of(nodes, root)
    ax = plt.figure(figsize=(1.9 * max(map(len, nodes)), 0.42 * (max(lines.values()) + 3)),
                    layout="constrained").add_subplot()
    for ids, line in lines.items():
        column = len(ids) - 1
        if ids == root:
            _label(ax, column, line, words[BOS], "kept")
            continue
        look = _look_of(ids, nodes)
        above = lines[ids[:-1]]
        _, edge, style = LOOKS[look]
        is_won = winner.ids[:len(ids)] == ids
        is_greedy = tuple(greedy[:column]) == ids[1:] and not is_won
        ax.plot([column - 1, column], [above, line], linestyle=style, zorder=1,
                color=plotting.COLOURS[1] if is_greedy else edge,
                linewidth=4 if is_won or is_greedy else 1.2)
        ax.text(column - 0.45, 0.55 * line + 0.45 * above, _number(nodes[ids].terms[-1]),
                ha="center", va="center", fontsize=8,
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.8})
        total = "  " + _number(nodes[ids].total) if look == "ended" else ""
        _label(ax, column, line, words[ids[-1]] + total, look)
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
            color="0.35" if look == "left" else "black",
            bbox={"facecolor": face, "edgecolor": edge, "boxstyle": "round,pad=0.25"})


# ---- draws ---------------------------------------------------------------------------------------


def draw_cuts(cuts, words, title):
    """The ten most probable words, one column per way to cut; → Figure.

    cuts: {way: q (V,)}. The words are those of the first way, in its order.
    """
    figure, axes = plt.subplots(1, len(cuts), figsize=(13, 3.5), sharex=True, layout="constrained")
    figure.suptitle(title)
    top = np.argsort(-next(iter(cuts.values())))[:10]
    for column, (ax, (way, q)) in enumerate(zip(axes, cuts.items())):
        ax.barh(range(10), q[top], color=plotting.COLOURS[6])
        left = int((q > 0).sum())
        ax.set(title=f"{way}: {left:,} word{'s' * (left > 1)} left", ylim=(9.6, -0.6),
               xlabel="probability q")
        ax.set_yticks(range(10), [""] * 10 if column else [words[id] for id in top])
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
