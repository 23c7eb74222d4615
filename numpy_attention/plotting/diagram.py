"""Diagrams of architectures: arrows between boxes on a grid, with the symbols of the equations."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
from matplotlib.transforms import Affine2D

from numpy_attention.module import Array
from numpy_attention.plotting.base import COLOURS, as_written, check_axes, label, named, new_axes
from numpy_attention.validation.arguments import as_list, check_name, check_number, check_text
from numpy_attention.validation.arrays import check_whole

FARTHEST = 100                  # columns or rows from the origin
INCHES = 1.15, 0.8              # of a column, of a row
HALF_HEIGHT = 0.3               # of a box, in rows
LETTER = 0.085                  # a letter's width, in columns
LEAST = 0.28                    # half a box's width at least


class Box(NamedTuple):
    """A box for an array or an operation: its text, and the column and row of the box's centre.

    Rows are numbered from bottom to top. colour: an index into the seven `COLOURS`, None for white.
    """

    text: str
    column: float
    row: float
    colour: int | None = None


class Arrow(NamedTuple):
    """An arrow from the box named `start` to the box named `end`, with the label `text`.

    bend: how strongly the arrow curves to its left (if negative, to its right), from −2 to 2.
    dashed: draw a dashed line, for the next time step or for an optional connection.
    """

    start: str
    end: str
    text: str = ""
    bend: float = 0.0
    dashed: bool = False


def diagram(boxes: Mapping[str, Box | Sequence[Any]], arrows: Iterable[Arrow | Sequence[Any]],
            ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw boxes and the arrows between them.

    boxes: {name: Box}. arrows: a list of Arrows. A tuple with the fields of a Box or an Arrow is
    allowed too. Texts are drawn unchanged, so write `sᵢ₋₁` for `s_{i−1}`.

    Raises ValueError if there is no box, for an unknown colour, and for an arrow from or to an
    unknown box. Raises TypeError for anything that is not a box or an arrow.
    """
    check_axes(ax, title)
    placed = {name: _box(name, box) for name, box in named("boxes", boxes, "boxes").items()}
    between = [_arrow(arrow, placed) for arrow in as_list("arrows", arrows, "arrows")]
    middles = [_middle(_ends(arrow, placed) * INCHES, arrow.bend) / INCHES for arrow in between]
    edges = [np.array([box.column + side * _half_width(box.text), box.row])
             for box in placed.values() for side in (-1, 1)]
    (left, low), (right, high) = np.min(middles + edges, 0), np.max(middles + edges, 0)
    ax = ax or new_axes((right - left + 0.4) * INCHES[0], (high - low + 1.2) * INCHES[1])
    ax.set_xlim(left - 0.2, right + 0.2)
    ax.set_ylim(low - 0.6, high + 0.6)
    ax.axis("off")
    patches = {name: _draw_box(ax, box) for name, box in placed.items()}
    for arrow in between:
        _draw_arrow(ax, arrow, placed, patches)
    label(ax, title)
    return ax


def _box(name: str, box: Any) -> Box:
    box = _build(Box, f"box {name!r:.40}", box, "(text, column, row), optionally with a colour")
    check_text(f"the text of box {name!r:.40}", box.text)
    for field in ("column", "row"):
        check_number(f"the {field} of box {name!r:.40}", getattr(box, field), -FARTHEST, FARTHEST,
                     f"a number from {-FARTHEST} to {FARTHEST}")
    if box.colour is not None:
        check_whole(f"the colour of box {name!r:.40}", box.colour, 0, len(COLOURS) - 1)
    return box


def _arrow(arrow: Any, boxes: Mapping[str, Box]) -> Arrow:
    arrow = _build(Arrow, "an arrow", arrow, "(start, end), optionally with text, bend, dashed")
    for field in ("start", "end"):
        check_name(f"the {field} of an arrow", getattr(arrow, field), boxes)
    check_text("the text of an arrow", arrow.text)
    check_number("the bend of an arrow", arrow.bend, -2, 2, "a number from -2 to 2")
    return arrow


def _build(kind: Any, name: str, fields: Any, expected: str) -> Any:
    try:
        return kind(*fields)
    except TypeError:                   # not a sequence, or another number of fields
        raise TypeError(f"{name} is {fields!r:.60}; expected {expected}") from None


def _half_width(text: str) -> float:
    return max(LEAST, 0.1 + LETTER / 2 * max(map(len, text.split("\n"))))


def _draw_box(ax: Axes, box: Box) -> FancyBboxPatch:
    half = _half_width(box.text)
    height = HALF_HEIGHT * (1 + 0.5 * box.text.count("\n"))
    edge, tint = "black", np.ones(3)
    if box.colour is not None:
        edge = COLOURS[box.colour]
        tint = 0.8 + 0.2 * np.array(to_rgb(edge))
    patch = FancyBboxPatch((box.column - half, box.row - height), 2 * half, 2 * height,
                           boxstyle="round,pad=0,rounding_size=0.08", linewidth=1.2,
                           edgecolor=edge, facecolor=tuple(tint), zorder=2)
    ax.add_patch(patch)
    ax.text(box.column, box.row, box.text, ha="center", va="center", color="black", zorder=4,
            **as_written(box.text))
    return patch


def _ends(arrow: Arrow, boxes: Mapping[str, Box]) -> Array:
    """Return the centres (column, row) of an arrow's start and end boxes, as an array (2, 2)."""
    return np.array([boxes[arrow.start][1:3], boxes[arrow.end][1:3]])


def _middle(ends: Array, bend: float) -> Array:
    """Return the middle (x, y) of matplotlib's arc3 curve between the two rows of `ends` (2, 2)."""
    dx, dy = ends[1] - ends[0]
    return ends.mean(0) + np.array([-bend * dy, bend * dx]) / 2


def _draw_arrow(ax: Axes, arrow: Arrow, boxes: Mapping[str, Box],
                patches: Mapping[str, FancyBboxPatch]) -> None:
    ends = _ends(arrow, boxes)
    ax.add_patch(FancyArrowPatch(
        *ends, patchA=patches[arrow.start], patchB=patches[arrow.end], shrinkA=1, shrinkB=2,
        connectionstyle=f"arc3,rad={-arrow.bend}", arrowstyle="-|>", mutation_scale=12,
        linewidth=1.2, color="0.25", linestyle="--" if arrow.dashed else "-", zorder=1))
    if not arrow.text:
        return

    def place(_: Any) -> Affine2D:             # in pixels, in which arc3 is computed
        return Affine2D().translate(*_middle(ax.transData.transform(ends), arrow.bend))

    ax.annotate(arrow.text, (0, 0), xycoords=place, ha="center", va="center", fontsize="small",
                color="0.15", zorder=5, **as_written(arrow.text),
                bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0})
