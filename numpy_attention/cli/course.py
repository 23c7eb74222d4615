"""The commands of the course: exercises and lessons."""

import os
import shlex
import subprocess
import sys
import time
from argparse import Namespace
from pathlib import Path

from numpy_attention.cli.options import FOLDER
from numpy_attention.course import lessons
from numpy_attention.course.exercises import progress as course
from numpy_attention.course.exercises.catalogue import EXERCISES
from numpy_attention.course.exercises.exercise import Exercise
from numpy_attention.course.exercises.notebook import after, find_exercise, format_verdict
from numpy_attention.course.exercises.process import checked
from numpy_attention.course.exercises.records import Folder, Record
from numpy_attention.validation.paths import as_path, exists, make_folder, short_path

PAUSE = 0.3         # seconds between two checks of a watched file
OUTPUTS = "NUMPY_ATTENTION_OUTPUTS"         # where a lesson saves its figures

# ---- exercises ----------------------------------------------------------------------------------


def list_exercises(options: Namespace) -> None:
    records = Folder(options.folder).records()
    width = max(map(len, EXERCISES))
    for lesson, names in course.by_lesson().items():
        print(lesson)
        for name in names:
            print(f"  {course.mark(records.get(name))} {name:<{width}} {EXERCISES[name].title}")
    print("✓ passed, … started")


def progress(options: Namespace) -> None:
    list_exercises(options)
    folder = Folder(options.folder)
    records = folder.records()
    passed = [name for name in EXERCISES if records.get(name, Record()).passed]
    print(f"{len(passed)} of {len(EXERCISES)} passed")
    following = next((name for name in EXERCISES if name not in passed), None)
    if following:
        started = exists(folder.of(EXERCISES[following]))
        print(f"next: {command_of(options.folder, 'check' if started else 'start', following)}")
    if options.output:
        from numpy_attention import plotting
        begun = [name for name in EXERCISES if course.mark(records.get(name)) == "…"]
        picture = plotting.course_path(course.by_lesson(), passed, begun=begun)
        print(f"saved {plotting.save(picture, options.output)}")


def command_of(folder: str, *words: str) -> str:
    """Return an `exercise` command to paste, with --folder if `folder` is not the default one."""
    where = [] if folder == FOLDER.default else [f"--folder={folder}"]
    return shlex.join(["numpy-attention", "exercise", *words, *where])


def start(options: Namespace) -> None:
    exercise, folder = find_exercise(options.name), Folder(options.folder)
    print(f"{course.start(exercise, folder)}: {exercise.title}")
    if exercise.planted:
        print("  one line is wrong; use the report of the check to find it")
    else:
        print(f"  write {' and '.join(exercise.blanks)}, then")
    print(f"  {command_of(options.folder, 'check', exercise.name)}")
    records = folder.records()
    missing = [one for one in exercise.needs if not records.get(one, Record()).passed]
    if missing:
        print(f"  it builds on {', '.join(missing)}")


def check(options: Namespace) -> int:
    exercise, folder = find_exercise(options.name), Folder(options.folder)
    return check_file(exercise, folder, course.user_file(folder, exercise), options)


def check_file(exercise: Exercise, folder: Folder, file: Path, options: Namespace) -> int:
    """Check a file, and print and record the verdict. Return 0 if the file passes, else 1."""
    with folder.changed(exercise) as record:
        verdict, printed = checked(exercise, file, options.seconds)
        record.checks += 1
        first = verdict.passed and not record.passed
        record.passed = record.passed or verdict.passed
        outdated = bool(record.cut) and record.cut != course.digest(exercise)
    if printed:
        print(f"your code prints:\n{printed.rstrip()}\n")
    if outdated:
        print("the exercise has changed since you started it, but your file has not; "
              f"`numpy-attention exercise reset {exercise.name}` writes the new one")
    print("\n".join(format_verdict(exercise, verdict, options.why)))
    if first and exists(file):                      # its own code may delete it
        print(after(exercise, file.read_text(encoding="utf-8", errors="replace")))
        print(f"\nnext: {command_of(options.folder, 'progress')}")
    return 0 if verdict.passed else 1


def watch(options: Namespace) -> int:
    exercise, folder = find_exercise(options.name), Folder(options.folder)
    file = course.user_file(folder, exercise)
    print(f"{file} is checked whenever you save it; Ctrl-C quits", flush=True)
    before = None
    while True:
        now = file.stat().st_mtime_ns if file.exists() else None
        if now is not None and now != before:
            before = now
            print(flush=True)
            if check_file(exercise, folder, file, options) == 0:
                return 0
            print(end="", flush=True)
        time.sleep(PAUSE)


def hint(options: Namespace) -> None:
    hints, left = course.next_hint(find_exercise(options.name), Folder(options.folder))
    for title, text in hints.items():
        print(f"{title}: {text}")
    if left:
        print(f"({len(left)} more: the next is the {left[0]})")


def solution(options: Namespace) -> int:
    exercise = find_exercise(options.name)
    if not course.may_see_solution(exercise, Folder(options.folder)):
        print(f"you have not passed {exercise.name} yet; repeat the command to see the solution")
        return 1
    print(exercise.solution)
    return 0


def reset(options: Namespace) -> None:
    exercise, folder = find_exercise(options.name), Folder(options.folder)
    kept = course.reset(exercise, folder)
    if kept:
        print(f"your old file is now {kept}")
    print(f"{folder.of(exercise)} is reset")


# ---- lessons ------------------------------------------------------------------------------------


def list_lessons(options: Namespace) -> None:
    for lesson in lessons.lessons():
        print(f"{lesson.number}  {lesson.title}")
    print(f"they are in {lessons.lessons_folder()}")


def copy_lessons(options: Namespace) -> None:
    for path in lessons.copy(as_path(options.to), options.only or (), options.notebooks,
                             options.force):
        print(short_path(path))


def run_lesson(options: Namespace) -> int:
    """Run a lesson's script without a display, save its figures; return its exit status."""
    [lesson] = lessons.chosen([options.lesson])
    outputs = make_folder(options.outputs).resolve()
    environment = {**os.environ, "MPLBACKEND": "Agg", OUTPUTS: str(outputs)}
    return subprocess.run([sys.executable, str(lesson.path)], env=environment).returncode
