"""Heatmap of a language model's attention over its history, word by word."""

from typing import Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from numpy_attention.module import Array
from numpy_attention.plotting.base import HIDDEN, check_axes, tokens_of, visible_cells
from numpy_attention.plotting.heatmap import check_vmax, draw_cells, legend_below
from numpy_attention.validation.arguments import as_numbers


def history_heatmap(weights: ArrayLike, tokens: Iterable[str],
                    predicted: Iterable[str] | None = None, visible: ArrayLike | None = None,
                    ax: Axes | None = None, title: str | None = None,
                    vmax: float | None = None) -> Axes:
    """Plot a language model's attention over its history, with a column for each remembered word.

    weights (T, S): row t holds the weights after tokens[S − T + t] has been read, and column s
    belongs to the state after tokens[s]. T = S for a whole sentence; T < S if a prompt or an
    earlier window is in memory but has no rows. predicted: labels for the rows, namely the T
    tokens that the states predict, usually `tokens[1:] + ["</s>"]`. Without `predicted`, the rows
    are labelled with the tokens read.

    Cells for states that are not in the memory are hatched. visible: booleans (T, S), False for
    hatched cells. If `visible` is None, cells with NaN are hatched. If no weight is NaN, row t
    is hatched from column S − T + t on. Scale and labels are as in `attention_heatmap`.

    Raises ValueError for shapes that do not match, for a negative or infinite weight, for NaN in a
    visible cell, and for a weight other than 0 in a hatched cell.
    """
    check_axes(ax, title)
    check_vmax(vmax)
    weights = as_numbers("weights", weights)
    tokens = tokens_of("tokens", tokens)
    S = len(tokens)
    if weights.ndim != 2 or not weights.size or weights.shape[1] != S:
        raise ValueError(f"weights have shape {weights.shape}; expected (rows, {S}), with one "
                         "column per token and at least one row")
    T = len(weights)
    rows = tokens[max(0, S - T):] if predicted is None else tokens_of("predicted", predicted)
    if len(rows) != T:
        raise ValueError(f"weights have shape {weights.shape}, but the number of row labels is "
                         f"{len(rows)}; pass `predicted` with one token per row")
    seen = _visible(weights) if visible is None else visible_cells(visible, weights)
    _check(weights, seen)

    picture = np.ma.masked_array(np.where(seen, weights, 0), ~seen)
    ax, _ = draw_cells(picture, tokens, rows, ax, title, vmax)
    ax.patch.set(**HIDDEN)
    ax.set_xlabel("token remembered")
    ax.xaxis.set_label_position("top")
    ax.set_ylabel("token read" if predicted is None else "token predicted")
    if not seen.all():
        legend_below(ax, [Patch(label="not in the memory", **{**HIDDEN, "linewidth": 0.5})])
    return ax


def _visible(weights: Array) -> Array:
    """Return booleans (T, S), True for weights that are not NaN.

    If no weight is NaN, row t is True in columns 0 … S − T + t − 1 instead.
    """
    T, S = weights.shape
    missing = np.isnan(weights)
    if missing.all():
        raise ValueError("all weights are NaN; check the model that computed them")
    if missing.any():
        return ~missing
    if T > S:
        raise ValueError(f"weights of shape {weights.shape} have more rows than columns; pass "
                         "`visible`, or set the weights of hidden tokens to NaN")
    return np.tri(T, S, S - T - 1, dtype=bool)


def _check(weights: Array, visible: Array) -> None:
    if not np.isfinite(weights[visible]).all() or np.isinf(weights).any():
        what = "inf" if np.isinf(weights).any() else "NaN in visible cells"
        raise ValueError(f"weights contain {what}; check the model that computed them")
    if (weights < 0).any():
        raise ValueError(f"the lowest weight is {np.nanmin(weights):.4g}; expected no negative "
                         "weights. Pass the weights after the softmax")
    hidden = np.argwhere(~visible & (np.nan_to_num(weights) != 0))
    if len(hidden):
        t, s = map(int, hidden[0])
        raise ValueError(f"weights[{t}, {s}] is {weights[t, s]:.4g}, but row {t} does not see "
                         f"token {s}; expected 0. To show this weight, pass `visible` with "
                         f"visible[{t}, {s}] = True")
