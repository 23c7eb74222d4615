"""Lines with a band around them, their intervals."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes

from numpy_attention.validation.arguments import check_kind, check_number, check_text
from numpy_attention.plotting.base import (as_written, curve_style, check_axes, legend_as_written,
                                           new_axes)
from numpy_attention.plotting.costs import Bar, checked_bar

FARTHEST = 1e15     # a place on the axis
LINEAR = 0.1        # nats
FEW = 4             # curves, among which a legend finds room


def bands(curves: Mapping[str, Mapping[Any, Bar]], xlabel: str, ylabel: str,
          ax: Axes | None = None, title: str | None = None) -> Axes:
    """A line for each curve, and its interval as a band.

    curves: name → {x: (mean, low, high)}, such as `analysis.Interval`s by distance or step. One
    without points is not drawn and keeps its colour, so that panels of the same names match.
    ValueError: nothing to draw, what is no number, or what is no three finite numbers in the order
    low ≤ mean ≤ high.
    """
    check_axes(ax, title)
    check_text("xlabel", xlabel)
    check_text("ylabel", ylabel)
    check_kind("curves", curves, Mapping, "a dict of names and their curves")
    checked = {str(name): _checked(name, points) for name, points in curves.items()}
    if not any(map(len, checked.values())):
        raise ValueError("nothing to plot: give a dict with at least one name and its intervals")
    ax = ax or new_axes(6.5, 4)
    lines: dict[str, Any] = {}
    for n, (name, points) in enumerate(checked.items()):
        if not len(points):
            continue
        x, mean, low, high = points.T
        style = curve_style(n)
        lines[name], = ax.plot(x, mean, markersize=4, markevery=-(-len(x) // 40), **style)
        ax.fill_between(x, low, high, color=style["color"], alpha=0.18, linewidth=0)
    ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True, steps=[1, 2, 5, 10], min_n_ticks=1))
    ax.grid(alpha=0.3)
    ax.set_xlabel(xlabel, **as_written())
    ax.set_ylabel(ylabel, **as_written())
    beside: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1, 0.5)}
    legend_as_written(ax, list(lines.values()), lines, **beside if len(lines) > FEW else {})
    if title:
        ax.set_title(title, **as_written())
    return ax


def excess_loss(curves: Mapping[str, Mapping[int, Bar]], ax: Axes | None = None,
                title: str | None = None) -> Axes:
    """What models lose after a disturbance, by the distance from it; a line stands at 0.

    curves: name → {distance: (mean, low, high)}, such as `Recovery.excess`. The scale is linear to
    LINEAR nats on either side of 0 and logarithmic beyond. Errors as `bands` has them.
    """
    ax = bands(curves, "distance after the disturbance (1 = the next token)",
               f"nats a token more than undisturbed (log scale beyond {LINEAR:g})", ax, title)
    ax.axhline(0, color="0.5", linewidth=1)
    ax.set_yscale("symlog", linthresh=LINEAR)
    ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    return ax


def _checked(name: str, points: Any) -> Any:
    """(points, 4): x, mean, low, high, by x."""
    check_kind(str(name), points, Mapping, "a dict of numbers and their intervals")
    for x in points:
        check_number(f"a place of {name!r:.40}", x, -FARTHEST, FARTHEST)
    rows = [(float(x), *checked_bar(f"{name}, {x}", bar)) for x, bar in points.items()]
    return np.array(sorted(rows)).reshape(-1, 4)
