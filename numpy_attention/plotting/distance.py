"""How far back: where attention lies, and how much of the gradient arrives."""

import numpy as np
from matplotlib import ticker

from numpy_attention.plotting.base import COLOURS, MARKERS, as_written, legend_as_written, new_axes


def attention_span(curves, ax=None, title=None):
    """Mean attention weight by distance, one curve a model; the legend says how much lies on the last five → Axes.

    curves: name → mean weight at distance 1 (the previous position), 2, 3, …; the curves may differ in length. The
    share is that of distances 1 to 5 in the sum of the curve. Raises ValueError for a curve that is empty, not of one
    dimension, not within 0 to 1 (so for NaN, too), or 0 everywhere.
    """
    curves = _checked(curves, "mean weights")
    for name, weights in curves.items():
        if weights.max() > 1 + 1e-6:
            raise ValueError(f"{name!r} has a mean weight of {weights.max():.4g}: weights lie between 0 and 1")
        if not weights.any():
            raise ValueError(f"{name!r} is 0 everywhere: leave out a model that pays no attention")

    ax = ax or new_axes(6, 4)
    five = lambda weights: f"last five{f' of {len(weights)}' if len(weights) > 5 else ''}"
    labels = {f"{name} ({five(weights)}: {weights[:5].sum() / weights.sum():.2f})": weights
              for name, weights in curves.items()}
    _draw(ax, labels, first=1, title=title)
    ax.set(xlabel="distance back (1 = the previous position)", ylabel="mean attention weight")
    ax.set_xlim(left=0.5)
    ax.set_ylim(bottom=0)
    return ax


def gradient_flow(curves, ax=None, title=None):
    """How much of a loss arrives at earlier states, on a logarithmic scale, one curve a model → Axes.

    curves: name → norms, norms[d] = ‖∂L_T/∂h_{T−d}‖ from d = 0; the curves may differ in length. What is exactly 0 or
    below 1e-300, as after underflow, has no place on the scale and leaves a gap; the legend says from where on nothing
    else comes. Raises ValueError for a curve that is empty, not of one dimension, negative or not finite, and where
    there is nothing but gaps.
    """
    curves = {name: np.where(norms < 1e-300, np.nan, norms) for name, norms in _checked(curves, "norms").items()}
    ends = {name: int(np.flatnonzero(~np.isnan(norms)).max(initial=-1)) + 1 for name, norms in curves.items()}
    if not any(ends.values()):
        raise ValueError("all norms are 0: no gradient arrives anywhere, which a logarithmic scale cannot show")

    ax = ax or new_axes(6, 4)
    labels = {name if ends[name] == len(norms) else f"{name} (0 from {ends[name]} back)": norms
              for name, norms in curves.items()}
    _draw(ax, labels, first=0, title=title)
    ax.set(xlabel="distance back, d", yscale="log")
    ax.set_ylabel(r"$\Vert\,\partial L_T\, /\, \partial h_{T-d}\,\Vert$  (log scale)", parse_math=True)
    return ax


def _checked(curves, what):
    curves = {name: np.asarray(values, dtype=float) for name, values in dict(curves).items()}
    if not curves:
        raise ValueError(f"nothing to plot: give a dict with at least one name and its {what}")
    for name, values in curves.items():
        if values.ndim != 1 or not len(values):
            raise ValueError(f"{name!r} must be a list of {what} by distance, not an array {values.shape}")
        if not np.isfinite(values).all():
            raise ValueError(f"{name!r} holds NaN or infinity at {int(np.argmin(np.isfinite(values)))}: "
                             f"check the model that computed its {what}")
        if (values < 0).any():
            raise ValueError(f"{name!r} holds {values.min():.4g}: {what} cannot be negative")
    return curves


def _draw(ax, curves, first, title):
    """One line a curve over the distances first, first + 1, …; at most some forty markers a line."""
    lines = []
    for n, values in enumerate(curves.values()):
        step = -(-len(values) // 40)
        gap = np.isnan(np.concatenate([[np.nan], values, [np.nan]]))
        alone = gap[:-2] & gap[2:]                                                        # without a line to show it
        marked = [d for d in range(len(values)) if d % step == 0 or alone[d]]
        lines += ax.plot(first + np.arange(len(values)), values, color=COLOURS[n % len(COLOURS)], markersize=5,
                         marker=MARKERS[n % len(MARKERS)], linestyle=("-", "--", "-.", ":")[n % 4], markevery=marked)
    ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True, min_n_ticks=1))
    ax.grid(alpha=0.3)
    legend_as_written(ax, lines, curves)
    if title:
        ax.set_title(title, **as_written())
