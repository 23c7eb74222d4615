"""Save and restore everything that the rest of a training run depends on."""

import math
from itertools import count, product
from pathlib import Path
from typing import Any

from numpy_attention.module import Array
from numpy_attention.training import checkpoint
from numpy_attention.training.schema import TRAINER, TRAINING, check
from numpy_attention.trees import describe, leaves, rebuild
from numpy_attention.validation.messages import cut, missing_and_unknown

# `trainer` below is a Trainer; these are its attributes that JSON can hold as they are
ATTRIBUTES = tuple(TRAINER)
# the attributes that must be the same when a run is resumed
SETTINGS = ("average", "clip", "average_parameters_from")


def write(trainer: Any, path: str | Path) -> None:
    """Write the checkpoint of a trainer, atomically. All ranks must call this; rank 0 writes."""
    arrays = checkpoint.parameters(trainer.model) | trainer.best
    state = trainer.state
    arrays |= _named(trainer.vectors) | {f"state/{i}": one for i, one in enumerate(leaves(state))}
    about = {
        "about": trainer.about,
        "optimizer": _optimizer_of(trainer),
        "best_loss": trainer.best_loss if math.isfinite(trainer.best_loss) else None,
        "state": describe(state),
        "trainer": {name: getattr(trainer, name) for name in ATTRIBUTES}
        | {"ranks": trainer.ranks.count,
           "average_parameters_from": trainer.average_parameters_from},
    }
    trainer.ranks.first(lambda: checkpoint.save(path, arrays, about))


def read(trainer: Any, path: str | Path) -> None:
    """Restore a trainer to the place in the run where the checkpoint `path` was written.

    All ranks must call this; rank 0 reads. Raises ValueError if the checkpoint is invalid, if its
    model, optimizer, schedule, `average`, `clip` or `average_parameters_from` differs from the
    trainer's, or if its number of threads is not divisible by the number of ranks.
    """
    arrays, about = trainer.ranks.first(lambda: checkpoint.load(path))
    with checkpoint.understood(Path(path), about):
        check(about, TRAINING)
    saved = about["trainer"]
    optimizer = _optimizer_of(trainer)
    if about["optimizer"] != optimizer:
        raise ValueError(f"{path} was trained with the optimizer and schedule "
                         f"{cut(about['optimizer'], 200)}, not {optimizer}; use the former, or "
                         "choose another path")
    for name in SETTINGS:
        now = getattr(trainer, name)
        before = saved.get(name)
        if before != now:
            raise ValueError(f"{name} is {now!r}, but {path} was trained with "
                             f"{name}={before!r}; set {name}={before!r}, or choose another path")
    ranks = trainer.ranks.count
    if saved["threads"] % ranks:
        counts = [str(n) for n in range(1, saved["threads"] + 1) if saved["threads"] % n == 0]
        raise ValueError(f"{path} was trained with {saved['threads']} threads in total, which is "
                         f"not divisible by {ranks} ranks; use {' or '.join(counts)} ranks")
    best = {name: array for name, array in arrays.items() if name.startswith("best/")}
    state = rebuild(about["state"], (f"state/{i}" for i in count()))
    _check_arrays(path, trainer, arrays, leaves(state), bool(best))
    _check_place(path, trainer, saved)
    # all checks have passed: now the trainer changes
    checkpoint.restore(trainer.model, arrays)
    for name, vector in trainer.vectors.items():
        vector[...] = arrays[f"optimizer/{name}"]
    for name in ATTRIBUTES:
        setattr(trainer, name, saved[name])
    for span, vector in product(trainer.frozen_spans, trainer.vectors.values()):
        vector[span] = 0                    # a momentum from before would move frozen parameters
    trainer.ranks_before = saved.get("ranks", 1)         # 0.2.0 did not save it
    trainer.best = best
    trainer.best_loss = math.inf if about["best_loss"] is None else about["best_loss"]
    trainer.state = rebuild(about["state"], (arrays[name] for name in leaves(state)))


def _check_arrays(path: str | Path, trainer: Any, arrays: dict[str, Array], states: list[str],
                  has_best: bool) -> None:
    """Raise ValueError unless the names, shapes and dtypes of the arrays fit the trainer.

    states: the names of the arrays of the carried state. has_best: whether the checkpoint has the
    parameters of the best epoch.
    """
    like = checkpoint.parameters(trainer.model) | _named(trainer.vectors)
    if has_best:
        like |= checkpoint.parameters(trainer.model, "best")
    named = like.keys() | set(states)
    missing = sorted(named - arrays.keys())
    unknown = sorted(arrays.keys() - named)
    if missing or unknown:
        raise ValueError(
            f"the arrays in {path} do not match this trainer: "
            f"{missing_and_unknown(missing, unknown)}. Resume with the same model and settings")
    for name, array in like.items():
        given, expected = (f"shape {a.shape} and dtype {a.dtype}" for a in (arrays[name], array))
        if given != expected:
            raise ValueError(f"{path}: the array {name!r} has {given}; expected {expected}. "
                             "Resume with the same model and settings")


def _check_place(path: str | Path, trainer: Any, saved: dict[str, Any]) -> None:
    """Raise ValueError if the epoch or batch number in `saved` is impossible for this trainer."""
    epochs = len(saved["history"])
    batches = len(trainer.order(saved["seed"], epochs))
    position = saved["position"]
    wrong = ""
    if saved["epoch"] != epochs:
        wrong = (f"'trainer.epoch' is {saved['epoch']}; expected {epochs}, the number of "
                 "epochs in its history")
    elif position > batches:
        wrong = (f"'trainer.position' is {position}; expected at most {batches}, the number "
                 "of batches in an epoch")
    elif position and not (saved["epoch_tokens"] and saved["epoch_seconds"]):
        wrong = f"'trainer.position' is {position}, but no tokens or seconds are recorded"
    if wrong:
        raise ValueError(f"{path} is not a valid checkpoint: {wrong}. Use another copy")


def _named(vectors: dict[str, Array]) -> dict[str, Array]:
    return {f"optimizer/{name}": vector for name, vector in vectors.items()}


def _optimizer_of(trainer: Any) -> str:
    return f"{trainer.optimizer!r}, {trainer.schedule!r}"
