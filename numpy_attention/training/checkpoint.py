"""Checkpoints: one `.npz` file of arrays and a JSON text, written atomically and without pickle."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from numpy_attention import __version__
from numpy_attention.module import Array
from numpy_attention.training import archive
from numpy_attention.training.diagnosis import NonFiniteError
from numpy_attention.training.protocols import Model
from numpy_attention.training.schema import HEADER, check, short_json, too_deep
from numpy_attention.validation.messages import cut
from numpy_attention.validation.paths import PARTIAL, atomic_write, existing_file

FORMAT = 1
REASON = 120        # characters of the reason why a checkpoint is not understood


def save(path: str | Path, arrays: dict[str, Array], about: dict[str, Any]) -> None:
    """Write arrays, the dict `about`, and the version of this package to a checkpoint, atomically.

    arrays: {name: array}. about: a dict that JSON can hold. Raises OSError with the name of the
    file, for instance if the disk is full, and NonFiniteError if an array has NaN or infinity.
    """
    if wrong := _not_finite(arrays):
        raise NonFiniteError(f"the array {wrong!r} contains NaN or infinity, so {path} was not "
                             "written; use a smaller learning rate")
    text = json.dumps({"format": FORMAT, "version": __version__, **about})
    contents: dict[str, Any] = {"about": np.frombuffer(text.encode(), np.uint8), **arrays}
    with atomic_write(path) as file:
        np.savez(file, **contents)


def remove_partial(path: str | Path) -> None:
    """Remove half-written copies of a checkpoint, which killed processes have left behind."""
    path = Path(path)
    for file in path.parent.iterdir():
        if file.name.startswith(f"{path.name}.") and file.name.endswith(PARTIAL):
            file.unlink(missing_ok=True)


def load(path: str | Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the arrays of a checkpoint, {name: array}, and the dict `about` passed to `save`.

    `about` also has `format` and `version`. Raises FileNotFoundError if there is no file, OSError
    for an unreadable file, and ValueError for an incomplete checkpoint or a non-finite array.
    """
    arrays, about = _read(path)
    if wrong := _not_finite(arrays):
        raise ValueError(f"{path}: the array {wrong!r} contains NaN or infinity; use an earlier "
                         "checkpoint")
    if "best" in arrays:        # an older file has one vector, in the order of its own parameters
        arrays |= _split(path, arrays.pop("best"), arrays)
    return arrays, about


def load_about(path: str | Path) -> dict[str, Any]:
    """Return only the dict `about` that `load` returns, without reading the arrays.

    Raises the same errors as `load`, except the errors for arrays.
    """
    return _read(path, only="about")[1]


def versions(about: dict[str, Any]) -> str:
    """Return advice with the version that wrote a checkpoint, if known, and the current version."""
    wrote = about.get("version")
    if not isinstance(wrote, str):
        return "It was written by an unknown version; try another version of numpy_attention"
    wrote = cut(wrote, 20)
    return (f"It was written by version {wrote}, and you are running {__version__}; load it with "
            f"version {wrote}")


@contextmanager
def understood(path: Path, about: dict[str, Any]) -> Iterator[None]:
    """Context manager that turns an error caused by the content of a checkpoint into a ValueError.

    path: the checkpoint. about: its dict, as returned by `load`. If another version wrote the
    checkpoint, the message names that version and the current version.
    """
    try:
        yield
    except MemoryError as error:
        raise ValueError(f"{path} describes a model that does not fit in memory ({error}); "
                         "use a machine with more memory, or train a smaller model in another "
                         "folder; if this checkpoint is damaged, use another copy") from None
    except (TypeError, ValueError, ArithmeticError) as error:
        reason = cut(str(error).partition(". ")[0], REASON)     # without its advice
        advice = versions(about) if about.get("version") != __version__ else "Use another copy"
        raise ValueError(f"{path} cannot be loaded: {reason}. {advice}, or train again in another "
                         "folder") from None


def parameters(model: Model, prefix: str = "parameters") -> dict[str, Array]:
    """Return copies of all parameters of a model, as {"parameters/encoder.W": array, …}."""
    return {f"{prefix}/{name}": array.copy() for name, array in model.named_parameters()}


def restore(model: Model, arrays: dict[str, Array], prefix: str = "parameters") -> None:
    """Load the arrays whose names start with `prefix` into a model.

    Raises ValueError unless these arrays have the names and shapes of the model's parameters.
    """
    prefix += "/"
    model.load({name[len(prefix):]: array
                for name, array in arrays.items() if name.startswith(prefix)})


def _not_finite(arrays: dict[str, Array]) -> str | None:
    """Return the name of an array with NaN or infinity, or None if all are finite."""
    return next((name for name, array in arrays.items()
                 if array.dtype.kind == "f" and not np.isfinite(array).all()), None)


def _read(path: str | Path, only: str | None = None) -> tuple[dict[str, Array], dict[str, Any]]:
    try:
        path = existing_file(path)
    except FileNotFoundError:
        advice = "pass a run's folder" if Path(path).parent.is_file() else "check the path"
        raise FileNotFoundError(
            f"no checkpoint at {path}; {advice}, or train a model first") from None
    arrays = archive.read(path, only)
    if "about" not in arrays:
        raise ValueError(f"{path} is not a checkpoint: it has no array 'about'. "
                         "Pass the checkpoint.npz of a trained model")
    try:
        about = json.loads(bytes(arrays.pop("about")))
        wrong = "too deeply nested" if too_deep(about) else ""
    except RecursionError:
        wrong = "too deeply nested"
    except ValueError:                              # including numbers with thousands of digits
        wrong = "not valid JSON"
    if not wrong and not isinstance(about, dict):
        wrong = f"{short_json(about)}; expected a dict"
    if wrong:
        raise ValueError(f"{path} is not a checkpoint: 'about' is {wrong}. Use another "
                         "copy, or train again")
    if about.get("format") != FORMAT:
        given = short_json(about.get("format"))
        raise ValueError(f"{path} has checkpoint format {given}; expected {FORMAT}. "
                         f"{versions(about)}, or train again")
    with understood(path, about):
        check(about, HEADER)
    return arrays, about


def _split(path: str | Path, vector: Array, arrays: dict[str, Array]) -> dict[str, Array]:
    """Split a vector into arrays shaped like the parameters in `arrays`; return {"best/…": array}.

    path: the checkpoint, for messages.
    """
    prefix = "parameters/"
    like = {name: array for name, array in arrays.items() if name.startswith(prefix)}
    ends = np.cumsum([array.size for array in like.values()])
    if not like or vector.shape != (ends[-1],):
        raise ValueError(f"{path} is damaged: its array 'best' has shape {vector.shape}; expected "
                         f"({sum(ends[-1:])},), one number per parameter. Use another copy, or "
                         "train again")
    return {name.replace(prefix, "best/", 1): part.reshape(array.shape)
            for (name, array), part in zip(like.items(), np.split(vector, ends[:-1]))}
