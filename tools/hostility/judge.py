"""What a call gave beside its Outcome, and whether two results are alike."""

from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from typing import Any

import numpy as np
from hostility import outcome
from hostility.outcome import RIGHT, Outcome


def judged(call: Callable[[], Any]) -> tuple[Outcome, Any]:
    """→ the Outcome of a call, and what it gave."""
    try:
        return Outcome(RIGHT, ""), call()
    except Exception as error:
        return outcome.judged(error), None


def alike(one: Any, other: Any) -> bool:
    """Whether two results are equal: numbers to rounding, whatever holds them."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(alike(one[key], other[key]) for key in one)
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        one, other = np.asarray(one), np.asarray(other)
        if one.shape != other.shape or one.dtype.kind not in "fiub":
            return one.shape == other.shape and bool((one == other).all())
        return np.allclose(one, other, 1e-5, 1e-7, equal_nan=True)
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.isclose(one, other, 1e-5, 1e-7, equal_nan=True))
    if type(one) is type(other) and (type(one).__eq__ is object.__eq__ or is_dataclass(one)):
        return alike(getattr(one, "__dict__", {}), getattr(other, "__dict__", {}))
    return bool(one == other)
