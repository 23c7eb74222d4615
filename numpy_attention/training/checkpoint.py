"""Checkpoints: one `.npz` file with arrays and one JSON text, no pickle, written whole or not at all."""

import json
import os
import zipfile
from pathlib import Path

import numpy as np

FORMAT = 1


def save(path, arrays, about):
    """Write {name: array} and a dict that JSON can hold, atomically: to a file beside it, flushed, then renamed."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    text = json.dumps({"format": FORMAT, **about})
    try:
        with open(partial, "wb") as file:
            np.savez(file, about=np.frombuffer(text.encode(), np.uint8), **arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def load(path):
    """→ ({name: array}, about). FileNotFoundError; ValueError for a file that is no whole checkpoint."""
    arrays, about = _read(path, whole=True)
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise ValueError(f"{path}: {name} holds values that are not finite: use an earlier checkpoint")
    if "best" in arrays:                # an older file has these as one vector, in the order of its own parameters
        arrays |= _cut(arrays.pop("best"), arrays)
    return arrays, about


def load_about(path):
    """The dict alone: the arrays are not read. Errors as `load` has them, but for what is wrong with an array."""
    return _read(path, whole=False)[1]


def _read(path, whole):
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no checkpoint at {path}: train a model first, or name the folder of a run")
    try:
        with np.load(path, allow_pickle=False) as file:
            about = json.loads(bytes(file["about"]))
            arrays = {name: file[name] for name in file.files if name != "about"} if whole else {}
    except KeyError:
        raise ValueError(f"{path} is an .npz file, but no checkpoint: it has no 'about' entry") from None
    except (zipfile.BadZipFile, EOFError, OSError) as error:
        raise ValueError(f"{path} is truncated or corrupted ({error}): use another copy, or train again") from None
    except (ValueError, TypeError, AttributeError) as error:
        reason = error
        if "pickle" in str(error).lower():                      # NumPy says so of any bytes that it does not know
            reason = "it is damaged, no .npz file, or holds pickled objects, which are never loaded"
        raise ValueError(f"{path} is no checkpoint: {reason}") from None
    if not isinstance(about, dict) or about.get("format") != FORMAT:
        raise ValueError(f"{path} has checkpoint format {about.get('format') if isinstance(about, dict) else about!r}, "
                         f"expected {FORMAT}: load it with the version that wrote it")
    return arrays, about


def _cut(vector, arrays, prefix="parameters/"):
    """{best/dotted name: array} of a flat vector that lies as the parameters among these arrays do."""
    own = {name[len(prefix):]: array for name, array in arrays.items() if name.startswith(prefix)}
    parts = np.split(vector, np.cumsum([array.size for array in own.values()])[:-1])
    return {f"best/{name}": part.reshape(array.shape) for (name, array), part in zip(own.items(), parts)}


def parameters(model, prefix="parameters"):
    """{prefix/dotted name: copy of the array} of a model."""
    return {f"{prefix}/{name}": array.copy() for name, array in model.named_parameters()}


def restore(model, arrays, prefix="parameters"):
    """Load the arrays under this prefix into a model. ValueError: they are another model's."""
    model.load({name[len(prefix) + 1:]: array for name, array in arrays.items() if name.startswith(prefix + "/")})
