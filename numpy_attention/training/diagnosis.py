"""What went bad first, when a loss or a gradient is not finite."""

from dataclasses import fields, is_dataclass
from typing import Any, Iterator

import numpy as np

from numpy_attention.validation.arguments import check_methods
from numpy_attention.data.protocols import Batch
from numpy_attention.module import Array
from numpy_attention.validation.arrays import check_twin
from numpy_attention.training.protocols import Model


class NonFiniteError(ArithmeticError):
    """A loss or gradient is not finite; the message names what was the first not to be."""


def first_bad(model: Model, batch: Batch, grads: Model) -> str:
    """Name of the first parameter, activation or gradient, in this order, that is not finite.

    Activations are those of the forward pass over the batch, in the order of its cache.
    """
    check_methods("model", model, "a model", "named_parameters")
    check_twin(grads, model)
    if grads.size != model.size:
        raise ValueError(f"grads has {grads.size:,} numbers, the model {model.size:,}: take "
                         "model.zeros_like()")
    for name, array in model.named_parameters():
        if not np.isfinite(array).all():
            return f"parameter {name}"
    if hasattr(model, "forward"):
        *outputs, cache = model.forward(batch)
        for name, array in _arrays(cache, "cache"):
            if not np.isfinite(array).all():
                return f"activation {name}"
        for i, output in enumerate(outputs):
            if isinstance(output, np.ndarray) and not np.isfinite(output).all():
                return f"activation output[{i}]"
    for name, array in grads.named_parameters():
        if not np.isfinite(array).all():
            return f"gradient of {name}"
    return "the loss alone"


def _arrays(value: Any, name: str) -> Iterator[tuple[str, Array]]:
    """Yield (path, array) for the float arrays of a cache, in the order of the forward pass."""
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
