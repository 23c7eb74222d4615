"""Checkpoints: one `.npz` file, arrays and a JSON text, no pickle, written whole or not at all."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from numpy_attention import __version__
from numpy_attention.module import Array
from numpy_attention.validation.messages import cut
from numpy_attention.validation.paths import PARTIAL, existing_file, atomic_write
from numpy_attention.training import archive
from numpy_attention.training.protocols import Model
from numpy_attention.training.schema import HEADER, check, shown, too_deep

FORMAT = 1
REASON = 105                    # characters of why a checkpoint is not understood


def save(path: str | Path, arrays: dict[str, Array], about: dict[str, Any]) -> None:
    """Write arrays by name and a dict that JSON can hold, atomically.

    They go to a file beside it, which is flushed, then renamed. The version is written with them.
    OSError: the disk is full, say; it names the file.
    """
    text = json.dumps({"format": FORMAT, "version": __version__, **about})
    contents: dict[str, Any] = {"about": np.frombuffer(text.encode(), np.uint8), **arrays}
    with atomic_write(path) as file:
        np.savez(file, **contents)


def remove_partial(path: str | Path) -> None:
    """Remove what processes that were killed have left of writing this checkpoint."""
    path = Path(path)
    for file in path.parent.iterdir():
        if file.name.startswith(f"{path.name}.") and file.name.endswith(PARTIAL):
            file.unlink(missing_ok=True)


def load(path: str | Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """→ (arrays by name, about).

    FileNotFoundError; ValueError: no whole checkpoint, or an array that is not finite; OSError: it
    cannot be read.
    """
    path = _existing(path)
    arrays, about = _read(path)
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(
                f"{path}: {name} holds values that are not finite: use an earlier checkpoint")
    if "best" in arrays:        # an older file has one vector, in the order of its own parameters
        arrays |= _cut(arrays.pop("best"), arrays)
    return arrays, about


def load_about(path: str | Path) -> dict[str, Any]:
    """The dict alone, without reading the arrays. Errors as `load` has them, but for theirs."""
    _, about = _read(_existing(path), only="about")
    return about


def versions(about: dict[str, Any]) -> str:
    """Which version wrote a checkpoint, and which this is, for a message."""
    wrote = about.get("version", "before 0.2.0")
    if not isinstance(wrote, str):
        wrote = shown(wrote)
    wrote = cut(wrote, 20)
    return f"written by numpy_attention {wrote}, this is {__version__}"


@contextmanager
def understood(path: Path, about: dict[str, Any]) -> Iterator[None]:
    """Within it, what cannot be made of a checkpoint is a ValueError that names both versions."""
    try:
        yield
    except MemoryError:
        raise ValueError(f"{path} describes a model that does not fit into the memory; "
                         f"{versions(about)}: use another copy, or train again") from None
    except (TypeError, ValueError, ArithmeticError) as error:
        reason = cut(str(error), REASON)
        raise ValueError(f"{path} is not understood ({reason}); {versions(about)}: use that "
                         "version, or train anew in another folder") from None


def parameters(model: Model, prefix: str = "parameters") -> dict[str, Array]:
    """{prefix/dotted name: copy of the array} of a model."""
    return {f"{prefix}/{name}": array.copy() for name, array in model.named_parameters()}


def restore(model: Model, arrays: dict[str, Array], prefix: str = "parameters") -> None:
    """Load the arrays under this prefix into a model. ValueError: they are another model's."""
    prefix += "/"
    model.load({name[len(prefix):]: array
                for name, array in arrays.items() if name.startswith(prefix)})


def _existing(path: str | Path) -> Path:
    try:
        return existing_file(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"no checkpoint at {path}: train a model first, or name the folder "
                                "of a run") from None


def _read(path: Path, only: str | None = None) -> tuple[dict[str, Array], dict[str, Any]]:
    arrays = archive.read(path, only)
    if "about" not in arrays:
        raise ValueError(f"{path} is an .npz file, but no checkpoint: it has no 'about' entry")
    about = _about_of(path, arrays.pop("about"))
    if about.get("format") != FORMAT:
        raise ValueError(f"{path} has checkpoint format {shown(about.get('format'))}, expected "
                         f"{FORMAT}; {versions(about)}: load it with the version that wrote it")
    with understood(path, about):
        check(about, HEADER)
    return arrays, about


def _about_of(path: Path, text: Array) -> dict[str, Any]:
    """The dict of a checkpoint's text. ValueError: it is none, or no text of JSON."""
    try:
        about = json.loads(bytes(text))
        deep = too_deep(about)
    except (ValueError, RecursionError):            # numbers of thousands of digits among others
        raise ValueError(f"{path} is no checkpoint: its 'about' entry is no text of JSON, or is "
                         "nested too deep; use another copy, or train again") from None
    if deep:
        raise ValueError(f"{path} is no checkpoint: its 'about' entry is nested too deep; use "
                         "another copy, or train again")
    if not isinstance(about, dict):
        raise ValueError(f"{path} is no checkpoint: its entry 'about' is {shown(about)}, expected "
                         "a dict")
    return about


def _cut(vector: Array, arrays: dict[str, Array], prefix: str = "parameters/") -> dict[str, Array]:
    """{best/dotted name: array} of a flat vector that lies as the parameters among arrays do."""
    own = {name[len(prefix):]: array for name, array in arrays.items() if name.startswith(prefix)}
    ends = np.cumsum([array.size for array in own.values()])
    if not own or vector.shape != (ends[-1],):
        raise ValueError(f"best has shape {vector.shape}, expected one number for each of the "
                         f"{sum(ends[-1:]):,} parameters: use another copy, or train again")
    parts = np.split(vector, ends[:-1])
    return {f"best/{name}": part.reshape(array.shape)
            for (name, array), part in zip(own.items(), parts)}
