"""Pictures: what attention looks at, how training went, how translation holds up with length.

Every function draws into the Axes it is given, or into a new figure, and returns the Axes; `save` writes it to a file.
Nothing needs a display. A new figure belongs to pyplot where pyplot is imported already or in a notebook, so that it
shows inline and with `plt.show()`; elsewhere it is a figure of its own, which vanishes with the last reference to it.
Colours are chosen to be told apart by the colour-blind and in print.
"""

import math
import os
import sys
import unicodedata
import warnings
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib import font_manager, patheffects, ticker
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

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


def attention_heatmap(weights, source_tokens, target_tokens, gold=None, possible=None, ax=None, title=None, vmax=None):
    """Attention weights as a picture: source words on top, target words at the left, one cell a weight → Axes.

    weights (target tokens, source tokens); where they have a row and a column for `</s>`, so must the token lists.
    gold, possible: links (source position, target position) from 0; gold (sure) cells get a solid outline, those that
    are only possible a dashed one. The colour scale runs from 0 to 1, so that pictures can be compared (further where
    weights lie outside); `vmax=weights.max()` brings out weights spread thinly over a long sentence.
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
    if vmax is not None and not (math.isfinite(vmax) and vmax > 0):
        raise ValueError(f"vmax must be positive, got {vmax}")
    sure = _links("gold", gold, S, T)
    dashed = _links("possible", possible, S, T) - sure

    labels = [_shown(token) for token in source_tokens], [_shown(token) for token in target_tokens]
    across, down = (max(map(_width, texts)) for texts in labels)
    if ax is None:
        cell = min(0.5, max(0.21, 5 / max(S, T)))                                         # inches
        ax = _new_axes(max(3.2, S * cell + down * 0.09 + 1.4), max(2.8, T * cell + across * 0.09 + 1.0))
        size = min(11, max(6, cell * 72 * 0.58))
    else:
        box = ax.get_window_extent()
        cell = min(box.width / S, box.height / T) / ax.figure.dpi
        size = min(11, max(4, cell * 72 * 0.58))
    low, high = min(0, weights.min()), vmax or max(1, weights.max())
    image = ax.imshow(weights, cmap="cividis", vmin=low, vmax=high, aspect="equal", interpolation="nearest")
    beyond = "max" if weights.max() > high else "neither"
    bar = ax.figure.colorbar(image, ax=ax, fraction=0.046, pad=0.03, extend=beyond)
    bar.set_label("attention weight")
    fonts = {"fontsize": size, "fontfamily": _fonts(), "parse_math": False, "usetex": False}
    upright = across * size * 0.62 > cell * 72 * 0.95                                     # too wide side by side
    ax.set_xticks(range(S), labels[0], rotation=90 if upright else 0, **fonts)
    ax.set_yticks(range(T), labels[1], **fonts)
    ax.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=2)
    for links, style, name in ((sure, "solid", "sure link"), (dashed, (0, (2, 1.5)), "possible link")):
        for i, j in sorted(links):
            ax.add_patch(_outline(i, j, style, name, max(0.8, min(2, cell * 4.5))))
    if sure or dashed:
        shown = [_outline(0, 0, "solid", "sure link", 1.5)] * bool(sure)
        shown += [_outline(0, 0, (0, (2, 1.5)), "possible link", 1.5)] * bool(dashed)
        for patch in shown:
            patch.set(fill=True, facecolor=matplotlib.colormaps["cividis"](0.3))
        ax.legend(handles=shown, loc="upper center", bbox_to_anchor=(0.5, 0), ncols=2, frameon=False, fontsize=9)
    if title:
        ax.set_title(title, pad=14, fontfamily=_fonts(), parse_math=False, usetex=False)
    return ax


def learning_curves(history, ax=None):
    """Perplexity on training and validation data by epoch, on a logarithmic scale, its best epoch marked → Axes.

    history: one dict an epoch with `epoch` and any of `train_perplexity`, `valid_perplexity`; where there is none,
    exp of `train_loss`, `valid_loss` (nats a predicted token). Other keys are not drawn. Values that are missing, None
    or not finite leave a gap.
    """
    history = list(history)
    if not history:
        raise ValueError("the history is empty: train for at least one epoch first")
    for n, line in enumerate(history):
        if "epoch" not in line:
            raise ValueError(f"line {n} of the history has no 'epoch', only {sorted(line)}")
    epochs = [line["epoch"] for line in history]
    curves = {name: [_perplexity(line, name) for line in history] for name in ("train", "valid")}
    curves = {name: curve for name, curve in curves.items() if not np.isnan(curve).all()}
    if not curves:
        raise ValueError("the history has no finite train_perplexity, valid_perplexity, train_loss or valid_loss")

    ax = ax or _new_axes(6, 4)
    for (name, curve), colour, marker in zip(curves.items(), COLOURS, MARKERS):
        ax.plot(epochs, curve, color=colour, marker=marker, markersize=5,
                label="training" if name == "train" else "validation")
    if "valid" in curves:
        best = int(np.nanargmin(curves["valid"]))
        ax.plot(epochs[best], curves["valid"][best], linestyle="none", marker="*", markersize=15, color="#E69F00",
                markeredgecolor="black", label=f"best: {curves['valid'][best]:.4g} (epoch {epochs[best]:g})")
    ax.set(xlabel="epoch", ylabel="perplexity (log scale)", yscale="log")
    ax.xaxis.set_major_locator(ticker.MaxNLocator(integer=True, min_n_ticks=1))
    values = np.concatenate(list(curves.values()))
    narrow = np.nanmax(values) < 10 * np.nanmin(values)                                   # under a decade: even ticks
    ax.yaxis.set_major_locator(ticker.MaxNLocator(6) if narrow else ticker.LogLocator(subs=(1, 2, 5)))
    ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_locator(ticker.NullLocator())
    ax.grid(alpha=0.3)
    ax.legend()
    return ax


def bleu_by_length_plot(systems, ax=None):
    """BLEU by sentence length, one curve a system → Axes.

    systems: name → list of `metrics.LengthBucket`, the same edges for all. A bucket without sentences leaves a gap.
    """
    systems = {name: list(buckets) for name, buckets in systems.items()}
    if not systems or not all(systems.values()):
        raise ValueError("nothing to plot: give a dict with at least one name and its buckets")
    edges = {name: [(low, high) for low, high, _, _ in buckets] for name, buckets in systems.items()}
    first = next(iter(edges))
    for name, pairs in edges.items():
        if pairs != edges[first]:
            raise ValueError(f"{name!r} has the buckets {pairs}, but {first!r} has {edges[first]}: use the same edges")

    ax = ax or _new_axes(max(4.5, 0.8 * len(edges[first]) + 2), 4)
    for n, (name, buckets) in enumerate(systems.items()):
        scores = [math.nan if score is None else score for _, _, _, score in buckets]
        ax.plot(range(len(buckets)), scores, color=COLOURS[n % len(COLOURS)], marker=MARKERS[n % len(MARKERS)],
                linestyle=("-", "--", "-.", ":")[n % 4])
    labels, room = [], ax.get_position().width * ax.figure.get_figwidth() / len(edges[first])       # inches a bucket
    for k, (low, high) in enumerate(edges[first]):
        counts = {buckets[k][2] for buckets in systems.values()}
        count = f"\n{'n=' if room > 0.6 else ''}{counts.pop()}" if len(counts) == 1 else ""
        labels.append(_span(low, high) + count)
    ax.set_xticks(range(len(labels)), labels, fontsize=min(10, max(6, 16 * room)))
    ax.set(xlabel="sentence length in tokens, and number of sentences", ylabel="BLEU")
    ax.set_ylim(bottom=0)
    ax.grid(alpha=0.3)
    legend = ax.legend(ax.lines[-len(systems):], ["-"] * len(systems))                    # a name may begin with _
    for text, name in zip(legend.get_texts(), systems):
        text.set(text=name, parse_math=False, usetex=False, fontfamily=_fonts())
    return ax


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


def _new_axes(width, height):
    if "matplotlib.pyplot" in sys.modules or "ipykernel" in sys.modules:
        from matplotlib import pyplot
        try:
            return pyplot.figure(figsize=(width, height), layout="constrained").add_subplot()
        except ImportError:                      # its backend is not installed, or needs a display
            pass
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure.add_subplot()


def _fonts():
    """The user's own font families, then those of FALLBACK_FONTS that are installed."""
    installed = {font.name for font in font_manager.fontManager.ttflist}
    chosen = list(matplotlib.rcParams["font.family"])
    return chosen + [name for name in FALLBACK_FONTS if name in installed and name not in chosen]


