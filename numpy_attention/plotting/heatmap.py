"""Attention weights as a picture: one cell a weight, words along both sides."""

import math

import matplotlib
import numpy as np
from matplotlib import patheffects
from matplotlib.patches import Rectangle

from numpy_attention.plotting.base import as_written, label_of, label_width, new_axes

LARGEST = 40    # inches a side: of a thousand tokens cells are small, and the file is not gigabytes


def attention_heatmap(weights, source_tokens, target_tokens, gold=None, possible=None, ax=None, title=None, vmax=None,
                      bar=True):
    """Attention weights as a picture: source words on top, target words at the left, one cell a weight → Axes.

    weights (target tokens, source tokens); where they have a row and a column for `</s>`, so must the token lists.
    gold, possible: links (source position, target position) from 0; gold (sure) cells get a solid outline, those that
    are only possible a dashed one. bar: draw a colour bar, and name the outlines below. The colour scale runs from 0 to
    1, so that pictures can be compared (further where weights lie outside); `vmax=weights.max()` brings out weights
    spread thinly over a long sentence.
    Tokens appear letter for letter in any script ($, _ and \\ mean nothing special), white space as ␣, control
    characters escaped, and more than 24 characters shortened. matplotlib before 3.11 does not join Arabic letters.
    Raises ValueError for a shape that does not match the tokens, weights that are not finite, links outside.
    """
    weights = np.asarray(weights, dtype=float)
    source_tokens, target_tokens = list(source_tokens), list(target_tokens)
    S, T = len(source_tokens), len(target_tokens)
    if not S or not T:
        raise ValueError(f"a heatmap needs tokens on both sides, got {S} source and {T} target tokens")
    if weights.shape != (T, S):
        raise ValueError(f"weights {weights.shape} do not match (target, source) tokens = ({T}, {S}): "
                         "add '</s>' to the tokens, cut the weights, or transpose them")
    if not np.isfinite(weights).all():
        raise ValueError("weights hold NaN or infinity: check the model that computed them")
    check_vmax(vmax)
    sure = _links("gold", gold, S, T)
    dashed = _links("possible", possible, S, T) - sure

    ax, cell = draw_cells(weights, source_tokens, target_tokens, ax, title, vmax, bar)
    for links, style, name in ((sure, "solid", "sure link"), (dashed, (0, (2, 1.5)), "possible link")):
        for i, j in sorted(links):
            ax.add_patch(_outline(i, j, style, name, max(0.8, min(2, cell * 4.5))))
    if bar and (sure or dashed):
        shown = [_outline(0, 0, "solid", "sure link", 1.5)] * bool(sure)
        shown += [_outline(0, 0, (0, (2, 1.5)), "possible link", 1.5)] * bool(dashed)
        for patch in shown:
            patch.set(fill=True, facecolor=matplotlib.colormaps["cividis"](0.3))
        legend_below(ax, shown)
    return ax


def draw_cells(weights, columns, rows, ax, title, vmax, bar=True):
    """The cells, their colour bar if wanted, and the tokens above and at the left → (Axes, width of a cell in inches).

    weights (rows, columns), finite, or masked where the background of the Axes is to show. Without `ax` a new figure
    is made whose size grows with the number of tokens.
    """
    T, S = weights.shape
    columns, rows = [label_of(token) for token in columns], [label_of(token) for token in rows]
    across, down = (max(map(label_width, texts)) for texts in (columns, rows))
    if ax is None:
        cell = min(0.5, max(0.21, 5 / max(S, T)), LARGEST / max(S, T))                    # inches
        ax = new_axes(max(3.2, S * cell + down * 0.09 + 1.4), max(2.8, T * cell + across * 0.09 + 1.0))
        size = min(11, max(6, cell * 72 * 0.58))
    else:
        box = ax.get_window_extent()
        cell = min(box.width / S, box.height / T) / ax.figure.dpi
        size = min(11, max(4, cell * 72 * 0.58))
    values = np.ma.compressed(weights)
    low, high = min(0, values.min(initial=0)), vmax or max(1, values.max(initial=0))
    image = ax.imshow(weights, cmap="cividis", vmin=low, vmax=high, aspect="equal", interpolation="nearest")
    beyond = "max" if values.max(initial=0) > high else "neither"
    if bar:
        ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03, extend=beyond).set_label("attention weight")
    upright = across * size * 0.62 > cell * 72 * 0.95                                     # too wide side by side
    every = math.ceil(size / 72 / cell) if cell < 0.1 else 1                              # then a label for some tokens alone
    ax.set_xticks(range(0, S, every), columns[::every], rotation=90 if upright else 0, fontsize=size, **as_written())
    ax.set_yticks(range(0, T, every), rows[::every], fontsize=size, **as_written())
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=2)
    if title:
        ax.set_title(title, pad=14, **as_written())
    return ax, cell


def check_vmax(vmax):
    if vmax is not None and not (math.isfinite(vmax) and vmax > 0):
        raise ValueError(f"vmax must be positive, got {vmax}")


def legend_below(ax, patches):
    ax.legend(handles=patches, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2, frameon=False, fontsize=9)


def _links(name, links, S, T):
    links = {(int(i), int(j)) for i, j in links or ()}
    for i, j in links:
        if not (0 <= i < S and 0 <= j < T):
            raise ValueError(f"{name} link ({i}, {j}) is outside of {S} source and {T} target tokens: "
                             "links are (source position, target position) from 0")
    return links


def _outline(i, j, style, name, width):
    """A white frame inside of cell (source i, target j), edged in black, so that it shows on every colour."""
    frame = Rectangle((i - 0.44, j - 0.44), 0.88, 0.88, fill=False, edgecolor="white", linewidth=width, linestyle=style,
                      label=name)
    edge = patheffects.Stroke(linewidth=width + 1.2, foreground="black", dashes={"dash_offset": 0, "dash_list": None})
    frame.set_path_effects([edge, patheffects.Normal()])
    return frame
