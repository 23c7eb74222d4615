"""What a language model looked at in its own past, word by word."""

from typing import Any, Iterable

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Patch
from numpy.typing import ArrayLike

from numpy_attention.validation.arguments import as_numbers
from numpy_attention.module import Array
from numpy_attention.plotting.base import check_axes, tokens_of
from numpy_attention.plotting.heatmap import check_vmax, draw_cells, legend_below

# what stands where there is nothing to look at
HIDDEN: dict[str, Any] = {"facecolor": "white", "edgecolor": "#b0b0b0", "hatch": "////",
                          "linewidth": 0}


def history_heatmap(weights: ArrayLike, tokens: Iterable[str],
                    predicted: Iterable[str] | None = None, visible: ArrayLike | None = None,
                    ax: Axes | None = None, title: str | None = None,
                    vmax: float | None = None) -> Axes:
    """A language model's attention over its own history: remembered words on top, a row a step.

    weights (T, S): row t holds what the state after reading a token looked at, column s the state
    after tokens[s]. The T rows belong to the last T of the S tokens: T = S for a whole sentence,
    fewer where a prompt or an earlier window is remembered and has no rows of its own. Rows are
    labelled with the tokens read, or with `predicted`: the T tokens that were to be guessed from
    there, usually `tokens[1:] + ["</s>"]`.

    A cell that could not be looked at is hatched; a weight of 0 is a colour. Which those are says
    `visible`, booleans (T, S), or NaN in the weights; without either, a row sees every token before
    its own. Scale and labels are `attention_heatmap`'s. ValueError: shapes that do not match,
    weights below 0 or infinite, a weight where nothing is visible, and NaN where something is.
    """
    check_axes(ax, title)
    weights = as_numbers("weights", weights)
    tokens = tokens_of("tokens", tokens)
    T = len(weights) if weights.ndim else 0
    S = len(tokens)
    if not S or not T:
        raise ValueError(f"a heatmap needs tokens and weights, got {S} tokens and weights "
                         f"{weights.shape}")
    if weights.shape != (T, S):
        raise ValueError(f"weights {weights.shape} do not match {S} tokens: "
                         "they must be (steps, remembered tokens)")
    if predicted is None and T > S:
        raise ValueError(f"weights {weights.shape} have more rows than tokens: "
                         "give predicted, a label for each row")
    rows = tokens[S - T:] if predicted is None else tokens_of("predicted", predicted)
    if len(rows) != T:
        raise ValueError(f"{len(rows)} predicted tokens do not match weights {weights.shape}: "
                         "one token a row")
    check_vmax(vmax)
    seen = _visible(weights, visible)
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


def _visible(weights: Array, visible: ArrayLike | None) -> Array:
    """Booleans (T, S): as given, or where there is no NaN, or the tokens before the row's own."""
    T, S = weights.shape
    if visible is not None:
        given = np.asarray(visible)
        if given.dtype != bool or given.shape != weights.shape:
            raise ValueError(f"visible must be booleans {weights.shape} like the weights, "
                             f"got {given.dtype} {given.shape}")
        return given
    missing = np.isnan(weights)
    if missing.all():
        raise ValueError("all weights are NaN: check the model that computed them")
    if missing.any():
        return ~missing
    if T > S:
        raise ValueError(f"weights {weights.shape} have more rows than tokens: "
                         "mark what could not be looked at, with visible or with NaN")
    return np.tri(T, S, S - T - 1, dtype=bool)


def _check(weights: Array, visible: Array) -> None:
    if np.isinf(weights).any() or np.isnan(weights[visible]).any():
        raise ValueError("weights hold infinity, or NaN where they are visible: "
                         "check the model that computed them")
    if (weights < 0).any():
        raise ValueError(f"weights must not be negative, got {np.nanmin(weights):.4g}: "
                         "give them after the softmax")
    hidden = np.argwhere(~visible & (np.nan_to_num(weights) != 0))
    if len(hidden):
        t, s = map(int, hidden[0])
        raise ValueError(f"row {t} looks at token {s} with weight {weights[t, s]:.4g}, "
                         "but it is not visible there: give visible, booleans like the weights, "
                         "True where there is something to look at")
