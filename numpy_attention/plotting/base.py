"""What all pictures share: colours, fonts, labels in any script, new figures, and files written whole or not at all."""

import os
import sys
import unicodedata
import warnings
from pathlib import Path

import matplotlib
from matplotlib import font_manager
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#000000", "#56B4E9")     # Okabe & Ito (2008)
MARKERS = ("o", "s", "^", "D", "v", "P", "X")

# Fonts of common systems for scripts that matplotlib's own font lacks; the last draws a box that names the script.
FALLBACK_FONTS = (
    "DejaVu Sans", "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK JP", "Noto Sans SC", "Noto Sans JP", "Noto Sans KR",
    "PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic",
    "WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Droid Sans Fallback", "Noto Sans Arabic", "Noto Sans Hebrew",
    "Noto Sans Devanagari", "Noto Sans Thai", "Nirmala UI", "Segoe UI", "Arial Unicode MS", "Noto Emoji",
    "Segoe UI Emoji", "Symbola", "Unifont", "Last Resort High-Efficiency",
)


def save(ax_or_figure, path):
    """Write the figure as .png, .pdf or .svg, as the suffix of `path` says; whole or not at all → the Path.

    It goes to a temporary file in the same folder, which then takes the name at once. A picture drawn anew from the
    same data makes the same bytes. ValueError for another suffix, FileNotFoundError where the folder is missing.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    dates = {".png": {}, ".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    if suffix not in dates:
        raise ValueError(f"cannot save as {path.name!r}: the name must end with .png, .pdf or .svg")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"cannot save {path}: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise IsADirectoryError(f"cannot save {path}: it is a folder")
    figure = getattr(ax_or_figure, "figure", ax_or_figure)
    figure = getattr(figure, "figure", None) or figure                                    # out of a subfigure
    if not hasattr(figure, "savefig"):
        raise ValueError(f"save takes an Axes or a Figure, got {type(ax_or_figure).__name__}")
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with warnings.catch_warnings(), matplotlib.rc_context({"svg.hashsalt": "numpy_attention"}):
            warnings.filterwarnings("ignore", message="Glyph .* missing from")
            figure.savefig(temporary, format=suffix[1:], dpi=150, bbox_inches="tight", metadata=dates[suffix])
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path


def new_axes(width, height):
    """Axes of a new figure of so many inches."""
    return new_figure(width, height).add_subplot()


def new_figure(width, height):
    """A figure of so many inches; pyplot's own where it is in use."""
    if "matplotlib.pyplot" in sys.modules or "ipykernel" in sys.modules:
        from matplotlib import pyplot
        try:
            return pyplot.figure(figsize=(width, height), layout="constrained")
        except ImportError:                      # its backend is not installed, or needs a display
            pass
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def as_written():
    """Settings of a text that may hold anything: fonts for any script, and $, _ and \\ stand for themselves."""
    return {"fontfamily": font_families(), "parse_math": False, "usetex": False}


def legend_as_written(ax, lines, names, **where):
    """A legend of lines with any names; matplotlib itself leaves out those that begin with _. where: for `ax.legend`."""
    legend = ax.legend(lines, ["-"] * len(lines), **where)
    for text, name in zip(legend.get_texts(), names):
        text.set(text=name, **as_written())


def font_families():
    """The user's own font families, then those of FALLBACK_FONTS that are installed."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    chosen = list(matplotlib.rcParams["font.family"])
    return chosen + [name for name in FALLBACK_FONTS if name in installed and name not in chosen]


def label_of(token):
    """The token as a label: on one line, visible, at most 24 characters."""
    def visible(character):
        if character.isspace():
            return "␣" if unicodedata.category(character) == "Zs" else repr(character)[1:-1]
        return repr(character)[1:-1] if unicodedata.category(character) in ("Cc", "Cs") else character
    label = "".join(map(visible, str(token)))
    return label if len(label) <= 24 else label[:23] + "…"


def label_width(label):
    """Width in narrow characters: East Asian ones are two wide, combining marks and joiners nothing."""
    return sum(0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 1 + (unicodedata.east_asian_width(c) in "WF")
               for c in label)
