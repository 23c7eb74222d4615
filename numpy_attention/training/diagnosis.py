"""Find the first array with NaN or infinity, if the loss or the gradient is not finite."""

from dataclasses import fields, is_dataclass
from typing import Any, Iterator

import numpy as np

from numpy_attention.data.protocols import Batch
from numpy_attention.module import Array
from numpy_attention.training.protocols import Model


class NonFiniteError(ArithmeticError):
    """Raised if a loss, gradient or array to save is not finite. The message names the array."""


def first_bad(model: Model, batch: Batch, grads: Model) -> str:
    """Return the name of the first array that is not finite, or "the loss" if all are finite."""
    for name, array in _in_order(model, batch, grads):
        if not np.isfinite(array).all():
            return name
    return "the loss"


def _in_order(model: Model, batch: Batch, grads: Model) -> Iterator[tuple[str, Array]]:
    for name, array in model.named_parameters():
        yield f"the parameter {name}", array
    if hasattr(model, "forward"):
        *outputs, cache = model.forward(batch)
        yield from _arrays(cache, "the activation cache")
        yield from _arrays(outputs, "the activation output")
    for name, array in grads.named_parameters():
        yield f"the gradient of {name}", array


def _arrays(value: Any, name: str) -> Iterator[tuple[str, Array]]:
    """Yield (path, array) for each float array nested in `value`. name: the path of `value`."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind == "f":
            yield name, value
    elif is_dataclass(value):
        for field in fields(value):
            yield from _arrays(getattr(value, field.name), f"{name}.{field.name}")
    elif isinstance(value, (tuple, list)):
        parts = getattr(value, "_fields", range(len(value)))            # names of a NamedTuple's
        for part, item in zip(parts, value):
            yield from _arrays(item, f"{name}.{part}")
