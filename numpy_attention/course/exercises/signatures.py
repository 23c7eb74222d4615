"""The signatures of mistakes: a few numbers by which a check recognizes a mistake.

A signature has a number for each output and each gradient of a function in the test cases of an
exercise. The number is a sum of the elements, weighted with fixed random numbers. Two functions
have the same signature if they compute the same values, up to rounding.

The known mistakes of an exercise are its curated mistakes (described by hand) and all mutations
(small changes) of its solution. A check computes the signatures once, and keeps them in the
folder `mistake_signatures`, which is in the user's cache folder. The environment variable
NUMPY_ATTENTION_CACHE names another cache folder. A wheel contains a copy of the files, which this
command writes:

    python -m numpy_attention.course.exercises.signatures
"""

import ast
import contextlib
import hashlib
import json
import os
import sys
import tempfile
import warnings
import zlib
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from numpy_attention.course.exercises.exercise import SEEDS, Case, Exercise
from numpy_attention.course.exercises.mutations import mutations
from numpy_attention.course.exercises.source import run
from numpy_attention.course.exercises.timing import SECONDS, at_most, is_possible
from numpy_attention.gradcheck import parsed, random_like
from numpy_attention.module import Module
from numpy_attention.validation.paths import atomic_write

ENVIRONMENT = "NUMPY_ATTENTION_CACHE"
FOLDER = "mistake_signatures"
PACKAGED = Path(__file__).with_name(FOLDER)
DIGITS = 8
NEAR = 1e-6         # relative difference that rounding may cause
Numbers = dict[str, float]


class Mistake(NamedTuple):
    """A known mistake. numbers: its signature. curated: whether its description is handwritten."""

    description: str
    numbers: Numbers
    curated: bool = False


# ---- the signature of one implementation --------------------------------------------------------


def signature(exercise: Exercise, its: Any) -> Numbers:
    """Return the signature of an implementation, such as {"11 output[0]": 2.5, …}.

    A key is a seed of the random inputs, followed by the name of an output or a gradient. its: the
    module that contains the implementation.
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
    """Run a test case; yield (name, array) for each output, then for each gradient.

    seed: the seed of the random upstream gradients.
    """
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
    """Yield (name, array) for each array or number in a return value, such as ("output[0]", …)."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, (tuple, list)):
        for number, one in enumerate(value):
            yield from named(one, f"{name}[{number}]")
    elif value is not None and not isinstance(value, str):
        yield name, np.asarray(value, float)


def projected(name: str, array: np.ndarray) -> float:
    """Return Σ array · R, where the random numbers R depend only on the name and the shape."""
    if np.isfinite(array).any():
        array = np.nan_to_num(array, nan=3, posinf=3, neginf=3)     # only some rows may be NaN
    with np.errstate(all="ignore"):
        return float((array * weights_of(name, array.shape)).sum())


@lru_cache(maxsize=1000)
def weights_of(name: str, shape: tuple[int, ...]) -> np.ndarray:
    """Return fixed random numbers for an array of this name and shape."""
    seed = zlib.crc32(f"{name} {shape}".encode())
    return np.random.default_rng(seed).standard_normal(shape)


def agree(ours: Numbers, others: Numbers) -> bool:
    """Return whether two signatures are equal up to rounding, and finite."""
    if ours.keys() != others.keys():
        return False
    mine, its = (np.array([one[name] for name in ours]) for one in (ours, others))
    return bool(np.isfinite(mine).all()) and np.allclose(
        mine, its, rtol=NEAR, atol=NEAR * max(1e-12, float(np.abs(its).max(initial=0.0))))


# ---- the known mistakes of an exercise ----------------------------------------------------------


def computed(exercise: Exercise) -> list[Mistake]:
    """Return an exercise's mistakes with their signatures, without duplicates.

    Mutations that fail or change no result are left out. Raises ValueError if a curated mistake
    fails or changes no result.
    """
    right = signature(exercise, exercise.right)
    found: list[Mistake] = []
    for description, curated, text in mistaken(exercise):
        numbers = numbers_of(exercise, text)
        if numbers is None or numbers.keys() != right.keys() or agree(numbers, right):
            if curated:
                raise ValueError(f"exercise {exercise.name}: the mistake {description!r} "
                                 "must change the result without raising an exception")
            continue
        if not any(one.description == description and agree(numbers, one.numbers)
                   for one in found):
            found.append(Mistake(description, numbers, curated))
    return found


