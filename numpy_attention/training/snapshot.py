"""What a checkpoint holds of a training: all that the rest of the run depends on."""

import math
from pathlib import Path
from typing import Any

from numpy_attention.validation.messages import cut
from numpy_attention.module import Array
from numpy_attention.training import checkpoint
from numpy_attention.training.schema import TRAINING, check
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
    """Write the checkpoint, whole or not at all; every rank calls this, the first one writes."""
    arrays = checkpoint.parameters(trainer.model) | trainer.best
    for name, vector in trainer.vectors.items():
        arrays[f"optimizer/{name}"] = vector
    state = trainer.state
    for i, array in enumerate(leaves(state)):
        arrays[f"state/{i}"] = array
    about = {
        "about": trainer.about,
        "optimizer": _optimizer_of(trainer),
        "best_loss": trainer.best_loss if math.isfinite(trainer.best_loss) else None,
        "state": describe(state),
        "trainer": {name: getattr(trainer, name) for name in ATTRIBUTES}
        | {"ranks": trainer.ranks.count},
    }
    trainer.ranks.first(lambda: checkpoint.save(path, arrays, about))


def read(trainer: Any, path: str | Path) -> None:
    """Put a trainer where the run of a checkpoint stood.

    Every rank calls this, and the first one reads. ValueError: it is another model's or
    optimizer's, was written with other settings, or in shares that the ranks cannot take.
    """
    arrays, about = trainer.ranks.first(lambda: checkpoint.load(path))
    with checkpoint.understood(Path(path), about):
        check(about, TRAINING)
    optimizer = _optimizer_of(trainer)
    if about.get("optimizer") != optimizer:
        before = cut(str(about.get("optimizer")), 200)
        raise ValueError(f"{path} was trained with {before}, now {optimizer}: "
                         "resume with the same optimizer, or choose another path")
    for name in SETTINGS:
        before = about["trainer"][name]
        now = getattr(trainer, name)
        if before != now:
            raise ValueError(f"{path} was trained with {name}={before}, now {now}: "
                             "resume with the same settings, or choose another path")
    shares, ranks = about["trainer"]["threads"], trainer.ranks.count
    if shares % ranks:
        raise ValueError(f"{path} was trained in {shares} shares, threads of all ranks together, "
                         f"which {ranks} ranks cannot take alike: start a number of ranks that "
                         "divides them")
    best = {name: array for name, array in arrays.items() if name.startswith("best/")}
    states = state_arrays(about["state"], arrays)
    _check_arrays(path, trainer, arrays, arrays_of(about["state"]), bool(best))
    _check_place(path, trainer, about["trainer"])
    # all is as it should be: now the trainer changes
    checkpoint.restore(trainer.model, arrays)
    for name, vector in trainer.vectors.items():
        vector[...] = arrays[f"optimizer/{name}"]
    for name in ATTRIBUTES:
        setattr(trainer, name, about["trainer"][name])
    trainer.ranks_before = about["trainer"].get("ranks", 1)         # 0.2.0 knew of none
    trainer.best = best
    trainer.best_loss = math.inf if about["best_loss"] is None else about["best_loss"]
    trainer.state = rebuild(about["state"], iter(states))


def state_arrays(shape: Any, arrays: dict[str, Array]) -> list[Array]:
    """The arrays of a state of this shape that are among `arrays`, in order."""
    names = [f"state/{i}" for i in range(arrays_of(shape))]
    return [arrays[name] for name in names if name in arrays]       # one missing is told later


def arrays_of(shape: Any) -> int:
    """How many arrays a tree has, by its shape as `describe` gives it."""
    if isinstance(shape, list):
        return sum(map(arrays_of, shape))
    return shape is not None


def _check_arrays(path: str | Path, trainer: Any, arrays: dict[str, Array], states: int,
                  has_best: bool) -> None:
    """ValueError: the arrays are not exactly those of this trainer, in their shapes and dtypes."""
    like = dict(checkpoint.parameters(trainer.model))
    if has_best:
        like |= checkpoint.parameters(trainer.model, "best")
    like |= {f"optimizer/{name}": vector for name, vector in trainer.vectors.items()}
    named = like.keys() | {f"state/{i}" for i in range(states)}
    missing = sorted(named - arrays.keys())
    unknown = sorted(arrays.keys() - named)
    if missing or unknown:
        raise ValueError(f"{path} is not of this model and training: missing {missing[:4]}, "
                         f"unknown {unknown[:4]}; resume the run that was saved")
    for name, array in like.items():
        if _kind(arrays[name]) != _kind(array):
            raise ValueError(f"{path}: {name} has shape and dtype {_kind(arrays[name])}, expected "
                             f"{_kind(array)}: resume the run that was saved")


def _kind(array: Array) -> str:
    return f"{array.shape} {array.dtype}"


def _check_place(path: str | Path, trainer: Any, saved: dict[str, Any]) -> None:
    """ValueError: the run stands where no run can stand."""
    epochs = len(saved["history"])
    if saved["epoch"] != epochs:
        raise ValueError(f"{path} is no whole checkpoint: 'trainer.epoch' is {saved['epoch']}, "
                         f"expected {epochs}, the epochs of its history; use another copy")
    batches = len(trainer.order(saved["seed"], epochs))
    position = saved["position"]
    if position > batches:
        raise ValueError(f"{path} is no whole checkpoint: 'trainer.position' is {position}, "
                         f"expected at most {batches}, the batches of an epoch; use another copy")
    if position and not (saved["epoch_tokens"] and saved["epoch_seconds"]):
        raise ValueError(f"{path} is no whole checkpoint: {position} batches of 0 tokens, or of 0 "
                         "seconds, are behind it; use another copy")


def _optimizer_of(trainer: Any) -> str:
    return f"{trainer.optimizer!r}, {trainer.schedule!r}"
