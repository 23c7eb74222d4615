"""What all pictures share: colours, fonts, labels in any script, new figures, whole files."""

import os
import sys
import unicodedata
import warnings
from pathlib import Path
from typing import Any, Iterable, Sequence

import matplotlib
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from numpy_attention.validation.arguments import check_kind, check_text, as_list
from numpy_attention.validation.messages import short_repr
from numpy_attention.validation.paths import as_path, is_folder, path_errors

# Okabe & Ito (2008)
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000", "#56B4E9")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
LINESTYLES = ("-", "--", "-.", ":")

# Fonts of common systems for scripts that matplotlib's own font lacks; the last draws a box that
# names the script.
FALLBACK_FONTS = (
    "DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC",
    "Noto Sans JP", "Noto Sans KR", "PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo",
    "Microsoft YaHei", "Yu Gothic", "Malgun Gothic", "WenQuanYi Zen Hei", "WenQuanYi Micro Hei",
    "Droid Sans Fallback", "Noto Sans Arabic", "Noto Sans Hebrew", "Noto Sans Devanagari",
    "Noto Sans Thai", "Nirmala UI", "Segoe UI", "Arial Unicode MS", "Noto Emoji", "Segoe UI Emoji",
    "Symbola", "Unifont", "Last Resort High-Efficiency",
)
LABEL = 24      # characters of a token at most

# by suffix: what would differ between two files of one picture, left out
UNDATED: dict[str, dict[str, None]] = {
    ".png": {},
    ".pdf": {"CreationDate": None},
    ".svg": {"Date": None},
}


def save(ax_or_figure: Any, path: str | Path) -> Path:
    """Write the figure as .png, .pdf or .svg, as the suffix of `path` says, whole or not at all.

    It goes to a temporary file in the same folder, which then takes the name at once. A picture
    drawn anew from the same data makes the same bytes. ValueError: another suffix, or no figure;
    FileNotFoundError: the folder is missing; IsADirectoryError: the path is one; OSError: it cannot
    be written.
    """
    path = as_path(path)
    suffix = path.suffix.lower()
    if suffix not in UNDATED:
        raise ValueError(f"cannot save as {short_repr(path.name)}: the name must end with .png, .pdf or "
                         ".svg")
    if not is_folder(path.parent):
        raise FileNotFoundError(f"cannot save {path}: there is no folder {path.parent}; "
                                "make it first")
    if is_folder(path):
        raise IsADirectoryError(f"cannot save {path}: it is a folder")
    if isinstance(ax_or_figure, type):
        raise ValueError(f"save takes an Axes or a Figure, got the class {ax_or_figure.__name__}")
    figure = getattr(ax_or_figure, "figure", ax_or_figure)
    figure = getattr(figure, "figure", None) or figure                  # out of a subfigure
    if not hasattr(figure, "savefig"):
        raise ValueError(f"save takes an Axes or a Figure, got {type(ax_or_figure).__name__}")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        same = matplotlib.rc_context({"svg.hashsalt": "numpy_attention"})
        with path_errors(path, "written"), warnings.catch_warnings(), same:
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            figure.savefig(temporary, format=suffix[1:], dpi=150, bbox_inches="tight",
                           metadata=UNDATED[suffix])
            os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def check_axes(ax: Any, title: Any = None) -> None:
    """Refuse what is no Axes, and no title; None of either is one to come. TypeError."""
    if ax is not None:
        check_kind("ax", ax, Axes, "Axes of matplotlib, such as figure.add_subplot() gives")
    if title is not None:
        check_text("title", title)


def tokens_of(name: str, tokens: Any) -> list[Any]:
    """Tokens to be labels, as a list: anything has a text, and a string is its characters."""
    return list(tokens) if isinstance(tokens, str) else as_list(name, tokens, "tokens")


def new_axes(width: float, height: float) -> Axes:
    """Axes of a new figure of so many inches."""
    return new_figure(width, height).add_subplot()


def new_figure(width: float, height: float) -> Figure:
    """A figure of so many inches; pyplot's own where it is in use."""
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
    """Colour, marker and line of the n-th of any number of curves."""
    return {"color": COLOURS[n % len(COLOURS)], "marker": MARKERS[n % len(MARKERS)],
            "linestyle": LINESTYLES[n % len(LINESTYLES)]}


def as_written() -> dict[str, Any]:
    """Settings of a text in any script, in which $, _ and \\ stand for themselves."""
    return {"fontfamily": font_families(), "parse_math": False, "usetex": False}


def legend_as_written(ax: Axes, lines: Sequence[Line2D], names: Iterable[str],
                      **where: Any) -> None:
    """A legend of lines with any names; where: for `ax.legend`.

    matplotlib itself leaves out names that begin with _.
    """
    legend = ax.legend(lines, ["-"] * len(lines), **where)
    for text, name in zip(legend.get_texts(), names):
        text.set(text=name, **as_written())


def font_families() -> list[str]:
    """The user's own font families, then those of FALLBACK_FONTS that are installed."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    chosen = list(matplotlib.rcParams["font.family"])
    return chosen + [name for name in FALLBACK_FONTS if name in installed and name not in chosen]


def label_of(token: Any) -> str:
    """The token as a label: on one line, visible, at most 24 characters."""
    label = "".join(map(_visible, str(token)))
    return label if len(label) <= LABEL else label[:LABEL - 1] + "…"


def _visible(character: str) -> str:
    category = unicodedata.category(character)
    if category == "Zs":
        return "␣"
    if character.isspace() or category in ("Cc", "Cs"):
        return repr(character)[1:-1]                                    # escaped
    return character


def label_width(label: str) -> int:
    """Width in narrow characters: East Asian ones are two wide, combining marks nothing."""
    return sum(map(_width, label))


def _width(character: str) -> int:
    if unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1
