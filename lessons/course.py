"""What lessons share besides what they teach: where pictures go, and planted bugs."""

import ast
import linecache
import os
from pathlib import Path

import matplotlib
from matplotlib import pyplot as plt

from numpy_attention import plotting
from numpy_attention.gradcheck import GradientError

OUTPUTS = Path(os.environ.get("NUMPY_ATTENTION_OUTPUTS")
               or Path(__file__).resolve().parent / "outputs")


def show(picture, name):
    """Save Axes or a Figure as NAME.png in OUTPUTS, and say so."""
    OUTPUTS.mkdir(exist_ok=True)
    path = plotting.save(picture, OUTPUTS / f"{name}.png")
    if matplotlib.get_backend().lower() == "agg":       # nobody will look at it in a window
        plt.close(getattr(picture, "figure", picture))
    print(f"saved {path.parent.name}/{path.name}", flush=True)


def caught(check, *arguments):
    """Run a gradient check of something wrong and print its whole report; → the report.

    AssertionError: the check passes.
    """
    try:
        check(*arguments)
    except GradientError as error:
        print(error, flush=True)
        return error
    raise AssertionError("the planted bug went unnoticed")


def with_bug(original, right, wrong, name=None):
    """A copy of a lesson's function or class, with one piece of its code replaced.

    More pieces can be replaced in turn. The lines keep their numbers, so that a report names the
    line in the lesson. name: of the copy. AssertionError: the piece does not occur exactly once.
    """
    function = getattr(original, "forward", original)           # of a class: its forward
    lines = linecache.getlines(function.__code__.co_filename)
    node = next(one for one in ast.walk(ast.parse("".join(lines)))
                if getattr(one, "name", None) == original.__name__)
    first = min(one.lineno for one in (node, *node.decorator_list)) - 1
    text = "".join(lines[first:node.end_lineno])
    assert text.count(right) == 1, f"{right!r} occurs in {original.__name__} {text.count(right)} ×"
    file = f"<{name or f'{original.__name__} with {wrong}'}>"
    name = name or original.__name__
    text = text.replace(right, wrong).replace(f" {original.__name__}", f" {name}", 1)
    text = "\n" * first + text
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    names = dict(function.__globals__)
    exec(compile(text, file, "exec"), names)
    return names[name]
