"""Lessons on the command line: list them, copy them, run one."""

import os
import subprocess
import sys
from argparse import Namespace

from numpy_attention.course import lessons as course
from numpy_attention.validation.paths import as_path, short_path, make_folder

OUTPUTS = "NUMPY_ATTENTION_OUTPUTS"         # where a lesson saves its figures, if not beside itself


def list_all(options: Namespace) -> None:
    for lesson in course.lessons():
        print(f"{lesson.number}  {lesson.title}")
    print(f"they are in {course.lessons_folder()}")


def copy(options: Namespace) -> None:
    for path in course.copy(as_path(options.to), options.only or (), options.notebooks,
                            options.force):
        print(short_path(path))


def run(options: Namespace) -> int:
    """The exit status of the lesson's script, which runs as `python NN_name.py` does."""
    [lesson] = course.chosen([options.lesson])
    outputs = make_folder(options.outputs).resolve()
    environment = {**os.environ, "MPLBACKEND": "Agg", OUTPUTS: str(outputs)}
    return subprocess.run([sys.executable, str(lesson.path)], env=environment).returncode
