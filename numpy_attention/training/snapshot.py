"""What a checkpoint holds of a training: all that the rest of the run depends on."""

import math
from pathlib import Path
from typing import Any

from numpy_attention.training import checkpoint
from numpy_attention.trees import describe, leaves, rebuild

# `trainer` below is a Trainer: those of its attributes that JSON can hold as they are
ATTRIBUTES = (
    "seed", "threads", "average", "clip",
    "epoch", "position", "step", "seconds", "history", "bad_epochs", "stopped",
    "epoch_loss", "epoch_tokens", "epoch_seconds",
)
# those of them that may not change from one part of the run to the next
SETTINGS = ("average", "clip")


def write(trainer: Any, path: str | Path) -> None:
    """Write the checkpoint, whole or not at all."""
    arrays = checkpoint.parameters(trainer.model) | trainer.best
    for name, vector in trainer.vectors.items():
        arrays[f"optimizer/{name}"] = vector
    for i, array in enumerate(leaves(trainer.state)):
        arrays[f"state/{i}"] = array
    checkpoint.save(path, arrays, {
        "about": trainer.about,
        "optimizer": _optimizer_of(trainer),
        "best_loss": trainer.best_loss if math.isfinite(trainer.best_loss) else None,
        "state": describe(trainer.state),
        "trainer": {name: getattr(trainer, name) for name in ATTRIBUTES},
    })


def read(trainer: Any, path: str | Path) -> None:
    """Put a trainer where the run of a checkpoint stood.

    ValueError: it is another model's or optimizer's, or was written with other settings.
    """
    arrays, about = checkpoint.load(path)
    optimizer = _optimizer_of(trainer)
    if about.get("optimizer") != optimizer:
        raise ValueError(f"{path} was trained with {about.get('optimizer')}, now {optimizer}: "
                         "resume with the same optimizer, or choose another path")
    for name in SETTINGS:
        before = about["trainer"][name]
        now = getattr(trainer, name)
        if before != now:
            raise ValueError(f"{path} was trained with {name}={before}, now {now}: "
                             "resume with the same settings, or choose another path")
    checkpoint.restore(trainer.model, arrays)
    for name, vector in trainer.vectors.items():
        vector[...] = arrays[f"optimizer/{name}"]
    for name in ATTRIBUTES:
        setattr(trainer, name, about["trainer"][name])
    trainer.best = {name: array for name, array in arrays.items() if name.startswith("best/")}
    trainer.best_loss = math.inf if about["best_loss"] is None else about["best_loss"]
    states = sum(name.startswith("state/") for name in arrays)
    trainer.state = rebuild(about["state"], iter([arrays[f"state/{i}"] for i in range(states)]))


def _optimizer_of(trainer: Any) -> str:
    return f"{trainer.optimizer!r}, {trainer.schedule!r}"
