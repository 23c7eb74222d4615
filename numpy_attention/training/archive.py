"""Read arrays from an untrusted `.npz` file.

Only files that `numpy.savez` could have written from arrays of numbers are read: the members of the
file are uncompressed, occur once, and are as long as their headers say. So nothing is unpickled or
decompressed, and no array needs more memory than the size of the file.
"""

import io
import math
import struct
import zipfile
from pathlib import Path

import numpy as np
from numpy.lib import format as npy

from numpy_attention.module import Array
from numpy_attention.validation.arrays import DTYPES
from numpy_attention.validation.paths import path_errors

# what zipfile raises for damaged bytes
DAMAGED = (zipfile.BadZipFile, struct.error, EOFError, ValueError, RuntimeError, OverflowError)


class InvalidArchive(ValueError):
    """Raised if an `.npz` file has an entry that a checkpoint cannot have."""

    def __init__(self, path: Path, name: str, wrong: str) -> None:
        super().__init__(f"{path} is not a checkpoint: its array {name!r} {wrong}. Pass an "
                         "intact checkpoint that numpy_attention wrote, or train again")


def read(path: Path, only: str | None = None) -> dict[str, Array]:
    """Return a dict with the arrays of the `.npz` file `path`.

    only: read just the array with this name, if the file has it. Raises ValueError if the file is
    damaged or holds anything other than arrays of numbers, and OSError if it cannot be read.
    """
    try:
        with path_errors(path, "read"), open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            _check_members(path, members)
            return {name: _array(path, archive, member) for member in members
                    if (name := member.filename.removesuffix(".npy")) == only or only is None}
    except InvalidArchive:
        raise
    except DAMAGED as error:
        raise ValueError(f"{path} is truncated or corrupted: {error}. Use another copy, or train "
                         "again") from None


def _check_members(path: Path, members: list[zipfile.ZipInfo]) -> None:
    """Raise ValueError unless `numpy.savez` could have written all members of the file `path`."""
    size = path.stat().st_size
    seen = set()
    for member in members:
        name = member.filename
        if not name.endswith(".npy"):
            raise InvalidArchive(path, name, "is not a .npy file")
        if name in seen:
            raise InvalidArchive(path, name, "occurs twice")
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            raise InvalidArchive(path, name, "is compressed or encrypted; expected a plain array")
        if member.file_size != member.compress_size or member.file_size > size:
            raise InvalidArchive(path, name, f"claims to hold {member.file_size:,} bytes, but the "
                                 "file stores a different number")
        seen.add(name)


def _array(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    """Return the array in a member of an `.npz` file. Raises ValueError if the array is invalid."""
    name = member.filename.removesuffix(".npy")
    file = io.BytesIO(archive.read(member))
    try:
        npy.read_magic(file)
        shape, fortran, dtype = npy.read_array_header_1_0(file)
    except Exception:           # NumPy tries to read the header as Python, in more than one way
        raise InvalidArchive(path, name, "cannot be read") from None
    data = file.read()
    if dtype.kind not in "biu" and dtype.newbyteorder("=") not in DTYPES:
        what = ("holds pickled objects, which are never loaded" if dtype.hasobject else
                f"has dtype {dtype.str}; expected float32, float64, integers or booleans")
        raise InvalidArchive(path, name, what)
    size = math.prod(shape) * dtype.itemsize
    if size != len(data):
        raise InvalidArchive(path, name, f"holds {len(data):,} bytes, but {dtype} of shape {shape} "
                             f"needs {size:,}")
    # a writable copy
    array: Array = np.frombuffer(data, dtype).astype(dtype.newbyteorder("="))
    return array.reshape(shape, order="F" if fortran else "C")
