"""What a function gives, as a few numbers: by them a mistake is known again.

Every output and every gradient of a case is multiplied with random numbers that are always the
same, and added up. Two functions that give the same values have the same numbers, up to rounding;
two that do not, have others.
"""

import zlib
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from numpy_attention.course.exercises.exercise import SEEDS, Case, Exercise
from numpy_attention.gradcheck import random_like
from numpy_attention.module import Module

Numbers = dict[str, float]
NEAR = 1e-6         # relative: what rounding may change


def signature(exercise: Exercise, its: Any) -> Numbers:
    """{seed and name of the array: its number, of all cases}. Whatever the functions raise, this
    raises.
    """
    found: Numbers = {}
    for seed in SEEDS:
        cases = exercise.cases(np.random.default_rng(seed), its)
        for number, case in enumerate(cases, 1):
            for name, array in arrays_of(case, seed):
                label = f"{seed} {name}"
                found[label] = found.get(label, 0.0) + number * projected(name, array)
    return found


def arrays_of(case: Case, seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """(name, array) of all that a case gives: its outputs, then its gradients."""
    with np.errstate(all="ignore"):
        outputs = case.forward(*case.inputs)
    if case.backward is None:
        yield from named(outputs, "output")
        return
    *outputs, cache = outputs
    yield from named(tuple(outputs), "output")
    rng = np.random.default_rng(seed)
    upstream = [random_like(one, rng) for one in outputs]
    grads = case.target.zeros_like() if isinstance(case.target, Module) else None
    for _, array in () if grads is None else grads.named_parameters():
        array[...] = rng.standard_normal(array.shape)       # to be added to
    with np.errstate(all="ignore"):
        given = case.backward(*upstream, cache, grads)
    if grads is not None:
        yield from grads.named_parameters()
    yield from named(given if isinstance(given, tuple) else (given,), "input")


def named(value: Any, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """The arrays within what a function gives; numbers count as arrays."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        for number, one in enumerate(value):
            yield from named(one, f"{name}[{number}]")
    elif value is not None and not isinstance(value, str):
        yield name, np.asarray(value, float)


def projected(name: str, array: np.ndarray) -> float:
    """Σ array · random numbers of its shape, drawn from its name; ±∞ and NaN as they come."""
    with np.errstate(all="ignore"):
        return float((array * weights_of(name, array.shape)).sum())


@lru_cache(maxsize=1000)
def weights_of(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """The random numbers of an array of this name and shape."""
    seed = zlib.crc32(f"{name} {shape}".encode())
    return np.random.default_rng(seed).standard_normal(shape)


def agree(ours: Numbers, others: Numbers) -> bool:
    """Whether all numbers are the same, up to rounding."""
    if ours.keys() != others.keys():
        return False
    mine, its = (np.array([one[name] for name in ours]) for one in (ours, others))
    return bool(np.isfinite(mine).all()) and np.allclose(
        mine, its, rtol=NEAR, atol=NEAR * max(1e-12, float(np.abs(its).max(initial=0.0))))
