"""Plots of attention weights and of training and evaluation curves, and diagrams.

A function draws into the Axes that are passed to it, or into a new figure, and returns the Axes.
`gradient_heatmap` and `heatmap_grid` always draw a new Figure, and return it. `save` writes a
figure to a file. No display is needed. In a notebook, or if pyplot has been imported, a new figure
belongs to pyplot, so it shows inline and with `plt.show()`. Otherwise the figure exists as long as
some variable refers to the figure. Colour-blind readers can distinguish the colours.
matplotlib is imported when one of these functions is first used.
"""

import logging
import sys
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from numpy_attention.lazy import exports

# module: the names that it defines; it is imported when one is first used
_MODULES = {
    "base": "COLOURS MARKERS save",
    "fonts": "FALLBACK_FONTS",
    "curves": "bleu_by_length_plot learning_curves",
    "diagram": "Arrow Box diagram",
    "distance": "attention_span gradient_flow",
    "gradient": "gradient_heatmap",
    "grid": "heatmap_grid",
    "heatmap": "attention_heatmap",
    "history": "history_heatmap",
    "intervals": "bands costs excess_loss",
    "path": "course_path",
}
_PUBLIC = {name: module for module, names in _MODULES.items() for name in names.split()}

__all__ = list(_PUBLIC)
__getattr__, __dir__ = exports(__name__, _PUBLIC)

# where `save` collects the characters that no font has; None: they are not collected
UNDRAWN: ContextVar[set[str] | None] = ContextVar("undrawn", default=None)


class _Plotting(ModuleType):
    """Class of this package. Importing module `diagram` does not hide the function `diagram`."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _PUBLIC and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


def _in_one_line(record: logging.LogRecord) -> bool:
    """Log filter that replaces matplotlib's warnings about an unwritable folder with one line."""
    if "temporary cache directory" in record.msg:
        record.args = ()
        record.msg = ("matplotlib cannot write to its folder, and searches for fonts in every "
                      "process; set MPLCONFIGDIR to a folder that you may write")
    return not record.msg.startswith("mkdir -p failed")


sys.modules[__name__].__class__ = _Plotting
logging.getLogger("matplotlib").addFilter(_in_one_line)
