"""Heatmaps side by side: one sentence pair under every mechanism."""

import math

from numpy_attention.plotting.base import label_width, new_figure
from numpy_attention.plotting.heatmap import attention_heatmap


def heatmap_grid(weights, source_tokens, target_tokens, gold=None, possible=None, columns=None):
    """{name: weights (target tokens, source tokens)} of one sentence pair → Figure, a panel each, one colour bar for all.

    gold, possible and errors as in `attention_heatmap`; columns: panels in a row, about a square of them unless given.
    """
    if not weights:
        raise ValueError("no weights to draw: expected {name: weights}, at least one")
    columns = min(len(weights), columns or math.ceil(math.sqrt(len(weights))))
    rows = math.ceil(len(weights) / columns)
    across, down = (max(map(label_width, tokens)) * 0.09 for tokens in (source_tokens, target_tokens))
    cell = 0.24
    width, height = max(2.2, len(source_tokens) * cell + down), max(1.6, len(target_tokens) * cell + across + 0.45)
    figure = new_figure(columns * (width + 0.35) + 1.0, rows * (height + 0.2))
    panels = figure.subplots(rows, columns, squeeze=False)
    for ax, (name, matrix) in zip(panels.flat, weights.items()):
        attention_heatmap(matrix, source_tokens, target_tokens, gold, possible, ax, name, bar=False)
    for ax in panels.flat[len(weights):]:
        ax.set_axis_off()
    figure.colorbar(panels.flat[0].images[0], ax=panels, fraction=0.03, pad=0.02).set_label("attention weight")
    return figure
