"""Curves of training and of quality."""

import math

import numpy as np
from matplotlib import ticker

from numpy_attention.plotting.base import COLOURS, MARKERS, legend_as_written, new_axes


def learning_curves(history, ax=None):
    """Perplexity on training and validation data by epoch, on a logarithmic scale, its best epoch marked → Axes.

    history: one dict an epoch with `epoch` and any of `train_perplexity`, `valid_perplexity`; where there is none,
    exp of `train_loss`, `valid_loss` (nats a predicted token). Values that are missing, None or not finite leave a gap.
    Where a line has `smoothing`, training's curve is named as what it is, the loss of smoothed labels. Other keys are not
    drawn.
    """
    history = list(history)
    if not history:
        raise ValueError("the history is empty: train for at least one epoch first")
    for n, line in enumerate(history):
        if "epoch" not in line:
            raise ValueError(f"line {n} of the history has no 'epoch', only {sorted(line)}")
    epochs = [line["epoch"] for line in history]
    curves = {name: [_perplexity(line, name) for line in history] for name in ("train", "valid")}
    curves = {name: curve for name, curve in curves.items() if not np.isnan(curve).all()}
    if not curves:
        raise ValueError("the history has no finite train_perplexity, valid_perplexity, train_loss or valid_loss")

    ax = ax or new_axes(6, 4)
    smoothed = ", labels smoothed" if any(line.get("smoothing") for line in history) else ""
    names = {"train": f"training{smoothed}", "valid": "validation"}
    for (name, curve), colour, marker in zip(curves.items(), COLOURS, MARKERS):
        ax.plot(epochs, curve, color=colour, marker=marker, markersize=5, label=names[name])
    if "valid" in curves:
        best = int(np.nanargmin(curves["valid"]))
        ax.plot(epochs[best], curves["valid"][best], linestyle="none", marker="*", markersize=15, color="#E69F00",
                markeredgecolor="black", label=f"best: {curves['valid'][best]:.4g} (epoch {epochs[best]:g})")
    ax.set(xlabel="epoch", ylabel="perplexity (log scale)", yscale="log")
    ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True, min_n_ticks=1))
    values = np.concatenate(list(curves.values()))
    narrow = np.nanmax(values) < 10 * np.nanmin(values)                                   # under a decade: even ticks
    ax.yaxis.set_major_locator(ticker.MaxNLocator(6) if narrow else ticker.LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_locator(ticker.NullLocator())
    ax.grid(alpha=0.3)
    ax.legend()
    return ax


def bleu_by_length_plot(systems, ax=None):
    """BLEU by sentence length, one curve a system → Axes.

    systems: name → list of `metrics.LengthBucket`, the same edges for all. A bucket without sentences leaves a gap.
    """
    systems = {name: list(buckets) for name, buckets in systems.items()}
    if not systems or not all(systems.values()):
        raise ValueError("nothing to plot: give a dict with at least one name and its buckets")
    edges = {name: [(low, high) for low, high, _, _ in buckets] for name, buckets in systems.items()}
    first = next(iter(edges))
    for name, pairs in edges.items():
        if pairs != edges[first]:
            raise ValueError(f"{name!r} has the buckets {pairs}, but {first!r} has {edges[first]}: use the same edges")

    beside = {"loc": "center left", "bbox_to_anchor": (1, 0.5)} if len(systems) > len(COLOURS) else {}  # among few curves
    ax = ax or new_axes(max(4.5, 0.8 * len(edges[first]) + 2) + (3 if beside else 0), 5 if beside else 4)
    for n, (name, buckets) in enumerate(systems.items()):
        scores = [math.nan if score is None else score for _, _, _, score in buckets]
        ax.plot(range(len(buckets)), scores, color=COLOURS[n % len(COLOURS)], marker=MARKERS[n % len(MARKERS)],
                linestyle=("-", "--", "-.", ":")[n % 4])
    labels, room = [], ax.get_position().width * ax.figure.get_figwidth() / len(edges[first])       # inches a bucket
    for k, (low, high) in enumerate(edges[first]):
        counts = {buckets[k][2] for buckets in systems.values()}
        count = f"\n{'n=' if room > 0.6 else ''}{counts.pop()}" if len(counts) == 1 else ""
        labels.append(_span(low, high) + count)
    ax.set_xticks(range(len(labels)), labels, fontsize=min(10, max(6, 16 * room)))
    ax.set(xlabel="sentence length in tokens, and number of sentences", ylabel="BLEU")
    ax.set_ylim(bottom=0)
    ax.grid(alpha=0.3)
    legend_as_written(ax, ax.lines[-len(systems):], systems, **beside)
    return ax


def _perplexity(line, name):
    value, loss = line.get(f"{name}_perplexity"), line.get(f"{name}_loss")
    if value is None and loss is not None:
        value = math.exp(loss) if loss < 700 else math.inf
    return value if value is not None and math.isfinite(value) and value > 0 else math.nan


def _span(low, high):
    """The lengths of a bucket low ≤ length < high, in words."""
    if high == math.inf:
        return f"{low:g}+"
    if low != int(low) or high != int(high):
        return f"{low:g} to {high:g}"
    return f"{low:g}" if high == low + 1 else f"{low:g}–{high - 1:g}"
