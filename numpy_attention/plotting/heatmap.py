"""Heatmaps of attention weights, with words along both sides."""

from __future__ import annotations

import math
from typing import Any, Iterable, Sequence

import matplotlib
import numpy as np
from matplotlib import patheffects
from matplotlib.axes import Axes
from matplotlib.patches import Patch, Rectangle
from numpy.typing import ArrayLike

from numpy_attention.data.pairs import as_set, check_links
from numpy_attention.module import Array
from numpy_attention.plotting.base import (
    LETTER,
    as_written,
    check_axes,
    inches_of,
    label_of,
    new_axes,
    tokens_by_keyword,
    tokens_of,
)
from numpy_attention.validation.arguments import as_numbers, check_flags, check_number

LARGEST = 40    # inches per side, so that a heatmap of a thousand tokens is not gigabytes large
SOLID: Any = "solid"
DASHED: Any = (0, (2, 1.5))

Link = tuple[int, int]      # source position, target position


@tokens_by_keyword
def attention_heatmap(weights: ArrayLike, *, source_tokens: Iterable[str],
                      target_tokens: Iterable[str], gold: Iterable[Link] | None = None,
                      possible: Iterable[Link] | None = None, ax: Axes | None = None,
                      title: str | None = None, vmax: float | None = None,
                      bar: bool = True) -> Axes:
    """Plot attention weights: source words on top, target words on the left.

    weights (T, S) has a row for each target token and a column for each source token. Tokens must
    include `</s>` if weights do. gold, possible: links (source position, target position) from 0.
    Gold (sure) cells have a solid outline, and cells that are only possible have a dashed one. bar:
    draw a colour bar, and explain the outlines below the heatmap. The colour scale runs from 0 to
    1, so that figures can be compared. It is wider if weights are outside this range. vmax: another
    upper end of the scale. `vmax=weights.max()` makes small weights in long sentences visible.

    Tokens are drawn in any script. White space is drawn as ␣, control characters are escaped, and
    tokens of more than 24 characters are shortened. matplotlib < 3.11 does not join Arabic letters.

    Raises ValueError for weights that do not match the tokens or are not finite, and for links out
    of range.
    """
    check_axes(ax, title)
    check_flags(bar=bar)
    source_tokens = tokens_of("source_tokens", source_tokens)
    target_tokens = tokens_of("target_tokens", target_tokens)
    S = len(source_tokens)
    T = len(target_tokens)
    weights = check_heatmap(weights, source_tokens, target_tokens)
    check_vmax(vmax)
    sure = _links("gold", gold, S, T)
    merely_possible = _links("possible", possible, S, T) - sure

    ax, cell = draw_cells(weights, source_tokens, target_tokens, ax, title, vmax, bar)
    width = max(0.8, min(2, cell * 4.5))
    handles = []
    for links, style, name in ((sure, SOLID, "sure link"),
                               (merely_possible, DASHED, "possible link")):
        for i, j in sorted(links):
            ax.add_patch(_outline(i, j, style, name, width))
        if links:
            handles.append(_outline(0, 0, style, name, 1.5))
            handles[-1].set(fill=True, facecolor=matplotlib.colormaps["cividis"](0.3))
    if bar and handles:
        legend_below(ax, handles)
    return ax


def check_heatmap(weights: ArrayLike, source_tokens: Sequence[Any],
                  target_tokens: Sequence[Any]) -> Array:
    """Return weights as an array of floats. Raises ValueError unless they fit the tokens."""
    weights = as_numbers("weights", weights)
    S = len(source_tokens)
    T = len(target_tokens)
    if not S or not T:
        raise ValueError(f"{'target' if S else 'source'}_tokens is empty; expected at least one")
    if weights.shape != (T, S):
        advice = ("Transpose the weights" if weights.shape == (S, T) else
                  "If '</s>' is missing from the tokens, append it")
        raise ValueError(f"weights have shape {weights.shape}; expected (target, source) = "
                         f"({T}, {S}). {advice}")
    if not np.isfinite(weights).all():
        raise ValueError("weights contain NaN or infinity; check the model that computed them")
    return weights


def draw_cells(weights: Array, columns: Sequence[Any], rows: Sequence[Any], ax: Axes | None,
               title: str | None, vmax: float | None, bar: bool = True,
               signed: str = "") -> tuple[Axes, float]:
    """Draw weights as cells with tokens and a colour bar; return (Axes, inches of a cell's side).

    weights (rows, columns) must be finite; masked cells show the background. signed: "" for
    weights; for values of either sign, the label of a colour bar that is symmetric about 0.
    """
    T, S = weights.shape
    across = inches_of(columns)
    columns = [label_of(token) for token in columns]
    rows = [label_of(token) for token in rows]
    if ax is None:
        cell = min(0.5, max(0.21, 5 / max(S, T)), LARGEST / max(S, T))              # inches
        ax = new_axes(max(3.2, S * cell + inches_of(rows) + 1.4),
                      max(2.8, T * cell + across + 1.0))
        smallest = 6
    else:
        box = ax.get_window_extent()
        cell = min(box.width / S, box.height / T) / ax.figure.dpi
        smallest = 4
    size = min(11, max(smallest, cell * 72 * 0.58))                                 # points
    values = np.ma.compressed(weights)
    low = min(0, values.min(initial=0))
    largest = values.max(initial=0)
    high = vmax or max(1, largest)
    if signed:
        largest = np.abs(values).max(initial=0)
        high = vmax or largest or 1
        low = -high
    image = ax.imshow(weights, cmap="RdBu_r" if signed else "cividis", vmin=low, vmax=high,
                      aspect="equal", interpolation="nearest")
    if bar:
        ends = "both" if signed else "max"
        colours = ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03,
                                     extend=ends if largest > high else "neither")
        colours.set_label(signed or "attention weight")
    too_wide = across / LETTER * size * 0.62 > cell * 72 * 0.95                     # side by side
    every = math.ceil(size / 72 / cell) if cell < 0.1 else 1        # labels for only some tokens
    ax.set_xticks(range(0, S, every), columns[::every], rotation=90 if too_wide else 0,
                  fontsize=size, **as_written(*columns))
    ax.set_yticks(range(0, T, every), rows[::every], fontsize=size, **as_written(*rows))
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=2)
    if title:
        ax.set_title(title, pad=14, **as_written(title))
    return ax, cell


def check_vmax(vmax: float | None) -> None:
    if vmax is not None:
        check_number("vmax", vmax, np.nextafter(0, 1), expected="a positive number")


def legend_below(ax: Axes, patches: Sequence[Patch]) -> None:
    ax.legend(handles=patches, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2, frameon=False,
              fontsize=9)


def _links(name: str, links: Iterable[Link] | None, S: int, T: int) -> set[Link]:
    inside = as_set(name, () if links is None else links)
    check_links(f"{name} link", inside, S, T)
    return set(inside)


def _outline(i: int, j: int, style: Any, name: str, width: float) -> Rectangle:
    """Return a frame for cell (source i, target j) that is visible on any background colour."""
    frame = Rectangle((i - 0.44, j - 0.44), 0.88, 0.88, fill=False, edgecolor="white",
                      linewidth=width, linestyle=style, label=name)
    edge = patheffects.Stroke(linewidth=width + 1.2, foreground="black",
                              dashes={"dash_offset": 0, "dash_list": None})
    frame.set_path_effects([edge, patheffects.Normal()])
    return frame
