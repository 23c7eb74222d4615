"""Pictures: attention weights, training and evaluation curves, diagrams.

Every function draws into the Axes it is given, or into a new figure, and returns the Axes; `save`
writes it to a file. Nothing needs a display. A new figure belongs to pyplot if pyplot has been
imported, or in a notebook, so that it shows inline and with `plt.show()`; otherwise it exists as
long as there is a reference to it. Colours differ for the colour-blind and in print.
"""

from numpy_attention.plotting.base import COLOURS, FALLBACK_FONTS, MARKERS, save
from numpy_attention.plotting.curves import bleu_by_length_plot, learning_curves
from numpy_attention.plotting.diagram import Arrow, Box, diagram
from numpy_attention.plotting.distance import attention_span, gradient_flow
from numpy_attention.plotting.gradient import gradient_heatmap
from numpy_attention.plotting.grid import heatmap_grid
from numpy_attention.plotting.heatmap import attention_heatmap
from numpy_attention.plotting.history import history_heatmap
from numpy_attention.plotting.intervals import bands, costs, excess_loss
from numpy_attention.plotting.path import course_path

__all__ = [
    "Arrow", "Box", "COLOURS", "FALLBACK_FONTS", "MARKERS", "attention_heatmap", "attention_span",
    "bands", "bleu_by_length_plot", "costs", "course_path", "diagram", "excess_loss",
    "gradient_flow", "gradient_heatmap", "heatmap_grid", "history_heatmap", "learning_curves",
    "save",
]
