"""The arrays of an `.npz` file, read without trust.

Only what `numpy.savez` writes of arrays of numbers is read: members that are stored plainly, each
once, as long as its header says. So nothing is unpickled or unpacked, and no memory is asked for
that the file does not fill.
"""

import math
import re
import struct
import zipfile
from pathlib import Path
from typing import NoReturn

import numpy as np

from numpy_attention.module import Array
from numpy_attention.validation.paths import path_errors

# what zipfile says of damaged bytes
DAMAGED = (zipfile.BadZipFile, struct.error, EOFError, ValueError, RuntimeError, OverflowError)
MAGIC = b"\x93NUMPY\x01\x00"
HEADER = re.compile(
    rb"\{'descr': '([^']*)', 'fortran_order': (True|False), 'shape': \(([\d, ]*)\), \} *\n")
NUMBERS = re.compile(r"[<>|](b1|[iu][1248]|f[48])")
LONGEST = 1000      # bytes of a header, and digits of a size


def read(path: Path, only: str | None = None) -> dict[str, Array]:
    """→ {name: array}; only: the one of this name, if it is there.

    ValueError: the file is damaged, or holds what is no array of numbers. OSError: it cannot be
    read.
    """
    try:
        with path_errors(path, "read"), open(path, "rb") as file, zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            _check_members(path, members)
            return {name: _array(path, archive, member) for member in members
                    if (name := member.filename.removesuffix(".npy")) == only or only is None}
    except Refused:
        raise
    except DAMAGED as error:
        raise ValueError(f"{path} is truncated or corrupted ({error}): use another copy, or train "
                         "again") from None


class Refused(ValueError):
    """An entry that is not what a checkpoint holds, told in full."""


def refuse(path: Path, name: str, given: str, expected: str) -> NoReturn:
    raise Refused(f"{path} is no checkpoint: its entry {name!r} {given}, expected {expected}")


def _check_members(path: Path, members: list[zipfile.ZipInfo]) -> None:
    """ValueError: a member that `numpy.savez` does not write."""
    size = path.stat().st_size
    seen = set()
    for member in members:
        name = member.filename
        if not name.endswith(".npy"):
            refuse(path, name, "is no array", "names that end with .npy")
        if name in seen:
            refuse(path, name, "is there twice", "each once")
        if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
            refuse(path, name, "is compressed or encrypted", "arrays stored plainly")
        if member.file_size != member.compress_size or member.file_size > size:
            refuse(path, name, f"claims {member.file_size:,} bytes", "as many as the file has")
        seen.add(name)


def _array(path: Path, archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Array:
    """The array of a member. ValueError: it holds none of numbers, or another number of bytes."""
    data = archive.read(member)
    name = member.filename.removesuffix(".npy")
    start = len(MAGIC) + 2
    end = start + int.from_bytes(data[len(MAGIC):start], "little")
    header = HEADER.fullmatch(data[start:min(end, LONGEST)])
    if not data.startswith(MAGIC) or header is None:
        refuse(path, name, "is damaged, no array, or holds pickled objects, which are never loaded",
               "an array of numbers")
    kind = header[1].decode("latin-1")
    if not NUMBERS.fullmatch(kind):
        what = "pickled objects, which are never loaded" if "O" in kind else repr(kind)
        refuse(path, name, f"holds {what}", "float32, float64, whole numbers or True and False")
    dtype = np.dtype(kind)
    shape = tuple(int(size) for size in header[3].split(b",") if size.strip())
    count = math.prod(shape)
    if count * dtype.itemsize != len(data) - end:
        refuse(path, name, f"has {len(data) - end:,} bytes of values",
               f"{count * dtype.itemsize:,} of {dtype} {shape}")
    # a copy may be written to, as what NumPy reads
    array: Array = np.frombuffer(data, dtype, offset=end).astype(dtype.newbyteorder("="))
    return array.reshape(shape, order="F" if header[2] == b"True" else "C")
