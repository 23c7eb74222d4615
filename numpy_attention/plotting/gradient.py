"""Heatmaps of attention weights, and of the gradient of the loss with respect to the weights."""

from collections.abc import Iterable

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from numpy_attention.plotting.base import (
    HIDDEN,
    as_written,
    check_axes,
    inches_of,
    new_figure,
    tokens_by_keyword,
    tokens_of,
    visible_cells,
)
from numpy_attention.plotting.heatmap import check_heatmap, check_vmax, draw_cells
from numpy_attention.validation.arguments import as_numbers

CELL = 0.34     # inches per side


@tokens_by_keyword
def gradient_heatmap(weights: ArrayLike, gradients: ArrayLike, *, source_tokens: Iterable[str],
                     target_tokens: Iterable[str], visible: ArrayLike | None = None,
                     title: str | None = None, vmax: float | None = None) -> Figure:
    """Plot attention weights α and their gradients ∂L/∂α as two heatmaps; return the Figure.

    weights, gradients: (T, S), a row for each target token. A gradient is blue if more weight would
    lower the loss, and red if more weight would raise the loss. The colours range from −vmax to
    vmax; by default, vmax is the largest |∂L/∂α|. visible: booleans (T, S). Cells that are not
    visible are hatched and may be NaN.

    Raises ValueError for shapes that do not match the tokens, and for values that are not finite.
    """
    check_axes(None, title)
    check_vmax(vmax)
    sources = tokens_of("source_tokens", source_tokens)
    targets = tokens_of("target_tokens", target_tokens)
    weights = as_numbers("weights", weights)
    gradients = as_numbers("gradients", gradients)
    if gradients.shape != weights.shape:
        raise ValueError(f"gradients have shape {gradients.shape}, but weights have shape "
                         f"{weights.shape}; expected one gradient ∂L/∂α for each weight")
    seen = visible_cells(np.ones(weights.shape, bool) if visible is None else visible, weights)
    weights = check_heatmap(np.where(seen, weights, 0), sources, targets)
    gradients = np.where(seen, gradients, 0)
    if not np.isfinite(gradients).all():
        raise ValueError("gradients contain NaN or infinity; check the model that computed them")

    width = max(2.2, len(sources) * CELL + inches_of(targets)) + 1.0
    figure = new_figure(2 * width, max(2.4, len(targets) * CELL + inches_of(sources) + 1.1))
    left, right = figure.subplots(1, 2)
    draw_cells(np.ma.masked_array(weights, ~seen), sources, targets, left, "weights α", None)
    draw_cells(np.ma.masked_array(gradients, ~seen), sources, targets, right, "gradients ∂L/∂α",
               vmax, signed="∂L/∂α")
    for ax in (left, right):
        ax.patch.set(**HIDDEN)
    if title:
        figure.suptitle(title, **as_written(title))
    return figure
