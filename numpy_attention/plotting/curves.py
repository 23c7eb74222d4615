"""Curves of training and of quality."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Iterable

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes

from numpy_attention.validation.arguments import check_kind, check_number, as_list
from numpy_attention.validation.messages import typed_repr, short_repr
from numpy_attention.plotting.base import (COLOURS, MARKERS, curve_style, check_axes,
                                           legend_as_written, new_axes)

FARTHEST = 1e15         # an epoch

if TYPE_CHECKING:
    from numpy_attention.metrics import LengthBucket


def learning_curves(history: Iterable[Mapping[str, Any]], ax: Axes | None = None) -> Axes:
    """Perplexity on training and validation data by epoch, its best epoch marked; log scale.

    history: one dict an epoch with `epoch` and any of `train_perplexity`, `valid_perplexity`; where
    there is none, exp of `train_loss`, `valid_loss` (nats a predicted token). Values that are
    missing, None or not finite leave a gap. Where a line has `smoothing`, training's curve is named
    as what it is, the loss of smoothed labels. Other keys are not drawn. ValueError: no epoch, or
    no finite value.
    """
    check_axes(ax)
    history = as_list("history", history, "dicts, one an epoch")
    if not history:
        raise ValueError("the history is empty: train for at least one epoch first")
    for n, line in enumerate(history):
        check_kind(f"line {n} of the history", line, Mapping, "a dict of an epoch")
        if "epoch" not in line:
            raise ValueError(f"line {n} of the history has no 'epoch', only "
                             f"{short_repr(sorted(map(str, line)))}")
        check_number("epoch", line["epoch"], -FARTHEST, FARTHEST)
    epochs = [line["epoch"] for line in history]
    curves = {}
    for name in ("train", "valid"):
        curve = [_perplexity(line, name) for line in history]
        if not np.isnan(curve).all():
            curves[name] = curve
    if not curves:
        raise ValueError("the history has no finite train_perplexity, valid_perplexity, "
                         "train_loss or valid_loss")

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
    under_a_decade = np.nanmax(values) < 10 * np.nanmin(values)
    if under_a_decade:
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
    """BLEU by sentence length, one curve a system.

    systems: name → buckets of `metrics.bleu_by_length`, the same edges for all. A bucket without
    sentences leaves a gap. Intervals, where buckets have them, are bars, the systems then a little
    beside each other. The number of sentences stands under a bucket that is as large in all.
    ValueError: no system, or one with other edges.
    """
    check_axes(ax)
    check_kind("systems", systems, Mapping, "a dict of names and their buckets")
    drawn = {str(name): _buckets(name, buckets) for name, buckets in systems.items()}
    if not drawn or not all(drawn.values()):
        raise ValueError("nothing to plot: give a dict with at least one name and its buckets")
    edges = {name: [(bucket.low, bucket.high) for bucket in buckets]
             for name, buckets in drawn.items()}
    first = next(iter(edges))
    for name, pairs in edges.items():
        if pairs != edges[first]:
            raise ValueError(f"{name!r} has the buckets {pairs}, but {first!r} has {edges[first]}: "
                             "use the same edges")

    barred = any(bucket.bleu_low is not None for buckets in drawn.values() for bucket in buckets)
    # a legend of many names does not stand among the curves, nor one among bars
    outside = barred or len(drawn) > len(COLOURS)
    width = max(4.5, 0.8 * len(edges[first]) + 2)
    if ax is None:
        ax = new_axes(width + 3, 5) if outside else new_axes(width, 4)
    lines = []
    step = min(0.1, 0.6 / len(drawn)) if barred else 0.0
    for n, buckets in enumerate(drawn.values()):
        places = np.arange(len(buckets)) + step * (n - (len(drawn) - 1) / 2)
        lines += ax.plot(places, _or_gaps(bucket.bleu for bucket in buckets), **curve_style(n))
        if barred:
            ax.vlines(places, _or_gaps(bucket.bleu_low for bucket in buckets),
                      _or_gaps(bucket.bleu_high for bucket in buckets),
                      color=lines[-1].get_color(), alpha=0.5, linewidth=2)
    room = ax.get_position().width * _figure_width(ax) / len(edges[first])      # inches a bucket
    labels = []
    for k, (low, high) in enumerate(edges[first]):
        label = _span(low, high)
        counts = {buckets[k].count for buckets in drawn.values()}
        if len(counts) == 1:
            label += f"\n{'n=' if room > 0.6 else ''}{counts.pop()}"
        labels.append(label)
    ax.set_xticks(range(len(labels)), labels, fontsize=min(10, max(6, 16 * room)))
    ax.set(xlabel="sentence length in tokens, and number of sentences",
           ylabel="BLEU, with its 95 % interval" if barred else "BLEU")
    ax.set_ylim(bottom=0)
    ax.grid(alpha=0.3)
    beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1, 0.5)} if outside else {}
    legend_as_written(ax, lines, drawn, **beside)
    return ax


def _buckets(name: Any, buckets: Any) -> list["LengthBucket"]:
    """Buckets as a list. TypeError, ValueError: they are none."""
    buckets = as_list(f"{name!r:.40}", buckets, "buckets, as bleu_by_length gives")
    for bucket in buckets:
        if not isinstance(bucket, tuple) or not hasattr(bucket, "bleu_low"):
            raise TypeError(f"{name!r:.40} holds {typed_repr(bucket)}: expected buckets, as "
                            "bleu_by_length gives")
        low, high, count, *scores = bucket
        for number in (low, high, count, *(score for score in scores if score is not None)):
            check_number("a number of a bucket", number, finite=False)
    return buckets


def _or_gaps(scores: Iterable[float | None]) -> list[float]:
    """Numbers, NaN for None."""
    return [math.nan if score is None else score for score in scores]


def _figure_width(ax: Axes) -> float:
    figure: Any = ax.figure
    return figure.get_figwidth()


def _perplexity(line: Mapping[str, Any], name: str) -> float:
    """NaN where there is none to draw."""
    value = line.get(f"{name}_perplexity")
    loss = line.get(f"{name}_loss")
    for number in (value, loss):
        if number is not None and (not isinstance(number, (int, float, np.floating, np.integer))
                                   or isinstance(number, bool)):
            raise TypeError(f"the history holds {typed_repr(number)}: expected numbers, or None")
    if value is None and loss is not None:
        value = math.exp(loss) if loss < 700 else math.inf
    if value is None or not (math.isfinite(value) and value > 0):
        return math.nan
    return value


def _span(low: float, high: float) -> str:
    """The lengths of a bucket low ≤ length < high, in words."""
    if high == math.inf:
        return f"{low:g}+"
    if low != int(low) or high != int(high):
        return f"{low:g} to {high:g}"
    return f"{low:g}" if high == low + 1 else f"{low:g}–{high - 1:g}"
