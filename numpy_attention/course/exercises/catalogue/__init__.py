"""All exercises, in the order of the lessons. Every file in this folder defines at least one.

A new file in this folder is found automatically. `add` adds the exercises of any other file.
"""

import importlib
import pkgutil
from pathlib import Path
from types import ModuleType

from numpy_attention.course.exercises.exercise import Exercise
from numpy_attention.custom.code import read

EXERCISES: dict[str, Exercise] = {}
# files whose exercises `add` has added; the process of a check must add them again
ADDED: list[Path] = []


def add(path: str | Path) -> list[Exercise]:
    """Run a Python file, add the exercises that it defines, and return these exercises.

    Raises OSError if the file cannot be read. Raises ValueError if its code is invalid or raises,
    if it defines no exercise, or if another exercise has the same name.
    """
    code = read(path)
    found = exercises_of(code.module)
    if not found:
        raise ValueError(f"{code.name} defines no Exercise; expected at least one")
    register(*found)
    ADDED.append(code.path.resolve())
    return found


def register(*exercises: Exercise) -> None:
    """Add exercises to EXERCISES, in lesson order. Raises ValueError if a name is already taken."""
    for one in exercises:
        if EXERCISES.setdefault(one.name, one) is not one:
            raise ValueError(f"there is already an exercise named {one.name}; choose another name")
    ordered = sorted(EXERCISES.values(), key=lambda one: (one.lesson, one.position))
    EXERCISES.clear()
    EXERCISES.update((one.name, one) for one in ordered)


def exercises_of(module: ModuleType) -> list[Exercise]:
    return [one for one in vars(module).values() if isinstance(one, Exercise)]


for _file in pkgutil.iter_modules(__path__):
    register(*exercises_of(importlib.import_module(f"{__name__}.{_file.name}")))
