"""Helpers for all figures: colours, fonts, labels in any script, new figures, and saving."""

import functools
import inspect
import sys
import unicodedata
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from numpy.typing import ArrayLike

from numpy_attention.data.text_form import visible
from numpy_attention.module import Array
from numpy_attention.plotting import UNDRAWN
from numpy_attention.plotting.fonts import font_families, undrawable
from numpy_attention.validation.arguments import as_list, check_kind, check_text
from numpy_attention.validation.messages import short_repr, typed_repr
from numpy_attention.validation.paths import as_path, atomic_write, is_folder

# Okabe & Ito (2008)
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINESTYLES = ("-", "--", "-.", ":")
# a cell that cannot be seen
HIDDEN: dict[str, Any] = {"facecolor": "white", "edgecolor": "#b0b0b0", "hatch": "////",
                          "linewidth": 0}

Draw = TypeVar("Draw", bound=Callable[..., Any])

LABEL = 24      # characters of a token at most
LETTER = 0.09   # inches a narrow character of a label

# {suffix: metadata to leave out, because it would differ between two files of one figure}
UNDATED: dict[str, dict[str, None]] = {
    ".png": {},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}


def tokens_by_keyword(function: Draw) -> Draw:
    """Decorator that accepts keyword-only arguments by position, with a DeprecationWarning."""
    parameters = inspect.signature(function).parameters.values()
    first = sum(one.kind is one.POSITIONAL_OR_KEYWORD for one in parameters)
    names = [one.name for one in parameters]

    @functools.wraps(function)
    def accept(*args: Any, **options: Any) -> Any:
        if len(args) > first:
            warnings.warn(f"pass {' and '.join(names[first:len(args)])} to {function.__name__} by "
                          "keyword", DeprecationWarning, stacklevel=2)
        return function(*args[:first], **dict(zip(names[first:], args[first:])), **options)

    return accept       # type: ignore[return-value]


def save(ax_or_figure: Any, path: str | Path) -> Path:
    """Write a Figure, or the Figure of Axes, as .png, .pdf or .svg; return the path.

    The suffix of `path` determines the format. The file is written completely or not at all, and
    the same data gives the same bytes. Raises ValueError for another suffix or anything but Axes or
    a Figure, FileNotFoundError if the folder is missing, and OSError if the file cannot be written.
    """
    path = as_path(path)
    suffix = path.suffix.lower()
    if suffix not in UNDATED:
        raise ValueError(f"cannot save as {short_repr(path.name)}; the name must end with .png, "
                         ".pdf or .svg")
    if not is_folder(path.parent):
        raise FileNotFoundError(f"cannot save {path.name!r}: '{path.parent}' is not an existing "
                                "folder; create the folder first")
    figure = getattr(ax_or_figure, "figure", ax_or_figure)
    figure = getattr(figure, "figure", None) or figure                  # out of a subfigure
    if isinstance(figure, type) or not hasattr(figure, "savefig"):
        raise ValueError(f"ax_or_figure is {typed_repr(ax_or_figure)}; expected Axes or a Figure")
    same = matplotlib.rc_context({"svg.hashsalt": "numpy_attention"})
    with atomic_write(path) as file, warnings.catch_warnings(), same:
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(file, format=suffix[1:], dpi=150, bbox_inches="tight",
                       metadata=UNDATED[suffix])
    found = UNDRAWN.get()
    if found is not None:
        found |= undrawable(figure)
    return path


def check_axes(ax: Any, title: Any = None) -> None:
    """Raise TypeError unless ax is an Axes or None, and title is a string or None."""
    if ax is not None:
        check_kind("ax", ax, Axes, "Matplotlib Axes, as returned by figure.add_subplot()")
    if title is not None:
        check_text("title", title)


def named(name: str, values: Any, of: str, empty: bool = False) -> dict[str, Any]:
    """Return a copy of the dict `values` with its keys as strings. name, of: words for messages.

    Raises TypeError if `values` is not a dict, and ValueError if it is empty and `empty` is False.
    """
    check_kind(name, values, Mapping, f"a dict of names and their {of}")
    if not values and not empty:
        raise ValueError(f"{name} is empty; pass a dict with at least one entry")
    return {str(key): value for key, value in values.items()}


def visible_cells(visible: ArrayLike, weights: Array) -> Array:
    """Return `visible` as an array. Raises ValueError unless it has a boolean for each weight."""
    cells = np.asarray(visible)
    if cells.dtype != bool or cells.shape != weights.shape:
        raise ValueError(f"`visible` is a {cells.dtype} array of shape {cells.shape}; expected a "
                         f"bool array of shape {weights.shape}, like the weights")
    return cells


def tokens_of(name: str, tokens: Any) -> list[Any]:
    """Return tokens as a list; a string is split into characters."""
    return list(tokens) if isinstance(tokens, str) else as_list(name, tokens, "tokens")


def new_axes(width: float, height: float) -> Axes:
    """Return the Axes of a new figure. width and height are in inches."""
    return new_figure(width, height).add_subplot()


def new_figure(width: float, height: float) -> Figure:
    """Return a new figure, from pyplot if pyplot is in use. width and height are in inches."""
    if "matplotlib.pyplot" in sys.modules or "ipykernel" in sys.modules:
        from matplotlib import pyplot
        try:
            return pyplot.figure(figsize=(width, height), layout="constrained")
        except ImportError:             # its backend is not installed, or needs a display
            pass
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def curve_style(n: int) -> dict[str, Any]:
    """Return the colour, marker and line style of curve n. They repeat if n is large."""
    return {"color": COLOURS[n % len(COLOURS)], "marker": MARKERS[n % len(MARKERS)],
            "linestyle": LINESTYLES[n % len(LINESTYLES)]}


def as_written(*texts: str) -> dict[str, Any]:
    """Return settings that draw these texts literally: fonts that have the letters, no markup."""
    return {"fontfamily": font_families("".join(texts)), "parse_math": False, "usetex": False}


def label(ax: Axes, title: str | None = None, xlabel: str | None = None,
          ylabel: str | None = None, rows: Sequence[str] | None = None) -> None:
    """Set the title and the labels that are not None. rows: labels of the y axis at 0, 1, 2 …"""
    for text, put in ((title, ax.set_title), (xlabel, ax.set_xlabel), (ylabel, ax.set_ylabel)):
        if text is not None:
            put(text, **as_written(text))
    if rows is not None:
        ax.set_yticks(range(len(rows)), rows, **as_written(*rows))


def legend_as_written(ax: Axes, lines: Sequence[Line2D], names: Iterable[str],
                      outside: bool = False) -> None:
    """Add a legend with a name for each line. outside: put the legend to the right of the Axes."""
    where: dict[str, Any] = {"loc": "center left", "bbox_to_anchor": (1, 0.5)} if outside else {}
    legend = ax.legend(lines, ["-"] * len(lines), **where)      # would omit a name _x
    for text, name in zip(legend.get_texts(), names):
        text.set(text=name, **as_written(name))


def label_of(token: Any) -> str:
    """Return a token as a one-line label of at most 24 visible characters."""
    label = "".join("␣" if unicodedata.category(character) == "Zs" else character
                    for character in visible(str(token)))
    return label if len(label) <= LABEL else label[:LABEL - 1] + "…"


def inches_of(tokens: Iterable[Any]) -> float:
    """Return the width in inches of the widest label of these tokens."""
    return LETTER * max(sum(map(_width, label_of(token))) for token in tokens)


def _width(character: str) -> int:
    """Return 2 for an East Asian character, 0 for a combining mark, else 1."""
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
