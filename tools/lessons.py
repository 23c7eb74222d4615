"""Run a lesson and save the output of every cell, or train the model that ships with lesson 06.

    python tools/lessons.py run lessons/00_attention_on_paper.py OUT.json
    python tools/lessons.py checkpoint                      three minutes on one core
    python tools/lessons.py checkpoint --epochs 2 --out F   a short trial, in another folder

`run` does what `python lessons/NN_name.py` does. The cells run one after another in a module named
`__main__`, with the line numbers of the file, so errors, sources and numbers are those of the
script. For each code cell, OUT.json has a list of the printed text and the saved pictures, in
order. It is written when the lesson has ended. `tools/build_site.py` makes pages from it.

`checkpoint` trains lesson 06's model for longer than the lesson does. It writes
FOLDER/lesson-06/checkpoint.npz, without the optimizer's state, and FOLDER/SHA256SUMS.
FOLDER/lesson-06 is the folder of a run, which commands such as numpy-attention translate can load.
"""

import argparse
import base64
import json
import os
import sys
import tempfile
import types
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SETTINGS = {"embedding": 48, "hidden": 64, "dropout": 0.3}
RATE = 4e-3
NAME = "lesson-06"


def main(arguments=None):
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("run", help="run a lesson and save the output of every cell")
    one.add_argument("lesson", type=Path, metavar="LESSON", help="a script in cells")
    one.add_argument("out", type=Path, metavar="OUT.json", help="the output of its cells")
    one = commands.add_parser("checkpoint", help="train the model that ships with lesson 06")
    one.add_argument("--epochs", type=int, default=40)
    one.add_argument("--out", type=Path, default=ROOT / "lessons" / "checkpoints",
                     metavar="FOLDER")
    options = parser.parse_args(arguments)
    if options.command == "checkpoint":
        return checkpoint(options.epochs, options.out)
    if not options.lesson.is_file():
        print(f"lessons: there is no file {options.lesson}", file=sys.stderr)
        return 2
    os.environ.setdefault("MPLBACKEND", "Agg")
    lesson = options.lesson.resolve()
    sys.path[:1] = [str(lesson.parent), str(ROOT)]      # instead of the folder of this file
    kept = run(lesson)
    partial = options.out.with_name(options.out.name + ".partial")
    partial.write_text(json.dumps(kept, ensure_ascii=False), encoding="utf-8")
    os.replace(partial, options.out)
    return 0


# ---- run ----------------------------------------------------------------------------------------


def run(lesson):
    """Run a lesson. Return a list of {"text": …} and {"png": base64, "titles": …} per cell."""
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
            lines = "\n" * (cell.line - 1) + cell.body      # keep line numbers
            exec(compile(lines, str(lesson), "exec"), script.__dict__)
    finally:
        plotting.save = save
        sys.stdout = printed
    return kept


class Kept:
    """Standard output that also records the text of each cell, in order with its pictures."""

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
    """Return the titles of a picture, for use as a text alternative."""
    figure = getattr(picture, "figure", picture)
    above = figure.get_suptitle() if hasattr(figure, "get_suptitle") else ""
    titles = [above, *(ax.get_title() for ax in figure.axes)]
    return [" ".join(title.split()) for title in titles if title.strip()]


# ---- checkpoint ---------------------------------------------------------------------------------


def checkpoint(epochs, out):
    """Train the model, and write its checkpoint and SHA256SUMS."""
    sys.path.append(str(ROOT / "lessons"))
    from translator_parts import LONGEST, bible_clauses, digest, trained_translator

    from numpy_attention.experiments.runs.saved import CHECKPOINT
    from numpy_attention.training import checkpoint as files
    pairs, _ = bible_clauses()
    with tempfile.TemporaryDirectory() as folder:
        trained_translator(pairs, "rnnsearch", SETTINGS, epochs, RATE, folder=Path(folder),
                           look=report_step)
        arrays, about = files.load(Path(folder) / CHECKPOINT)
    kept = {name: array for name, array in arrays.items() if name.startswith("parameters/")}
    # all clauses of this length, for commands that evaluate or plot on the corpus of a run
    about["about"]["corpus"] = {"name": "bible-en-es", "part": "clauses", "max_length": LONGEST}
    file = out / NAME / CHECKPOINT
    files.save(file, kept, about)
    text = f"{digest(file)}  {NAME}/{CHECKPOINT}\n"
    (out / "SHA256SUMS").write_text(text, encoding="utf-8")
    print(f"{file}: {file.stat().st_size:,} bytes, sha256 {digest(file)}")
    return 0


def report_step(translator, step):
    print(f"  step {step:,}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
