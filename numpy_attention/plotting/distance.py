"""Plots of attention weights and of gradient norms against the distance back in time."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from matplotlib import ticker
from matplotlib.axes import Axes
from numpy.typing import ArrayLike

from numpy_attention.module import Array
from numpy_attention.plotting.base import (
    check_axes,
    curve_style,
    label,
    legend_as_written,
    named,
    new_axes,
)
from numpy_attention.validation.arguments import as_numbers


def attention_span(curves: Mapping[str, ArrayLike], ax: Axes | None = None,
                   title: str | None = None) -> Axes:
    """Plot mean attention weight by distance, one curve per model.

    curves: {name: mean weights} for the distances 1 (the previous position), 2, 3, … The curves may
    differ in length. The legend gives the fraction of a curve's sum at distances 1 to 5. Raises
    ValueError for a curve that is empty, not one-dimensional, outside [0, 1], or 0 everywhere.
    """
    check_axes(ax, title)
    checked = _checked(curves, "mean weights")
    for name, weights in checked.items():
        if weights.max() > 1 + 1e-6:
            raise ValueError(f"curve {name!r} has a mean weight of {weights.max():.4g}; expected "
                             "weights between 0 and 1")
        if not weights.any():
            raise ValueError(f"curve {name!r} is 0 everywhere; leave out models without attention")

    ax = ax or new_axes(6, 4)
    labelled = {}
    for name, weights in checked.items():
        of_all = f" of {len(weights)}" if len(weights) > 5 else ""
        share = weights[:5].sum() / weights.sum()
        labelled[f"{name} (last five{of_all}: {share:.2f})"] = weights
    _draw(ax, labelled, first=1, title=title)
    ax.set(xlabel="distance back (1 = the previous position)", ylabel="mean attention weight")
    ax.set_xlim(left=0.5)
    ax.set_ylim(bottom=0)
    return ax


def gradient_flow(curves: Mapping[str, ArrayLike], ax: Axes | None = None,
                  title: str | None = None) -> Axes:
    """Plot the norm of the gradient at earlier states on a log scale, one curve per model.

    curves: {name: norms}, with norms[d] = ‖∂L_T/∂h_{T−d}‖ from d = 0; the curves may differ in
    length. Norms below 1e-300 leave a gap. If a curve ends in a gap, the legend gives the d at
    which this gap starts, as in "GRU (0 from 80 back)". Raises ValueError for a curve that is
    empty, not one-dimensional, negative or not finite, and if all norms are below 1e-300.
    """
    check_axes(ax, title)
    labelled = {}
    ends = []
    for name, norms in _checked(curves, "norms").items():
        seen = norms >= 1e-300
        end = int(np.flatnonzero(seen).max(initial=-1)) + 1
        ends.append(end)
        text = name if end == len(norms) else f"{name} (0 from {end} back)"
        labelled[text] = np.where(seen, norms, np.nan)
    if not any(ends):
        raise ValueError("all norms are 0, which a logarithmic scale cannot show; check that "
                         "gradients reach the states")

    ax = ax or new_axes(6, 4)
    _draw(ax, labelled, first=0, title=title)
    ax.set(xlabel="distance back, d", yscale="log")
    ax.set_ylabel(r"$\Vert\,\partial L_T\, /\, \partial h_{T-d}\,\Vert$  (log scale)",
                  parse_math=True)
    return ax


def _checked(curves: Mapping[str, ArrayLike], what: str) -> dict[str, Array]:
    arrays = {name: as_numbers(f"{name!r:.40}", values)
              for name, values in named("curves", curves, what).items()}
    for name, values in arrays.items():
        if values.ndim != 1 or not len(values):
            raise ValueError(f"curve {name!r} has shape {values.shape}; expected a list of {what}, "
                             "one for each distance")
        if not np.isfinite(values).all() or (values < 0).any():
            raise ValueError(f"curve {name!r} contains NaN, infinity or a negative number; "
                             "check the model that computed it")
    return arrays


def _draw(ax: Axes, curves: Mapping[str, Array], first: int, title: str | None) -> None:
    """Plot each curve over the distances first, first + 1, …, with about forty markers."""
    lines: list[Any] = []
    for n, values in enumerate(curves.values()):
        step = -(-len(values) // 40)
        gap = np.isnan(np.concatenate([[np.nan], values, [np.nan]]))
        alone = gap[:-2] & gap[2:]                                  # without a line to show it
        marked = [d for d in range(len(values)) if d % step == 0 or alone[d]]
        lines += ax.plot(first + np.arange(len(values)), values, markersize=5, markevery=marked,
                         **curve_style(n))
    ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True, min_n_ticks=1))
    ax.grid(alpha=0.3)
    legend_as_written(ax, lines, curves)
    label(ax, title)
