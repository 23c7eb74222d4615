"""Several runs of one text: as one, an ensemble of their models, or beside each other."""

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from typing import TypeVar

from numpy_attention.validation.arguments import check_list
from numpy_attention.models.ensemble import Ensemble
from numpy_attention.experiments.runs.trained import Trained

One = TypeVar("One", bound=Trained)

# what of a training decides how a text is read
READING = ("reverse_source", "state", "steps", "unit")


def load_together(kind: type[One], folders: Sequence[str | Path],
                  code: Sequence[str | Path | type] | None = None) -> One:
    """The run of a folder, or of several with an Ensemble of their models in place of one.

    kind: Translator or Writer. Name, settings, corpus, training and history are the first one's.
    Errors as `load_alike` has them.
    """
    first, *others = load_alike(kind, folders, "averaged", code)
    if not others:
        return first
    together = copy(first)
    together.model = Ensemble([one.model for one in (first, *others)])  # type: ignore[assignment]
    return together


def load_alike(kind: type[One], folders: Sequence[str | Path], done: str,
               code: Sequence[str | Path | type] | None = None) -> list[One]:
    """The runs of these folders; done: what is done with them, "averaged" or "compared".

    code: a reader's own, of any of them, as `kind.load` takes it.

    ValueError: no folder, runs with other vocabularies or that read a text otherwise, or what
    `kind.load` refuses.
    """
    check_list("folders", folders, "folders of runs")
    if not len(folders):
        raise ValueError("no folders: expected those of one or more runs")
    first, *others = [kind.load(folder, code) for folder in folders]
    for folder, other in zip(folders[1:], others):
        for name in first.VOCABULARIES:
            if getattr(other, name) != getattr(first, name):
                raise ValueError(f"{folder} has another {name.replace('_', ' ')} than "
                                 f"{folders[0]}: runs of one text and its words can be {done}")
        for name in READING:
            here, there = (getattr(one.training, name, None) for one in (first, other))
            if here != there:
                raise ValueError(f"{folder} has {name} {there!r}, and {folders[0]} {here!r}: "
                                 f"runs that read a text alike can be {done}")
    return [first, *others]
