"""Load several runs of one text, as an ensemble or for a comparison."""

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import TypeVar

from numpy_attention.experiments.runs.trained import Trained
from numpy_attention.models.ensemble import Ensemble
from numpy_attention.validation.arguments import check_list

One = TypeVar("One", bound=Trained)

# training settings that determine how a text is read
READING = ("reverse_source", "state", "steps", "unit")


def load_ensemble(kind: type[One], folders: Sequence[str | Path],
                  code: Sequence[str | Path | type] | None = None) -> One:
    """Load the runs of several folders as one run, whose model is the Ensemble of their models.

    Its attributes other than `model` are those of the first run. Raises the errors of `load_alike`.
    """
    first, *others = load_alike(kind, folders, "averaged", code)
    if not others:
        return first
    ensemble = copy(first)
    ensemble.model = Ensemble([one.model for one in (first, *others)])  # type: ignore[assignment]
    return ensemble


def load_alike(kind: type[One], folders: Sequence[str | Path], done: str,
               code: Sequence[str | Path | type] | None = None) -> list[One]:
    """Load the runs of these folders, which must read text in the same way.

    done: the purpose, "averaged" or "compared", for messages. code: as in `kind.load`. Raises its
    errors, and ValueError if `folders` is empty, or if vocabularies or READING settings differ.
    """
    check_list("folders", folders, "run folders")
    if not len(folders):
        raise ValueError("folders is empty; expected the folders of one or more runs")
    first, *others = [kind.load(folder, code) for folder in folders]
    for folder, other in zip(folders[1:], others):
        for name in first.VOCABULARIES:
            if getattr(other, name) != getattr(first, name):
                raise ValueError(f"{folder} and {folders[0]} differ in their "
                                 f"{name.replace('_', ' ')}; only runs trained on the same text, "
                                 f"with the same vocabularies, can be {done}")
        for name in READING:
            here, there = (getattr(one.training, name, None) for one in (first, other))
            if here != there:
                raise ValueError(f"{folder} has {name} = {there!r}, but {folders[0]} has {here!r}; "
                                 f"only runs that read text in the same way can be {done}")
    return [first, *others]
