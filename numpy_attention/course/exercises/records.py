"""A user's progress: one JSON file next to the exercises."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from numpy_attention.course.exercises.exercise import Exercise
from numpy_attention.training.lock import held
from numpy_attention.validation.messages import short_repr
from numpy_attention.validation.paths import (
    as_path,
    atomic_write,
    existing_file,
    exists,
    path_errors,
    short_path,
)

FILE = "progress.json"
FORMAT = 1
MOST = 10**6        # bytes


@dataclass
class Record:
    """The progress of one exercise.

    cut: the digest of the initial file, or "" if the exercise was not started
    checks: the number of checks that were run
    hints: the number of hints that were read
    asked: whether the user has asked for the solution
    seen: whether the solution was shown before the exercise was passed
    """

    cut: str = ""
    checks: int = 0
    hints: int = 0
    passed: bool = False
    asked: bool = False
    seen: bool = False


class Folder:
    """A user's folder: a file for each started exercise, and the progress file."""

    def __init__(self, path: str | Path):
        self.path = as_path(path, "folder")

    @property
    def file(self) -> Path:
        return self.path / FILE

    def of(self, exercise: Exercise) -> Path:
        """Return the path of the user's file for an exercise."""
        return self.path / f"{exercise.name.replace('-', '_')}.py"

    def records(self) -> dict[str, Record]:
        """Read the Record of each exercise. Raises ValueError if the progress file is not valid."""
        if not exists(self.file):
            return {}
        with path_errors(existing_file(self.file), "read"), open(self.file, "rb") as opened:
            text = opened.read(MOST + 1)
        try:
            return understood(json.loads(text))
        except (ValueError, TypeError, RecursionError) as error:
            reason = str(error).split(":")[0]
            raise ValueError(f"{short_path(self.file)} is not a valid progress file ({reason}). "
                             "Move it away to start a new one; your exercises are not "
                             "affected") from None

    @contextmanager
    def changed(self, exercise: Exercise) -> Iterator[Record]:
        """Context manager that yields the Record of an exercise, and saves the Record on exit.

        Raises BlockingIOError if another command is using this folder, and ValueError if the
        progress file is not valid. Nothing is saved if the body of the `with` statement raises.
        """
        with held(self.file, "command"):
            records = self.records()
            record = records.setdefault(exercise.name, Record())
            yield record
            found = {"format": FORMAT,
                     "exercises": {name: asdict(one) for name, one in records.items()}}
            with atomic_write(self.file) as file:
                file.write(json.dumps(found, indent=1).encode() + b"\n")


def understood(found: Any) -> dict[str, Record]:
    """Return the Records in a parsed progress file. Raises ValueError if the file is not valid."""
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise ValueError(f"its format is not {FORMAT}")
    exercises = found.get("exercises")
    if not isinstance(exercises, dict):
        raise ValueError("its 'exercises' entry is missing or not an object")
    kinds = {field.name: type(field.default) for field in fields(Record)}
    for exercise, record in exercises.items():
        if not isinstance(record, dict):
            raise ValueError(f"its record of {short_repr(exercise)} is not an object")
        for name, value in record.items():
            if type(value) is not kinds.get(name):
                raise ValueError(f"its entry {short_repr(name)} is unknown or of the wrong type")
    return {str(name): Record(**record) for name, record in exercises.items()}
