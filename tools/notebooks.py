"""Makes notebooks of the lessons, with the modules and checkpoints that they use beside them.

    python tools/notebooks.py FOLDER                 all lessons
    python tools/notebooks.py FOLDER --only 00 06    some of them, by their numbers
    python tools/notebooks.py FOLDER --force         over notebooks that are there already

It needs jupytext: pip install -e ".[notebooks]".
"""

import argparse
import shutil
import sys
from pathlib import Path

LESSONS = Path(__file__).resolve().parents[1] / "lessons"
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="made where it is missing")
    parser.add_argument("--only", nargs="+", metavar="NN", help="numbers of lessons")
    parser.add_argument("--force", action="store_true", help="write over notebooks")
    options = parser.parse_args(arguments)
    try:
        made = notebooks(options.folder, options.only, options.force)
    except (ImportError, OSError, ValueError) as error:
        print(f"notebooks: {error}", file=sys.stderr)
        return 2
    for path in made:
        print(path)
    return 0


def notebooks(folder, numbers=None, force=False):
    """→ the notebooks written. ImportError: no jupytext; ValueError: an unknown number;
    FileExistsError: there are notebooks of that name, which may have been changed."""
    try:
        import jupytext
    except ImportError:
        raise ImportError('jupytext is missing: pip install -e ".[notebooks]"') from None
    lessons = sorted(LESSONS.glob("[0-9][0-9]_*.py"))
    known = [path.name[:2] for path in lessons]
    unknown = [number for number in numbers or () if number not in known]
    if unknown:
        raise ValueError(f"no lesson has the number {', '.join(unknown)}: expected some of "
                         f"{' '.join(known)}")
    chosen = [path for path in lessons if numbers is None or path.name[:2] in numbers]
    paths = [folder / f"{path.stem}.ipynb" for path in chosen]
    there = [path.name for path in paths if path.exists()]
    if there and not force:
        raise FileExistsError(f"{folder} has {', '.join(there)} already: choose another folder, or "
                              "give --force to write over them")
    folder.mkdir(parents=True, exist_ok=True)
    for module in LESSONS.glob("[a-z]*.py"):
        shutil.copyfile(module, folder / module.name)
    shutil.copytree(LESSONS / "checkpoints", folder / "checkpoints", dirs_exist_ok=True)
    for path, lesson in zip(paths, chosen):
        notebook = jupytext.read(lesson, fmt="py:percent")
        notebook.metadata["kernelspec"] = KERNEL
        jupytext.write(notebook, path, fmt="ipynb")
    return paths


if __name__ == "__main__":
    sys.exit(main())
