"""The lessons: run where nothing kept fits any more, and made notebooks with their answers."""

import functools
import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib import metadata
from pathlib import Path

from site_pages import mathml

ROOT = Path(__file__).resolve().parents[2]
LESSONS = ROOT / "lessons"
RUNNER = ROOT / "tools" / "lessons.py"
LIBRARIES = ("numpy", "numba", "matplotlib", "sacrebleu")   # whose versions can change an output
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
SAVED = re.compile(r"^saved \S+\.png\n", re.MULTILINE)      # the page shows the picture instead
BAR = re.compile(r"^[^\n]*\r(?!\n)", re.MULTILINE)          # of progress, drawn over again
TIMED = "14"            # the lesson that measures times: it runs alone
KEPT = 4                # outputs of a lesson that stay: branches can be gone to and fro


class LessonError(Exception):
    """A lesson failed; the text is the end of what it printed."""


def files():
    """The lessons, in their order."""
    return sorted(LESSONS.glob("[0-9][0-9]_*.py"))


def chosen(numbers):
    """The lessons of these numbers; None: all. ValueError: a number that none has."""
    known = {path.name[:2]: path for path in files()}
    unknown = [number for number in numbers or () if number not in known]
    if unknown:
        raise ValueError(f"no lesson has the number {', '.join(unknown)}: expected some of "
                         f"{' '.join(known)}")
    return [path for number, path in known.items() if numbers is None or number in numbers]


# ---- running ------------------------------------------------------------------------------------


def key(lesson):
    """A digest of all that a lesson's outputs come from: its code, what it imports, versions.

    Its text is not among them, so that a corrected sentence runs nothing.
    """
    from numpy_attention.course.trace.lessons import cells_of
    digest = hashlib.sha256(used().encode())
    for cell in cells_of(lesson.read_text(encoding="utf-8")):
        digest.update(cell.body.encode())
    return digest.hexdigest()[:16]


@functools.cache
def used():
    """A digest of what all lessons use."""
    digest = hashlib.sha256()
    package = ROOT / "numpy_attention"
    shipped = package / "data" / "datasets" / "shipped"
    sources = [*package.rglob("*.py"), *package.rglob("*.json"), *LESSONS.glob("[a-z]*.py"),
               *shipped.iterdir(), *LESSONS.glob("checkpoints/*/*"), RUNNER]
    for path in sorted(source for source in sources if source.is_file()):
        digest.update(os.path.relpath(path, LESSONS.parent).encode())
        digest.update(path.read_bytes())
    for name in LIBRARIES:
        digest.update(f"{name} {metadata.version(name)}".encode())
    digest.update(platform.python_version().encode())
    return digest.hexdigest()


def all_outputs(lessons, cache, logs=None):
    """What each cell of code gave, for each lesson: {number: outputs}.

    Two lessons run at a time, since most of them keep one core busy; TIMED runs alone, at the end.
    The arguments are as in `outputs`; logs: the folder of the log files NN.log.
    """
    def one(lesson):
        number = lesson.name[:2]
        return number, outputs(lesson, cache, logs and logs / f"{number}.log")

    used()                  # the digest is computed once, before the threads ask for it
    alone = [lesson for lesson in lessons if lesson.name[:2] == TIMED]
    with ThreadPoolExecutor(2) as pool:
        given = dict(pool.map(one, [lesson for lesson in lessons if lesson not in alone]))
    return given | dict(map(one, alone))


def outputs(lesson, cache, log=None):
    """What each cell of code of a lesson gave, from the folder `cache` or from a run.

    log: a file for the text that it prints. LessonError: it fails.
    """
    number = lesson.name[:2]
    folder = cache / "lessons"
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / f"{number}-{key(lesson)}.json"
    output = kept.with_suffix(".log")
    if kept.is_file() and output.is_file():
        os.utime(kept)
        print(f"lesson {number}: as kept", flush=True)
    else:
        start = time.perf_counter()
        run(lesson, kept, output)
        print(f"lesson {number}: {time.perf_counter() - start:.0f} s", flush=True)
        forget(folder, number)
    if log:
        log.write_bytes(output.read_bytes())
    return json.loads(kept.read_text(encoding="utf-8"))


def run(lesson, kept, output):
    """Run a lesson. LessonError: it fails."""
    environment = {**os.environ, "MPLBACKEND": "Agg", "PYTHONPATH": os.pathsep.join(
        [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])}
    with open(output, "wb") as stream:
        process = subprocess.run([sys.executable, str(RUNNER), "run", str(lesson), str(kept)],
                                 cwd=ROOT, stdin=subprocess.DEVNULL, stdout=stream,
                                 stderr=subprocess.STDOUT, env=environment)
    if process.returncode:
        last = output.read_text(encoding="utf-8", errors="replace").splitlines()[-40:]
        raise LessonError("\n".join([f"{lesson.name} failed; it said last:", *last]))


