"""Files that are not what they should be: checkpoints, texts, pipes, devices, links, full disks.

Where root would be refused nothing, an attempt is made in a child of a user without rights.
"""

import io
import json
import math
import os

import numpy as np
from hostility import checkpoints, child, small_runs, special_files
from hostility.command_line import halves, outcome
from hostility.outcome import RIGHT, Attempt, Outcome, judged

from numpy_attention import plotting
from numpy_attention.data import reading, running_text
from numpy_attention.data.own_text import OwnPairs, OwnText
from numpy_attention.data.text_form import TextForm
from numpy_attention.recipes import results
from numpy_attention.runs.resume import check_same
from numpy_attention.runs.trained import kind_of
from numpy_attention.training import checkpoint


def attempt(rng, folder):
    os.chdir(folder)
    kind = rng.choice(len(KINDS), p=SHARES)
    return KINDS[kind](rng, folder)


# ---- checkpoints -------------------------------------------------------------------------------


def altered_checkpoint(rng, folder):
    """A checkpoint altered, and then used in one of many ways."""
    run = small_runs.any_run(rng)
    executed = folder / "executed"
    what, data = checkpoints.altered(rng, run.checkpoint, executed)
    place = folder / "run"
    run.put(place).write_bytes(data)
    use = USES[rng.integers(len(USES))]

    def attempted():
        try:
            found = use(run, place)
        except Exception as error:
            found = judged(error)
        return Outcome("code", f"{executed} was made") if executed.exists() else found

    return Attempt(f"{run.name}, {what}; {use.__name__}", attempted)


def load(run, place):
    """Loaded it must work, in figures that are finite."""
    trained = run.kind.load(place)
    _, valid = run.selection().load("train", "valid")
    return finite(trained.measure(valid, threads=1).values())


def finite(numbers):
    numbers = list(numbers)
    if all(map(math.isfinite, numbers)):
        return Outcome(RIGHT, "finite figures")
    return Outcome("silence", f"figures that are not finite: {numbers}")


def resume(run, place):
    """Resumed it must go on."""
    made, learn, valid = run.create(epochs=2)
    made.fit(learn, valid, place, 1, progress=False)
    return finite(line["train_loss"] for line in made.history[-1:])


def looked_at(run, place):
    kind_of(place)
    checkpoint.load(place / "checkpoint.npz")
    check_same(place, run.create()[0])
    return Outcome(RIGHT, "looked at")


def translated(run, place):
    return outcome(["translate", place, "the cat sees"], folder=place)


def generated(run, place):
    return outcome(["generate", place, "--length", "5"], folder=place)


def evaluated(run, place):
    return outcome(["evaluate", place, "--threads", "1"], folder=place)


def drawn(run, place):
    return outcome(["heatmap", place, "--output", place / "a.png"], folder=place)


USES = (load, load, resume, resume, looked_at, translated, generated, evaluated, drawn)

# ---- texts -------------------------------------------------------------------------------------


def damaged_text(rng, folder):
    """A text file that holds what it should not, or is no file; beside it a good one."""
    good = folder / "good.txt"
    good.write_bytes(special_files.CONTENTS["right"])
    if rng.random() < 0.6:
        path = folder / "bad.txt"
        what = special_files.any_text(rng, path)
    else:
        what, path = special_files.any_path(rng, folder)
    files = (path, good) if rng.random() < 0.5 else (good, path)
    read = READERS[rng.integers(len(READERS))]
    return Attempt(f"{what} {'first' if files[0] is path else 'second'}; {read.__name__}",
                   lambda: read(folder, *files))


def as_lines(folder, first, second):
    return letters(reading.read_lines(first) + reading.read_lines(second))


def letters(lines):
    """Lines that are read are text, without line ends."""
    if all("\n" not in line and "\0" not in line for line in lines):
        return Outcome(RIGHT, f"{len(lines)} lines")
    return Outcome("silence", "a line with a line end or a NUL character")


def as_pairs(folder, first, second):
    pairs = reading.read_pairs(first, second)
    whole = all(pair.source and pair.target for pair in pairs)
    return Outcome(RIGHT if whole else "silence", f"{len(pairs)} pairs")


