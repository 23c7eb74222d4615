"""Diagrams of architectures: boxes on a grid, named by the symbols of the equations, and arrows."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from numpy_attention.validation.arguments import check_kind, check_number, check_text, as_list
from numpy_attention.plotting.base import COLOURS, as_written, check_axes, new_axes

FARTHEST = 100                  # columns or rows from the origin
INCHES = 1.15, 0.8              # of a column, of a row
HALF_HEIGHT = 0.3               # of a box, in rows
LETTER = 0.085                  # a letter's width, in columns
LEAST = 0.28                    # half a box's width at least


class Box(NamedTuple):
    """A named array or operation: its text, the column and row of its centre (rows go upwards).

    colour: one of the seven of `COLOURS`, by its number; None: white.
    """

    text: str
    column: float
    row: float
    colour: int | None = None


class Arrow(NamedTuple):
    """From one box to another, by their names, with a text beside it.

    bend: how far it bows to the left of its direction, in its own length; dashed: it is taken in
    the next time step, or only sometimes.
    """

    start: str
    end: str
    text: str = ""
    bend: float = 0.0
    dashed: bool = False


def diagram(boxes: Mapping[str, Box | Sequence[Any]], arrows: Iterable[Arrow | Sequence[Any]],
            ax: Axes | None = None, title: str | None = None) -> Axes:
    """Draw boxes and the arrows between them.

    boxes: name → Box, or its fields in their order; arrows: Arrows, or theirs. The texts stand as
    they are, so that `s_{i−1}` is written `sᵢ₋₁`. ValueError: no box, a number of a colour that is
    not there, an arrow from or to a box that is not there; TypeError: what is no box or arrow.
    """
    check_axes(ax, title)
    check_kind("boxes", boxes, Mapping, "a dict of names and their boxes")
    placed = {str(name): _box(name, box) for name, box in boxes.items()}
    if not placed:
        raise ValueError("nothing to draw: give at least one box")
    between = [_arrow(arrow, placed) for arrow in as_list("arrows", arrows, "arrows")]
    lefts = [box.column - _half_width(box.text) for box in placed.values()]
    rights = [box.column + _half_width(box.text) for box in placed.values()]
    rows = [box.row for box in placed.values()]
    width = max(rights) - min(lefts) + 0.4
    height = max(rows) - min(rows) + 1.2
    ax = ax or new_axes(width * INCHES[0], height * INCHES[1])
    ax.set_xlim(min(lefts) - 0.2, max(rights) + 0.2)
    ax.set_ylim(min(rows) - 0.6, max(rows) + 0.6)
    ax.axis("off")
    patches = {name: _draw_box(ax, box) for name, box in placed.items()}
    for arrow in between:
        _draw_arrow(ax, arrow, placed, patches)
    if title:
        ax.set_title(title, **as_written())
    return ax


def _box(name: Any, box: Any) -> Box:
    what = "a Box, or (text, column, row) or (text, column, row, colour)"
    box = Box(*_fields(f"box {name!r:.40}", box, (3, 4), what))
    check_text(f"the text of box {name!r:.40}", box.text)
    for place in (box.column, box.row):
        check_number(f"a place of box {name!r:.40}", place, -FARTHEST, FARTHEST,
                      f"a number from {-FARTHEST} to {FARTHEST}")
    if box.colour is not None and (type(box.colour) is not int
                                   or not 0 <= box.colour < len(COLOURS)):
        raise ValueError(f"the colour of box {name!r:.40} is {box.colour!r:.40}, expected None or "
                         f"a number from 0 to {len(COLOURS) - 1}")
    return box


def _arrow(arrow: Any, boxes: Mapping[str, Box]) -> Arrow:
    what = "an Arrow, or (start, end), and if wanted text, bend, dashed"
    arrow = Arrow(*_fields("an arrow", arrow, (2, 3, 4, 5), what))
    for name in arrow[:2]:
        if name not in boxes:
            raise ValueError(f"an arrow names the box {name!r:.40}, expected one of "
                             f"{', '.join(boxes)}")
    check_text("the text of an arrow", arrow.text)
    check_number("the bend of an arrow", arrow.bend, -2, 2, "a number from -2 to 2")
    return arrow


def _fields(name: str, given: Any, numbers: tuple[int, ...], what: str) -> tuple[Any, ...]:
    if not isinstance(given, (tuple, list)) or len(given) not in numbers:
        raise TypeError(f"{name} is {given!r:.60}, expected {what}")
    return tuple(given)


def _half_width(text: str) -> float:
    return max(LEAST, 0.1 + LETTER / 2 * max(map(len, text.split("\n"))))


def _draw_box(ax: Axes, box: Box) -> FancyBboxPatch:
    half = _half_width(box.text)
    height = HALF_HEIGHT * (1 + 0.5 * box.text.count("\n"))
    face = "white" if box.colour is None else COLOURS[box.colour]
    patch = FancyBboxPatch((box.column - half, box.row - height), 2 * half, 2 * height,
                           boxstyle="round,pad=0,rounding_size=0.08", linewidth=1.2,
                           edgecolor="black" if box.colour is None else face, facecolor="white",
                           zorder=2)
    ax.add_patch(patch)
    if box.colour is not None:
        tint = FancyBboxPatch((box.column - half, box.row - height), 2 * half, 2 * height,
                              boxstyle="round,pad=0,rounding_size=0.08", linewidth=0,
                              facecolor=face, alpha=0.2, zorder=3)
        ax.add_patch(tint)
    ax.text(box.column, box.row, box.text, ha="center", va="center", color="black", zorder=4,
            **as_written())
    return patch


def _draw_arrow(ax: Axes, arrow: Arrow, boxes: Mapping[str, Box],
                patches: Mapping[str, FancyBboxPatch]) -> None:
    start, end = boxes[arrow.start], boxes[arrow.end]
    ax.add_patch(FancyArrowPatch(
        (start.column, start.row), (end.column, end.row), patchA=patches[arrow.start],
        patchB=patches[arrow.end], connectionstyle=f"arc3,rad={-arrow.bend}", shrinkA=1, shrinkB=2,
        arrowstyle="-|>", mutation_scale=12, linewidth=1.2, color="0.25",
        linestyle="--" if arrow.dashed else "-", zorder=1))
    if not arrow.text:
        return
    # the middle of a quadratic curve lies half of its bend beside that of the line
    across = end.column - start.column
    along = end.row - start.row
    x = (start.column + end.column) / 2 - arrow.bend * along / 2
    y = (start.row + end.row) / 2 + arrow.bend * across / 2
    ax.text(x, y, arrow.text, ha="center", va="center", fontsize="small", color="0.15", zorder=5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0}, **as_written())
