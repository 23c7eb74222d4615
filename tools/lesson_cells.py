"""Runs a lesson as `python lessons/NN_name.py` does, and keeps what each of its cells gave.

    python tools/lesson_cells.py lessons/00_attention_on_paper.py OUT.json

The cells are run one after the other in one module that is `__main__`, each with its own lines of
the file, so that errors, sources and numbers are those of the script. OUT.json has a list for each
cell of code, of what was printed and of the pictures that were saved, in their order. It is
written when the lesson has come to its end, and not before. `tools/build_site.py` makes the pages
of the site from it.
"""

import argparse
import base64
import json
import os
import sys
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lesson", type=Path, metavar="LESSON", help="a script in cells")
    parser.add_argument("out", type=Path, metavar="OUT.json", help="what its cells gave")
    options = parser.parse_args(arguments)
    if not options.lesson.is_file():
        print(f"lesson_cells: there is no file {options.lesson}", file=sys.stderr)
        return 2
    os.environ.setdefault("MPLBACKEND", "Agg")
    lesson = options.lesson.resolve()
    sys.path[:1] = [str(lesson.parent), str(ROOT)]      # in place of the folder of this file
    kept = run(lesson)
    partial = options.out.with_name(options.out.name + ".partial")
    partial.write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")
    os.replace(partial, options.out)
    return 0


def run(lesson):
    """→ for each cell of code a list of {"text": …} and {"png": base64, "titles": […]}."""
    from numpy_attention import plotting
    from numpy_attention.course.trace.lessons import cells_of
    text = lesson.read_text(encoding="utf-8")
    script = types.ModuleType("__main__")
    script.__file__ = str(lesson)
    sys.modules["__main__"] = script
    sys.argv = [str(lesson)]
    kept = []
    save = plotting.save

    def save_and_keep(picture, path):
        saved = save(picture, path)
        if saved.suffix == ".png":
            kept[-1].append({"png": base64.b64encode(saved.read_bytes()).decode("ascii"),
                             "titles": titles_of(picture)})
        return saved

    printed = sys.stdout
    sys.stdout = Kept(printed, kept)
    plotting.save = save_and_keep
    try:
        for cell in cells_of(text):
            kept.append([])
            lines = "\n" * (cell.line - 1) + cell.body      # so that its lines are the file's
            exec(compile(lines, str(lesson), "exec"), script.__dict__)
    finally:
        plotting.save = save
        sys.stdout = printed
    return kept


class Kept:
    """Standard output that also keeps the text, with the pictures, under the cell that it is of."""

    def __init__(self, stream, kept):
        self.stream = stream
        self.kept = kept

    def write(self, text):
        outputs = self.kept[-1]
        if outputs and "text" in outputs[-1]:
            outputs[-1]["text"] += text
        elif text:
            outputs.append({"text": text})
        return self.stream.write(text)

    def __getattr__(self, name):
        return getattr(self.stream, name)


def titles_of(picture):
    """What stands above the parts of a picture: what it says to those who cannot see it."""
    figure = getattr(picture, "figure", picture)
    above = figure.get_suptitle() if hasattr(figure, "get_suptitle") else ""
    titles = [above, *(ax.get_title() for ax in figure.axes)]
    return [" ".join(title.split()) for title in titles if title.strip()]


if __name__ == "__main__":
    sys.exit(main())
