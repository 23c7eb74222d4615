"""Plots of means with their intervals, either as marks in rows or as lines with bands."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes

from numpy_attention.module import Array
from numpy_attention.plotting.base import (
    COLOURS,
    MARKERS,
    check_axes,
    curve_style,
    label,
    legend_as_written,
    named,
    new_axes,
)
from numpy_attention.validation.arguments import check_kind, check_number, check_text

Bar = tuple[float, float, float]        # mean, and the interval's low and high

FARTHEST = 1e15     # a place on the axis
LINEAR = 0.1        # nats
FEW = 4             # curves, among which a legend finds room


def costs(models: Mapping[str, Mapping[str, Bar]], ax: Axes | None = None,
          title: str | None = None, xlabel: str = "extra nats per token") -> Axes:
    """Plot costs in nats per token: a row for each ablation or group of words, a mark per model.

    models: {name: {ablation or group: Interval}}, where an Interval is (mean, low, high). A model
    may lack some rows. xlabel: the x label, to which "(95 % interval)" is added. A line marks 0.

    Raises ValueError if there is nothing to draw, or if an interval is not three finite numbers
    with low ≤ mean ≤ high.
    """
    check_axes(ax, title)
    check_text("xlabel", xlabel)
    drawn = {name: named(f"model {name!r:.40}", found, "intervals", empty=True)
             for name, found in named("models", models, "costs").items()}
    drawn = {name: found for name, found in drawn.items() if found}
    changes = list(dict.fromkeys(change for found in drawn.values() for change in found))
    if not changes:
        raise ValueError("nothing to plot; pass at least one model with one interval")
    ax = ax or new_axes(6.5, 1.2 + 0.45 * len(changes) * max(1, 0.4 * len(drawn)))
    lines = []
    for n, found in enumerate(drawn.values()):
        rows = [changes.index(change) + 0.7 * ((n + 0.5) / len(drawn) - 0.5) for change in found]
        mean, low, high = np.array([as_bar(*item) for item in found.items()]).T
        lines.append(ax.errorbar(
            mean, rows, xerr=[mean - low, high - mean], fmt=MARKERS[n % len(MARKERS)],
            color=COLOURS[n % len(COLOURS)], capsize=3).lines[0])
    ax.axvline(0, color="0.5", linewidth=1)
    label(ax, title, f"{xlabel} (95 % interval)", rows=changes)
    ax.set_ylim(len(changes) - 0.5, -0.5)
    ax.grid(alpha=0.3, axis="x")
    if len(drawn) > 1:
        legend_as_written(ax, lines, drawn)
    return ax


def bands(curves: Mapping[str, Mapping[Any, Bar]], xlabel: str, ylabel: str,
          ax: Axes | None = None, title: str | None = None) -> Axes:
    """Plot a line for each curve, with a band for the interval around each point.

    curves: {name: {x: Interval}}, where an Interval is (mean, low, high), and x is a number, such
    as a distance. A curve without points is not drawn, but its colour stays reserved, so that
    two plots of curves with the same names have the same colours.

    Raises the errors of `costs`, and ValueError for an x that is not a number.
    """
    check_axes(ax, title)
    check_text("xlabel", xlabel)
    check_text("ylabel", ylabel)
    drawn = {name: _points(name, points)
             for name, points in named("curves", curves, "intervals").items()}
    if not any(map(len, drawn.values())):
        raise ValueError("nothing to plot; pass at least one curve with one interval")
    ax = ax or new_axes(6.5, 4)
    lines: dict[str, Any] = {}
    for n, (name, points) in enumerate(drawn.items()):
        if not len(points):
            continue
        x, mean, low, high = points.T
        style = curve_style(n)
        lines[name], = ax.plot(x, mean, markersize=4, markevery=-(-len(x) // 40), **style)
        ax.fill_between(x, low, high, color=style["color"], alpha=0.18, linewidth=0)
    ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    ax.grid(alpha=0.3)
    label(ax, title, xlabel, ylabel)
    legend_as_written(ax, list(lines.values()), lines, outside=len(lines) > FEW)
    return ax


def excess_loss(curves: Mapping[str, Mapping[int, Bar]], ax: Axes | None = None,
                title: str | None = None) -> Axes:
    """Plot the extra loss after a disturbance (replaced words), by the distance from it.

    curves: {name: {distance: (mean, low, high)}}; each inner dict may be a `Recovery.excess`. The
    scale is linear up to LINEAR nats on either side of 0, then logarithmic. A line marks 0.
    Raises the errors of `bands`.
    """
    ax = bands(curves, "distance after the disturbance (1 = the next token)",
               f"extra nats per token (log scale beyond {LINEAR:g})", ax, title)
    ax.axhline(0, color="0.5", linewidth=1)
    ax.set_yscale("symlog", linthresh=LINEAR)
    ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    return ax


def _points(name: str, points: Any) -> Array:
    """Return an array (points, 4) with the columns x, mean, low and high, sorted by x."""
    rows = []
    check_kind(f"curve {name!r:.40}", points, Mapping, "a dict {x: (mean, low, high)}")
    for x, bar in points.items():
        check_number(f"an x value of {name!r:.40}", x, -FARTHEST, FARTHEST)
        rows.append((float(x), *as_bar(f"{name} at {x}", bar)))
    return np.array(sorted(rows)).reshape(-1, 4)


def as_bar(name: str, bar: Bar) -> Array:
    """Return an array (mean, low, high). Raises ValueError unless −∞ < low ≤ mean ≤ high < ∞."""
    numbers = np.asarray(bar, float)
    if numbers.shape != (3,) or not np.isfinite(numbers).all():
        raise ValueError(f"{name!r} has the interval {bar}; expected finite (mean, low, high)")
    mean, low, high = numbers
    if not low <= mean <= high:
        raise ValueError(f"the interval of {name!r} has mean {mean:g}, low {low:g} and high "
                         f"{high:g}; expected low ≤ mean ≤ high")
    return numbers