def as_tab_pairs(folder, first, second):
    return Outcome(RIGHT, f"{len(reading.read_tab_pairs(first, str.split, str.split))} pairs")


def as_text(folder, first, second):
    text = running_text.read(first, TextForm("characters", True))
    return letters("".join(text.sentences[0]).splitlines())


def as_own_pairs(folder, first, second):
    own = OwnPairs(first, second)
    learn, valid = OwnPairs(**own.saved()).load("train", "valid")
    return Outcome(RIGHT if learn and valid else "silence", "held out")


def as_own_text(folder, first, second):
    learn, valid = OwnText(first, second).load("train", "valid")
    return Outcome(RIGHT if learn.sentences and valid.sentences else "silence", "two texts")


def trained_on(folder, first, second):
    return outcome(["train", "--source", first, "--target", second, "--hidden", "8", "--epochs",
                    "1", "--threads", "1", "--run", folder / "run"], folder=folder)


def lm_trained_on(folder, first, second):
    return outcome(["train", "lm", "--text", first, "--valid-text", second, "--hidden", "8",
                    "--steps", "3", "--batch-size", "1", "--epochs", "1", "--threads", "1",
                    "--run", folder / "run"], folder=folder)


def measured_on(folder, first, second):
    small_runs.run("luong").put(folder / "run")
    return outcome(["evaluate", folder / "run", "--source", first, "--target", second, "--threads",
                    "1"], folder=folder)


def lm_measured_on(folder, first, second):
    small_runs.run("language-model").put(folder / "run")
    return outcome(["evaluate", folder / "run", "--text", first, "--threads", "1"], folder=folder)


READERS = (as_lines, as_pairs, as_tab_pairs, as_text, as_own_pairs, as_own_text, trained_on,
           lm_trained_on, measured_on, lm_measured_on)

# ---- places to write to, and what takes the place of a run --------------------------------------


def hostile_place(rng, folder):
    """A run, a picture or a folder of figures that stands where nothing can."""
    what, path = special_files.any_path(rng, folder)
    use = PLACES[rng.integers(len(PLACES))]
    return Attempt(f"{what}; {use.__name__}", lambda: use(folder, path))


def run_there(folder, path):
    return outcome([*TRAIN, "--run", path], folder=folder)


def checkpoint_there(folder, path):
    """The checkpoint of a run leads to such a thing."""
    link(folder, path)
    return outcome([*TRAIN, "--run", folder / "run"], folder=folder)


def used_there(folder, path):
    return outcome(["translate", path, "the cat"], folder=folder)


def linked_there(folder, path):
    link(folder, path)
    return outcome(["evaluate", folder / "run", "--threads", "1"], folder=folder)


def link(folder, path):
    (folder / "run").mkdir()
    try:
        (folder / "run" / "checkpoint.npz").symlink_to(path or "x")
    except (OSError, ValueError):       # no link can have this name
        pass


def picture_there(folder, path):
    small_runs.run("luong").put(folder / "run")
    return outcome(["heatmap", folder / "run", "the cat", "el gato", "--output", path],
                   folder=folder)


def results_there(folder, path):
    results.append(path, [LINE])
    return Outcome(RIGHT, "appended")


TRAIN = ["train", "--corpus", "copy", "--pairs", "30", "--max-length", "3", "--hidden", "8",
         "--epochs", "1", "--threads", "1"]
LINE = {"recipe": "a", "settings": "0", "seed": 0, "metric": "bleu", "split": "test", "value": 1.5,
        "parameters": 10, "minutes": 0.5, "threads": 1}
PLACES = (run_there, checkpoint_there, used_there, linked_there, picture_there, results_there)

# ---- without rights, without room ---------------------------------------------------------------


