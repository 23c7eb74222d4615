"""Read the configuration in a run's checkpoint, which an older version may have written."""

from collections.abc import Collection, Iterable
from dataclasses import fields
from typing import Any, TypeVar

import numpy as np

from numpy_attention.experiments.runs.custom_code import OWN, check_used
from numpy_attention.models.registry import create_parameters, model_of, settings_of
from numpy_attention.module import Array
from numpy_attention.training.schema import (
    NUMBER,
    PLAIN,
    SCALAR,
    TEXT,
    Every,
    Fields,
    Kind,
    Maybe,
    Schema,
    check,
)
from numpy_attention.training.settings import FLAG, SEEDS, Training, whole
from numpy_attention.validation.messages import short_repr

CHECKPOINT = "checkpoint.npz"
# settings of models that had another name before 0.2.0
RENAMED = {
    "first": "pre_norm",
    "D": "width",
}


def is_vocabulary(value: Any) -> bool:
    """Return whether a value is a saved vocabulary: a list of words, or a string for Subwords."""
    return isinstance(value, str) or (
        isinstance(value, list) and all(isinstance(word, str) for word in value))


VOCABULARY = Kind("a list of words, or the text of subwords", is_vocabulary)
CORPUS = Fields(others=SCALAR, optional={
    "name": TEXT,
    "part": Maybe(TEXT),
    "source": TEXT,
    "target": TEXT,
    "text": TEXT,
    "valid_source": TEXT,
    "valid_target": TEXT,
    "valid_text": TEXT,
    "digest": TEXT,
    "characters": FLAG,
    "lowercase": FLAG,
    "tokenize": FLAG,
    "columns": Maybe(Every(whole(1))),
    "held_out_seed": SEEDS,
    "min_length": Maybe(whole(1)),
    "max_length": Maybe(whole(1)),
    "count": Maybe(whole(1)),
})
RUN = Fields({
    "kind": TEXT,
    "name": TEXT,
    "settings": Fields(others=PLAIN),
    "corpus": CORPUS,
    "training": Fields(others=PLAIN),
}, optional={"own": OWN, "vectors": Fields(others=Fields({"digest": TEXT}, others=whole(0)))})

How = TypeVar("How", bound=Training)


def kind_in(about: dict[str, Any]) -> str:
    """Return "translator", "writer" or, for a checkpoint that is not of a run, "plain model"."""
    return about.get("about", {}).get("kind", "plain model")


def known_of(about: dict[str, Any], vocabularies: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the configuration in a checkpoint, in which renamed settings have their new names.

    about: the result of `checkpoint.load_about`. vocabularies: names of entries that must contain a
    vocabulary. Raises ValueError for an invalid configuration.
    """
    known = about.get("about", {})
    check(known, RUN, "about")
    check(known, Fields(dict.fromkeys(vocabularies, VOCABULARY)), "about")
    check_used(known.get("own", {}), known["settings"])
    return upgraded(known)


def upgraded(configuration: dict[str, Any]) -> dict[str, Any]:
    """Return a configuration in which settings renamed in version 0.2.0 have their new names."""
    settings = {RENAMED.get(name, name): value for name, value in configuration["settings"].items()}
    return configuration | {"settings": settings}


def training_from(kind: type[How], saved: dict[str, Any]) -> How:
    """Build settings of class `kind` from saved fields. Raises ValueError for unknown fields."""
    check_known("training", saved, {one.name for one in fields(kind)}, "this version")
    return kind(**saved)


def check_known(what: str, names: Iterable[str], known: Collection[str], whose: str) -> None:
    """Raise ValueError if `names` has a name not in `known`. what, whose: for the message."""
    unknown = ", ".join(sorted(set(names) - set(known)))
    if unknown:
        raise ValueError(f"unknown {what} settings: {short_repr(unknown)}; {whose} does not "
                         "support them")


# ---- a model of the size of its saved arrays ----------------------------------------------------


def check_saved_settings(name: str, settings: dict[str, Any], parameters: int) -> None:
    """Raise ValueError for a saved setting that the model called `name` cannot have.

    parameters: the number of saved parameters, which no size may exceed.
    """
    defaults = settings_of(name)
    sizes = create_parameters(model_of(name))
    kinds = {one: kind_like(default, parameters if one in sizes else 10**9)
             for one, default in defaults.items()}
    check_known("model", settings, kinds, name)
    check(settings, Fields(optional=kinds), "about.settings")


def kind_like(default: Any, most: int) -> Schema:
    """Return the Schema of a setting, given its default. most: the largest integer allowed."""
    if isinstance(default, bool):
        return FLAG
    if isinstance(default, int):
        return Maybe(whole(0, most))
    if isinstance(default, float):
        return NUMBER
    return PLAIN if isinstance(default, (list, tuple)) else SCALAR


class Limited(np.random.Generator):
    """Random generator that raises ValueError if a model is far larger than its saved `arrays`."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        super().__init__(np.random.PCG64(0))
        saved = parameters_of(arrays)
        self._left = 4 * saved + 1000       # an orthogonal matrix is cut out of a larger one
        self._saved = saved

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        self._draw(size)
        return super().uniform(low, high, size)

    def standard_normal(self, size: Any = None, *rest: Any, **more: Any) -> Any:
        self._draw(size)
        return super().standard_normal(size, *rest, **more)

    def _draw(self, size: Any) -> None:
        shape = size if isinstance(size, tuple) else (size or 1,)
        self._left -= int(np.prod(shape, dtype=object))
        if self._left < 0:
            raise ValueError(f"{self._saved:,} parameters are saved, but the saved settings "
                             "describe a far larger model")


def parameters_of(arrays: dict[str, Array]) -> int:
    """Return the number of parameters in a checkpoint. arrays: {name: array}."""
    return sum(array.size for name, array in arrays.items() if name.startswith("parameters/"))
