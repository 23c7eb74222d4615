"""The training loop with optimizers, schedules, threads and checkpoints.

`protocols` defines the methods of a model, an optimizer and a schedule that the loop calls.
"""

from numpy_attention.lazy import exports

_PUBLIC = {
    "Trainer": "trainer",
    "SGD": "optimizers",
    "Adam": "optimizers",
    "Adadelta": "optimizers",
}

__all__ = list(_PUBLIC)
__getattr__, __dir__ = exports(__name__, _PUBLIC)