def _shown(token):
    """The token as a label: on one line, visible, at most 24 characters."""
    def visible(character):
        if character.isspace():
            return "␣" if unicodedata.category(character) == "Zs" else repr(character)[1:-1]
        return repr(character)[1:-1] if unicodedata.category(character) in ("Cc", "Cs") else character
    label = "".join(map(visible, str(token)))
    return label if len(label) <= 24 else label[:23] + "…"


def _width(label):
    """Width in narrow characters: East Asian ones are two wide, combining marks and joiners nothing."""
    return sum(0 if unicodedata.category(c) in ("Mn", "Me", "Cf") else 1 + (unicodedata.east_asian_width(c) in "WF")
               for c in label)


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


def _perplexity(line, name):
    value, loss = line.get(f"{name}_perplexity"), line.get(f"{name}_loss")
    if value is None and loss is not None:
        value = math.exp(loss) if loss < 700 else math.inf
    return value if value is not None and math.isfinite(value) and value > 0 else math.nan


def _span(low, high):
    """The lengths of a bucket low ≤ length < high, in words."""
    if high == math.inf:
        return f"{low:g}+"
    if low != int(low) or high != int(high):
        return f"{low:g} to {high:g}"
    return f"{low:g}" if high == low + 1 else f"{low:g}–{high - 1:g}"