def mistaken(exercise: Exercise) -> Iterator[tuple[str, bool, str]]:
    """Yield (description, is_curated, mistaken code) for curated mistakes, then for mutations."""
    for right, wrong, description in exercise.mistakes:
        yield description, True, exercise.changed(right, wrong)
    for blank in exercise.blanks:
        for one in mutations(exercise.source.text(), blank.rpartition(".")[2]):
            yield one.description, False, one.text


def numbers_of(exercise: Exercise, text: str) -> Numbers | None:
    """Return the signature of the code `text`, or None if the code fails or gives NaN or ∞."""
    try:
        with at_most(SECONDS), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            numbers = signature(exercise, run(text, exercise.name))
    except Exception:                               # a mistake may raise anything
        return None
    return numbers if np.isfinite(list(numbers.values())).all() else None


# ---- kept in files ------------------------------------------------------------------------------


@cache
def known_mistakes(exercise: Exercise) -> list[Mistake]:
    """Read an exercise's known mistakes, or compute and save them. Return [] if neither works."""
    folders = [PACKAGED, *cache_folders()]
    for folder in folders:
        kept = read(exercise, folder)
        if kept is not None:
            return kept
    if not is_possible():               # a mistake may be an endless loop
        return []
    mistakes = computed(exercise)
    for folder in folders[1:]:
        with contextlib.suppress(OSError):
            write(exercise, mistakes, folder)
            break
    return mistakes


def cache_folders() -> list[Path]:
    """Return the cache folders of signatures. New signatures go into the first writable folder."""
    named = os.environ.get(ENVIRONMENT)
    if named:
        chosen = Path(named).expanduser()
    else:
        import pooch  # here, since it takes longer to import than the whole package
        chosen = Path(pooch.os_cache("numpy_attention"))
    return [chosen / FOLDER, Path(tempfile.gettempdir()) / "numpy_attention" / FOLDER]


def read(exercise: Exercise, folder: Path) -> list[Mistake] | None:
    """Read an exercise's mistakes. Return None if the file is missing, invalid or outdated."""
    try:
        kept = json.loads((folder / f"{exercise.name}.json").read_text(encoding="utf-8"))
        names = list(kept["right"])
        if kept["digest"] != digest(exercise) or not agree(
                signature(exercise, exercise.right), kept["right"]):
            return None
        return [Mistake(str(description), dict(zip(names, numbers, strict=True)), curated)
                for description, curated, numbers in kept["mistakes"]]
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write(exercise: Exercise, mistakes: list[Mistake], folder: Path) -> None:
    """Write an exercise's mistakes to a folder. Raises OSError if the file cannot be written."""
    def rounded(number: float) -> float:
        return float(f"{number:.{DIGITS}g}")

    right = {name: rounded(one) for name, one in signature(exercise, exercise.right).items()}
    rows = [[one.description, one.curated, [rounded(one.numbers[name]) for name in right]]
            for one in mistakes]
    kept = {"digest": digest(exercise), "right": right, "mistakes": rows}
    with atomic_write(folder / f"{exercise.name}.json") as file:
        file.write(json.dumps(kept, ensure_ascii=False).encode())


def digest(exercise: Exercise) -> str:
    """Return a digest of all that determines an exercise's known mistakes, except test cases."""
    solution = outline(ast.parse(exercise.source.text()))
    parts = solution, exercise.blanks, exercise.mistakes, outline_of_mutations()
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]


@cache
def outline_of_mutations() -> list[Any]:
    """Return the `outline` of each source file that determines the mutations of a solution."""
    own, edits = (Path(str(sys.modules[one.__module__].__file__)) for one in (mutations, parsed))
    return [outline(ast.parse(file.read_text(encoding="utf-8")))
            for file in [*sorted(own.parent.glob("*.py")), edits]]


def outline(node: Any) -> Any:
    """Convert a syntax tree to nested tuples and lists, without docstrings, comments and layout."""
    if isinstance(node, list):
        return [outline(one) for one in node if not is_docstring(one)]
    if not isinstance(node, ast.AST):
        return node
    fields = [(name, outline(value)) for name, value in ast.iter_fields(node)
              if value not in (None, [])]           # versions of Python differ in empty ones
    return type(node).__name__, fields


def is_docstring(node: Any) -> bool:
    return (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str))


def main() -> None:
    """Write missing or outdated signatures into the package, so that a wheel contains them."""
    from numpy_attention.course.exercises.catalogue import EXERCISES
    for exercise in EXERCISES.values():
        if exercise.planted is None:
            mistakes = read(exercise, PACKAGED)
            if mistakes is None:
                mistakes = computed(exercise)
                write(exercise, mistakes, PACKAGED)
            print(f"{exercise.name:<18} {len(mistakes):>4} mistakes", flush=True)


if __name__ == "__main__":
    main()
