"""Find the lessons of the course and their titles, and copy them into a folder to work in.

In a checkout, the lessons are in the folder `lessons`, next to the package. In an installed
package, they are in `share/numpy_attention/lessons`, among the data files of the wheel.
"""

import re
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from numpy_attention.validation.messages import short_repr
from numpy_attention.validation.paths import exists, make_folder, path_errors, short_path

CHECKOUT = Path(__file__).resolve().parents[2] / "lessons"
PROJECT = "numpy_attention"
FIRST = "00_attention_on_paper.py"
TITLE = re.compile(r"^# # Lesson \d\d: (.+)$", re.MULTILINE)
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
# patterns for the names of files that must be next to a lesson
BESIDE = ("README.md", "[a-z]*.py", "answers/*.md", "checkpoints/SHA256SUMS", "checkpoints/*/*")


@dataclass(frozen=True)
class Lesson:
    """A lesson: the path of its file, its number (such as "06") and its title."""

    path: Path
    number: str
    title: str


def lessons_folder() -> Path:
    """Return the folder of the lessons. Raises FileNotFoundError if the lessons are not found."""
    if (CHECKOUT / FIRST).is_file():
        return CHECKOUT
    try:
        installed = metadata.files(PROJECT) or ()
    except metadata.PackageNotFoundError:
        installed = ()
    for file in installed:
        path = Path(str(file.locate()))
        if file.name == FIRST and path.is_file():
            return path.resolve().parent
    raise FileNotFoundError(f"the lessons are not installed; reinstall {PROJECT}, or work in a "
                            "checkout of the project")


def lessons() -> list[Lesson]:
    """Return all lessons, in order. Raises FileNotFoundError if the lessons are not found."""
    found = []
    for path in sorted(lessons_folder().glob("[0-9][0-9]_*.py")):
        title = TITLE.search(path.read_text(encoding="utf-8"))
        found.append(Lesson(path, path.name[:2], title[1] if title else path.stem[3:]))
    return found


def chosen(numbers: Collection[str]) -> list[Lesson]:
    """Return the lessons with these numbers, such as "6" or "06". Without numbers, return all.

    Raises ValueError if no lesson has one of the numbers.
    """
    every = lessons()
    wanted = [number.zfill(2) for number in numbers]
    known = [lesson.number for lesson in every]
    unknown = [number for number, full in zip(numbers, wanted) if full not in known]
    if unknown:
        raise ValueError(f"no lesson has the number {', '.join(map(short_repr, unknown))}; choose "
                         f"from {' '.join(known)}")
    return [lesson for lesson in every if not wanted or lesson.number in wanted]


def copy(folder: Path, numbers: Collection[str] = (), notebooks: bool = False,
         force: bool = False) -> list[Path]:
    """Copy lessons, and the files that they need, to a folder; return the new paths of the lessons.

    numbers: the numbers of the lessons, by default all. notebooks: convert the scripts to
    notebooks. force: overwrite existing files.

    Raises ValueError if a number is unknown, FileExistsError if a file would be overwritten (unless
    `force`), and ImportError if jupytext is needed but missing. In these cases nothing is written.
    """
    taken = chosen(numbers)
    end = ".ipynb" if notebooks else ".py"
    copies = [folder / f"{lesson.path.stem}{end}" for lesson in taken]
    source = lessons_folder()
    beside = [path.relative_to(source) for pattern in BESIDE for path in source.glob(pattern)]
    there = [path.name for path in [*copies, *(folder / one for one in beside)] if exists(path)]
    if there and not force:
        more = f" and {len(there) - 3} more" if len(there) > 3 else ""
        raise FileExistsError(f"{short_path(folder)} already contains {', '.join(there[:3])}{more}"
                              "; choose another folder, or pass force=True to overwrite files")
    write = notebook_writer() if notebooks else shutil.copyfile
    make_folder(folder)
    with path_errors(folder, "written"):
        for one in beside:
            (folder / one).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source / one, folder / one)
        for lesson, path in zip(taken, copies):
            write(lesson.path, path)
    return copies


def notebook_writer() -> Callable[[Path, Path], object]:
    """Return a converter from scripts to notebooks. Raises ImportError if jupytext is missing."""
    try:
        import jupytext
    except ImportError:
        raise ImportError("notebooks require jupytext, which is not installed; install it with pip "
                          f'install "{PROJECT}[notebooks]"') from None

    def write(script: Path, path: Path) -> None:
        notebook = jupytext.read(script, fmt="py:percent")
        notebook.metadata["kernelspec"] = KERNEL
        jupytext.write(notebook, path, fmt="ipynb")

    return write
