"""Actions on an exercise: start it, read a hint, see the solution, reset it."""

import hashlib
from pathlib import Path

from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.exercise import Exercise
from numpy_attention.course.exercises.records import Folder, Record
from numpy_attention.validation.paths import (
    atomic_write,
    existing_file,
    exists,
    make_folder,
    short_path,
)

TITLES = ("law", "line", "derivative", "code")


def by_lesson() -> dict[str, list[str]]:
    """Return the names of the exercises by lesson: {"07 luong attention": ["dot", …], …}."""
    found: dict[str, list[str]] = {}
    for name, exercise in EXERCISES.items():
        found.setdefault(exercise.lesson.replace("_", " "), []).append(name)
    return found


def mark(record: Record | None) -> str:
    """Return "✓" for a passed exercise, "…" for a started exercise, "·" for any other exercise."""
    if record is None or not record.cut:
        return "·"
    return "✓" if record.passed else "…"


def digest(exercise: Exercise) -> str:
    return hashlib.sha256(exercise.start.encode()).hexdigest()[:16]


def user_file(folder: Folder, exercise: Exercise) -> Path:
    """Return the path of the user's file. Raises FileNotFoundError if the file does not exist."""
    file = folder.of(exercise)
    if not exists(file):
        here = f", or use ./{file.name} with --folder ." if exists(file.name) else ""
        raise FileNotFoundError(f"{short_path(file)} does not exist; create it with "
                                f"`numpy-attention exercise start {exercise.name}`{here}")
    return file


def start(exercise: Exercise, folder: Folder) -> Path:
    """Write an exercise's initial file; return its path. Raises FileExistsError if it exists."""
    make_folder(folder.path)
    file = folder.of(exercise)
    if exists(file):
        raise FileExistsError(
            f"{short_path(file)} already exists and was not changed; continue with it, or start "
            f"again with `numpy-attention exercise reset {exercise.name}`")
    create(exercise, folder)
    return file


def create(exercise: Exercise, folder: Folder) -> None:
    """Write the initial file of an exercise, and record that the exercise was started."""
    with folder.changed(exercise) as record:
        with atomic_write(folder.of(exercise)) as file:
            file.write(exercise.start.encode("utf-8"))
        record.cut = digest(exercise)


def reset(exercise: Exercise, folder: Folder) -> Path | None:
    """Restore the initial file; return the path to which a changed file was moved, or None."""
    file = folder.of(exercise)
    if not exists(file) or existing_file(file).read_bytes() == exercise.start.encode("utf-8"):
        create(exercise, folder)
        return None
    kept = next(name for number in range(1, 10**6)
                if not (name := file.with_suffix(f".{number}.py")).exists())
    file.rename(kept)
    try:
        create(exercise, folder)
    except BaseException:               # the disk is full, for example
        kept.replace(file)
        raise
    return kept


def next_hint(exercise: Exercise, folder: Folder) -> tuple[dict[str, str], list[str]]:
    """Reveal the next hint; return {title: text} of revealed hints, and titles of the others."""
    code = exercise.planted[0] if exercise.planted else "\n" + "\n\n".join(
        f"# {blank}\n{exercise.source.body(blank)}" for blank in exercise.blanks)
    hints = dict(zip(TITLES, [*exercise.hints, code]))
    with folder.changed(exercise) as record:
        record.hints = min(record.hints + 1, len(hints))
        number = record.hints
    return {title: hints[title] for title in TITLES[:number]}, list(TITLES[number:])


def may_see_solution(exercise: Exercise, folder: Folder) -> bool:
    """Record a request for the solution; return whether the user has passed or asked before."""
    with folder.changed(exercise) as record:
        confirmed = record.passed or record.asked
        record.asked = True
        record.seen = record.seen or (confirmed and not record.passed)
    return confirmed
