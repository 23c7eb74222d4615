"""How lessons are written: code lines a cell, the length of lines, tuple assignments, imports.

    python tools/lesson_style.py                     the lessons as they are
    python tools/lesson_style.py --at COMMIT         as they were, by git
    python tools/lesson_style.py FILE.ipynb …        notebooks, or percent scripts, of whoever

A line of code is neither blank, nor a comment, nor a docstring. `tuples` counts assignments such as
a, b = c, d. `names` are all that are imported.
"""

import argparse
import ast
import json
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAGIC = re.compile(r"^\s*[%!].*$", re.MULTILINE)
HEAD = "file", "cells", "lines a cell", "longest", "letters a line", "tuples", "names"


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    parser.add_argument("--at", metavar="COMMIT", help="the lessons of a commit")
    options = parser.parse_args(arguments)
    try:
        texts = texts_of(options)
        rows = [row(name, cells_of(name, text)) for name, text in texts.items()]
    except (OSError, ValueError, SyntaxError, subprocess.CalledProcessError) as error:
        print(f"lesson_style: {getattr(error, 'stderr', '') or error}".strip(), file=sys.stderr)
        return 2
    print("| " + " | ".join(HEAD) + " |")
    print("| --- |" + " ---: |" * (len(HEAD) - 1))
    for one in rows:
        print("| " + " | ".join(one) + " |")
    return 0


def texts_of(options):
    """{name: text} of what is asked for."""
    if options.files:
        return {path.name: path.read_text(encoding="utf-8") for path in options.files}
    if options.at is None:
        return {path.name: path.read_text(encoding="utf-8")
                for path in sorted((ROOT / "lessons").glob("[0-9]*.py"))}
    names = git("ls-tree", "--name-only", options.at, "lessons/").split()
    return {Path(name).name: git("show", f"{options.at}:{name}")
            for name in names if re.match(r"lessons/\d.*\.py$", name)}


def git(*words):
    run = subprocess.run(["git", "-C", str(ROOT), *words], check=True, capture_output=True,
                         text=True, encoding="utf-8")
    return run.stdout


def cells_of(name, text):
    """The cells of code of a notebook or a percent script. ValueError: it has none."""
    if name.endswith(".ipynb"):
        cells = ["".join(cell["source"]) for cell in json.loads(text)["cells"]
                 if cell["cell_type"] == "code"]
    else:
        parts = re.split(r"^# %%(.*)$", text, flags=re.MULTILINE)
        cells = [body for kind, body in zip(parts[1::2], parts[2::2]) if "[markdown]" not in kind]
    if not cells:
        raise ValueError(f"{name} has no cells of code: expected a notebook or a script with # %%")
    return [MAGIC.sub("", cell) for cell in cells]


def row(name, cells):
    """A row of the table."""
    lines = [lines_of(cell) for cell in cells]
    lines = [one for one in lines if one]
    every = [line for one in lines for line in one]
    tree = ast.parse("\n".join(cells))
    tuples = sum(isinstance(one, ast.Assign) and isinstance(one.value, ast.Tuple)
                 and isinstance(one.targets[0], ast.Tuple) for one in ast.walk(tree))
    names = {alias.asname or alias.name for one in ast.walk(tree)
             if isinstance(one, (ast.Import, ast.ImportFrom)) for alias in one.names}
    return (name, str(len(lines)), f"{len(every) / len(lines):.1f}", str(max(map(len, lines))),
            f"{sum(map(len, every)) / len(every):.1f}", str(tuples), str(len(names)))


def lines_of(cell):
    """The lines of code of a cell, without what they are indented by."""
    told = set()
    for node in ast.walk(ast.parse(cell)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            told |= set(range(node.lineno, node.end_lineno + 1))
    return [line.strip() for number, line in enumerate(cell.splitlines(), 1)
            if line.strip() and not line.strip().startswith("#") and number not in told]


if __name__ == "__main__":
    sys.exit(main())
