"""What the commands for translators and for language models share."""

import json
import math
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeVar

from numpy_attention import plotting
from numpy_attention import registry
from numpy_attention.cli.entry import flag_of
from numpy_attention.data.datasets.corpora import find_corpus
from numpy_attention.data.selection import Selection
from numpy_attention.validation.messages import plural
from numpy_attention.validation.paths import short_path, exists, is_folder, make_folder
from numpy_attention.experiments.runs.resume import check_same
from numpy_attention.experiments.runs.saved import CHECKPOINT
from numpy_attention.experiments.runs.ensemble import load_ensemble
from numpy_attention.experiments.runs.trained import Trained
from numpy_attention.training.lock import check_free
from numpy_attention.training.distributed.ranks import world
from numpy_attention.training.settings import Training

Settings = TypeVar("Settings", bound=Training)
One = TypeVar("One", bound=Trained)
END = "</s>"


def refuse(options: Namespace, reason: str, *refused: str) -> None:
    """ValueError: one of these options is given, where it means nothing."""
    for name in refused:
        if name in options.given:
            raise ValueError(f"{flag_of(name)} is given, but {reason}: leave it out")


# ---- the text of a run --------------------------------------------------------------------------


def check_named(options: Namespace, kind: str, *files: str | None) -> None:
    """ValueError: no corpus of this kind has the name, or options for files are given too."""
    if any(files):
        raise ValueError("--corpus and files are given: choose one of them")
    reason = f"it is for your own text, and {options.corpus} is prepared already"
    refuse(options, reason, "lowercase", "tokenize")
    find_corpus(options.corpus, kind)


def nothing_to_learn_from(files: str) -> ValueError:
    return ValueError("nothing to learn from: give --corpus NAME (numpy-attention corpora list), "
                      f"or {files}")


def part_of(selection: Selection, split: str | None = None) -> tuple[Any, str]:
    """→ a split of what a run learns from, its name; None: the last, test or else valid."""
    split = split or selection.splits[-1]
    return selection.load(split)[0], split


def example_of(index: int, examples: Sequence[Any], split: str, what: str) -> Any:
    """The example of --index. ValueError: the split has fewer; what: what they are."""
    if index >= len(examples):
        raise ValueError(f"--index {index}: {split} has {len(examples):,} {what}, numbered from 0")
    return examples[index]


SHOWN = 10      # of the words that a run does not know


def warn_of_unknown_words(vocabulary: Any, sentences: Iterable[Sequence[str]]) -> None:
    words = dict.fromkeys(word for sentence in sentences for word in sentence)
    unknown = [word for word in words if word not in vocabulary]
    if unknown:
        more = len(unknown) - SHOWN
        rest = f" and {more:,} more" if more > 0 else ""
        print("numpy-attention: not in the run's vocabulary, read as <unk>: "
              f"{', '.join(unknown[:SHOWN])}{rest}", file=sys.stderr)


# ---- train --------------------------------------------------------------------------------------


def training_of(kind: type[Settings], options: Namespace, **more: Any) -> Settings:
    """The training that the options describe; more: its other fields.

    What belongs to another schedule, or is not offered, keeps the field's own default.
    """
    values = {one.name: getattr(options, one.name, None) for one in fields(kind)} | more
    if values["learning_rate"] is None:
        optimizer = registry.resolve("optimizer", options.optimizer, registry.OPTIMIZERS)
        values["learning_rate"] = optimizer().learning_rate
    return kind(**{name: value for name, value in values.items() if value is not None})


def run_folder(options: Namespace, trained: Any, name: str, *about: str) -> Path:
    """The folder of --run, or runs/name, made if need be; says what trains, and where."""
    folder = Path(options.run or Path("runs") / name)
    ranks = world()
    shares = options.threads and options.threads * ranks.count
    resumes = ranks.first(lambda: prepared(folder, trained, shares))
    where = "resumes the run in" if resumes else "saves to"
    print(*about, f"{where} {folder}", sep="\n", flush=True)
    return folder


def prepared(folder: Path, trained: Any, threads: int | None) -> bool:
    """Whether the folder, made if need be, has a run to resume. Errors say why it cannot be used.
    """
    if exists(folder) and not is_folder(folder):
        raise ValueError(f"{short_path(folder)} is a file: name a folder with --run")
    check_free(folder / CHECKPOINT)
    resumes = check_same(folder, trained, threads)
    make_folder(folder)
    return resumes


def fit(trained: Any, learn: Any, valid: Any, folder: Path, threads: int | None, then: str) -> None:
    """Train, draw the curves, and say how long it took, and what then follows."""
    trained.fit(learn, valid, folder, threads, ranks=world())
    world().first(lambda: save_curves(trained.history, folder))
    minutes = trained.history[-1]["seconds"] / 60
    epochs = plural(len(trained.history), "epoch")
    print(f"trained for {epochs}, {minutes:.1f} minutes; {then}", flush=True)


def save_curves(history: Sequence[Mapping[str, Any]], folder: Path) -> None:
    """Draw the learning curves into the run's folder.

    ArithmeticError: nothing finite to draw, training has diverged.
    """
    kinds = ("train_perplexity", "valid_perplexity")
    known = [line[kind] for line in history for kind in kinds if kind in line]
    if not any(map(math.isfinite, known)):
        raise ArithmeticError("training has diverged, no perplexity is finite: try a smaller "
                              f"--learning-rate, in another folder than {folder}")
    plotting.save(plotting.learning_curves(history), folder / "learning_curves.png")


def say_next(*words: str) -> None:
    """The command that comes next, as it may be pasted into a shell."""
    print(f"next: numpy-attention {shlex.join(words)}")


# ---- one run, or several -------------------------------------------------------------------------


def runs_of(kind: type[One], options: Namespace) -> One:
    """The run of a command, or with --together-with an ensemble of several."""
    return load_ensemble(kind, [options.run, *(options.together_with or ())],
                         options.code)


def voices(options: Namespace) -> str:
    """How many runs speak, where it is more than one."""
    count = 1 + len(options.together_with or ())
    return f"ensemble of {count}, the first: " if count > 1 else ""


# ---- evaluate -----------------------------------------------------------------------------------


def report(options: Namespace, trained: Any, what: str, text: str, figures: Mapping[str, Any],
           show: Callable[[Mapping[str, Any]], None]) -> None:
    """Print figures as one JSON object, or beneath what was measured and on which text."""
    if options.json:
        print(json.dumps(figures))
        return
    split = f", {figures['split']}" if figures["split"] else ""
    print(f"{options.run}: {what}, {plural(len(trained.history), 'epoch')}")
    print(f"{figures['corpus']}{split}: {text}")
    show(figures)
    for line in lines_of_provenance(figures["depends_on"]):
        print(line)


def lines_of_provenance(known: Mapping[str, Any]) -> list[str]:
    """What the figures depend on, as `provenance` has it, in two lines."""
    threads = f"{known['threads']} thread{'s' * (known['threads'] > 1)}"
    return [
        f"  depends on  parameters {known['parameters']}, text {known['text']}, seed "
        f"{known['seed']}, {threads};",
        f"              numpy_attention {known['version']}, NumPy {known['numpy']}, numba "
        f"{known['numba']}, {known['blas']}, {known['processor']}"]
