"""Learning curves, and BLEU by sentence length."""

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes

from numpy_attention.plotting.base import (
    COLOURS,
    MARKERS,
    check_axes,
    curve_style,
    legend_as_written,
    named,
    new_axes,
)
from numpy_attention.validation.arguments import as_list, check_all, check_kind, check_number

if TYPE_CHECKING:
    from numpy_attention.metrics import LengthBucket

FARTHEST = 1e15         # an epoch
NUMBERS = int, float, np.integer, np.floating


def learning_curves(history: Iterable[Mapping[str, Any]], ax: Axes | None = None) -> Axes:
    """Plot training and validation perplexity by epoch on a log scale, and mark the best epoch.

    history: one dict per epoch with `epoch`, `train_perplexity` and `valid_perplexity`. A missing
    perplexity is computed from `train_loss` or `valid_loss` (nats per predicted token). Values that
    are missing, None or not finite leave a gap. If an epoch has `smoothing`, the legend says that
    the training curve was computed with label smoothing. Other keys are ignored.

    Raises ValueError if there is no epoch or no finite value.
    """
    check_axes(ax)
    history = as_list("history", history, "dicts, one for each epoch")
    check_all("history", history, Mapping, "a dict for an epoch")
    for line in history:
        check_number("epoch", line.get("epoch"), -FARTHEST, FARTHEST)
    epochs = [line["epoch"] for line in history]
    curves = {name: [_perplexity(line, name) for line in history] for name in ("train", "valid")}
    curves = {name: curve for name, curve in curves.items() if not np.isnan(curve).all()}
    if not curves:
        raise ValueError("history has no finite train_perplexity, valid_perplexity, train_loss or "
                         "valid_loss; did training diverge?" if history else
                         "history is empty; train for at least one epoch first")

    ax = ax or new_axes(6, 4)
    smoothed = ", labels smoothed" if any(line.get("smoothing") for line in history) else ""
    names = {"train": f"training{smoothed}", "valid": "validation"}
    for (name, curve), colour, marker in zip(curves.items(), COLOURS, MARKERS):
        ax.plot(epochs, curve, color=colour, marker=marker, markersize=5, label=names[name])
    if "valid" in curves:
        at = int(np.nanargmin(curves["valid"]))
        best = curves["valid"][at]
        ax.plot(epochs[at], best, linestyle="none", marker="*", markersize=15, color="#E69F00",
                markeredgecolor="black", label=f"best: {best:.4g} (epoch {epochs[at]:g})")
    ax.set(xlabel="epoch", ylabel="perplexity (log scale)", yscale="log")
    ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True, min_n_ticks=1))
    values = np.concatenate(list(curves.values()))
    if np.nanmax(values) < 10 * np.nanmin(values):              # under a decade
        ax.yaxis.set_major_locator(ticker.MaxNLocator(6))
    else:
        ax.yaxis.set_major_locator(ticker.LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_locator(ticker.NullLocator())
    ax.grid(alpha=0.3)
    ax.legend()
    return ax


def bleu_by_length_plot(systems: Mapping[str, Iterable["LengthBucket"]],
                        ax: Axes | None = None) -> Axes:
    """Plot BLEU by sentence length, one curve per system.

    systems: {name: result of `metrics.bleu_by_length`}, all for the same edges. A bucket without
    sentences leaves a gap. If buckets have confidence intervals, the intervals are drawn as bars,
    and the curves are shifted slightly sideways. The number of sentences is printed under a bucket
    if it is the same for all systems.

    Raises ValueError if there is no system, if a system has no buckets, or if the edges differ.
    """
    check_axes(ax)
    drawn = {name: _buckets(name, buckets)
             for name, buckets in named("systems", systems, "buckets").items()}
    edges = {name: [(bucket.low, bucket.high) for bucket in buckets]
             for name, buckets in drawn.items()}
    first = next(iter(edges))
    for name, pairs in edges.items():
        if pairs != edges[first]:
            raise ValueError(f"{name!r} and {first!r} have different buckets, {pairs} and "
                             f"{edges[first]}; compute both with the same `edges`")

    barred = any(bucket.bleu_low is not None for buckets in drawn.values() for bucket in buckets)
    # a legend of many names does not fit among the curves, nor one among bars
    outside = barred or len(drawn) > len(COLOURS)
    width = max(4.5, 0.8 * len(edges[first]) + 2)
    if ax is None:
        ax = new_axes(width + 3, 5) if outside else new_axes(width, 4)
    lines = []
    step = min(0.1, 0.6 / len(drawn)) if barred else 0.0
    for n, buckets in enumerate(drawn.values()):
        places = np.arange(len(buckets)) + step * (n - (len(drawn) - 1) / 2)
        bleu, low, high = np.array(         # None becomes NaN, a gap
            [(bucket.bleu, bucket.bleu_low, bucket.bleu_high) for bucket in buckets], float).T
        lines += ax.plot(places, bleu, **curve_style(n))
        if barred:
            ax.vlines(places, low, high, color=lines[-1].get_color(), alpha=0.5, linewidth=2)
    figure: Any = ax.figure
    inches = ax.get_position().width * figure.get_figwidth() / len(edges[first])  # of each bucket
    labels = []
    for k, (low, high) in enumerate(edges[first]):
        text = _span(low, high)
        counts = {buckets[k].count for buckets in drawn.values()}
        if len(counts) == 1:
            text += f"\n{'n=' if inches > 0.6 else ''}{counts.pop()}"
        labels.append(text)
    ax.set_xticks(range(len(labels)), labels, fontsize=min(10, max(6, 16 * inches)))
    ax.set(xlabel="sentence length in tokens, and number of sentences",
           ylabel="BLEU, with its 95 % interval" if barred else "BLEU")
    ax.set_ylim(bottom=0)
    ax.grid(alpha=0.3)
    legend_as_written(ax, lines, drawn, outside)
    return ax


def _buckets(name: str, buckets: Any) -> list["LengthBucket"]:
    buckets = as_list(f"{name!r:.40}", buckets, "buckets, as returned by bleu_by_length")
    if not buckets or not all(hasattr(bucket, "bleu_low") for bucket in buckets):
        raise ValueError(f"system {name!r:.40} must be the result of bleu_by_length")
    return buckets


def _perplexity(line: Mapping[str, Any], name: str) -> float:
    """Return the "train" or "valid" perplexity of an epoch, or NaN if it is missing or infinite."""
    value = line.get(f"{name}_perplexity")
    loss = line.get(f"{name}_loss")
    for number in (value, loss):
        check_kind("a number of the history", number, (*NUMBERS, type(None)), "a number, or None")
    if value is None and loss is not None:
        value = math.exp(loss) if loss < 700 else math.inf
    if value is None or not (math.isfinite(value) and value > 0):
        return math.nan
    return value


def _span(low: float, high: float) -> str:
    """Return a label for the bucket of sentence lengths low ≤ length < high, such as "10–19"."""
    if high == math.inf:
        return f"{low:g}+"
    if low != int(low) or high != int(high):
        return f"{low:g} to {high:g}"
    return f"{low:g}" if high == low + 1 else f"{low:g}–{high - 1:g}"
