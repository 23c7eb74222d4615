"""Lessons as text, as cells, and as the names that their derivations define."""

import ast
import atexit
import contextlib
import re
import shutil
import sys
import tempfile
from functools import cache
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from numpy_attention.experiments.recipes import results

LESSONS = Path(__file__).parents[3] / "lessons"
FILES = sorted(LESSONS.glob("[0-9][0-9]_*.py"))
TEXTS = {file.name: file.read_text(encoding="utf-8") for file in FILES}
MARKER = re.compile(r'# %%( \[markdown\])?(?: tags=\["(plain|training)"\])?')


class Cell(NamedTuple):
    is_text: bool
    tag: str        # "plain": the whole reference implementation; "training": skipped; or ""
    body: str
    line: int       # of its marker, in the file

    def run(self, name, names):
        """Execute the cell as part of its file, so that its source can be found."""
        text = "\n" * (self.line - 1) + self.body
        exec(compile(text, str(LESSONS / name), "exec"), names)


def tagged(name):
    """Return the Cells of a percent-cell script."""
    parts = re.split(r"^(# %%.*)$", TEXTS[name], flags=re.MULTILINE)
    assert parts[0] == "", "something stands before the first cell"
    markers = [MARKER.fullmatch(marker) for marker in parts[1::2]]
    assert all(markers), [marker for marker in parts[1::2] if not MARKER.fullmatch(marker)]
    lines = [1 + sum(part.count("\n") for part in parts[:k]) for k in range(1, len(parts), 2)]
    return [Cell(bool(marker[1]), marker[2] or "", body, line)
            for marker, body, line in zip(markers, parts[2::2], lines)]


def cells(name):
    """Return [(is text, body)] of a percent-cell script."""
    return [(cell.is_text, cell.body) for cell in tagged(name)]


@contextlib.contextmanager
def pictures_in(folder):
    """Let lessons import their modules and save their figures in a folder, as a context."""
    sys.path.append(str(LESSONS))
    try:
        import course
        kept, course.OUTPUTS = course.OUTPUTS, folder
        try:
            yield
        finally:
            course.OUTPUTS = kept
    finally:
        sys.path.remove(str(LESSONS))


@cache
def derivation(name):
    """Return the names defined outside cells tagged "training", or before `## Check` without these.
    The code runs once for all tests, which must not change its arrays. Figures go to a temporary
    folder.
    """
    folder = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    names = {"__file__": str(folder / name), "__name__": "lesson"}
    cells_of_it = tagged(name)
    marked = any(cell.tag == "training" for cell in cells_of_it)
    with pictures_in(folder):
        for cell in cells_of_it:
            if not marked and cell.is_text and "# ## Check\n" in cell.body:
                return names
            if not cell.is_text and cell.tag != "training":
                cell.run(name, names)
    return names


def written(name, variable):
    """Return the value of `variable = …` in a lesson or its helper module."""
    names = {}
    for node in ast.parse((LESSONS / name).read_text("utf-8")).body:
        target = getattr(node, "targets", [None])[0]
        if isinstance(target, ast.Name) and target.id == variable:
            exec(ast.unparse(node), names)
    return names[variable]


def records_of(recipe):
    return results.read_file(LESSONS.parent / "results" / f"{recipe}.jsonl")


def seeds_of(recipe):
    """Return the seeds with recorded figures."""
    return sorted({line["seed"] for line in records_of(recipe)})


def recorded(recipe, what="value", metric="perplexity", seed=None):
    """Return a recipe's test figure, or its "low" or "high", for a seed or averaged over seeds."""
    return mean(line[what] for line in records_of(recipe)
                if (line["split"], line["metric"]) == ("test", metric)
                and seed in (None, line["seed"]))
