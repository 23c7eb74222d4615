"""Heatmaps side by side: the attention of several mechanisms over one sentence pair."""

import math
from collections.abc import Iterable, Mapping, Sequence

from matplotlib.figure import Figure

from numpy_attention.module import Array
from numpy_attention.plotting.base import (
    inches_of,
    named,
    new_figure,
    tokens_by_keyword,
    tokens_of,
)
from numpy_attention.plotting.heatmap import Link, attention_heatmap, check_heatmap
from numpy_attention.validation.arrays import at_least

CELL = 0.24     # inches per side


@tokens_by_keyword
def heatmap_grid(weights: Mapping[str, Array], *, source_tokens: Sequence[str],
                 target_tokens: Sequence[str], gold: Iterable[Link] | None = None,
                 possible: Iterable[Link] | None = None, columns: int | None = None) -> Figure:
    """Plot the attention of several mechanisms over one sentence pair, with one colour bar.

    weights: {name: weights (T, S)}. gold, possible: links (source position, target position), drawn
    as in `attention_heatmap`. columns: the number of heatmaps in a row. By default the grid is
    about square. Raises the errors of `attention_heatmap`, and ValueError for an empty dict.
    """
    weights = named("weights", weights, "weights")
    at_least(1, columns=columns)
    source_tokens = tokens_of("source_tokens", source_tokens)
    target_tokens = tokens_of("target_tokens", target_tokens)
    for matrix in weights.values():
        check_heatmap(matrix, source_tokens, target_tokens)
    columns = min(len(weights), columns or math.ceil(math.sqrt(len(weights))))
    rows = math.ceil(len(weights) / columns)
    width = max(2.2, len(source_tokens) * CELL + inches_of(target_tokens))
    height = max(1.6, len(target_tokens) * CELL + inches_of(source_tokens) + 0.45)
    figure = new_figure(columns * (width + 0.35) + 1.0, rows * (height + 0.2))
    panels = figure.subplots(rows, columns, squeeze=False)
    for ax, (name, matrix) in zip(panels.flat, weights.items()):
        attention_heatmap(matrix, source_tokens=source_tokens, target_tokens=target_tokens,
                          gold=gold, possible=possible, ax=ax, title=name, bar=False)
    for ax in panels.flat[len(weights):]:
        ax.set_axis_off()
    bar = figure.colorbar(panels.flat[0].images[0], ax=panels, fraction=0.03, pad=0.02)
    bar.set_label("attention weight")
    return figure
