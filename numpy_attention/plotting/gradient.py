"""Attention weights, and beside them what the loss would make of other ones."""

from collections.abc import Iterable

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from numpy_attention.validation.arguments import as_numbers
from numpy_attention.plotting.base import (as_written, check_axes, label_of, label_width,
                                           new_figure, tokens_of)
from numpy_attention.plotting.heatmap import LETTER, check_heatmap, check_vmax, draw_cells
from numpy_attention.plotting.history import HIDDEN

CELL = 0.34     # inches a side


def gradient_heatmap(weights: ArrayLike, gradients: ArrayLike, source_tokens: Iterable[str],
                     target_tokens: Iterable[str], visible: ArrayLike | None = None,
                     title: str | None = None, vmax: float | None = None) -> Figure:
    """Attention weights α as a picture, and ∂L/∂α beside them, cell for cell.

    weights, gradients (T, S), the tokens as in `attention_heatmap`. The colours of the gradient
    part at 0 and go as far to both sides, to vmax if it is given: blue where more weight would
    lower the loss, red where it would raise it. visible: booleans (T, S); other cells are hatched,
    and may hold NaN.

    → the Figure. ValueError: shapes that do not match the tokens, values that are not finite.
    """
    check_axes(None, title)
    check_vmax(vmax)
    sources = tokens_of("source_tokens", source_tokens)
    targets = tokens_of("target_tokens", target_tokens)
    weights = as_numbers("weights", weights)
    gradients = as_numbers("gradients", gradients)
    if gradients.shape != weights.shape:
        raise ValueError(f"gradients {gradients.shape} do not match weights {weights.shape}: "
                         "expected ∂L/∂α, one for each weight")
    seen = np.ones(weights.shape, bool) if visible is None else np.asarray(visible)
    if seen.dtype != bool or seen.shape != weights.shape:
        raise ValueError(f"visible must be booleans {weights.shape} like the weights, got "
                         f"{seen.dtype} {seen.shape}")
    weights = check_heatmap(np.where(seen, weights, 0), sources, targets)
    gradients = np.where(seen, gradients, 0)
    if not np.isfinite(gradients).all():
        raise ValueError("gradients hold NaN or infinity: check the model that computed them")

    above = max(map(label_width, map(label_of, sources))) * LETTER
    beside = max(map(label_width, map(label_of, targets))) * LETTER
    width = max(2.2, len(sources) * CELL + beside) + 1.0
    figure = new_figure(2 * width, max(2.4, len(targets) * CELL + above + 1.1))
    left, right = figure.subplots(1, 2)
    draw_cells(np.ma.masked_array(weights, ~seen), sources, targets, left, "weights α", None)
    draw_cells(np.ma.masked_array(gradients, ~seen), sources, targets, right, "gradients ∂L/∂α",
               vmax, signed="∂L/∂α")
    for ax in (left, right):
        ax.patch.set(**HIDDEN)
    if title:
        figure.suptitle(title, **as_written())
    return figure
