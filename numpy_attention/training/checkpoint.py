"""Checkpoints: one `.npz` file, arrays and a JSON text, no pickle, written whole or not at all."""

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from numpy_attention import __version__
from numpy_attention.module import Array
from numpy_attention.training.protocols import Model

FORMAT = 1
PARTIAL = ".partial"            # how the name of a file ends that is being written


def save(path: str | Path, arrays: dict[str, Array], about: dict[str, Any]) -> None:
    """Write arrays by name and a dict that JSON can hold, atomically.

    They go to a file beside it, which is flushed, then renamed. The version is written with them.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}{PARTIAL}")
    text = json.dumps({"format": FORMAT, "version": __version__, **about})
    contents: dict[str, Any] = {"about": np.frombuffer(text.encode(), np.uint8), **arrays}
    try:
        with open(partial, "wb") as file:
            np.savez(file, **contents)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def remove_partial(path: str | Path) -> None:
    """Remove what processes that were killed have left of writing this checkpoint."""
    path = Path(path)
    for file in path.parent.iterdir():
        if file.name.startswith(f"{path.name}.") and file.name.endswith(PARTIAL):
            file.unlink(missing_ok=True)


def load(path: str | Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """→ (arrays by name, about).

    FileNotFoundError; ValueError: no whole checkpoint, or an array that is not finite.
    """
    path = _existing(path)
    arrays, about = _read(path, whole=True)
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(
                f"{path}: {name} holds values that are not finite: use an earlier checkpoint")
    if "best" in arrays:        # an older file has one vector, in the order of its own parameters
        arrays |= _cut(arrays.pop("best"), arrays)
    return arrays, about


def load_about(path: str | Path) -> dict[str, Any]:
    """The dict alone, without reading the arrays. Errors as `load` has them, but for theirs."""
    _, about = _read(_existing(path), whole=False)
    return about


def versions(about: dict[str, Any]) -> str:
    """Which version wrote a checkpoint, and which this is, for a message."""
    wrote = about.get("version", "before 0.2.0")
    return f"written by numpy_attention {wrote}, this is {__version__}"


def parameters(model: Model, prefix: str = "parameters") -> dict[str, Array]:
    """{prefix/dotted name: copy of the array} of a model."""
    return {f"{prefix}/{name}": array.copy() for name, array in model.named_parameters()}


def restore(model: Model, arrays: dict[str, Array], prefix: str = "parameters") -> None:
    """Load the arrays under this prefix into a model. ValueError: they are another model's."""
    prefix += "/"
    model.load({name[len(prefix):]: array
                for name, array in arrays.items() if name.startswith(prefix)})


def _existing(path: str | Path) -> Path:
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(
            f"no checkpoint at {path}: train a model first, or name the folder of a run")
    return path


def _read(path: Path, whole: bool) -> tuple[dict[str, Array], dict[str, Any]]:
    arrays = {}
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(bytes(file["about"]))
            if whole:
                arrays = {name: file[name] for name in file.files if name != "about"}
    except KeyError:
        raise ValueError(
            f"{path} is an .npz file, but no checkpoint: it has no 'about' entry") from None
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise ValueError(
            f"{path} is truncated or corrupted ({error}): use another copy, or train again"
        ) from None
    except (ValueError, TypeError, AttributeError) as error:
        reason = str(error)
        if "pickle" in reason.lower():          # NumPy says so of any bytes that it does not know
            reason = "it is damaged, no .npz file, or holds pickled objects, which are never loaded"
        raise ValueError(f"{path} is no checkpoint: {reason}") from None
    if not isinstance(about, dict):
        raise ValueError(
            f"{path} is no checkpoint: its 'about' entry is {about!r}, expected a dict")
    if about.get("format") != FORMAT:
        raise ValueError(f"{path} has checkpoint format {about.get('format')}, expected {FORMAT}; "
                         f"{versions(about)}: load it with the version that wrote it")
    return arrays, about


def _cut(vector: Array, arrays: dict[str, Array], prefix: str = "parameters/") -> dict[str, Array]:
    """{best/dotted name: array} of a flat vector that lies as the parameters among arrays do."""
    own = {name[len(prefix):]: array for name, array in arrays.items() if name.startswith(prefix)}
    ends = np.cumsum([array.size for array in own.values()])
    parts = np.split(vector, ends[:-1])
    return {f"best/{name}": part.reshape(array.shape)
            for (name, array), part in zip(own.items(), parts)}
