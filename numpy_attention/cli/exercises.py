"""Exercises on the command line: list, start, check, watch, hint, solution, reset, progress."""

import hashlib
import time
from argparse import Namespace
from pathlib import Path

from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.exercise import Exercise
from numpy_attention.course.exercises.process import checked
from numpy_attention.course.exercises.records import Folder, Record
from numpy_attention.course.exercises.notebook import after, find, told
from numpy_attention.validation.paths import short_path, existing_file, exists, make_folder, atomic_write

STEP = 0.3          # seconds between two looks at a file
TITLES = ("law", "line", "derivative", "code")


def digest(exercise: Exercise) -> str:
    return hashlib.sha256(exercise.start.encode()).hexdigest()[:16]


def reader_file(folder: Folder, exercise: Exercise) -> Path:
    """The reader's file. FileNotFoundError: it was not started, or is gone."""
    file = folder.of(exercise)
    if not exists(file):
        here = f"; {file.name} is in this folder: go up, or --folder ." if exists(file.name) else ""
        raise FileNotFoundError(f"{short_path(file)} is not there: numpy-attention exercise start "
                                f"{exercise.name} writes it{here}")
    return file


# ---- the commands -------------------------------------------------------------------------------


def list_all(options: Namespace) -> None:
    records = Folder(options.folder).records()
    width = max(map(len, EXERCISES))
    for lesson, names in by_lesson().items():
        print(lesson)
        for name in names:
            print(f"  {mark(records.get(name))} {name:<{width}} {EXERCISES[name].title}")
    print("✓ passed, … begun")


def by_lesson() -> dict[str, list[str]]:
    """{lesson: the names of its exercises}"""
    found: dict[str, list[str]] = {}
    for name, exercise in EXERCISES.items():
        found.setdefault(exercise.lesson.replace("_", " "), []).append(name)
    return found


def mark(record: Record | None) -> str:
    """How far an exercise is: passed, begun, or not."""
    if record is None or not record.cut:
        return "·"
    return "✓" if record.passed else "…"


def start(options: Namespace) -> None:
    exercise, folder = find(options.name), Folder(options.folder)
    make_folder(folder.path)
    file = folder.of(exercise)
    if exists(file):
        raise FileExistsError(f"{short_path(file)} is there already and stays as it is: go on with it, "
                              f"or numpy-attention exercise reset {exercise.name}")
    give(exercise, folder)
    print(f"{file}: {exercise.title}")
    if exercise.planted:
        print("  one line of it is wrong: find it by what the check says")
    else:
        print(f"  write {' and '.join(exercise.blanks)}, then")
    print(f"  numpy-attention exercise check {exercise.name}")
    missing = [one for one in exercise.needs if not records_of(folder, one).passed]
    if missing:
        print(f"  it goes on from {', '.join(missing)}")


def records_of(folder: Folder, name: str) -> Record:
    return folder.records().get(name, Record())


def give(exercise: Exercise, folder: Folder) -> None:
    """Write an exercise's file as it begins, and that it was begun."""
    with folder.changed(exercise) as record:
        with atomic_write(folder.of(exercise)) as file:
            file.write(exercise.start.encode("utf-8"))
        record.cut = digest(exercise)


def check(options: Namespace) -> int:
    exercise, folder = find(options.name), Folder(options.folder)
    return show(exercise, folder, reader_file(folder, exercise), options.seconds)


def show(exercise: Exercise, folder: Folder, file: Path, seconds: float) -> int:
    """Check a file, tell the verdict and keep it; → 0, or 1 where it does not pass."""
    with folder.changed(exercise) as record:
        verdict, printed = checked(exercise, file, seconds)
        record.checks += 1
        first = verdict.passed and not record.passed
        record.passed = record.passed or verdict.passed
        other = bool(record.cut) and record.cut != digest(exercise)
    if printed:
        print(f"your code prints:\n{printed.rstrip()}\n")
    if other:
        print("the exercise has changed since it was started: what you wrote stays; "
              f"numpy-attention exercise reset {exercise.name} gives the new one")
    for line in told(exercise, verdict):
        print(line)
    if first and exists(file):                      # which its own code may have taken away
        print(after(exercise, file.read_text(encoding="utf-8", errors="replace")))
    return 0 if verdict.passed else 1


def watch(options: Namespace) -> int:
    exercise, folder = find(options.name), Folder(options.folder)
    file = reader_file(folder, exercise)
    print(f"{file} is checked whenever it is saved; Ctrl-C ends", flush=True)
    before = None
    while True:
        now = file.stat().st_mtime_ns if file.exists() else None
        if now is not None and now != before:
            before = now
            print(flush=True)
            if show(exercise, folder, file, options.seconds) == 0:
                return 0
            print(end="", flush=True)
        time.sleep(STEP)


def hint(options: Namespace) -> None:
    exercise, folder = find(options.name), Folder(options.folder)
    hints = [*exercise.hints, code_of(exercise)]
    with folder.changed(exercise) as record:
        record.hints = min(record.hints + 1, len(hints))
        number = record.hints
    for title, text in zip(TITLES[:number], hints):
        print(f"{title}: {text}")
    if number < len(hints):
        print(f"({len(hints) - number} more: the next is the {TITLES[number]})")


def code_of(exercise: Exercise) -> str:
    """The solution of the blanks; of a planted mistake the line as it should be."""
    if exercise.planted:
        return exercise.planted[0]
    return "\n" + "\n\n".join(f"# {blank}\n{exercise.source.body(blank)}"
                              for blank in exercise.blanks)


def solution(options: Namespace) -> int:
    exercise, folder = find(options.name), Folder(options.folder)
    with folder.changed(exercise) as record:
        told_before = record.passed or record.asked
        record.asked = True
        record.seen = record.seen or (told_before and not record.passed)
    if not told_before:
        print(f"{exercise.name} is not passed yet. If you want to see the solution all the same, "
              "say it again.")
        return 1
    print(exercise.solution)
    return 0


def reset(options: Namespace) -> None:
    """Unless nothing was written, the old file is kept beside: nothing that a reader wrote is lost.
    """
    exercise, folder = find(options.name), Folder(options.folder)
    file = folder.of(exercise)
    if exists(file) and existing_file(file).read_bytes() != exercise.start.encode("utf-8"):
        kept = next(name for number in range(1, 10**6)
                    if not (name := file.with_suffix(f".{number}.py")).exists())
        file.rename(kept)
        try:
            give(exercise, folder)
        except BaseException:           # the disk is full, say: all is as it was
            kept.replace(file)
            raise
        print(f"what you had is {kept} now")
    else:
        give(exercise, folder)
    print(f"{file}: as it began")


def progress(options: Namespace) -> None:
    records = Folder(options.folder).records()
    list_all(options)
    passed = [name for name in EXERCISES if records.get(name, Record()).passed]
    print(f"{len(passed)} of {len(EXERCISES)} passed")
    ahead = next((name for name in EXERCISES if name not in passed), None)
    if ahead:
        begun = exists(Folder(options.folder).of(EXERCISES[ahead]))
        print(f"next: numpy-attention exercise {'check' if begun else 'start'} {ahead}")
    if options.output:
        from numpy_attention import plotting
        begun_ones = [name for name in EXERCISES if mark(records.get(name)) == "…"]
        picture = plotting.course_path(by_lesson(), passed, begun=begun_ones)
        print(f"saved {plotting.save(picture, options.output)}")
