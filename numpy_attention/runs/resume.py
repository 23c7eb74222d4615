"""When the run of a folder may go on: it is of the same kind, and has the same settings."""

import dataclasses
import json
from pathlib import Path

from numpy_attention.training import checkpoint

CHECKPOINT = "checkpoint.npz"
CHANGEABLE = ("epochs", "minutes", "save_steps", "keep")      # these leave every step that was made as it was


def check_same(folder, trained, threads=None):
    """Whether `folder` holds a run that this Translator or Writer may resume.

    ValueError: it is a run of another kind, or has other settings; says which.
    """
    path = Path(folder) / CHECKPOINT
    if not path.exists():
        return False
    about = checkpoint.load_about(path)
    known, now = about.get("about", {}), json.loads(json.dumps(trained.configuration()))
    other = ""
    if known.get("kind") != trained.KIND:
        other = f"{known.get('kind', 'plain model')} there, {trained.KIND} now"
    else:                                       # a setting that is newer than the run had its default
        known = known | {"training": dataclasses.asdict(trained.TRAINING(**known["training"]))}
        saved, now = _flat(known), _flat(now)
        if threads is not None:
            saved["threads"], now["threads"] = about.get("trainer", {}).get("threads"), threads
        other = "; ".join(_differences(saved, now))
    if other:
        raise ValueError(f"{folder} holds a run with other settings: {other}. Give the same settings to resume it, or "
                         "remove this folder, or choose another")
    return True


def _differences(saved, now):
    fixed = (saved.keys() | now.keys()) - set(CHANGEABLE)
    if now.get("schedule") == "linear":         # its rate at each step depends on where the last epoch ends
        fixed |= {"epochs"}
    for name in sorted(fixed):
        before, after = saved.get(name), now.get(name)
        if before != after:
            long = any(isinstance(one, list) or len(str(one)) > 200 for one in (before, after))
            yield f"other words in the {name}" if long else f"{name} {before} there, {after} now"


def _flat(configuration):
    """A configuration on one level: model, settings, corpus, training and vocabularies."""
    flat = {"model" if name == "name" else name: value for name, value in configuration.items()
            if not isinstance(value, dict)}
    for group in ("settings", "training"):
        flat |= configuration.get(group, {})
    return flat | {f"corpus {name}": value for name, value in configuration.get("corpus", {}).items()}