def without(rng, folder):
    """What may not be read or written, or finds no room: told, and the files before are whole."""
    place = folder / "place"
    small_runs.run("luong").put(place)
    small_runs.run("language-model").put(folder / "writer")
    (folder / "text.txt").write_bytes(special_files.CONTENTS["right"])
    (place / "figures.jsonl").write_text(json.dumps(LINE | {"seed": 1}) + "\n")
    what, prepare = taken(rng, folder, place)
    work = WORK[rng.integers(len(WORK))]

    def attempted():
        found = child.outcome(prepare, lambda: work(folder, place))
        place.chmod(0o755)
        found = kept(place, found)
        left = halves(folder)
        return Outcome("silence", f"left half-written: {left}") if left else found

    return Attempt(f"{what}; {work.__name__}", attempted)


def taken(rng, folder, place):
    """→ in words, and the preparation of a child."""
    choice = rng.integers(4)
    if choice == 0:
        path = (place, place / "checkpoint.npz", folder / "text.txt",
                place / "figures.jsonl")[rng.integers(4)]
        path.chmod(0)
        return f"{path.name} of no rights", as_nobody(folder)
    if choice == 1:
        return "folders of another's", as_nobody(folder)
    size = int(2 ** rng.uniform(0, 17))
    if choice == 2:
        return f"files of at most {size} bytes", child.with_small_files(size)
    return f"a disk of {size} bytes", child.on_a_full_disk(folder / "disk", size)


def as_nobody(folder):
    """A user without rights, who may pass through to this folder and not write there.

    Fonts are read before: what is installed where that user may not look is not what is tried.
    """
    plotting.attention_heatmap(np.ones((2, 2)), ["a", "b"], ["a", "b"]).figure.savefig(io.BytesIO())
    folder.parent.chmod(0o755)
    folder.chmod(0o755)
    return child.of_nobody


def kept(place, found):
    """The Outcome, unless a file of the run is no longer whole."""
    try:
        if os.access(place / "checkpoint.npz", os.R_OK):
            checkpoint.load(place / "checkpoint.npz")
        if os.access(place / "figures.jsonl", os.R_OK):
            results.read_file(place / "figures.jsonl")
    except ValueError as error:
        return Outcome("silence", f"left damaged: {error}")
    return found


def goes_on(folder, place):
    """A run that is there goes on, with more epochs."""
    run = small_runs.run("luong")
    made, learn, valid = run.create(epochs=2)
    made.fit(learn, valid, place, 1, progress=False)
    return Outcome(RIGHT, "went on")


def disk_of(folder):
    return folder / "disk" if (folder / "disk").is_dir() else folder / "new"


def begins(folder, place):
    return outcome([*TRAIN, "--run", disk_of(folder) / "run"], folder=folder)


def figures(folder, place):
    results.append(place / "figures.jsonl", [LINE])
    results.append(disk_of(folder) / "figures.jsonl", [LINE])
    return Outcome(RIGHT, "appended")


def picture(folder, place):
    name = disk_of(folder) / "a.png" if disk_of(folder).is_dir() else place / "a.png"
    return outcome(["heatmap", place, "the cat", "el gato", "--output", name], folder=folder)


def reads(folder, place):
    return outcome(["evaluate", folder / "writer", "--text", folder / "text.txt", "--threads", "1"],
                   folder=folder)


def uses(folder, place):
    return outcome(["translate", place, "the cat"], folder=folder)


WORK = (goes_on, begins, begins, figures, picture, reads, uses)

# ---- recorded figures ---------------------------------------------------------------------------


def recorded(rng, folder):
    """A file of recorded figures, damaged."""
    path = folder / "figures.jsonl"
    if rng.random() < 0.3:
        what = special_files.any_text(rng, path)
    else:
        value = checkpoints.VALUES[rng.integers(len(checkpoints.VALUES))]
        name = list(LINE)[rng.integers(len(LINE))]
        path.write_text(json.dumps(LINE | {name: value}) + "\n")
        what = f"{name} {ascii(value)[:40]}"

    def attempted():
        results.append(path, [LINE])
        return Outcome(RIGHT, results.tables(results.read_file(path))[:40])

    return Attempt(f"figures with {what}", attempted)


KINDS = (altered_checkpoint, damaged_text, hostile_place, without, recorded)
SHARES = (0.45, 0.2, 0.15, 0.15, 0.05)
