"""What a language model looked at in its own past, word by word."""

import numpy as np
from matplotlib.patches import Patch

from numpy_attention.plotting.heatmap import check_vmax, draw_cells, legend_below

HIDDEN = {"facecolor": "white", "edgecolor": "#b0b0b0", "hatch": "////", "linewidth": 0}      # beside every weight


def history_heatmap(weights, tokens, predicted=None, visible=None, ax=None, title=None, vmax=None):
    """Attention of a language model over its own history: remembered words on top, one row a step → Axes.

    weights (T, S): row t holds what the state after reading a token looked at, column s the state after tokens[s].
    The T rows belong to the last T of the S tokens: T = S for a whole sentence, fewer where a prompt or an earlier
    window is remembered and has no rows of its own. Rows are labelled with the tokens read, or with `predicted`: the T
    tokens that were to be guessed from there, usually `tokens[1:] + ["</s>"]`.

    A cell that could not be looked at is hatched; a weight of 0 is a colour. Which those are says `visible`, booleans
    (T, S), or NaN in the weights; without either, a row sees every token before its own. Scale and labels are
    `attention_heatmap`'s. Raises ValueError for shapes that do not match, weights below 0 or infinite, a weight where
    nothing is visible, and NaN where something is.
    """
    weights, tokens = np.asarray(weights, dtype=float), list(tokens)
    T, S = len(weights) if weights.ndim else 0, len(tokens)
    if not S or not T:
        raise ValueError(f"a heatmap needs tokens and weights, got {S} tokens and weights {weights.shape}")
    if weights.shape != (T, S):
        raise ValueError(f"weights {weights.shape} do not match {S} tokens: they must be (steps, remembered tokens)")
    if predicted is None and T > S:
        raise ValueError(f"weights {weights.shape} have more rows than tokens: give predicted, a label for each row")
    rows = tokens[S - T:] if predicted is None else list(predicted)
    if len(rows) != T:
        raise ValueError(f"{len(rows)} predicted tokens do not match weights {weights.shape}: one token a row")
    check_vmax(vmax)
    visible = _visible(weights, visible)
    _check(weights, visible)

    picture = np.ma.masked_array(np.where(visible, weights, 0), ~visible)
    ax, _ = draw_cells(picture, tokens, rows, ax, title, vmax)
    ax.patch.set(**HIDDEN)
    ax.set_xlabel("token remembered")
    ax.xaxis.set_label_position("top")
    ax.set_ylabel("token read" if predicted is None else "token predicted")
    if not visible.all():
        legend_below(ax, [Patch(label="not in the memory", **{**HIDDEN, "linewidth": 0.5})])
    return ax


def _visible(weights, visible):
    """Booleans (T, S): as given, or where there is no NaN, or the tokens before the row's own."""
    T, S = weights.shape
    if visible is not None:
        visible = np.asarray(visible)
        if visible.dtype != bool or visible.shape != weights.shape:
            raise ValueError(f"visible must be booleans {weights.shape} like the weights, "
                             f"got {visible.dtype} {visible.shape}")
        return visible
    missing = np.isnan(weights)
    if missing.all():
        raise ValueError("all weights are NaN: check the model that computed them")
    if missing.any():
        return ~missing
    if T > S:
        raise ValueError(f"weights {weights.shape} have more rows than tokens: "
                         "mark what could not be looked at, with visible or with NaN")
    return np.tri(T, S, S - T - 1, dtype=bool)


def _check(weights, visible):
    if np.isinf(weights).any() or np.isnan(weights[visible]).any():
        raise ValueError("weights hold infinity, or NaN where they are visible: check the model that computed them")
    if (weights < 0).any():
        raise ValueError(f"weights must not be negative, got {np.nanmin(weights):.4g}: give them after the softmax")
    hidden = np.argwhere(~visible & (np.nan_to_num(weights) != 0))
    if len(hidden):
        t, s = map(int, hidden[0])
        raise ValueError(f"row {t} looks at token {s} with weight {weights[t, s]:.4g}, but it is not visible there: "
                         "give visible, booleans like the weights, True where there is something to look at")
