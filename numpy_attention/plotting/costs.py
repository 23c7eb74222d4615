"""What a change costs a model, or words cost it, with intervals."""

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes

from numpy_attention.validation.arguments import check_kind, check_text
from numpy_attention.plotting.base import (COLOURS, MARKERS, as_written, check_axes,
                                           legend_as_written, new_axes)

Bar = tuple[float, float, float]        # mean, and the interval's low and high


def costs(models: Mapping[str, Mapping[str, Bar]], ax: Axes | None = None,
          title: str | None = None,
          xlabel: str = "nats a token more than with the model's own attention") -> Axes:
    """Nats a token, a row for each change or group of words, a mark and interval for each model.

    models: name → {change: (mean, low, high)}, such as `analysis.Interval`s; a change that a model
    lacks stays empty. xlabel: what the nats are. A line stands at 0.
    ValueError: nothing to draw, or what is no three finite numbers in the order low ≤ mean ≤ high.
    """
    check_axes(ax, title)
    check_text("xlabel", xlabel)
    check_kind("models", models, Mapping, "a dict of names and their costs")
    for name, found in models.items():
        check_kind(str(name), found, Mapping, "a dict of changes and their costs")
    checked = {str(name): {str(change): checked_bar(change, bar) for change, bar in found.items()}
               for name, found in models.items() if found}
    changes = list(dict.fromkeys(change for found in checked.values() for change in found))
    if not changes:
        raise ValueError("nothing to plot: give a dict with at least one name and its costs")
    ax = ax or new_axes(6.5, 1.2 + 0.45 * len(changes) * max(1, 0.4 * len(checked)))
    lines = []
    for n, found in enumerate(checked.values()):
        rows = [changes.index(change) + 0.7 * ((n + 0.5) / len(checked) - 0.5) for change in found]
        means, low, high = (np.array(part) for part in zip(*found.values()))
        lines.append(ax.errorbar(
            means, rows, xerr=[means - low, high - means], fmt=MARKERS[n % len(MARKERS)],
            color=COLOURS[n % len(COLOURS)], capsize=3).lines[0])
    ax.axvline(0, color="0.5", linewidth=1)
    ax.set_yticks(range(len(changes)), changes, **as_written())
    ax.set_ylim(len(changes) - 0.5, -0.5)
    ax.set_xlabel(f"{xlabel} (95 % interval)", **as_written())
    ax.grid(alpha=0.3, axis="x")
    if len(checked) > 1:
        legend_as_written(ax, lines, checked)
    if title:
        ax.set_title(title, **as_written())
    return ax


def checked_bar(change: str, bar: Bar) -> Bar:
    """Plain numbers. ValueError: what is no three finite numbers in the order of an interval."""
    numbers = np.asarray(bar, float)
    if numbers.shape != (3,) or not np.isfinite(numbers).all():
        raise ValueError(f"{change!r} is {bar}: expected three finite numbers, mean, low and high")
    mean, low, high = map(float, numbers)
    if not low <= mean <= high:
        raise ValueError(f"{change!r} is {mean:g} between {low:g} and {high:g}: "
                         "expected low ≤ mean ≤ high")
    return mean, low, high
