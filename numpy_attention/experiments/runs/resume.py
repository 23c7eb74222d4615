"""Check that the run in a folder can be resumed with a given kind, settings, text and threads."""

import dataclasses
import json
from pathlib import Path
from typing import Any, NoReturn

from numpy_attention.custom.code import SHOWN
from numpy_attention.data.user_text import UserPairs, UserText
from numpy_attention.experiments.runs.saved import CHECKPOINT, kind_in, known_of, training_from
from numpy_attention.models.registry import settings_of
from numpy_attention.registry import LANGUAGE_MODELS, RUNS, TRANSLATORS
from numpy_attention.training import checkpoint
from numpy_attention.training.schema import Fields, check
from numpy_attention.training.settings import THREADS, Training
from numpy_attention.validation.arguments import check_methods
from numpy_attention.validation.paths import as_path, exists, is_folder, short_path

CHANGEABLE = {"epochs", "minutes", "save_steps", "keep"}    # they do not affect any step
Configuration = dict[str, Any]
MOST = 4            # largest number of differences that a message lists
FILES = [f"corpus {name}" for name in UserPairs.FILES + UserText.FILES]
# compared in addition to the configuration
COMPARED = Fields({"trainer": Fields({"threads": THREADS})})


def check_same(folder: str | Path, trained: Any, threads: int | None = None) -> bool:
    """Return whether `folder` holds a run. If it does, check that `trained` can resume this run.

    trained: the Translator or LanguageModelRun to train. threads: the total number of threads of
    all ranks, which must equal that of the run; None allows any number. Raises NotADirectoryError
    if `folder` is a file, and ValueError if the run is of another kind, differs in settings, text
    or threads, or cannot be read by this version.
    """
    check_methods("`trained`", trained, "a Translator or a LanguageModelRun", "configuration")
    path = as_path(folder, "folder") / CHECKPOINT
    if exists(path.parent) and not is_folder(path.parent):
        raise NotADirectoryError(f"{folder} is not a folder; use a run's folder, or a new one")
    if not exists(path):
        return False
    about = checkpoint.load_about(path)
    kind = kind_in(about)
    if kind != trained.KIND:
        raise_different(folder, f"kind was {RUNS.get(kind, kind)} and is now {RUNS[trained.KIND]}")
    with checkpoint.understood(path, about):
        check(about, COMPARED)
        before = flat(known_of(about), trained.TRAINING)
    now = flat(json.loads(json.dumps(trained.configuration())), trained.TRAINING)
    if threads is not None:
        before["threads"] = about["trainer"]["threads"]
        now["threads"] = threads
    there, here = (one.get("corpus digest") for one in (before, now))
    if there and here:
        # the digest, not the path, identifies a text
        old, new = ({name: one.pop(name) for name in FILES if name in one} for one in (before, now))
        if old.keys() != new.keys():
            was, are = (", ".join(short_path(path) for name, path in files.items()
                                  if "valid" in name) or "none" for files in (old, new))
            raise_different(folder, f"validation files were {was} and are now {are}")
        if there != here:
            raise ValueError(f"the text has changed since the run in {folder} began: the digest of "
                             f"{', '.join(old.values())} was {there} and is now {here}; restore "
                             "the old files, or train again in another folder")
    found = differences(before, now)
    if found:
        more = f"; and {len(found) - MOST} more" if len(found) > MOST else ""
        raise_different(folder, "; ".join(found[:MOST]) + more)
    return True


def raise_different(folder: str | Path, what: str) -> NoReturn:
    what = " ".join(what.split())       # one line, even if the checkpoint has more
    raise ValueError(f"{folder} holds a run with different settings: {what}. Use the same settings "
                     "to resume it, or train again in another folder")


def flat(configuration: Configuration, training: type[Training]) -> Configuration:
    """Flatten a configuration to one dict. A setting that was not saved gets its default."""
    rest = {name: value for name, value in configuration.items() if not isinstance(value, dict)}
    model = rest.pop("name")
    known = settings_of(model) if model in TRANSLATORS | LANGUAGE_MODELS else {}
    settings = known | configuration["settings"]
    how = dataclasses.asdict(training_from(training, configuration["training"]))
    corpus = {f"corpus {name}": value for name, value in configuration["corpus"].items()}
    own = {f"SHA-256 of {name}": digest[:SHOWN]
           for name, digest in configuration.get("own", {}).items()}
    vectors = {f"digest of the vectors of {part}": read["digest"]
               for part, read in configuration.get("vectors", {}).items()}
    return {"model": model, **rest, **settings, **own, **vectors, **how, **corpus}


def differences(before: Configuration, now: Configuration) -> list[str]:
    """Describe each difference between two flat configurations that prevents resuming a run."""
    fixed = (before.keys() | now.keys()) - CHANGEABLE
    fixed -= {name for name in before.keys() ^ now.keys() if name.startswith("SHA-256")}
    if now.get("schedule") == "linear":                 # the last epoch determines each step's rate
        fixed |= {"epochs"}
    model_first = sorted(fixed, key=lambda name: (name != "model", name))
    return [difference(name, before.get(name), now.get(name)) for name in model_first
            if before.get(name) != now.get(name)]


def difference(name: str, before: Any, now: Any) -> str:
    long = any(isinstance(value, list) or len(str(value)) > 60 for value in (before, now))
    return f"{name} differs" if long else f"{name} was {before} and is now {now}"