def forget(folder, number):
    """Keep only the newest outputs of a lesson."""
    there = sorted(folder.glob(f"{number}-*.json"), key=lambda path: path.stat().st_mtime)
    for old in there[:-KEPT]:
        old.unlink()
        old.with_suffix(".log").unlink(missing_ok=True)


# ---- the course ---------------------------------------------------------------------------------


def overview():
    """A table of the lessons: title, minutes, what each needs, its exercises; from their heads."""
    from numpy_attention.course.exercises.catalogue import EXERCISES
    lines = ["| lesson | you will be able to | needs | reading time | exercises |",
             "|---|---|---|---|---|"]
    for path in files():
        head = path.read_text(encoding="utf-8").split("\n# %%\n")[0].replace("\n# ", " ")
        title = re.search(r"# Lesson (\d\d: .*?) #", head.replace("\n#", " #"))[1]
        able = re.search(r"\*\*You will be able to\*\* (.*?)\.?\s*\n", head + "\n")[1]
        needs = re.search(r"\*\*Needs:\*\* (.*?)\. ", head)[1]
        minutes = re.search(r"\*\*Time:\*\* (\d+) minutes", head)[1]
        names = ", ".join(f"`{one.name}`" for one in EXERCISES.values() if one.lesson == path.stem)
        lines.append(f"| [{title}]({path.stem}.ipynb) | {able} | {needs} | "
                     f"{minutes} min | {names or '—'} |")
    return "\n".join(lines)


# ---- as pages -----------------------------------------------------------------------------------


def notebook(lesson, given, changed, extras=()):
    """A lesson as a notebook's text: downloads, cells with outputs, extras, answers.

    given: what each cell of code gave, or None where it was not run; changed: of a text, its
    links; extras: further texts before the answers.
    """
    import jupytext
    import nbformat
    book = jupytext.read(lesson, fmt="py:percent")
    code = [cell for cell in book.cells if cell.cell_type == "code"]
    if given is not None and len(given) != len(code):
        raise ValueError(f"{lesson.name} has {len(code)} cells of code, and {len(given)} were run")
    for place, cell in enumerate(code):
        cell.metadata = {}
        if given is not None:
            cell.outputs, alt = outputs_of(given[place])
            if alt:
                cell.metadata = {"mystnb": {"image": {"alt": alt}}}
    for cell in book.cells:
        if cell.cell_type == "markdown":
            cell.source = mathml.in_markdown(changed(cell.source))
    first, rest = book.cells[0].source.split("\n", 1)
    book.cells[0].source = "\n".join([first, "", downloads(lesson, given is not None), rest])
    texts = [*extras, mathml.in_markdown(changed(answers(lesson)))]
    book.cells += [nbformat.v4.new_markdown_cell(text) for text in texts if text]
    for place, cell in enumerate(book.cells):
        cell.id = f"cell-{place}"       # otherwise random, and the page never the same
    book.metadata = {"kernelspec": KERNEL}
    return nbformat.writes(book)


def plain_notebook(lesson):
    """The text of a lesson as a notebook to run oneself."""
    import jupytext
    book = jupytext.read(lesson, fmt="py:percent")
    for place, cell in enumerate(book.cells):
        cell.id = f"cell-{place}"
    book.metadata = {"kernelspec": KERNEL}
    return jupytext.writes(book, fmt="ipynb")


def outputs_of(given):
    """The outputs of a cell as a notebook has them, and what its pictures say."""
    import nbformat
    made = []
    alt = []
    for output in given:
        if "png" in output:
            alt += output["titles"]
            made.append(nbformat.v4.new_output("display_data", {"image/png": output["png"]}))
            continue
        text = BAR.sub("", SAVED.sub("", output["text"]))
        if text.strip():
            made.append(nbformat.v4.new_output("stream", name="stdout", text=text))
    return made, "; ".join(alt)


def downloads(lesson, is_run):
    """The line below a lesson's title."""
    links = (f"[the script](site:course/{lesson.name}) · "
             f"[a notebook](site:course/{lesson.stem}.ipynb) · "
             "[the whole course](site:course.zip), with the modules that it imports")
    unrun = "" if is_run else "\n\nThis copy of the site was built without running the lesson."
    return f":::{{container}} downloads\n{links}{unrun}\n:::"


def answers(lesson):
    """The answers of a lesson, each folded away, as a section of its page; "" without any."""
    path = LESSONS / "answers" / f"{lesson.stem}.md"
    if not path.is_file():
        return ""
    text = path.read_text(encoding="utf-8")
    parts = re.split(r"^(```.*?^```[^\n]*$)", text, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [re.sub(r"^#", "##", part, flags=re.MULTILINE) for part in parts[::2]]
    _, _, rest = "".join(parts).partition("\n")
    return "## Answers\n" + rest
