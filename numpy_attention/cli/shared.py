"""What the commands for translators and for language models share."""

import math
import sys
from pathlib import Path

from numpy_attention import plotting
from numpy_attention.runs import resume as runs
from numpy_attention.names import OPTIMIZERS, find


def training_settings(options):
    """The fields of `Training` that `--epochs` and its companions set."""
    rate = options.learning_rate or find("optimizer", options.optimizer, OPTIMIZERS)().learning_rate
    settings = {name: getattr(options, name) for name in ("epochs", "minutes", "batch_size", "optimizer", "schedule", "clip",
                                                          "patience", "save_steps", "seed")}
    if options.schedule == "decay":
        settings["full_epochs"] = 4 if options.full_epochs is None else options.full_epochs
        settings["divisor"] = options.divisor or 2.0
    else:
        refuse(options, "it belongs to --schedule decay", "full_epochs", "divisor")
    if options.schedule == "warmup":
        settings["warmup"] = options.warmup or 400
    else:
        refuse(options, "it belongs to --schedule warmup", "warmup")
    return settings | {"learning_rate": rate}


def run_folder(options, trained, name):
    """→ (the folder of --run, or runs/name, made if need be; whether a run in it goes on)."""
    folder = Path(options.run or Path("runs") / name)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"{folder} is a file: name a folder with --run")
    resumes = runs.check_same(folder, trained, options.threads)
    folder.mkdir(parents=True, exist_ok=True)
    return folder, resumes


def save_curves(history, folder):
    """Draw the learning curves into the run's folder. ArithmeticError: nothing finite to draw, training has diverged."""
    known = [line[name] for line in history for name in ("train_perplexity", "valid_perplexity") if name in line]
    if not any(map(math.isfinite, known)):
        raise ArithmeticError("training has diverged, no perplexity is finite: try a smaller --learning-rate, in another "
                              f"folder than {folder}")
    plotting.save(plotting.learning_curves(history), folder / "learning_curves.png")


def refuse(options, reason, *names):
    """ValueError: one of these options is given, where it means nothing."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value is not False:
            raise ValueError(f"--{name.replace('_', '-')} is given, but {reason}: leave it out")


def warn_of_unknown_words(vocabulary, sentences):
    unknown = dict.fromkeys(word for sentence in sentences for word in sentence if word not in vocabulary)
    if unknown:
        print(f"numpy-attention: not in the run's vocabulary, read as <unk>: {', '.join(unknown)}", file=sys.stderr)
